"""Negative numbers become zero."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from uhost.ir.graph import Attributes, BoundOperator
from uhost.ir.tensor import Array
from uhost.ops._examples import quantized, real
from uhost.ops._interval import elementwise
from uhost.ops._op import Activation, Example, Imported, OperatorKind, SourceNode, single
from uhost.ops._rectify import infer_rectifier, rectify
from uhost.ops._tflite import check_counts


@dataclass(frozen=True, slots=True)
class ReluAttributes(Attributes):
    """Nothing to choose."""


def _reference(
    bound: BoundOperator[ReluAttributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    source = inputs[0]
    assert source is not None
    return [rectify(bound, source, Activation.RELU)]


def _import_tflite(node: SourceNode) -> Imported:
    return Imported(ReluAttributes(), check_counts(node, 1))


def _examples() -> Iterable[Example]:
    def case(
        name: str, shape: tuple[int, ...], source: tuple[float, int], output: tuple[float, int]
    ) -> Example:
        tensors = quantized("input", shape, *source), quantized("output", shape, *output)
        graph = single(name, "relu", ReluAttributes(), tensors[:1], tensors[1:])
        return Example(name, graph, ("int8",))

    shape = (2, 3, 17)
    yield case("int8", shape, (0.06, 11), (0.06, 11))
    yield case("int8_coarse", shape, (0.2, -20), (0.2, -20))
    yield case("int8_scalar", (), (0.1, 0), (0.1, 0))
    yield case("int8_requantize", shape, (0.07, 3), (0.0235, -128))
    yield case("int8_requantize_wider", (256,), (0.02, -5), (0.11, 100))
    # With these scales one input tells a factor formed in float32 from one formed in double.
    telling = (0.0726490244269371, -128), (0.08313072472810745, -128)
    yield case("int8_float32_factor", (1024,), *telling)
    tensors = real("input", shape), real("output", shape)
    yield Example("float32", single("float32", "relu", ReluAttributes(), tensors[:1], tensors[1:]))


OPERATOR = OperatorKind(
    name="relu",
    attributes=ReluAttributes,
    infer=infer_rectifier,
    reference=_reference,
    importers={"tflite": {"RELU": _import_tflite}},
    examples=_examples,
    interval=elementwise(_reference),
    is_channelwise=lambda bound: True,
)
