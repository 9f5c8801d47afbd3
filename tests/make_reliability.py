"""Fuzzes the RPC server, measures bad and slow lines, and writes docs/reliability.md.

Run it with `./dev reliability`; it takes a few minutes. Arguments: the number of fuzz
executions, and the number of bad lines. All but the speed of the pipe is simulated time
and counts, so it does not depend on the machine.
"""

from __future__ import annotations

import dataclasses
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import rpc_firmware
from rpc_bad_line import BadLine, check_clear, use
from rpc_in_process import ARENA_BYTES, build_device, paced
from rpc_receiver_harness import build_harness

from uhost import __version__
from uhost.errors import UhostError
from uhost.report.units import count
from uhost.rpc.session import SERIAL, Session
from uhost.runners.host import RUNNER
from uhost.transport.paced import Pace

ROOT = Path(__file__).resolve().parent.parent
BAUD = 115200
MEBIBYTE = 1 << 20


def fuzz(folder: Path, executions: int) -> list[str]:
    """Returns the section on the receiver; raises `CalledProcessError` for a finding."""
    program = build_harness(folder)
    done = subprocess.run(
        [program, str(executions), "1"], check=True, capture_output=True, text=True
    )
    executed, _, answered, *_ = done.stdout.split()
    return [
        "## The device survives any byte stream",
        "",
        f"{count(int(executed))} executions of the firmware's own receiver and server under ASan",
        "and UBSan, one input each: noise, frames with a right CRC and any content, damaged",
        "frames, cut anywhere. No touch outside a buffer, no undefined behaviour.",
        f"{count(int(answered))} bytes were answered, every answer an undamaged frame, and after",
        "every thousandth input a hello was answered at once. CI runs 200,000. The inputs are",
        "those of `tests/fuzz/rpc_receiver/harness.c`.",
    ]


def bad_lines(folder: Path, lines: int) -> list[str]:
    """Returns the section on bad lines; raises `AssertionError` for a wrong answer."""
    device = build_device(folder, buffer_bytes=512)
    outcomes: Counter[str] = Counter()
    longest_s = 0.0
    for seed in range(lines):
        bad = BadLine(device, seed)
        try:
            use(bad.session, seed)
            outcomes["right"] += 1
        except UhostError as error:
            check_clear(error)
            outcomes[type(error).__name__] += 1
        longest_s = max(longest_s, bad.line.now())
    return [
        "## A bad line costs time, never a wrong answer",
        "",
        f"{count(lines)} sessions, each over a line of its own seed that drops, duplicates,",
        "delays, truncates, flips, splits and invents pieces, and flips and drops single bytes:",
        "from none of it to each of these for 40 % of all frames. A session uploads 12 KiB, runs",
        "three times, and reads everything back. The device is the firmware's server; time is",
        "simulated. Pieces of a tensor shrink to 64 B where the line loses them, and grow again.",
        "",
        "| outcome | sessions |",
        "|---|---:|",
        f"| every answer right | {count(outcomes['right'])} |",
        f"| given up: no answer in time | {count(outcomes['DeadlineError'])} |",
        f"| given up: a late hello had ended the session | {count(outcomes['RemoteError'])} |",
        "| a wrong answer | 0 |",
        "",
        f"The longest session took {longest_s:.0f} s of the line's time. The command ends without",
        "a page at the first wrong answer or other error, so this page stands for none.",
    ]


def on_the_wire(folder: Path) -> list[str]:
    """Returns the section on overhead in bytes."""
    lines = [
        "## On the wire",
        "",
        "Bytes on the line per byte of content, for 64 KiB: in the direction of the content, and",
        "with the answers or requests of the other direction.",
        "",
        "| piece | noise | zeros | ones, the worst case | worst case, both directions |",
        "|---:|---:|---:|---:|---:|",
    ]
    contents = (random.Random(1).randbytes(ARENA_BYTES), bytes(ARENA_BYTES), b"\1" * ARENA_BYTES)
    for piece_bytes in (248, 504, 1024, 2040, 65528):
        # A write has five bytes besides its content, which is whole words.
        device = build_device(folder, piece_bytes + 8)
        both = 0.0
        cells = []
        for content in contents:
            session, line = paced(device, Pace(BAUD))
            sent, received = line.sent_bytes, line.received_bytes
            session.write(0, 0, content)
            cells.append(f"{(line.sent_bytes - sent) / len(content):.4f}")
            both = (line.sent_bytes - sent + line.received_bytes - received) / len(content)
        lines.append(f"| {count(piece_bytes)} B | {' | '.join(cells)} | {both:.4f} |")
    return lines


def slow_line(folder: Path) -> list[str]:
    """Returns the section on a 115200 baud line."""
    lines = [
        "## A slow line",
        "",
        "How much longer than its raw bytes an upload takes at 115200 baud, in simulated time, and",
        "a download after it. The adapter adds its latency each way; 16 ms is the worst that a USB",
        "bridge does by default. Boards with 64 KiB of RAM or more have the buffer of 2,048 B,",
        "smaller ones 1/32 of their RAM. On serial lines two pieces are under way at a time; the",
        "last columns show what one at a time would cost.",
        "",
        "| buffer | content | latency | upload | download | upload, one at a time | download |",
        "|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for buffer_bytes in (512, 1024, 2048):
        for size in (16384, ARENA_BYTES):
            for latency_s in (0.001, 0.005, 0.016):
                cells: list[str] = []
                for window in (2, 1):
                    timing = dataclasses.replace(SERIAL, window=window)
                    pace = Pace(BAUD, latency_s)
                    session, line = paced(build_device(folder, buffer_bytes), pace, timing)
                    content = random.Random(1).randbytes(size)
                    started_s = line.now()
                    session.write(0, 0, content)
                    written_s = line.now()
                    session.read(0, 0, size)
                    for took_s in (written_s - started_s, line.now() - written_s):
                        cells.append(f"{100 * (took_s / (size * pace.byte_s) - 1):.1f} %")
                lines.append(
                    f"| {count(buffer_bytes)} B | {size // 1024} KiB | {1e3 * latency_s:.0f} ms "
                    f"| {' | '.join(cells)} |"
                )
    return lines


def pipe(folder: Path) -> list[str]:
    """Returns the section on the speed of a pipe, the best of several runs."""
    program = rpc_firmware.build(folder, "-O2")
    up_s, down_s = [], []
    content = random.Random(1).randbytes(MEBIBYTE)
    image = rpc_firmware.image_of(program)
    with Session(RUNNER.start(image, rpc_firmware.BOARD)) as session:
        session.handshake()
        for _ in range(20):
            started_s = time.perf_counter()
            session.write(1, 0, content)
            written_s = time.perf_counter()
            if session.read(1, 0, MEBIBYTE) != content:
                raise AssertionError("the pipe changed what it carried")
            up_s.append(written_s - started_s)
            down_s.append(time.perf_counter() - written_s)
    return [
        "## A pipe",
        "",
        "1 MiB to the firmware built for this machine and back, best of 20, on the machine that",
        f"made this page: upload {MEBIBYTE / min(up_s) / 1e6:.0f} MB/s, download "
        f"{MEBIBYTE / min(down_s) / 1e6:.0f} MB/s. Reported, not a test.",
    ]


def main() -> int:
    """Writes docs/reliability.md."""
    executions = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000
    lines = int(sys.argv[2]) if len(sys.argv) > 2 else 4_000
    text = [
        "# Reliability of the line",
        "",
        f"Made by `./dev reliability` with uhost {__version__}.",
    ]
    with tempfile.TemporaryDirectory() as name:
        for number, section in enumerate(
            (
                lambda folder: fuzz(folder, executions),
                lambda folder: bad_lines(folder, lines),
                on_the_wire,
                slow_line,
                pipe,
            )
        ):
            folder = Path(name) / str(number)
            folder.mkdir()
            made = section(folder)
            print(made[0], file=sys.stderr)
            text += ["", *made]
    (ROOT / "docs" / "reliability.md").write_text("\n".join(text) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
