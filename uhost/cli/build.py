"""`uhost build`: a model becomes firmware for a board."""

from __future__ import annotations

from pathlib import Path

import click

from uhost.cli._console import progress, show
from uhost.cli._options import board_option, json_option, models_argument, toolchain_option
from uhost.cli._work import loaded, need_board


@click.command()
@models_argument
@board_option
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Where to write. Default: build/<model>-<board>.",
)
@toolchain_option
@json_option
def command(
    models: tuple[str, ...],
    board: str | None,
    output: Path | None,
    toolchain: str | None,
    as_json: bool,
) -> None:
    """Build the firmware of MODELs for a board.

    Writes firmware.elf, .bin, .hex and .map, the generated C, and manifest.json. Without
    MODEL, the bundled one; several share one image and one arena. `run`, `verify` and
    `bench` take the folder in place of a model.

    Example: uhost build kws.tflite --board stm32f746
    """
    import msgspec

    from uhost import driver
    from uhost.report.records import results_json
    from uhost.report.units import kib
    from uhost.runtime import build_folder

    name = need_board(board)
    sources = loaded(models)
    title = "-".join(source.graph.name for source in sources)
    with progress("Building") as update:
        update("compiling the model")
        compiled = driver.compile_models(sources, name)
        folder = output or Path("build") / f"{title}-{Path(name).stem}"
        update("compiling the C")
        built = driver.link(compiled, toolchain, folder)
        manifest = build_folder.write(built)
    if as_json:
        click.echo(results_json([{**msgspec.to_builtins(manifest), "folder": str(folder)}]))
        return
    show(
        f"Built {title} for {name} with {built.image.toolchain}",
        f"  flash  {kib(manifest.image_flash_bytes)}, of which the model "
        f"{kib(manifest.model_flash_bytes)}",
        f"  RAM    {kib(manifest.image_ram_bytes)}, of which the arena {kib(manifest.arena_bytes)}",
        f"  in     {folder}/",
        f"Run it: uhost run {folder}",
    )


COMMAND = command
