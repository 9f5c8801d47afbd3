from __future__ import annotations

import dataclasses
import logging
from typing import Any

import pytest
from python_device import ARENA_BYTES, DIGEST, INPUT_BYTES, PythonDevice

from uhost.errors import (
    ConfigError,
    DeadlineError,
    DeviceFault,
    ProtocolError,
    RemoteError,
)
from uhost.rpc import messages as m
from uhost.rpc.framing import Frame, encode_frame
from uhost.rpc.session import (
    LOCAL,
    SERIAL,
    FirmwareFault,
    ModelDescription,
    RunReport,
    Session,
    TensorDescription,
)
from uhost.transport.memory import MemoryTransport, Responder


def connect(device: PythonDevice, **options: Any) -> Session:
    transport = MemoryTransport(Responder(device))
    transport.open()
    return Session(transport, **options)


def test_the_handshake_describes_the_device() -> None:
    session = connect(PythonDevice(), expected_digest=DIGEST)
    device = session.handshake()
    assert device is session.device
    assert (device.board, device.digest, device.protocol) == ("fake", DIGEST, 1)
    assert (device.buffer_bytes, device.clock_hz, device.has_cycles) == (256, 216_000_000, True)
    assert device.dropped_frames == 3
    assert device.models == (
        ModelDescription(
            "sum",
            ARENA_BYTES,
            2,
            (TensorDescription("x", "int8", (40, 100), 0.5, -3, 0, INPUT_BYTES),),
            (TensorDescription("y", "int32", (), 0.0, 0, INPUT_BYTES, 4),),
        ),
    )


def test_a_model_runs_on_its_input() -> None:
    device = PythonDevice(cycles=1234, stack_bytes=96)
    with connect(device) as session:
        session.handshake()
        content = bytes(range(250)) * 16
        session.write_input(0, 0, content)
        assert session.run(0, timeout_s=1) == RunReport(cycles=1234, stack_bytes=96)
        assert int.from_bytes(session.read_output(0, 0), "little") == sum(content)
        assert session.run_operator(0, 1, timeout_s=1) == 1234
        assert device.executed == [m.RunRequest.CODE, m.OperatorRequest.CODE]
        assert device.write_sizes == [248] * 16 + [32]


def test_what_the_device_cannot_measure_is_none() -> None:
    session = connect(PythonDevice())
    session.handshake()
    assert session.run(0, timeout_s=1) == RunReport(cycles=None, stack_bytes=None)
    assert session.run_operator(0, 0, timeout_s=1) is None


def test_another_build_is_refused() -> None:
    session = connect(PythonDevice(digest="cd" * 32), expected_digest=DIGEST)
    with pytest.raises(ProtocolError) as raised:
        session.handshake()
    assert raised.value.what == "the device runs another build than this one"
    assert raised.value.where == ("board fake: digest cdcdcdcdcdcdcdcd, expected abababababababab")
    assert raised.value.fix == "put this build on the board, or use the build that is on it"


def test_another_protocol_version_is_refused() -> None:
    with pytest.raises(ProtocolError) as raised:
        connect(PythonDevice(version=2)).handshake()
    assert raised.value.what == (
        "the device speaks version 2 of the protocol, this uhost version 1"
    )
    assert raised.value.fix == "build and flash the firmware with this version of uhost"


def test_a_buffer_too_small_for_the_protocol_is_refused() -> None:
    with pytest.raises(ProtocolError) as raised:
        connect(PythonDevice(buffer_bytes=63)).handshake()
    assert raised.value.what == ("the device takes payloads of 63 bytes, the protocol needs 64")


def test_an_unknown_element_type_is_refused() -> None:
    with pytest.raises(ProtocolError) as raised:
        connect(PythonDevice(dtype=77)).handshake()
    assert raised.value.what == "the device describes a tensor of the unknown element type 77"
    assert raised.value.where == "tensor 'x'"


def test_there_is_no_device_before_the_handshake() -> None:
    with pytest.raises(ProtocolError) as raised:
        _ = connect(PythonDevice()).device
    assert raised.value.what == "there is no session yet"
    assert raised.value.fix == "call handshake() first"


def test_inputs_and_outputs_are_checked_before_they_travel() -> None:
    session = connect(PythonDevice())
    session.handshake()
    with pytest.raises(ConfigError) as raised:
        session.write_input(0, 0, bytes(17))
    assert raised.value.what == "input 0 'x' takes 4000 bytes, got 17"
    assert raised.value.where == "model 'sum'"
    assert raised.value.fix == "give int8 of shape [40, 100]"
    with pytest.raises(ConfigError) as raised:
        session.read_output(0, 1)
    assert raised.value.what == "there is no output 1"
    assert raised.value.where == "model 'sum'"
    assert raised.value.fix == "it has 1, counted from 0"
    with pytest.raises(ConfigError) as raised:
        session.write_input(1, 0, b"")
    assert raised.value.what == "there is no model 1"
    assert raised.value.where == "board fake"


def test_a_refusal_says_what_was_asked_and_why_not() -> None:
    session = connect(PythonDevice())
    session.handshake()
    with pytest.raises(RemoteError) as raised:
        session.read(0, ARENA_BYTES - 8, 9)
    assert raised.value.what == (
        "the device refused ReadRequest: the bytes at offset 4992 are not all in the arena"
    )
    assert raised.value.where == "model 0, offset 4992, size_bytes 9"


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (m.ErrorReply(6, 1), "it does not know message 0x06"),
        (m.ErrorReply(6, 2), "message 0x06 has the wrong length"),
        (
            m.ErrorReply(7, 3),
            "it is in another session (7): it was reset, or another program talks to it",
        ),
        (m.ErrorReply(2, 4), "it speaks version 2 of the protocol"),
        (m.ErrorReply(1, 5), "it has no model 1"),
        (m.ErrorReply(1, 6), "the model has no such tensor 1"),
        (m.ErrorReply(1, 7), "the model has no operator 1"),
        (m.ErrorReply(1, 99), "error 99, detail 1"),
    ],
)
def test_every_refusal_has_its_words(error: m.ErrorReply, words: str) -> None:
    device = PythonDevice()
    session = connect(device)
    session.handshake()
    device.before_answer = lambda frame: device.send(error, frame)
    with pytest.raises(RemoteError) as raised:
        session.run(0, timeout_s=1)
    assert raised.value.what == f"the device refused RunRequest: {words}"


def test_a_model_that_fails_is_a_remote_error() -> None:
    session = connect(PythonDevice(status=-4))
    session.handshake()
    with pytest.raises(RemoteError) as raised:
        session.run(0, timeout_s=1)
    assert raised.value.what == "model 0 returned status -4 where 0 is success"
    with pytest.raises(RemoteError) as raised:
        session.run_operator(0, 1, timeout_s=1)
    assert raised.value.what == "operator 1 of model 0 returned status -4 where 0 is success"


def test_an_answer_of_another_kind_is_a_protocol_error() -> None:
    device = PythonDevice()
    session = connect(device)
    session.handshake()
    device.before_answer = lambda frame: device.send(m.WriteReply(), frame)
    with pytest.raises(ProtocolError) as raised:
        session.run(0, timeout_s=1)
    assert raised.value.what == "the device answered RunRequest with message 0x84"


def test_a_read_of_another_length_is_a_protocol_error() -> None:
    device = PythonDevice()
    session = connect(device)
    session.handshake()
    device.before_answer = lambda frame: device.send(m.ReadReply(b"abc"), frame)
    with pytest.raises(ProtocolError) as raised:
        session.read(0, 8, 4)
    assert raised.value.what == "the device sent 3 bytes, asked for 4"
    assert raised.value.where == "model 0, offset 8"


def test_silence_is_a_deadline_error_that_says_what_was_seen() -> None:
    device = PythonDevice()
    session = connect(device, timing=SERIAL)
    session.handshake()
    device.before_answer = lambda frame: b"\x05noise\0"
    with pytest.raises(DeadlineError) as raised:
        session.read(0, 0, 4)
    assert raised.value.what == "no answer to ReadRequest within 6.9 s"
    assert raised.value.where == "sent 8 times; received 56 bytes and 8 damaged frames"
    assert raised.value.fix == "check that the board runs this firmware, and its port and baud rate"


def test_a_silent_device_is_given_up_in_bounded_time() -> None:
    device = PythonDevice(before_answer=lambda frame: b"")
    with pytest.raises(DeadlineError) as raised:
        connect(device, timing=LOCAL).handshake()
    assert raised.value.what.startswith("no answer to HelloRequest within ")
    assert raised.value.where.endswith("received 0 bytes and 0 damaged frames")


def test_a_lost_answer_does_not_run_the_model_twice() -> None:
    device = PythonDevice()
    session = connect(device, timing=SERIAL)
    session.handshake()
    lost = 0

    def lose_two_answers(frame: Frame) -> bytes | None:
        nonlocal lost
        if frame.type == m.RunRequest.CODE and lost < 2:
            lost += 1
            device.before_answer = lambda frame: None
            device.answer(frame)
            device.before_answer = lose_two_answers
            return b""
        return None

    device.before_answer = lose_two_answers
    session.run(0, timeout_s=10)
    assert lost == 2
    assert device.executed == [m.RunRequest.CODE]


def test_answers_to_other_requests_are_ignored() -> None:
    device = PythonDevice()
    session = connect(device)
    session.handshake()

    def answer_too_much(frame: Frame) -> bytes:
        device.before_answer = lambda frame: None
        right = device.answer(frame)
        device.before_answer = answer_too_much
        late = dataclasses.replace(frame, sequence=frame.sequence - 1)
        foreign = dataclasses.replace(frame, session=frame.session ^ 1)
        wrong = m.ReadReply(b"\xff\xff\xff\xff")
        echo = encode_frame(frame)
        return echo + device.send(wrong, late) + device.send(wrong, foreign) + right

    device.before_answer = answer_too_much
    assert session.read(0, 0, 4) == bytes(4)


def test_sequence_numbers_wrap() -> None:
    device = PythonDevice()
    session = connect(device)
    session.handshake()
    session._link._sequence = device.sequence = 0xFFFD
    for count in range(1, 7):
        session.run(0, timeout_s=1)
        assert len(device.executed) == count


def test_a_session_number_in_use_does_not_lock_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    device = PythonDevice(session=8, sequence=500)
    numbers = iter([7, 9])
    monkeypatch.setattr("secrets.randbelow", lambda limit: next(numbers))
    session = connect(device)
    session.handshake()
    assert device.session == 10


def test_a_fault_is_reported_with_registers_in_words() -> None:
    fault = m.FaultNotice(
        kind=3,
        r0=1,
        r1=2,
        r2=3,
        r3=4,
        r12=5,
        lr=0x08000101,
        pc=0x08000204,
        xpsr=0x61000000,
        sp=0x20000FF0,
        cfsr=0x8200,
        hfsr=1 << 30,
        mmfar=0,
        bfar=0xE0000000,
    )
    names = {0x08000204: "conv_2d+0x4", 0x08000100: "kws_run+0x20"}
    device = PythonDevice()
    session = connect(device, symbolize=lambda address: names[address])
    session.handshake()
    device.before_answer = lambda frame: device.send(fault, Frame(0, 0, 0, b""))
    with pytest.raises(DeviceFault) as raised:
        session.run(0, timeout_s=1)
    assert raised.value.what == (
        "the firmware crashed: HardFault: data access to an address that does not answer "
        "(0xe0000000)"
    )
    assert raised.value.where == (
        "pc 0x08000204 in conv_2d+0x4, lr 0x08000101 in kws_run+0x20, sp 0x20000ff0, "
        "r0 0x00000001, r1 0x00000002, r2 0x00000003, r3 0x00000004, r12 0x00000005, "
        "xpsr 0x61000000, cfsr 0x00008200, hfsr 0x40000000"
    )
    assert raised.value.fix == (
        "run the model with --board host; if it is well there, report this with these lines"
    )
    assert isinstance(raised.value, FirmwareFault)
    assert raised.value.registers == fault
    device.before_answer = lambda frame: None
    with pytest.raises(DeviceFault):
        session.read(0, 0, 4)


@pytest.mark.parametrize(
    ("registers", "words"),
    [
        ({"kind": 6, "cfsr": 1 << 25}, "UsageFault: division by zero"),
        ({"kind": 6, "cfsr": 1 << 24}, "UsageFault: unaligned access"),
        (
            {"kind": 4, "cfsr": 0x82, "mmfar": 0x10},
            "MemManage fault: data access that is forbidden (0x00000010)",
        ),
        ({"kind": 3, "hfsr": 2}, "HardFault: the vector table could not be read"),
        ({"kind": 53}, "interrupt 37, which nothing handles"),
        ({"kind": 2}, "NMI"),
        ({"kind": 11}, "exception 11"),
        (
            {"kind": 5, "cfsr": 0x1000},
            "BusFault: bus error while entering an exception: stack overflow",
        ),
    ],
)
def test_every_kind_of_fault_has_its_words(registers: dict[str, int], words: str) -> None:
    fields = {field.name: 0 for field in dataclasses.fields(m.FaultNotice)} | registers
    device = PythonDevice()
    device.before_answer = lambda frame: device.send(m.FaultNotice(**fields), frame)
    with pytest.raises(DeviceFault) as raised:
        connect(device).handshake()
    assert raised.value.what == f"the firmware crashed: {words}"
    if "stack overflow" in words:
        assert raised.value.fix == "raise stack_bytes in the board file"


def test_log_lines_go_to_the_callback_or_the_logger(caplog: pytest.LogCaptureFixture) -> None:
    def log_first(frame: Frame) -> bytes:
        device.before_answer = lambda frame: None
        answer = device.send(m.LogNotice("Grüße".encode()), frame) + device.answer(frame)
        device.before_answer = log_first
        return answer

    device = PythonDevice(before_answer=log_first)
    lines: list[str] = []
    connect(device, on_log=lines.append).handshake()
    assert set(lines) == {"Grüße"}
    with caplog.at_level(logging.INFO, "uhost.device"):
        connect(device).handshake()
    assert ("uhost.device", logging.INFO, "Grüße") in caplog.record_tuples
