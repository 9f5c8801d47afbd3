"""Weights over RPC, against a device in Python: what travels in which order, what is refused."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from python_device import PythonDevice

from uhost.errors import ProtocolError, RemoteError
from uhost.rpc import messages as m
from uhost.rpc.framing import Frame
from uhost.rpc.session import LOCAL, ParamsDescription, Session, Timing
from uhost.transport.lossy import Damage, LossyTransport
from uhost.transport.memory import MemoryTransport, Responder

HEADER = b"uhostprm" + (1000).to_bytes(8, "little") + bytes(range(32))
BLOB = HEADER + bytes(value * 31 % 251 for value in range(1000))
OTHER = HEADER[:-1] + b"\xff" + BLOB[len(HEADER) :]
ADDRESS = 0x20001000


@dataclass
class ParamsDevice(PythonDevice):
    """A device whose model wants weights that begin with `HEADER`.

    `damage` may change what is written on its way to memory.
    """

    placement: int = m.Placement.RAM
    params: bytearray = field(default_factory=lambda: bytearray(len(BLOB)))
    damage: Callable[[int, bytes], bytes] = lambda offset, content: content
    writes: list[tuple[int, int]] = field(default_factory=list)

    @property
    def present(self) -> bool:
        return self.placement == m.Placement.CODE or self.params.startswith(HEADER)

    def carry_out(self, frame: Frame) -> m.Message:
        match frame.type:
            case m.ParamsRequest.CODE:
                if self.placement == m.Placement.CODE:
                    return m.ParamsReply(0, 0, m.Placement.CODE, 1)
                return m.ParamsReply(ADDRESS, len(BLOB), self.placement, self.present)
            case m.ParamsWriteRequest.CODE:
                write = m.decode(m.ParamsWriteRequest, frame.payload)
                if self.placement != m.Placement.RAM:
                    return m.ErrorReply(write.model, m.ErrorCode.PARAMS_IN_FLASH)
                if write.offset + len(write.content) > len(BLOB):
                    return m.ErrorReply(write.offset, m.ErrorCode.PARAMS_OUT_OF_RANGE)
                self.writes.append((write.offset, len(write.content)))
                content = self.damage(write.offset, write.content)
                self.params[write.offset : write.offset + len(content)] = content
                return m.ParamsWriteReply()
            case m.ParamsCheckRequest.CODE:
                return m.ParamsCheckReply(zlib.crc32(self.params))
            case m.RunRequest.CODE | m.OperatorRequest.CODE:
                self.status = 0 if self.present else m.ModelStatus.BAD_PARAMS
        return super().carry_out(frame)


def connect(device: PythonDevice, timing: Timing = LOCAL) -> Session:
    transport = MemoryTransport(Responder(device))
    transport.open()
    session = Session(transport, timing=timing)
    session.handshake()
    return session


def test_weights_are_written_header_last_and_checked() -> None:
    device = ParamsDevice()
    session = connect(device)
    assert session.describe_params(0) == ParamsDescription("ram", ADDRESS, len(BLOB), False)
    steps: list[tuple[int, int]] = []
    session.write_params(0, BLOB, lambda done, total: steps.append((done, total)))
    assert device.params == BLOB
    assert device.writes[:2] == [(0, 48), (0, 48)]
    assert device.writes[-1] == (0, 48)
    assert all(offset >= 48 for offset, _ in device.writes[2:-1])
    assert steps[0] == (48 + 248, len(BLOB))
    assert steps[-1] == (len(BLOB), len(BLOB))
    assert session.describe_params(0).present
    session.check_params(0, BLOB)
    session.run(0, timeout_s=1)


def test_another_models_weights_do_not_travel() -> None:
    device = ParamsDevice()
    device.params[:] = BLOB
    with pytest.raises(RemoteError) as raised:
        connect(device).write_params(0, OTHER)
    assert raised.value.what == "the model 'sum' refuses these weights: they are another model's"
    assert raised.value.where == "weights of layout 0001020304050607"
    assert raised.value.fix == "send the weights that were made with this firmware"
    assert device.writes == [(0, 48), (0, 48)]
    assert not device.present


@pytest.mark.parametrize("size", [0, len(HEADER), len(BLOB) - 1, len(BLOB) + 1])
def test_weights_of_another_size_do_not_travel(size: int) -> None:
    device = ParamsDevice()
    with pytest.raises(RemoteError) as raised:
        connect(device).write_params(0, (BLOB + b"\0")[:size])
    assert raised.value.what == f"the weights of the model 'sum' are 1048 bytes, these are {size}"
    assert raised.value.where == "ram at 0x20001000, 1048 bytes"
    assert raised.value.fix == "give the weights that were made with this firmware"
    assert device.writes == []


def test_a_corrupt_upload_is_refused_and_does_not_run() -> None:
    def flip(offset: int, content: bytes) -> bytes:
        return content if offset == 0 else bytes([content[0] ^ 1]) + content[1:]

    device = ParamsDevice(damage=flip)
    session = connect(device)
    with pytest.raises(ProtocolError) as raised:
        session.write_params(0, BLOB)
    expected = zlib.crc32(bytes(48) + BLOB[48:])
    assert raised.value.what == (
        "the weights of the model 'sum' are not these on the device: "
        f"CRC-32 {zlib.crc32(device.params):08x}, expected {expected:08x}"
    )
    assert raised.value.where == "ram at 0x20001000, 1048 bytes"
    assert raised.value.fix == "write them again; where that does not help, the memory is bad"
    assert not session.describe_params(0).present
    device.damage = lambda offset, content: content
    session.write_params(0, BLOB)
    assert device.params == BLOB


def test_a_header_that_does_not_stay_is_noticed() -> None:
    device = ParamsDevice()
    headers: list[bytes] = []

    def forget(offset: int, content: bytes) -> bytes:
        if offset == 0:
            headers.append(content)
        return bytes(len(content)) if len(headers) == 3 else content

    device.damage = forget
    with pytest.raises(ProtocolError) as raised:
        connect(device).write_params(0, BLOB)
    assert raised.value.what == "the model 'sum' has no weights after they were written"


def test_weights_in_the_code_cannot_be_written() -> None:
    with pytest.raises(RemoteError) as raised:
        connect(ParamsDevice(placement=m.Placement.CODE)).write_params(0, BLOB)
    assert raised.value.what == "the weights of the model 'sum' are part of its code"
    assert raised.value.fix == "build with the executor's link_params off"


def test_weights_in_flash_are_checked_but_not_written() -> None:
    device = ParamsDevice(placement=m.Placement.FLASH, params=bytearray(BLOB))
    session = connect(device)
    session.check_params(0, BLOB)
    with pytest.raises(RemoteError) as raised:
        session.write_params(0, BLOB)
    assert raised.value.what == (
        "the weights of the model 'sum' are in flash, and cannot be written over RPC"
    )
    assert raised.value.where == "flash at 0x20001000, 1048 bytes"
    assert raised.value.fix == (
        "write params_sum.bin of the build to that address with a flash tool"
    )
    device.params[500] ^= 1
    with pytest.raises(ProtocolError) as differs:
        session.check_params(0, BLOB)
    assert differs.value.what.startswith("the weights of the model 'sum' are not these on the")
    device.params[20] ^= 1
    with pytest.raises(RemoteError) as missing:
        session.check_params(0, BLOB)
    assert (
        missing.value.what == "the weights of the model 'sum' are missing, or are another model's"
    )
    assert missing.value.fix == "write them: over RPC to RAM, with a flash tool to flash"


def test_an_unknown_place_is_refused() -> None:
    with pytest.raises(ProtocolError) as raised:
        connect(ParamsDevice(placement=9)).describe_params(0)
    assert raised.value.what == "the device has weights in the unknown place 9"
    assert raised.value.where == "model 0"


@pytest.mark.parametrize(
    ("status", "words", "fix"),
    [
        (
            m.ModelStatus.BAD_ARENA,
            "its arena is missing or not aligned (BAD_ARENA)",
            "give it memory aligned as its header says",
        ),
        (
            m.ModelStatus.BAD_OPERATOR,
            "it has no operator of that index (BAD_OPERATOR)",
            "count from 0",
        ),
        (
            m.ModelStatus.BAD_PARAMS,
            "its weights are missing, or are another model's (BAD_PARAMS)",
            "send them with write_params, or write them to the flash address they are linked at",
        ),
    ],
)
def test_a_status_is_told_in_words(status: m.ModelStatus, words: str, fix: str) -> None:
    session = connect(PythonDevice(status=status))
    with pytest.raises(RemoteError) as raised:
        session.run(0, timeout_s=1)
    assert raised.value.what == f"model 0 does not run: {words}"
    assert raised.value.fix == fix
    with pytest.raises(RemoteError) as raised:
        session.run_operator(0, 1, timeout_s=1)
    assert raised.value.what == f"operator 1 of model 0 does not run: {words}"


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (m.ErrorCode.NO_PARAMS, "the weights of model 0 are part of its code"),
        (m.ErrorCode.PARAMS_IN_FLASH, "the weights of model 0 are in flash"),
        (m.ErrorCode.PARAMS_OUT_OF_RANGE, "the bytes at offset 0 are not all among the weights"),
    ],
)
def test_what_the_device_refuses_is_told_in_words(code: m.ErrorCode, words: str) -> None:
    device = ParamsDevice()
    session = connect(device)
    device.before_answer = lambda frame: device.send(m.ErrorReply(0, code), frame)
    with pytest.raises(RemoteError) as raised:
        session.describe_params(0)
    assert raised.value.what == f"the device refused ParamsRequest: {words}"


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_line_that_loses_frames_delivers_whole_weights(seed: int) -> None:
    device = ParamsDevice()
    damage = Damage(drop=0.1, duplicate=0.1, delay=0.1, flip_byte=0.0005)
    line = LossyTransport(MemoryTransport(Responder(device)), damage, seed)
    line.open()
    timing = Timing(answer_s=0.01, attempts=12, bytes_per_second=1e7, hello_s=0.01, window=2)
    session = Session(line, timing=timing)
    session.handshake()
    session.write_params(0, BLOB)
    assert device.params == BLOB
    session.check_params(0, BLOB)
