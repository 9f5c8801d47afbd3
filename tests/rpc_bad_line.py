"""Sessions with the firmware's RPC server over lines of their own seed, as bad as can be.

Whatever the line does, the host gets the right answer or a clear error in bounded time.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from rpc_in_process import INPUT_BYTES, FirmwareDevice

from uhost.errors import DeadlineError, RemoteError, UhostError
from uhost.rpc.session import Session, Timing
from uhost.transport.lossy import Damage, LossyTransport
from uhost.transport.memory import MemoryTransport, Responder
from uhost.transport.paced import Pace, PacedTransport

ROUNDS = 3
TIMING = Timing(answer_s=0.25, attempts=8, bytes_per_second=10_000.0, start_s=4.0, window=2)


def draw_damage(seed: int) -> tuple[Damage, Damage]:
    """Returns what befalls whole frames and single bytes: from hardly anything to hopeless."""
    draw = random.Random(seed)
    worst = draw.choice((0.02, 0.1, 0.2, 0.4))

    def some() -> float:
        return draw.choice((0.0, draw.uniform(0, worst)))

    frames = Damage(
        drop=some(),
        duplicate=some(),
        delay=some(),
        truncate=some(),
        flip=some(),
        split=draw.random(),
        insert=some(),
        longest_delay=draw.randint(1, 5),
    )
    rate = draw.choice((0.0, 0.0, 1e-4, 1e-3, 5e-3))
    return frames, Damage(flip_byte=rate, drop_byte=rate / 2)


@dataclass
class BadLine:
    """A session over both kinds of damage, in simulated time."""

    device: FirmwareDevice
    seed: int

    def __post_init__(self) -> None:
        frames, single_bytes = draw_damage(self.seed)
        inner = LossyTransport(MemoryTransport(Responder(self.device)), single_bytes, self.seed)
        self.line = PacedTransport(inner, Pace(115200, receive_bytes=1024))
        outer = LossyTransport(self.line, frames, self.seed)
        outer.open()
        self.session = Session(outer, timing=TIMING, clock=self.line.now)


def runs_of(session: Session) -> int:
    return int.from_bytes(session.read(0, INPUT_BYTES + 4, 4), "little")


def use(session: Session, seed: int) -> None:
    """Uploads, runs and downloads; an AssertionError is a wrong answer."""
    draw = random.Random(seed)
    device = session.handshake()
    assert device.buffer_bytes == 512
    assert [(one.name, one.size_bytes) for one in device.models[0].inputs] == [("x", INPUT_BYTES)]
    before = runs_of(session)
    for done in range(1, ROUNDS + 1):
        content = draw.choice((draw.randbytes(INPUT_BYTES), bytes(INPUT_BYTES)))
        session.write_input(0, 0, content)
        assert session.read(0, 0, INPUT_BYTES) == content
        session.run(0, timeout_s=1)
        assert int.from_bytes(session.read_output(0, 0), "little") == sum(content)
        assert runs_of(session) == before + done
        start = draw.randrange(INPUT_BYTES - 8)
        session.write(0, start, b"\0\1\2\3")
        assert session.read(0, start, 4) == b"\0\1\2\3"


def check_clear(error: UhostError) -> None:
    """Returns for silence, and for a hello so late that it ended the session."""
    if isinstance(error, DeadlineError):
        assert error.what.startswith("no answer to ")
        assert error.where.startswith("sent ")
        assert error.fix
    else:
        assert isinstance(error, RemoteError), error
        assert "it is in another session" in error.what
