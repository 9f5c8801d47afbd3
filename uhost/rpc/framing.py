"""Frames: how a message travels over a byte line that may lose, flip or invent bytes.

On the line: 0x00, the COBS encoding of header, payload and CRC-32, 0x00. COBS
(Cheshire and Baker, "Consistent Overhead Byte Stuffing", 1999) leaves no zero
inside, so a receiver finds the next frame after any garbage. The CRC is that of
IEEE 802.3 over header and payload. A damaged frame is dropped without an answer:
the sender repeats it.

Both COBS directions work on arrays, not bytes, because tensors are uploaded through
them. The C-accelerated package on the index has no binary wheels.
"""

from __future__ import annotations

import re
import struct
import zlib
from dataclasses import dataclass

import numpy as np

PROTOCOL_VERSION = 1
HEADER = struct.Struct("<BBHH")
CRC = struct.Struct("<I")
# No frame of a healthy device is longer; what is, is noise without a delimiter.
_LONGEST_FRAME_BYTES = 1 << 20
_BLOCK_BYTES = 254
_CODES_OF_ZEROS = re.compile(b"\\x01+")


@dataclass(frozen=True, slots=True)
class Frame:
    """One message on the line: header fields and payload.

    `session` names the conversation and `sequence` the request within it; a reply
    carries those of its request.
    """

    type: int
    session: int
    sequence: int
    payload: bytes
    version: int = PROTOCOL_VERSION


def cobs_encode(content: bytes) -> bytes:
    """Returns `content` with every zero byte replaced by the distance to the next one.

    Adds one byte, and one more for every 254 bytes without a zero.
    """
    source = np.frombuffer(content, np.uint8)
    # With a zero in front, every zero is where the code of the run behind it goes.
    encoded = np.append(np.uint8(0), source)
    zeros = np.flatnonzero(encoded == 0)
    distances = np.append(zeros[1:], encoded.size) - zeros
    if distances.max() <= _BLOCK_BYTES:
        encoded[zeros] = distances.astype(np.uint8)
        return encoded.tobytes()
    # Runs longer than a block need more codes, which move what follows them.
    lengths = distances - 1
    codes_per_run = lengths // _BLOCK_BYTES + 1
    bytes_per_run = lengths + codes_per_run
    total = int(bytes_per_run.sum())
    run_starts = np.cumsum(bytes_per_run) - bytes_per_run
    first_codes = np.cumsum(codes_per_run) - codes_per_run
    within_run = np.arange(int(codes_per_run.sum())) - np.repeat(first_codes, codes_per_run)
    codes = np.repeat(run_starts, codes_per_run) + (_BLOCK_BYTES + 1) * within_run
    encoded = np.empty(total, np.uint8)
    is_content = np.ones(total, np.bool_)
    is_content[codes] = False
    encoded[is_content] = source[source != 0]
    encoded[codes] = np.diff(codes, append=total)
    return encoded.tobytes()


def cobs_decode(encoded: bytes) -> bytes | None:
    """Returns the content of a COBS block, or None if it is not one."""
    size = len(encoded)
    if size == 0 or 0 in encoded:
        return None
    is_code = bytearray(size)
    position = 0
    while position < size:
        code = encoded[position]
        if code == 1 and (zeros := _CODES_OF_ZEROS.match(encoded, position)):
            # Zeros in a row: each code of 1 is followed by the next code.
            is_code[position : zeros.end()] = zeros[0]
            position = zeros.end()
        else:
            is_code[position] = 1
            position += code
    if position != size:
        return None
    decoded = np.frombuffer(encoded, np.uint8).copy()
    at = np.flatnonzero(np.frombuffer(is_code, np.bool_))
    full = decoded[at] == _BLOCK_BYTES + 1
    decoded[at] = 0
    keep = np.ones(size, np.bool_)
    # The first code, and a code behind a full block, stand for no zero of the content.
    keep[at[0]] = False
    keep[at[1:][full[:-1]]] = False
    return decoded[keep].tobytes()


def encode_frame(frame: Frame) -> bytes:
    """Returns the frame as it goes on the line, a delimiter at either end.

    The leading delimiter ends whatever noise precedes the frame.
    """
    body = HEADER.pack(frame.version, frame.type, frame.session, frame.sequence) + frame.payload
    return b"\0" + cobs_encode(body + CRC.pack(zlib.crc32(body))) + b"\0"


def decode_frame(encoded: bytes) -> Frame | None:
    """Returns the frame between two delimiters, or None if it is damaged."""
    content = cobs_decode(encoded)
    if content is None or len(content) < HEADER.size + CRC.size:
        return None
    body = content[: -CRC.size]
    if CRC.unpack(content[-CRC.size :])[0] != zlib.crc32(body):
        return None
    version, kind, session, sequence = HEADER.unpack_from(body)
    return Frame(kind, session, sequence, body[HEADER.size :], version)


class FrameReader:
    """Finds the frames in a stream of bytes, however it was cut.

    `received_bytes` and `damaged_frames` count what came, for messages to people.
    """

    def __init__(self) -> None:
        self._pending = bytearray()
        self.received_bytes = 0
        self.damaged_frames = 0

    def feed(self, received: bytes) -> list[Frame]:
        """Returns the undamaged frames that `received` completes, in order."""
        self.received_bytes += len(received)
        *complete, rest = received.split(b"\0")
        frames = []
        for part in complete:
            self._pending += part
            frames += self._take()
        self._pending += rest
        if len(self._pending) > _LONGEST_FRAME_BYTES:
            self._pending.clear()
            self.damaged_frames += 1
        return frames

    def _take(self) -> list[Frame]:
        encoded = bytes(self._pending)
        self._pending.clear()
        if not encoded:
            return []
        frame = decode_frame(encoded)
        if frame is None:
            self.damaged_frames += 1
            return []
        return [frame]
