"""Runs images in Unicorn, in process: no other program, exact instruction counts.

What a chip does and this does not: cycles, caches and bus timing; SysTick, DMA and
interrupts other than the console's; the traps for division by zero and for unaligned
LDRD and LDM; the lack of double precision in a single-precision FPU; memory that needs
initialisation (`external` regions work at once). QEMU does the traps.
"""

from __future__ import annotations

import threading
import time
import weakref
from dataclasses import dataclass

from uhost.config.board import Board
from uhost.errors import ConfigError, DeadlineError, TransportError
from uhost.runners._counter import Counter, attach, find_function
from uhost.runners._runner import RunCounts
from uhost.runners._unicorn_cpu import CPU_MODELS, Cpu
from uhost.runners._unicorn_uart import UART_KINDS
from uhost.toolchain._toolchain import Image

_GLANCE_S = 0.05
"""How soon output is seen that the firmware sent before it went on computing."""
_STOP_S = 0.02


@dataclass(frozen=True, slots=True)
class UnicornRunner:
    """Simulates every Cortex-M that Unicorn's CPU models cover: all without Helium."""

    name: str = "unicorn"

    def supports(self, board: Board) -> str:
        """Returns "" if it runs the board's images, else the reason it does not."""
        if board.console is None or not board.regions:
            return "it simulates microcontrollers; the board has no console and no memory"
        if board.target.has("mve"):
            return "Unicorn does not know the instructions of Helium (MVE)"
        if board.target.cpu not in CPU_MODELS:
            return f"Unicorn has no {board.target.cpu or board.target.kind}; it has " + ", ".join(
                CPU_MODELS
            )
        if board.console.kind not in UART_KINDS:
            return (
                f"it has no model of the UART kind '{board.console.kind}'; it has "
                f"{', '.join(UART_KINDS)}"
            )
        return ""

    def start(self, image: Image, board: Board) -> UnicornTransport:
        """Returns an opened transport to the image, which runs as far as it is read from."""
        if reason := self.supports(board):
            raise ConfigError(
                f"the runner 'unicorn' does not run '{board.name}': {reason}",
                fix="choose another runner with --on",
            )
        return UnicornTransport(image, board)


class UnicornTransport:
    """The line to a simulated device, and the thread that executes it.

    The device executes while `read` waits, until it sleeps with nothing to receive; it
    then goes on with what was written meanwhile. So its run does not depend on time.
    After a read that missed its deadline it executes on, as a board would.
    """

    def __init__(self, image: Image, board: Board) -> None:
        self.why_uncounted = ""
        self._image = image
        self._where = f"{board.name} in Unicorn"
        self._cpu = Cpu(image, board)
        self._counter: Counter | None = None
        self._failure: list[BaseException] = []
        self._closed = False
        self._stopped = threading.Event()
        self._stopped.set()
        self._executing = threading.RLock()
        self._halt = weakref.finalize(self, _halt, self._cpu, self._executing)

    def open(self) -> None:
        """Does nothing: the line is open from the start."""
        self._check_open()

    def close(self) -> None:
        """Ends the simulation."""
        self._closed = True
        self._halt()

    def write(self, data: bytes, timeout_s: float) -> None:
        """Puts `data` on the line; the device takes it when it has time."""
        self._check_open()
        self._cpu.wire.incoming.extend(data)

    def read(self, size: int, timeout_s: float) -> bytes:
        """Returns 1 to `size` bytes as soon as any are there, executing until then.

        Raises `DeadlineError` at once if the device sleeps and has sent nothing: only a
        write can wake it. Raises `DeviceFault` for a crash it could not report itself.
        """
        self._check_open()
        deadline = time.monotonic() + timeout_s
        outgoing = self._cpu.wire.outgoing
        if not outgoing:
            self._resume()
        while not outgoing:
            left_s = deadline - time.monotonic()
            if not self._running(max(0.0, min(left_s, _GLANCE_S))):
                break
            if left_s <= 0:
                raise self._cpu.fault or DeadlineError(
                    f"the device sent nothing within {timeout_s:g} s, and is still computing",
                    where=self._where,
                    fix="allow more time, or look for an endless loop",
                )
        if not outgoing:
            if self._failure:
                raise self._failure[0]
            raise self._cpu.fault or DeadlineError(
                "the device sleeps and has sent nothing",
                where=f"{self._where}, in {self._cpu.location}",
                fix="only a request that it understands wakes it",
            )
        return bytes(outgoing.popleft() for _ in range(min(size, len(outgoing))))

    def watch(self, function: str) -> None:
        """Counts the next calls of the C function `function`; replaces an earlier watch."""
        self._check_open()
        if self._running(0.0):
            raise DeadlineError(
                "the device is still computing: its calls cannot be counted from here on",
                where=self._where,
                fix="read its answer first",
            )
        symbol = find_function(self._image, function)
        if self._counter:
            self._counter.detach()
        self._counter = attach(self._cpu.engine, symbol.address, symbol.address + symbol.size)
        self._cpu.pause, self._cpu.resume = self._counter.pause, self._counter.resume

    def counts(self) -> RunCounts | None:
        """Returns the counts of the last finished call; None before one."""
        return self._counter.counts() if self._counter else None

    def _check_open(self) -> None:
        if self._closed:
            raise TransportError(
                "the line is closed", where=self._where, fix="start the image again"
            )

    def _resume(self) -> None:
        """Lets the device execute, unless it does or has crashed."""
        if self._failure or self._running(0.0):
            return
        thread = threading.Thread(
            target=_execute,
            args=(self._cpu, self._failure, self._executing, self._stopped),
            name="uhost-unicorn",
            daemon=True,
        )
        self._stopped.clear()
        try:
            thread.start()
        except BaseException:
            self._stopped.set()  # it may never have begun; if it did, the lock tells
            raise

    def _running(self, wait_s: float) -> bool:
        """Returns whether the device still executes after `wait_s` seconds at most.

        `Thread.join` would not do: interrupted by Ctrl-C, CPython 3.11 takes the thread for
        ended, though it executes on.
        """
        return not self._stopped.wait(wait_s)


def _execute(
    cpu: Cpu, failure: list[BaseException], executing: threading.RLock, stopped: threading.Event
) -> None:
    """Executes until the device sleeps; what it raises goes to the reader."""
    try:
        with executing:
            cpu.run()
    except BaseException as error:  # noqa: BLE001 - raised again by read()
        failure.append(error)
    finally:
        stopped.set()


def _halt(cpu: Cpu, executing: threading.RLock) -> None:
    """Stops the device for good and waits until it has; another Ctrl-C is raised after that.

    The lock is kept, so that nothing executes later: the engine must not be running while
    its memory is freed. It is reentrant, for a Ctrl-C just after it was taken.
    """
    interrupted: KeyboardInterrupt | None = None
    halted = False
    while not halted:
        try:
            cpu.stop()
            halted = executing.acquire(timeout=_STOP_S)
        except KeyboardInterrupt as error:
            interrupted = error
    if interrupted is not None:
        raise interrupted


RUNNER = UnicornRunner()
