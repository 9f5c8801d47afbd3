"""What operators that only move elements have in common."""

from __future__ import annotations

from uhost.ir.dtype import COMPUTED, DType
from uhost.ir.tensor import Tensor
from uhost.ops._checks import require, require_dtype, require_same_dtype

ANY_TYPE = COMPUTED


def require_moved(source: Tensor, *outputs: Tensor) -> None:
    """Requires outputs of the source's type and, where that is quantised, its quantisation.

    TFLite's kernels copy whatever the quantisation says; a file in which it changes on the
    way means something that copying does not do.
    """
    require_dtype(source, *ANY_TYPE)
    require_same_dtype(source, *outputs)
    for output in outputs:
        one, two = source.quantization, output.quantization
        same = (one.scale, one.zero_point) == (two.scale, two.zero_point) if one and two else True
        require(same, f"'{output.name}' and '{source.name}' are quantised differently")


def example_tensor(name: str, shape: tuple[int, ...], dtype: DType) -> Tensor:
    """Returns a tensor of any type for an example, without quantisation."""
    return Tensor(name, shape, dtype)
