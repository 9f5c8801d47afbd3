from __future__ import annotations

import dataclasses
import re

import pytest
from simulated_program import Simulated, board, image, simulate

from uhost.errors import DeviceFault, RunnerError
from uhost.runners._unicorn_cpu import Cpu
from uhost.toolchain._toolchain import Symbol

UART_EXCEPTION = 16
FRAME_BYTES, FP_FRAME_BYTES = 32, 104


def test_echo_sleeps_and_wakes() -> None:
    device = simulate("echo")
    assert device.send(b"") == b""
    assert device.send(b"A") == b"B"
    assert device.send(b"") == b""
    assert device.send(b"x") == b"y"
    ipsr, _, link = device.words("record", 3)
    assert ipsr == UART_EXCEPTION
    assert link == 0xFFFFFFF9


def test_bytes_that_wait_since_before_the_start_arrive() -> None:
    assert simulate("echo").send(b"A") == b"B"


@pytest.mark.parametrize("core", ["cortex-m3", "cortex-m4", "cortex-m7", "cortex-m33"])
def test_every_core_takes_exceptions(core: str) -> None:
    target = dataclasses.replace(board().target, cpu=core)
    other = dataclasses.replace(board(), target=target)
    assert simulate("calls_supervisor", other).send(b"") == b"."
    assert simulate("undefined", other).send(b"") == b"F"
    device = simulate("keeps_registers", other)
    if core == "cortex-m3":
        assert device.send(b"!") == b"F"
        assert device.words("record", 2) == (3, 1 << 19), "there is no FPU"
    else:
        assert device.send(b"!") == b"."
        assert device.words("record", 1, 48) == (0x3F800000,)


def test_cortex_m0_knows_no_wide_branches() -> None:
    target = dataclasses.replace(board().target, cpu="cortex-m0")
    fault = crash(simulate("echo", dataclasses.replace(board(), target=target)))
    assert fault.what == "the firmware crashed: it met an undefined instruction"


def test_a_long_write_arrives_in_bursts() -> None:
    # The program keeps one byte. A burst is half of the receive ring; the next one comes
    # when the program sleeps again.
    console = board().console
    assert console is not None
    sent = bytes(range(1, 200)) * 5
    for receive_bytes in (2, 8):
        small = dataclasses.replace(console, receive_bytes=receive_bytes)
        device = simulate("echo", dataclasses.replace(board(), console=small))
        burst = receive_bytes // 2
        last = [*range(burst - 1, len(sent), burst)]
        if len(sent) % burst:
            last.append(len(sent) - 1)
        assert device.send(sent) == bytes(sent[index] + 1 for index in last)


def test_interrupt_keeps_all_registers_and_flags() -> None:
    device = simulate("keeps_registers")
    assert device.send(b"!") == b"."
    saved = device.words("record", 8, 16)
    assert saved[:5] == (1, 2, 3, 4, 5)
    assert saved[5] == 1, "the flags changed"
    assert saved[6:] == (5, 5)
    s0, s15, sp, ipsr, control = device.words("record", 5, 48)
    assert s0 == s15 == 0x3F800000
    assert sp == device.address("stack_top")
    assert ipsr == 0
    assert control & 4, "the floating-point context is active again"
    handler_sp, link = device.words("record", 2, 4)
    assert link == 0xFFFFFFE9
    assert handler_sp == device.address("stack_top") - FP_FRAME_BYTES


def test_supervisor_call_returns_through_the_frame() -> None:
    device = simulate("calls_supervisor")
    assert device.send(b"") == b"."
    assert device.words("record", 1, 16) == (42,)


def test_masked_wake_takes_the_interrupt_where_the_mask_ends() -> None:
    device = simulate("unmasks_slowly")
    assert device.send(b"!") == b"."
    assert device.words("record", 1, 16) == (18,)
    assert device.words("received", 1) == (ord("!"),)


def test_process_stack_holds_the_frame_of_a_thread() -> None:
    device = simulate("thread_stack")
    assert device.send(b"!") == b"."
    handler_sp, link = device.words("record", 2, 4)
    assert link == 0xFFFFFFFD
    assert handler_sp == device.address("stack_top"), "the handler runs on the main stack"
    thread_sp, control = device.words("record", 2, 16)
    top = device.address("thread_stack_top")
    assert thread_sp == top - 4, "the padding of the frame was not removed"
    assert control & 2
    # The padded frame ends 8-aligned, a word below the misaligned stack pointer.
    frame = top - 8 - FRAME_BYTES
    assert device.words("stack_top", 8, frame - device.address("stack_top"))[7] & 1 << 9


def test_event_wait_counts_as_sleep() -> None:
    device = simulate("waits_for_event")
    assert device.send(b"") == b"E"
    assert device.send(b"") == b""


# exception, CFSR, HFSR, BFAR that the fault handler finds
FORCED = 1 << 30
FAULTS = {
    "reads_nowhere": (3, 0x8200, FORCED, 0x30000004),
    "jumps_nowhere": (3, 0x100, FORCED, 0),
    "undefined": (3, 0x10000, FORCED, 0),
    "arm_code": (3, 0x20000, FORCED, 0),
    "breakpoint": (3, 0, 1 << 31, 0),
    "executes_data": (3, 0x1, FORCED, 0),
    "bus_fault_enabled": (5, 0x8200, 0, 0x30000004),
}


@pytest.mark.parametrize("routine", FAULTS)
def test_fault_reaches_the_handler(routine: str) -> None:
    device = simulate(routine)
    assert device.send(b"") == b"F"
    assert device.words("record", 4) == FAULTS[routine]


def test_fault_frame_holds_the_place_of_the_crash() -> None:
    device = simulate("reads_nowhere")
    device.send(b"")
    pc, xpsr, link, r0 = device.words("record", 4, 16)
    assert pc == device.address("reads_nowhere_at")
    assert xpsr & 1 << 24
    assert link == 0xFFFFFFF9
    assert r0 == 123


def crash(device: Simulated) -> DeviceFault:
    with pytest.raises(DeviceFault) as caught:
        device.send(b"")
    return caught.value


def test_crash_without_a_vector_is_told_by_the_simulator() -> None:
    fault = crash(simulate("no_vector"))
    assert fault.what == "the firmware crashed: it met an undefined instruction"
    assert re.match(
        r"pc 0x[0-9a-f]{8} in no_vector\+0x[0-9a-f]+, lr 0x[0-9a-f]{8} in ", fault.where
    )
    assert "r0 0x0000007b" in fault.where
    assert fault.fix == (
        "look at the function above; the simulator tells this, since the vector at 0x0010000c "
        "leads to no code"
    )


def test_stack_overflow_is_told_by_the_simulator() -> None:
    fault = crash(simulate("no_stack"))
    assert fault.what == "the firmware crashed: it accessed 0x1ffffff4, where there is no memory"
    assert "in no_stack+0x" in fault.where
    assert "sp 0x20000004" in fault.where
    assert fault.fix == "raise stack_bytes in the board file"


def test_crash_of_the_fault_handler_is_told_by_the_simulator() -> None:
    fault = crash(simulate("crashes_twice"))
    assert fault.what == "the firmware crashed: it met an undefined instruction"
    assert "in crashing_handler+0x0" in fault.where
    assert fault.fix.endswith("since the fault handler itself crashed")


def test_crash_whose_handler_cannot_send_is_told_by_the_simulator() -> None:
    fault = crash(simulate("early_send"))
    assert fault.what == "the firmware crashed: it met an undefined instruction"
    assert "in early_send+0x0" in fault.where
    assert fault.fix.endswith("since its fault handler did not report it")


def test_crash_whose_handler_is_silent_is_remembered() -> None:
    device = simulate("silent_fault")
    assert device.send(b"") == b""
    assert device.cpu.fault is not None
    assert "in silent_fault+0x" in device.cpu.fault.where


def test_fpu_that_was_never_switched_on() -> None:
    fault = crash(simulate("fpu_is_off"))
    assert fault.what == "the firmware used the floating-point unit, which is switched off"
    assert fault.fix == "set the bits 0x00f00000 before the first floating-point instruction"


def test_fpu_that_the_chip_does_not_have() -> None:
    target = dataclasses.replace(board().target, features=("dsp",))
    fault = crash(simulate("fpu_is_off", dataclasses.replace(board(), target=target)))
    assert fault.what == "the firmware used the floating-point unit, which the chip does not have"
    assert fault.fix == "build for the board's target"


def test_image_without_a_vector_table() -> None:
    elsewhere = dataclasses.replace(board(), flash="psram")
    with pytest.raises(RunnerError) as caught:
        Cpu(image(), elsewhere)
    assert caught.value.what == "the image has no vector table at the start of flash"
    assert caught.value.where == "the reset vector at 0x60000004 is 0x00000000"


def test_image_outside_the_memory() -> None:
    regions = tuple(region for region in board().regions if region.name != "code")
    with pytest.raises(RunnerError) as caught:
        Cpu(image(), dataclasses.replace(board(), regions=regions, flash="psram"))
    assert caught.value.what == "the image has contents outside the board's memory"


def test_overlapping_regions() -> None:
    ram = dataclasses.replace(board().region("ram"), name="again")
    with pytest.raises(RunnerError) as caught:
        Cpu(image(), dataclasses.replace(board(), regions=(*board().regions, ram)))
    assert caught.value.what.startswith("the Unicorn runner cannot map the memory region 'again'")


def test_location_names_a_function() -> None:
    device = simulate("echo")
    device.send(b"")
    assert device.cpu.location.startswith("echo+0x")
    assert isinstance(device.image.symbols["echo"], Symbol)
