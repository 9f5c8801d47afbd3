"""Sessions over lines that lose and damage what they carry."""

from __future__ import annotations

import random
import time

import pytest
from python_device import INPUT_BYTES, PythonDevice

from uhost.errors import DeadlineError, RemoteError
from uhost.rpc import messages as m
from uhost.rpc.framing import Frame
from uhost.rpc.session import LOCAL, SERIAL, Session, Timing
from uhost.transport.lossy import Damage, LossyTransport
from uhost.transport.memory import MemoryTransport, Responder

# On a line in memory nothing is waited for, so many attempts cost no time.
PATIENT = Timing(answer_s=0.25, attempts=40, bytes_per_second=1e9, start_s=60.0)


def connect(device: PythonDevice, damage: Damage, seed: int, timing: Timing) -> Session:
    transport = LossyTransport(MemoryTransport(Responder(device)), damage, seed)
    transport.open()
    return Session(transport, timing=timing)


def test_chunks_shrink_on_a_bad_line_and_grow_again() -> None:
    def lose_long_frames(frame: Frame) -> bytes | None:
        return b"" if len(frame.payload) > 200 else None

    device = PythonDevice(buffer_bytes=1024)
    session = connect(device, Damage(), 0, SERIAL)
    session.handshake()
    device.before_answer = lose_long_frames
    content = random.Random(1).randbytes(3000)
    session.write(0, 0, content)
    assert device.arena[:3000] == content
    assert device.write_sizes[0] == 120
    device.before_answer = lambda frame: None
    session.write(0, 0, bytes(5000))
    session.write(0, 0, bytes(5000))
    assert device.write_sizes[-3] == 1016


HARD = Damage(drop=0.1, duplicate=0.1, delay=0.1, truncate=0.05, flip=0.1, split=0.5, insert=0.1)


@pytest.mark.parametrize("seed", range(40))
def test_a_bad_line_gives_right_answers(seed: int) -> None:
    device = PythonDevice(buffer_bytes=512)
    session = connect(device, HARD, seed, PATIENT)
    session.handshake()
    content = random.Random(seed).randbytes(INPUT_BYTES)
    for runs in range(1, 4):
        session.write_input(0, 0, content)
        session.run(0, timeout_s=1e6)
        assert int.from_bytes(session.read_output(0, 0), "little") == sum(content)
        assert int.from_bytes(session.read(0, INPUT_BYTES + 4, 4), "little") == runs


@pytest.mark.parametrize("seed", range(40))
def test_a_hopeless_line_gives_right_answers_or_an_error(seed: int) -> None:
    started_s = time.monotonic()
    device = PythonDevice()
    damage = Damage(drop=0.4, duplicate=0.3, delay=0.3, truncate=0.2, flip=0.3, insert=0.3)
    session = connect(device, damage, seed, SERIAL)
    content = random.Random(seed).randbytes(600)
    try:
        session.handshake()
        session.write(0, 0, content)
        assert session.read(0, 0, 600) == content
        session.run(0, timeout_s=10)
        assert device.executed == [m.RunRequest.CODE]
    except DeadlineError:
        pass  # a clear error is as good as the answer
    except RemoteError as error:
        # A hello that was delayed until after the next one.
        if "it is in another session" not in error.what:
            raise
    assert time.monotonic() - started_s < 10


def test_timing_computes_deadlines_from_the_work() -> None:
    timing = Timing(answer_s=0.5, attempts=5, bytes_per_second=1000, start_s=4)
    assert timing.waits(500) == (1.0, 2.0, 4.0, 4.0, 4.0)
    assert timing.waits_for_work(20, 500) == (1.0, 2.0, 4.0, 8.0, 6.0)
    assert timing.waits_for_start() == (0.25, 0.5, 0.25, 1.0, 1.0, 1.0)
    assert LOCAL.waits(20_000) == (31.0,)
    assert LOCAL.waits_for_work(20, 0) == (50.0,)
