"""What a toolchain file defines: finding the compiler, and building an image with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

from uhost.codegen.artifact import Artifact
from uhost.config.board import Board
from uhost.registry import Registry


@dataclass(frozen=True, slots=True)
class Located:
    """A tool that was found: how to call it, and what it says of itself."""

    argv: tuple[str, ...]
    version: str


@dataclass(frozen=True, slots=True)
class Symbol:
    """A symbol of the linked image. The Thumb bit is cleared from `address`."""

    address: int
    size: int


@dataclass(frozen=True, slots=True, eq=False)
class Image:
    """A linked program.

    `flash_bytes` is everything stored (code, constants, initial values of data);
    `ram_bytes` everything in RAM, the reserved stack included; `model_flash_bytes`
    the model's code, weights and tables alone.
    """

    elf: Path
    toolchain: str
    flash_bytes: int
    ram_bytes: int
    model_flash_bytes: int
    symbols: Mapping[str, Symbol]

    def __post_init__(self) -> None:
        object.__setattr__(self, "symbols", MappingProxyType(dict(self.symbols)))

    def function_at(self, address: int) -> str:
        """Returns `name+0xoffset` of the function that holds `address`, or the address."""
        for name, symbol in self.symbols.items():
            if symbol.size and symbol.address <= address < symbol.address + symbol.size:
                return f"{name}+0x{address - symbol.address:x}"
        return f"0x{address:08x}"


class Toolchain(Protocol):
    """Compiles and links an artifact for a board."""

    @property
    def name(self) -> str:
        """The registry name."""

    def supports(self, board: Board) -> str:
        """Returns "" if it builds for the board, else the reason it does not."""

    def locate(self) -> Located:
        """Returns the tool found; raises `ToolNotFoundError` with how to get it."""

    def build(self, artifact: Artifact, board: Board, folder: Path) -> Image:
        """Compiles and links `artifact` in `folder`; raises `BuildError` with the messages."""

    def build_objects(self, artifact: Artifact, board: Board, folder: Path) -> tuple[Path, ...]:
        """Returns the objects of `artifact` for a library: no debug sections, no linking."""


TOOLCHAINS: Registry[Toolchain] = Registry("uhost.toolchain", "TOOLCHAIN", "toolchain")
