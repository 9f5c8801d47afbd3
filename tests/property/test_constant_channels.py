"""Interval analysis is sound, and folding constant channels never changes an output."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from uhost.frontends._frontend import load_model
from uhost.ir.dtype import DType
from uhost.ir.graph import Graph, Operator
from uhost.ir.tensor import Array, Quantization, Tensor
from uhost.ops._op import OPERATORS, Activation, Padding2D, evaluate
from uhost.ops.add import AddAttributes
from uhost.ops.average_pool_2d import AveragePool2DAttributes
from uhost.ops.concatenation import ConcatenationAttributes
from uhost.ops.conv_2d import Conv2DAttributes
from uhost.ops.depthwise_conv_2d import DepthwiseConv2DAttributes
from uhost.ops.fully_connected import FullyConnectedAttributes
from uhost.ops.mean import MeanAttributes
from uhost.ops.pad import PadAttributes
from uhost.ops.reshape import ReshapeAttributes
from uhost.passes.fold_constant_channels import _fold, intervals_of
from uhost.runtime.samples import random_sample

EXAMPLES = [
    pytest.param(example.graph, id=f"{kind.name}/{example.name}")
    for kind in OPERATORS
    for example in kind.examples()
    if all(t.dtype is not DType.FLOAT32 for t in example.graph.tensors.values())
]


def corners(graph: Graph) -> list[dict[str, Array]]:
    """Returns random inputs, and the inputs of all lowest and all highest values."""
    feeds = [
        {name: random_sample(graph, seed).inputs[i] for i, name in enumerate(graph.inputs)}
        for seed in range(3)
    ]
    tensors = [graph.tensors[name] for name in graph.inputs]
    for end in (0, 1):
        feeds.append(
            {t.name: np.full(t.shape, t.dtype.limits[end], t.dtype.numpy) for t in tensors}
        )
    return feeds


@pytest.mark.parametrize("graph", EXAMPLES)
def test_no_value_leaves_its_interval(graph: Graph) -> None:
    known = intervals_of(graph)
    for feed in corners(graph):
        for name, value in evaluate(graph, feed).items():
            if name in known:
                rows = value.reshape(-1, len(known[name].low)).astype(np.int64)
                assert (rows >= known[name].low).all(), name
                assert (rows <= known[name].high).all(), name


class Net:
    """Builds a small int8 network of which many channels cannot change."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.tensors: dict[str, Tensor] = {}
        self.operators: list[Operator] = []
        self.last = self.value("x", (1, 6, 5, 3))

    def value(self, name: str, shape: tuple[int, ...], zero_point: int = -128) -> str:
        scale = float(np.float32(self.random.uniform(0.02, 0.05)))
        self.tensors[name] = Tensor(name, shape, DType.INT8, Quantization((scale,), (zero_point,)))
        return name

    def constant(self, name: str, values: Array, axis: int) -> str:
        count = values.shape[axis]
        drawn = np.asarray(self.random.uniform(0.002, 0.01, count), np.float32)
        scales = tuple(drawn.tolist())
        quantization = Quantization(scales, (0,) * count, axis)
        dtype = DType.INT8 if values.dtype == np.int8 else DType.INT32
        self.tensors[name] = Tensor(name, values.shape, dtype, quantization, values)
        return name

    def layer(
        self, kind: str, channels: int, window: int, padding: Padding2D, zero_point: int
    ) -> None:
        source = self.tensors[self.last]
        name = f"{kind}{len(self.operators)}"
        depthwise = kind == "depthwise_conv_2d"
        inputs = source.shape[3]
        shape = (1 if depthwise else channels, window, window, inputs)
        count = inputs if depthwise else channels
        weights = self.random.integers(-127, 128, shape).astype(np.int8)
        unread = self.random.random(inputs) < 0.2
        weights[..., unread] = 0
        # A large bias of either sign puts a channel at one end of its clamp for ever.
        bias = self.random.choice([-300_000, 300_000, 500], count, p=[0.4, 0.2, 0.4])
        attributes = DepthwiseConv2DAttributes if depthwise else Conv2DAttributes
        rows = source.shape[1] + padding.top + padding.bottom - window + 1
        columns = source.shape[2] + padding.left + padding.right - window + 1
        result = self.value(name, (1, rows, columns, count), zero_point)
        names = (
            self.last,
            self.constant(f"{name}.w", weights, 3 if depthwise else 0),
            self.constant(f"{name}.b", bias.astype(np.int32), 0),
        )
        a = attributes((1, 1), (1, 1), padding, Activation.RELU)
        self.operators.append(Operator(name, kind, names, (result,), a))
        self.last = result

    def graph(self) -> Graph:
        image = self.tensors[self.last]
        window = (image.shape[1], image.shape[2])
        pooled = Tensor("pooled", (1, 1, 1, image.shape[3]), DType.INT8, image.quantization)
        flat = Tensor("flat", (1, image.shape[3]), DType.INT8, image.quantization)
        self.tensors |= {"pooled": pooled, "flat": flat}
        pool = AveragePool2DAttributes(window, (1, 1), Padding2D(), Activation.NONE)
        weights = self.random.integers(-127, 128, (4, image.shape[3])).astype(np.int8)
        names = (
            "flat",
            self.constant("fc.w", weights, 0),
            self.constant("fc.b", np.arange(4, dtype=np.int32), 0),
        )
        self.value("y", (1, 4), 3)
        classifier = FullyConnectedAttributes(Activation.NONE, keep_dims=False)
        self.operators += [
            Operator("pool", "average_pool_2d", (self.last,), ("pooled",), pool),
            Operator("flatten", "reshape", ("pooled",), ("flat",), ReshapeAttributes()),
            Operator("fc", "fully_connected", names, ("y",), classifier),
        ]
        graph = Graph("net", self.tensors, tuple(self.operators), ("x",), ("y",))
        graph.verify()
        return graph


def check(graph: Graph) -> Graph:
    folded = _fold(graph)
    folded.verify()
    for bound in folded.bound_operators():
        [(shape, dtype)] = OPERATORS[bound.kind].infer(bound)
        assert (shape, dtype) == (bound.output.shape, bound.output.dtype)
    for feed in corners(graph):
        before, after = evaluate(graph, feed), evaluate(folded, feed)
        for name in graph.outputs:
            assert np.array_equal(before[name], after[name]), name
    return folded


@given(st.integers(0, 10_000), st.booleans(), st.sampled_from([-128, -90]))
@settings(max_examples=40, deadline=None)
def test_folding_keeps_every_output(seed: int, padded: bool, zero_point: int) -> None:
    net = Net(seed)
    padding = Padding2D(1, 1, 1, 1) if padded else Padding2D()
    net.layer("conv_2d", 8, 3, padding, zero_point)
    net.layer("depthwise_conv_2d", 0, 3, padding, zero_point)
    net.layer("conv_2d", 6, 1, Padding2D(), zero_point)
    check(net.graph())


@given(st.integers(0, 10_000))
@settings(max_examples=20, deadline=None)
def test_folding_keeps_both_branches_of_an_add(seed: int) -> None:
    net = Net(seed)
    net.layer("conv_2d", 8, 1, Padding2D(), -128)
    trunk = net.last
    net.layer("conv_2d", 8, 1, Padding2D(), -128)
    total = net.value("sum", net.tensors[trunk].shape, -20)
    attributes = AddAttributes(Activation.NONE)
    net.operators.append(Operator("add", "add", (trunk, net.last), (total,), attributes))
    net.last = total
    net.layer("conv_2d", 5, 1, Padding2D(), -128)
    check(net.graph())


def macs(graph: Graph) -> int:
    return sum(OPERATORS[bound.kind].macs(bound) for bound in graph.bound_operators())


@given(st.integers(0, 10_000), st.sampled_from([1, 2, 3]), st.booleans())
@settings(max_examples=40, deadline=None)
def test_folding_keeps_what_was_joined(seed: int, axis: int, with_constant: bool) -> None:
    net = Net(seed)
    net.layer("conv_2d", 6, 1, Padding2D(), -128)
    one = net.last
    net.layer("depthwise_conv_2d", 0, 1, Padding2D(), -128)
    quantization = net.tensors[one].quantization
    other = Tensor(net.last, net.tensors[net.last].shape, DType.INT8, quantization)
    net.tensors[other.name] = other
    parts = [other.name, one, one]
    if with_constant:
        values = net.random.integers(-128, 128, other.shape).astype(np.int8)
        net.tensors["c"] = Tensor("c", other.shape, DType.INT8, quantization, values)
        parts.insert(1, "c")
    shape = list(other.shape)
    shape[axis] *= len(parts)
    net.tensors["joined"] = Tensor("joined", tuple(shape), DType.INT8, quantization)
    attributes = ConcatenationAttributes(axis)
    net.operators.append(Operator("join", "concatenation", tuple(parts), ("joined",), attributes))
    net.last = "joined"
    net.layer("conv_2d", 5, 1, Padding2D(), -128)
    check(net.graph())


def test_channels_go_through_a_concatenation() -> None:
    net = Net(11)
    net.layer("conv_2d", 8, 1, Padding2D(), -128)
    one = net.last
    net.layer("conv_2d", 8, 1, Padding2D(), -128)
    image = net.tensors[one]
    net.tensors[net.last] = Tensor(net.last, image.shape, DType.INT8, image.quantization)
    joined = Tensor("joined", (*image.shape[:3], 16), DType.INT8, image.quantization)
    net.tensors["joined"] = joined
    net.operators.append(
        Operator("join", "concatenation", (one, net.last), ("joined",), ConcatenationAttributes(3))
    )
    net.last = "joined"
    net.layer("conv_2d", 5, 1, Padding2D(), -128)
    graph = net.graph()
    folded = check(graph)
    parts = [folded.tensors[name].shape[3] for name in folded.operators[2].inputs]
    assert folded.tensors["joined"].shape[3] == sum(parts) < 16
    assert macs(folded) < 0.8 * macs(graph)


@given(st.integers(0, 10_000), st.integers(-128, 127), st.booleans())
@settings(max_examples=20, deadline=None)
def test_folding_goes_through_pad_and_mean(seed: int, value: int, constant_add: bool) -> None:
    net = Net(seed)
    net.layer("conv_2d", 8, 1, Padding2D(), -128)
    source = net.tensors[net.last]
    _, rows, columns, channels = source.shape
    padded = Tensor("padded", (1, rows + 1, columns, channels), DType.INT8, source.quantization)
    mean = Tensor("mean", (1, 1, 1, channels), DType.INT8, source.quantization)
    net.tensors |= {"padded": padded, "mean": mean}
    attributes = PadAttributes((0, 1, 0, 0), (0, 0, 0, 0), value)
    net.operators += [
        Operator("pad", "pad", (source.name,), ("padded",), attributes),
        Operator("mean", "mean", ("padded",), ("mean",), MeanAttributes((1, 2), keep_dims=True)),
    ]
    net.last = "mean"
    if constant_add:
        values = net.random.integers(-128, 128, mean.shape).astype(np.int8)
        net.tensors["c"] = Tensor("c", mean.shape, DType.INT8, source.quantization, values)
        net.last = net.value("sum", mean.shape, -20)
        sum_attributes = AddAttributes(Activation.NONE)
        net.operators.append(Operator("add", "add", ("mean", "c"), ("sum",), sum_attributes))
    net.layer("conv_2d", 5, 1, Padding2D(), -128)
    check(net.graph())


def test_a_constant_term_does_not_keep_a_channel() -> None:
    net = Net(3)
    net.layer("conv_2d", 8, 1, Padding2D(), -128)
    shape = net.tensors[net.last].shape
    quantization = net.tensors[net.last].quantization
    values = net.random.integers(-128, 128, shape[3:]).astype(np.int8)
    everywhere = np.ascontiguousarray(np.broadcast_to(values, shape))
    net.tensors["c"] = Tensor("c", shape, DType.INT8, quantization, everywhere)
    result = net.value("sum", shape, -20)
    attributes = AddAttributes(Activation.NONE)
    net.operators.append(Operator("add", "add", (net.last, "c"), (result,), attributes))
    net.last = result
    net.layer("conv_2d", 5, 1, Padding2D(), -128)
    assert check(net.graph()).tensors["sum"].shape[3] < 8


def test_one_channel_becomes_many_but_not_the_constant_ones() -> None:
    net = Net(7)
    net.tensors["x"] = Tensor("x", (1, 6, 5, 1), DType.INT8, net.tensors["x"].quantization)
    weights = net.constant("w", net.random.integers(-127, 128, (1, 3, 3, 8)).astype(np.int8), 3)
    bias = net.random.choice([-300_000, 500], 8).astype(np.int32)
    result = net.value("many", (1, 4, 3, 8))
    attributes = DepthwiseConv2DAttributes((1, 1), (1, 1), Padding2D(), Activation.RELU)
    names = ("x", weights, net.constant("b", bias, 0))
    net.operators.append(Operator("many", "depthwise_conv_2d", names, (result,), attributes))
    net.last = result
    net.layer("conv_2d", 5, 1, Padding2D(), -128)
    assert check(net.graph()).tensors["many"].shape[3] <= np.count_nonzero(bias == 500)


FOLDED = {
    "arm_micronet_cifar_int8": 0,
    "arm_micronet_kws_m_int8": 0,
    "coral_mobilenet_v1_uint8": 8,
    "litert_call_once_mul": 0,
    "litert_fc_uint8io": 0,
    "litert_int16_mul_add": 0,
    "mediapipe_face_f16w": 0,
    "mlperf_ad_float": 0,
    "mlperf_ad_int8": 0,
    "mlperf_ic_float": 0,
    "mlperf_ic_int8": 0,
    "mlperf_kws_int8": 0,
    "mlperf_sww_int8": 0,
    "mlperf_vww_float": 0,
    "mlperf_vww_int8": 1958,
    "mww_v1_hey_jarvis": 0,
    "mww_v2_okay_nabu": 0,
    "mww_v2_vad": 0,
    "pymicro_hey_jarvis": 0,
    "seanet_conv14_int16": 0,
    "seanet_strided_slice13_int16": 0,
    "seanet_transpose_conv4_int16": 0,
    "silabs_autoencoder": 0,
    "silabs_magic_wand": 0,
    "tflm_hello_world_float": 0,
    "tflm_hello_world_int8": 4,
    "tflm_micro_speech_int8": 0,
    "tflm_network_tester": 0,
    "tflm_person_detect_int8": 4,
    "tinymaix_mbnet96_int8": 0,
    "tinymaix_mnist_int8": 0,
}
"""Shared model → channels that no input changes, over all tensors that operators make."""


@pytest.mark.parametrize("model", FOLDED)
def test_channels_folded_of_every_shared_model(model: str, shared_models: Path) -> None:
    graph = load_model(shared_models / f"{model}.tflite")
    folded = _fold(graph)
    channels = sum(
        graph.tensors[name].shape[-1] - folded.tensors[name].shape[-1]
        for one in graph.operators
        if one.kind != "reshape"
        for name in one.outputs
        if graph.tensors[name].shape
    )
    assert channels == FOLDED[model]


def test_a_channel_goes_with_the_work_it_made() -> None:
    net = Net(3)
    net.layer("conv_2d", 8, 3, Padding2D(1, 1, 1, 1), -128)
    net.layer("depthwise_conv_2d", 0, 3, Padding2D(1, 1, 1, 1), -128)
    net.layer("conv_2d", 6, 1, Padding2D(), -128)
    graph = net.graph()
    folded = check(graph)

    assert macs(folded) < 0.7 * macs(graph)
    assert len(folded.operators) == len(graph.operators)


def test_a_padded_reader_keeps_a_constant_that_is_not_the_zero_point() -> None:
    net = Net(5)
    net.layer("conv_2d", 4, 1, Padding2D(), -90)
    first = net.operators[0]
    # Every channel sits at the zero point but channel 2, which sits at the top.
    bias = np.array([-300_000, -300_000, 300_000, -300_000], np.int32)
    net.constant("conv_2d0.b", bias, 0)
    net.layer("conv_2d", 3, 3, Padding2D(1, 1, 1, 1), -128)
    weights = net.tensors["conv_2d1.w"]
    assert weights.values is not None
    net.constant("conv_2d1.w", np.where(weights.values == 0, 1, weights.values).astype(np.int8), 0)
    folded = check(net.graph())
    assert folded.tensors[first.outputs[0]].shape[3] == 1


MODELS = ("mlperf_kws_int8", "mlperf_vww_int8", "mlperf_ic_int8", "mlperf_ad_int8")


@pytest.mark.parametrize("name", MODELS)
def test_real_models_keep_their_outputs(shared_models: Path, name: str) -> None:
    graph = load_model(shared_models / f"{name}.tflite")
    folded = check(graph)
    macs = sum(OPERATORS[b.kind].macs(b) for b in folded.bound_operators())
    if name == "mlperf_vww_int8":
        assert macs < 3_810_000
