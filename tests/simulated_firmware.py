"""The real firmware around the hand-written models of `simulation/simulators`."""

from __future__ import annotations

import struct
from functools import cache
from pathlib import Path

from uhost.codegen.artifact import Artifact
from uhost.codegen.firmware import firmware_files
from uhost.config.board import Board, load_board
from uhost.resources import cache_folder
from uhost.rpc.session import Session
from uhost.runners._runner import RUNNERS
from uhost.toolchain._toolchain import TOOLCHAINS, Image
from uhost.transport._transport import Transport

TABLE = Path(__file__).parent / "simulation" / "simulators" / "model_table.c"
WORK, CRASHES = 0, 1
BAD_POINTER, UNDEFINED, STACK_OVERFLOW, NO_VECTORS, ENDLESS = range(5)
INPUT = bytes(value * 7 % 256 for value in range(1024))
TIMEOUT_S = 60.0


@cache
def firmware(board_name: str, toolchain: str) -> tuple[Board, Image]:
    """Returns the board and the firmware built for it; once per process."""
    board = load_board(board_name)
    files = {**firmware_files(board), "firmware/model_table.c": TABLE.read_bytes()}
    folder = cache_folder() / f"simulated-{board_name}-{toolchain}"
    return board, TOOLCHAINS[toolchain].build(Artifact(files), board, folder)


def connect(board_name: str, toolchain: str, runner: str) -> tuple[Session, Transport]:
    """Returns a session with the started firmware, after the handshake."""
    board, image = firmware(board_name, toolchain)
    line = RUNNERS[runner].start(image, board)
    session = Session(line, symbolize=image.function_at)
    try:
        session.handshake()
    except BaseException:
        session.close()
        raise
    return session, line


def expected_outputs() -> tuple[int, float]:
    """Returns what `work` computes from `INPUT`."""
    scaled = [(3 * value + index) % 256 for index, value in enumerate(INPUT)]
    total = 0
    for index, value in enumerate(scaled):
        total = total + value if value & 1 else total ^ index
    total += 55  # fibonacci(10)
    return total, struct.unpack("<f", struct.pack("<f", total / 1024))[0]


def outputs(session: Session) -> tuple[int, float]:
    """Returns the outputs of `work`."""
    total = int.from_bytes(session.read_output(WORK, 0), "little")
    return total, struct.unpack("<f", session.read_output(WORK, 1))[0]
