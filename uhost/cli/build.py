"""`uhost build`: a model becomes firmware for a board."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from uhost.cli._console import progress, show
from uhost.cli._options import (
    board_option,
    json_option,
    models_argument,
    project_option,
    toolchain_option,
)
from uhost.cli._settings import Configured, SettingOption, Settings
from uhost.cli._work import compiled as compile_models
from uhost.cli._work import configured

if TYPE_CHECKING:
    from uhost.runtime.build_folder import StackRecord


@click.command(cls=Configured)
@models_argument
@board_option
@project_option
@click.option(
    "-o",
    "--output",
    cls=SettingOption,
    keys=("output",),
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Where to write. Default: build/<model>-<board>.",
)
@toolchain_option
@json_option
def command(settings: Settings, project: Path | None, as_json: bool) -> None:
    """Build the firmware of MODELs for a board.

    Writes firmware.elf, .bin, .hex and .map, the generated C, and manifest.json. Without
    MODEL, those of the project file, else the bundled one; several share one image and one
    arena. `run`, `verify` and `bench` take the folder in place of a model.

    Example: uhost build kws.tflite --board stm32f746
    """
    import msgspec

    from uhost import driver
    from uhost.report.records import results_json
    from uhost.report.units import kib
    from uhost.runtime import build_folder

    resolved = configured(settings, project)
    name = resolved.board.name
    with progress("Building") as update:
        update("compiling the model")
        compiled = compile_models(resolved)
        title = "-".join(model.source.graph.name for model in compiled.models)
        folder = Path(resolved.output or Path("build") / f"{title}-{name}")
        update("compiling the C")
        built = driver.link(compiled, resolved.toolchain, folder)
        manifest = build_folder.write(built)
    if as_json:
        click.echo(results_json([{**msgspec.to_builtins(manifest), "folder": str(folder)}]))
        return
    show(
        f"Built {title} for {name} with {built.image.toolchain}",
        f"  flash  {kib(manifest.image_flash_bytes)}, of which the model "
        f"{kib(manifest.model_flash_bytes)}",
        f"  RAM    {kib(manifest.image_ram_bytes)}, of which the arena {kib(manifest.arena_bytes)}",
        f"  stack  {'; '.join(_stack(name, one) for name, one in manifest.stack.items())}",
        f"  in     {folder}/",
        f"Run it: uhost run {folder}",
    )


def _stack(name: str, stack: StackRecord) -> str:
    """Returns what a model's run function takes of the stack."""
    if stack.bound_bytes is not None:
        return f"{name} takes {stack.bound_bytes:,} B at most, interrupts aside"
    return f"{name} has no bound: {', '.join(stack.why_unbounded)}"


COMMAND = command
