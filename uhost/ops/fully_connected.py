"""FULLY_CONNECTED: rows of weights against the flattened input, with a fused activation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from uhost.errors import MalformedModelError
from uhost.ir.dtype import DType
from uhost.ir.graph import Attributes, BoundOperator
from uhost.ir.tensor import Array
from uhost.numerics.hybrid import quantize_asymmetric, quantize_symmetric
from uhost.ops._activation import clamp_float, tflite_activation
from uhost.ops._interval import Interval, weighted
from uhost.ops._op import (
    Activation,
    Example,
    Imported,
    OperatorKind,
    SourceNode,
    UnsupportedNodeError,
)
from uhost.ops._tflite import options_table
from uhost.ops._weighted import (
    check_layer,
    check_ranks,
    finish_quantized,
    hybrid_scales,
    is_hybrid,
    place,
    weight_zero_point,
)
from uhost.ops._weighted_examples import (
    EXTREME,
    INT16,
    INT16_NARROW,
    PLAIN,
    SHIFTS,
    LayerStyle,
    layer_example,
)


@dataclass(frozen=True, slots=True)
class FullyConnectedAttributes(Attributes):
    """Weights are (outputs, inputs).

    The input is taken as rows of `inputs` elements. The result has shape
    (rows, outputs), or with `keep_dims` the input's shape with its last dimension replaced.
    Where float32 rows meet int8 weights, they are made int8 with a zero point if `asymmetric`.
    """

    activation: Activation
    keep_dims: bool
    asymmetric: bool = False


def _infer(
    bound: BoundOperator[FullyConnectedAttributes],
) -> list[tuple[tuple[int, ...], DType]]:
    check_ranks(bound, input_rank=None, weights_rank=2)
    check_layer(bound, channel_axis=0)
    x, weights = bound.input(0), bound.input(1)
    outputs, inputs = weights.shape
    keep_dims = bound.attributes.keep_dims
    if x.elements % inputs or (keep_dims and x.shape[-1:] != (inputs,)):
        raise MalformedModelError(
            f"weights for {inputs} inputs do not match an input of shape "
            f"{'x'.join(map(str, x.shape)) or 'scalar'}",
            where=place(bound),
        )
    shape = (*x.shape[:-1], outputs) if keep_dims else (x.elements // inputs, outputs)
    return [(shape, x.dtype)]


def _hybrid(bound: BoundOperator[FullyConnectedAttributes], rows: Array, weights: Array) -> Array:
    """Returns the result of float32 rows and int8 weights: integer sums per row.

    Source: LiteRT, `EvalHybrid` of "fully_connected.cc".
    """
    made, scales, bias = [], hybrid_scales(bound), bound.optional_input(2)
    quantize = quantize_asymmetric if bound.attributes.asymmetric else quantize_symmetric
    for row in rows:
        sample = quantize(row)
        centred = sample.values.astype(np.float64) - sample.zero_point
        sums = (weights.astype(np.float64) @ centred).astype(np.float32)
        made.append(sums * (sample.scale * scales))
    result = np.stack(made)
    if bias is not None:
        result = result + bias.constant().reshape(-1)
    return clamp_float(result, bound.attributes.activation)


def _reference(
    bound: BoundOperator[FullyConnectedAttributes], inputs: Sequence[Array | None]
) -> list[Array]:
    x, weights = inputs[0], inputs[1]
    assert x is not None
    assert weights is not None
    rows = x.reshape(-1, weights.shape[1])
    activation = bound.attributes.activation
    if is_hybrid(bound):
        return [_hybrid(bound, rows, weights).reshape(bound.output.shape)]
    if bound.output.dtype is DType.FLOAT32:
        total = np.zeros((rows.shape[0], weights.shape[0]), np.float32)
        # Added input by input, the order of a plain loop.
        for column in range(weights.shape[1]):
            total += rows[:, column, None] * weights[:, column]
        bias = bound.optional_input(2)
        if bias is not None:
            total = total + bias.constant().reshape(-1)
        return [clamp_float(total, activation).reshape(bound.output.shape)]
    # Exact, and far faster than an integer product: see conv_2d.
    centred = rows.astype(np.float64) - bound.input(0).zero_point
    sums = centred @ (weights.astype(np.float64) - weight_zero_point(bound)).T
    return [finish_quantized(bound, sums, activation).reshape(bound.output.shape)]


def _interval(
    bound: BoundOperator[FullyConnectedAttributes], inputs: Sequence[Interval]
) -> Interval:
    weights = bound.input(1).constant().astype(np.int64) - weight_zero_point(bound)
    channel = np.arange(weights.shape[1]) % len(inputs[0].low)
    x = Interval(inputs[0].low[channel], inputs[0].high[channel])
    return weighted(bound, weights, x, padded=False)


def is_hybrid_node(node: SourceNode) -> bool:
    """True if a node's weights are int8 and its input float32."""
    types = [None if tensor is None else tensor.dtype for tensor in node.inputs[:2]]
    return types == [DType.FLOAT32, DType.INT8]


def _import_tflite(node: SourceNode) -> Imported:
    options = options_table(node, "FullyConnectedOptions")
    attributes = FullyConnectedAttributes(Activation.NONE, keep_dims=False)
    if options is not None:
        if options.WeightsFormat() != 0:
            raise UnsupportedNodeError("shuffled weights")
        activation = tflite_activation(options.FusedActivationFunction())
        asymmetric = is_hybrid_node(node) and bool(options.AsymmetricQuantizeInputs())
        keep_dims = bool(options.KeepNumDims())
        attributes = FullyConnectedAttributes(activation, keep_dims, asymmetric)
    return Imported(attributes, (*node.inputs, None)[:3])


def _macs(bound: BoundOperator[FullyConnectedAttributes]) -> int:
    return bound.output.elements * bound.input(1).shape[1]


def _examples() -> Iterator[Example]:
    def case(
        name: str,
        x: tuple[int, ...],
        weights: tuple[int, int],
        *,
        activation: Activation = Activation.NONE,
        keep_dims: bool = False,
        style: LayerStyle = PLAIN,
        asymmetric: bool = False,
    ) -> Example:
        attributes = FullyConnectedAttributes(activation, keep_dims, asymmetric)
        return layer_example(name, "fully_connected", attributes, x, weights, 0, _infer, style)

    relu, relu6, n1 = Activation.RELU, Activation.RELU6, Activation.RELU_N1_TO_1
    per_tensor, floats = LayerStyle(per_channel=False), LayerStyle(dtype=DType.FLOAT32)
    yield case("per_tensor", (1, 33), (10, 33), style=per_tensor)
    yield case("per_channel", (1, 17), (7, 17), activation=relu)
    yield case("one_output", (1, 64), (1, 64), activation=relu6, style=per_tensor)
    yield case("one_input", (1, 1), (9, 1), style=per_tensor)
    yield case("image_input", (1, 3, 3, 5), (4, 45), activation=n1, style=per_tensor)
    yield case("batch", (5, 12), (6, 12), style=per_tensor)
    yield case("keep_dims", (1, 2, 3, 8), (5, 8), keep_dims=True)
    yield case("no_bias", (2, 19), (3, 19), style=LayerStyle(per_channel=False, with_bias=False))
    yield case(
        "weight_zero_point",
        (2, 21),
        (6, 21),
        activation=relu,
        style=LayerStyle(per_channel=False, weight_zero_point=-17),
    )
    yield case("extreme_values", (1, 40), (8, 40), style=EXTREME)
    yield case("extreme_shifts", (1, 6), (8, 6), style=SHIFTS)
    yield case("int16_per_channel", (3, 17), (7, 17), activation=relu, style=INT16)
    yield case(
        "int16_per_tensor",
        (2, 33),
        (10, 33),
        style=LayerStyle(dtype=DType.INT16, per_channel=False),
    )
    yield case("int16_long", (2, 530), (3, 530), style=INT16)
    yield case("int16_narrow", (2, 19), (5, 19), style=INT16_NARROW)
    yield case(
        "int16_weight_zero_point",
        (2, 21),
        (6, 21),
        style=LayerStyle(dtype=DType.INT16, per_channel=False, weight_zero_point=-17),
    )
    hybrid = LayerStyle(hybrid=True, per_channel=False)
    bare = LayerStyle(hybrid=True, with_bias=False)
    yield case("hybrid_per_tensor", (3, 33), (10, 33), activation=relu6, style=hybrid)
    yield case("hybrid_per_channel", (2, 17), (7, 17), style=LayerStyle(hybrid=True))
    yield case("hybrid_asymmetric", (2, 40), (5, 40), style=hybrid, asymmetric=True)
    yield case("hybrid_no_bias", (2, 3, 8), (3, 8), keep_dims=True, style=bare, asymmetric=True)
    yield case("float", (1, 37), (9, 37), activation=relu6, style=floats)
    yield case("float_batch", (3, 2, 10), (4, 10), activation=n1, keep_dims=True, style=floats)
    yield case(
        "float_no_bias", (1, 8), (3, 8), style=LayerStyle(dtype=DType.FLOAT32, with_bias=False)
    )


OPERATOR = OperatorKind(
    name="fully_connected",
    attributes=FullyConnectedAttributes,
    infer=_infer,
    reference=_reference,
    importers={"tflite": {"FULLY_CONNECTED": _import_tflite}},
    examples=_examples,
    takes_uint8=True,
    macs=_macs,
    interval=_interval,
    operands=lambda bound: (bound.input(0),),
    is_contraction=lambda bound: bound.input(0).shape[-1:] == bound.input(1).shape[1:],
    by_litert=is_hybrid,
)
