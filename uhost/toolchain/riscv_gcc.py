"""GCC for bare-metal RISC-V, with picolibc for what the compiler calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from uhost.codegen.artifact import Artifact
from uhost.config.board import Board
from uhost.config.target import Target
from uhost.targets._target import TARGETS
from uhost.toolchain import _build
from uhost.toolchain._elf import embedded_image
from uhost.toolchain._programs import Program, locate_gcc
from uhost.toolchain._toolchain import Image, Located

PROGRAM = Program(
    name="riscv64-unknown-elf-gcc",
    variable="UHOST_RISCV_GCC",
    install="apt-get install gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf",
)
TARGET_KINDS = ("riscv",)


def compile_command(
    compiler: Sequence[str], target: Target, source: str, includes: Sequence[str]
) -> tuple[str, ...]:
    """Returns the command that compiles `source`; its object is `object_of(source)`."""
    return (
        *compiler,
        *TARGETS[target.kind].gcc_flags(target),
        *_build.CODE,
        *_build.WARNINGS,
        *_build.SECTIONS,
        "--specs=picolibc.specs",
        *includes,
        "-c",
        source,
        "-o",
        _build.object_of(source),
    )


def link_command(
    compiler: Sequence[str], target: Target, objects: Sequence[str]
) -> tuple[str, ...]:
    """Returns the command that links `objects` by the board's linker script."""
    return (
        *compiler,
        *TARGETS[target.kind].gcc_flags(target),
        "--specs=picolibc.specs",
        "-nostartfiles",
        f"-T{_build.LINKER_SCRIPT}",  # as GCC's own option, or picolibc adds its script
        "-Wl,--gc-sections",
        *objects,
        "-lm",
        "-o",
        _build.ELF,
    )


@dataclass(frozen=True, slots=True)
class RiscvGcc:
    """The toolchain `riscv_gcc`."""

    name: str = "riscv_gcc"

    def supports(self, board: Board) -> str:
        """Returns "" for RISC-V boards, else the reason."""
        return "" if board.target.kind in TARGET_KINDS else "it builds for RISC-V"

    def locate(self) -> Located:
        """Returns the compiler; raises `ToolNotFoundError` when it or its picolibc is missing."""
        return locate_gcc(PROGRAM, "riscv", "picolibc", "picolibc.specs")

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
        )
        return tuple(folder / path for path in objects)


TOOLCHAIN = RiscvGcc()
