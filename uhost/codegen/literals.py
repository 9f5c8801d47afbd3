"""Numbers and arrays as C text."""

from __future__ import annotations

import math

import numpy as np

from uhost.errors import InternalError
from uhost.ir.tensor import Array

_WIDTH = 96


def c_type(array: Array) -> str:
    """Returns the C element type of an array."""
    kinds = {"float32": "float", "bool": "bool"}
    name = str(array.dtype)
    if name in kinds:
        return kinds[name]
    if array.dtype.kind in "iu":
        return f"{name}_t"
    raise InternalError(f"no C type for numpy type {name}")


def float_literal(value: float) -> str:
    """Returns the shortest C literal that reads back as the same float32."""
    if math.isnan(value):
        return '__builtin_nanf("")'
    if math.isinf(value):
        return "__builtin_inff()" if value > 0 else "-__builtin_inff()"
    text = str(np.float32(value))
    if "e" not in text and "." not in text:
        text += ".0"
    return text + "f"


def int_literal(value: int) -> str:
    """Returns a C integer literal; the lowest of a type is spelled so that it stays signed."""
    if value in (-(2**31), -(2**63)):
        return f"({value + 1} - 1)"
    if value > 2**31 - 1:
        return f"{value}u" if value < 2**32 else f"{value}{'ll' if value < 2**63 else 'ull'}"
    return str(value)


def rows(array: Array) -> list[str]:
    """Returns the elements as lines of C initialisers, each at most 96 characters long."""
    flat = array.reshape(-1)
    if array.dtype.kind == "f":
        words = [float_literal(float(v)) for v in flat]
    elif array.dtype.kind == "b":
        words = ["true" if v else "false" for v in flat]
    else:
        words = [int_literal(int(v)) for v in flat.tolist()]
    lines: list[str] = []
    line = ""
    for word in words:
        piece = f"{word}, "
        if len(line) + len(piece) > _WIDTH and line:
            lines.append(line.rstrip())
            line = ""
        line += piece
    if line:
        lines.append(line.rstrip())
    return lines
