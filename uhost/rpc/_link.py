"""One request, one answer: sequence numbers, repetition, deadlines, and notices in between."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Container
from time import monotonic
from typing import TypeVar

from uhost.errors import DeadlineError, ProtocolError, RemoteError
from uhost.rpc import messages as m
from uhost.rpc._fault import FirmwareFault, decode_fault
from uhost.rpc.framing import PROTOCOL_VERSION, Frame, FrameReader, encode_frame
from uhost.transport._transport import Transport

R = TypeVar("R", bound=m.Message)

_READ_BYTES = 1 << 17
_REFUSALS = {
    m.ErrorCode.UNKNOWN_MESSAGE: "it does not know message 0x{:02x}",
    m.ErrorCode.MALFORMED: "message 0x{:02x} has the wrong length",
    m.ErrorCode.NO_SESSION: "it is in another session ({}): it was reset, or another program "
    "talks to it",
    m.ErrorCode.VERSION: "it speaks version {} of the protocol",
    m.ErrorCode.NO_MODEL: "it has no model {}",
    m.ErrorCode.NO_TENSOR: "the model has no such tensor {}",
    m.ErrorCode.NO_OPERATOR: "the model has no operator {}",
    m.ErrorCode.OUT_OF_RANGE: "the bytes at offset {} are not all in the arena",
    m.ErrorCode.NO_PARAMS: "the weights of model {} are part of its code",
    m.ErrorCode.PARAMS_IN_FLASH: "the weights of model {} are in flash",
    m.ErrorCode.PARAMS_OUT_OF_RANGE: "the bytes at offset {} are not all among the weights",
}


class Link:
    """Asks the device behind `transport`, in the session last started.

    `symbolize` names the function at an address, `on_log` takes log lines, `clock` tells
    the seconds by which deadlines are kept. A fault that the device reported answers every
    later request too.
    """

    def __init__(
        self,
        transport: Transport,
        symbolize: Callable[[int], str],
        on_log: Callable[[str], None],
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._transport = transport
        self._clock = clock
        self._symbolize = symbolize
        self._on_log = on_log
        self._reader = FrameReader()
        self._frames: deque[Frame] = deque()
        self._session = 0
        self._sequence = 0
        self._fault: FirmwareFault | None = None

    def start_session(self, session: int) -> None:
        """Sends what follows in the session of this number."""
        self._session = session

    def exchange(
        self, request: m.Message, reply: type[R], waits: tuple[float, ...]
    ) -> tuple[R, int]:
        """Returns the answer to `request` and the number of attempts it took.

        `waits` are the seconds to wait after each attempt. Raises `DeadlineError` after
        the last, `DeviceFault`, `RemoteError` or `ProtocolError`.
        """
        sequence = self._next_sequence()
        mark = self.mark()
        for attempt, wait_s in enumerate(waits, start=1):
            self._write(request, sequence, wait_s)
            frame = self.receive((sequence,), wait_s)
            if frame is not None:
                return open_answer(frame, request, reply), attempt
        raise self.silence(request, len(waits), sum(waits), mark)

    def send(self, request: m.Message, timeout_s: float) -> int:
        """Sends `request` and returns its sequence number; does not wait for the answer."""
        sequence = self._next_sequence()
        self._write(request, sequence, timeout_s)
        return sequence

    def receive(self, sequences: Container[int], timeout_s: float) -> Frame | None:
        """Returns the next answer to one of the requests `sequences`; None if none came in time."""
        deadline = self._clock() + timeout_s
        while True:
            while self._frames:
                frame = self._frames.popleft()
                if self._is_answer(frame, sequences):
                    return frame
            left_s = deadline - self._clock()
            if left_s <= 0:
                return None
            try:
                received = self._transport.read(_READ_BYTES, left_s)
            except DeadlineError:
                return None
            self._frames.extend(self._reader.feed(received))

    def mark(self) -> tuple[int, int]:
        """Returns a point in what was received, from which `silence` counts."""
        return self._reader.received_bytes, self._reader.damaged_frames

    def silence(
        self, request: m.Message, attempts: int, waited_s: float, since: tuple[int, int]
    ) -> DeadlineError:
        """Returns the error for a request without an answer, and what came `since` instead."""
        received_bytes, damaged_frames = (
            now - then for now, then in zip(self.mark(), since, strict=True)
        )
        return DeadlineError(
            f"no answer to {type(request).__name__} within {waited_s:.1f} s",
            where=f"sent {'once' if attempts == 1 else f'{attempts} times'}; received "
            f"{received_bytes} bytes and {damaged_frames} damaged frames",
            fix="check that the board runs this firmware, and its port and baud rate",
        )

    def _next_sequence(self) -> int:
        if self._fault is not None:
            raise self._fault
        self._sequence = (self._sequence + 1) & 0xFFFF
        return self._sequence

    def _write(self, request: m.Message, sequence: int, timeout_s: float) -> None:
        wire = encode_frame(Frame(request.CODE, self._session, sequence, m.encode(request)))
        # A line that takes nothing is like one that loses it: the device may be busy.
        with contextlib.suppress(DeadlineError):
            self._transport.write(wire, timeout_s)

    def _is_answer(self, frame: Frame, sequences: Container[int]) -> bool:
        """True if `frame` answers a request under way; notices are dealt with here."""
        if frame.version != PROTOCOL_VERSION:
            raise ProtocolError(
                f"the device speaks version {frame.version} of the protocol, "
                f"this uhost version {PROTOCOL_VERSION}",
                fix="build and flash the firmware with this version of uhost",
            )
        if frame.type == m.FaultNotice.CODE:
            self._fault = decode_fault(m.decode(m.FaultNotice, frame.payload), self._symbolize)
            raise self._fault
        if frame.type == m.LogNotice.CODE:
            self._on_log(frame.payload.decode(errors="replace"))
            return False
        return (
            frame.type & m.REPLY_BIT != 0
            and frame.session == self._session
            and frame.sequence in sequences
        )


def open_answer(frame: Frame, request: m.Message, reply: type[R]) -> R:
    """Returns the message in the answer to `request`; raises `RemoteError` for a refusal."""
    if frame.type == m.ErrorReply.CODE:
        error = m.decode(m.ErrorReply, frame.payload)
        raise RemoteError(
            f"the device refused {type(request).__name__}: {_refusal(error)}",
            where=_brief(request),
        )
    if frame.type != reply.CODE:
        raise ProtocolError(
            f"the device answered {type(request).__name__} with message 0x{frame.type:02x}",
            where=_brief(request),
            fix="build and flash the firmware with this version of uhost",
        )
    return m.decode(reply, frame.payload)


def _refusal(error: m.ErrorReply) -> str:
    try:
        return _REFUSALS[m.ErrorCode(error.code)].format(error.detail)
    except ValueError:
        return f"error {error.code}, detail {error.detail}"


def _brief(request: m.Message) -> str:
    """Returns the request in words, its bytes left out."""
    numbers = (f"{name} {getattr(request, name)}" for name, _ in m.layout(type(request)).numbers)
    return ", ".join(numbers)
