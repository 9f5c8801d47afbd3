"""Tensors: shape, type, quantisation and, for constants, the values."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from uhost.errors import VerifyError
from uhost.ir.dtype import DType

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Quantization:
    """Affine quantisation: real = scale · (q - zero_point).

    One scale per tensor (`axis` None) or one per index of `axis`.
    """

    scale: tuple[float, ...]
    zero_point: tuple[int, ...]
    axis: int | None = None

    @property
    def per_tensor(self) -> tuple[float, int]:
        """The scale and zero point of a per-tensor quantisation."""
        if len(self.scale) != 1:
            raise VerifyError(f"expected one scale, found {len(self.scale)}")
        return self.scale[0], self.zero_point[0]


@dataclass(frozen=True, slots=True, eq=False)
class Tensor:
    """A named value of the graph. `values` is set for constants, and read-only."""

    name: str
    shape: tuple[int, ...]
    dtype: DType
    quantization: Quantization | None = None
    values: Array | None = None

    def __post_init__(self) -> None:
        if self.values is not None:
            if self.values.shape != self.shape or self.values.dtype != self.dtype.numpy:
                raise VerifyError(
                    f"constant '{self.name}' is {self.values.dtype}{list(self.values.shape)}, "
                    f"declared {self.dtype}{list(self.shape)}"
                )
            self.values.setflags(write=False)

    @property
    def is_constant(self) -> bool:
        """True if the values are known at compile time."""
        return self.values is not None

    @property
    def elements(self) -> int:
        """Number of elements; 1 for a scalar."""
        return math.prod(self.shape)

    @property
    def size_bytes(self) -> int:
        """Bytes the tensor takes, without padding."""
        return self.elements * self.dtype.size_bytes

    @property
    def scale(self) -> float:
        """The per-tensor scale; raises `VerifyError` where there is none."""
        return self._quantized().per_tensor[0]

    @property
    def zero_point(self) -> int:
        """The per-tensor zero point; raises `VerifyError` where there is none."""
        return self._quantized().per_tensor[1]

    def _quantized(self) -> Quantization:
        if self.quantization is None:
            raise VerifyError(f"tensor '{self.name}' is not quantised")
        return self.quantization

    def constant(self) -> Array:
        """The values of a constant; raises `VerifyError` for any other tensor."""
        if self.values is None:
            raise VerifyError(f"tensor '{self.name}' is not a constant")
        return self.values

    def __str__(self) -> str:
        text = f"{self.dtype}[{'x'.join(map(str, self.shape))}]"
        if self.quantization is not None:
            if len(self.quantization.scale) == 1:
                scale, zero = self.quantization.per_tensor
                text += f" scale={scale:.9g} zero_point={zero}"
            else:
                text += f" scales={len(self.quantization.scale)}"
        return text
