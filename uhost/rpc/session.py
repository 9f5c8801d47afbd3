"""The RPC client: drives the firmware over a transport.

One request is under way at a time, but for the pieces of a tensor. It is repeated until
its answer comes or its deadline passes; the device carries it out once. Damaged frames,
answers to earlier requests and those of other sessions are ignored, so what is returned
is always the answer to what was asked.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import monotonic
from types import TracebackType
from typing import TypeVar

from uhost.errors import ConfigError, DeadlineError, ProtocolError, RemoteError
from uhost.rpc import messages as m
from uhost.rpc._chunk import ChunkSize
from uhost.rpc._description import (
    DeviceDescription,
    ModelDescription,
    ParamsDescription,
    TensorDescription,
)
from uhost.rpc._fault import FirmwareFault
from uhost.rpc._link import Link
from uhost.rpc._params import DeviceParams, Progress, check, upload
from uhost.rpc._stream import Pieces, move
from uhost.rpc._timing import LOCAL, SERIAL, Timing
from uhost.rpc.framing import PROTOCOL_VERSION
from uhost.transport._transport import Transport

__all__ = [
    "LOCAL",
    "SERIAL",
    "DeviceDescription",
    "FirmwareFault",
    "ModelDescription",
    "ParamsDescription",
    "RunReport",
    "Session",
    "TensorDescription",
    "Timing",
]

T = TypeVar("T")
R = TypeVar("R", bound=m.Message)

# A device of 1 MHz that takes twenty cycles for a byte of a CRC.
_CRC_SECONDS_PER_BYTE = 20e-6
_REBUILD = "build and flash the firmware with this version of uhost"


_STATUSES = {
    m.ModelStatus.BAD_ARENA: (
        "its arena is missing or not aligned",
        "give it memory aligned as its header says",
    ),
    m.ModelStatus.BAD_OPERATOR: ("it has no operator of that index", "count from 0"),
    m.ModelStatus.BAD_PARAMS: (
        "its weights are missing, or are another model's",
        "send them with write_params, or write them to the flash address they are linked at",
    ),
}


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
    firmware's log lines; without it they go to the logger `uhost.device`. `clock` tells
    the seconds by which deadlines are kept, for lines in simulated time.

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
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._transport = transport
        self._expected_digest = expected_digest
        self._timing = timing
        on_log = on_log or logging.getLogger("uhost.device").info
        self._link = Link(transport, symbolize, on_log, clock)
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
        self._write(m.WriteRequest, m.WriteReply, model, offset, content)

    def read(self, model: int, offset: int, size_bytes: int) -> bytes:
        """Returns `size_bytes` bytes of the arena of `model` from `offset`."""
        content = bytearray(size_bytes)

        def take(start: int, size: int, answer: m.ReadReply) -> None:
            if len(answer.content) != size:
                raise ProtocolError(
                    f"the device sent {len(answer.content)} bytes, asked for {size}",
                    where=f"model {model}, offset {offset + start}",
                    fix=_REBUILD,
                )
            content[start : start + size] = answer.content

        def ask(start: int, size: int) -> m.Message:
            return m.ReadRequest(model, offset + start, size)

        pieces = Pieces(size_bytes, 0, ask, m.ReadReply, take)
        move(self._link, self._timing, self._chunk, pieces)
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

    def describe_params(self, model: int) -> ParamsDescription:
        """Returns where the weights of `model` lie, and whether the right ones are there."""
        reply = self._ask(m.ParamsRequest(model), m.ParamsReply)
        try:
            placement = m.Placement(reply.placement).name.lower()
        except ValueError as error:
            raise ProtocolError(
                f"the device has weights in the unknown place {reply.placement}",
                where=f"model {model}",
                fix=_REBUILD,
            ) from error
        return ParamsDescription(placement, reply.address, reply.size_bytes, bool(reply.present))

    def write_params(self, model: int, blob: bytes, on_progress: Progress | None = None) -> None:
        """Puts the weights `blob` into the RAM of the device, and checks that they arrived.

        `on_progress` is told how many bytes of how many are written. Until the last byte is
        confirmed the model refuses to run. Raises `RemoteError` for weights of another
        size or another model, and for a model whose weights are in its code or in flash;
        `ProtocolError` when the device holds other bytes than were sent.
        """
        upload(self._params(model), blob, on_progress or (lambda done, total: None))

    def check_params(self, model: int, blob: bytes) -> None:
        """Returns if the device holds exactly the weights `blob`, in RAM or in flash.

        Raises `RemoteError` where they are missing, another model's or of another size,
        `ProtocolError` where their bytes differ.
        """
        check(self._params(model), blob)

    def run(self, model: int, timeout_s: float) -> RunReport:
        """Runs `model` once, which may take up to `timeout_s` seconds."""
        reply = self._work(m.RunRequest(model), m.RunReply, timeout_s)
        _check_status(reply.status, f"model {model}")
        return RunReport(
            cycles=None if reply.cycles == m.NO_CYCLES else reply.cycles,
            stack_bytes=None if reply.stack_bytes == m.NO_STACK else reply.stack_bytes,
        )

    def reset(self, model: int) -> None:
        """Puts what `model` keeps from run to run back to its initial values."""
        self._ask(m.ResetRequest(model), m.ResetReply)

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

    def _write(
        self,
        request: type[m.WriteRequest] | type[m.ParamsWriteRequest],
        reply: type[m.WriteReply] | type[m.ParamsWriteReply],
        model: int,
        offset: int,
        content: bytes,
        on_progress: Callable[[int], None] = lambda done: None,
    ) -> None:
        done = 0

        def take(start: int, size: int, answer: m.Message) -> None:
            nonlocal done
            done += size
            on_progress(done)

        def put(start: int, size: int) -> m.Message:
            return request(model, offset + start, content[start : start + size])

        pieces = Pieces(len(content), m.layout(request).fixed.size, put, reply, take)
        move(self._link, self._timing, self._chunk, pieces)

    def _params(self, model: int) -> DeviceParams:
        described = self._model(model)

        def write(offset: int, content: bytes, on_progress: Callable[[int], None]) -> None:
            kinds = (m.ParamsWriteRequest, m.ParamsWriteReply)
            self._write(*kinds, model, offset, content, on_progress)

        def crc() -> int:
            work_s = self.describe_params(model).size_bytes * _CRC_SECONDS_PER_BYTE
            return self._work(m.ParamsCheckRequest(model), m.ParamsCheckReply, work_s).crc

        return DeviceParams(described.name, lambda: self.describe_params(model), write, crc)


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
    if status == m.ModelStatus.OK:
        return
    known = {member.value: member for member in m.ModelStatus}
    if status not in known:
        raise RemoteError(f"{what} returned status {status} where 0 is success")
    meaning, fix = _STATUSES[known[status]]
    raise RemoteError(f"{what} does not run: {meaning} ({known[status].name})", fix=fix)
