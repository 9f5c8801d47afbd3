"""How a field of a message lies in its payload, and how a declared message is coded.

A payload is a fixed part (the numbers, little-endian, in the order declared), then
texts (a two-byte length and UTF-8) and shapes (a one-byte count and four bytes per
dimension), then at most one run of bytes that takes the rest.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, fields
from functools import cache
from typing import Annotated, Any, ClassVar, TypeVar, get_type_hints

from uhost.errors import ConfigError, ProtocolError


@dataclass(frozen=True, slots=True)
class Number:
    """A number of the fixed part: its `struct` format, its C type and the stem of its C codec."""

    format: str
    c_type: str
    codec: str

    @property
    def size_bytes(self) -> int:
        """Bytes in the payload."""
        return struct.calcsize(f"<{self.format}")


@dataclass(frozen=True, slots=True)
class Variable:
    """A part of a length known only at run time: `text`, `shape` or `rest`."""

    kind: str


U8 = Annotated[int, Number("B", "uint8_t", "u8")]
U16 = Annotated[int, Number("H", "uint16_t", "u16")]
U32 = Annotated[int, Number("I", "uint32_t", "u32")]
U64 = Annotated[int, Number("Q", "uint64_t", "u64")]
I32 = Annotated[int, Number("i", "int32_t", "i32")]
F32 = Annotated[float, Number("f", "float", "f32")]
Text = Annotated[str, Variable("text")]
Shape = Annotated[tuple[int, ...], Variable("shape")]
Rest = Annotated[bytes, Variable("rest")]


class Message:
    """What every message declares besides its fields: the type code of its frame."""

    __slots__ = ()
    CODE: ClassVar[int]


M = TypeVar("M", bound=Message)


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the fields of one message lie: names with numbers, then names with variable parts."""

    numbers: tuple[tuple[str, Number], ...]
    variables: tuple[tuple[str, Variable], ...]
    fixed: struct.Struct


def layout(kind: type[Message]) -> Layout:
    """Returns the layout that the annotations of `kind` declare."""
    declared: Any = kind
    return _layout(declared)


@cache
def _layout(kind: Any) -> Layout:
    hints = get_type_hints(kind, include_extras=True)
    numbers, variables = [], []
    for field in fields(kind):
        part = hints[field.name].__metadata__[0]
        if isinstance(part, Number):
            numbers.append((field.name, part))
        else:
            variables.append((field.name, part))
    return Layout(
        tuple(numbers),
        tuple(variables),
        struct.Struct("<" + "".join(number.format for _, number in numbers)),
    )


def encode(message: Message) -> bytes:
    """Returns the payload of `message`; raises `ConfigError` for a number out of range."""
    parts = layout(type(message))
    numbers = {name: getattr(message, name) for name, _ in parts.numbers}
    try:
        payload = bytearray(parts.fixed.pack(*numbers.values()))
    except struct.error as error:
        listed = ", ".join(f"{name} {value}" for name, value in numbers.items())
        raise ConfigError(
            f"{type(message).__name__} cannot carry these numbers: {error}", where=listed
        ) from error
    for name, variable in parts.variables:
        value = getattr(message, name)
        if variable.kind == "text":
            text = value.encode()
            payload += struct.pack("<H", len(text)) + text
        elif variable.kind == "shape":
            payload += struct.pack(f"<B{len(value)}i", len(value), *value)
        else:
            payload += value
    return bytes(payload)


def decode(kind: type[M], payload: bytes) -> M:
    """Returns the message of type `kind` in `payload`.

    Raises `ProtocolError` when the payload is too short, too long, or a text is not UTF-8.
    """
    parts = layout(kind)
    try:
        numbers = parts.fixed.unpack_from(payload)
        values: dict[str, Any] = dict(zip((n for n, _ in parts.numbers), numbers, strict=True))
        at = parts.fixed.size
        for name, variable in parts.variables:
            values[name], at = _decode_variable(variable, payload, at)
    except (struct.error, UnicodeDecodeError) as error:
        raise _malformed(kind, payload, str(error)) from error
    if at != len(payload):
        raise _malformed(kind, payload, f"{len(payload) - at} bytes too many")
    return kind(**values)


def _decode_variable(variable: Variable, payload: bytes, at: int) -> tuple[object, int]:
    if variable.kind == "rest":
        return payload[at:], len(payload)
    if variable.kind == "text":
        (size,) = struct.unpack_from("<H", payload, at)
        (text,) = struct.unpack_from(f"{size}s", payload, at + 2)
        return text.decode(), at + 2 + size
    (rank,) = struct.unpack_from("<B", payload, at)
    return struct.unpack_from(f"<{rank}i", payload, at + 1), at + 1 + 4 * rank


def _malformed(kind: type[Message], payload: bytes, reason: str) -> ProtocolError:
    return ProtocolError(
        f"the device sent a malformed {kind.__name__}: {reason}",
        where=f"payload of {len(payload)} bytes, beginning {payload[:16].hex(' ')}",
        fix="build and flash the firmware with this version of uhost",
    )
