"""`uhost compile`: a model becomes C, and nothing else."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping
from pathlib import Path

import click

from uhost.cli._console import progress, show
from uhost.cli._options import board_option, json_option, models_argument
from uhost.cli._work import loaded, need_board


@click.command()
@models_argument
@board_option
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    required=True,
    metavar="OUT",
    help="A folder, or a file that ends in .tar.",
)
@json_option
def command(models: tuple[str, ...], board: str | None, output: Path, as_json: bool) -> None:
    """Compile MODELs to C for a board: model.c and model.h.

    The two files need a C11 compiler and nothing else. They are yours.

    Example: uhost compile kws.tflite --board stm32f746 -o kws_c
    """
    from uhost import driver
    from uhost.codegen.artifact import Artifact, write_file
    from uhost.report.records import results_json
    from uhost.report.units import kib

    name = need_board(board)
    with progress("Compiling"):
        compiled = driver.compile_models(loaded(models), name)
        sources = driver.model_sources(compiled)
    if output.suffix == ".tar":
        write_file(output, _tar(sources.files))
    else:
        Artifact(sources.files).write(output)
    if as_json:
        records = [
            {
                "model": model.lowered.graph.name,
                "board": name,
                "output": str(output),
                "files": list(sources.files),
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
    show(f"  in                  {output}: {', '.join(sources.files)}")


def _tar(files: Mapping[str, bytes]) -> bytes:
    """Returns a tar archive without dates or owners: same files, same bytes."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for path, content in files.items():
            member = tarfile.TarInfo(path)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return stream.getvalue()


COMMAND = command
