"""What RPC costs on the wire, and over a 115200 baud line in simulated time."""

from __future__ import annotations

import dataclasses
import random
from pathlib import Path

import pytest
from rpc_in_process import ARENA_BYTES, build_device, paced
from simulated_firmware import INPUT, WORK, expected_outputs, firmware, outputs

from uhost.config.board import board_names, load_board
from uhost.rpc.session import SERIAL, Session
from uhost.runners._runner import RUNNERS
from uhost.transport.paced import Pace, PacedTransport

BAUD = 115200
CONTENTS = {
    "noise": random.Random(1).randbytes(ARENA_BYTES),
    "zeros": bytes(ARENA_BYTES),
    "ones": b"\1" * ARENA_BYTES,  # no zero: COBS is at its longest
}


def overheads(
    folder: Path, buffer_bytes: int, size: int, pace: Pace, window: int
) -> tuple[float, float]:
    """Returns how much longer than its raw bytes an upload takes, and a download."""
    timing = dataclasses.replace(SERIAL, window=window)
    session, line = paced(build_device(folder, buffer_bytes), pace, timing)
    content = CONTENTS["noise"][:size]
    raw_s = size * pace.byte_s
    started_s = line.now()
    session.write(0, 0, content)
    written_s = line.now()
    assert session.read(0, 0, size) == content
    assert line.overrun_bytes == 0
    return (written_s - started_s) / raw_s - 1, (line.now() - written_s) / raw_s - 1


@pytest.mark.needs("host_cc")
@pytest.mark.parametrize("name", list(CONTENTS))
@pytest.mark.parametrize("buffer_bytes", [1024 + 8, 2048, 65536])
def test_frames_add_at_most_three_percent(tmp_path: Path, name: str, buffer_bytes: int) -> None:
    session, line = paced(build_device(tmp_path, buffer_bytes), Pace(BAUD))
    sent = line.sent_bytes
    session.write(0, 0, CONTENTS[name])
    assert line.sent_bytes - sent <= 1.03 * ARENA_BYTES
    received = line.received_bytes
    assert session.read(0, 0, ARENA_BYTES) == CONTENTS[name]
    assert line.received_bytes - received <= 1.03 * ARENA_BYTES


@pytest.mark.needs("host_cc")
@pytest.mark.parametrize("size", [16384, ARENA_BYTES])
@pytest.mark.parametrize("latency_s", [0.0, 0.001, 0.005])
def test_a_board_with_64_kib_fills_a_slow_line(tmp_path: Path, size: int, latency_s: float) -> None:
    up, down = overheads(tmp_path, 2048, size, Pace(BAUD, latency_s), SERIAL.window)
    assert 0 < up < 0.03
    assert 0 < down < 0.03


@pytest.mark.needs("host_cc")
def test_without_a_window_the_line_would_stand_still(tmp_path: Path) -> None:
    up, down = overheads(tmp_path, 2048, ARENA_BYTES, Pace(BAUD), 1)
    assert up > 0.03
    assert down > 0.03


@pytest.mark.needs("host_cc")
@pytest.mark.parametrize(("buffer_bytes", "most"), [(1024, 0.03), (512, 0.05), (256, 0.09)])
def test_smaller_boards_come_close(tmp_path: Path, buffer_bytes: int, most: float) -> None:
    up, down = overheads(tmp_path, buffer_bytes, 16384, Pace(BAUD), SERIAL.window)
    assert max(up, down) < most


def test_every_board_has_a_buffer_for_its_ram() -> None:
    for name in board_names():
        board = load_board(name)
        if board.regions:
            ram_bytes = board.region(board.ram).size_bytes
            assert (board.rpc_buffer_bytes == 2048) == (ram_bytes >= 65536), name
            assert 256 <= board.rpc_buffer_bytes <= ram_bytes // 32 + 256, name


@pytest.mark.needs("arm_gcc")
def test_a_board_takes_the_next_piece_while_it_answers() -> None:
    board, image = firmware("stm32f746g_disco", "arm_gcc")
    line = PacedTransport(RUNNERS["unicorn"].start(image, board), Pace(BAUD))
    with Session(line, timing=SERIAL, clock=line.now) as session:
        assert session.handshake().buffer_bytes == board.rpc_buffer_bytes == 2048
        size = session.device.models[WORK].arena_bytes
        content = random.Random(1).randbytes(size)
        started_s = line.now()
        session.write(WORK, 0, content)
        written_s = line.now() - started_s
        assert session.read(WORK, 0, size) == content
        session.write_input(WORK, 0, INPUT)
        session.run(WORK, timeout_s=10)
        assert outputs(session) == expected_outputs()
        assert session.handshake().dropped_frames == 0
    assert written_s < 1.2 * size * 10 / BAUD
