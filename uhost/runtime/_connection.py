"""The way an executor reaches its model: over RPC, or in this process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from uhost.ir.tensor import Array
from uhost.rpc.session import RunReport, Session
from uhost.runners._runner import CountsInstructions, RunCounts
from uhost.transport._transport import Transport


@dataclass(frozen=True, slots=True)
class OperatorCost:
    """What one operator took: cycles of the device, or seconds of this machine's clock."""

    cycles: int | None = None
    seconds: float | None = None


class Connection(Protocol):
    """One model somewhere: its arena's bytes, its weights, and its two run functions."""

    def write(self, offset: int, content: bytes | Array) -> None:
        """Writes bytes, or those of a contiguous array, into the arena."""

    def read(self, offset: int, size_bytes: int) -> bytes:
        """Reads bytes of the arena."""

    def view(self, offset: int, size_bytes: int) -> Array | None:
        """Returns the arena's own bytes as uint8; None where they are not in this process."""

    def write_params(self, blob: bytes) -> None:
        """Gives the model its weights, where they are not part of its code."""

    def run(self, timeout_s: float) -> RunReport:
        """Runs the whole model; returns cycles and stack where they can be measured."""

    def run_operator(self, index: int, timeout_s: float) -> OperatorCost:
        """Runs one operator; returns what it took where that can be measured."""

    def reset(self) -> None:
        """Puts the model's states back to their initial values."""

    def watch(self) -> None:
        """Counts the instructions of the next runs, where that is possible."""

    def counts(self) -> RunCounts | None:
        """Returns the last watched run's instruction counts; None where none were counted."""

    @property
    def why_uncounted(self) -> str:
        """Why instructions cannot be counted; "" where they can."""

    def close(self) -> None:
        """Ends the connection and releases what it holds."""


class RemoteConnection:
    """Model `index` of the firmware behind an RPC session; `name` is its C identifier."""

    def __init__(self, transport: Transport, session: Session, index: int, name: str) -> None:
        self._transport = transport
        self._session = session
        self._index = index
        self._name = name

    def write(self, offset: int, content: bytes | Array) -> None:
        """Writes bytes into the arena."""
        data = content if isinstance(content, bytes) else content.tobytes()
        self._session.write(self._index, offset, data)

    def read(self, offset: int, size_bytes: int) -> bytes:
        """Reads bytes of the arena."""
        return self._session.read(self._index, offset, size_bytes)

    def view(self, offset: int, size_bytes: int) -> Array | None:
        """Returns None: the arena is on the device."""
        return None

    def write_params(self, blob: bytes) -> None:
        """Sends the weights into the device's RAM."""
        self._session.write_params(self._index, blob)

    def run(self, timeout_s: float) -> RunReport:
        """Runs the whole model on the device."""
        return self._session.run(self._index, timeout_s=timeout_s)

    def run_operator(self, index: int, timeout_s: float) -> OperatorCost:
        """Runs one operator on the device."""
        return OperatorCost(self._session.run_operator(self._index, index, timeout_s=timeout_s))

    def reset(self) -> None:
        """Puts the model's states on the device back to their initial values."""
        self._session.reset(self._index)

    def watch(self) -> None:
        """Counts the instructions of the next runs, where the runner can."""
        if isinstance(self._transport, CountsInstructions):
            self._transport.watch(f"{self._name}_run")

    def counts(self) -> RunCounts | None:
        """Returns the last watched run's instruction counts; None where none were counted."""
        if isinstance(self._transport, CountsInstructions):
            return self._transport.counts()
        return None

    @property
    def why_uncounted(self) -> str:
        """Why instructions cannot be counted; "" where they can."""
        if isinstance(self._transport, CountsInstructions):
            return self._transport.why_uncounted
        return "this runner does not count instructions"

    def close(self) -> None:
        """Ends the session, and stops the simulator or closes the port."""
        self._session.close()
        self._transport.close()
