"""The hand-written program of the simulator's tests: built once per process, run by routine."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from uhost.config.board import Board, load_board
from uhost.resources import cache_folder
from uhost.runners._unicorn_cpu import Cpu
from uhost.runners._unicorn_memory import read_words, write_words
from uhost.toolchain._elf import read_program
from uhost.toolchain._toolchain import Image

SOURCE = Path(__file__).parent / "unit" / "unicorn_program"
ROUTINES = (
    *("echo", "keeps_registers", "calls_supervisor", "unmasks_slowly", "thread_stack"),
    *("fpu_is_off", "reads_nowhere", "jumps_nowhere", "undefined", "arm_code"),
    *("breakpoint", "executes_data", "no_vector", "no_stack", "crashes_twice"),
    *("endless", "waits_for_event", "counts", "bus_fault_enabled", "early_send", "silent_fault"),
)


def board() -> Board:
    """Returns the board the program is written for."""
    return load_board("mps2_an500")


@cache
def image() -> Image:
    """Returns the assembled and linked program."""
    folder = cache_folder() / "simulated-program"
    folder.mkdir(parents=True, exist_ok=True)
    elf = folder / "program.elf"
    command = [
        *(sys.executable, "-m", "ziglang", "cc", "-target", "thumb-freestanding-eabihf"),
        *("-mcpu=cortex_m7", "-nostdlib", f"-Wl,-T,{SOURCE / 'link.ld'}", "-Wl,-e,reset"),
        *("-o", str(elf), str(SOURCE / "program.s")),
    ]
    subprocess.run(command, check=True, capture_output=True)
    return Image(elf, "zig", 0, 0, 0, read_program(elf).symbols)


@dataclass(frozen=True, slots=True)
class Simulated:
    """A simulated core about to run a routine of the program."""

    cpu: Cpu
    image: Image

    def words(self, symbol: str, count: int, offset_bytes: int = 0) -> tuple[int, ...]:
        """Returns words of the program's memory."""
        return read_words(self.cpu.engine, self.address(symbol) + offset_bytes, count)

    def address(self, symbol: str) -> int:
        """Returns where a symbol is."""
        return self.image.symbols[symbol].address

    def send(self, data: bytes) -> bytes:
        """Puts `data` on the line, runs to the next sleep, and returns what was sent."""
        self.cpu.wire.incoming.extend(data)
        self.cpu.run()
        sent = bytes(self.cpu.wire.outgoing)
        self.cpu.wire.outgoing.clear()
        return sent


def simulate(routine: str, on: Board | None = None) -> Simulated:
    """Returns a core reset to run `routine`; nothing has been executed."""
    cpu = Cpu(image(), on or board())
    write_words(cpu.engine, image().symbols["choice"].address, (ROUTINES.index(routine),))
    return Simulated(cpu, image())
