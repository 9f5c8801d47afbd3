"""What FLOOR_DIV and FLOOR_MOD share.

Where TFLite's kernels end the run, a division of integers by 0, the result is 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.ir.tensor import Array
from uhost.ops._elementwise import (
    NoAttributes,
    arrays,
    binary_shapes,
    example,
    import_plain,
    infer_elements,
)
from uhost.ops._op import Example, OperatorKind, reads


def floor_operator(
    name: str, function: Callable[[Array, Array], Array], *types: DType
) -> OperatorKind[NoAttributes]:
    """Returns the operator that applies `function` to pairs of float64 or of integers."""

    def reference(bound: BoundOperator[Any], inputs: Sequence[Array | None]) -> Sequence[Array]:
        first, second = arrays(inputs)
        with np.errstate(all="ignore"):
            if first.dtype == np.float32:
                made = function(first.astype(np.float64), second.astype(np.float64))
                return [made.astype(np.float32)]
            made = function(first.astype(np.int64), second.astype(np.int64))
            return [np.clip(made, *bound.output.dtype.limits).astype(first.dtype)]

    def examples() -> Iterator[Example]:
        random = np.random.default_rng(5)
        for dtype in types:
            for suffix, shapes in binary_shapes():
                divisors = random.normal(0.0, 9.0, shapes[1])
                if dtype is not DType.FLOAT32:
                    divisors = divisors.round()
                    divisors = np.where(np.isin(divisors, (-1, 0)), 5, divisors)
                constants = {1: divisors.astype(dtype.numpy)}
                yield example(name, f"{dtype}{suffix}", dtype, shapes, constants=constants)
        yield example(name, "float32_both", DType.FLOAT32, ((5, 60), (5, 60)))
        for label, divisor in (("zero", 0), ("lowest", -1)):
            fixed = {1: np.array(divisor, np.int32)}
            yield example(name, f"int32_{label}", DType.INT32, ((9,), ()), constants=fixed)

    return OperatorKind(
        name=name,
        attributes=NoAttributes,
        infer=infer_elements(*types),
        reference=reference,
        importers={"tflite": {name.upper(): import_plain(2)}},
        examples=examples,
        by_litert=reads(DType.INT32, DType.INT64),
        folds_at_import=True,
    )
