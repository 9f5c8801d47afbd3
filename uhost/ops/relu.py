"""Negative numbers become zero."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from uhost.ir.graph import Attributes, BoundOperator
from uhost.ir.tensor import Array
from uhost.ops._examples import quantized
from uhost.ops._interval import elementwise
from uhost.ops._op import Activation, Example, Imported, OperatorKind, SourceNode, single
from uhost.ops._rectify import infer_rectifier, rectifier_examples, rectify
from uhost.ops._rows import element_rows
from uhost.ops._tflite import check_counts


@dataclass(frozen=True, slots=True)
class ReluAttributes(Attributes):
    """`unsigned`: the file's types are uint8, and the factor is formed as LiteRT does."""

    unsigned: bool = False


def _reference(
    bound: BoundOperator[ReluAttributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    source = inputs[0]
    assert source is not None
    return [rectify(bound, source, Activation.RELU)]


def _import_tflite(node: SourceNode) -> Imported:
    return Imported(ReluAttributes(node.from_uint8), check_counts(node, 1))


def _examples() -> Iterable[Example]:
    yield from rectifier_examples("relu", ReluAttributes())
    # With these scales one input tells a factor formed in float32 from one formed in double.
    tensors = (
        quantized("input", (1024,), 0.0726490244269371, -128),
        quantized("output", (1024,), 0.08313072472810745, -128),
    )
    graph = single("int8_double_factor", "relu", ReluAttributes(), tensors[:1], tensors[1:])
    yield Example("int8_double_factor", graph, ("int8",))


OPERATOR = OperatorKind(
    name="relu",
    attributes=ReluAttributes,
    infer=infer_rectifier,
    reference=_reference,
    importers={"tflite": {"RELU": _import_tflite}},
    examples=_examples,
    rows=element_rows,
    takes_uint8=True,
    interval=elementwise(_reference),
    is_channelwise=lambda bound: True,
)
