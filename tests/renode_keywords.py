"""Renode's Robot keywords, with Renode's names and arguments, over the firmware of this machine.

Robot imports this file as a library; `FIRMWARE` in the environment is the program.
"""

from __future__ import annotations

import os
import re
import select
import subprocess
import time


class renode_keywords:  # noqa: N801 - Robot wants the file's name
    """What the generated tests use, and nothing else: an unknown keyword fails them."""

    ROBOT_LIBRARY_SCOPE = "SUITE"

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._received = bytearray()
        self._testers: list[str] = []
        self._hooks: list[str] = []
        self._log_tester = False
        self._started = False

    def setup(self) -> None:
        """Starts Renode."""

    def teardown(self) -> None:
        """Ends Renode."""
        self.reset_emulation()

    def test_teardown(self) -> None:
        """Cleans up after a test."""

    def reset_emulation(self) -> None:
        """Removes the machine."""
        if self._process:
            self._process.kill()
            self._process.communicate()
        self.__init__()  # type: ignore[misc]

    def execute_script(self, path: str) -> None:
        """Loads the machine."""
        assert os.path.isfile(path), path
        self._process = subprocess.Popen(
            [os.environ["FIRMWARE"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def create_terminal_tester(
        self, uart: str, timeout: float | None = None, machine: str | None = None
    ) -> int:
        """Watches a UART."""
        assert self._process, "there is no machine"
        self._testers.append(uart)
        return len(self._testers)

    def create_log_tester(self, timeout: float) -> None:
        """Watches the log."""
        self._log_tester = True

    def start_emulation(self) -> None:
        """Starts the machine."""
        self._started = True

    def execute_command(self, command: str) -> str:
        """Gives the Monitor a command."""
        if sent := re.fullmatch(r"sysbus\.usart1 WriteChar (0x[0-9A-F]{2})", command):
            assert self._started
            assert self._process
            assert self._process.stdin
            self._process.stdin.write(bytes([int(sent[1], 16)]))
            self._process.stdin.flush()
            return ""
        hook = re.fullmatch(
            r'cpu AddHook `sysbus GetSymbolAddress "(\w+)"` "self\.InfoLog\(\'(.*)\'\)"', command
        )
        assert hook, f"unknown command: {command}"
        self._hooks.append(hook[2])
        return ""

    def wait_for_line_on_uart(
        self,
        content: str,
        timeout: float | None = None,
        testerId: int | None = None,  # noqa: N803 - Renode's name
        treatAsRegex: bool = False,  # noqa: N803
        includeUnfinishedLine: bool = False,  # noqa: N803
    ) -> str:
        """Waits until a line of the UART matches."""
        assert self._testers == ["sysbus.usart1"]
        assert treatAsRegex
        assert includeUnfinishedLine
        assert self._process
        assert self._process.stdout
        deadline = time.monotonic() + 3
        while time.monotonic() < deadline:
            for line in self._received.decode("latin-1").split("\n"):
                if re.search(content, line):
                    self._received.clear()
                    return line
            if select.select([self._process.stdout], [], [], 0.1)[0]:
                self._received += os.read(self._process.stdout.fileno(), 4096)
        raise AssertionError(f"no line matches {content!r}: {bytes(self._received)!r}")

    def wait_for_log_entry(
        self, pattern: str, timeout: float | None = None, keep: bool = False
    ) -> None:
        """Waits for a line of the log."""
        assert self._log_tester
        assert pattern in self._hooks
