"""What is installed: every outside tool, found or not, and how to get what is missing."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import metadata
from typing import Literal

from uhost.errors import ToolNotFoundError
from uhost.runners import qemu, renode
from uhost.toolchain import arm_gcc, host_cc, riscv_gcc, zig
from uhost.toolchain._programs import MisdirectedVariableError
from uhost.toolchain._toolchain import Located

BUILDERS = ("arm_gcc", "zig")
SIMULATORS = ("unicorn", "qemu", "renode")


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found of one tool.

    `where` is the call that was found, else where it was looked for; `version` is what the
    tool says of itself, "" if it was not found; `problem` and `fix` are "" if it was.
    """

    tool: str
    purpose: str
    status: Literal["found", "missing", "misdirected"]
    where: str
    version: str = ""
    problem: str = ""
    fix: str = ""


def diagnose() -> list[Finding]:
    """Returns a finding for every tool uhost can use, in a fixed order."""
    return [
        _look("arm_gcc", "builds for Arm boards", arm_gcc.TOOLCHAIN.locate),
        _look("zig", "builds for Arm and RISC-V boards, from pip alone", zig.TOOLCHAIN.locate),
        _look("host_cc", "builds for this machine", host_cc.TOOLCHAIN.locate),
        _look("unicorn", "simulates Arm boards, from pip alone", _locate_unicorn),
        _look("qemu", "simulates boards that QEMU has a machine for", qemu.PROGRAM.locate),
        _look("renode", "simulates whole chips, where QEMU has no machine", renode.RUNNER.locate),
        _look("riscv_gcc", "builds for RISC-V boards", riscv_gcc.TOOLCHAIN.locate),
        _look("qemu_riscv", "simulates RISC-V boards", qemu.PROGRAM_RISCV.locate),
    ]


def verdict(findings: Sequence[Finding]) -> str:
    """Returns in a sentence or two what the findings mean for building and simulating."""
    misdirected = [finding for finding in findings if finding.status == "misdirected"]
    absent = [finding.tool for finding in findings if finding.status != "found"]
    if misdirected:
        problems = "; ".join(finding.problem for finding in misdirected)
        return f"{problems[0].upper()}{problems[1:]}. uhost does not search PATH while it is set."
    if not absent:
        return "Every tool is installed."
    if len(absent) == len(findings):
        return (
            "No tool is installed. The least that builds and simulates: "
            "`pip install ziglang unicorn`."
        )
    verb = "is" if len(absent) == 1 else "are"
    can_build = any(name not in absent for name in BUILDERS)
    can_simulate = any(name not in absent for name in SIMULATORS)
    consequence = {
        (True, True): "Boards can be built and simulated without.",
        (True, False): "Boards can be built, but not simulated.",
        (False, True): "Boards can be simulated, but not built.",
        (False, False): "Boards can be neither built nor simulated.",
    }[can_build, can_simulate]
    return f"{', '.join(absent)} {verb} missing. {consequence}"


def _look(tool: str, purpose: str, locate: Callable[[], Located]) -> Finding:
    try:
        located = locate()
    except ToolNotFoundError as error:
        misdirected = isinstance(error, MisdirectedVariableError)
        return Finding(
            tool,
            purpose,
            status="misdirected" if misdirected else "missing",
            where=error.where,
            problem=error.what,
            fix=error.fix,
        )
    return Finding(tool, purpose, "found", " ".join(located.argv), located.version)


def _locate_unicorn() -> Located:
    found = importlib.util.find_spec("unicorn")
    if found is None or found.origin is None:
        raise ToolNotFoundError(
            "the Python package 'unicorn' is not installed",
            where="the Python environment",
            fix="install it with `pip install unicorn`",
        )
    return Located((found.origin,), f"unicorn {metadata.version('unicorn')}")
