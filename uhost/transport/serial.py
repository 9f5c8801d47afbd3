"""A serial port, or anything pyserial opens by URL: `socket://`, `rfc2217://`, `loop://`."""

from __future__ import annotations

import contextlib
import termios
import time

import serial

from uhost.errors import DeadlineError, TransportError

# One wait of the port. Changing pyserial's time-out reconfigures the port, so it stays
# the same and deadlines are kept by counting waits.
_WAIT_S = 0.02


class SerialTransport:
    """A port at `baud`, 8 data bits, no parity, 1 stop bit, without flow control."""

    def __init__(self, url: str, baud: int) -> None:
        self._url = url
        self._baud = baud
        self._port: serial.Serial | None = None

    def open(self) -> None:
        """Opens the port for this process alone and drops what it received before."""
        try:
            port = serial.serial_for_url(
                self._url, baudrate=self._baud, timeout=_WAIT_S, do_not_open=True
            )
            port.exclusive = True
            port.open()
            port.reset_input_buffer()
        except (OSError, ValueError, termios.error) as error:
            raise TransportError(
                f"the serial port cannot be opened: {error}",
                where=self._url,
                fix="check that the board is plugged in, the name of the port, and that no "
                "other program holds it",
            ) from error
        self._port = port

    def close(self) -> None:
        """Closes the port."""
        port, self._port = self._port, None
        if port is not None:
            # An unplugged port fails to close, and there is nothing left to release.
            with contextlib.suppress(OSError):
                port.close()

    def read(self, size: int, timeout_s: float) -> bytes:
        """Returns 1 to `size` bytes as soon as any are there."""
        port = self._opened()
        deadline = time.monotonic() + timeout_s
        while True:
            try:
                received = bytes(port.read(1))
                if received and (more := min(size - 1, port.in_waiting)):
                    received += bytes(port.read(more))
            except OSError as error:
                raise self._lost(error) from error
            if received:
                return received
            if time.monotonic() >= deadline:
                raise DeadlineError(f"no bytes came within {timeout_s:g} s", where=self._url)

    def write(self, data: bytes, timeout_s: float) -> None:
        """Writes all of `data`."""
        port = self._opened()
        try:
            if port.write_timeout != timeout_s:
                port.write_timeout = timeout_s
            port.write(data)
        except serial.SerialTimeoutException as error:
            raise DeadlineError(
                f"bytes could not be written within {timeout_s:g} s", where=self._url
            ) from error
        except OSError as error:
            raise self._lost(error) from error

    def _opened(self) -> serial.Serial:
        if self._port is None:
            raise TransportError("the line is closed", where=self._url)
        return self._port

    def _lost(self, error: OSError) -> TransportError:
        return TransportError(
            f"the serial port failed: {error}",
            where=self._url,
            fix="plug the board in again",
        )
