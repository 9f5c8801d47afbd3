"""`uhost compile`: a model becomes C, and nothing else."""

from __future__ import annotations

from pathlib import Path

import click

from uhost.cli._console import progress, show
from uhost.cli._options import board_option, json_option, models_argument, project_option
from uhost.cli._settings import Configured, Settings
from uhost.cli._work import compiled as compile_models
from uhost.cli._work import configured


@click.command(cls=Configured)
@models_argument
@board_option
@project_option
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    required=True,
    metavar="OUT",
    help="A folder, or a file that ends in .c, .tar, .a or .so.",
)
@json_option
def command(settings: Settings, project: Path | None, output: Path, as_json: bool) -> None:
    """Compile MODELs to C for a board: model.c and model.h, which need a C11 compiler alone.

    The C is yours. OUT decides the form: a folder that builds with CMake or with `cc -c`,
    one .c file, a .tar in the Model Library Format, an archive (.a) of objects for the
    board, or a shared library (.so) for this machine.

    Example: uhost compile kws.tflite --board stm32f746 -o kws_c
    """
    from uhost import driver
    from uhost.report.records import results_json
    from uhost.report.units import kib

    resolved = configured(settings, project)
    name = resolved.board.name
    with progress("Compiling"):
        compiled = compile_models(resolved)
        sources = driver.model_sources(compiled)
        module = driver.as_module(compiled, resolved.toolchain, resolved.context)
        files = [path.name for path in module.export_library(output)]
    if as_json:
        records = [
            {
                "model": model.lowered.graph.name,
                "board": name,
                "output": str(output),
                "files": files,
                "digest": sources.digest(),
                "arena_bytes": model.lowered.plan.arena_bytes,
                "arena_lower_bound_bytes": model.lowered.plan.lower_bound_bytes,
                "constant_bytes": model.lowered.constant_bytes(),
            }
            for model in compiled.models
        ]
        click.echo(results_json(records))
        return
    for model in compiled.models:
        plan = model.lowered.plan
        show(
            f"Compiled {model.source.file_name} for {name}",
            f"  weights and tables  {kib(model.lowered.constant_bytes())}",
            f"  arena               {kib(plan.arena_bytes)}, lower bound "
            f"{kib(plan.lower_bound_bytes)}",
        )
    show(f"  in                  {output}: {', '.join(files)}")


COMMAND = command
