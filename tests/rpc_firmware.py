"""Builds the firmware for this machine, with the models of rpc_host/model_table.c."""

from __future__ import annotations

import subprocess
from pathlib import Path

from uhost import resources
from uhost.config.board import Board
from uhost.config.target import Target
from uhost.rpc import protocol_header
from uhost.toolchain._toolchain import Image

MODELS = Path(__file__).parent / "simulation" / "rpc_host" / "model_table.c"
BOARD = Board(name="host", board="host", description="", chip="", target=Target("host"))


def build(folder: Path, *flags: str) -> Path:
    """Returns the firmware for this machine with the models of the tests."""
    firmware = resources.folder("firmware")
    (folder / "protocol.h").write_text(protocol_header())
    names = ("frame", "main", "measure", "params", "reply", "server")
    sources = [str(firmware / "rpc" / f"{name}.c") for name in names]
    sources.append(str(firmware / "hal" / "host.c"))
    includes = [f"-I{path}" for path in (folder, firmware / "rpc", firmware / "hal")]
    program = folder / "firmware.elf"
    warnings = ("-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror")
    subprocess.run(
        ["cc", "-std=c11", *flags, *warnings, *includes, *sources, str(MODELS), "-o", str(program)],
        check=True,
    )
    return program


def image_of(program: Path) -> Image:
    return Image(program, "host_cc", 0, 0, 0, {})
