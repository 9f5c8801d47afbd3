"""A byte line over two file descriptors: the pipes of a subprocess, or a socket pair."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import time
from collections.abc import Callable

from uhost.errors import DeadlineError, TransportError

_PIECE_BYTES = 1 << 16
# What Linux allows without privileges; a longer pipe saves task switches.
_PIPE_BYTES = 1 << 20
_LOST = select.POLLHUP | select.POLLERR | select.POLLNVAL


class PipeTransport:
    """Reads from one descriptor and writes to another; owns and closes both.

    While a write waits for the other side, what the other side sends is taken in, so
    two ends that write at once do not wait for each other. `when_lost` is called when
    the other side is gone, and may raise an error that says why.
    """

    def __init__(
        self, read_fd: int, write_fd: int, when_lost: Callable[[], None] = lambda: None
    ) -> None:
        self._read_fd = read_fd
        self._write_fd = write_fd
        self._when_lost = when_lost
        self._received = bytearray()
        self._closed = False

    def open(self) -> None:
        """Makes the descriptors non-blocking, and pipes as long as the system allows."""
        for fd in (self._read_fd, self._write_fd):
            os.set_blocking(fd, False)
            if hasattr(fcntl, "F_SETPIPE_SZ"):
                # Not a pipe, or the user's pipes are used up: the default length serves.
                with contextlib.suppress(OSError):
                    fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)

    def close(self) -> None:
        """Closes both descriptors."""
        if not self._closed:
            self._closed = True
            for fd in {self._read_fd, self._write_fd}:
                os.close(fd)

    def read(self, size: int, timeout_s: float) -> bytes:
        """Returns 1 to `size` bytes as soon as any are there."""
        self._check_open()
        if not self._received:
            self._wait(time.monotonic() + timeout_s, timeout_s, sending=False)
        taken = bytes(self._received[:size])
        del self._received[:size]
        return taken

    def write(self, data: bytes, timeout_s: float) -> None:
        """Writes all of `data`, taking in what the other side sends meanwhile."""
        self._check_open()
        deadline = time.monotonic() + timeout_s
        rest = memoryview(data)
        while rest:
            try:
                rest = rest[os.write(self._write_fd, rest) :]
            except BlockingIOError:
                self._wait(deadline, timeout_s, sending=True)
            except OSError as error:
                raise self._lost(str(error)) from error

    def _wait(self, deadline: float, timeout_s: float, *, sending: bool) -> None:
        """Returns when bytes came in or, if `sending`, when some can go out."""
        poll = select.poll()
        poll.register(self._read_fd, select.POLLIN)
        if sending:
            poll.register(
                self._write_fd,
                select.POLLOUT | (select.POLLIN if self._write_fd == self._read_fd else 0),
            )
        left_s = max(0.0, deadline - time.monotonic())
        ready = dict(poll.poll(left_s * 1000))
        if not ready:
            doing = "could not be written" if sending else "came"
            raise DeadlineError(
                f"{'bytes' if sending else 'no bytes'} {doing} within {timeout_s:g} s",
                where="pipe",
            )
        if ready.get(self._read_fd, 0) & (select.POLLIN | _LOST):
            self._take_in()

    def _take_in(self) -> None:
        try:
            received = os.read(self._read_fd, _PIECE_BYTES)
        except BlockingIOError:
            return
        except OSError as error:
            raise self._lost(str(error)) from error
        if not received:
            raise self._lost("end of file")
        self._received += received

    def _check_open(self) -> None:
        if self._closed:
            raise TransportError("the line is closed", where="pipe")

    def _lost(self, reason: str) -> TransportError:
        self._when_lost()
        return TransportError(f"the other end of the pipe is gone: {reason}", where="pipe")
