"""Singular value decomposition filter: a dense layer over time, in two steps.

Each filter makes one feature of the input and keeps the last `memory` of them; a unit is the
sum of its `rank` filters' features, weighted by age. Inputs: (batch, input), feature weights
(filter, input), time weights (filter, memory), bias (unit) or nothing, and the state (batch,
filter · memory), whose last column per filter is the newest feature.

Integer factors are formed in double, as by the TFLite Micro wheel; the fused activation is
not applied to integers, which TFLite leaves to the output's zero point. Source: TFLite Micro,
"svdf_common.cc".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uhost.errors import MalformedModelError
from uhost.ir.dtype import DType
from uhost.ir.graph import Attributes, BoundOperator, Graph, Operator
from uhost.ir.tensor import Array, Tensor
from uhost.numerics.fixed_point import (
    multiply_by_quantized_multiplier,
    quantize_multiplier,
    wrap_int32,
)
from uhost.numerics.hybrid import quantize_asymmetric, quantize_symmetric
from uhost.ops._activation import clamp_float, tflite_activation
from uhost.ops._checks import require, require_dtype, require_quantized
from uhost.ops._examples import quantized, real
from uhost.ops._op import Activation, Example, Imported, OperatorKind, SourceNode
from uhost.ops._tflite import malformed, options_table

FEATURES, TIMES, BIAS, STATE = 1, 2, 3, 4


@dataclass(frozen=True, slots=True)
class SvdfAttributes(Attributes):
    """Filters per unit; `activation` is applied to floats alone.

    Where float32 inputs meet int8 features, they are made int8 with a zero point if `asymmetric`.
    """

    rank: int
    activation: Activation = Activation.NONE
    asymmetric: bool = False


def is_hybrid(bound: BoundOperator[SvdfAttributes]) -> bool:
    """True for float32 inputs and int8 features, which LiteRT has."""
    return (bound.input(0).dtype, bound.input(FEATURES).dtype) == (DType.FLOAT32, DType.INT8)


def svdf_factors(bound: BoundOperator[SvdfAttributes]) -> tuple[tuple[int, int], tuple[int, int]]:
    """Returns (multiplier, shift) from products of input and weights to the state, and from
    products of state and weights to the output."""
    state = bound.input(STATE)
    to_state = bound.input(0).scale * bound.input(FEATURES).scale / state.scale
    to_output = state.scale * bound.input(TIMES).scale / bound.outputs[0].scale
    return quantize_multiplier(to_state), quantize_multiplier(to_output)


def _infer(bound: BoundOperator[SvdfAttributes]) -> Sequence[tuple[tuple[int, ...], DType]]:
    x, features, times = bound.input(0), bound.input(FEATURES), bound.input(TIMES)
    bias, state, output = bound.optional_input(BIAS), bound.input(STATE), bound.outputs[0]
    require_dtype(x, DType.INT8, DType.FLOAT32)
    require_dtype(features, x.dtype, DType.INT8)
    require_dtype(output, x.dtype)
    require(features.is_constant and times.is_constant, "the weights are not constants")
    if x.dtype is DType.FLOAT32:
        require_dtype(state, DType.FLOAT32)
        if is_hybrid(bound):
            require_quantized(features, times)
            require(features.zero_point == times.zero_point == 0, "the weights have zero points")
            require(features.shape[-1] < 1 << 15, "inputs so long that sums may leave 32 bits")
    else:
        require_dtype(state, DType.INT8, DType.INT16)
        require_quantized(x, features, times, state, output)
        require(features.zero_point == times.zero_point == 0, "the weights have zero points")
        require(state.dtype is DType.INT8 or state.zero_point == 0, "the state has a zero point")
    require_dtype(times, DType.INT8 if is_hybrid(bound) else state.dtype)
    rank, (filters, memory) = bound.attributes.rank, times.shape
    shapes = {
        len(x.shape) == 2 and features.shape == (filters, *x.shape[1:]),
        rank >= 1 and filters % max(rank, 1) == 0,
        state.shape == (x.shape[0], filters * memory),
        bias is None or bias.shape == (filters // max(rank, 1),),
    }
    if not all(shapes):
        raise MalformedModelError(
            f"an input {list(x.shape)} does not go with filters {list(features.shape)}, times "
            f"{list(times.shape)}, a state {list(state.shape)} and rank {rank}",
            where=f"operator '{bound.name}' (svdf)",
        )
    if bias is not None:
        require(bias.is_constant, "the bias is not a constant")
        require_dtype(bias, DType.FLOAT32 if x.dtype is DType.FLOAT32 else DType.INT32)
    return [((x.shape[0], filters // rank), output.dtype), (state.shape, state.dtype)]


def _reference(
    bound: BoundOperator[SvdfAttributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    x, features, times, state = (inputs[index] for index in (0, FEATURES, TIMES, STATE))
    assert x is not None
    assert features is not None
    assert times is not None
    assert state is not None
    batch, (filters, memory) = x.shape[0], times.shape
    history = np.empty((batch, filters, memory), state.dtype)
    history[:, :, :-1] = state.reshape(batch, filters, memory)[:, :, 1:]
    bias = bound.optional_input(BIAS)
    offsets = bias.constant() if bias is not None else np.zeros(filters, x.dtype)
    units = (batch, filters // bound.attributes.rank, bound.attributes.rank)
    if x.dtype == np.float32:
        made = _quantized_features(bound, x, features) if is_hybrid(bound) else x @ features.T
        history[:, :, -1] = made
        if is_hybrid(bound):
            times = times.astype(np.float32) * np.float32(bound.input(TIMES).scale)
        total = (history * times).sum(2).reshape(units).sum(2) + offsets[: units[1]]
        result = clamp_float(total.astype(np.float32), bound.attributes.activation)
        return [result, history.reshape(state.shape)]
    to_state, to_output = svdf_factors(bound)
    centred = x.astype(np.int64) - bound.input(0).zero_point
    made = multiply_by_quantized_multiplier(
        wrap_int32(centred @ features.astype(np.int64).T), *to_state
    )
    kept, zero_point = np.iinfo(state.dtype), bound.input(STATE).zero_point
    # The sum of a zero point wraps as the byte it is stored in does.
    newest = np.clip(made, kept.min, kept.max) + zero_point
    history[:, :, -1] = newest.astype(state.dtype)
    weighted = (history.astype(np.int64) - zero_point) * times
    total = weighted.sum(2).reshape(units).sum(2) + offsets[: units[1]].astype(np.int64)
    scaled = multiply_by_quantized_multiplier(wrap_int32(total), *to_output)
    result = np.clip(scaled + bound.outputs[0].zero_point, -128, 127).astype(np.int8)
    return [result, history.reshape(state.shape)]


def _quantized_features(
    bound: BoundOperator[SvdfAttributes], x: Array, features: Array
) -> NDArray[np.float32]:
    """Returns the newest features of float32 inputs, each made int8 with a scale of its own.

    Source: LiteRT, `EvalHybridSVDF`.
    """
    quantize = quantize_asymmetric if bound.attributes.asymmetric else quantize_symmetric
    scale, made = np.float32(bound.input(FEATURES).scale), []
    for row in x:
        sample = quantize(row)
        centred = sample.values.astype(np.int64) - sample.zero_point
        made.append(
            (features.astype(np.int64) @ centred).astype(np.float32) * (sample.scale * scale)
        )
    return np.stack(made)


def _import_tflite(node: SourceNode) -> Imported:
    state = node.inputs[STATE] if len(node.inputs) == 5 else None
    if state is None or len(node.outputs) != 1:
        raise malformed(node, "the operator has not five inputs and one output")
    options: Any = options_table(node, "SVDFOptions")
    if options is None:
        raise malformed(node, "the operator has no options")
    x, features = node.inputs[0], node.inputs[FEATURES]
    hybrid = x is not None and features is not None and x.dtype is DType.FLOAT32
    hybrid = hybrid and features is not None and features.dtype is DType.INT8
    attributes = SvdfAttributes(
        options.Rank(),
        tflite_activation(options.FusedActivationFunction()),
        hybrid and bool(options.AsymmetricQuantizeInputs()),
    )
    return Imported(attributes, node.inputs, updates=(state,))


def _macs(bound: BoundOperator[SvdfAttributes]) -> int:
    per_batch = bound.input(FEATURES).elements + bound.input(TIMES).elements
    return bound.input(0).shape[0] * per_batch


def _examples() -> Iterable[Example]:
    random = np.random.default_rng(11)

    def case(
        name: str,
        state_type: DType,
        *,
        batch: int = 1,
        inputs: int = 7,
        units: int = 5,
        rank: int = 1,
        memory: int = 6,
        with_bias: bool = True,
        state_zero: int = 0,
        hybrid: bool = False,
        asymmetric: bool = False,
    ) -> Example:
        filters = units * rank
        shapes = (filters, inputs), (filters, memory), (units,)
        tensors: list[Tensor | None]
        bias: Tensor | None
        if state_type is DType.FLOAT32:
            f, t, b = (random.normal(0.0, 0.5, shape).astype(np.float32) for shape in shapes)
            bias = real("bias", b.shape, b)
            table = real("features", f.shape, f)
            if hybrid:
                narrow = random.integers(-127, 128, f.shape).astype(np.int8)
                table = quantized("features", f.shape, 0.01, 0, values=narrow)
            tensors = [real("input", (batch, inputs)), table]
            state = real("state", (batch, filters * memory))
            ages = real("times", t.shape, t)
            if hybrid:
                narrow = random.integers(-127, 128, t.shape).astype(np.int8)
                ages = quantized("times", t.shape, 0.008, 0, values=narrow)
            tensors += [ages, bias if with_bias else None, state]
            output = real("output", (batch, units))
            blank: Array = np.zeros(state.shape, np.float32)
        else:
            limit = 127 if state_type is DType.INT8 else 32767
            f = random.integers(-127, 128, shapes[0]).astype(np.int8)
            t = random.integers(-limit, limit + 1, shapes[1]).astype(state_type.numpy)
            b = random.integers(-9000, 9000, shapes[2]).astype(np.int32)
            state_scale = 0.05 if state_type is DType.INT8 else 0.0004
            time_scale = 0.01 if state_type is DType.INT8 else 0.00004
            bias = quantized("bias", b.shape, state_scale * time_scale, 0, DType.INT32, b)
            state = quantized(
                "state", (batch, filters * memory), state_scale, state_zero, state_type
            )
            tensors = [
                quantized("input", (batch, inputs), 0.03, 4),
                quantized("features", f.shape, 0.01, 0, values=f),
                quantized("times", t.shape, time_scale, 0, state_type, t),
                bias if with_bias else None,
                state,
            ]
            output = quantized("output", (batch, units), 0.06, -20)
            blank = np.full(state.shape, state_zero, state_type.numpy)
        names = tuple(tensor.name if tensor is not None else "" for tensor in tensors)
        attributes = SvdfAttributes(rank, asymmetric=asymmetric)
        operator = Operator("svdf", "svdf", names, ("output", "state"), attributes)
        known = {tensor.name: tensor for tensor in (*tensors, output) if tensor is not None}
        graph = Graph(name, known, (operator,), ("input",), ("output",), {"state": blank})
        tags: tuple[str, ...] = (str(state_type), *("hybrid",) * hybrid)
        if not with_bias:
            tags += ("fatal_in_tflite",)  # which reads the bias that is not there
        return Example(name, graph, tags)

    yield case("int8_state", DType.INT8)
    yield case("int8_state_zero_point", DType.INT8, state_zero=9, rank=2, batch=2)
    yield case("int16_state", DType.INT16)
    yield case("int16_state_rank_2", DType.INT16, rank=2, batch=2, inputs=16, memory=10)
    yield case("int8_state_no_bias", DType.INT8, with_bias=False)
    yield case("int16_state_memory_1", DType.INT16, memory=1)
    yield case("float32", DType.FLOAT32, rank=2, batch=2)
    yield case("float32_no_bias", DType.FLOAT32, with_bias=False)
    yield case("hybrid", DType.FLOAT32, rank=2, batch=2, inputs=16, hybrid=True)
    yield case("hybrid_asymmetric", DType.FLOAT32, batch=2, hybrid=True, asymmetric=True)


OPERATOR = OperatorKind(
    name="svdf",
    attributes=SvdfAttributes,
    infer=_infer,
    reference=_reference,
    importers={"tflite": {"SVDF": _import_tflite}},
    examples=_examples,
    operands=lambda bound: (bound.input(0),),
    by_litert=is_hybrid,
    macs=_macs,
)
