"""Pieces of a tensor on the line: two under way at a time, each lost one sent again."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable

import pytest
from python_device import PythonDevice

from uhost.errors import DeadlineError, RemoteError
from uhost.rpc import messages as m
from uhost.rpc.framing import Frame
from uhost.rpc.session import LOCAL, SERIAL, Session, Timing
from uhost.transport.memory import MemoryTransport, Responder

CONTENT = random.Random(1).randbytes(1500)


class Watched:
    """A line that notes writes and reads: how many requests are out before an answer is read."""

    def __init__(self, device: Callable[[bytes], bytes]) -> None:
        self.inner = MemoryTransport(Responder(device))
        self.inner.open()
        self.events: list[str] = []

    def open(self) -> None:
        """Is open."""

    def close(self) -> None:
        self.inner.close()

    def read(self, size: int, timeout_s: float) -> bytes:
        self.events.append("r")
        return self.inner.read(size, timeout_s)

    def write(self, data: bytes, timeout_s: float) -> None:
        self.events.append("w")
        self.inner.write(data, timeout_s)


def connect(device: PythonDevice, timing: Timing) -> tuple[Session, Watched]:
    line = Watched(device)
    session = Session(line, timing=timing)
    session.handshake()
    line.events.clear()
    return session, line


@pytest.mark.parametrize(("timing", "beginning"), [(LOCAL, "wrwr"), (SERIAL, "wwrw")])
def test_as_many_pieces_are_under_way_as_the_line_takes(timing: Timing, beginning: str) -> None:
    session, line = connect(PythonDevice(buffer_bytes=256), timing)
    session.write(0, 0, CONTENT)
    assert "".join(line.events).startswith(beginning)
    line.events.clear()
    assert session.read(0, 0, len(CONTENT)) == CONTENT
    assert "".join(line.events).startswith(beginning)


def lose(device: PythonDevice, kind: int, numbers: set[int]) -> list[int]:
    """Lets the device not hear the requests of these numbers; returns the offsets it hears."""
    heard: list[int] = []
    seen = 0

    def before_answer(frame: Frame) -> bytes | None:
        nonlocal seen
        if frame.type != kind:
            return None
        seen += 1
        if seen - 1 in numbers:
            return b""
        heard.append(int.from_bytes(frame.payload[1:5], "little"))
        return None

    device.before_answer = before_answer
    return heard


@pytest.mark.parametrize("kind", [m.WriteRequest.CODE, m.ReadRequest.CODE])
@pytest.mark.parametrize("numbers", [{0}, {1}, {2, 3}, {0, 1, 2}])
def test_a_lost_piece_is_sent_again_and_the_others_are_not(kind: int, numbers: set[int]) -> None:
    device = PythonDevice(buffer_bytes=256)
    session, _ = connect(device, SERIAL)
    device.arena[: len(CONTENT)] = CONTENT
    if kind == m.WriteRequest.CODE:
        device.arena = bytearray(len(device.arena))
    heard = lose(device, kind, numbers)
    if kind == m.WriteRequest.CODE:
        session.write(0, 0, CONTENT)
        assert device.arena[: len(CONTENT)] == CONTENT
    else:
        assert session.read(0, 0, len(CONTENT)) == CONTENT
    assert len(heard) == len(set(heard))


def test_silence_ends_after_the_attempts_of_the_timing() -> None:
    device = PythonDevice(buffer_bytes=4096)
    session, line = connect(device, dataclasses.replace(SERIAL, attempts=3))
    heard = lose(device, m.WriteRequest.CODE, set(range(1000)))
    with pytest.raises(DeadlineError) as raised:
        session.write(0, 0, CONTENT)
    assert heard == []
    # From 4096 bytes down to 64 takes six halvings, more than the three attempts.
    assert raised.value.where.startswith("sent 7 times; received 0 bytes")
    assert raised.value.what.startswith("no answer to WriteRequest within ")
    assert line.events.count("w") <= 14


def test_a_refused_piece_ends_the_transfer() -> None:
    device = PythonDevice(buffer_bytes=256)
    session, _ = connect(device, SERIAL)
    with pytest.raises(RemoteError):
        session.write(0, len(device.arena) - 300, CONTENT)
    session.write(0, 0, CONTENT)
    assert session.read(0, 0, len(CONTENT)) == CONTENT


def test_nothing_is_sent_for_nothing() -> None:
    session, line = connect(PythonDevice(), SERIAL)
    session.write(0, 0, b"")
    assert session.read(0, 0, 0) == b""
    assert line.events == []
