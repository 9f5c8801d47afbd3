"""The instruction counter, against numbers known from the program's text and against stepping."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path

import pytest
from simulated_program import Simulated, simulate
from unicorn import UC_HOOK_CODE, Uc

from uhost.errors import RunnerError, ToolNotFoundError
from uhost.runners import _counter
from uhost.runners._counter import CompiledCounter, Counter, PythonCounter, count_thumb
from uhost.runners._runner import RunCounts
from uhost.toolchain._toolchain import Located

# Of program.s: the instructions of `watched` before each call, and those of the calls.
LOOPED, RECURSIVE, LONG, TAIL = 2 + 100 * 3 + 1, 87, 1607, 3
CALLS = (3 + LOOPED, 2 + RECURSIVE, 1 + LONG, 3 + TAIL)
EXPECTED = RunCounts(sum(CALLS), CALLS)


def compiled(engine: Uc, entry: int, end: int) -> Counter:
    library = _counter.compiled_library()
    assert library is not None
    return CompiledCounter(engine, entry, end, library)


KINDS = {"c": compiled, "python": PythonCounter}


@pytest.fixture(params=KINDS)
def attach(request: pytest.FixtureRequest) -> Callable[[Simulated, str], Counter]:
    def attach_to(device: Simulated, function: str) -> Counter:
        symbol = device.image.symbols[function]
        counter = KINDS[request.param](
            device.cpu.engine, symbol.address, symbol.address + symbol.size
        )
        device.cpu.pause, device.cpu.resume = counter.pause, counter.resume
        return counter

    return attach_to


def test_counts_are_those_of_the_text(attach: Callable[[Simulated, str], Counter]) -> None:
    device = simulate("counts")
    device.send(b"")
    counter = attach(device, "watched")
    assert counter.counts() is None
    assert device.send(b"!") == b"."
    assert counter.counts() == EXPECTED


def test_counter_sees_code_that_ran_before(attach: Callable[[Simulated, str], Counter]) -> None:
    device = simulate("counts")
    assert device.send(b"!") == b"."
    counter = attach(device, "watched")
    assert device.send(b"!") == b"."
    assert counter.counts() == EXPECTED
    assert device.send(b"!") == b"."
    assert counter.counts() == EXPECTED


def test_a_function_without_calls(attach: Callable[[Simulated, str], Counter]) -> None:
    device = simulate("counts")
    counter = attach(device, "looped")
    device.send(b"!")
    assert counter.counts() == RunCounts(LOOPED, ())


def test_recursion_counts_the_outermost_call(
    attach: Callable[[Simulated, str], Counter],
) -> None:
    device = simulate("counts")
    counter = attach(device, "recursive")
    device.send(b"!")
    assert counter.counts() == RunCounts(RECURSIVE, ())


def test_detached_counter_counts_no_more(attach: Callable[[Simulated, str], Counter]) -> None:
    device = simulate("counts")
    counter = attach(device, "watched")
    counter.detach()
    assert device.send(b"!") == b"."
    assert counter.counts() is None


def test_interrupt_is_left_out(attach: Callable[[Simulated, str], Counter]) -> None:
    """`echo` never returns: the interrupt's own function is counted, and nothing around it."""
    device = simulate("counts")
    counter = attach(device, "uart_interrupt")
    device.send(b"!")
    assert counter.counts() is None


def testtoo_many_calls(
    attach: Callable[[Simulated, str], Counter], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_counter, "MAX_CALLS", 3)
    device = simulate("counts")
    counter = attach(device, "watched")
    device.send(b"!")
    with pytest.raises(RunnerError) as caught:
        counter.counts()
    assert caught.value.what == (
        "the watched function makes 4 calls, more than the 3 that are told apart"
    )


def test_blocks_agree_with_single_instructions() -> None:
    """Counts every instruction by itself; those an IT block skips are added from the code."""
    device = simulate("counts")
    device.send(b"")
    executed: list[int] = []
    device.cpu.engine.hook_add(
        UC_HOOK_CODE, lambda _engine, address, _size, _: executed.append(address)
    )
    device.cpu.engine.ctl_flush_tb()
    device.send(b"!")
    entry = executed.index(device.address("watched"))
    caller = device.image.symbols["counts"]
    end = next(
        index
        for index in range(entry, len(executed))
        if caller.address <= executed[index] < caller.address + caller.size
    )
    supervisor = device.image.symbols["supervisor"]
    trace = [
        address
        for address in executed[entry:end]
        if not supervisor.address <= address < supervisor.address + supervisor.size
    ]
    it_blocks = [address for address in trace if halfword(device, address) >> 8 == 0xBF]
    it_blocks = [address for address in it_blocks if halfword(device, address) & 0xF]
    assert len(it_blocks) == 1
    # Its three instructions: the engine reports those whose condition held.
    inside = {it_blocks[0] + 2, it_blocks[0] + 4, it_blocks[0] + 6}
    skipped = 3 - len(inside & set(trace))
    assert skipped == 2
    assert len(trace) + skipped == EXPECTED.total


def halfword(device: Simulated, address: int) -> int:
    return int.from_bytes(device.cpu.engine.mem_read(address, 2), "little")


def test_count_thumb() -> None:
    assert count_thumb(b"") == 0
    # nop; nop.w; movs r0, #1; bl
    assert count_thumb(bytes.fromhex("00bf aff30080 0120 00f000f8")) == 4
    for first in (0xE8, 0xF0, 0xF8):
        assert count_thumb(bytes((0, first, 0, 0))) == 1
    assert count_thumb(bytes((0, 0xE0, 0, 0xE0))) == 2


def test_library_is_built_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("UHOST_CACHE", str(tmp_path))
    built: list[tuple[str, ...]] = []
    build = _counter._build

    def record(compiler: tuple[str, ...], library: Path) -> bool:
        built.append(compiler)
        return build(compiler, library)

    monkeypatch.setattr(_counter, "_build", record)
    first = _counter.compiled_library()
    assert first == _counter.compiled_library()
    assert len(built) == 1
    assert first is not None
    assert list(first.parent.iterdir()) == [first], "a temporary file was left"
    assert ctypes.CDLL(str(first)).uhost_count_block


def test_zig_builds_the_library(tmp_path: Path) -> None:
    compilers = [argv for argv in _counter.compilers() if "ziglang" in argv]
    assert compilers
    assert _counter._build(compilers[0], tmp_path / "zig.so")
    assert ctypes.CDLL(str(tmp_path / "zig.so")).uhost_count_block


def test_without_a_compiler_python_counts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def missing(_self: object) -> Located:
        raise ToolNotFoundError("no compiler")

    monkeypatch.setenv("UHOST_CACHE", str(tmp_path))
    monkeypatch.setattr("uhost.toolchain.host_cc.HostCc.locate", missing)
    monkeypatch.setattr("uhost.toolchain.zig.Zig.locate", missing)
    device = simulate("counts")
    symbol = device.image.symbols["watched"]
    counter = _counter.attach(device.cpu.engine, symbol.address, symbol.address + symbol.size)
    assert isinstance(counter, PythonCounter)
    device.cpu.pause, device.cpu.resume = counter.pause, counter.resume
    device.send(b"!")
    assert counter.counts() == EXPECTED


def test_a_broken_compiler_is_passed_over(tmp_path: Path) -> None:
    assert not _counter._build(("false",), tmp_path / "no.so")
    assert not _counter._build((str(tmp_path / "no-such-compiler"),), tmp_path / "no.so")
    assert list(tmp_path.iterdir()) == []


def test_cache_that_cannot_be_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("UHOST_CACHE", str(tmp_path / "file"))
    assert _counter.compiled_library() is None


@pytest.mark.parametrize("function", ["watched", "recursive", "looped"])
def test_blocks_are_the_same_in_c_and_python(function: str) -> None:
    found = []
    for attach_to in KINDS.values():
        device = simulate("counts")
        symbol = device.image.symbols[function]
        counter = attach_to(device.cpu.engine, symbol.address, symbol.address + symbol.size)
        device.cpu.pause, device.cpu.resume = counter.pause, counter.resume
        device.send(b"!")
        counts = counter.counts()
        assert counts is not None
        assert counts.blocks is not None
        found.append(counts.blocks)
    assert found[0] == found[1]
    loops = [block for block in found[0] if block.executed > 50]
    assert all(block.executed > block.taken > 0 for block in loops)
    assert {block.call for block in found[0]} == set(range(4 if function == "watched" else 1))
