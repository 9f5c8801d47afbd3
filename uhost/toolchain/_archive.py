"""Archives of objects (`.a`) in the format of GNU ar: written and read."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from uhost.errors import ConfigError

_MAGIC = b"!<arch>\n"
_HEADER_BYTES = 60
_END = b"`\n"
_LONGEST_NAME = 15


def write_members(members: Mapping[str, bytes]) -> bytes:
    """Returns an archive of objects with its index of symbols, by which linkers search it.

    Dates, owners and groups are 0: same members, same bytes. Names are at most 15
    characters long; longer ones go into the archive's table of names.
    """
    names = b"".join(f"{name}/\n".encode() for name in members if len(name) > _LONGEST_NAME)
    headers: dict[str, bytes] = {}
    at = 0
    for name, content in members.items():
        text = f"{name}/"
        if len(name) > _LONGEST_NAME:
            text = f"/{at}"
            at += len(name) + 2
        headers[name] = _header(text, len(content), "100644")
    symbols = {name: list(defined_symbols(content)) for name, content in members.items()}
    texts = b"".join(f"{s}\0".encode() for listed in symbols.values() for s in listed)
    count = sum(map(len, symbols.values()))
    index_bytes = 4 * (count + 1) + len(texts)
    start = len(_MAGIC) + _HEADER_BYTES + index_bytes + index_bytes % 2
    if names:
        start += _HEADER_BYTES + len(names) + len(names) % 2
    offsets: list[int] = []
    for name, content in members.items():
        offsets += [start] * len(symbols[name])
        start += _HEADER_BYTES + len(content) + len(content) % 2
    index = b"".join(number.to_bytes(4, "big") for number in (count, *offsets)) + texts
    parts = [_MAGIC, _header("/", len(index), "0"), _even(index)]
    if names:
        parts += [_header("//", len(names), ""), _even(names)]
    for name, content in members.items():
        parts += [headers[name], _even(content)]
    return b"".join(parts)


def read_members(content: bytes, where: str) -> dict[str, bytes]:
    """Returns the members of an archive by name, without its index; else `ConfigError`."""
    if not content.startswith(_MAGIC):
        raise ConfigError("the file is no archive of objects", where, "give a .a file")
    members: dict[str, bytes] = {}
    names = b""
    at = len(_MAGIC)
    while at < len(content):
        header = content[at : at + _HEADER_BYTES]
        size_text = header[48:58].strip()
        if header[58:] != _END or not size_text.isdigit():
            raise ConfigError("the archive is damaged", where, "export the library again")
        name, size = header[:16].decode("latin-1").rstrip(), int(size_text)
        data = content[at + _HEADER_BYTES : at + _HEADER_BYTES + size]
        at += _HEADER_BYTES + size + size % 2
        if name == "//":
            names = data
        elif name != "/":
            if name[:1] == "/" and name[1:].isdigit():
                name = names[int(name[1:]) :].partition(b"\n")[0].decode("latin-1")
            members[name.removesuffix("/")] = data
    return members


def defined_symbols(content: bytes) -> Iterator[str]:
    """Yields the names that an object defines for others."""
    for symbol in _symbols(content):
        defined = symbol["st_shndx"] != "SHN_UNDEF"
        if defined and symbol["st_info"]["bind"] in ("STB_GLOBAL", "STB_WEAK"):
            yield symbol.name


def read_constant(content: bytes, prefix: str) -> bytes | None:
    """Returns the bytes of the first constant of an object or library whose name begins so."""
    for symbol in _symbols(content):
        if symbol.name.startswith(prefix) and isinstance(symbol["st_shndx"], int):
            section = ELFFile(io.BytesIO(content)).get_section(symbol["st_shndx"])
            start = symbol["st_value"] - section["sh_addr"]
            return bytes(section.data()[start : start + symbol["st_size"]])
    return None


def _symbols(content: bytes) -> list:  # type: ignore[type-arg]
    try:
        elf = ELFFile(io.BytesIO(content))
        return [
            symbol
            for table in elf.iter_sections()
            if isinstance(table, SymbolTableSection)
            for symbol in table.iter_symbols()
        ]
    except (ELFError, ValueError, KeyError, TypeError, AttributeError, IndexError):
        return []  # not an ELF file: it defines nothing


def _header(name: str, size_bytes: int, mode: str) -> bytes:
    zero = "" if name == "//" else "0"
    text = f"{name:<16}{zero:<12}{zero:<6}{zero:<6}{mode:<8}{size_bytes:<10}"
    return text.encode() + _END


def _even(content: bytes) -> bytes:
    return content + b"\n" * (len(content) % 2)
