"""One request, one answer: sequence numbers, repetition, deadlines, and notices in between."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable
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
}


class Link:
    """Asks the device behind `transport`, in the session last started.

    `symbolize` names the function at an address, `on_log` takes log lines. A fault that
    the device reported answers every later request too.
    """

    def __init__(
        self,
        transport: Transport,
        symbolize: Callable[[int], str],
        on_log: Callable[[str], None],
    ) -> None:
        self._transport = transport
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
        if self._fault is not None:
            raise self._fault
        self._sequence = (self._sequence + 1) & 0xFFFF
        wire = encode_frame(Frame(request.CODE, self._session, self._sequence, m.encode(request)))
        received_bytes = self._reader.received_bytes
        damaged_frames = self._reader.damaged_frames
        for attempt, wait_s in enumerate(waits, start=1):
            # A line that takes nothing is like one that loses it: the device may be busy.
            with contextlib.suppress(DeadlineError):
                self._transport.write(wire, wait_s)
            frame = self._await_answer(wait_s)
            if frame is not None:
                return _open_answer(frame, request, reply), attempt
        times = "once" if len(waits) == 1 else f"{len(waits)} times"
        raise DeadlineError(
            f"no answer to {type(request).__name__} within {sum(waits):.1f} s",
            where=f"sent {times}; received {self._reader.received_bytes - received_bytes} bytes "
            f"and {self._reader.damaged_frames - damaged_frames} damaged frames",
            fix="check that the board runs this firmware, and its port and baud rate",
        )

    def _await_answer(self, wait_s: float) -> Frame | None:
        deadline = monotonic() + wait_s
        while True:
            while self._frames:
                frame = self._frames.popleft()
                if self._is_answer(frame):
                    return frame
            left_s = deadline - monotonic()
            if left_s <= 0:
                return None
            try:
                received = self._transport.read(_READ_BYTES, left_s)
            except DeadlineError:
                return None
            self._frames.extend(self._reader.feed(received))

    def _is_answer(self, frame: Frame) -> bool:
        """True if `frame` answers the request under way; notices are dealt with here."""
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
            and frame.sequence == self._sequence
        )


def _open_answer(frame: Frame, request: m.Message, reply: type[R]) -> R:
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
