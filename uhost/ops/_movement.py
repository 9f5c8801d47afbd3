"""What operators that only move elements have in common."""

from __future__ import annotations

from typing import Any

from uhost.errors import MalformedModelError
from uhost.ir.dtype import COMPUTED, DType
from uhost.ir.graph import Attributes, BoundOperator
from uhost.ir.tensor import Tensor
from uhost.ops._checks import require, require_dtype, require_same_dtype
from uhost.ops._op import Example, single

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


def moved(
    kind: str,
    name: str,
    attributes: Attributes,
    shape: tuple[int, ...],
    result: tuple[int, ...],
    dtype: DType,
) -> Example:
    """Returns the example of an operator that moves one input of `shape` to one output."""
    source, output = example_tensor("input", shape, dtype), example_tensor("output", result, dtype)
    return Example(name, single(name, kind, attributes, [source], [output]), (str(dtype),))


def misfit(bound: BoundOperator[Any], what: str) -> MalformedModelError:
    """Returns the error that an operator's attributes do not fit the shapes of its tensors."""
    return MalformedModelError(what, where=f"operator '{bound.name}' ({bound.kind})")
