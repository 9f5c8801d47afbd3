"""What a bad line does to a piece of bytes."""

from __future__ import annotations

import pytest

from uhost.errors import DeadlineError
from uhost.transport.lossy import Damage, LossyTransport
from uhost.transport.memory import MemoryTransport, Responder


def sent_through(damage: Damage, pieces: list[bytes], seed: int = 1) -> list[bytes]:
    """Returns what the device gets of each piece, one list entry per write."""
    got: list[bytes] = []

    def take(data: bytes) -> bytes:
        got.append(data)
        return b""

    line = LossyTransport(MemoryTransport(Responder(take)), damage, seed)
    line.open()
    for piece in pieces:
        line.write(piece, 1)
    return got


PIECES = [bytes([number]) * 10 for number in range(50)]


def test_a_good_line_changes_nothing() -> None:
    assert sent_through(Damage(), PIECES) == PIECES


def test_every_byte_can_be_flipped_or_lost() -> None:
    (flipped,) = sent_through(Damage(flip_byte=1.0), [bytes(100)])
    assert {byte.bit_count() for byte in flipped} == {1}
    assert len(set(flipped)) > 4
    assert sent_through(Damage(drop_byte=1.0), [bytes(100)]) == [b""]
    (some,) = sent_through(Damage(drop_byte=0.3), [bytes(1000)])
    assert 600 < len(some) < 800


def test_late_pieces_are_passed_by_no_more_than_allowed() -> None:
    got = sent_through(Damage(delay=0.3, longest_delay=4), PIECES)
    numbers = [piece[0] for piece in got]
    late = [place - number for place, number in enumerate(numbers)]
    assert numbers != sorted(numbers)
    # What is passed by four others arrives four places later; it may itself have passed some.
    assert max(abs(places) for places in late) <= 8
    assert len(set(numbers)) == len(numbers) >= 45


@pytest.mark.parametrize(
    ("damage", "total"),
    [
        (Damage(drop=1.0), 0),
        (Damage(duplicate=1.0), 1000),
        (Damage(split=1.0), 500),
    ],
)
def test_whole_pieces_vanish_double_or_break(damage: Damage, total: int) -> None:
    got = sent_through(damage, PIECES)
    assert sum(map(len, got)) == total
    if damage.split:
        assert len(got) == 2 * len(PIECES)


def test_a_lost_answer_is_silence() -> None:
    line = LossyTransport(MemoryTransport(Responder(lambda data: data)), Damage(drop=1.0), 1)
    line.open()
    line.write(b"question", 1)
    with pytest.raises(DeadlineError):
        line.read(10, 1)
