"""A transport that logs every byte that passes, for looking at a line."""

from __future__ import annotations

import logging
import time

from uhost.transport._transport import Transport


class LoggingTransport:
    """Passes everything to `inner` and logs it in hexadecimal at level DEBUG.

    The logger is `uhost.transport`. Times are seconds since the line was opened.
    """

    def __init__(self, inner: Transport) -> None:
        self.inner = inner
        self._logger = logging.getLogger("uhost.transport")
        self._opened_s = time.monotonic()

    def open(self) -> None:
        """Opens the line behind."""
        self._opened_s = time.monotonic()
        self._log("open")
        self.inner.open()

    def close(self) -> None:
        """Closes the line behind."""
        self._log("close")
        self.inner.close()

    def read(self, size: int, timeout_s: float) -> bytes:
        """Reads from the line behind and logs what came."""
        data = self.inner.read(size, timeout_s)
        self._log("read ", data)
        return data

    def write(self, data: bytes, timeout_s: float) -> None:
        """Logs `data` and writes it to the line behind."""
        self._log("write", data)
        self.inner.write(data, timeout_s)

    def _log(self, event: str, data: bytes = b"") -> None:
        elapsed_s = time.monotonic() - self._opened_s
        self._logger.debug("%9.6f %s %s", elapsed_s, event, data.hex(" "))
