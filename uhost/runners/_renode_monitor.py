"""A Renode process and its Monitor, the command line in which Renode takes orders.

The Monitor is on the process's standard input and output (`--console`), so nothing of it
is on the network, and Renode ends by itself when this process is gone.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import subprocess
import threading
import time
import weakref
from collections import deque
from pathlib import Path
from typing import IO

from uhost.errors import RunnerError
from uhost.runners._process_group import await_end, end_group, exit_reason, has_ended

_TAIL_LINES = 25
_QUIT_S = 3.0
_EXIT_S = 5.0
_GLANCE_S = 0.2
_LAST_WORDS_S = 2.0
_STEERING = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_COMPLAINT = re.compile(
    r"There was an error executing command|Bad parameters for command|^Error E\d+:|"
    r"No such command or device|Could not tokenize|does not provide a field|^Fatal error",
    re.IGNORECASE,
)


class MonitorOutput:
    """The lines a Monitor prints, as they come; read by a thread of its own."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._lines: deque[tuple[int, str]] = deque(maxlen=1000)
        self._count = 0
        self._changed = threading.Condition()
        self._at_end = False
        self._thread = threading.Thread(target=self._read, name="uhost-renode", daemon=True)
        self._thread.start()

    def mark(self) -> int:
        """Returns a place: what is printed from now on comes after it."""
        with self._changed:
            return self._count

    def find(self, pattern: re.Pattern[str], after: int, wait_s: float) -> re.Match[str] | None:
        """Returns the match of the first line after `after`, or None if none came in time."""
        deadline = time.monotonic() + wait_s
        with self._changed:
            while True:
                for number, line in self._lines:
                    if number >= after and (match := pattern.search(line)):
                        return match
                left_s = deadline - time.monotonic()
                if left_s <= 0 or self._at_end:
                    return None
                self._changed.wait(left_s)

    def tail(self) -> str:
        """Returns the last lines."""
        with self._changed:
            return "\n".join(line for _, line in [*self._lines][-_TAIL_LINES:] if line)

    def await_end(self) -> None:
        """Waits for the last of what a process that has ended printed."""
        self._thread.join(_LAST_WORDS_S)

    def join(self) -> None:
        """Waits until the process's output has ended."""
        self._thread.join(_EXIT_S)
        if not self._thread.is_alive():
            self._stream.close()

    def _read(self) -> None:
        for content in self._stream:
            line = _STEERING.sub("", content.decode(errors="replace")).strip()
            with self._changed:
                self._lines.append((self._count, line))
                self._count += 1
                self._changed.notify_all()
        with self._changed:
            self._at_end = True
            self._changed.notify_all()


class Monitor:
    """A Renode started with `argv`; `log` is where it was told to write its log."""

    def __init__(self, argv: tuple[str, ...], where: str, log: Path) -> None:
        self._argv = argv
        self._where = where
        self._log = log
        try:
            # A session of its own: Ctrl-C in the terminal goes to uhost, which ends Renode.
            self._process = subprocess.Popen(
                argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as cause:
            raise RunnerError(
                f"Renode cannot be started: {cause.strerror}",
                where=argv[0],
                fix="install it again, or correct UHOST_RENODE",
            ) from None
        assert self._process.stdin
        assert self._process.stdout
        self._output = MonitorOutput(self._process.stdout)
        self._end = weakref.finalize(self, _end, self._process, self._output)

    def close(self) -> None:
        """Asks Renode to quit, ends it and all it started if it does not, and collects it."""
        self._end()

    def await_line(self, pattern: str, timeout_s: float) -> None:
        """Returns when a line that matches was printed.

        Raises `RunnerError` when Renode complains or ends before, or after `timeout_s`.
        """
        self._await(re.compile(pattern), 0, timeout_s)

    def ask(self, command: str, answer: str, timeout_s: float) -> re.Match[str]:
        """Returns the match of the line that answers `command`; raises `RunnerError`."""
        assert self._process.stdin
        mark = self._output.mark()
        try:
            self._process.stdin.write(f"{command}\n".encode())
            self._process.stdin.flush()
        except OSError:
            raise self._ended() from None
        return self._await(re.compile(answer), mark, timeout_s)

    def raise_reason(self) -> None:
        """Raises what is known of the end of the line; for the line's `when_lost`."""
        if await_end(self._process, _EXIT_S):
            raise self._ended()
        raise self._error("Renode closed the console's line")

    def _await(self, wanted: re.Pattern[str], after: int, timeout_s: float) -> re.Match[str]:
        deadline = time.monotonic() + timeout_s
        either = re.compile(f"(?:{wanted.pattern})|(?:{_COMPLAINT.pattern})", re.IGNORECASE)
        while True:
            left_s = deadline - time.monotonic()
            if self._output.find(either, after, max(0.0, min(left_s, _GLANCE_S))):
                if match := self._output.find(wanted, after, 0.0):
                    return match
                time.sleep(_GLANCE_S)  # the rest of the message follows
                raise self._error("Renode did not carry out a command")
            if has_ended(self._process):
                raise self._ended()
            if left_s <= 0:
                raise self._error(f"Renode was not ready within {timeout_s:g} s")

    def _ended(self) -> RunnerError:
        self._output.await_end()
        return self._error(f"Renode ended with {exit_reason(self._process)}")

    def _error(self, what: str) -> RunnerError:
        said = self._output.tail()
        if self._log.is_file():
            lines = self._log.read_text(errors="replace").splitlines()
            said += "\n" + "\n".join(lines[-_TAIL_LINES:])
        return RunnerError(
            what,
            where=f"{self._where}: {said.strip() or 'it said nothing'}",
            fix=f"run it by hand: {shlex.join(self._argv)}",
        )


def _end(process: subprocess.Popen[bytes], output: MonitorOutput) -> None:
    """Ends Renode politely, so that it removes its files, then by force."""
    assert process.stdin
    try:
        if not has_ended(process):
            # Closed by the other side, or full: the end by force serves as well.
            with contextlib.suppress(OSError):
                os.set_blocking(process.stdin.fileno(), False)
                process.stdin.write(b"quit\n")
                process.stdin.flush()
        with contextlib.suppress(OSError):
            process.stdin.close()
    finally:
        try:
            end_group(process, _QUIT_S, by_itself=True)
        finally:
            output.join()
