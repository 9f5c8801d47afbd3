"""The firmware in Unicorn over RPC: answers, counts, crashes."""

from __future__ import annotations

import pytest
import simulated_firmware as firmware
from simulated_firmware import CRASHES, INPUT, TIMEOUT_S, WORK, connect
from unicorn import UC_HOOK_CODE

from uhost.errors import DeadlineError, DeviceFault
from uhost.rpc.session import FirmwareFault, Session, Timing
from uhost.runners._counter import PythonCounter
from uhost.runners._runner import RunCounts
from uhost.runners.unicorn import RUNNER, UnicornTransport

BOARDS = ("stm32f746g_disco", "nucleo_f746zg", "netduinoplus2", "mps2_an500")
BOARD = "stm32f746g_disco"
TOOLCHAINS = [pytest.param("arm_gcc", marks=pytest.mark.needs("arm_gcc")), "zig"]

pytestmark = pytest.mark.xdist_group("unicorn_runner")


@pytest.mark.parametrize("toolchain", TOOLCHAINS)
@pytest.mark.parametrize("board", BOARDS)
def test_firmware_runs_a_model(board: str, toolchain: str) -> None:
    session, _ = connect(board, toolchain, "unicorn")
    with session:
        assert session.device.clock_hz == firmware.firmware(board, toolchain)[0].clock_hz
        assert not session.device.has_cycles
        session.write_input(WORK, 0, INPUT)
        report = session.run(WORK, TIMEOUT_S)
        assert report.cycles is None
        assert report.stack_bytes is not None
        assert 0 < report.stack_bytes < 400
        assert firmware.outputs(session) == firmware.expected_outputs()


def count(toolchain: str) -> RunCounts:
    session, line = connect(BOARD, toolchain, "unicorn")
    assert isinstance(line, UnicornTransport)
    with session:
        session.write_input(WORK, 0, INPUT)
        line.watch("work_run")
        session.run(WORK, TIMEOUT_S)
        counts = line.counts()
        assert counts is not None
        return counts


@pytest.mark.parametrize("toolchain", TOOLCHAINS)
def test_counts_are_split_over_the_calls(toolchain: str) -> None:
    counts = count(toolchain)
    assert len(counts.calls) == 3
    assert counts.total == sum(counts.calls)
    scale, add_up, divide = counts.calls
    # At least a load, an operation, a store, an addition and a branch per element, unless
    # the compiler unrolled; the last call is a handful.
    assert 3 * 1024 < scale < 12 * 1024
    assert scale < add_up < 20 * 1024
    assert divide < 40
    assert count(toolchain) == counts


@pytest.mark.parametrize("toolchain", TOOLCHAINS)
def test_python_counts_the_same(toolchain: str, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = count(toolchain)
    monkeypatch.setattr("uhost.runners._counter.compiled_library", lambda: None)
    assert count(toolchain) == counts
    session, line = connect(BOARD, toolchain, "unicorn")
    assert isinstance(line, UnicornTransport)
    with session:
        line.watch("work_run")
        assert isinstance(line._counter, PythonCounter)


@pytest.mark.parametrize("toolchain", TOOLCHAINS)
def test_counts_agree_with_single_instructions(toolchain: str) -> None:
    """An independent count: every instruction reported by itself, IT blocks taken whole."""
    session, line = connect(BOARD, toolchain, "unicorn")
    assert isinstance(line, UnicornTransport)
    with session:
        session.write_input(WORK, 0, INPUT)
        engine = line._cpu.engine
        trace: list[int] = []
        engine.hook_add(UC_HOOK_CODE, lambda _engine, address, _size, _: trace.append(address))
        engine.ctl_flush_tb()
        session.run(WORK, TIMEOUT_S)
        symbols = firmware.firmware(BOARD, toolchain)[1].symbols
        inside = [symbols[name] for name in ("work_run", "scale", "add_up", "divide", "fibonacci")]
        code = {
            symbol.address + offset: engine.mem_read(symbol.address + offset, 2)
            for symbol in inside
            for offset in range(0, symbol.size, 2)
        }
        sizes = {address: 4 if half[1] >> 3 >= 0x1D else 2 for address, half in code.items()}
        counted = 0
        after_it_block = 0
        for address in trace:
            if address not in code or address < after_it_block:
                continue
            counted += 1
            half = code[address]
            after_it_block = 0
            if half[1] == 0xBF and half[0] & 0xF:
                length = 4 - ((half[0] & 0xF) & -(half[0] & 0xF)).bit_length() + 1
                after_it_block = address + 2
                for _ in range(length):
                    after_it_block += sizes[after_it_block]
                counted += length
        assert counted == count(toolchain).total


@pytest.mark.parametrize("toolchain", TOOLCHAINS)
@pytest.mark.parametrize(
    ("index", "kind", "function"),
    [
        (firmware.BAD_POINTER, "BusFault", "use_bad_pointer"),
        (firmware.UNDEFINED, "UsageFault", "execute_undefined"),
    ],
)
def test_crash_is_reported_by_the_firmware(
    index: int, kind: str, function: str, toolchain: str
) -> None:
    session, _ = connect(BOARD, toolchain, "unicorn")
    with session:
        with pytest.raises(FirmwareFault) as caught:
            session.run_operator(CRASHES, index, TIMEOUT_S)
        assert caught.value.what.startswith(f"the firmware crashed: {kind}: ")
        place = caught.value.where.split(",")[0]
        # Clang may inline a function that is called once.
        assert f" in {function}+0x" in place or " in crash+0x" in place


@pytest.mark.parametrize("toolchain", TOOLCHAINS)
@pytest.mark.parametrize(
    ("index", "function", "fix"),
    [
        (firmware.STACK_OVERFLOW, "overflow_stack", "raise stack_bytes in the board file"),
        (
            firmware.NO_VECTORS,
            "break_vector_table",
            "look at the function above; the simulator tells this, since the vector at "
            "0x90000018 leads to no code",
        ),
    ],
)
def test_crash_that_the_firmware_cannot_report(
    index: int, function: str, fix: str, toolchain: str
) -> None:
    session, _ = connect(BOARD, toolchain, "unicorn")
    with session:
        with pytest.raises(DeviceFault) as caught:
            session.run_operator(CRASHES, index, TIMEOUT_S)
        assert not isinstance(caught.value, FirmwareFault)
        place = caught.value.where.split(",")[0]
        assert f" in {function}+0x" in place or " in crash+0x" in place
        assert caught.value.fix == fix


def test_endless_model_meets_its_deadline() -> None:
    board, image = firmware.firmware(BOARD, "zig")
    impatient = Timing(answer_s=0.3, attempts=1, bytes_per_second=20_000.0)
    with Session(RUNNER.start(image, board), timing=impatient) as session:
        session.handshake()
        with pytest.raises(DeadlineError):
            session.run_operator(CRASHES, firmware.ENDLESS, 0.1)
