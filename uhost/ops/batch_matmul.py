"""Products of matrices, one pair after the other along the axes in front.

int8 sums are 32 bits and requantised with two roundings, int16 sums 64 bits with one; the
product of the input scales is rounded to float32 (TFLite, "batch_matmul.cc").
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from uhost.ir.dtype import DType
from uhost.ir.graph import Attributes, BoundOperator
from uhost.ir.tensor import Array
from uhost.numerics.fixed_point import (
    multiply_by_quantized_multiplier,
    multiply_wide,
    quantize_multiplier,
)
from uhost.ops._checks import (
    require,
    require_dtype,
    require_quantized,
    require_same_dtype,
    require_symmetric,
)
from uhost.ops._examples import quantized, real
from uhost.ops._movement import misfit
from uhost.ops._op import Example, Imported, OperatorKind, SourceNode, single
from uhost.ops._tflite import check_counts, options_table

TYPES = (DType.FLOAT32, DType.INT8, DType.INT16)

LONGEST = {DType.INT8: 1 << 15, DType.INT16: 1 << 16, DType.FLOAT32: 1 << 31}
"""Products in a sum, so that it fits its accumulator."""


@dataclass(frozen=True, slots=True)
class BatchMatmulAttributes(Attributes):
    """Whether the last two axes of an operand are exchanged before."""

    first_transposed: bool = False
    second_transposed: bool = False


@dataclass(frozen=True, slots=True)
class Sizes:
    """Rows of the first operand, columns of the second, length of the sums, axes in front."""

    rows: int
    columns: int
    depth: int
    batches: tuple[int, ...]


def sizes_of(bound: BoundOperator[BatchMatmulAttributes]) -> Sizes:
    """Returns the sizes after checking that the operands fit one another."""
    first, second, at = bound.input(0).shape, bound.input(1).shape, bound.attributes
    wrong = misfit(bound, f"a product of {list(first)} and {list(second)}")
    if len(first) < 2 or len(second) < 2:
        raise wrong
    rows, depth = first[-2:] if not at.first_transposed else first[:-3:-1]
    inner, columns = second[-2:] if not at.second_transposed else second[:-3:-1]
    try:
        batches = np.broadcast_shapes(first[:-2], second[:-2])
    except ValueError as error:
        raise wrong from error
    if inner != depth:
        raise wrong
    return Sizes(rows, columns, depth, batches)


def matmul_scaling(bound: BoundOperator[BatchMatmulAttributes]) -> tuple[int, int]:
    """Returns multiplier and shift of the sums of quantised numbers."""
    with np.errstate(over="ignore", under="ignore"):
        product = np.float32(bound.input(0).scale) * np.float32(bound.input(1).scale)
    return quantize_multiplier(float(np.float64(product) / np.float64(bound.output.scale)))


def _infer(bound: BoundOperator[BatchMatmulAttributes]) -> Sequence[tuple[tuple[int, ...], DType]]:
    first, second = bound.input(0), bound.input(1)
    require_dtype(first, *TYPES)
    require_dtype(second, *TYPES)
    require_same_dtype(first, second, bound.output)
    sizes = sizes_of(bound)
    require(sizes.depth <= LONGEST[first.dtype], f"sums of {sizes.depth} products")
    if first.dtype is not DType.FLOAT32:
        require_quantized(first, second, bound.output)
        require_symmetric(first, second, bound.output)
        _, shift = matmul_scaling(bound)
        require(-31 <= shift <= (14 if first.dtype is DType.INT16 else 31), "such scales")
    return [((*sizes.batches, sizes.rows, sizes.columns), first.dtype)]


def _reference(
    bound: BoundOperator[BatchMatmulAttributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    first, second = inputs[0], inputs[1]
    assert first is not None
    assert second is not None
    at = bound.attributes
    if at.first_transposed:
        first = first.swapaxes(-1, -2)
    if at.second_transposed:
        second = second.swapaxes(-1, -2)
    if bound.output.dtype is DType.FLOAT32:
        total = np.zeros(bound.output.shape, np.float32)
        # Added product by product, the order of a plain loop.
        for k in range(first.shape[-1]):
            total += first[..., :, k, None] * second[..., None, k, :]
        return [total]
    left = first.astype(np.int64) - bound.input(0).zero_point
    right = second.astype(np.int64) - bound.input(1).zero_point
    multiplier, shift = matmul_scaling(bound)
    wide = bound.output.dtype is DType.INT16
    scaled = (multiply_wide if wide else multiply_by_quantized_multiplier)(
        left @ right, multiplier, shift
    )
    low, high = bound.output.dtype.limits
    return [np.clip(scaled + bound.output.zero_point, low, high).astype(bound.output.dtype.numpy)]


def _import_tflite(node: SourceNode) -> Imported:
    inputs = check_counts(node, 2)
    options = options_table(node, "BatchMatMulOptions")
    transposed = (bool(options.AdjX()), bool(options.AdjY())) if options else (False, False)
    return Imported(BatchMatmulAttributes(*transposed), inputs)


def _macs(bound: BoundOperator[BatchMatmulAttributes]) -> int:
    sizes = sizes_of(bound)
    return math.prod(sizes.batches) * sizes.rows * sizes.columns * sizes.depth


def _examples() -> Iterable[Example]:
    shapes = {
        "plain": ((3, 5), (5, 4), False, False),
        "first_transposed": ((2, 5, 3), (2, 5, 4), True, False),
        "second_transposed": ((1, 3, 7), (1, 4, 7), False, True),
        "both_transposed": ((2, 6, 3), (2, 4, 6), True, True),
        "broadcast": ((2, 1, 3, 4), (3, 4, 2), False, False),
        "more_axes": ((3, 4), (2, 4, 5), False, False),
        "vector": ((1, 1, 33), (1, 33, 2), False, False),
    }
    for dtype in TYPES:
        for name, (first, second, left, right) in shapes.items():
            attributes = BatchMatmulAttributes(left, right)
            depth = first[-2 if left else -1]
            rows, columns = first[-1 if left else -2], second[-2 if right else -1]
            result = (*np.broadcast_shapes(first[:-2], second[:-2]), rows, columns)
            if dtype is DType.FLOAT32:
                tensors = real("first", first), real("second", second), real("output", result)
            else:
                zero = (3, -7, 11) if dtype is DType.INT8 else (0, 0, 0)
                tensors = (
                    quantized("first", first, 0.05, zero[0], dtype),
                    quantized("second", second, 0.04, zero[1], dtype),
                    quantized("output", result, 0.06 * depth, zero[2], dtype),
                )
            graph = single(f"{dtype}_{name}", "batch_matmul", attributes, tensors[:2], tensors[2:])
            yield Example(f"{dtype}_{name}", graph, (str(dtype),))


OPERATOR = OperatorKind(
    name="batch_matmul",
    attributes=BatchMatmulAttributes,
    infer=_infer,
    reference=_reference,
    importers={"tflite": {"BATCH_MATMUL": _import_tflite}},
    examples=_examples,
    macs=_macs,
)
