"""Operators that apply one function to every float32 element."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.ir.tensor import Array
from uhost.ops._elementwise import NoAttributes, arrays, example, import_plain, infer_elements
from uhost.ops._op import Example, OperatorKind


def float_function(name: str, function: Callable[[Array], Array]) -> OperatorKind[NoAttributes]:
    """Returns the operator that applies `function`, which rounds to float32.

    Outside its domain it gives NaN or an infinity, without a warning.
    """

    def reference(bound: BoundOperator[Any], inputs: Sequence[Array | None]) -> Sequence[Array]:
        with np.errstate(all="ignore"):
            return [np.asarray(function(arrays(inputs)[0]), np.float32)]

    def examples() -> Iterator[Example]:
        yield example(name, "float32", DType.FLOAT32, ((3, 4, 25),))
        yield example(name, "float32_scalar", DType.FLOAT32, ((),))

    return OperatorKind(
        name=name,
        attributes=NoAttributes,
        infer=infer_elements(DType.FLOAT32),
        reference=reference,
        importers={"tflite": {name.upper(): import_plain(1)}},
        examples=examples,
        folds_at_import=True,
        is_channelwise=lambda bound: True,
    )
