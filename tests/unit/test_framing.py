from __future__ import annotations

import os

import pytest

from uhost.rpc import messages as m
from uhost.rpc.framing import (
    Frame,
    FrameReader,
    cobs_decode,
    cobs_encode,
    decode_frame,
    encode_frame,
)

ONES = bytes(range(1, 255))


@pytest.mark.parametrize(
    ("content", "encoded"),
    [
        (b"", "01"),
        (b"\0", "01 01"),
        (b"\0\0", "01 01 01"),
        (b"\x11\x22\x00\x33", "03 11 22 02 33"),
        (b"\x11\x22\x33\x44", "05 11 22 33 44"),
        (b"\x11\x00\x00\x00", "02 11 01 01 01"),
        (ONES, "ff" + ONES.hex() + "01"),
        (b"\0" + ONES, "01 ff" + ONES.hex() + "01"),
        (ONES + b"\xff", "ff" + ONES.hex() + "02 ff"),
        (ONES + b"\0", "ff" + ONES.hex() + "01 01"),
        (ONES[1:] + b"\0", "fe" + ONES[1:].hex() + "01"),
    ],
)
def test_cobs_gives_the_bytes_of_the_definition(content: bytes, encoded: str) -> None:
    assert cobs_encode(content) == bytes.fromhex(encoded)
    assert cobs_decode(bytes.fromhex(encoded)) == content


def test_a_full_block_may_end_the_encoding() -> None:
    assert cobs_decode(b"\xff" + ONES) == ONES


@pytest.mark.parametrize("encoded", ["", "00", "03 11", "02 11 05", "03 11 00 02 33"])
def test_what_is_not_cobs_is_refused(encoded: str) -> None:
    assert cobs_decode(bytes.fromhex(encoded)) is None


def test_a_frame_has_the_bytes_of_the_protocol() -> None:
    frame = Frame(type=0x06, session=0x1234, sequence=0x0001, payload=b"\x07")
    wire = encode_frame(frame)
    assert wire.hex(" ") == "00 06 01 06 34 12 01 06 07 11 49 55 dc 00"
    assert decode_frame(wire.strip(b"\0")) == frame


def test_the_reader_takes_frames_from_any_cut() -> None:
    frames = [Frame(4, 9, n, os.urandom(n * 37)) for n in range(20)]
    stream = b"".join(map(encode_frame, frames))
    for size in (1, 2, 7, 100, len(stream)):
        reader = FrameReader()
        found = [
            frame
            for start in range(0, len(stream), size)
            for frame in reader.feed(stream[start : start + size])
        ]
        assert found == frames
        assert reader.received_bytes == len(stream)
        assert reader.damaged_frames == 0


def test_the_reader_drops_damage_and_goes_on() -> None:
    good = Frame(4, 9, 1, b"content")
    wire = encode_frame(good)
    flipped = bytearray(wire)
    flipped[6] ^= 0x40
    reader = FrameReader()
    assert reader.feed(b"boot messages\r\n" + wire) == [good]
    assert reader.damaged_frames == 1
    assert reader.feed(bytes(flipped) + wire) == [good]
    assert reader.damaged_frames == 2
    assert reader.feed(wire[:9] + wire) == [good]
    assert reader.damaged_frames == 3
    assert reader.feed(b"\0" * 50 + b"\x02\x07\0") == []
    assert reader.damaged_frames == 4


def test_endless_noise_takes_no_endless_memory() -> None:
    reader = FrameReader()
    for _ in range(40):
        assert reader.feed(b"\x55" * 65536) == []
    assert reader.damaged_frames >= 2
    assert len(reader._pending) <= 1 << 20
    assert reader.feed(encode_frame(Frame(1, 2, 3, b""))) == [Frame(1, 2, 3, b"")]


@pytest.mark.parametrize("content", [os.urandom(1024), bytes(1024), b"\x01" * 1024])
def test_a_kibibyte_costs_at_most_three_percent(content: bytes) -> None:
    request = m.encode(m.WriteRequest(0, 0, content))
    assert len(encode_frame(Frame(m.WriteRequest.CODE, 1, 1, request))) <= 1.03 * len(content)
