"""`uhost new`: a project to begin with."""

from __future__ import annotations

from pathlib import Path

import click

from uhost.cli._console import note
from uhost.cli._options import board_option
from uhost.errors import ConfigError

PROJECT = """\
# A uhost project. `uhost build`, `run`, `verify`, `bench` and `compile` in this folder use it;
# what is on the command line goes before it. Every key: `uhost config schema`, and
# docs/configuration.md of uhost. What is in force and why: `uhost config show --explain`.

models:
  {name}: {file}

# A board, a chip, or the path of a board file; boards/NAME.yaml in this folder is one too.
# `uhost boards` lists them.
board: {board}

# The code that is generated.
# executor:
#   aot:
#     link_params: true       # false: weights apart from the code
#     alignment_bytes: 8
# targets:
#   {kind}:
#     libraries: [{libraries}]   # where kernels are taken from

# How passes work.
# passes:
#   opt_level: 2
#   disabled: []

# The kernel library of single operators; `uhost inspect` lists the operators.
# kernels:
#   conv_2d_0: reference

# toolchain: {toolchain}
output: build

run:
  on: {runner}
#   input: {name}.npz         # .npz, .npy or .bin; random values without it
"""

IGNORED = "build/\n"


@click.command()
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
@click.argument("model", required=False, metavar="[MODEL]")
@board_option
def command(folder: Path, model: str | None, board: str | None) -> None:
    """Write a project for a board into DIR: uhost.yaml, the model, and a .gitignore.

    Without MODEL, the bundled one. The project builds and runs as it is.

    Example: uhost new greeting --board stm32f746 kws.tflite
    """
    from uhost import driver, resources
    from uhost.codegen.artifact import write_file
    from uhost.codegen.names import identifier
    from uhost.config.board import load_board
    from uhost.config.project import FILE_NAME
    from uhost.config.resolve import NAME_A_BOARD
    from uhost.runtime.device import device

    if board is None:
        raise ConfigError("no board given", fix=NAME_A_BOARD)
    found = load_board(board)
    source = Path(model) if model else resources.bundled_model()
    [loaded] = driver.load(source)
    if (folder / FILE_NAME).exists():
        raise ConfigError(
            f"there is a project in '{folder}' already",
            where=str(folder / FILE_NAME),
            fix="choose another folder, or edit the file",
        )
    name = identifier(loaded.graph.name)
    text = PROJECT.format(
        name=name,
        file=f"{name}{source.suffix}",
        board=found.file or board,
        kind=found.target.kind,
        libraries=", ".join(found.target.libraries),
        toolchain="host_cc" if found.target.kind == "host" else "arm_gcc",
        runner=device(found).runner,
    )
    write_file(folder / f"{name}{source.suffix}", loaded.content)
    write_file(folder / ".gitignore", IGNORED.encode())
    write_file(folder / FILE_NAME, text.encode())
    note(f"Wrote a project into {folder}/. Next: cd {folder} && uhost run")


COMMAND = command
