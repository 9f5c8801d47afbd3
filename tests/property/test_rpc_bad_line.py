"""RPC over a line that drops, duplicates, delays, truncates, flips and splits bytes.

The device is the firmware's own server. Whatever the line does, the host gets the right
answer or a clear error in bounded time. More seeds:
`UHOST_BAD_LINE_SEEDS=20000 pytest tests/property/test_rpc_bad_line.py`.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from rpc_bad_line import TIMING, BadLine, check_clear, use
from rpc_in_process import FirmwareDevice, build_device

from uhost.errors import DeadlineError, UhostError
from uhost.rpc.session import Session
from uhost.transport.lossy import Damage, LossyTransport
from uhost.transport.memory import MemoryTransport, Responder
from uhost.transport.paced import Pace, PacedTransport

pytestmark = pytest.mark.needs("host_cc")

SEEDS = int(os.environ.get("UHOST_BAD_LINE_SEEDS", "240"))
PARTS = 8
# Of the line's time: twice what the longest of 4,000 such sessions took.
LONGEST_SESSION_S = 600


@pytest.fixture(scope="module")
def device(tmp_path_factory: pytest.TempPathFactory) -> FirmwareDevice:
    return build_device(tmp_path_factory.mktemp("bad_line"), buffer_bytes=512)


@pytest.mark.parametrize("part", range(PARTS))
def test_answers_are_right_or_there_is_a_clear_error(device: FirmwareDevice, part: int) -> None:
    answered = given_up = 0
    for seed in range(part, SEEDS, PARTS):
        bad = BadLine(device, seed)
        try:
            use(bad.session, seed)
            answered += 1
        except UhostError as error:
            check_clear(error)
            given_up += 1
        assert bad.line.now() < LONGEST_SESSION_S, f"seed {seed}"
    # Neither outcome is rare, or this would be a test of one of them alone.
    assert answered > SEEDS // PARTS // 4
    assert given_up > 0


def test_the_device_answers_on_a_clean_line_after_all_that(device: FirmwareDevice) -> None:
    for seed in range(20):
        bad = BadLine(device, seed)
        try:
            use(bad.session, seed)
        except UhostError as error:
            check_clear(error)
        line = MemoryTransport(Responder(device))
        line.open()
        use(Session(line), seed)


def test_the_same_seed_does_the_same_damage(device: FirmwareDevice) -> None:
    def taken(seed: int) -> bytes:
        line = LossyTransport(MemoryTransport(Responder(lambda data: data)), HARD, seed)
        line.open()
        got = b""
        for number in range(60):
            line.write(bytes([number]) * 20, 1)
            try:
                got += line.read(1000, 1)
            except DeadlineError:
                got += b"-"
        return got

    assert taken(1) == taken(1) != taken(2)


HARD = Damage(0.1, 0.1, 0.1, 0.1, 0.1, 0.5, 0.1, 1e-2, 1e-2, longest_delay=3)


# ---- Chunks -------------------------------------------------------------------------------


def test_chunks_shrink_to_what_the_line_carries(tmp_path: Path) -> None:
    """One byte in 400 is damaged: of frames of 2 KiB one in 170 arrives, of 128 B most do."""
    device = build_device(tmp_path, buffer_bytes=2048)
    single_bytes = Damage(flip_byte=1 / 800, drop_byte=1 / 800)
    inner = LossyTransport(MemoryTransport(Responder(device)), single_bytes, 7)
    line = PacedTransport(inner, Pace(115200, receive_bytes=1024))
    line.open()
    session = Session(line, timing=TIMING, clock=line.now)
    session.handshake()
    content = random.Random(1).randbytes(16384)
    started_s, sent = line.now(), line.sent_bytes
    session.write(0, 0, content)
    taken_s = line.now() - started_s
    assert line.sent_bytes - sent < 3 * len(content)
    assert taken_s < 60
    assert session.read(0, 0, len(content)) == content
