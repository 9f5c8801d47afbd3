"""A bad line: damages what passes, by a seed, in the ways real lines do."""

from __future__ import annotations

import random
from dataclasses import dataclass

from uhost.errors import DeadlineError
from uhost.transport._transport import Transport


@dataclass(frozen=True, slots=True)
class Damage:
    """How often each thing happens to a piece of bytes, as probabilities from 0 to 1.

    A piece is what one `write` sends or one `read` receives. `drop` loses it whole,
    `duplicate` repeats it, `delay` keeps it back until up to `longest_delay` later pieces of
    its direction have passed, `truncate` loses its end, `flip` inverts one bit, `split`
    delivers it in two parts, `insert` puts noise in front of it. `flip_byte` and `drop_byte`
    befall every single byte, so that long pieces suffer more than short ones.
    """

    drop: float = 0.0
    duplicate: float = 0.0
    delay: float = 0.0
    truncate: float = 0.0
    flip: float = 0.0
    split: float = 0.0
    insert: float = 0.0
    flip_byte: float = 0.0
    drop_byte: float = 0.0
    longest_delay: int = 1


class LossyTransport:
    """Passes bytes through `inner` with `damage`; the same seed does the same damage."""

    def __init__(self, inner: Transport, damage: Damage, seed: int) -> None:
        self._inner = inner
        self._damage = damage
        self._random = random.Random(seed)
        # Pieces kept back: how many more are to pass them, and their bytes.
        self._late_out: list[tuple[int, bytes]] = []
        self._late_in: list[tuple[int, bytes]] = []
        self._received = bytearray()

    def open(self) -> None:
        """Opens the line behind."""
        self._inner.open()

    def close(self) -> None:
        """Closes the line behind."""
        self._inner.close()

    def read(self, size: int, timeout_s: float) -> bytes:
        """Returns bytes that came through, damaged."""
        if not self._received:
            for piece in self._spoil(self._inner.read(size, timeout_s), self._late_in):
                self._received += piece
        if not self._received:
            raise DeadlineError("no bytes came: the line lost them", where="lossy line")
        limit = size
        if len(self._received) > 1 and self._happens(self._damage.split):
            limit = min(size, self._random.randrange(1, len(self._received)))
        taken = bytes(self._received[:limit])
        del self._received[:limit]
        return taken

    def write(self, data: bytes, timeout_s: float) -> None:
        """Sends `data` on, damaged."""
        for piece in self._spoil(data, self._late_out):
            if len(piece) > 1 and self._happens(self._damage.split):
                cut = self._random.randrange(1, len(piece))
                self._inner.write(piece[:cut], timeout_s)
                piece = piece[cut:]
            self._inner.write(piece, timeout_s)

    def _spoil(self, piece: bytes, late: list[tuple[int, bytes]]) -> list[bytes]:
        """Returns what arrives when `piece` is sent: pieces kept long enough follow it."""
        damage = self._damage
        due = [data for left, data in late if left <= 1]
        late[:] = [(left - 1, data) for left, data in late if left > 1]
        if self._happens(damage.drop):
            return due
        if piece and self._happens(damage.flip):
            piece = self._flip(piece, self._random.randrange(len(piece)))
        if damage.flip_byte or damage.drop_byte:
            piece = self._spoil_bytes(piece)
        if piece and self._happens(damage.truncate):
            piece = piece[: self._random.randrange(len(piece))]
        if self._happens(damage.insert):
            piece = self._random.randbytes(self._random.randrange(1, 64)) + piece
        if self._happens(damage.delay):
            late.append((self._random.randint(1, damage.longest_delay), piece))
            return due
        copies = 2 if self._happens(damage.duplicate) else 1
        return [piece] * copies + due

    def _spoil_bytes(self, piece: bytes) -> bytes:
        for position in range(len(piece)):
            if self._happens(self._damage.flip_byte):
                piece = self._flip(piece, position)
        return bytes(byte for byte in piece if not self._happens(self._damage.drop_byte))

    def _flip(self, piece: bytes, position: int) -> bytes:
        spoiled = bytearray(piece)
        spoiled[position] ^= 1 << self._random.randrange(8)
        return bytes(spoiled)

    def _happens(self, probability: float) -> bool:
        return self._random.random() < probability
