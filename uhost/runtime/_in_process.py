"""Runs a model in this process: a shared library of its C, and an arena of its own."""

from __future__ import annotations

import _ctypes
import ctypes
import time
from pathlib import Path

import numpy as np

from uhost.codegen.executable import Executable
from uhost.codegen.lowered import PARAMS_ALIGNMENT_BYTES
from uhost.errors import RemoteError, RunnerError
from uhost.ir.tensor import Array
from uhost.rpc.session import RunReport
from uhost.runners._runner import RunCounts
from uhost.runtime._connection import OperatorCost


def aligned_bytes(size_bytes: int, alignment: int) -> Array:
    """Returns zeroed bytes whose address is a multiple of `alignment`."""
    whole = np.zeros(size_bytes + alignment, np.uint8)
    start = -whole.ctypes.data % alignment
    return whole[start : start + size_bytes]


class InProcessConnection:
    """A model of the shared library `path`; the arena and the weights belong to it alone.

    Views of the arena stay valid after closing, which unloads the library. Nothing bounds
    the time of a run: the code has no loop that does not end.
    """

    def __init__(self, path: Path, model: Executable) -> None:
        try:
            self._library = ctypes.CDLL(str(path.resolve()))
        except OSError as error:
            raise _unusable(error, path) from error
        try:
            self._run = self._library[f"{model.name}_run"]
            self._run_operator = self._library[f"{model.name}_run_operator"]
            self._reset = self._library[f"{model.name}_reset"] if model.states else None
        except AttributeError as error:
            _ctypes.dlclose(self._library._handle)
            raise _unusable(error, path) from error
        for function in (self._run, self._run_operator):
            function.restype = ctypes.c_int
        self._name = model.name
        self._arena = aligned_bytes(model.arena_bytes, model.alignment_bytes)
        self._params: Array | None = None
        self._takes_params = model.params is not None
        self.reset()

    def write(self, offset: int, content: bytes | Array) -> None:
        """Copies bytes into the arena."""
        if isinstance(content, bytes):
            data: Array = np.frombuffer(content, np.uint8)
        else:
            data = content.reshape(-1).view(np.uint8)
        self._arena[offset : offset + data.size] = data

    def read(self, offset: int, size_bytes: int) -> bytes:
        """Returns a copy of bytes of the arena."""
        return self._arena[offset : offset + size_bytes].tobytes()

    def view(self, offset: int, size_bytes: int) -> Array | None:
        """Returns the arena's own bytes."""
        return self._arena[offset : offset + size_bytes]

    def write_params(self, blob: bytes) -> None:
        """Keeps the weights where the model's code reads them."""
        self._params = aligned_bytes(len(blob), PARAMS_ALIGNMENT_BYTES)
        self._params[:] = np.frombuffer(blob, np.uint8)

    def run(self, timeout_s: float) -> RunReport:
        """Runs the whole model."""
        _check(self._run(*self._memory()), f"model '{self._name}'")
        return RunReport(cycles=None, stack_bytes=None)

    def run_operator(self, index: int, timeout_s: float) -> OperatorCost:
        """Runs one operator and returns the seconds it took."""
        memory = self._memory()
        begin = time.perf_counter()
        status = self._run_operator(*memory, ctypes.c_uint32(index))
        seconds = time.perf_counter() - begin
        _check(status, f"operator {index} of model '{self._name}'")
        return OperatorCost(seconds=seconds)

    def reset(self) -> None:
        """Puts the model's states back to their initial values."""
        if self._reset is not None:
            arena = ctypes.c_void_p(self._arena.ctypes.data)
            _check(self._reset(arena), f"the reset of model '{self._name}'")

    def watch(self) -> None:
        """Does nothing: a native processor's instructions are not counted."""

    def counts(self) -> RunCounts | None:
        """Returns None."""
        return None

    @property
    def why_uncounted(self) -> str:
        """Returns the reason: it is this machine's own processor that runs."""
        return "a native processor's instructions are not counted"

    def close(self) -> None:
        """Unloads the library, unless another executor uses it still."""
        _ctypes.dlclose(self._library._handle)

    def _memory(self) -> tuple[ctypes.c_void_p, ...]:
        arena = ctypes.c_void_p(self._arena.ctypes.data)
        if not self._takes_params:
            return (arena,)
        return arena, ctypes.c_void_p(None if self._params is None else self._params.ctypes.data)


def _unusable(error: Exception, path: Path) -> RunnerError:
    return RunnerError(
        f"the library of the model cannot be loaded: {error}",
        where=str(path),
        fix="build it again, on this machine",
    )


def _check(status: int, what: str) -> None:
    if status != 0:
        raise RemoteError(f"{what} returned status {status} where 0 is success")
