"""Weights by name in TVM's own format: `tvm.runtime.load_param_dict` reads the file."""

from __future__ import annotations

import struct
from collections.abc import Mapping

import numpy as np

from uhost.errors import ConfigError
from uhost.ir.tensor import Array

_LIST_MAGIC = 0xF7E58D4F05049CB7
_ARRAY_MAGIC = 0xDD5E40F096B4A13F
_CPU = 1
# DLPack's type codes: signed, unsigned, float. A bool is an unsigned number of one bit.
_CODES = {"i": 0, "u": 1, "f": 2, "b": 1}
_KINDS = {0: "i", 1: "u", 2: "f"}


def encode_params(params: Mapping[str, Array]) -> bytes:
    """Returns arrays by name as bytes, in the order given. All numbers are little-endian."""
    parts = [struct.pack("<QQQ", _LIST_MAGIC, 0, len(params))]
    for name in params:
        text = name.encode()
        parts.append(struct.pack("<Q", len(text)) + text)
    parts.append(struct.pack("<Q", len(params)))
    for array in params.values():
        kind = array.dtype.kind
        bits = 1 if kind == "b" else 8 * array.itemsize
        data = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<")).tobytes()
        parts.append(struct.pack("<QQii", _ARRAY_MAGIC, 0, _CPU, 0))
        parts.append(struct.pack("<iBBH", array.ndim, _CODES[kind], bits, 1))
        parts.append(struct.pack(f"<{array.ndim}q", *array.shape))
        parts.append(struct.pack("<q", len(data)) + data)
    return b"".join(parts)


def decode_params(content: bytes, where: str) -> dict[str, Array]:
    """Returns the arrays by name; raises `ConfigError` for bytes that are no such file."""
    try:
        return _decode(content)
    except (struct.error, ValueError, KeyError, TypeError) as error:
        raise ConfigError(
            f"the file of parameters is damaged: {error}", where, "export the module again"
        ) from error


def _decode(content: bytes) -> dict[str, Array]:
    at = 0

    def take(form: str) -> tuple[int, ...]:
        nonlocal at
        values = struct.unpack_from(form, content, at)
        at += struct.calcsize(form)
        return values

    magic, _, count = take("<QQQ")
    if magic != _LIST_MAGIC:
        raise ValueError("it begins with another number")
    names = []
    for _ in range(min(count, len(content))):
        (size,) = take("<Q")
        names.append(content[at : at + size].decode())
        at += size
    take("<Q")
    arrays: dict[str, Array] = {}
    for name in names:
        take("<QQii")
        rank, code, bits, _ = take("<iBBH")
        shape = take(f"<{rank}q")
        (size,) = take("<q")
        dtype = np.dtype("?") if bits == 1 else np.dtype(f"<{_KINDS[code]}{bits // 8}")
        data = np.frombuffer(content[at : at + size], dtype)
        arrays[name] = data.reshape(shape).astype(dtype.newbyteorder("="))
        at += size
    return arrays
