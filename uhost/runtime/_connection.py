"""The way an executor reaches its model: over RPC, or in this process."""

from __future__ import annotations

from typing import Protocol

from uhost.rpc.session import RunReport, Session
from uhost.runners._runner import CountsInstructions, RunCounts
from uhost.transport._transport import Transport


class Connection(Protocol):
    """One model somewhere: its arena's bytes, and its two run functions."""

    def write(self, offset: int, content: bytes) -> None:
        """Writes bytes into the arena."""

    def read(self, offset: int, size_bytes: int) -> bytes:
        """Reads bytes of the arena."""

    def run(self, timeout_s: float) -> RunReport:
        """Runs the whole model; returns cycles and stack where they can be measured."""

    def run_operator(self, index: int, timeout_s: float) -> int | None:
        """Runs one operator; returns its cycles where they can be measured."""

    def watch(self) -> None:
        """Counts the instructions of the next runs, where that is possible."""

    def counts(self) -> RunCounts | None:
        """Returns the last watched run's instruction counts; None where none were counted."""

    def close(self) -> None:
        """Ends the connection and releases what it holds."""


class RemoteConnection:
    """Model `index` of the firmware behind an RPC session; `name` is its C identifier."""

    def __init__(self, transport: Transport, session: Session, index: int, name: str) -> None:
        self._transport = transport
        self._session = session
        self._index = index
        self._name = name

    def write(self, offset: int, content: bytes) -> None:
        """Writes bytes into the arena."""
        self._session.write(self._index, offset, content)

    def read(self, offset: int, size_bytes: int) -> bytes:
        """Reads bytes of the arena."""
        return self._session.read(self._index, offset, size_bytes)

    def run(self, timeout_s: float) -> RunReport:
        """Runs the whole model on the device."""
        return self._session.run(self._index, timeout_s=timeout_s)

    def run_operator(self, index: int, timeout_s: float) -> int | None:
        """Runs one operator on the device."""
        return self._session.run_operator(self._index, index, timeout_s=timeout_s)

    def watch(self) -> None:
        """Counts the instructions of the next runs, where the runner can."""
        if isinstance(self._transport, CountsInstructions):
            self._transport.watch(f"{self._name}_run")

    def counts(self) -> RunCounts | None:
        """Returns the last watched run's instruction counts; None where none were counted."""
        if isinstance(self._transport, CountsInstructions):
            return self._transport.counts()
        return None

    def close(self) -> None:
        """Ends the session, and stops the simulator or closes the port."""
        self._session.close()
        self._transport.close()
