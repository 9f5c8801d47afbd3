"""Element types of tensors."""

from __future__ import annotations

import enum

import numpy as np


class DType(enum.Enum):
    """An element type: its name, its numpy type and its C type.

    float16 is for constants, which no kernel reads: they are made float32 at compile time.
    """

    INT8 = "int8"
    UINT8 = "uint8"
    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    UINT32 = "uint32"
    UINT64 = "uint64"
    FLOAT32 = "float32"
    FLOAT16 = "float16"
    BOOL = "bool"

    @property
    def numpy(self) -> np.dtype[np.generic]:
        """The numpy type."""
        return np.dtype(self.value)

    @property
    def size_bytes(self) -> int:
        """Bytes per element."""
        return self.numpy.itemsize

    @property
    def c_type(self) -> str:
        """The C type of one element."""
        return {"float32": "float", "bool": "bool"}.get(self.value, f"{self.value}_t")

    @property
    def is_integer(self) -> bool:
        """True for the integer types."""
        return self.numpy.kind in "iu"

    @property
    def limits(self) -> tuple[int, int]:
        """The smallest and the largest value of an integer type."""
        bits = 8 * self.size_bytes
        if self.numpy.kind == "u":
            return 0, 2**bits - 1
        return -(2 ** (bits - 1)), 2 ** (bits - 1) - 1

    def __str__(self) -> str:
        return self.value


COMPUTED = tuple(
    dtype for dtype in DType if dtype not in (DType.FLOAT16, DType.UINT32, DType.UINT64)
)
"""The types that operators compute with.

uint32 and uint64 come between the operators of audio front ends, which name them.
"""
