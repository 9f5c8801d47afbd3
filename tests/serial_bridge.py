"""A pseudo-terminal whose far end is a transport: firmware in a simulator on a serial port."""

from __future__ import annotations

import os
import select
import threading
import time
import tty
from contextlib import suppress
from types import TracebackType

from uhost.errors import DeadlineError, UhostError
from uhost.transport._transport import Transport

_PIECE_BYTES = 256


def carry(terminal: int, device: Transport, stop: threading.Event, bytes_per_second: float) -> None:
    """Carries bytes both ways at the speed of a line, until `stop` or the terminal closes."""
    while not stop.is_set():
        ready, _, _ = select.select([terminal], [], [], 0.005)
        if ready:
            try:
                incoming = os.read(terminal, _PIECE_BYTES)
            except OSError:
                return  # unplugged
            time.sleep(len(incoming) / bytes_per_second)
            device.write(incoming, 5.0)
        with suppress(DeadlineError):
            while outgoing := device.read(_PIECE_BYTES, 0.05):
                time.sleep(len(outgoing) / bytes_per_second)
                os.write(terminal, outgoing)


class SerialBridge:
    """A serial port, `port`, that leads to `device`; closing it ends both."""

    def __init__(self, device: Transport, baud: int = 115200) -> None:
        self._device = device
        self._terminal, self._port_fd = os.openpty()
        tty.setraw(self._port_fd)
        self.port = os.ttyname(self._port_fd)
        self.failure: UhostError | None = None
        self._stop = threading.Event()
        self._bytes_per_second = baud / 10
        self._thread = threading.Thread(target=self._work, daemon=True)

    def __enter__(self) -> SerialBridge:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        self._thread.join(30)
        os.close(self._terminal)
        os.close(self._port_fd)
        self._device.close()

    def _work(self) -> None:
        try:
            carry(self._terminal, self._device, self._stop, self._bytes_per_second)
        except UhostError as error:
            self.failure = error
