from __future__ import annotations

import logging
import os
import socket
import threading
import time
import tty
from collections.abc import Iterator

import pytest

from uhost.errors import DeadlineError, RunnerError, TransportError
from uhost.transport._transport import Transport
from uhost.transport.logging import LoggingTransport
from uhost.transport.lossy import Damage, LossyTransport
from uhost.transport.memory import MemoryTransport, Responder
from uhost.transport.pipe import PipeTransport
from uhost.transport.serial import SerialTransport


@pytest.fixture
def pipes() -> Iterator[tuple[PipeTransport, PipeTransport]]:
    a_in, b_out = os.pipe()
    b_in, a_out = os.pipe()
    a, b = PipeTransport(a_in, a_out), PipeTransport(b_in, b_out)
    a.open()
    b.open()
    yield a, b
    a.close()
    b.close()


def read_all(transport: Transport, size: int) -> bytes:
    content = b""
    while len(content) < size:
        content += transport.read(size - len(content), 5)
    return content


def test_a_pipe_carries_bytes_both_ways(pipes: tuple[PipeTransport, PipeTransport]) -> None:
    a, b = pipes
    a.write(b"question", 1)
    assert b.read(5, 1) == b"quest"
    assert b.read(100, 1) == b"ion"
    b.write(b"answer", 1)
    assert a.read(100, 1) == b"answer"


def test_a_pipe_keeps_its_deadlines(pipes: tuple[PipeTransport, PipeTransport]) -> None:
    a, _ = pipes
    started_s = time.monotonic()
    with pytest.raises(DeadlineError) as raised:
        a.read(1, 0.05)
    assert raised.value.what == "no bytes came within 0.05 s"
    assert raised.value.where == "pipe"
    with pytest.raises(DeadlineError) as raised:
        a.write(bytes(8 << 20), 0.05)
    assert raised.value.what == "bytes could not be written within 0.05 s"
    assert time.monotonic() - started_s < 5


def test_two_ends_that_write_at_once_do_not_wait_for_each_other(
    pipes: tuple[PipeTransport, PipeTransport],
) -> None:
    a, b = pipes
    size = 8 << 20
    read_by_b: list[bytes] = []

    def work_at_b() -> None:
        b.write(b"b" * size, 20)
        read_by_b.append(read_all(b, size))

    thread = threading.Thread(target=work_at_b)
    thread.start()
    a.write(b"a" * size, 20)
    assert read_all(a, size) == b"b" * size
    thread.join()
    assert read_by_b == [b"a" * size]


def test_the_end_of_a_pipe_is_a_transport_error(
    pipes: tuple[PipeTransport, PipeTransport],
) -> None:
    a, b = pipes
    b.write(b"last words", 1)
    b.close()
    assert a.read(100, 1) == b"last words"
    with pytest.raises(TransportError) as raised:
        a.read(1, 1)
    assert raised.value.what == "the other end of the pipe is gone: end of file"
    with pytest.raises(TransportError) as raised:
        a.write(b"x", 1)
    assert raised.value.what.startswith("the other end of the pipe is gone: [Errno 32]")


def test_the_owner_of_a_pipe_can_say_why_it_ended() -> None:
    def explain() -> None:
        raise RunnerError("it ended")

    read_fd, other = os.pipe()
    os.close(other)
    transport = PipeTransport(read_fd, os.dup(read_fd), when_lost=explain)
    transport.open()
    with pytest.raises(RunnerError):
        transport.read(1, 1)
    transport.close()


def test_a_pipe_may_be_one_socket() -> None:
    ours, theirs = socket.socketpair()
    transport = PipeTransport(descriptor := ours.detach(), descriptor)
    transport.open()
    with theirs:
        theirs.sendall(b"hello")
        assert transport.read(9, 1) == b"hello"
        transport.write(b"there", 1)
        assert theirs.recv(9) == b"there"
    transport.close()


def test_a_closed_pipe_says_so(pipes: tuple[PipeTransport, PipeTransport]) -> None:
    a, _ = pipes
    a.close()
    a.close()
    with pytest.raises(TransportError) as raised:
        a.read(1, 1)
    assert raised.value.what == "the line is closed"
    with pytest.raises(TransportError):
        a.write(b"x", 1)


def test_memory_runs_its_device_in_read() -> None:
    transport = MemoryTransport(Responder(bytes.upper))
    with pytest.raises(TransportError) as raised:
        transport.write(b"x", 1)
    assert raised.value.what == "the line is closed"
    transport.open()
    transport.write(b"ab", 1)
    transport.write(b"cd", 1)
    assert transport.read(3, 1) == b"ABC"
    assert transport.read(3, 1) == b"D"
    started_s = time.monotonic()
    with pytest.raises(DeadlineError) as raised_deadline:
        transport.read(3, 60)
    assert raised_deadline.value.what == "no bytes came within 60 s"
    assert time.monotonic() - started_s < 5
    transport.close()
    transport.close()


def echo(damage: Damage, seed: int) -> LossyTransport:
    transport = LossyTransport(MemoryTransport(Responder(bytes)), damage, seed)
    transport.open()
    return transport


def send_through(transport: LossyTransport, pieces: list[bytes]) -> list[bytes]:
    received = []
    for piece in pieces:
        transport.write(piece, 1)
        while True:
            try:
                received.append(transport.read(1 << 16, 1))
            except DeadlineError:
                break
    return received


PIECES = [bytes([n]) * 20 for n in range(1, 50)]


def test_a_line_without_damage_changes_nothing() -> None:
    assert send_through(echo(Damage(), 1), PIECES) == PIECES


def test_the_same_seed_does_the_same_damage() -> None:
    damage = Damage(0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1)
    first = send_through(echo(damage, 5), PIECES)
    assert first == send_through(echo(damage, 5), PIECES)
    assert first != send_through(echo(damage, 6), PIECES)


@pytest.mark.parametrize(
    ("damage", "received"),
    [
        (Damage(drop=1), []),
        (Damage(duplicate=1), [b"abcd" * 4]),
        (Damage(delay=1), []),
    ],
)
def test_each_damage_does_what_its_name_says(damage: Damage, received: list[bytes]) -> None:
    assert send_through(echo(damage, 1), [b"abcd"]) == received


def test_delayed_pieces_follow_the_next_one() -> None:
    received = b"".join(send_through(echo(Damage(delay=0.4), 3), PIECES))
    order = [received[at] for at in range(0, len(received), 20)]
    assert order != sorted(order)
    assert len(set(order)) == len(order) >= len(PIECES) - 2


def test_flips_truncation_splits_and_noise_change_what_they_should() -> None:
    (flipped,) = send_through(echo(Damage(flip=1), 1), [bytes(100)])
    assert len(flipped) == 100
    assert 1 <= sum(byte.bit_count() for byte in flipped) <= 2
    assert len(b"".join(send_through(echo(Damage(truncate=1), 1), [bytes(100)]))) < 100
    split = send_through(echo(Damage(split=1), 1), [bytes(range(100))])
    assert len(split) > 1
    assert b"".join(split) == bytes(range(100))
    noisy = b"".join(send_through(echo(Damage(insert=1), 1), [b"abcd"]))
    assert noisy.endswith(b"abcd")
    assert len(noisy) > 4


def test_logging_shows_every_byte(caplog: pytest.LogCaptureFixture) -> None:
    transport = LoggingTransport(MemoryTransport(Responder(bytes.upper)))
    with caplog.at_level(logging.DEBUG, "uhost.transport"):
        transport.open()
        transport.write(b"ab", 1)
        assert transport.read(9, 1) == b"AB"
        transport.close()
    shown = [message.split(maxsplit=1)[1].rstrip() for message in caplog.messages]
    assert shown == ["open", "write 61 62", "read  41 42", "close"]


@pytest.fixture
def port() -> Iterator[tuple[SerialTransport, int]]:
    board, name = os.openpty()
    tty.setraw(name)
    transport = SerialTransport(os.ttyname(name), 115200)
    transport.open()
    os.close(name)
    yield transport, board
    transport.close()


def test_a_serial_port_carries_bytes(port: tuple[SerialTransport, int]) -> None:
    transport, board = port
    transport.write(b"\0\x11\x13\r\n\xff", 1)
    assert os.read(board, 100) == b"\0\x11\x13\r\n\xff"
    os.write(board, b"\0\x11\x13\r\n\xff")
    assert transport.read(1, 1) == b"\0"
    assert read_all(transport, 5) == b"\x11\x13\r\n\xff"
    os.close(board)


def test_a_serial_port_keeps_its_deadlines(port: tuple[SerialTransport, int]) -> None:
    transport, board = port
    with pytest.raises(DeadlineError) as raised:
        transport.read(1, 0.05)
    assert raised.value.what == "no bytes came within 0.05 s"
    assert raised.value.where.startswith("/dev/")
    with pytest.raises(DeadlineError) as raised:
        transport.write(bytes(1 << 20), 0.1)
    assert raised.value.what == "bytes could not be written within 0.1 s"
    os.close(board)


def test_an_unplugged_port_is_a_transport_error(port: tuple[SerialTransport, int]) -> None:
    transport, board = port
    os.close(board)
    with pytest.raises(TransportError) as raised:
        transport.read(1, 5)
    assert raised.value.what.startswith("the serial port failed: ")
    assert raised.value.fix == "plug the board in again"
    with pytest.raises(TransportError):
        transport.write(b"x", 1)


def test_a_serial_port_may_be_a_url() -> None:
    transport = SerialTransport("loop://", 115200)
    transport.open()
    transport.write(b"round", 1)
    assert transport.read(9, 1) == b"round"
    transport.close()


@pytest.mark.parametrize("url", ["/dev/no-such-port", "nonsense://x", "socket://127.0.0.1:1"])
def test_a_port_that_cannot_be_opened_is_a_transport_error(url: str) -> None:
    with pytest.raises(TransportError) as raised:
        SerialTransport(url, 115200).open()
    assert raised.value.what.startswith("the serial port cannot be opened: ")
    assert raised.value.where == url
    assert raised.value.fix == (
        "check that the board is plugged in, the name of the port, and that no other program "
        "holds it"
    )


def test_a_port_is_held_by_one_program(port: tuple[SerialTransport, int]) -> None:
    transport, board = port
    with pytest.raises(TransportError) as raised:
        SerialTransport(transport._url, 115200).open()
    assert "lock" in raised.value.what
    os.close(board)


def test_a_serial_port_that_was_not_opened_says_so() -> None:
    transport = SerialTransport("loop://", 115200)
    transport.close()
    with pytest.raises(TransportError) as raised:
        transport.read(1, 1)
    assert raised.value.what == "the line is closed"
