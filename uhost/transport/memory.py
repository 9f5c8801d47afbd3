"""A byte line inside this process: its device end is a callback.

Serves tests, and simulators that run in the process.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from uhost.errors import DeadlineError, TransportError


class DeviceEnd(Protocol):
    """What stands behind a `MemoryTransport`."""

    def receive(self, data: bytes) -> None:
        """Takes bytes from the host; need not work on them yet."""

    def advance(self, timeout_s: float) -> bytes:
        """Works until it has bytes for the host, and returns them.

        Returns no bytes when it waits for the host, or when `timeout_s` seconds passed.
        """

    def stop(self) -> None:
        """Releases what the device holds."""


class Responder:
    """A device end that answers every write at once by calling `answer`."""

    def __init__(self, answer: Callable[[bytes], bytes]) -> None:
        self._answer = answer
        self._answers = bytearray()

    def receive(self, data: bytes) -> None:
        """Keeps the answer to `data` for the next `advance`."""
        self._answers += self._answer(data)

    def advance(self, timeout_s: float) -> bytes:
        """Returns the answers kept."""
        answers = bytes(self._answers)
        self._answers.clear()
        return answers

    def stop(self) -> None:
        """Drops the answers kept."""
        self._answers.clear()


class MemoryTransport:
    """A transport whose device runs inside `read`, as long as it has something to do.

    A device that waits for the host cannot send anything before the host does. `read`
    then raises `DeadlineError` at once instead of sleeping.
    """

    def __init__(self, device: DeviceEnd) -> None:
        self._device = device
        self._received = bytearray()
        self._is_open = False

    def open(self) -> None:
        """Lets bytes through."""
        self._is_open = True

    def close(self) -> None:
        """Stops the device."""
        if self._is_open:
            self._is_open = False
            self._device.stop()

    def read(self, size: int, timeout_s: float) -> bytes:
        """Returns 1 to `size` bytes, running the device until it has sent some."""
        self._check_open()
        if not self._received:
            self._received += self._device.advance(timeout_s)
        if not self._received:
            raise DeadlineError(f"no bytes came within {timeout_s:g} s", where="memory")
        taken = bytes(self._received[:size])
        del self._received[:size]
        return taken

    def write(self, data: bytes, timeout_s: float) -> None:
        """Hands `data` to the device; never waits."""
        self._check_open()
        self._device.receive(data)

    def _check_open(self) -> None:
        if not self._is_open:
            raise TransportError("the line is closed", where="memory")
