"""Every element with the other sign."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.ir.tensor import Array
from uhost.ops._elementwise import NoAttributes, arrays, example, import_plain, infer_elements
from uhost.ops._op import Example, OperatorKind, reads

_TYPES = (DType.FLOAT32, DType.INT32, DType.INT64)


def _reference(
    bound: BoundOperator[NoAttributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    return [-arrays(inputs)[0]]  # the lowest integer stays, as it does in a register


def _examples() -> Iterator[Example]:
    for dtype in _TYPES:
        yield example("neg", str(dtype), dtype, ((3, 4, 5),))


OPERATOR = OperatorKind(
    name="neg",
    attributes=NoAttributes,
    infer=infer_elements(*_TYPES),
    reference=_reference,
    importers={"tflite": {"NEG": import_plain(1)}},
    examples=_examples,
    folds_at_import=True,
    is_channelwise=lambda bound: True,
    by_litert=reads(DType.INT32, DType.INT64),
)
