"""Counts executed instructions of one function in a Unicorn engine.

The counting is a block hook: C compiled for this machine on first use, or, on a machine
without a compiler, the same state machine in Python, some thirty times slower. A block
runs from its first to its last instruction, so the Thumb instructions between its ends
are those executed. An engine without a watched function has no hook and pays nothing.
"""

from __future__ import annotations

import contextlib
import ctypes
import difflib
import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Protocol

from unicorn import UC_HOOK_BLOCK, Uc
from unicorn.arm_const import UC_ARM_REG_LR, UC_ARM_REG_SP
from unicorn.unicorn_py3.arch.types import uc_hook_h
from unicorn.unicorn_py3.unicorn import uclib

from uhost.errors import ConfigError, RunnerError, ToolNotFoundError
from uhost.resources import cache_folder
from uhost.runners._runner import ExecutedBlock, RunCounts
from uhost.toolchain._toolchain import TOOLCHAINS, Image, Symbol

_SOURCE = Path(__file__).with_name("_block_counter.c")
_FLAGS = (
    *("-std=c11", "-O2", "-fPIC", "-shared", "-ffreestanding", "-nostdlib"),
    "-fno-sanitize=undefined",  # zig's default, which calls a runtime library
)
_BLOCK_SLOTS = 65536
MAX_CALLS = 65536
MAX_VISITS = 262144
"""Blocks per call, summed over the calls, that are told apart."""


class Counter(Protocol):
    """Counts the calls of one function, the exceptions within them left out."""

    def pause(self) -> None:
        """Leaves out what follows; called where an exception is entered."""

    def resume(self) -> None:
        """Counts again; called where an exception returns."""

    def counts(self) -> RunCounts | None:
        """Returns the counts of the last finished call; None before one."""

    def detach(self) -> None:
        """Ends the counting."""


def attach(engine: Uc, entry: int, end: int) -> Counter:
    """Returns a counter of the function in [`entry`, `end`), the fastest that can be had.

    The engine must not be running. Its translated code is dropped, for only what is
    translated from now on calls the hook.
    """
    library = compiled_library()
    if library is None:
        return PythonCounter(engine, entry, end)
    return CompiledCounter(engine, entry, end, library)


def find_function(image: Image, name: str) -> Symbol:
    """Returns the symbol of a C function to count; raises `ConfigError` if there is none."""
    symbol = image.symbols.get(name)
    if symbol is None or symbol.size == 0:
        close = difflib.get_close_matches(name, image.symbols, n=1)
        raise ConfigError(
            f"the image has no function '{name}' to count",
            where=str(image.elf),
            fix=f"did you mean '{close[0]}'?" if close else "name a function of the image",
        )
    return symbol


def compiled_library() -> Path | None:
    """Returns the shared library of `_block_counter.c`, built once per source and machine.

    None if no compiler is there or none can build it.
    """
    source = _SOURCE.read_bytes()
    key = hashlib.sha256(
        b"\0".join((source, " ".join(_FLAGS).encode(), host_machine()))
    ).hexdigest()
    folder = cache_folder() / "block_counter"
    library = folder / f"{key[:32]}.so"
    if library.is_file():
        return library
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return library if any(_build(compiler, library) for compiler in compilers()) else None


def host_machine() -> bytes:
    """Returns what tells machines apart that cannot share a compiled library."""
    return f"{sys.platform}-{os.uname().machine}".encode()


def compilers() -> Iterator[tuple[str, ...]]:
    """Yields the host's compiler, then zig's: one may be there and lack its linker."""
    for locate in (TOOLCHAINS["host_cc"].locate, TOOLCHAINS["zig"].locate):
        with contextlib.suppress(ToolNotFoundError):
            yield locate().argv


def _build(compiler: tuple[str, ...], library: Path) -> bool:
    """Returns whether `library` was built; it appears whole or not at all."""
    handle, name = tempfile.mkstemp(suffix=".so", dir=library.parent)
    os.close(handle)
    try:
        built = subprocess.run(
            [*compiler, *_FLAGS, "-o", name, str(_SOURCE)],
            capture_output=True,
            check=False,
            timeout=120,
        )
        if built.returncode == 0:
            os.replace(name, library)
    except (OSError, subprocess.TimeoutExpired):
        return False
    finally:
        Path(name).unlink(missing_ok=True)
    return built.returncode == 0


class _Block(ctypes.Structure):
    _fields_ = [
        ("address", ctypes.c_uint32),
        ("size_bytes", ctypes.c_uint16),
        ("instructions", ctypes.c_uint16),
        ("executed", ctypes.c_uint32),
        ("taken", ctypes.c_uint32),
    ]


class Visit(ctypes.Structure):
    """`struct visit` of `_block_counter.c` and `_qemu_counter.c`."""

    _fields_ = [
        ("call", ctypes.c_uint32),
        ("address", ctypes.c_uint32),
        ("size_bytes", ctypes.c_uint32),
        ("executed", ctypes.c_uint32),
        ("taken", ctypes.c_uint32),
    ]


class _VisitList(ctypes.Structure):
    _fields_ = [
        ("visits", ctypes.POINTER(Visit)),
        ("size", ctypes.c_uint32),
        ("capacity", ctypes.c_uint32),
    ]


class _CallList(ctypes.Structure):
    _fields_ = [
        ("total", ctypes.c_uint64),
        ("calls", ctypes.POINTER(ctypes.c_uint64)),
        ("size", ctypes.c_uint32),
        ("reserved", ctypes.c_uint32),
        ("log", _VisitList),
    ]


class _State(ctypes.Structure):
    """`struct counter` of `_block_counter.c`."""

    _fields_ = [
        ("read_register", ctypes.c_void_p),
        ("read_memory", ctypes.c_void_p),
        ("blocks", ctypes.POINTER(_Block)),
        ("touched", ctypes.POINTER(ctypes.c_uint32)),
        ("last", ctypes.POINTER(_Block)),
        ("running", _CallList),
        ("finished", _CallList),
        ("finished_runs", ctypes.c_uint64),
        ("before_call", ctypes.c_uint64),
        ("call_capacity", ctypes.c_uint32),
        ("sp_register", ctypes.c_int32),
        ("lr_register", ctypes.c_int32),
        ("entry", ctypes.c_uint32),
        ("end", ctypes.c_uint32),
        ("paused", ctypes.c_uint32),
        ("active", ctypes.c_uint32),
        ("outside", ctypes.c_uint32),
        ("entry_sp", ctypes.c_uint32),
        ("return_address", ctypes.c_uint32),
        ("last_end", ctypes.c_uint32),
        ("touched_size", ctypes.c_uint32),
    ]


class CompiledCounter:
    """The counter in C, called by the engine without Python in between."""

    def __init__(self, engine: Uc, entry: int, end: int, library: Path) -> None:
        self._engine = engine
        self._code = ctypes.CDLL(str(library))
        self._lists = [(ctypes.c_uint64 * MAX_CALLS)() for _ in range(2)]
        self._logs = [(Visit * MAX_VISITS)() for _ in range(2)]
        self._blocks = (_Block * _BLOCK_SLOTS)()
        self._touched = (ctypes.c_uint32 * _BLOCK_SLOTS)()
        self._state = _State(
            read_register=_address(uclib.uc_reg_read),
            read_memory=_address(uclib.uc_mem_read),
            blocks=self._blocks,
            touched=self._touched,
            running=self._list(0),
            finished=self._list(1),
            call_capacity=MAX_CALLS,
            sp_register=UC_ARM_REG_SP,
            lr_register=UC_ARM_REG_LR,
            entry=entry,
            end=end,
        )
        self._hook = uc_hook_h()
        # The binding's hook_add takes Python functions alone.
        status = uclib.uc_hook_add(
            engine._uch,
            ctypes.byref(self._hook),
            UC_HOOK_BLOCK,
            _address(self._code.uhost_count_block),
            ctypes.addressof(self._state),
            1,
            0,
        )
        if status != 0:
            raise RunnerError(
                f"Unicorn refuses the hook that counts instructions (error {status})",
                fix="install the unicorn package again",
            )
        engine.ctl_flush_tb()

    def _list(self, number: int) -> _CallList:
        log = _VisitList(visits=self._logs[number], capacity=MAX_VISITS)
        return _CallList(calls=self._lists[number], log=log)

    def pause(self) -> None:
        """Leaves out what follows."""
        self._state.paused = 1

    def resume(self) -> None:
        """Counts again."""
        self._state.paused = 0

    def counts(self) -> RunCounts | None:
        """Returns the counts of the last finished call; None before one."""
        if not self._state.finished_runs:
            return None
        done = self._state.finished
        if done.size > MAX_CALLS:
            raise too_many_calls(done.size)
        calls = tuple(done.calls[: done.size])
        log = done.log
        blocks = None
        if log.size <= MAX_VISITS:
            blocks = executed_blocks(log.visits[: log.size], len(calls))
        return RunCounts(done.total, calls, blocks)

    def detach(self) -> None:
        """Removes the hook."""
        uclib.uc_hook_del(self._engine._uch, self._hook)
        self._engine.ctl_flush_tb()


def executed_blocks(visits: Iterable[Visit], calls: int) -> tuple[ExecutedBlock, ...]:
    """Returns what a log says, a block of a call once; what no call follows is the last call's."""
    found: dict[tuple[int, int, int], list[int]] = {}
    for one in visits:
        key = (max(0, min(one.call, calls - 1)), one.address, one.size_bytes)
        sums = found.setdefault(key, [0, 0])
        sums[0] += one.executed
        sums[1] += one.taken
    return tuple(ExecutedBlock(*key, *sums) for key, sums in sorted(found.items()))


def _address(function: object) -> int | None:
    return ctypes.cast(function, ctypes.c_void_p).value  # type: ignore[arg-type]


class PythonCounter:
    """The counter in Python: the same numbers, and far slower."""

    def __init__(self, engine: Uc, entry: int, end: int) -> None:
        self._engine = engine
        self._entry, self._end = entry, end
        self._paused = False
        self._active = False
        self._outside = False
        self._entry_sp = self._return_address = 0
        self._total = self._before_call = 0
        self._calls: list[int] = []
        self._finished: RunCounts | None = None
        self._sizes: dict[tuple[int, int], int] = {}
        self._visits: dict[tuple[int, int, int], list[int]] = {}
        self._last: list[int] = []
        self._last_end = 0
        self._hook = engine.hook_add(UC_HOOK_BLOCK, self._on_block)
        engine.ctl_flush_tb()

    def pause(self) -> None:
        """Leaves out what follows."""
        self._paused = True

    def resume(self) -> None:
        """Counts again."""
        self._paused = False

    def counts(self) -> RunCounts | None:
        """Returns the counts of the last finished call; None before one."""
        if self._finished and len(self._finished.calls) > MAX_CALLS:
            raise too_many_calls(len(self._finished.calls))
        return self._finished

    def detach(self) -> None:
        """Removes the hook."""
        self._engine.hook_del(self._hook)
        self._engine.ctl_flush_tb()

    def _on_block(self, engine: Uc, address: int, size_bytes: int, _: object) -> None:
        if self._paused:
            return
        if not self._active:
            if address != self._entry:
                return
            self._begin()
        else:
            self._last[1] += address != self._last_end
            if address == self._return_address and engine.reg_read(UC_ARM_REG_SP) == self._entry_sp:
                self._finish()
                return
        instructions = self._instructions(address, size_bytes)
        self._total += instructions
        inside = self._entry <= address < self._end
        if inside:
            self._outside = False
            self._before_call += instructions
        else:
            if not self._outside:
                self._outside = True
                self._calls.append(self._before_call)
                self._before_call = 0
            self._calls[-1] += instructions
        call = len(self._calls) - self._outside
        self._last = self._visits.setdefault((call, address, size_bytes), [0, 0])
        self._last[0] += 1
        self._last_end = address + size_bytes

    def _begin(self) -> None:
        self._active, self._outside = True, False
        self._total = self._before_call = 0
        self._calls = []
        self._visits = {}
        self._entry_sp = self._engine.reg_read(UC_ARM_REG_SP)
        self._return_address = self._engine.reg_read(UC_ARM_REG_LR) & ~1

    def _finish(self) -> None:
        if self._calls:
            self._calls[-1] += self._before_call
        calls = tuple(self._calls)
        visits = [Visit(*key, *sums) for key, sums in self._visits.items()]
        self._finished = RunCounts(self._total, calls, executed_blocks(visits, len(calls)))
        self._active = False

    def _instructions(self, address: int, size_bytes: int) -> int:
        key = (address, size_bytes)
        if key not in self._sizes:
            self._sizes[key] = count_thumb(bytes(self._engine.mem_read(address, size_bytes)))
        return self._sizes[key]


def count_thumb(code: bytes) -> int:
    """Returns the number of Thumb instructions in `code`.

    A halfword whose top five bits are 11101, 11110 or 11111 begins a 32-bit instruction.
    """
    instructions = offset = 0
    while offset < len(code):
        offset += 4 if code[offset + 1] >> 3 >= 0x1D else 2
        instructions += 1
    return instructions


def too_many_calls(calls: int) -> RunnerError:
    """Returns the error of a function that makes more calls than are told apart."""
    return RunnerError(
        f"the watched function makes {calls} calls, more than the {MAX_CALLS} that are told apart",
        fix="watch a function that makes fewer calls",
    )
