"""The program that feeds byte streams to the RPC server: see fuzz/rpc_receiver/harness.c."""

from __future__ import annotations

import subprocess
from pathlib import Path

from uhost import resources
from uhost.rpc import protocol_header

HARNESS = Path(__file__).parent / "fuzz" / "rpc_receiver" / "harness.c"
BUFFER = "-DUHOST_RPC_BUFFER_BYTES=1024"
RPC = ("frame", "measure", "params", "reply", "server")
SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")


def build_harness(folder: Path) -> Path:
    """Returns the program that feeds the server, built with sanitizers."""
    firmware = resources.folder("firmware")
    (folder / "protocol.h").write_text(protocol_header())
    sources = [str(firmware / "rpc" / f"{name}.c") for name in RPC]
    flags = ("-std=c11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", *SANITIZERS, BUFFER)
    includes = [f"-I{path}" for path in (folder, firmware / "rpc", firmware / "hal")]
    program = folder / "harness"
    subprocess.run(
        ["cc", *flags, *includes, *sources, str(HARNESS), "-o", str(program)],
        check=True,
    )
    return program
