"""Reads linked programs: sizes and symbols for an `Image`; writes them as .bin, .hex and .map."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from uhost.codegen.artifact import write_file
from uhost.errors import BuildError
from uhost.toolchain._toolchain import Image, Symbol

MODEL_SECTION = ".model"
"""Where the linker script puts code, weights and tables of the model."""
PARAMS_SECTION = ".params."
"""What the sections of weights at addresses of their own begin with."""
MODEL_OBJECTS = (Path("obj/model.c.o"), Path("obj/firmware/params.c.o"))
# Runs single operators for profilers; unwinding tables are the compiler's, not the model's.
ARENA_SECTION = ".arena"
"""The arena, where the linker puts it into a region other than the RAM."""

_NOT_MODEL = re.compile(r"\.text\..*_run_operator|\.eh_frame|\.note.*")
_ERASED = 0xFF
_HEX_RECORD_BYTES = 16


@dataclass(frozen=True, slots=True)
class Section:
    """A section that the program occupies memory with."""

    name: str
    address: int
    size_bytes: int
    stored: bool
    """It has content in the file; otherwise it is zeroed or reserved."""
    writable: bool


@dataclass(frozen=True, slots=True)
class Piece:
    """Content that is loaded to an address: the load address, not where it is copied to."""

    address: int
    content: bytes


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """What a linked program holds."""

    entry: int
    sections: tuple[Section, ...]
    pieces: tuple[Piece, ...]
    symbols: dict[str, Symbol]

    def before(self, address: int) -> Program:
        """Returns the program less all that is loaded to `address` and above.

        A segment that reaches over it is cut where its last section below it ends.
        """
        pieces = []
        for piece in self.pieces:
            ends = [s.address + s.size_bytes for s in self.sections if s.address < address]
            end = piece.address + len(piece.content)
            if end > address:
                end = max((e for e in ends if piece.address < e <= address), default=piece.address)
            if end > piece.address:
                pieces.append(Piece(piece.address, piece.content[: end - piece.address]))
        return replace(self, pieces=tuple(pieces))

    def flat(self) -> bytes:
        """Returns the content from the lowest to the highest load address, gaps erased."""
        if not self.pieces:
            return b""
        start = self.pieces[0].address
        end = max(piece.address + len(piece.content) for piece in self.pieces)
        image = bytearray([_ERASED]) * (end - start)
        for piece in self.pieces:
            at = piece.address - start
            image[at : at + len(piece.content)] = piece.content
        return bytes(image)


def read_program(path: Path) -> Program:
    """Returns the program in an ELF file; raises `BuildError` when it is none."""
    try:
        with path.open("rb") as stream:
            elf = ELFFile(stream)
            return Program(
                entry=elf.header["e_entry"],
                sections=tuple(_sections(elf)),
                pieces=tuple(sorted(_pieces(elf), key=lambda piece: piece.address)),
                symbols=dict(_symbols(elf)),
            )
    except (OSError, ELFError) as cause:
        raise BuildError(
            f"not a linked program: {cause}", where=str(path), fix="build it again"
        ) from None


def embedded_image(elf: Path, toolchain: str) -> Image:
    """Returns the image of a program for a board; writes .bin, .hex and .map beside it.

    Flash counts from the lowest to the highest load address, RAM from the lowest to the
    highest address of all that is writable or reserved, the stack included. Weights at
    addresses of their own count too, but not the gap before them; .bin is without them,
    because they are written alone, and .hex has all.
    """
    program = read_program(elf)
    params = [s for s in program.sections if s.name.startswith(PARAMS_SECTION)]
    flat = program.before(min((s.address for s in params), default=2**32)).flat()
    written = [s for s in program.sections if s.writable or not s.stored]
    ram = [s for s in written if s.name != ARENA_SECTION]
    arena_bytes = sum(s.size_bytes for s in written if s.name == ARENA_SECTION)
    write_file(elf.with_suffix(".bin"), flat)
    write_file(elf.with_suffix(".hex"), "".join(hex_lines(program)).encode())
    write_file(elf.with_suffix(".map"), "".join(map_lines(program)).encode())
    return Image(
        elf=elf,
        toolchain=toolchain,
        flash_bytes=len(flat) + sum(s.size_bytes for s in params),
        ram_bytes=max((s.address + s.size_bytes for s in ram), default=0)
        - min((s.address for s in ram), default=0)
        + arena_bytes,
        model_flash_bytes=sum(
            s.size_bytes for s in program.sections if s in params or s.name == MODEL_SECTION
        ),
        symbols=program.symbols,
    )


def host_image(elf: Path, toolchain: str) -> Image:
    """Returns the image of a native program; the model's size is that of its object files."""
    program = read_program(elf)
    models = [elf.parent / path for path in MODEL_OBJECTS]
    sections = [s for path in models if path.is_file() for s in read_program(path).sections]
    write_file(elf.with_suffix(".map"), "".join(map_lines(program)).encode())
    return Image(
        elf=elf,
        toolchain=toolchain,
        flash_bytes=sum(s.size_bytes for s in program.sections if s.stored),
        ram_bytes=sum(s.size_bytes for s in program.sections if s.writable),
        model_flash_bytes=sum(
            s.size_bytes for s in sections if s.stored and not _NOT_MODEL.fullmatch(s.name)
        ),
        symbols=program.symbols,
    )


def hex_lines(program: Program) -> Iterator[str]:
    """Yields the program in Intel HEX, line by line, with 32-bit addresses."""
    upper = -1
    for piece in program.pieces:
        for at, data in _records(piece):
            if at >> 16 != upper:
                upper = at >> 16
                yield _hex_record(0, 4, upper.to_bytes(2, "big"))
            yield _hex_record(at & 0xFFFF, 0, data)
    yield _hex_record(0, 5, program.entry.to_bytes(4, "big"))
    yield _hex_record(0, 1, b"")


def map_lines(program: Program) -> Iterator[str]:
    """Yields a map: every section, and under it its symbols by address, with sizes."""
    for section in program.sections:
        end = section.address + section.size_bytes
        yield f"{section.address:08x} {section.size_bytes:8d} {section.name}\n"
        inside = (
            (symbol.address, symbol.size, name)
            for name, symbol in program.symbols.items()
            if section.address <= symbol.address < end
        )
        for address, size, name in sorted(inside):
            yield f"{address:08x} {size:8d}     {name}\n"


def _sections(elf: ELFFile) -> Iterator[Section]:
    for section in elf.iter_sections():
        flags = section["sh_flags"]
        if flags & SH_FLAGS.SHF_ALLOC and section["sh_size"]:
            yield Section(
                name=section.name,
                address=section["sh_addr"],
                size_bytes=section["sh_size"],
                stored=section["sh_type"] != "SHT_NOBITS",
                writable=bool(flags & SH_FLAGS.SHF_WRITE),
            )


def _pieces(elf: ELFFile) -> Iterator[Piece]:
    for segment in elf.iter_segments():
        if segment["p_type"] == "PT_LOAD" and segment["p_filesz"]:
            yield Piece(segment["p_paddr"], segment.data())


def _symbols(elf: ELFFile) -> Iterable[tuple[str, Symbol]]:
    """Returns name → symbol; where a name occurs twice, the global one."""
    found: dict[str, Symbol] = {}
    exported: set[str] = set()
    thumb = elf.header["e_machine"] == "EM_ARM"
    for table in elf.iter_sections():
        if not isinstance(table, SymbolTableSection):
            continue
        for symbol in table.iter_symbols():
            kind, bind = symbol["st_info"]["type"], symbol["st_info"]["bind"]
            name = symbol.name
            if not name or name.startswith("$") or kind in {"STT_FILE", "STT_SECTION"}:
                continue
            if symbol["st_shndx"] == "SHN_UNDEF" or (name in exported and bind == "STB_LOCAL"):
                continue
            if bind != "STB_LOCAL":
                exported.add(name)
            address = symbol["st_value"]
            if thumb and kind == "STT_FUNC":
                address &= ~1
            found[name] = Symbol(address, symbol["st_size"])
    return found.items()


def _records(piece: Piece) -> Iterator[tuple[int, bytes]]:
    """Yields the piece cut into records that do not cross a 64 KiB boundary."""
    at = 0
    while at < len(piece.content):
        address = piece.address + at
        size = min(_HEX_RECORD_BYTES - address % _HEX_RECORD_BYTES, len(piece.content) - at)
        yield address, piece.content[at : at + size]
        at += size


def _hex_record(address: int, kind: int, data: bytes) -> str:
    body = bytes([len(data), *address.to_bytes(2, "big"), kind]) + data
    return f":{body.hex().upper()}{-sum(body) & 0xFF:02X}\n"
