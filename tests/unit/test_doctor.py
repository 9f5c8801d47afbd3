"""What is found of the tools, what is missing, and what a wrong variable says."""

from __future__ import annotations

import os
import stat
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from uhost.report.doctor import Finding, diagnose, verdict

VARIABLES = (
    *("UHOST_ARM_GCC", "UHOST_HOST_CC", "UHOST_RISCV_GCC"),
    *("UHOST_QEMU_ARM", "UHOST_QEMU_RISCV"),
)


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine with nothing installed; returns a folder that is all of its PATH."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    return tmp_path


def install(folder: Path, name: str, text: str = "") -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text or f'echo {name} 1.0'}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def install_all(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    specs = f"{folder}/nano.specs"
    gcc = f'case "$1" in --version) echo gcc 12;; *) echo {specs};; esac'
    install(folder, "arm-none-eabi-gcc", gcc)
    install(folder, "cc")
    install(folder, "riscv64-unknown-elf-gcc", gcc.replace("nano", "picolibc"))
    install(folder, "qemu-system-arm")
    install(folder, "qemu-system-riscv32")
    install(folder, "renode", "echo Renode v1.16.0")
    spec = ModuleSpec("found", loader=None, origin="/site/found/__init__.py")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: spec)


def test_nothing_is_installed(bare: Path) -> None:
    findings = diagnose()
    assert [(f.tool, f.status) for f in findings] == [
        ("arm_gcc", "missing"),
        ("zig", "missing"),
        ("host_cc", "missing"),
        ("unicorn", "missing"),
        ("qemu", "missing"),
        ("renode", "missing"),
        ("riscv_gcc", "missing"),
        ("qemu_riscv", "missing"),
    ]
    assert findings[0] == Finding(
        "arm_gcc",
        "builds for Arm boards",
        "missing",
        where="PATH",
        problem="'arm-none-eabi-gcc' is not on PATH",
        fix="install it with `apt-get install gcc-arm-none-eabi libnewlib-arm-none-eabi`, "
        "or set UHOST_ARM_GCC to its path",
    )
    assert [f.fix for f in findings[1:]] == [
        "install it with `pip install ziglang`",
        "install it with `apt-get install gcc libc6-dev`, or set UHOST_HOST_CC to its path",
        "install it with `pip install unicorn`",
        "install it with `apt-get install qemu-system-arm`, or set UHOST_QEMU_ARM to its path",
        "install Renode 1.15 or later, from renode.io or your system's packages, and put "
        "'renode' on PATH, or its path in UHOST_RENODE",
        "install it with `apt-get install gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf`, "
        "or set UHOST_RISCV_GCC to its path",
        "install it with `apt-get install qemu-system-misc`, or set UHOST_QEMU_RISCV to its path",
    ]
    assert verdict(findings) == (
        "No tool is installed. The least that builds and simulates: `pip install ziglang unicorn`."
    )


def test_everything_is_installed(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_all(bare, monkeypatch)
    findings = diagnose()
    assert [f.status for f in findings] == ["found"] * 8
    assert (findings[0].where, findings[0].version) == (str(bare / "arm-none-eabi-gcc"), "gcc 12")
    assert findings[1].where == f"{sys.executable} -m ziglang cc"
    assert findings[1].version.startswith("zig 0.")
    assert findings[3].where == "/site/found/__init__.py"
    assert findings[3].version.startswith("unicorn 2.")
    assert verdict(findings) == "Every tool is installed."


def test_one_tool_is_missing(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_all(bare, monkeypatch)
    (bare / "qemu-system-arm").unlink()
    findings = diagnose()
    assert [f.tool for f in findings if f.status == "missing"] == ["qemu"]
    assert verdict(findings) == "qemu is missing. Boards can be built and simulated without."


def test_a_variable_points_nowhere(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_all(bare, monkeypatch)
    monkeypatch.setenv("UHOST_ARM_GCC", "/opt/nowhere/gcc")
    findings = diagnose()
    assert [f.status for f in findings] == ["misdirected", *["found"] * 7]
    assert findings[0].problem == (
        "the variable UHOST_ARM_GCC points nowhere: '/opt/nowhere/gcc' is not an executable program"
    )
    assert findings[0].where == "environment variable UHOST_ARM_GCC"
    assert findings[0].fix == (
        "correct UHOST_ARM_GCC, or unset it to search PATH for 'arm-none-eabi-gcc'"
    )
    assert verdict(findings) == (
        "The variable UHOST_ARM_GCC points nowhere: "
        "'/opt/nowhere/gcc' is not an executable program. "
        "uhost does not search PATH while it is set."
    )


def test_what_a_missing_tool_costs(bare: Path) -> None:
    def lacking(*tools: str) -> str:
        return verdict(
            [
                Finding(t, "", "missing" if t in tools else "found", "")
                for t in ("arm_gcc", "zig", "host_cc", "unicorn", "qemu", "renode")
            ]
        )

    assert lacking("arm_gcc", "zig") == (
        "arm_gcc, zig are missing. Boards can be simulated, but not built."
    )
    assert lacking("unicorn", "qemu", "renode") == (
        "unicorn, qemu, renode are missing. Boards can be built, but not simulated."
    )
    assert lacking("arm_gcc", "zig", "unicorn", "qemu", "renode") == (
        "arm_gcc, zig, unicorn, qemu, renode are missing. "
        "Boards can be neither built nor simulated."
    )
    assert lacking("arm_gcc", "qemu") == (
        "arm_gcc, qemu are missing. Boards can be built and simulated without."
    )


def test_a_tool_that_does_not_run_counts_as_missing(
    bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_all(bare, monkeypatch)
    install(bare, "qemu-system-arm", "exit 127")
    (qemu,) = (f for f in diagnose() if f.tool == "qemu")
    assert qemu.status == "missing"
    assert qemu.problem == (
        f"'{os.path.join(bare, 'qemu-system-arm')}' does not run: `--version` ended with status 127"
    )
