"""What operators that work element by element share: broadcasting, checks, import, examples."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from uhost.errors import MalformedModelError
from uhost.ir.dtype import DType
from uhost.ir.graph import Attributes, BoundOperator
from uhost.ir.tensor import Array, Tensor
from uhost.ops._activation import tflite_activation
from uhost.ops._checks import (
    require,
    require_dtype,
    require_quantized,
    require_same_dtype,
    require_symmetric,
)
from uhost.ops._examples import quantized
from uhost.ops._op import Activation, Example, Imported, Importer, SourceNode, single
from uhost.ops._tflite import check_counts, options_table

Shapes = Sequence[tuple[int, ...]]
Rule = Callable[[BoundOperator[Any]], Sequence[tuple[tuple[int, ...], DType]]]
Reference = Callable[[BoundOperator[Any], Sequence[Array | None]], Sequence[Array]]

QUANTIZED = (DType.INT8, DType.INT16)
"""Types whose numbers stand for others, by a scale and a zero point."""


@dataclass(frozen=True, slots=True)
class NoAttributes(Attributes):
    """Nothing to choose."""


@dataclass(frozen=True, slots=True)
class ActivationAttributes(Attributes):
    """What follows the arithmetic."""

    activation: Activation = Activation.NONE


def arrays(inputs: Sequence[Array | None]) -> list[Array]:
    """Returns the inputs of an operator that has no optional ones."""
    present = [array for array in inputs if array is not None]
    assert len(present) == len(inputs)
    return present


def broadcast(bound: BoundOperator[Any]) -> tuple[int, ...]:
    """Returns the shape that all inputs stretch to; `MalformedModelError` where there is none."""
    shapes = [tensor.shape for tensor in bound.inputs if tensor is not None]
    try:
        return tuple(np.broadcast_shapes(*shapes))
    except ValueError:
        text = " and ".join(str(list(shape)) for shape in shapes)
        raise MalformedModelError(
            f"shapes {text} do not broadcast", where=f"operator '{bound.name}' ({bound.kind})"
        ) from None


def infer_elements(*types: DType, output: DType | None = None) -> Rule:
    """Returns the rule of an operator on inputs of one of `types`, which broadcast.

    The output has the inputs' type, or is `output`. int8 and int16 have to be quantised, with
    the zero point 0 if int16.
    """

    def infer(bound: BoundOperator[Any]) -> Sequence[tuple[tuple[int, ...], DType]]:
        tensors = [bound.input(index) for index in range(len(bound.inputs))]
        for tensor in tensors:
            require_dtype(tensor, *types)
        require_same_dtype(*tensors)
        dtype = output or tensors[0].dtype
        require_dtype(bound.output, dtype)
        if tensors[0].dtype in QUANTIZED:
            related = [*tensors, *([] if output else [bound.output])]
            require_quantized(*related)
            require_symmetric(*related)
        return [(broadcast(bound), dtype)]

    return infer


def import_plain(inputs: int, attributes: Attributes | None = None) -> Importer:
    """Returns the TFLite importer of an operator whose options say nothing."""

    def take(node: SourceNode) -> Imported:
        return Imported(attributes or NoAttributes(), check_counts(node, inputs))

    return take


def import_activation(table: str, attributes: type[ActivationAttributes]) -> Importer:
    """Returns the TFLite importer of an operator on two inputs with a fused activation."""

    def take(node: SourceNode) -> Imported:
        inputs = check_counts(node, 2)
        options = options_table(node, table)
        code = options.FusedActivationFunction() if options is not None else 0
        return Imported(attributes(tflite_activation(code)), inputs)

    return take


_SCALES = {DType.INT8: (0.05, 0.031, 0.044), DType.INT16: (0.0003, 0.00021, 0.00026)}
_ZERO_POINTS = (3, -11, 7)


def example(
    kind: str,
    name: str,
    dtype: DType,
    shapes: Shapes,
    attributes: Attributes | None = None,
    *,
    scales: Sequence[float] | None = None,
    zero_points: Sequence[int] | None = None,
    output: tuple[float, int] | None = None,
    output_dtype: DType | None = None,
    constants: dict[int, Array] | None = None,
) -> Example:
    """Returns an example of inputs of one type; int8 and int16 are quantised as given.

    `output` is the output's scale and zero point, `constants` holds inputs that are fixed.
    """
    count, result = len(shapes), output_dtype or dtype
    shape = tuple(np.broadcast_shapes(*shapes))
    given = scales if scales is not None else _SCALES.get(dtype, (1.0,))
    zeros = zero_points or (_ZERO_POINTS if dtype is DType.INT8 else (0, 0, 0))

    def tensor(label: str, size: tuple[int, ...], index: int, values: Array | None) -> Tensor:
        if dtype not in QUANTIZED:
            return Tensor(label, size, dtype, None, values)
        return quantized(label, size, given[index], zeros[index], dtype, values)

    inputs = [
        tensor(f"input{index}" if count > 1 else "input", size, index, (constants or {}).get(index))
        for index, size in enumerate(shapes)
    ]
    if result in QUANTIZED:
        scale, zero_point = output or (0.07 if result is DType.INT8 else 0.0004, 0)
        made = quantized("output", shape, scale, zero_point, result)
    else:
        made = Tensor("output", shape, result)
    graph = single(name, kind, attributes or NoAttributes(), inputs, [made])
    return Example(name, graph, (str(dtype),))


def binary_shapes() -> Iterator[tuple[str, Shapes]]:
    """Yields (name, shapes) of two inputs: equal ones, and every kind of broadcasting."""
    yield "", ((2, 3, 5), (2, 3, 5))
    yield "_scalar", ((), (2, 3))
    yield "_per_channel", ((2, 3, 5), (5,))
    yield "_both_broadcast", ((2, 1, 3, 1), (4, 1, 5))


def require_one_quantization(*tensors: Tensor) -> None:
    """Requires quantised tensors to have one scale and zero point: raw numbers are compared."""
    first = tensors[0]
    for other in tensors[1:]:
        same = first.quantization is None or (first.scale, first.zero_point) == (
            other.scale,
            other.zero_point,
        )
        require(same, f"'{other.name}' and '{first.name}' are quantised differently")
