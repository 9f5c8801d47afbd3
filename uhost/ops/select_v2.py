"""The first of two elements where a condition holds, else the second; all three broadcast."""

from __future__ import annotations

from collections.abc import Iterator

from uhost.ir.dtype import DType
from uhost.ops._elementwise import NoAttributes, import_plain
from uhost.ops._op import Example, OperatorKind
from uhost.ops._select import infer_select, select, select_example, select_examples


def _examples() -> Iterator[Example]:
    yield from select_examples("select_v2")
    for dtype in (DType.FLOAT32, DType.INT8, DType.INT16):
        shapes = {
            "condition": [(5,), (3, 4, 5), (3, 4, 5)],
            "scalar": [(3, 4, 5), (), (3, 4, 5)],
            "all": [(4, 1), (3, 1, 5), (4, 5)],
        }
        for name, three in shapes.items():
            yield select_example("select_v2", f"{dtype}_broadcast_{name}", dtype, three)


OPERATOR = OperatorKind(
    name="select_v2",
    attributes=NoAttributes,
    infer=infer_select,
    reference=select,
    importers={"tflite": {"SELECT_V2": import_plain(3)}},
    examples=_examples,
    takes_uint8=True,
    folds_at_import=True,
    by_litert=lambda bound: bound.output.dtype in (DType.INT32, DType.INT64, DType.BOOL),
)
