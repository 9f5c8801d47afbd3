"""The way bytes travel to a device and back."""

from __future__ import annotations

from typing import Protocol


class Transport(Protocol):
    """A byte line to a device with explicit deadlines; errors are `TransportError`."""

    def open(self) -> None:
        """Opens the line."""

    def close(self) -> None:
        """Closes the line and whatever it started; never raises twice."""

    def read(self, size: int, timeout_s: float) -> bytes:
        """Returns 1 to `size` bytes as soon as any are there.

        Raises `DeadlineError` when none came within `timeout_s` seconds.
        """

    def write(self, data: bytes, timeout_s: float) -> None:
        """Writes all of `data`; raises `DeadlineError` when that takes over `timeout_s` seconds."""
