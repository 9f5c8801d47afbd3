"""Numbers are clamped to [0, 6].

Where an int8 input and output are quantised differently, TFLite Micro copies the raw
numbers without scaling them; uhost rescales them, as LiteRT does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from uhost.ir.graph import Attributes, BoundOperator
from uhost.ir.tensor import Array
from uhost.ops._interval import elementwise
from uhost.ops._op import Activation, Example, Imported, OperatorKind, SourceNode
from uhost.ops._rectify import infer_rectifier, rectifier_examples, rectify
from uhost.ops._rows import element_rows
from uhost.ops._tflite import check_counts


@dataclass(frozen=True, slots=True)
class Relu6Attributes(Attributes):
    """`unsigned`: the file's types are uint8, and the factor is formed as LiteRT does."""

    unsigned: bool = False


def _reference(
    bound: BoundOperator[Relu6Attributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    source = inputs[0]
    assert source is not None
    return [rectify(bound, source, Activation.RELU6)]


def _import_tflite(node: SourceNode) -> Imported:
    return Imported(Relu6Attributes(node.from_uint8), check_counts(node, 1))


def _examples() -> Iterable[Example]:
    return rectifier_examples("relu6", Relu6Attributes())


OPERATOR = OperatorKind(
    name="relu6",
    attributes=Relu6Attributes,
    infer=infer_rectifier,
    reference=_reference,
    importers={"tflite": {"RELU6": _import_tflite}},
    examples=_examples,
    rows=element_rows,
    takes_uint8=True,
    interval=elementwise(_reference),
    is_channelwise=lambda bound: True,
)
