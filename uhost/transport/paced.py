"""A slow line in simulated time: what a transfer over a UART would take, without waiting for it.

The transport behind must answer at once or not at all, as `MemoryTransport` and the Unicorn
runner do; its device then behaves as one at the end of a line of some baud rate would.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from uhost.errors import DeadlineError
from uhost.transport._transport import Transport

_READ_BYTES = 1 << 17


@dataclass(frozen=True, slots=True)
class Pace:
    """What a line and the device at its end take.

    10 bits pass per byte, in both directions at once. `latency_s` is what the adapter adds
    each way; it gives the host bytes that came together. The device computes `answer_s`
    before each answer and sends it by polling. Bytes that come meanwhile wait in a ring of
    `receive_bytes`; what it cannot hold is lost.
    """

    baud: int
    latency_s: float = 0.001
    answer_s: float = 0.0005
    receive_bytes: int = 256
    # A device looks at what came whenever it wakes: after this many bytes, or at a pause.
    piece_bytes: int = 8
    # What the host's driver takes before `write` has to wait.
    host_bytes: int = 4096

    @property
    def byte_s(self) -> float:
        """Seconds on the line per byte."""
        return 10 / self.baud


class PacedTransport:
    """Passes bytes to and from `inner` at `pace`; `now()` is the simulated time in seconds.

    `read` and `write` move the time on instead of waiting, so deadlines must be kept by
    `now`. `sent_bytes` and `received_bytes` are what passed on the line, `overrun_bytes`
    what the device lost.
    """

    def __init__(self, inner: Transport, pace: Pace) -> None:
        self._inner = inner
        self._pace = pace
        self._now_s = 0.0
        # Bytes on their way: (the time of arrival, the bytes), in order.
        self._to_device: deque[tuple[float, bytes]] = deque()
        self._to_host: deque[tuple[float, bytes]] = deque()
        self._line_free_s = 0.0
        self._device_free_s = 0.0
        self._waiting: list[tuple[float, bytes]] = []
        self.sent_bytes = 0
        self.received_bytes = 0
        self.overrun_bytes = 0

    def now(self) -> float:
        """Returns the seconds that passed on the line."""
        return self._now_s

    def open(self) -> None:
        """Opens the line behind."""
        self._inner.open()

    def close(self) -> None:
        """Closes the line behind."""
        self._inner.close()

    def write(self, data: bytes, timeout_s: float) -> None:
        """Puts `data` on the line; time passes while the driver's buffer is full."""
        pace = self._pace
        at_s = max(self._now_s, self._line_free_s)
        for start in range(0, len(data), pace.piece_bytes):
            piece = data[start : start + pace.piece_bytes]
            at_s += len(piece) * pace.byte_s
            self._to_device.append((at_s + pace.latency_s, piece))
        self._line_free_s = at_s
        self.sent_bytes += len(data)
        handed_over_s = at_s - pace.host_bytes * pace.byte_s
        if handed_over_s > self._now_s + timeout_s:
            self._now_s += timeout_s
            raise DeadlineError(f"bytes could not be written within {timeout_s:g} s", where="line")
        self._now_s = max(self._now_s, handed_over_s)

    def read(self, size: int, timeout_s: float) -> bytes:
        """Returns 1 to `size` bytes; the time becomes that of their arrival."""
        deadline_s = self._now_s + timeout_s
        while not self._to_host and self._to_device:
            if self._to_device[0][0] > deadline_s:
                break
            self._deliver()
        if not self._to_host or self._to_host[0][0] > deadline_s:
            self._now_s = deadline_s
            raise DeadlineError(f"no bytes came within {timeout_s:g} s", where="line")
        at_s, data = self._to_host.popleft()
        if len(data) > size:
            self._to_host.appendleft((at_s, data[size:]))
            data = data[:size]
        self._now_s = max(self._now_s, at_s)
        return data

    def _deliver(self) -> None:
        """Lets the device have the next piece, and puts its answer on the line."""
        pace = self._pace
        at_s, piece = self._to_device.popleft()
        if at_s < self._device_free_s:
            # The device is busy: the piece waits in the ring, with those that came before it.
            self._waiting.append((at_s, piece))
            room = pace.receive_bytes - sum(len(data) for _, data in self._waiting[:-1])
            if room < len(piece):
                self.overrun_bytes += len(piece) - max(room, 0)
                self._waiting[-1] = (at_s, piece[: max(room, 0)])
            if self._to_device and self._to_device[0][0] < self._device_free_s:
                return
            piece, at_s = b"".join(data for _, data in self._waiting), self._device_free_s
            self._waiting.clear()
        self._inner.write(piece, 1.0)
        answer = self._answer()
        if answer:
            sent_s = at_s + pace.answer_s + len(answer) * pace.byte_s
            self._device_free_s = sent_s
            self.received_bytes += len(answer)
            self._to_host.append((sent_s + pace.latency_s, answer))

    def _answer(self) -> bytes:
        answer = bytearray()
        while True:
            try:
                answer += self._inner.read(_READ_BYTES, 1.0)
            except DeadlineError:
                return bytes(answer)
