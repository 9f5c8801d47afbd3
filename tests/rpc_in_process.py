"""The firmware's own RPC server inside this process: the C that boards run, without a wait."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

from uhost import resources
from uhost.rpc import protocol_header
from uhost.rpc.session import SERIAL, Session, Timing
from uhost.transport.memory import MemoryTransport, Responder
from uhost.transport.paced import Pace, PacedTransport

SOURCE = Path(__file__).with_suffix(".c")
ARENA_BYTES = 1 << 16
INPUT_BYTES = 4096
RPC = ("frame", "measure", "params", "reply", "server")


class FirmwareDevice:
    """Call it with bytes from the host; it returns the bytes the firmware sends."""

    def __init__(self, library: Path) -> None:
        loaded = ctypes.CDLL(str(library))
        self._receive = loaded.uhost_test_receive
        self._receive.argtypes = (ctypes.c_char_p, ctypes.c_uint32)
        self._receive.restype = ctypes.c_uint32
        self._answers = loaded.uhost_test_answers
        self._answers.restype = ctypes.c_void_p

    def __call__(self, received: bytes) -> bytes:
        size = self._receive(received, len(received))
        return ctypes.string_at(self._answers(), size) if size else b""


def build_device(folder: Path, buffer_bytes: int) -> FirmwareDevice:
    """Returns the server, in its state after reset, with a receive buffer of `buffer_bytes`."""
    firmware = resources.folder("firmware")
    (folder / "protocol.h").write_text(protocol_header())
    library = folder / f"rpc_{buffer_bytes}.so"
    includes = [f"-I{path}" for path in (folder, firmware / "rpc", firmware / "hal")]
    sources = [str(firmware / "rpc" / f"{name}.c") for name in RPC]
    flags = ("-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC")
    define = f"-DUHOST_RPC_BUFFER_BYTES={buffer_bytes}"
    subprocess.run(
        ["cc", *flags, define, *includes, *sources, str(SOURCE), "-o", str(library)], check=True
    )
    return FirmwareDevice(library)


def paced(
    device: FirmwareDevice, pace: Pace, timing: Timing = SERIAL
) -> tuple[Session, PacedTransport]:
    """Returns a session with `device` over a line of that pace, after the handshake."""
    line = PacedTransport(MemoryTransport(Responder(device)), pace)
    line.open()
    session = Session(line, timing=timing, clock=line.now)
    session.handshake()
    return session, line
