from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from uhost.rpc.framing import (
    Frame,
    FrameReader,
    cobs_decode,
    cobs_encode,
    encode_frame,
)

# Runs around the length of a COBS block, of zeros and of other bytes.
_runs = st.builds(
    lambda byte, count: bytes([byte]) * count,
    st.sampled_from([0, 0, 1, 0xFE, 0xFF]),
    st.one_of(st.integers(0, 4), st.integers(252, 257), st.integers(506, 512)),
)
_contents = st.one_of(st.binary(max_size=600), st.lists(_runs, max_size=6).map(b"".join))
_frames = st.builds(
    Frame,
    st.integers(0, 255),
    st.integers(0, 0xFFFF),
    st.integers(0, 0xFFFF),
    _contents,
)


def _encode_by_definition(content: bytes) -> bytes:
    encoded, block = bytearray(), bytearray()
    for byte in content:
        if byte:
            block.append(byte)
        if not byte or len(block) == 254:
            encoded += bytes([len(block) + 1]) + block
            block.clear()
    return bytes(encoded) + bytes([len(block) + 1]) + bytes(block)


@given(_contents)
def test_cobs_equals_its_definition_and_comes_back(content: bytes) -> None:
    encoded = cobs_encode(content)
    assert encoded == _encode_by_definition(content)
    assert len(encoded) <= len(content) + 1 + len(content) // 254
    assert cobs_decode(encoded) == content


@given(st.binary(max_size=600))
def test_cobs_decode_takes_anything(encoded: bytes) -> None:
    decoded = cobs_decode(encoded)
    assert decoded is None or len(decoded) < len(encoded)


@given(st.lists(_frames, max_size=5), st.lists(st.integers(1, 700), max_size=12))
def test_frames_come_through_any_cut(frames: list[Frame], cuts: list[int]) -> None:
    stream = b"".join(map(encode_frame, frames))
    reader = FrameReader()
    found: list[Frame] = []
    for size in [*cuts, len(stream)]:
        found += reader.feed(stream[:size])
        stream = stream[size:]
    assert found == frames


@given(_frames, st.data())
def test_no_flipped_bit_makes_another_frame(frame: Frame, data: st.DataObject) -> None:
    wire = bytearray(encode_frame(frame))
    for position in data.draw(st.lists(st.integers(0, 8 * len(wire) - 1), min_size=1, max_size=3)):
        wire[position // 8] ^= 1 << position % 8
    assert all(found == frame for found in FrameReader().feed(bytes(wire)))


@given(st.binary(max_size=300), _frames)
def test_a_frame_is_found_after_any_noise(noise: bytes, frame: Frame) -> None:
    assert FrameReader().feed(noise + encode_frame(frame))[-1:] == [frame]
