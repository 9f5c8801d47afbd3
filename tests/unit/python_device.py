"""A device in Python that speaks the protocol: what the firmware's server does, independently."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from uhost.rpc import messages as m
from uhost.rpc.framing import PROTOCOL_VERSION, Frame, FrameReader, encode_frame

DIGEST = "ab" * 32
ARENA_BYTES = 5000
INPUT_BYTES = 4000


@dataclass
class PythonDevice:
    """Call it with bytes from the host; it returns the bytes it sends.

    It has one model: the output is the sum of the input, four bytes behind it, and the
    four bytes after that count its runs. `before_answer` may return an answer of its own.
    """

    buffer_bytes: int = 256
    digest: str = DIGEST
    version: int = PROTOCOL_VERSION
    dtype: int = m.DTypeCode.INT8
    status: int = 0
    cycles: int = m.NO_CYCLES
    stack_bytes: int = m.NO_STACK
    before_answer: Callable[[Frame], bytes | None] = lambda frame: None
    arena: bytearray = field(default_factory=lambda: bytearray(ARENA_BYTES))
    executed: list[int] = field(default_factory=list)
    write_sizes: list[int] = field(default_factory=list)
    session: int = 0
    sequence: int = 0
    done: m.Message | None = None
    reader: FrameReader = field(default_factory=FrameReader)

    def __call__(self, received: bytes) -> bytes:
        return b"".join(self.answer(frame) for frame in self.reader.feed(received))

    def answer(self, frame: Frame) -> bytes:
        own = self.before_answer(frame)
        if own is not None:
            return own
        if frame.session != self.session and frame.type != m.HelloRequest.CODE:
            return self.send(m.ErrorReply(self.session, m.ErrorCode.NO_SESSION), frame)
        if frame.session == self.session and (frame.sequence - self.sequence) & 0xFFFF >= 0x8000:
            return b""
        if frame.session != self.session or frame.sequence != self.sequence:
            self.done = None
        self.session, self.sequence = frame.session, frame.sequence
        return self.send(self.carry_out(frame), frame)

    def send(self, message: m.Message, to: Frame) -> bytes:
        return encode_frame(
            Frame(message.CODE, to.session, to.sequence, m.encode(message), self.version)
        )

    def carry_out(self, frame: Frame) -> m.Message:
        match frame.type:
            case m.HelloRequest.CODE:
                return m.HelloReply(self.buffer_bytes, 216_000_000, 3, 1, 1, self.digest, "fake")
            case m.ModelRequest.CODE:
                return m.ModelReply(len(self.arena), 2, 1, 1, "sum")
            case m.TensorRequest.CODE:
                asked = m.decode(m.TensorRequest, frame.payload)
                if asked.direction == m.Direction.INPUT:
                    return m.TensorReply(0, INPUT_BYTES, 0.5, -3, self.dtype, "x", (40, 100))
                return m.TensorReply(INPUT_BYTES, 4, 0.0, 0, m.DTypeCode.INT32, "y", ())
            case m.WriteRequest.CODE:
                return self.write(m.decode(m.WriteRequest, frame.payload))
            case m.ReadRequest.CODE:
                read = m.decode(m.ReadRequest, frame.payload)
                if read.offset + read.size_bytes > len(self.arena):
                    return m.ErrorReply(read.offset, m.ErrorCode.OUT_OF_RANGE)
                return m.ReadReply(bytes(self.arena[read.offset :][: read.size_bytes]))
            case m.RunRequest.CODE | m.OperatorRequest.CODE:
                return self.run(frame.type)
        return m.ErrorReply(frame.type, m.ErrorCode.UNKNOWN_MESSAGE)

    def write(self, request: m.WriteRequest) -> m.Message:
        assert len(request.content) + 5 <= self.buffer_bytes
        if request.offset + len(request.content) > len(self.arena):
            return m.ErrorReply(request.offset, m.ErrorCode.OUT_OF_RANGE)
        self.write_sizes.append(len(request.content))
        self.arena[request.offset : request.offset + len(request.content)] = request.content
        return m.WriteReply()

    def run(self, code: int) -> m.Message:
        if self.done is None:
            self.executed.append(code)
            total = sum(self.arena[:INPUT_BYTES])
            runs = int.from_bytes(self.arena[INPUT_BYTES + 4 :][:4], "little") + 1
            self.arena[INPUT_BYTES : INPUT_BYTES + 8] = total.to_bytes(4, "little") + runs.to_bytes(
                4, "little"
            )
            self.done = (
                m.RunReply(self.cycles, self.stack_bytes, self.status)
                if code == m.RunRequest.CODE
                else m.OperatorReply(self.cycles, self.status)
            )
        return self.done
