"""The system's C compiler, else the one of the `ziglang` wheel: native programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from uhost.codegen.artifact import Artifact
from uhost.config.board import Board
from uhost.errors import ToolNotFoundError
from uhost.toolchain import _build
from uhost.toolchain._elf import host_image
from uhost.toolchain._programs import Program, check_machine
from uhost.toolchain._toolchain import Image, Located
from uhost.toolchain.zig import DEFAULTS_OFF, cache_environment, locate_zig

PROGRAM = Program(name="cc", variable="UHOST_HOST_CC", install="apt-get install gcc libc6-dev")
LIBRARY = (*_build.LIBRARY, "-fPIC")
SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")


def is_zig(compiler: Sequence[str]) -> bool:
    """True for `zig cc`, whose defaults differ from other compilers'."""
    return "ziglang" in compiler


def _is_hosted(machine: str) -> bool:
    """True for `x86_64-linux-gnu`; not for `arm-none-eabi`, and "" of what is no compiler."""
    return bool(machine) and not machine.endswith(("-eabi", "-elf"))


def compile_command(
    compiler: Sequence[str], source: str, includes: Sequence[str], sanitize: bool = False
) -> tuple[str, ...]:
    """Returns the command that compiles `source`; its object is `object_of(source)`."""
    return (
        *compiler,
        *_build.CODE,
        *_build.WARNINGS,
        *_build.SECTIONS,
        *(DEFAULTS_OFF if is_zig(compiler) else ()),
        *(SANITIZERS if sanitize else ()),
        *includes,
        "-c",
        source,
        "-o",
        _build.object_of(source),
    )


def link_command(
    compiler: Sequence[str], objects: Sequence[str], sanitize: bool = False
) -> tuple[str, ...]:
    """Returns the command that links `objects` to a native program."""
    return (
        *compiler,
        *(SANITIZERS if sanitize else ()),
        "-Wl,--gc-sections",
        *objects,
        "-lm",
        "-o",
        _build.ELF,
    )


@dataclass(frozen=True, slots=True)
class HostCc:
    """The toolchain `host_cc`; with `sanitize`, programs stop at the first undefined step."""

    name: str = "host_cc"
    sanitize: bool = False

    def supports(self, board: Board) -> str:
        """Returns "" for the host, else the reason."""
        return "" if board.target.kind == "host" else "it builds for this machine only"

    def locate(self) -> Located:
        """Returns the compiler; raises `ToolNotFoundError` when there is none.

        A variable that is wrong is an error even where another compiler is found.
        """
        try:
            located = PROGRAM.locate()
            if PROGRAM.overridden():
                check_machine(PROGRAM, located, _is_hosted)
            return located
        except ToolNotFoundError as missing:
            if self.sanitize or PROGRAM.overridden():
                raise
            try:
                return locate_zig()
            except ToolNotFoundError:
                raise missing from None

    def build(self, artifact: Artifact, board: Board, folder: Path) -> Image:
        """Returns the image of `artifact` for this machine, built in `folder`."""
        located = self.locate()
        includes = _build.include_flags(artifact)
        elf = _build.build_elf(
            artifact,
            board,
            folder,
            lambda source: compile_command(located.argv, source, includes, self.sanitize),
            lambda objects: link_command(located.argv, objects, self.sanitize),
            located.version,
            cache_environment(folder) if is_zig(located.argv) else None,
        )
        return host_image(elf, self.name)

    def build_objects(self, artifact: Artifact, board: Board, folder: Path) -> tuple[Path, ...]:
        """Returns the objects of `artifact` for a library, built in `folder`."""
        located = self.locate()
        includes = _build.include_flags(artifact)
        objects = _build.build_objects(
            artifact,
            folder,
            lambda source: (
                *compile_command(located.argv, source, includes, self.sanitize),
                *LIBRARY,
            ),
            located.version,
            cache_environment(folder) if is_zig(located.argv) else None,
        )
        return tuple(folder / path for path in objects)


TOOLCHAIN = HostCc()
