"""Moves many bytes in pieces, several requests under way at a time.

With one request at a time the line stands still while an answer travels: USB bridges hold
bytes back for up to 16 ms. With two the device always has the next one. The pieces may be
moved twice and in any order, so one that was lost is sent again as a new request: the
device takes a request older than its last for a late copy.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from uhost.rpc import messages as m
from uhost.rpc._chunk import ChunkSize
from uhost.rpc._link import Link, open_answer
from uhost.rpc._timing import Timing

R = TypeVar("R", bound=m.Message)


@dataclass(frozen=True, slots=True)
class Pieces(Generic[R]):
    """How `size_bytes` bytes are moved: the request for a piece, and what its answer means.

    `fixed_bytes` of a request's payload are not content. `take` gets the offset, the size
    and the answer of every piece, once each and in any order.
    """

    size_bytes: int
    fixed_bytes: int
    request: Callable[[int, int], m.Message]
    reply: type[R]
    take: Callable[[int, int, R], None]


@dataclass(frozen=True, slots=True)
class _Piece:
    start: int
    size_bytes: int
    request: m.Message


def move(link: Link, timing: Timing, chunk: ChunkSize, pieces: Pieces[R]) -> None:
    """Moves all pieces; `chunk` shrinks where the line loses them and grows where it does not.

    Raises `DeadlineError` after `timing.attempts` waits in a row without an answer, the
    last of them with the smallest pieces; else what `Link` raises.
    """
    missing = deque([(0, pieces.size_bytes)] if pieces.size_bytes else [])
    under_way: dict[int, _Piece] = {}
    silences = 0
    waited_s = 0.0
    mark = link.mark()
    while missing or under_way:
        while missing and len(under_way) < timing.window:
            piece = _next_piece(missing, chunk, pieces)
            line_bytes = _line_bytes([*under_way.values(), piece])
            wait_s = _wait_s(timing, line_bytes, silences)
            under_way[link.send(piece.request, wait_s)] = piece
        wait_s = _wait_s(timing, _line_bytes(under_way.values()), silences)
        frame = link.receive(under_way, wait_s)
        if frame is None:
            silences += 1
            waited_s += wait_s
            if silences >= timing.attempts and (timing.attempts == 1 or chunk.is_smallest):
                request = next(iter(under_way.values())).request
                raise link.silence(request, silences, waited_s, mark)
            _put_back(missing, list(under_way.values()))
            under_way.clear()
            chunk.shrink()
            continue
        # The device answers in order: what was sent before this one is lost.
        lost = []
        while (sequence := next(iter(under_way))) != frame.sequence:
            lost.append(under_way.pop(sequence))
        piece = under_way.pop(sequence)
        pieces.take(piece.start, piece.size_bytes, open_answer(frame, piece.request, pieces.reply))
        if lost:
            _put_back(missing, lost)
            chunk.shrink()
        elif not silences:
            chunk.note_success()
        silences, waited_s, mark = 0, 0.0, link.mark()


def _next_piece(missing: deque[tuple[int, int]], chunk: ChunkSize, pieces: Pieces[R]) -> _Piece:
    """Takes the next piece off `missing`, a list of (start, end)."""
    start, end = missing.popleft()
    size_bytes = min(chunk.content_bytes(pieces.fixed_bytes), end - start)
    if start + size_bytes < end:
        missing.appendleft((start + size_bytes, end))
    return _Piece(start, size_bytes, pieces.request(start, size_bytes))


def _put_back(missing: deque[tuple[int, int]], lost: list[_Piece]) -> None:
    missing.extendleft((one.start, one.start + one.size_bytes) for one in reversed(lost))


def _line_bytes(under_way: Iterable[_Piece]) -> int:
    return sum(one.size_bytes + m.SMALLEST_BUFFER_BYTES for one in under_way)


def _wait_s(timing: Timing, line_bytes: int, silences: int) -> float:
    return timing.waits(line_bytes)[min(silences, timing.attempts - 1)]
