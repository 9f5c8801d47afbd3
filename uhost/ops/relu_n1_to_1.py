"""Numbers are clamped to [-1, 1]."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from uhost.ir.graph import Attributes, BoundOperator
from uhost.ir.tensor import Array
from uhost.ops._interval import elementwise
from uhost.ops._op import Activation, Example, Imported, OperatorKind, SourceNode
from uhost.ops._rectify import infer_rectifier, rectifier_examples, rectify
from uhost.ops._tflite import check_counts


@dataclass(frozen=True, slots=True)
class ReluN1To1Attributes(Attributes):
    """`unsigned`: the file's types are uint8, and the factor is formed as LiteRT does."""

    unsigned: bool = False


def _reference(
    bound: BoundOperator[ReluN1To1Attributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    source = inputs[0]
    assert source is not None
    return [rectify(bound, source, Activation.RELU_N1_TO_1)]


def _import_tflite(node: SourceNode) -> Imported:
    return Imported(ReluN1To1Attributes(node.from_uint8), check_counts(node, 1))


def _examples() -> Iterable[Example]:
    return rectifier_examples("relu_n1_to_1", ReluN1To1Attributes())


OPERATOR = OperatorKind(
    name="relu_n1_to_1",
    attributes=ReluN1To1Attributes,
    infer=infer_rectifier,
    reference=_reference,
    importers={"tflite": {"RELU_N1_TO_1": _import_tflite}},
    examples=_examples,
    takes_uint8=True,
    interval=elementwise(_reference),
    is_channelwise=lambda bound: True,
    by_litert=lambda bound: True,
)
