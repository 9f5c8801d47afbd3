"""Numbers are clamped to [0, 6].

Where an int8 input and output are quantised differently, TFLite Micro copies the raw
numbers without scaling them; uhost rescales them, as LiteRT does.
"""

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
class Relu6Attributes(Attributes):
    """Nothing to choose."""


def _reference(
    bound: BoundOperator[Relu6Attributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    source = inputs[0]
    assert source is not None
    return [rectify(bound, source, Activation.RELU6)]


def _import_tflite(node: SourceNode) -> Imported:
    return Imported(Relu6Attributes(), check_counts(node, 1))


def _examples() -> Iterable[Example]:
    def case(
        name: str, shape: tuple[int, ...], source: tuple[float, int], output: tuple[float, int]
    ) -> Example:
        tensors = quantized("input", shape, *source), quantized("output", shape, *output)
        graph = single(name, "relu6", Relu6Attributes(), tensors[:1], tensors[1:])
        return Example(name, graph, ("int8",))

    shape = (2, 3, 17)
    yield case("int8", shape, (0.06, 11), (0.06, 11))
    yield case("int8_coarse", shape, (0.2, -20), (0.2, -20))
    yield case("int8_scalar", (), (0.1, 0), (0.1, 0))
    yield case("int8_requantize", shape, (0.07, 3), (0.0235, -128))
    yield case("int8_requantize_wider", (256,), (0.02, -5), (0.11, 100))
    tensors = real("input", shape), real("output", shape)
    yield Example(
        "float32", single("float32", "relu6", Relu6Attributes(), tensors[:1], tensors[1:])
    )


OPERATOR = OperatorKind(
    name="relu6",
    attributes=Relu6Attributes,
    infer=infer_rectifier,
    reference=_reference,
    importers={"tflite": {"RELU6": _import_tflite}},
    examples=_examples,
    interval=elementwise(_reference),
    is_channelwise=lambda bound: True,
)
