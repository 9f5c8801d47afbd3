"""The RPC client: drives the firmware over a transport.

One request is under way at a time. It is repeated until its answer comes or its
deadline passes; the device carries it out once. Damaged frames, answers to earlier
requests and those of other sessions are ignored, so what is returned is always the
answer to what was asked.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TypeVar

from uhost.errors import ConfigError, DeadlineError, ProtocolError, RemoteError
from uhost.rpc import messages as m
from uhost.rpc._chunk import ChunkSize
from uhost.rpc._description import DeviceDescription, ModelDescription, TensorDescription
from uhost.rpc._fault import FirmwareFault
from uhost.rpc._link import Link
from uhost.rpc._timing import LOCAL, SERIAL, Timing
from uhost.rpc.framing import PROTOCOL_VERSION
from uhost.transport._transport import Transport

__all__ = [
    "LOCAL",
    "SERIAL",
    "DeviceDescription",
    "FirmwareFault",
    "ModelDescription",
    "RunReport",
    "Session",
    "TensorDescription",
    "Timing",
]

T = TypeVar("T")
R = TypeVar("R", bound=m.Message)

_REBUILD = "build and flash the firmware with this version of uhost"


@dataclass(frozen=True, slots=True)
class RunReport:
    """What one run took: None where the device cannot measure it."""

    cycles: int | None
    stack_bytes: int | None


class Session:
    """A conversation with the firmware behind `transport`, which must be open.

    `expected_digest` is that of the build the device should run; None accepts any.
    `timing` fits the line: `LOCAL` for pipes and simulators, `SERIAL` for real ports.
    `symbolize` names the function at an address, for fault reports. `on_log` takes the
    firmware's log lines; without it they go to the logger `uhost.device`.

    Every method raises `DeadlineError` when no answer came in time, `DeviceFault` when
    the firmware has crashed, `RemoteError` when it refused, `ProtocolError` when it
    answered what cannot be.
    """

    def __init__(
        self,
        transport: Transport,
        *,
        expected_digest: str | None = None,
        timing: Timing = LOCAL,
        symbolize: Callable[[int], str] = "0x{:08x}".format,
        on_log: Callable[[str], None] | None = None,
    ) -> None:
        self._transport = transport
        self._expected_digest = expected_digest
        self._timing = timing
        self._link = Link(transport, symbolize, on_log or logging.getLogger("uhost.device").info)
        self._chunk = ChunkSize(m.SMALLEST_BUFFER_BYTES)
        self._description: DeviceDescription | None = None

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the transport."""
        self._transport.close()

    @property
    def device(self) -> DeviceDescription:
        """What the handshake learnt."""
        if self._description is None:
            raise ProtocolError("there is no session yet", fix="call handshake() first")
        return self._description

    def handshake(self) -> DeviceDescription:
        """Starts a session and returns what runs on the device.

        Raises `ProtocolError` when the device runs another build than expected.
        """
        hello = self._say_hello()
        if self._expected_digest is not None and hello.digest != self._expected_digest:
            raise ProtocolError(
                "the device runs another build than this one",
                where=f"board {hello.board}: digest {hello.digest[:16]}, "
                f"expected {self._expected_digest[:16]}",
                fix="put this build on the board, or use the build that is on it",
            )
        if hello.buffer_bytes < m.SMALLEST_BUFFER_BYTES:
            raise ProtocolError(
                f"the device takes payloads of {hello.buffer_bytes} bytes, "
                f"the protocol needs {m.SMALLEST_BUFFER_BYTES}",
                where=f"board {hello.board}",
                fix=_REBUILD,
            )
        self._chunk = ChunkSize(hello.buffer_bytes)
        self._description = DeviceDescription(
            board=hello.board,
            digest=hello.digest,
            protocol=PROTOCOL_VERSION,
            buffer_bytes=hello.buffer_bytes,
            clock_hz=hello.clock_hz,
            has_cycles=bool(hello.flags & m.Flag.HAS_CYCLES),
            dropped_frames=hello.dropped_frames,
            models=tuple(self._describe_model(index) for index in range(hello.model_count)),
        )
        return self._description

    def write(self, model: int, offset: int, content: bytes) -> None:
        """Puts `content` into the arena of `model` at `offset`."""
        done = 0
        fixed_bytes = m.layout(m.WriteRequest).fixed.size
        while done < len(content):
            piece = content[done : done + self._chunk.content_bytes(fixed_bytes)]
            request = m.WriteRequest(model, offset + done, piece)
            if self._transfer(request, m.WriteReply, len(piece)) is not None:
                done += len(piece)

    def read(self, model: int, offset: int, size_bytes: int) -> bytes:
        """Returns `size_bytes` bytes of the arena of `model` from `offset`."""
        content = bytearray()
        while len(content) < size_bytes:
            size = min(self._chunk.content_bytes(0), size_bytes - len(content))
            request = m.ReadRequest(model, offset + len(content), size)
            reply = self._transfer(request, m.ReadReply, size)
            if reply is None:
                continue
            if len(reply.content) != size:
                raise ProtocolError(
                    f"the device sent {len(reply.content)} bytes, asked for {size}",
                    where=f"model {model}, offset {request.offset}",
                    fix=_REBUILD,
                )
            content += reply.content
        return bytes(content)

    def write_input(self, model: int, index: int, content: bytes) -> None:
        """Puts `content` into input `index` of `model`; its length must be the input's."""
        described = self._model(model)
        tensor = _choose(described.inputs, index, f"model '{described.name}'", "input")
        if len(content) != tensor.size_bytes:
            raise ConfigError(
                f"input {index} '{tensor.name}' takes {tensor.size_bytes} bytes, "
                f"got {len(content)}",
                where=f"model '{described.name}'",
                fix=f"give {tensor.dtype} of shape {list(tensor.shape)}",
            )
        self.write(model, tensor.offset, content)

    def read_output(self, model: int, index: int) -> bytes:
        """Returns the bytes of output `index` of `model`."""
        described = self._model(model)
        tensor = _choose(described.outputs, index, f"model '{described.name}'", "output")
        return self.read(model, tensor.offset, tensor.size_bytes)

    def run(self, model: int, timeout_s: float) -> RunReport:
        """Runs `model` once, which may take up to `timeout_s` seconds."""
        reply = self._work(m.RunRequest(model), m.RunReply, timeout_s)
        _check_status(reply.status, f"model {model}")
        return RunReport(
            cycles=None if reply.cycles == m.NO_CYCLES else reply.cycles,
            stack_bytes=None if reply.stack_bytes == m.NO_STACK else reply.stack_bytes,
        )

    def run_operator(self, model: int, index: int, timeout_s: float) -> int | None:
        """Runs operator `index` of `model` once and returns its cycles, where they are known."""
        reply = self._work(m.OperatorRequest(model, index), m.OperatorReply, timeout_s)
        _check_status(reply.status, f"operator {index} of model {model}")
        return None if reply.cycles == m.NO_CYCLES else reply.cycles

    # ---- The handshake --------------------------------------------------------------------

    def _say_hello(self) -> m.HelloReply:
        """Returns the answer to a hello; the device may still be starting.

        By chance a device can be in a session of the same number, and take the hello for
        a late copy. A second number settles that.
        """
        waits = self._timing.waits_for_start()
        half = (len(waits) + 1) // 2
        try:
            return self._start_session(waits[:half])
        except DeadlineError:
            return self._start_session(waits[half:])

    def _start_session(self, waits: tuple[float, ...]) -> m.HelloReply:
        self._link.start_session(1 + secrets.randbelow(0xFFFF))
        return self._link.exchange(m.HelloRequest(), m.HelloReply, waits)[0]

    def _describe_model(self, index: int) -> ModelDescription:
        reply = self._ask(m.ModelRequest(index), m.ModelReply)
        return ModelDescription(
            reply.name,
            reply.arena_bytes,
            reply.operator_count,
            self._describe_tensors(index, m.Direction.INPUT, reply.input_count),
            self._describe_tensors(index, m.Direction.OUTPUT, reply.output_count),
        )

    def _describe_tensors(
        self, model: int, direction: m.Direction, count: int
    ) -> tuple[TensorDescription, ...]:
        requests = (m.TensorRequest(model, direction, index) for index in range(count))
        return tuple(_describe(self._ask(request, m.TensorReply)) for request in requests)

    def _model(self, index: int) -> ModelDescription:
        return _choose(self.device.models, index, f"board {self.device.board}", "model")

    # ---- Requests -------------------------------------------------------------------------

    def _ask(self, request: m.Message, reply: type[R]) -> R:
        waits = self._timing.waits(m.SMALLEST_BUFFER_BYTES)
        return self._link.exchange(request, reply, waits)[0]

    def _work(self, request: m.Message, reply: type[R], work_s: float) -> R:
        waits = self._timing.waits_for_work(work_s, m.SMALLEST_BUFFER_BYTES)
        return self._link.exchange(request, reply, waits)[0]

    def _transfer(self, request: m.Message, reply: type[R], size: int) -> R | None:
        """Returns the answer, or None when the line lost it and a smaller chunk is to be tried."""
        waits = self._timing.waits(size + m.SMALLEST_BUFFER_BYTES)
        can_shrink = len(waits) > 1 and not self._chunk.is_smallest
        try:
            answer, attempts = self._link.exchange(
                request, reply, waits[:2] if can_shrink else waits
            )
        except DeadlineError:
            if not can_shrink:
                raise
            self._chunk.shrink()
            return None
        if attempts == 1:
            self._chunk.note_success()
        else:
            self._chunk.shrink()
        return answer


def _describe(reply: m.TensorReply) -> TensorDescription:
    try:
        dtype = m.DTypeCode(reply.dtype).name.lower()
    except ValueError as error:
        raise ProtocolError(
            f"the device describes a tensor of the unknown element type {reply.dtype}",
            where=f"tensor '{reply.name}'",
            fix=_REBUILD,
        ) from error
    return TensorDescription(
        reply.name,
        dtype,
        reply.shape,
        reply.scale,
        reply.zero_point,
        reply.offset,
        reply.size_bytes,
    )


def _choose(items: Sequence[T], index: int, where: str, noun: str) -> T:
    if not 0 <= index < len(items):
        raise ConfigError(
            f"there is no {noun} {index}",
            where=where,
            fix=f"it has {len(items)}, counted from 0",
        )
    return items[index]


def _check_status(status: int, what: str) -> None:
    if status != 0:
        raise RemoteError(f"{what} returned status {status} where 0 is success")
