"""The simulated slow line: its times by hand."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from uhost.errors import DeadlineError
from uhost.transport.memory import MemoryTransport, Responder
from uhost.transport.paced import Pace, PacedTransport

BAUD = 10_000  # a millisecond per byte
PACE = Pace(BAUD, latency_s=0.5, answer_s=0.25, receive_bytes=16, piece_bytes=4, host_bytes=32)


def line_to(answer: Callable[[bytes], bytes], pace: Pace = PACE) -> PacedTransport:
    line = PacedTransport(MemoryTransport(Responder(answer)), pace)
    line.open()
    return line


def at_end(end: bytes, answer: bytes) -> Callable[[bytes], bytes]:
    return lambda data: answer if data.endswith(end) else b""


def test_a_byte_takes_ten_bits() -> None:
    assert Pace(115200).byte_s == pytest.approx(86.8e-6, rel=1e-3)


def test_an_answer_comes_after_both_ways_and_the_work() -> None:
    line = line_to(at_end(b"!", b"answer"))
    line.write(b"question!", 1)
    assert line.now() == 0
    assert line.read(4, 5) == b"answ"
    assert line.now() == pytest.approx(0.009 + 0.5 + 0.25 + 0.006 + 0.5)
    assert line.read(100, 5) == b"er"
    assert (line.sent_bytes, line.received_bytes, line.overrun_bytes) == (9, 6, 0)


def test_waiting_in_vain_takes_the_time_out() -> None:
    line = line_to(at_end(b"!", b"answer"))
    line.write(b"question!", 1)
    for waited in (0.5, 1.0):
        with pytest.raises(DeadlineError) as raised:
            line.read(100, 0.5)
        assert raised.value.what == "no bytes came within 0.5 s"
        assert line.now() == waited
    assert line.read(100, 0.5) == b"answer"


def test_writing_waits_while_the_driver_is_full() -> None:
    line = line_to(lambda data: b"")
    line.write(bytes(132), 1)
    assert line.now() == pytest.approx(0.1)
    line.write(bytes(10), 1)
    assert line.now() == pytest.approx(0.11)
    with pytest.raises(DeadlineError) as raised:
        line.write(bytes(2000), 1)
    assert raised.value.what == "bytes could not be written within 1 s"
    assert line.now() == pytest.approx(1.11)


def test_what_comes_while_the_device_answers_waits_in_its_ring() -> None:
    got: list[bytes] = []

    def answer(data: bytes) -> bytes:
        got.append(data)
        return b"." if data.endswith(b"!") else b""

    line = line_to(answer)
    line.write(b"one!", 1)
    line.write(b"second", 1)
    line.write(b"third!", 1)
    assert line.read(1, 5) == b"."
    assert line.read(1, 5) == b"."
    assert got == [b"one!", b"secondthird!"]
    assert line.overrun_bytes == 0


def test_what_the_ring_cannot_hold_is_lost() -> None:
    got: list[bytes] = []

    def answer(data: bytes) -> bytes:
        got.append(data)
        return b"."

    line = line_to(answer)
    line.write(b"one!", 1)
    line.write(b"0123456789abcdefghij", 1)
    assert line.read(1, 5) == b"."
    assert line.read(1, 5) == b"."
    assert got == [b"one!", b"0123456789abcdef"]
    assert line.overrun_bytes == 4
