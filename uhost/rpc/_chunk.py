"""How many bytes one request carries: much on a good line, little on a bad one."""

from __future__ import annotations

from uhost.rpc.messages import SMALLEST_BUFFER_BYTES

# Sizes are tried again after this many clean transfers at half of them.
_CLEAN_TRANSFERS = 8


class ChunkSize:
    """The payload size in use, from `largest_bytes` down to the smallest the protocol has.

    A frame is lost whole, so on a line that damages one byte in a thousand a frame of 64
    bytes arrives where one of 4096 never does.
    """

    def __init__(self, largest_bytes: int) -> None:
        self._largest_bytes = largest_bytes
        self._bytes = largest_bytes
        self._clean = 0

    @property
    def is_smallest(self) -> bool:
        """True if nothing smaller is left to try."""
        return self._bytes <= SMALLEST_BUFFER_BYTES

    def content_bytes(self, fixed_bytes: int) -> int:
        """Returns the bytes a message carries besides `fixed_bytes` of its own, whole words."""
        return (self._bytes - fixed_bytes) & ~3

    def shrink(self) -> None:
        """Halves the size: a transfer was lost."""
        self._bytes = max(SMALLEST_BUFFER_BYTES, self._bytes // 2)
        self._clean = 0

    def note_success(self) -> None:
        """Counts a transfer that passed at once; doubles the size after a number of them."""
        self._clean += 1
        if self._clean >= _CLEAN_TRANSFERS:
            self._bytes = min(self._largest_bytes, self._bytes * 2)
            self._clean = 0
