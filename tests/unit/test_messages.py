from __future__ import annotations

from pathlib import Path

import pytest

from uhost.errors import ConfigError, ProtocolError
from uhost.rpc import messages as m
from uhost.rpc import protocol_header

EXAMPLES: list[tuple[m.Message, str]] = [
    (m.HelloRequest(), ""),
    (
        m.HelloReply(2048, 216_000_000, 1, 2, m.Flag.HAS_CYCLES, "ab", "f7"),
        "00080000 00e6df0c 01000000 02 01 0200 6162 0200 6637",
    ),
    (m.ModelRequest(3), "03"),
    (m.ModelReply(0x1234, 9, 1, 2, "kws"), "34120000 09000000 0100 0200 0300 6b7773"),
    (m.TensorRequest(1, m.Direction.OUTPUT, 0x203), "01 01 0302"),
    (
        m.TensorReply(16, 490, 0.5, -128, m.DTypeCode.INT8, "ü", (1, 49, -1)),
        "10000000 ea010000 0000003f 80ffffff 01 0200 c3bc 03 01000000 31000000 ffffffff",
    ),
    (m.WriteRequest(1, 0x01020304, b"\x00\xff"), "01 04030201 00ff"),
    (m.WriteReply(), ""),
    (m.ReadRequest(1, 2, 3), "01 02000000 03000000"),
    (m.ReadReply(b"abc"), "616263"),
    (m.RunRequest(0), "00"),
    (m.RunReply(m.NO_CYCLES, 512, -2), "ffffffffffffffff 00020000 feffffff"),
    (m.OperatorRequest(0, 7), "00 07000000"),
    (m.OperatorReply(0x100000000, 0), "0000000001000000 00000000"),
    (m.ParamsRequest(2), "02"),
    (
        m.ParamsReply(0x7FFF08080000, 304, m.Placement.FLASH, 1),
        "00000808ff7f0000 30010000 02 01",
    ),
    (m.ParamsWriteRequest(1, 48, b"\x00\xff"), "01 30000000 00ff"),
    (m.ParamsWriteReply(), ""),
    (m.ParamsCheckRequest(1), "01"),
    (m.ParamsCheckReply(0xCBF43926), "2639f4cb"),
    (m.ResetRequest(1), "01"),
    (m.ResetReply(), ""),
    (m.LogNotice(b"hi"), "6869"),
    (
        m.FaultNotice(*range(1, 15)),
        "".join(f"{number:02x}000000" for number in range(1, 15)),
    ),
    (m.ErrorReply(9, m.ErrorCode.NO_MODEL), "09000000 05"),
]


@pytest.mark.parametrize(("message", "payload"), EXAMPLES)
def test_every_message_has_the_bytes_of_the_protocol(message: m.Message, payload: str) -> None:
    assert m.encode(message) == bytes.fromhex(payload)
    assert m.decode(type(message), bytes.fromhex(payload)) == message


def test_every_message_has_an_example_and_its_own_code() -> None:
    every = m.FROM_HOST + m.FROM_DEVICE
    assert {type(message) for message, _ in EXAMPLES} == set(every)
    assert len({kind.CODE for kind in every}) == len(every)
    assert all(kind.CODE & m.REPLY_BIT == 0 for kind in m.FROM_HOST)
    replies = {kind.__name__: kind.CODE for kind in m.FROM_DEVICE}
    for kind in m.FROM_HOST:
        assert replies[kind.__name__.replace("Request", "Reply")] == kind.CODE | m.REPLY_BIT


def test_requests_without_bytes_fit_the_smallest_buffer() -> None:
    sizes = [m.layout(kind).fixed.size for kind in m.FROM_HOST]
    assert max(sizes) + 4 <= m.SMALLEST_BUFFER_BYTES


@pytest.mark.parametrize(
    ("kind", "payload", "reason"),
    [
        (m.RunReply, bytes(15), "unpack_from requires a buffer of at least 16 bytes"),
        (m.RunReply, bytes(17), "1 bytes too many"),
        (m.ModelReply, bytes(12) + b"\x05\0ab", "unpack_from requires a buffer of at least 19"),
        (m.ModelReply, bytes(12) + b"\x01\0\xff", "'utf-8' codec can't decode byte 0xff"),
        (m.TensorReply, bytes(19) + b"\x02\1\0\0\0", "unpack_from requires a buffer of at least"),
    ],
)
def test_a_malformed_payload_is_a_protocol_error(
    kind: type[m.Message], payload: bytes, reason: str
) -> None:
    with pytest.raises(ProtocolError) as raised:
        m.decode(kind, payload)
    assert raised.value.what.startswith(f"the device sent a malformed {kind.__name__}: {reason}")
    assert raised.value.where.startswith(f"payload of {len(payload)} bytes, beginning 00 00")
    assert raised.value.fix == "build and flash the firmware with this version of uhost"


def test_a_number_that_does_not_fit_its_field_is_refused() -> None:
    with pytest.raises(ConfigError) as raised:
        m.encode(m.ReadRequest(0, 1 << 32, 4))
    assert raised.value.what.startswith("ReadRequest cannot carry these numbers: ")
    assert raised.value.where == "model 0, offset 4294967296, size_bytes 4"


def test_the_header_of_the_firmware_is_the_golden_one() -> None:
    golden = Path(__file__).parents[1] / "golden" / "rpc" / "protocol.h"
    assert protocol_header() == golden.read_text(), (
        "protocol.h changed; if that is meant, raise PROTOCOL_VERSION where the wire changed, and\n"
        f"python -c 'import uhost.rpc as r; print(r.protocol_header(), end=\"\")' > {golden}"
    )
