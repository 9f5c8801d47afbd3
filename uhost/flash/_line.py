"""A serial port as a ROM loader wants it: even parity, deadlines, and two control lines."""

from __future__ import annotations

import contextlib
import errno
import termios
import time

import serial

from uhost.errors import DeadlineError, TransportError
from uhost.flash._flasher import Wiring

_WAIT_S = 0.02
_BITS_PER_BYTE = 11  # start, 8 of data, parity, stop
_RESET_S = 0.05
_BOOT_S = 0.2
"""A loader checks its option bytes and configures its interfaces before it listens."""
_BROKEN = (OSError, termios.error)


class LoaderLine:
    """An open port at 8E1. Every error of the port is a `TransportError`."""

    def __init__(self, port: str, baud: int, wiring: Wiring) -> None:
        self._name = port
        self._wiring = wiring
        self._byte_s = _BITS_PER_BYTE / baud
        try:
            self._port = self._opened(port, baud, serial.PARITY_EVEN)
        except termios.error as error:
            # A virtual port has no parity, and some systems say so. If a real line lacks it,
            # the loader will not answer.
            if error.args[0] != errno.EINVAL:
                raise self._refused(error) from error
            try:
                self._port = self._opened(port, baud, serial.PARITY_NONE)
            except (*_BROKEN, ValueError) as second:
                raise self._refused(second) from second
        except (OSError, ValueError) as error:
            raise self._refused(error) from error

    def _opened(self, name: str, baud: int, parity: str) -> serial.Serial:
        port = serial.serial_for_url(
            name,
            baudrate=baud,
            parity=parity,
            timeout=_WAIT_S,
            write_timeout=2.0,
            do_not_open=True,
        )
        port.exclusive = True
        # Opening a port drives its lines: not into reset, nor into another boot mode.
        for line, level in self._levels(reset=False, boot=False).items():
            setattr(port, line, level)
        port.open()
        return port

    def _refused(self, error: BaseException) -> TransportError:
        return TransportError(
            f"the serial port cannot be opened: {error}",
            where=self._name,
            fix="check that the board is plugged in, the name of the port, and that no "
            "other program holds it",
        )

    def close(self) -> None:
        """Closes the port."""
        # An unplugged port fails to close, and there is nothing left to release.
        with contextlib.suppress(*_BROKEN):
            self._port.close()

    @property
    def can_reset(self) -> bool:
        """True if a line reaches the reset pin."""
        return bool(self._wiring.reset)

    def seconds(self, size_bytes: int) -> float:
        """Returns how long `size_bytes` bytes take to cross the line."""
        return size_bytes * self._byte_s

    def reset(self, *, into_loader: bool) -> None:
        """Resets the board with its boot pin set; without a wired line does nothing."""
        if not self._wiring.reset and not self._wiring.boot:
            return
        self._drive(reset=False, boot=into_loader)
        if not self._wiring.reset:
            return
        self._drive(reset=True, boot=into_loader)
        time.sleep(_RESET_S)
        self._drive(reset=False, boot=into_loader)
        time.sleep(_BOOT_S)

    def write(self, data: bytes) -> None:
        """Writes all of `data`."""
        try:
            self._port.write(data)
        except serial.SerialTimeoutException as error:
            raise DeadlineError("the port takes no bytes", where=self._name) from error
        except _BROKEN as error:
            raise self._lost(error) from error

    def read(self, size: int, timeout_s: float) -> bytes:
        """Returns up to `size` bytes: fewer, when `timeout_s` and their own time have passed."""
        deadline = time.monotonic() + timeout_s + size * self._byte_s
        received = b""
        try:
            while len(received) < size:
                received += bytes(self._port.read(size - len(received)))
                if time.monotonic() >= deadline:
                    break
        except _BROKEN as error:
            raise self._lost(error) from error
        return received

    def drain(self, quiet_s: float = 0.05) -> bytes:
        """Returns what comes until nothing has for `quiet_s`, for half a second at most."""
        deadline = time.monotonic() + 0.5
        drained = b""
        while time.monotonic() < deadline and (more := self.read(1, quiet_s)):
            drained += more
        return drained

    def _drive(self, *, reset: bool, boot: bool) -> None:
        try:
            for line, level in self._levels(reset=reset, boot=boot).items():
                setattr(self._port, line, level)
        except _BROKEN as error:
            raise TransportError(
                f"the port cannot drive its control lines: {error}",
                where=self._name,
                fix="leave out the lines' options, and reset the board by hand",
            ) from error

    def _levels(self, *, reset: bool, boot: bool) -> dict[str, bool]:
        return {
            wired.removeprefix("!"): wanted != wired.startswith("!")
            for wired, wanted in ((self._wiring.reset, reset), (self._wiring.boot, boot))
            if wired
        }

    def _lost(self, error: BaseException) -> TransportError:
        return TransportError(
            f"the serial port failed: {error}", where=self._name, fix="plug it in again"
        )
