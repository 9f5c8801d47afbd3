"""RESHAPE, PAD, MEAN, CONCATENATION, and that files give back what examples say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from build_movement import FOLDED
from build_tflite import Node, build, from_graph

from uhost.errors import MalformedModelError, UnsupportedOperatorError
from uhost.frontends.tflite import FRONTEND
from uhost.ir.dtype import DType
from uhost.ir.graph import Attributes, BoundOperator, Graph
from uhost.ir.tensor import Array, Tensor
from uhost.ops._examples import quantized, real
from uhost.ops._op import OPERATORS, UnsupportedNodeError, evaluate
from uhost.ops.concatenation import ConcatenationAttributes
from uhost.ops.mean import MAX_COUNTS, MeanAttributes, mean_scaling
from uhost.ops.pad import PadAttributes
from uhost.ops.reshape import ReshapeAttributes, resolve_shape

KINDS = (
    *FOLDED,
    "add",
    "concatenation",
    "dequantize",
    "mean",
    "pad",
    "quantize",
    "relu",
    "relu6",
    "reshape",
    "softmax",
)
EXAMPLES = [
    pytest.param(example.graph, id=f"{kind}-{example.name}")
    for kind in KINDS
    for example in OPERATORS[kind].examples()
    # Such an example stands for a file whose tensors are uint8, which another test makes.
    if not example.name.startswith("uint8")
]


def constant(name: str, values: list[Any], dtype: DType = DType.INT32) -> Tensor:
    array = np.array(values, dtype.numpy)
    return Tensor(name, array.shape, dtype, values=array)


def load(
    code: str,
    inputs: tuple[Tensor, ...],
    output: Tensor,
    options: Mapping[str, Any] | None = None,
) -> Graph:
    names = tuple(tensor.name for tensor in inputs)
    feeds = tuple(tensor.name for tensor in inputs if not tensor.is_constant)
    node = Node(code, names, (output.name,), options)
    return FRONTEND.load(build((*inputs, output), [node], feeds, (output.name,)), "m")


def what(
    error: type[MalformedModelError] | type[UnsupportedOperatorError],
    code: str,
    inputs: tuple[Tensor, ...],
    output: Tensor,
    options: Mapping[str, Any] | None = None,
) -> str:
    with pytest.raises(error) as caught:
        load(code, inputs, output, options)
    text: str = caught.value.what
    return text.splitlines()[-2].strip() if error is UnsupportedOperatorError else text


def bind(kind: str, attributes: Attributes, *tensors: Tensor) -> BoundOperator[Any]:
    return BoundOperator(kind, kind, attributes, tensors[:-1], tensors[-1:])


def run(bound: BoundOperator[Any], *inputs: Array) -> Array:
    return OPERATORS[bound.kind].reference(bound, inputs)[0]


@pytest.mark.parametrize("graph", EXAMPLES)
def test_a_file_of_an_example_gives_the_example_back(graph: Graph) -> None:
    loaded = FRONTEND.load(from_graph(graph), graph.name)
    (ours,), (theirs,) = graph.operators, loaded.operators
    assert (theirs.kind, theirs.attributes) == (ours.kind, ours.attributes)
    assert (theirs.inputs, theirs.outputs) == (ours.inputs, ours.outputs)
    for name in (*ours.inputs, *ours.outputs):
        assert str(loaded.tensors[name]) == str(graph.tensors[name])


@pytest.mark.parametrize("graph", EXAMPLES)
def test_inference_gives_the_declared_outputs(graph: Graph) -> None:
    graph.verify()
    for bound in graph.bound_operators():
        inferred = OPERATORS[bound.kind].infer(bound)
        assert list(inferred) == [(tensor.shape, tensor.dtype) for tensor in bound.outputs]


def test_every_operator_has_several_examples_of_distinct_names() -> None:
    for kind in KINDS:
        names = [example.name for example in OPERATORS[kind].examples()]
        assert len(names) >= 4
        assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("shape", "resolved"),
    [
        ((2, 3), (2, 3)),
        ((-1, 2), (3, 2)),
        ((-1,), (6,)),
        ((-1, 4), None),
        ((-1, -1), None),
        ((-1, 0), None),
        ((-2, -3), None),
        ((7,), None),
    ],
)
def test_resolve_shape_of_six_elements(
    shape: tuple[int, ...], resolved: tuple[int, ...] | None
) -> None:
    assert resolve_shape(shape, 6) == resolved


def test_reshape_takes_its_shape_from_wherever_the_file_has_it() -> None:
    source, output = real("a", (2, 6)), real("o", (3, 4))
    for inputs, options in (
        ((source, constant("shape", [3, 4])), None),
        ((source, constant("shape", [-1, 4])), None),
        ((source, constant("shape", [3, -1], DType.INT64)), None),
        ((source,), {"NewShape": (3, -1)}),
        ((source,), None),
        # A shape computed at run time is not read: the output has the only one it can take.
        ((source, Tensor("shape", (2,), DType.INT32)), None),
    ):
        graph = load("RESHAPE", inputs, output, options)
        assert graph.operators[0].inputs == ("a",)
        assert graph.operators[0].attributes == ReshapeAttributes()


def test_reshape_keeps_the_order_of_elements() -> None:
    graph = load("RESHAPE", (real("a", (2, 6)),), real("o", (3, 4)))
    values = np.arange(12, dtype=np.float32).reshape(2, 6)
    result = evaluate(graph, {"a": values})["o"]
    np.testing.assert_array_equal(result, values.reshape(3, 4))


def test_reshape_of_an_old_file_to_a_scalar() -> None:
    graph = load("RESHAPE", (real("a", (1, 1)),), real("o", ()), {"NewShape": (0,)})
    assert graph.tensors["o"].shape == ()


def test_reshape_that_contradicts_itself() -> None:
    source, output = real("a", (2, 6)), real("o", (3, 4))
    assert what(MalformedModelError, "RESHAPE", (source, constant("shape", [4, 3])), output) == (
        "tensor 'o' is declared float32[3x4], but RESHAPE makes float32[4x3] of its inputs"
    )
    assert what(MalformedModelError, "RESHAPE", (source, constant("shape", [5, -1])), output) == (
        "[2, 6] cannot be reshaped to [5, -1]"
    )
    assert what(MalformedModelError, "RESHAPE", (source,), real("o", (5, 2))) == (
        "12 elements cannot take the shape [5, 2]"
    )
    shape = constant("shape", [3.0, 4.0], DType.FLOAT32)
    assert what(MalformedModelError, "RESHAPE", (source, shape), output) == "the shape is float32"


def test_pad_values_by_type() -> None:
    paddings = constant("paddings", [[1, 0], [0, 2]])
    for dtype, value in ((DType.FLOAT32, 0.0), (DType.INT32, 0)):
        tensors = Tensor("a", (2, 3), dtype), Tensor("o", (3, 5), dtype)
        graph = load("PAD", (tensors[0], paddings), tensors[1])
        assert graph.operators[0].attributes == PadAttributes((1, 0), (0, 2), value)
    tensors = quantized("a", (2, 3), 0.1, -7), quantized("o", (3, 5), 0.1, -7)
    graph = load("PAD", (tensors[0], paddings), tensors[1])
    assert graph.operators[0].attributes == PadAttributes((1, 0), (0, 2), -7)
    result = evaluate(graph, {"a": np.ones((2, 3), np.int8)})["o"]
    assert result.tolist() == [[-7] * 5, [1, 1, 1, -7, -7], [1, 1, 1, -7, -7]]


def test_pad_of_16_bits_fills_zero_whatever_the_zero_point() -> None:
    tensors = [quantized(n, s, 0.1, 9, DType.INT16) for n, s in (("a", (2,)), ("o", (3,)))]
    graph = load("PAD", (tensors[0], constant("paddings", [[1, 0]])), tensors[1])
    assert graph.operators[0].attributes == PadAttributes((1,), (0,), 0)


def test_pad_refusals() -> None:
    source, output = quantized("a", (2, 3), 0.1, 0), quantized("o", (3, 5), 0.1, 0)
    paddings = constant("p", [[1, 0], [0, 2]])
    assert what(
        UnsupportedOperatorError, "PAD", (source, Tensor("p", (2, 2), DType.INT32)), output
    ) == ("PAD: the paddings is not a constant")
    assert what(MalformedModelError, "PAD", (source, constant("p", [[1, 0, 0, 2]])), output) == (
        "paddings of shape [1, 4] for a tensor of rank 2"
    )
    assert what(MalformedModelError, "PAD", (source, constant("p", [[-1, 2], [0, 2]])), output) == (
        "padding [-1, 0] and [2, 2] of a tensor of shape [2, 3]"
    )
    value = quantized("v", (1,), 0.2, 0, values=np.array([3], np.int8))
    assert what(UnsupportedOperatorError, "PADV2", (source, paddings, value), output) == (
        "PADV2: 'v' (scale 0.200000003, zero point 0) and 'o' (scale 0.100000001, zero point 0) "
        "are quantised differently"
    )
    assert what(
        UnsupportedOperatorError, "PADV2", (source, paddings, quantized("v", (1,), 0.1, 0)), output
    ) == ("PADV2: the pad value is not a constant")
    assert what(
        MalformedModelError, "PADV2", (source, paddings, constant("v", [1, 2])), output
    ) == ("a pad value of int32[2]")


def test_mean_divides_the_multiplier_not_the_sum() -> None:
    # s_in / s_out = 1 is 2^30 · 2^(1 - 31); for 3 elements it is shifted by 1 and truncated.
    bound = bind(
        "mean",
        MeanAttributes((1,), False),
        quantized("a", (1, 3), 1, 0),
        quantized("o", (1,), 1, 0),
    )
    assert mean_scaling(bound) == ((1 << 31) // 3, 0)
    for values, mean in (([1, 1, 2], 1), ([1, 2, 2], 2), ([-1, -2, -2], -2), ([127] * 3, 127)):
        assert run(bound, np.array([values], np.int8)).tolist() == [mean]


def test_mean_axes_are_counted_from_the_front_once_each() -> None:
    source, output = real("a", (2, 3, 4)), real("o", (2, 1, 1))
    axes = constant("axes", [-1, 1, 2])
    graph = load("MEAN", (source, axes), output, {"KeepDims": True})
    assert graph.operators[0].attributes == MeanAttributes((1, 2), True)
    scalar = load("MEAN", (source, constant("axes", [0, 1, 2])), real("o", ()), None)
    assert scalar.operators[0].attributes == MeanAttributes((0, 1, 2), False)


def test_mean_of_a_scalar_axis() -> None:
    axis = Tensor("axes", (), DType.INT32, values=np.array(1, np.int32))
    graph = load("MEAN", (real("a", (2, 3)), axis), real("o", (2,)), None)
    assert graph.operators[0].attributes == MeanAttributes((1,), False)


def test_mean_refusals() -> None:
    source, output = real("a", (2, 3)), real("o", (2,))
    assert what(MalformedModelError, "MEAN", (source, constant("axes", [2])), output) == (
        "axis 2 of a tensor of rank 2"
    )
    axes = Tensor("axes", (1,), DType.INT32)
    assert what(UnsupportedOperatorError, "MEAN", (source, axes), output) == (
        "MEAN: the axis is not a constant"
    )
    wide = quantized("a", (MAX_COUNTS[DType.INT8] + 1,), 1, 0), quantized("o", (), 1, 0)
    with pytest.raises(
        UnsupportedNodeError, match=r"^a mean over 8388609 elements, more than 8388608$"
    ):
        OPERATORS["mean"].infer(bind("mean", MeanAttributes((0,), False), *wide))
    with pytest.raises(MalformedModelError, match=r"^axes \[1, 0\] of a tensor of shape \[2, 3\]"):
        OPERATORS["mean"].infer(bind("mean", MeanAttributes((1, 0), False), source, real("o", ())))


def test_mean_of_floats_adds_in_order() -> None:
    # 1e8 + 1 - 1e8 is 0 from the left in float32, and 1 by any pairing of the large ones.
    bound = bind("mean", MeanAttributes((0,), False), real("a", (4,)), real("o", ()))
    result = run(bound, np.array([1e8, 1.0, -1e8, 4.0], np.float32))
    assert result == np.float32(1.0)


def test_concatenation_axis_is_counted_from_the_front() -> None:
    inputs = real("a", (2, 3)), real("b", (2, 4))
    graph = load("CONCATENATION", inputs, real("o", (2, 7)), {"Axis": -1})
    assert graph.operators[0].attributes == ConcatenationAttributes(1)


def test_concatenation_refusals() -> None:
    inputs = real("a", (2, 3)), real("b", (2, 4))
    output = real("o", (2, 7))
    fused = {"Axis": 1, "FusedActivationFunction": 1}
    assert what(UnsupportedOperatorError, "CONCATENATION", inputs, output, fused) == (
        "CONCATENATION: fused activation relu"
    )
    assert what(MalformedModelError, "CONCATENATION", inputs, output, {"Axis": 0}) == (
        "shapes [2, 3], [2, 4] cannot be joined along axis 0"
    )
    assert what(MalformedModelError, "CONCATENATION", inputs, output, {"Axis": 2}) == (
        "axis 2 of a tensor of rank 2"
    )
    mixed = quantized("a", (2,), 0.1, 0), quantized("b", (2,), 0.1, 1)
    assert what(
        UnsupportedOperatorError, "CONCATENATION", mixed, quantized("o", (4,), 0.1, 0), {"Axis": 0}
    ) == (
        "CONCATENATION: 'b' (scale 0.100000001, zero point 1) and 'o' (scale 0.100000001, "
        "zero point 0) are quantised differently"
    )
    wide = [
        quantized(name, (2,), scale, 0, DType.INT16) for name, scale in (("a", 0.1), ("b", 0.2))
    ]
    joined = quantized("o", (4,), 0.1, 0, DType.INT16)
    assert what(UnsupportedOperatorError, "CONCATENATION", tuple(wide), joined, {"Axis": 0}) == (
        "CONCATENATION: 'o' and 'b' are quantised differently"
    )
    types = real("a", (2,)), quantized("b", (2,), 0.1, 1)
    assert what(UnsupportedOperatorError, "CONCATENATION", types, real("o", (4,)), {"Axis": 0}) == (
        "CONCATENATION: 'b' is int8 but 'a' is float32"
    )
