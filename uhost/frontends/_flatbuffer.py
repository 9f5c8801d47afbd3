# ruff: noqa: N802
# The generated classes fix the names of the methods and attributes of their table.
"""Bounds-checked reading of flatbuffers through generated classes.

The flatbuffers runtime trusts the file: an offset may point anywhere, a length
may be four billion. The generated classes read through one object, their table;
`CheckedTable` takes its place and answers every read that leaves the file with a
`MalformedModelError` that names the place.

Offsets may alias, so a small file can describe a vector as large as itself from
every one of its tables. A file therefore has a budget of bytes read from vectors
and strings, a few times its own size; an honest file reads each byte about once.
"""

from __future__ import annotations

import struct
from typing import Any, Protocol

import numpy as np

from uhost.errors import MalformedModelError
from uhost.ir.tensor import Array

DAMAGED = "the file is damaged: export or download it again"

_OFFSET_BYTES = 4
_READS_PER_BYTE = 4
_READS_FLOOR_BYTES = 64 * 2**10


class _NumberType(Protocol):
    """What the runtime's number types, such as `Int32Flags`, offer."""

    bytewidth: int
    packer_type: struct.Struct
    py_type: Any


class Flatbuffer:
    """The bytes of one file, and how many more may be read from its vectors."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self._unread_bytes = _READS_PER_BYTE * len(content) + _READS_FLOOR_BYTES

    def root(self, generated: type[Any], place: str) -> Any:
        """Returns the root table as an object of the class `generated`, its reads checked."""
        return self.table(generated, self.unpack("<I", 0, place), place)

    def table(self, generated: type[Any], position: int, place: str) -> Any:
        """Returns the table at `position` as an object of `generated`, its reads checked."""
        table = generated()
        table._tab = CheckedTable(self, position, place)
        return table

    def checked(self, table: Any, place: str) -> Any:
        """Returns `table`, an object reached through a checked one, with its own reads checked."""
        return self.table(type(table), table._tab.Pos, place)

    def unpack(self, form: str, offset: int, place: str) -> Any:
        """Returns the scalar of struct format `form` at `offset`."""
        self.check(offset, struct.calcsize(form), place)
        return struct.unpack_from(form, self.content, offset)[0]

    def check(self, offset: int, size_bytes: int, place: str) -> None:
        """Raises `MalformedModelError` unless the bytes lie inside the file."""
        if offset < 0 or offset + size_bytes > len(self.content):
            raise MalformedModelError(
                f"the file is truncated or corrupt: it refers to {size_bytes} bytes at offset "
                f"{offset}, but ends at {len(self.content)}",
                where=place,
                fix=DAMAGED,
            )

    def charge(self, size_bytes: int, place: str) -> None:
        """Takes `size_bytes` from the budget; raises `MalformedModelError` when it is spent."""
        self._unread_bytes -= size_bytes
        if self._unread_bytes < 0:
            raise MalformedModelError(
                "the file is corrupt: its vectors overlap", where=place, fix=DAMAGED
            )


class CheckedTable:
    """Stands in for the runtime's `Table`: the same reads, none outside the file."""

    __slots__ = ("Pos", "_flatbuffer", "place")

    def __init__(self, flatbuffer: Flatbuffer, position: int, place: str) -> None:
        self._flatbuffer = flatbuffer
        self.Pos = position
        self.place = place

    @property
    def Bytes(self) -> bytes:
        """The whole file."""
        return self._flatbuffer.content

    def Get(self, flags: _NumberType, off: int) -> Any:
        """Returns the scalar of type `flags` at offset `off` of the file."""
        return flags.py_type(self._flatbuffer.unpack(flags.packer_type.format, off, self.place))

    def Offset(self, slot: int) -> int:
        """Returns where in the table the field of that vtable slot is; 0 where absent."""
        vtable = self.Pos - self._integer("<i", self.Pos)
        vtable_bytes = self._integer("<H", vtable)
        self._flatbuffer.check(vtable, vtable_bytes, self.place)
        return self._integer("<H", vtable + slot) if slot < vtable_bytes else 0

    def Indirect(self, off: int) -> int:
        """Returns the position that the offset stored at `off` refers to."""
        position = off + self._integer("<I", off)
        self._flatbuffer.check(position, _OFFSET_BYTES, self.place)
        return position

    def String(self, off: int) -> bytes:
        """Returns the bytes of the string whose offset is stored at `off` of the file."""
        start, length = self._extent(off)
        self._take(start, length)
        return self._flatbuffer.content[start : start + length]

    def Vector(self, off: int) -> int:
        """Returns where the elements of the vector in field `off` begin."""
        return self._extent(self.Pos + off)[0]

    def VectorLen(self, off: int) -> int:
        """Returns the length of the vector in field `off`: at most the bytes left in the file."""
        start, length = self._extent(self.Pos + off)
        self._take(start, length)
        return length

    def GetVectorAsNumpy(self, flags: _NumberType, off: int) -> Array:
        """Returns the vector in field `off` as a read-only view of the file."""
        start, length = self._extent(self.Pos + off)
        self._take(start, length * flags.bytewidth)
        dtype = np.dtype(flags.packer_type.format)
        return np.frombuffer(self._flatbuffer.content, dtype, length, start)

    def Union(self, t2: Any, off: int) -> None:
        """Sets `t2`, a plain table, to the table of the union in field `off`."""
        t2.Pos = self.Indirect(self.Pos + off)
        t2.Bytes = self.Bytes

    def _integer(self, form: str, offset: int) -> int:
        return int(self._flatbuffer.unpack(form, offset, self.place))

    def _extent(self, offset: int) -> tuple[int, int]:
        """Returns start and length of the vector whose offset is stored at `offset`."""
        position = self.Indirect(offset)
        return position + _OFFSET_BYTES, self._integer("<I", position)

    def _take(self, start: int, size_bytes: int) -> None:
        self._flatbuffer.check(start, size_bytes, self.place)
        self._flatbuffer.charge(size_bytes, self.place)
