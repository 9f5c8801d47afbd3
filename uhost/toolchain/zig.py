"""Clang and LLD of the `ziglang` wheel: bare-metal Arm and RISC-V from pip alone.

Zig brings its compiler runtime, which gives memcpy, memset and the float functions, so
that no C library is needed.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from uhost.codegen.artifact import Artifact
from uhost.config.board import Board
from uhost.config.target import Target
from uhost.errors import ToolNotFoundError
from uhost.targets._target import TARGETS
from uhost.toolchain import _build
from uhost.toolchain._elf import embedded_image
from uhost.toolchain._programs import version_of
from uhost.toolchain._toolchain import Image, Located

INSTALL = "pip install ziglang"
TARGET_KINDS = ("cortex_m", "riscv")
# Undone defaults of `zig cc`: trapping on undefined behaviour costs size and speed, a
# frame pointer costs a register, and nothing unwinds.
DEFAULTS_OFF = (
    "-fno-sanitize=undefined",
    "-fomit-frame-pointer",
    "-fno-unwind-tables",
    "-fno-asynchronous-unwind-tables",
)


def locate_zig() -> Located:
    """Returns `zig cc` of the wheel; raises `ToolNotFoundError` when it is not installed."""
    if importlib.util.find_spec("ziglang") is None:
        raise ToolNotFoundError(
            "the Python package 'ziglang' is not installed",
            where=sys.executable,
            fix=f"install it with `{INSTALL}`",
        )
    zig = (sys.executable, "-m", "ziglang")
    return Located((*zig, "cc"), f"zig {version_of(zig, 'version')}")


def cache_environment(folder: Path) -> dict[str, str]:
    """Returns the variable that gives Zig a cache it can write to.

    Its own choice is the user's cache; without a home, or with one that is read-only, the
    cache goes into the build folder.
    """
    if "ZIG_GLOBAL_CACHE_DIR" in os.environ:
        return {}
    try:
        base = os.environ.get("XDG_CACHE_HOME")
        cache = (Path(base) if base else Path.home() / ".cache") / "zig"
        cache.mkdir(parents=True, exist_ok=True)
        writable = os.access(cache, os.W_OK)
    except (OSError, RuntimeError):
        writable = False
    return {"ZIG_GLOBAL_CACHE_DIR": str(cache if writable else folder.resolve() / "zig-cache")}


def compile_command(
    compiler: Sequence[str], target: Target, source: str, includes: Sequence[str]
) -> tuple[str, ...]:
    """Returns the command that compiles `source`; its object is `object_of(source)`."""
    return (
        *compiler,
        *TARGETS[target.kind].clang_flags(target),
        *_build.CODE,
        *_build.WARNINGS,
        *_build.SECTIONS,
        *DEFAULTS_OFF,
        *includes,
        "-c",
        source,
        "-o",
        _build.object_of(source),
    )


def link_command(
    compiler: Sequence[str], target: Target, objects: Sequence[str]
) -> tuple[str, ...]:
    """Returns the command that links `objects` by the board's linker script.

    The entry is named although the script names it: `zig cc` passes one of its own.
    """
    return (
        *compiler,
        *TARGETS[target.kind].clang_flags(target),
        "-nostartfiles",
        f"-Wl,-T,{_build.LINKER_SCRIPT}",
        "-Wl,--gc-sections",
        "-Wl,-e,uhost_reset",
        *objects,
        "-o",
        _build.ELF,
    )


@dataclass(frozen=True, slots=True)
class Zig:
    """The toolchain `zig`."""

    name: str = "zig"

    def supports(self, board: Board) -> str:
        """Returns "" for Arm and RISC-V boards, else the reason."""
        return "" if board.target.kind in TARGET_KINDS else "it builds for Cortex-M and RISC-V"

    def locate(self) -> Located:
        """Returns the compiler of the wheel; raises `ToolNotFoundError` when it is missing."""
        return locate_zig()

    def build(self, artifact: Artifact, board: Board, folder: Path) -> Image:
        """Returns the image of `artifact` for `board`, built in `folder`."""
        located = self.locate()
        includes = _build.include_flags(artifact)
        elf = _build.build_elf(
            artifact,
            board,
            folder,
            lambda source: compile_command(located.argv, board.target, source, includes),
            lambda objects: link_command(located.argv, board.target, objects),
            located.version,
            cache_environment(folder),
        )
        return embedded_image(elf, self.name)

    def build_objects(self, artifact: Artifact, board: Board, folder: Path) -> tuple[Path, ...]:
        """Returns the objects of `artifact` for a library, built in `folder`."""
        located = self.locate()
        includes = _build.include_flags(artifact)
        objects = _build.build_objects(
            artifact,
            folder,
            lambda source: (
                *compile_command(located.argv, board.target, source, includes),
                *_build.LIBRARY,
            ),
            located.version,
            cache_environment(folder),
        )
        return tuple(folder / path for path in objects)


TOOLCHAIN = Zig()
