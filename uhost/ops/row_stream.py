"""A chain of operators that runs row by row, so that the tensors between them are never whole.

Input: the tensor that the chain reads, an image. Output: what the last operator makes. No
format has it: the choice of kernels makes one of operators that a model has. It computes what
they compute, each row once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from uhost.ir.dtype import DType
from uhost.ir.graph import Absorbed, BoundOperator, CallingAttributes, Graph, Operator
from uhost.ir.tensor import Array, Quantization, Tensor
from uhost.ops._calls import check_ends, contradiction, ends_of
from uhost.ops._op import (
    OPERATORS,
    Activation,
    Example,
    OperatorKind,
    Padding2D,
    UnsupportedNodeError,
    evaluate,
)
from uhost.ops._rows import stream_of, strip_of
from uhost.ops._weighted_examples import LayerStyle, layer_example
from uhost.ops.add import AddAttributes
from uhost.ops.conv_2d import Conv2DAttributes
from uhost.ops.depthwise_conv_2d import DepthwiseConv2DAttributes


@dataclass(frozen=True, slots=True)
class RowStreamAttributes(CallingAttributes):
    """The chain as a graph, and in `called` the graph that makes one row, of every version."""

    whole: Graph = field(kw_only=True)

    keeps_inputs: ClassVar[bool] = True

    @property
    def roles(self) -> tuple[str, ...]:
        """The operators that the graphs are of."""
        return tuple(graph.operators[0].name for graph in self.called)

    def __str__(self) -> str:
        return f"of {', '.join(operator.name for operator in self.whole.operators)}"


def row_stream(whole: Graph, name: str) -> Operator:
    """Returns the operator that does what `whole` does, row by row.

    Raises `UnsupportedNodeError` where that cannot be.
    """
    stages = stream_of(whole).stages
    called = tuple(strip_of(stage, v) for stage in stages for v in range(len(stage.versions)))
    absorbed = [
        one
        for operator in whole.operators
        for one in (*operator.absorbed, Absorbed(operator.name, operator.outputs[0]))
    ]
    at = RowStreamAttributes(called, whole=whole)
    return Operator(name, "row_stream", whole.inputs, whole.outputs, at, tuple(absorbed))


def _infer(bound: BoundOperator[RowStreamAttributes]) -> Sequence[tuple[tuple[int, ...], DType]]:
    whole = bound.attributes.whole
    check_ends(bound, whole, whole.inputs, [bound.input(0)])
    try:
        stream_of(whole)
    except UnsupportedNodeError as error:
        raise contradiction(bound, str(error)) from error
    return ends_of(whole)


def _reference(
    bound: BoundOperator[RowStreamAttributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    whole, image = bound.attributes.whole, inputs[0]
    assert image is not None
    values = evaluate(whole, {whole.inputs[0]: image})
    return [values[name] for name in whole.outputs]


def _macs(bound: BoundOperator[RowStreamAttributes]) -> int:
    return sum(OPERATORS[b.kind].macs(b) for b in bound.attributes.whole.bound_operators())


def _layer(kind: str, source: Tensor, name: str, at: Any, shape: tuple[int, ...]) -> Graph:
    """Returns a weighted layer that reads `source`, of its scale and zero point."""
    axis = 0 if kind == "conv_2d" else 3
    style = LayerStyle(dtype=source.dtype, input_zero_point=3)

    def infer(bound: BoundOperator[Any]) -> list[tuple[tuple[int, ...], DType]]:
        return list(OPERATORS[kind].infer(bound))

    made = layer_example(f"stream_{name}", kind, at, source.shape, shape, axis, infer, style).graph
    [operator] = made.operators
    names = {n: f"{name}_{n}" for n in made.tensors} | {"input": source.name}
    tensors = {names[n]: replace(t, name=names[n]) for n, t in made.tensors.items()}
    tensors[source.name] = source
    renamed = replace(
        operator,
        name=name,
        inputs=tuple(names[n] for n in operator.inputs),
        outputs=tuple(names[n] for n in operator.outputs),
    )
    return Graph(name, tensors, (renamed,), (source.name,), renamed.outputs)


def _chain(name: str, source: Tensor, layers: Sequence[tuple[Any, ...]], joined: bool) -> Example:
    """Returns the stream of layers, the first and the last of them added where `joined`."""
    tensors: dict[str, Tensor] = {}
    operators: list[Operator] = []
    last = source
    for number, (kind, at, shape) in enumerate(layers):
        one = _layer(kind, last, f"{kind}_{number}", at, shape)
        tensors |= one.tensors
        operators += one.operators
        last = one.tensors[one.outputs[0]]
    if joined:
        names = (operators[0].outputs[0], last.name)
        last = replace(last, name="sum")
        operators.append(Operator("add", "add", names, ("sum",), AddAttributes(Activation.NONE)))
        tensors["sum"] = last
    whole = Graph(name, tensors, tuple(operators), (source.name,), (last.name,))
    stream = row_stream(whole, "row_stream")
    graph = Graph(name, {t.name: t for t in (source, last)}, (stream,), whole.inputs, whole.outputs)
    return Example(name, graph, (str(source.dtype),))


def _examples() -> Iterator[Example]:
    def conv(padding: Padding2D, stride: int = 1) -> Conv2DAttributes:
        return Conv2DAttributes((stride, stride), (1, 1), padding, Activation.RELU)

    def depthwise(padding: Padding2D, stride: int = 1) -> DepthwiseConv2DAttributes:
        return DepthwiseConv2DAttributes((stride, stride), (1, 1), padding, Activation.NONE)

    around, after = Padding2D(1, 1, 1, 1), Padding2D(0, 0, 1, 1)
    image = Tensor("input", (1, 10, 8, 4), DType.INT8, Quantization((0.05,), (3,)))
    narrowing = (
        ("conv_2d", conv(after, 2), (8, 3, 3, 4)),
        ("depthwise_conv_2d", depthwise(around), (1, 3, 3, 8)),
        ("conv_2d", conv(Padding2D()), (12, 1, 1, 8)),
    )
    residual = (
        ("conv_2d", conv(around), (8, 3, 3, 4)),
        ("conv_2d", conv(around), (8, 3, 3, 8)),
        ("depthwise_conv_2d", depthwise(Padding2D(2, 2, 2, 2)), (1, 5, 5, 8)),
    )
    skipping = (
        ("conv_2d", conv(around), (8, 3, 3, 4)),
        ("conv_2d", conv(Padding2D(), 2), (8, 1, 1, 8)),
        ("depthwise_conv_2d", depthwise(after, 2), (1, 3, 3, 8)),
    )
    yield _chain("narrowing", image, narrowing, False)
    yield _chain("residual", image, residual, True)
    yield _chain("rows_skipped", image, skipping, False)
    yield _chain("float", Tensor("input", image.shape, DType.FLOAT32), narrowing, False)


OPERATOR = OperatorKind(
    name="row_stream",
    attributes=RowStreamAttributes,
    infer=_infer,
    reference=_reference,
    importers={},
    examples=_examples,
    macs=_macs,
)
