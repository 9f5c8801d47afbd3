"""Layers of constant weights: their checks, and the requantisation of their sums.

A weighted layer (convolution, depthwise convolution, fully connected) has inputs x,
weights and an optional bias, and one output whose last dimension counts channels. The
quantised form sums (x - zero_point) · w, adds the bias, scales by s_x · s_w / s_out, adds
the output's zero point and clamps.

int8 activations are summed in 32 bits and rounded twice. So are int16 activations, with
int8 weights, where the bias is int32. Where it is int64 or there is none, int16 activations
are summed in 64 bits, the multiplier is cut to 16 bits, and there is one rounding.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uhost.errors import MalformedModelError
from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.ir.tensor import Array, Tensor
from uhost.numerics.fixed_point import (
    WIDE_SUM_LIMIT,
    activation_range,
    multiply_by_quantized_multiplier,
    multiply_wide,
    quantize_multiplier,
    wrap_int32,
)
from uhost.ops._op import Activation, UnsupportedNodeError
from uhost.ops._rows import Rows, padded_rows
from uhost.ops._window import Axis

_SAME_SCALE = 1e-6
"""TFLite calls two scales equal up to this difference."""


@dataclass(frozen=True, slots=True, eq=False)
class Requantization:
    """Multiplier and shift of every output channel; see `uhost.numerics.fixed_point`."""

    multipliers: NDArray[np.int32]
    shifts: NDArray[np.int32]

    @property
    def is_uniform(self) -> bool:
        """True if all channels have the same factor."""
        return bool(
            (self.multipliers == self.multipliers[0]).all()
            and (self.shifts == self.shifts[0]).all()
        )


def place(bound: BoundOperator[Any]) -> str:
    """Returns how messages call the operator."""
    return f"operator '{bound.name}' ({bound.kind})"


def layer_rows(bound: BoundOperator[Any], axis: Axis) -> Rows | None:
    """Returns the rows of a layer whose window has `axis` over them; None if it is hybrid.

    The scale of a hybrid layer's input is found in all rows.
    """
    return None if is_hybrid(bound) else padded_rows(bound, axis)


def check_ranks(bound: BoundOperator[Any], input_rank: int | None, weights_rank: int) -> None:
    """Raises `MalformedModelError` unless the inputs are there and have these ranks."""
    where = place(bound)
    if len(bound.inputs) not in (2, 3) or None in bound.inputs[:2] or len(bound.outputs) != 1:
        raise MalformedModelError(
            "a weighted layer takes an input, weights and an optional bias, and has one output",
            where=where,
        )
    for what, index, rank in (("input", 0, input_rank), ("weights", 1, weights_rank)):
        found = len(bound.input(index).shape)
        if rank is not None and found != rank:
            raise MalformedModelError(
                f"the {what} should have rank {rank}, has rank {found}", where=where
            )


def check_layer(bound: BoundOperator[Any], channel_axis: int) -> None:
    """Checks types, constness, quantisation and bias; `channel_axis` is that of the weights.

    Call it after `check_ranks`. Raises `UnsupportedNodeError` for what TFLite allows and
    uhost does not take, and `MalformedModelError` for what contradicts itself.
    """
    where = place(bound)
    x, weights, bias = bound.input(0), bound.input(1), bound.optional_input(2)
    _check_types(x, weights, bound.output)
    if not weights.is_constant:
        raise UnsupportedNodeError("weights that are not constant")
    if weights.elements == 0 or x.elements == 0:
        raise MalformedModelError("an input or the weights are empty", where=where)
    channels = weights.shape[channel_axis]
    if bias is not None:
        if not bias.is_constant:
            raise UnsupportedNodeError("a bias that is not constant")
        if bias.dtype not in _BIAS_TYPES[x.dtype]:
            raise UnsupportedNodeError(f"{x.dtype} layer with {bias.dtype} bias")
        if bias.elements != channels:
            raise MalformedModelError(
                f"the bias has {bias.elements} elements for {channels} output channels",
                where=where,
            )
    if bound.output.shape[-1:] != (channels,):
        raise MalformedModelError(
            f"the output {list(bound.output.shape)} does not have the weights' {channels} channels",
            where=where,
        )
    if is_hybrid(bound):
        _check_hybrid(bound, channel_axis, where)
    elif x.dtype is not DType.FLOAT32:
        check_per_tensor("input", x, where)
        check_per_tensor("output", bound.output, where)
        _check_weight_scales(bound, channel_axis, where)
        factors = factor_per_channel(bound)
        if not np.isfinite(factors).all():
            raise MalformedModelError("the scales are out of range", where=where)
        if is_wide(bound):
            if (factors >= 2.0**14).any():
                raise UnsupportedNodeError("an output scale far below the input's")
            if int(largest_sums(bound, channel_axis).max()) >= WIDE_SUM_LIMIT:
                raise UnsupportedNodeError("sums that may leave 48 bits")


_BIAS_TYPES = {
    DType.FLOAT32: (DType.FLOAT32,),
    DType.INT8: (DType.INT32,),
    DType.INT16: (DType.INT64, DType.INT32),
}
_LAYER_TYPES = (
    (DType.INT8, DType.INT8, DType.INT8),
    (DType.INT16, DType.INT8, DType.INT16),
    (DType.FLOAT32, DType.INT8, DType.FLOAT32),
    (DType.FLOAT32, DType.FLOAT32, DType.FLOAT32),
)
"""Activations, weights and outputs."""


def is_hybrid(bound: BoundOperator[Any]) -> bool:
    """True for float32 activations with int8 weights."""
    return bound.input(0).dtype is DType.FLOAT32 and bound.input(1).dtype is DType.INT8


def hybrid_scales(bound: BoundOperator[Any]) -> NDArray[np.float32]:
    """Returns the weight scale of every output channel of a hybrid layer."""
    quantization = bound.input(1).quantization
    assert quantization is not None
    return np.asarray(quantization.scale, np.float32)


def _check_hybrid(bound: BoundOperator[Any], channel_axis: int, where: str) -> None:
    if bound.kind not in ("conv_2d", "depthwise_conv_2d", "fully_connected"):
        raise UnsupportedNodeError("hybrid: int8 weights with float32 activations")
    _check_weight_scales(bound, channel_axis, where)
    if weight_zero_point(bound):
        raise UnsupportedNodeError("hybrid: weights with a zero point")


def is_wide(bound: BoundOperator[Any]) -> bool:
    """True if sums have 64 bits and one rounding: int16 activations without an int32 bias.

    TFLite Micro reads an int32 bias as int64 in DEPTHWISE_CONV_2D and TRANSPOSE_CONV; here it is
    what it says, with the arithmetic that CONV_2D has for it.
    """
    bias = bound.optional_input(2)
    return bound.input(0).dtype is DType.INT16 and (bias is None or bias.dtype is DType.INT64)


def largest_sums(bound: BoundOperator[Any], channel_axis: int) -> NDArray[np.float64]:
    """Returns the largest size of every channel's sum, bias included, whatever the input."""
    weights, bias = bound.input(1).constant(), bound.optional_input(2)
    low, high = bound.input(0).dtype.limits
    zero_point = bound.input(0).zero_point
    others = tuple(axis for axis in range(weights.ndim) if axis != channel_axis)
    taps = np.abs(weights.astype(np.float64) - weight_zero_point(bound)).sum(others)
    largest: NDArray[np.float64] = taps * max(high - zero_point, zero_point - low)
    if bias is not None:
        largest = largest + np.abs(bias.constant().astype(np.float64)).reshape(-1)
    return largest


def _check_types(x: Tensor, weights: Tensor, output: Tensor) -> None:
    types = (x.dtype, weights.dtype, output.dtype)
    if types in _LAYER_TYPES:
        return
    if len(set(types)) == 1:
        raise UnsupportedNodeError(str(x.dtype))
    raise UnsupportedNodeError(f"{x.dtype} input, {weights.dtype} weights, {output.dtype} output")


def check_per_tensor(what: str, tensor: Tensor, where: str) -> None:
    """Raises `MalformedModelError` unless a tensor has one sound scale and zero point.

    That of int16 is 0, by the format's specification.
    """
    quantization = tensor.quantization
    if quantization is None or not quantization.scale:
        raise MalformedModelError(f"the {what} has no scale", where=where)
    if len(quantization.scale) != 1 or len(quantization.zero_point) != 1:
        raise MalformedModelError(
            f"the {what} has {len(quantization.scale)} scales, expected one", where=where
        )
    scale, zero_point = quantization.per_tensor
    _check_scale(what, scale, where)
    low, high = tensor.dtype.limits
    if not low <= zero_point <= high:
        raise MalformedModelError(
            f"the zero point {zero_point} of the {what} is no {tensor.dtype} value", where=where
        )
    if tensor.dtype is DType.INT16 and zero_point != 0:
        raise UnsupportedNodeError(f"an int16 {what} with the zero point {zero_point}")


def check_same_quantization(bound: BoundOperator[Any]) -> None:
    """Raises `UnsupportedNodeError` where a quantised operator would have to rescale."""
    x, output = bound.input(0), bound.output
    if abs(x.scale - output.scale) > _SAME_SCALE or x.zero_point != output.zero_point:
        raise UnsupportedNodeError("input and output of different quantisation")


def _check_scale(what: str, scale: float, where: str) -> None:
    if not (math.isfinite(scale) and scale > 0):
        raise MalformedModelError(f"the scale of the {what} is {scale}", where=where)


def _check_weight_scales(bound: BoundOperator[Any], channel_axis: int, where: str) -> None:
    weights = bound.input(1)
    quantization = weights.quantization
    if quantization is None or not quantization.scale:
        raise MalformedModelError("the weights have no scale", where=where)
    channels, count = weights.shape[channel_axis], len(quantization.scale)
    if count not in (1, channels):
        raise MalformedModelError(
            f"the weights have {count} scales for {channels} output channels", where=where
        )
    if count > 1 and quantization.axis != channel_axis:
        raise UnsupportedNodeError(f"weight scales along axis {quantization.axis}")
    for scale in quantization.scale:
        _check_scale("weights", scale, where)
    if any(quantization.zero_point):
        if not (bound.kind == "fully_connected" or is_unsigned(bound)) or count > 1:
            raise UnsupportedNodeError("weights with a zero point")
        if not -128 <= quantization.zero_point[0] <= 127:
            raise MalformedModelError(
                f"the zero point {quantization.zero_point[0]} of the weights is no int8 value",
                where=where,
            )


def output_channels(bound: BoundOperator[Any]) -> int:
    """Returns the number of output channels, from the shape of the weights."""
    return bound.input(1).shape[3 if bound.kind == "depthwise_conv_2d" else 0]


def is_unsigned(bound: BoundOperator[Any]) -> bool:
    """True for an operator whose int8 tensors are uint8 in the file, where that matters."""
    return bool(getattr(bound.attributes, "unsigned", False))


def weight_zero_point(bound: BoundOperator[Any]) -> int:
    """Returns the zero point of the weights: 0 unless they are asymmetric.

    That is FULLY_CONNECTED with one scale, or a convolution that is uint8 in the file.
    """
    quantization = bound.input(1).quantization
    if quantization is None or not any(quantization.zero_point):
        return 0
    return quantization.zero_point[0]


def factor_per_channel(bound: BoundOperator[Any]) -> NDArray[np.float64]:
    """Returns s_x · s_w / s_out for every output channel, in TFLite Micro's precision.

    Everything is computed in double from float32 scales, but for FULLY_CONNECTED with
    one weight scale, and convolutions that are uint8 in the file: there the product of the two
    input scales is rounded to float32 first (TFLite, `GetQuantizedConvolutionMultipler`).
    """
    weights = bound.input(1)
    assert weights.quantization is not None
    input_scale = np.float32(bound.input(0).scale)
    weight_scales = np.asarray(weights.quantization.scale, np.float32)
    if (bound.kind == "fully_connected" or is_unsigned(bound)) and weight_scales.size == 1:
        with np.errstate(over="ignore", under="ignore"):
            product = (input_scale * weight_scales).astype(np.float64)
    else:
        product = np.float64(input_scale) * weight_scales.astype(np.float64)
    factors: NDArray[np.float64] = product / np.float64(np.float32(bound.output.scale))
    return np.broadcast_to(factors, (output_channels(bound),))


def conv_requantization(bound: BoundOperator[Any]) -> Requantization:
    """Returns multiplier and shift of every output channel of a quantised weighted layer."""
    pairs = [quantize_multiplier(float(factor)) for factor in factor_per_channel(bound)]
    multipliers, shifts = zip(*pairs, strict=True)
    return Requantization(np.asarray(multipliers, np.int32), np.asarray(shifts, np.int32))


def finish_quantized(bound: BoundOperator[Any], sums: Array, activation: Activation) -> Array:
    """Returns the output of exact `sums` of (x - zero_point) · w, channels last.

    In 32 bits sum plus bias wraps as the accumulator of TFLite Micro does.
    """
    bias = bound.optional_input(2)
    totals = sums.astype(np.int64)
    if bias is not None:
        totals = totals + bias.constant().reshape(-1)
    factors = conv_requantization(bound)
    if is_wide(bound):
        scaled = multiply_wide(totals, factors.multipliers, factors.shifts)
    else:
        scaled = multiply_by_quantized_multiplier(
            wrap_int32(totals), factors.multipliers, factors.shifts
        )
    low, high = activation_range(activation.bounds, bound.output)
    return np.clip(scaled + bound.output.zero_point, low, high).astype(bound.output.dtype.numpy)
