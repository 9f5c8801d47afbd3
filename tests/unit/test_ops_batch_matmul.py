"""BATCH_MATMUL: what it refuses, and how it rounds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from uhost.errors import MalformedModelError
from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.ir.tensor import Tensor
from uhost.ops._examples import quantized, real
from uhost.ops._op import OPERATORS, UnsupportedNodeError
from uhost.ops.batch_matmul import BatchMatmulAttributes

KIND = OPERATORS["batch_matmul"]


def bound(*tensors: Tensor, **transposed: bool) -> BoundOperator[Any]:
    attributes = BatchMatmulAttributes(**transposed)
    return BoundOperator("m", "batch_matmul", attributes, tensors[:2], tensors[2:])


@pytest.mark.parametrize(
    ("first", "second"), [((2, 3), (2, 4)), ((2, 2, 3), (3, 3, 4)), ((3,), (3, 4))]
)
def test_operands_have_to_fit(first: tuple[int, ...], second: tuple[int, ...]) -> None:
    with pytest.raises(MalformedModelError) as caught:
        KIND.infer(bound(real("a", first), real("b", second), real("o", (2, 4))))
    assert caught.value.what == f"a product of {list(first)} and {list(second)}"


def test_transposed_operands_give_the_sizes_of_what_they_are() -> None:
    tensors = real("a", (5, 3)), real("b", (4, 5)), real("o", (3, 4))
    made = KIND.infer(bound(*tensors, first_transposed=True, second_transposed=True))
    assert list(made) == [((3, 4), DType.FLOAT32)]


def test_int16_with_a_zero_point_and_sums_too_long_are_refused() -> None:
    wide = [quantized(n, (2, 2), 0.1, int(n == "b"), DType.INT16) for n in "abo"]
    with pytest.raises(UnsupportedNodeError, match="'b' is int16 with a zero point"):
        KIND.infer(bound(*wide))
    length = (1 << 15) + 1
    long = quantized("a", (1, length), 0.1, 0), quantized("b", (length, 1), 0.1, 0)
    with pytest.raises(UnsupportedNodeError, match="sums of 32769 products"):
        KIND.infer(bound(*long, quantized("o", (1, 1), 0.1, 0)))
    scales = (("a", 100.0), ("b", 1000.0), ("o", 1.0))
    coarse = [quantized(name, (1, 1), scale, 0, DType.INT16) for name, scale in scales]
    with pytest.raises(UnsupportedNodeError, match="such scales"):
        KIND.infer(bound(*coarse))


@pytest.mark.parametrize(("dtype", "rounded"), [(DType.INT8, -2), (DType.INT16, -1)])
def test_ties_go_away_from_zero_in_int8_and_upward_in_int16(dtype: DType, rounded: int) -> None:
    tensors = [quantized(n, (1, 1), s, 0, dtype) for n, s in (("a", 0.25), ("b", 1.0), ("o", 1.0))]
    values = np.array([[-6]], dtype.numpy), np.array([[1]], dtype.numpy)
    assert KIND.reference(bound(*tensors), values)[0].tolist() == [[rounded]]
