"""Thumb code from text, for tests of what reads machine code."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from uhost.targets._instruction import Instruction
from uhost.targets._thumb import decode

HEADER = ".syntax unified\n.thumb\n.text\n"


def machine_code(text: str, cpu: str = "cortex-m7") -> bytes:
    """Returns what GNU as makes of `text` for a CPU with all its extensions."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "code.s").write_text(HEADER + text + "\n")
        flags = [f"-mcpu={cpu}", "-mthumb", "-mfloat-abi=soft"]
        if cpu not in ("cortex-m0", "cortex-m0plus", "cortex-m3"):
            flags[2:] = ["-mfloat-abi=hard", "-mfpu=auto"]
        subprocess.run(
            ["arm-none-eabi-gcc", *flags, "-c", "code.s", "-o", "code.o"], cwd=folder, check=True
        )
        subprocess.run(
            ["arm-none-eabi-objcopy", "-O", "binary", "-j", ".text", "code.o", "code.bin"],
            cwd=folder,
            check=True,
        )
        return (folder / "code.bin").read_bytes()


def assemble(text: str, cpu: str = "cortex-m7") -> tuple[Instruction, ...]:
    """Returns the instructions of `text` as the cycle models see them."""
    return decode(machine_code(text, cpu), 0)
