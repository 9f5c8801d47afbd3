"""The smaller of two elements, with numpy broadcasting."""

from __future__ import annotations

from uhost.ops._elementwise import NoAttributes, import_plain
from uhost.ops._extremes import extreme_examples, infer_extreme, take
from uhost.ops._interval import elementwise
from uhost.ops._op import OperatorKind

_reference = take("min")

OPERATOR = OperatorKind(
    name="minimum",
    attributes=NoAttributes,
    infer=infer_extreme,
    reference=_reference,
    importers={"tflite": {"MINIMUM": import_plain(2)}},
    examples=lambda: extreme_examples("minimum"),
    takes_uint8=True,
    folds_at_import=True,
    interval=elementwise(_reference),
    is_channelwise=lambda bound: bound.input(0).shape == bound.input(1).shape,
)
