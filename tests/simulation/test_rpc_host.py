"""The firmware's RPC server, built for this machine, driven by the session over pipes.

Its models are in rpc_host/model_table.c.
"""

from __future__ import annotations

import random
import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from rpc_firmware import BOARD, build, image_of

from uhost.config.board import Board
from uhost.config.target import Target
from uhost.errors import DeadlineError, DeviceFault, ProtocolError, RemoteError, RunnerError
from uhost.rpc import messages as m
from uhost.rpc.framing import Frame, FrameReader, encode_frame
from uhost.rpc.session import (
    LOCAL,
    ModelDescription,
    RunReport,
    Session,
    TensorDescription,
    Timing,
)
from uhost.runners.host import RUNNER, HostProcess, command
from uhost.transport._transport import Transport
from uhost.transport.lossy import Damage, LossyTransport

pytestmark = pytest.mark.needs("host_cc")

DIGEST = "0123456789abcdef" * 4
LARGE_BYTES = 1 << 20


@pytest.fixture(scope="session")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("plain"), "-O2")


@pytest.fixture(scope="session")
def sanitized(tmp_path_factory: pytest.TempPathFactory) -> Path:
    sanitizers = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    small = "-DUHOST_RPC_BUFFER_BYTES=256"
    return build(tmp_path_factory.mktemp("sanitized"), "-O1", small, *sanitizers)


@pytest.fixture
def session(plain: Path) -> Iterator[Session]:
    with Session(RUNNER.start(image_of(plain), BOARD), expected_digest=DIGEST) as session:
        session.handshake()
        yield session


def run_twice(session: Session, content: bytes) -> None:
    """Runs `double_sum` and checks output and number of runs."""
    total = 2 * sum(struct.unpack(f"{len(content)}b", content))
    for _ in range(2):
        before = session.read(0, 3076, 4)
        session.write_input(0, 0, content)
        session.run(0, timeout_s=10)
        runs = int.from_bytes(before, "little") + 1
        assert struct.unpack("<ii", session.read_output(0, 0)) == (total, runs)


@pytest.mark.parametrize("build_name", ["plain", "sanitized"])
def test_the_handshake_describes_the_firmware(
    build_name: str, request: pytest.FixtureRequest
) -> None:
    program = request.getfixturevalue(build_name)
    with Session(RUNNER.start(image_of(program), BOARD), expected_digest=DIGEST) as session:
        device = session.handshake()
        assert (device.board, device.digest, device.protocol) == ("host", DIGEST, 1)
        assert device.buffer_bytes == (65536 if build_name == "plain" else 256)
        assert (device.clock_hz, device.has_cycles, device.dropped_frames) == (0, False, 0)
        image = TensorDescription("image", "int8", (1, 32, 32), 0.5, -3, 0, 1024)
        total = TensorDescription("sum; Grüße", "int32", (2,), 0.0, 0, 3072, 8)
        assert device.models == (
            ModelDescription("double_sum", 3080, 2, (image,), (total,)),
            ModelDescription("trouble", LARGE_BYTES, 5, (), ()),
        )
        run_twice(session, random.Random(1).randbytes(1024))


def test_operators_run_one_by_one(session: Session) -> None:
    session.write_input(0, 0, bytes([3]) * 1024)
    assert session.run_operator(0, 0, timeout_s=10) is None
    assert session.read(0, 1024, 4) == b"\6\0\6\0"
    assert session.run_operator(0, 1, timeout_s=10) is None
    assert struct.unpack("<ii", session.read_output(0, 0)) == (6144, 1)


def test_the_stack_of_a_model_is_measured(session: Session) -> None:
    report = session.run(1, timeout_s=10)
    assert report.cycles is None
    assert report.stack_bytes is not None
    assert 5000 <= report.stack_bytes < 5300
    leaf = session.run(0, timeout_s=10).stack_bytes
    assert leaf is not None
    assert leaf < 200


def test_a_sanitized_build_cannot_measure_its_stack(sanitized: Path) -> None:
    with Session(RUNNER.start(image_of(sanitized), BOARD)) as session:
        session.handshake()
        assert session.run(1, timeout_s=10) == RunReport(cycles=None, stack_bytes=None)


@pytest.mark.parametrize(
    "content",
    [random.Random(2).randbytes(LARGE_BYTES), bytes(LARGE_BYTES), b"\x01" * LARGE_BYTES],
    ids=["noise", "zeros", "ones"],
)
def test_a_mebibyte_comes_back(session: Session, content: bytes) -> None:
    session.write(1, 0, content)
    assert session.read(1, 0, LARGE_BYTES) == content
    session.write(1, 5, b"")
    session.write(1, LARGE_BYTES - 3, b"abc")
    assert session.read(1, LARGE_BYTES - 5, 5) == content[-5:-3] + b"abc"


@pytest.mark.parametrize(
    ("ask", "refusal"),
    [
        (lambda s: s.run(2, 5), "RunRequest: it has no model 2"),
        (lambda s: s.read(2, 0, 1), "ReadRequest: it has no model 2"),
        (lambda s: s.write(2, 0, b"a"), "WriteRequest: it has no model 2"),
        (lambda s: s.run_operator(0, 2, 5), "OperatorRequest: the model has no operator 2"),
        (
            lambda s: s.read(0, 3077, 4),
            "ReadRequest: the bytes at offset 3077 are not all in the arena",
        ),
        (
            lambda s: s.write(0, 0xFFFFFFFF, b"ab"),
            "WriteRequest: the bytes at offset 4294967295 are not all in the arena",
        ),
    ],
)
def test_the_firmware_refuses_what_it_does_not_have(
    session: Session, ask: Callable[[Session], object], refusal: str
) -> None:
    with pytest.raises(RemoteError) as raised:
        ask(session)
    assert raised.value.what == f"the device refused {refusal}"
    run_twice(session, bytes(1024))


def test_a_failing_operator_is_a_remote_error(session: Session) -> None:
    with pytest.raises(RemoteError) as raised:
        session.run_operator(1, 0, timeout_s=5)
    assert raised.value.what == "operator 0 of model 1 returned status 7 where 0 is success"


def test_log_lines_arrive(plain: Path) -> None:
    lines: list[str] = []
    with Session(RUNNER.start(image_of(plain), BOARD), on_log=lines.append) as session:
        session.handshake()
        session.run_operator(1, 1, timeout_s=5)
    assert lines == ["one line"]


def test_a_fault_report_arrives(plain: Path) -> None:
    line = RUNNER.start(image_of(plain), BOARD)
    with Session(line, symbolize="at {:x}".format) as session:
        session.handshake()
        with pytest.raises(DeviceFault) as raised:
            session.run_operator(1, 2, timeout_s=5)
    assert raised.value.what == (
        "the firmware crashed: BusFault: data access to an address that does not answer "
        "(0xe0000000)"
    )
    assert raised.value.where.startswith(
        "pc 0x08000204 in at 8000204, lr 0x08000101 in at 8000100, sp 0x20001000, r0 0x00000011"
    )


# ---- Single frames ------------------------------------------------------------------------


class Line:
    """Frames to and from the firmware, without a session's care."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self.reader = FrameReader()
        self.frames: list[Frame] = []

    def ask(self, *frames: Frame, noise: bytes = b"") -> Frame:
        """Returns the next answer after sending `noise` and the frames."""
        self.transport.write(noise + b"".join(map(encode_frame, frames)), 5)
        while not self.frames:
            self.frames += self.reader.feed(self.transport.read(1 << 16, 5))
        return self.frames.pop(0)


def error_of(frame: Frame) -> tuple[m.ErrorCode, int]:
    assert frame.type == m.ErrorReply.CODE
    error = m.decode(m.ErrorReply, frame.payload)
    return m.ErrorCode(error.code), error.detail


HELLO = Frame(m.HelloRequest.CODE, 7, 1, b"")
RUNS = m.encode(m.ReadRequest(0, 3076, 4))


@pytest.fixture
def line(sanitized: Path) -> Iterator[Line]:
    transport = RUNNER.start(image_of(sanitized), BOARD)
    yield Line(transport)
    transport.close()


def test_a_repeated_request_is_answered_again_and_not_carried_out_again(line: Line) -> None:
    line.ask(HELLO)
    run = Frame(m.RunRequest.CODE, 7, 2, b"\0")
    first = line.ask(run)
    assert first.type == m.RunReply.CODE
    assert line.ask(run) == first
    assert line.ask(Frame(m.ReadRequest.CODE, 7, 3, RUNS)).payload == b"\1\0\0\0"
    operator = Frame(m.OperatorRequest.CODE, 7, 4, m.encode(m.OperatorRequest(0, 1)))
    assert line.ask(operator) == line.ask(operator)
    assert line.ask(Frame(m.ReadRequest.CODE, 7, 5, RUNS)).payload == b"\2\0\0\0"


def test_late_copies_of_earlier_requests_are_ignored(line: Line) -> None:
    line.ask(HELLO)
    run = Frame(m.RunRequest.CODE, 7, 2, b"\0")
    line.ask(run)
    read = Frame(m.ReadRequest.CODE, 7, 3, RUNS)
    line.ask(read)
    assert line.ask(run, HELLO, read).payload == b"\1\0\0\0"
    assert line.frames == []


def test_a_new_hello_starts_a_new_session(line: Line) -> None:
    line.ask(HELLO)
    assert line.ask(Frame(m.RunRequest.CODE, 7, 9, b"\0")).type == m.RunReply.CODE
    assert line.ask(Frame(m.HelloRequest.CODE, 8, 1, b"")).session == 8
    assert line.ask(Frame(m.ReadRequest.CODE, 8, 2, RUNS)).payload == b"\1\0\0\0"
    old = line.ask(Frame(m.RunRequest.CODE, 7, 10, b"\0"))
    assert (old.session, old.sequence) == (7, 10)
    assert error_of(old) == (m.ErrorCode.NO_SESSION, 8)


def test_nothing_is_done_without_a_session(line: Line) -> None:
    for session in (0, 5):
        frame = line.ask(Frame(m.RunRequest.CODE, session, 0, b"\0"))
        assert error_of(frame) == (m.ErrorCode.NO_SESSION, 0)
    assert error_of(line.ask(Frame(m.HelloRequest.CODE, 0, 0, b"")))[0] == m.ErrorCode.NO_SESSION


@pytest.mark.parametrize(
    ("frame", "error"),
    [
        (Frame(0x33, 7, 2, b""), (m.ErrorCode.UNKNOWN_MESSAGE, 0x33)),
        (Frame(m.RunRequest.CODE, 7, 2, b""), (m.ErrorCode.MALFORMED, 6)),
        (Frame(m.RunRequest.CODE, 7, 2, b"\0\0"), (m.ErrorCode.MALFORMED, 6)),
        (Frame(m.WriteRequest.CODE, 7, 2, b"\0\0\0\0"), (m.ErrorCode.MALFORMED, 4)),
        (Frame(m.ReadRequest.CODE, 7, 2, bytes(8)), (m.ErrorCode.MALFORMED, 5)),
        (Frame(m.ModelRequest.CODE, 7, 2, b"\2"), (m.ErrorCode.NO_MODEL, 2)),
        (Frame(m.TensorRequest.CODE, 7, 2, b"\0\0\1\0"), (m.ErrorCode.NO_TENSOR, 1)),
        (Frame(m.TensorRequest.CODE, 7, 2, b"\0\1\1\0"), (m.ErrorCode.NO_TENSOR, 1)),
        (Frame(m.TensorRequest.CODE, 7, 2, b"\0\2\0\0"), (m.ErrorCode.NO_TENSOR, 0)),
        (Frame(m.RunRequest.CODE, 7, 2, b"\0", version=2), (m.ErrorCode.VERSION, 1)),
    ],
)
def test_every_request_is_checked(line: Line, frame: Frame, error: tuple[int, int]) -> None:
    line.ask(HELLO)
    answer = line.ask(frame)
    assert error_of(answer) == error
    assert (answer.session, answer.sequence, answer.version) == (7, 2, 1)


def test_the_firmware_answers_after_garbage_and_counts_it(line: Line) -> None:
    noise = random.Random(3).randbytes(1 << 16)
    answer = line.ask(HELLO, noise=noise)
    pieces = sum(bool(piece) for piece in noise.split(b"\0"))
    assert m.decode(m.HelloReply, answer.payload).dropped_frames == pieces
    # Too long for the buffer, cut short, with one bit wrong, and without its end.
    wire = bytearray(encode_frame(Frame(m.RunRequest.CODE, 7, 2, b"\0")))
    wire[4] ^= 1
    too_long = encode_frame(Frame(m.WriteRequest.CODE, 7, 2, bytes(5) + b"\1" * 252))
    answer = line.ask(HELLO, noise=bytes(wire) + too_long + wire[:5] + b"\0" + b"\xff" * 9)
    assert m.decode(m.HelloReply, answer.payload).dropped_frames == pieces + 4
    fits = Frame(m.WriteRequest.CODE, 7, 2, bytes(5) + b"\1" * 251)
    assert line.ask(fits).type == m.WriteReply.CODE


# ---- Bad lines ----------------------------------------------------------------------------

FAST = Timing(answer_s=0.02, attempts=12, bytes_per_second=1e6, hello_s=0.02, start_s=20)


@pytest.mark.parametrize("seed", range(6))
def test_a_bad_line_gives_right_answers(sanitized: Path, seed: int) -> None:
    damage = Damage(0.05, 0.05, 0.05, 0.02, 0.05, 0.3, 0.05)
    inner = RUNNER.start(image_of(sanitized), BOARD)
    with Session(LossyTransport(inner, damage, seed), timing=FAST) as session:
        session.handshake()
        run_twice(session, random.Random(seed).randbytes(1024))


# ---- The process --------------------------------------------------------------------------


def test_the_command_is_the_program(tmp_path: Path) -> None:
    assert command(image_of(tmp_path / "firmware.elf")) == (str(tmp_path / "firmware.elf"),)


def test_only_boards_that_are_this_machine_are_supported() -> None:
    assert RUNNER.supports(BOARD) == ""
    other = Board(name="b", board="b", description="", chip="", target=Target("cortex_m"))
    assert RUNNER.supports(other) == "it runs images for this machine, not for cortex_m"


def test_a_crash_is_a_runner_error_with_the_last_words(sanitized: Path, plain: Path) -> None:
    for program in (sanitized, plain):
        with Session(RUNNER.start(image_of(program), BOARD)) as session:
            session.handshake()
            with pytest.raises(RunnerError) as raised:
                session.run_operator(1, 3, timeout_s=20)
        assert raised.value.what.startswith("the firmware process was killed by SIGABRT")
        assert raised.value.where == str(program)
        assert raised.value.fix == (
            "run the program in a debugger, or build it with -fsanitize=address,undefined"
        )


def test_a_program_that_ends_at_once_is_a_runner_error(tmp_path: Path) -> None:
    program = tmp_path / "firmware.elf"
    program.write_text("#!/bin/sh\necho no such luck >&2\nexit 3\n")
    program.chmod(0o755)
    with Session(RUNNER.start(image_of(program), BOARD)) as session:
        with pytest.raises(RunnerError) as raised:
            session.handshake()
        assert raised.value.what == ("the firmware process ended with exit status 3:\nno such luck")


def test_a_program_that_cannot_start_is_a_runner_error(tmp_path: Path) -> None:
    with pytest.raises(RunnerError) as raised:
        RUNNER.start(image_of(tmp_path / "nowhere"), BOARD)
    assert raised.value.what == "the program cannot be started: No such file or directory"
    assert raised.value.where == str(tmp_path / "nowhere")
    assert raised.value.fix == "build it again, on this machine"


def test_an_endless_model_is_a_deadline_error_and_leaves_no_process(plain: Path) -> None:
    process = HostProcess((str(plain),))
    process.open()
    session = Session(process, timing=Timing(0.1, 2, 1e6))
    session.handshake()
    started_s = time.monotonic()
    with pytest.raises(DeadlineError) as raised:
        session.run_operator(1, 4, timeout_s=0.5)
    assert raised.value.what == "no answer to OperatorRequest within 0.6 s"
    session.close()
    session.close()
    assert time.monotonic() - started_s < 20
    assert process._process.returncode == -9


def test_a_session_ends_its_process(plain: Path) -> None:
    process = HostProcess((str(plain),))
    process.open()
    with Session(process, timing=LOCAL) as session:
        session.handshake()
    assert process._process.returncode == 0


def test_another_build_is_refused(plain: Path) -> None:
    line = RUNNER.start(image_of(plain), BOARD)
    with (
        Session(line, expected_digest="f" * 64) as session,
        pytest.raises(ProtocolError) as raised,
    ):
        session.handshake()
    assert raised.value.where == ("board host: digest 0123456789abcdef, expected ffffffffffffffff")
