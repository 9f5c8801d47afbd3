"""Blocks of pixels and channels: what the blocked kernels print, and the arrays they read.

An int8 product of columns and filters is computed by blocks of at most two pixels and a few
output channels. Every element that is read then serves the whole block, whose sums stay in
registers. The input's zero point is always folded into the biases, so that a column holds it
where its window leaves the image.

The sums become outputs by the short form of `templates/kernels/include/scale.h.j2`:
`why_not_short` proves it exact for every sum that a layer can reach.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Constant, KernelCall, Parameter
from uhost.kernels._overlap import Overlap
from uhost.kernels._quantize import conv_requantization, folded_bias, folded_reach
from uhost.numerics.fixed_point import activation_range
from uhost.ops._op import Activation
from uhost.ops._weighted import output_channels, weight_zero_point

_SUM_LIMIT = 1 << 30
"""Sums below this in size can be doubled in 32 bits."""

_PIXELS = 2
_MOST_SUMS = 8
"""More do not stay in the registers of a Cortex-M beside what they are computed from."""


def why_not_short(bound: BoundOperator[Any]) -> str:
    """Returns "" where an int8 layer's sums can take the short form, or the reason."""
    if bound.input(0).dtype is not DType.INT8:
        return f"{bound.input(0).dtype} input"
    if weight_zero_point(bound):
        return "weights with a zero point"
    if (folded_reach(bound) >= _SUM_LIMIT).any():
        return "sums that may reach 2^30"
    factors = conv_requantization(bound)
    if ((factors.shifts > -1) & (factors.multipliers != 0)).any():
        return "an output factor of 0.5 or more"
    return ""


def block_values(pixels: int, depth: int, channels_out: int) -> dict[str, int]:
    """Returns sizes and the block of the fewest instructions; names as the templates print them."""
    pixel_block = min(pixels, _PIXELS)
    channel_block = min(
        range(min(channels_out, _MOST_SUMS // pixel_block), 0, -1),
        key=lambda count: inner_instructions(pixel_block, count) * -(-channels_out // count),
    )
    return {
        "pixels": pixels,
        "depth": depth,
        "channels_out": channels_out,
        "pixel_block": pixel_block,
        "channel_block": channel_block,
    }


def inner_instructions(pixels: int, channels: int) -> int:
    """Returns the instructions for one element of every column: loads, products, and the loop."""
    return pixels + channels + pixels * channels + 2


def short_call(
    bound: BoundOperator[Any],
    template: str,
    activation: Activation,
    geometry: dict[str, Any],
    overlaps: tuple[Overlap, ...],
    scratch: tuple[str, int] = ("", 0),
) -> KernelCall:
    """Returns the call of a layer that `why_not_short` accepts.

    `geometry` is what the template prints of shapes, `overlaps` what its loops allow, `scratch`
    the name and the bytes of the function's scratch, if it has any.
    """
    factors, bias = conv_requantization(bound), folded_bias(bound)
    count = 1 if factors.is_uniform else output_channels(bound)
    # A factor of 0 has no shift: any will do.
    shifts = np.where(factors.multipliers == 0, 0, -1 - factors.shifts).astype(np.int8)
    arrays = [("weights", "const int8_t *restrict", bound.input(1).constant())]
    if bias.any():
        arrays.append(("bias", "const int32_t *restrict", bias))
    arrays.append(("multiplier", "const int32_t *restrict", factors.multipliers[:count]))
    arrays.append(("shift", "const int8_t *restrict", shifts[:count]))
    lowest, highest = activation_range(activation.bounds, bound.output)
    values = {
        **geometry,
        "has_bias": bool(bias.any()),
        "per_channel": count > 1,
        "input_zero_point": bound.input(0).zero_point,
        "output_zero_point": bound.output.zero_point,
        "lowest": lowest,
        "highest": highest,
    }
    parameters = [
        # Input and output may share bytes; what else there is shares none with them.
        Parameter("input", "const int8_t *", "input"),
        *(Parameter(role, kind, "constant", i) for i, (role, kind, _) in enumerate(arrays)),
        Parameter("output", "int8_t *", "output"),
    ]
    name, scratch_bytes = scratch
    if scratch_bytes:
        parameters.append(Parameter(name, "int8_t *restrict", "scratch"))
    return KernelCall(
        "reference",
        template,
        values,
        tuple(parameters),
        tuple(Constant(role, array) for role, _, array in arrays),
        scratch_bytes,
        includes=("requantize", "scale"),
        overlaps=overlaps,
    )
