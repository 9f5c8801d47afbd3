"""Small graphs for tests of passes, drawn from a seed, and the proof that a pass kept them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from uhost.config.compilation import CompilationConfig
from uhost.config.pass_context import PassContext
from uhost.config.target import Target
from uhost.ir.dtype import DType
from uhost.ir.graph import Attributes, Graph, Operator
from uhost.ir.module import IRModule
from uhost.ir.tensor import Array, Quantization, Tensor
from uhost.ops._inputs import random_inputs
from uhost.ops._op import OPERATORS, Activation, Padding2D, evaluate
from uhost.ops.conv_2d import Conv2DAttributes
from uhost.ops.depthwise_conv_2d import DepthwiseConv2DAttributes
from uhost.passes._pass import PASSES

CONFIG = CompilationConfig(Target("host"), (Target("host"),))


class Sketch:
    """A graph under way: every method adds an operator to `last`, and returns what it makes."""

    def __init__(
        self, seed: int, shape: tuple[int, ...], dtype: DType = DType.INT8, zero_point: int = -128
    ) -> None:
        self.random = np.random.default_rng(seed)
        self.dtype = dtype
        self.tensors: dict[str, Tensor] = {}
        self.operators: list[Operator] = []
        self.last = self.value("x", shape, self.quantization(zero_point)).name

    def quantization(self, zero_point: int = -128) -> Quantization | None:
        """Returns a drawn scale with this zero point; None for floats."""
        if self.dtype is DType.FLOAT32:
            return None
        return Quantization((float(np.float32(self.random.uniform(0.02, 0.05))),), (zero_point,))

    def value(
        self, name: str, shape: tuple[int, ...], quantization: Quantization | None = None
    ) -> Tensor:
        self.tensors[name] = Tensor(name, shape, self.dtype, quantization)
        return self.tensors[name]

    def constant(self, name: str, values: Array, axis: int | None = None) -> str:
        """Adds a constant: weights and biases get a scale per channel of `axis`."""
        quantization = None
        if self.dtype is DType.INT8:
            count = 1 if axis is None else values.shape[axis]
            drawn = np.asarray(self.random.uniform(0.002, 0.01, count), np.float32)
            quantization = Quantization(tuple(drawn.tolist()), (0,) * count, axis)
        self.tensors[name] = Tensor(
            name, values.shape, DType(str(values.dtype)), quantization, values
        )
        return name

    def add(
        self,
        kind: str,
        attributes: Attributes,
        *more: str,
        shape: tuple[int, ...] | None = None,
        quantization: Quantization | str | None = "same",
        source: str | None = None,
    ) -> str:
        """Adds an operator on `source`, by default the last tensor; keeps its quantisation."""
        before = self.tensors[source or self.last]
        name = f"{kind}_{len(self.operators)}"
        own = before.quantization if isinstance(quantization, str) else quantization
        inputs = (before.name, *more)
        operator = Operator(name, kind, inputs, (f"{name}.out",), attributes)
        if shape is None:
            rough = self.value(f"{name}.out", self._guess(kind, inputs, before.shape), own)
            tensors = {**self.tensors, rough.name: rough}
            bound = Graph("rough", tensors, (operator,), (), ()).bind(operator)
            [(shape, _)] = OPERATORS[kind].infer(bound)
        self.value(f"{name}.out", shape, own)
        self.operators.append(operator)
        self.last = f"{name}.out"
        return self.last

    def _guess(self, kind: str, inputs: tuple[str, ...], shape: tuple[int, ...]) -> Any:
        """Returns a shape with the right channels, which is all that `infer` looks at."""
        if kind in ("conv_2d", "fully_connected"):
            return (*shape[:-1], self.tensors[inputs[1]].shape[0])
        if kind == "depthwise_conv_2d":
            return (*shape[:-1], self.tensors[inputs[1]].shape[3])
        return shape

    def convolution(
        self,
        channels: int,
        window: tuple[int, int],
        *,
        depthwise: bool = False,
        stride: tuple[int, int] = (1, 1),
        dilation: tuple[int, int] = (1, 1),
        padding: Padding2D | None = None,
        activation: Activation = Activation.NONE,
        zero_point: int = -128,
    ) -> str:
        """Adds a convolution, or a depthwise one, for which `channels` is the multiplier."""
        inputs = self.tensors[self.last].shape[3]
        count = inputs * channels if depthwise else channels
        shape = (1, *window, count) if depthwise else (channels, *window, inputs)
        is_float = self.dtype is DType.FLOAT32
        number = len(self.operators)
        if is_float:
            weights: Array = self.random.standard_normal(shape).astype(np.float32)
            bias: Array = self.random.standard_normal(count).astype(np.float32)
        else:
            weights = self.random.integers(-127, 128, shape).astype(np.int8)
            bias = self.random.integers(-9000, 9000, count).astype(np.int32)
        made = DepthwiseConv2DAttributes if depthwise else Conv2DAttributes
        return self.add(
            "depthwise_conv_2d" if depthwise else "conv_2d",
            made(stride, dilation, padding or Padding2D(), activation),
            self.constant(f"w{number}", weights, 3 if depthwise else 0),
            self.constant(f"b{number}", bias, 0),
            quantization=self.quantization(zero_point),
        )

    def graph(self, *outputs: str) -> Graph:
        """Returns the verified graph; without `outputs`, the last tensor is the only one."""
        names = {name for one in self.operators for name in (*one.inputs, *one.outputs)}
        tensors = {n: t for n, t in self.tensors.items() if n in names | {"x"}}
        graph = Graph("drawn", tensors, tuple(self.operators), ("x",), outputs or (self.last,))
        check_shapes(graph)
        return graph


def check_shapes(graph: Graph) -> None:
    """Asserts that the graph verifies and that every operator makes what it should."""
    graph.verify()
    for bound in graph.bound_operators():
        made = list(OPERATORS[bound.kind].infer(bound))
        assert made == [(t.shape, t.dtype) for t in bound.outputs], bound.name


def feeds(graph: Graph) -> list[dict[str, Array]]:
    """Returns random inputs, and those of all lowest and all highest values."""
    found = [dict(zip(graph.inputs, random_inputs(graph, seed), strict=True)) for seed in range(3)]
    for end in (0, 1):
        feed: dict[str, Array] = {}
        for name in graph.inputs:
            tensor = graph.tensors[name]
            extreme = (-3.0, 3.0) if tensor.dtype is DType.FLOAT32 else tensor.dtype.limits
            feed[name] = np.full(tensor.shape, extreme[end], tensor.dtype.numpy)
        found.append(feed)
    return found


def proven(graph: Graph, *names: str) -> Graph:
    """Returns the graph after the passes, none of which changed an output in one bit."""
    module = IRModule({graph.name: graph}, CONFIG)
    for name in names:
        made: Any = PASSES[name]
        module = made().run(module, PassContext())
    after = module.graphs[graph.name]
    check_shapes(after)
    assert (after.inputs, after.outputs) == (graph.inputs, graph.outputs)
    for name in (*graph.inputs, *graph.outputs):
        assert str(after.tensors[name]) == str(graph.tensors[name])
    for feed in feeds(graph):
        old, new = evaluate(graph, feed), evaluate(after, feed)
        for name in graph.outputs:
            assert old[name].tobytes() == new[name].tobytes(), name
    return after


def kinds(graph: Graph) -> list[str]:
    """Returns the kinds of the graph's operators, in order."""
    return [operator.kind for operator in graph.operators]


def with_weights(graph: Graph, name: str, values: Array) -> Graph:
    """Returns the graph with other values in a constant."""
    tensor = replace(graph.tensors[name], values=values)
    return replace(graph, tensors={**graph.tensors, name: tensor})
