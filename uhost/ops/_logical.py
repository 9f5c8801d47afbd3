"""What LOGICAL_AND, LOGICAL_OR and LOGICAL_NOT share."""

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
from uhost.ops._op import Example, OperatorKind


def logical(name: str, arity: int, function: Callable[..., Array]) -> OperatorKind[NoAttributes]:
    """Returns the operator that applies `function` to `arity` booleans."""

    def reference(bound: BoundOperator[Any], inputs: Sequence[Array | None]) -> Sequence[Array]:
        return [np.asarray(function(*arrays(inputs)))]

    def examples() -> Iterator[Example]:
        for suffix, shapes in binary_shapes():
            yield example(name, f"bool{suffix}", DType.BOOL, shapes[:arity])

    return OperatorKind(
        name=name,
        attributes=NoAttributes,
        infer=infer_elements(DType.BOOL),
        reference=reference,
        importers={"tflite": {name.upper(): import_plain(arity)}},
        examples=examples,
        folds_at_import=True,
    )
