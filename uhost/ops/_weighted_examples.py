"""Small weighted layers with seeded weights, from which conformance cases are made."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from uhost.ir.dtype import DType
from uhost.ir.graph import Attributes, BoundOperator
from uhost.ir.tensor import Array, Quantization, Tensor
from uhost.ops._op import Example, single

Infer = Callable[[BoundOperator[Any]], list[tuple[tuple[int, ...], DType]]]


@dataclass(frozen=True, slots=True)
class LayerStyle:
    """How a layer's numbers are drawn.

    `numbers` is "typical"; "extreme": weights are -128 or 127, and every other channel has
    a bias at an end of int32, so that sums wrap; or "shifts": the channels' factors go
    from below 2^-32 (multiplier 0) over right shifts of 31 to left shifts.
    With `hybrid` the activations are float32 and the weights int8. `weight_zero_point` is for
    layers of one scale. `bias` is the type of a bias beside int16 activations, whose zero
    points are 0 whatever is asked for.
    """

    dtype: DType = DType.INT8
    bias: DType = DType.INT64
    hybrid: bool = False
    per_channel: bool = True
    with_bias: bool = True
    numbers: str = "typical"
    input_zero_point: int = -5
    output_zero_point: int = 3
    weight_zero_point: int = 0


PLAIN = LayerStyle()
EXTREME = LayerStyle(numbers="extreme", input_zero_point=-128, output_zero_point=17)
SHIFTS = LayerStyle(numbers="shifts")
INT16 = LayerStyle(dtype=DType.INT16)
INT16_NARROW = LayerStyle(dtype=DType.INT16, bias=DType.INT32)


def layer_example(
    name: str,
    kind: str,
    attributes: Attributes,
    x_shape: tuple[int, ...],
    weights_shape: tuple[int, ...],
    channel_axis: int,
    infer: Infer,
    style: LayerStyle,
) -> Example:
    """Returns an example whose numbers depend on `kind` and `name` alone."""
    rng = np.random.default_rng(zlib.crc32(f"{kind}/{name}".encode()))
    draw = _float_tensors if style.dtype is DType.FLOAT32 else _quantized_tensors
    x, weights, bias, output = draw(rng, x_shape, weights_shape, channel_axis, style)
    inputs = (x, weights, bias) if bias is not None else (x, weights)
    # The output's shape follows from the others, so that an example cannot contradict itself.
    shape, dtype = infer(BoundOperator(name, kind, attributes, inputs, (output,)))[0]
    shaped = Tensor("output", shape, dtype, output.quantization)
    if style.hybrid:
        floats = tuple(
            t if t is None or t.dtype is not style.dtype or t.is_constant else _real(t)
            for t in inputs
        )
        bias_values = rng.normal(0, 0.5, weights_shape[channel_axis]).astype(np.float32)
        if bias is not None:
            floats = (*floats[:2], Tensor("bias", bias.shape, DType.FLOAT32, None, bias_values))
        shaped = _real(shaped)
        return Example(name, single(name, kind, attributes, floats, (shaped,)), ("hybrid",))
    tags = [str(style.dtype)]
    if style.dtype is not DType.FLOAT32:
        tags.append("per_channel" if style.per_channel else "per_tensor")
    return Example(name, single(name, kind, attributes, inputs, (shaped,)), tuple(tags))


def _real(tensor: Tensor) -> Tensor:
    """Returns the tensor as float32."""
    return Tensor(tensor.name, tensor.shape, DType.FLOAT32)


_Tensors = tuple[Tensor, Tensor, Tensor | None, Tensor]


def _float_tensors(
    rng: np.random.Generator,
    x_shape: tuple[int, ...],
    weights_shape: tuple[int, ...],
    channel_axis: int,
    style: LayerStyle,
) -> _Tensors:
    channels = weights_shape[channel_axis]
    values = rng.normal(0, 0.5, weights_shape).astype(np.float32)
    bias = rng.normal(0, 0.5, channels).astype(np.float32) if style.with_bias else None
    return (
        Tensor("input", x_shape, DType.FLOAT32),
        Tensor("weights", weights_shape, DType.FLOAT32, None, values),
        Tensor("bias", (channels,), DType.FLOAT32, None, bias) if bias is not None else None,
        Tensor("output", (channels,), DType.FLOAT32),
    )


def _quantized_tensors(
    rng: np.random.Generator,
    x_shape: tuple[int, ...],
    weights_shape: tuple[int, ...],
    channel_axis: int,
    style: LayerStyle,
) -> _Tensors:
    channels = weights_shape[channel_axis]
    taps = math.prod(weights_shape) // channels
    is_int16 = style.dtype is DType.INT16
    # Uniform inputs and weights: about 74 steps of deviation each in 8 bits, 18,900 in 16.
    spread, deviation = (256.0, 18900) if is_int16 else (1.0, 74)
    factors = rng.uniform(30, 70, channels) * spread / (math.sqrt(taps) * deviation * 74)
    values = rng.integers(-127, 128, weights_shape, dtype=np.int8)
    if style.numbers == "extreme":
        values = rng.choice(np.asarray([-128, 127], np.int8), weights_shape)
        factors[::2] = 50 * spread / 2**31
    elif style.numbers == "shifts":
        values = rng.integers(-1, 2, weights_shape, dtype=np.int8)
        factors = np.resize([1.3 * 2.0**e for e in (-40, -32, -31, -20, -9, -1, 0, 3)], channels)
    if not style.per_channel:
        factors = factors[:1]
    input_scale, output_scale = np.float32(0.0235 / spread), np.float32(0.0785 / spread)
    scales = (factors * output_scale / input_scale).astype(np.float32)
    zero_points = (style.weight_zero_point,) * len(scales)
    axis = channel_axis if len(scales) > 1 else None
    zeros = (0, 0) if is_int16 else (style.input_zero_point, style.output_zero_point)
    return (
        Tensor("input", x_shape, style.dtype, _affine(input_scale, zeros[0])),
        Tensor(
            "weights",
            weights_shape,
            DType.INT8,
            Quantization(tuple(map(float, scales)), zero_points, axis),
            values,
        ),
        _bias(rng, channels, factors / spread, style),
        Tensor("output", (channels,), style.dtype, _affine(output_scale, zeros[1])),
    )


def _affine(scale: np.float32, zero_point: int) -> Quantization:
    return Quantization((float(scale),), (zero_point,))


def _bias(
    rng: np.random.Generator, channels: int, factors: Array, style: LayerStyle
) -> Tensor | None:
    if not style.with_bias:
        return None
    dtype = style.bias if style.dtype is DType.INT16 else DType.INT32
    most = 2.0**31 - 1 if dtype is DType.INT32 else 2.0**40
    # Up to a quarter of the output's range, as far as the type reaches.
    reach = np.minimum(60 / factors, most)
    values = np.trunc(rng.uniform(-1, 1, channels) * reach)
    if style.numbers == "extreme":
        values[::2] = np.resize([most, -most - (dtype is DType.INT32)], values[::2].size)
    return Tensor("bias", (channels,), dtype, None, values.astype(dtype.numpy))
