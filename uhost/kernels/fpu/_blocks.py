"""Blocks of pixels and channels in float: what the templates print, and packed weights.

Up to sixteen sums stay in the FPU's registers, beside what they are computed from: an
element that is read then serves all of them. Weights are packed in the order in which the
inner loop reads them: for each block of channels, element by element, one weight of every
channel.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.ir.tensor import Array
from uhost.kernels._kernel import Constant, KernelCall, Parameter
from uhost.kernels._overlap import Overlap
from uhost.kernels.reference._layer import float_values
from uhost.ops._op import Activation

_PIXELS = 4
_MOST_SUMS = 16


def why_not_float(bound: BoundOperator[Any]) -> str:
    """Returns "" where everything the operator computes with is float32, or the reason."""
    for tensor in (*bound.inputs, *bound.outputs):
        if tensor is not None and tensor.dtype is not DType.FLOAT32:
            return f"{tensor.dtype} {'output' if tensor in bound.outputs else 'input'}"
    return ""


def block_values(pixels: int, depth: int, channels_out: int) -> dict[str, int]:
    """Returns sizes and the block of the fewest instructions; names as the templates print them."""
    blocks = [
        (pixel_block, count)
        for pixel_block in range(min(pixels, _PIXELS), 0, -1)
        for count in range(min(channels_out, _MOST_SUMS // pixel_block), 0, -1)
    ]

    def instructions(block: tuple[int, int]) -> int:
        rounds = -(-pixels // block[0]) * -(-channels_out // block[1])
        return rounds * inner_instructions(*block)

    pixel_block, count = min(blocks, key=instructions)
    return {
        "pixels": pixels,
        "depth": depth,
        "channels_out": channels_out,
        "pixel_block": pixel_block,
        "channel_block": count,
    }


def inner_instructions(pixels: int, channels: int) -> int:
    """Returns the instructions for one element of every column: loads, products, and the loop."""
    return pixels + channels + pixels * channels + 3


def channel_block(channels: int, most: int) -> int:
    """Returns how many channels, `most` at most, make the blocks of the fewest instructions."""
    counts = range(min(channels, most), 0, -1)
    return min(counts, key=lambda count: (3 * count + 5) * -(-channels // count))


def block_starts(channels: int, block: int) -> tuple[int, ...]:
    """Returns the first channel of every block: the last one ends with the last channel."""
    return tuple(min(start, channels - block) for start in range(0, channels, block))


def packed(weights: Array, block: int) -> NDArray[np.float32]:
    """Returns weights (channels, depth) as (block, element of depth, channel of the block)."""
    starts = block_starts(len(weights), block)
    return np.concatenate([weights[start : start + block].T.reshape(-1) for start in starts])


def layer_call(
    bound: BoundOperator[Any],
    template: str,
    activation: Activation,
    values: dict[str, Any],
    weights: Array,
    overlaps: tuple[Overlap, ...],
    scratch_floats: int = 0,
) -> KernelCall:
    """Returns the call of a layer: pointers to input, weights, bias if any, and output.

    `overlaps`: where the template's loops allow input and output to share bytes.
    """
    bias = bound.optional_input(2)
    constants = [Constant("weights", weights)]
    parameters = [
        Parameter("input", "const float *", "input"),
        Parameter("weights", "const float *restrict", "constant", 0),
    ]
    if bias is not None:
        constants.append(Constant("bias", bias.constant().reshape(-1)))
        parameters.append(Parameter("bias", "const float *restrict", "constant", 1))
    parameters.append(Parameter("output", "float *", "output"))
    if scratch_floats:
        parameters.append(Parameter("columns", "float *restrict", "scratch"))
    return KernelCall(
        "fpu",
        template,
        {**values, **float_values(activation), "has_bias": bias is not None},
        tuple(parameters),
        tuple(constants),
        4 * scratch_floats,
        includes=("fpu",),
        overlaps=overlaps,
    )


def tensor_call(template: str, values: dict[str, Any], overlaps: tuple[Overlap, ...]) -> KernelCall:
    """Returns the call of an operator without weights: pointers to its input and output."""
    parameters = (
        Parameter("input", "const float *", "input"),
        Parameter("output", "float *", "output"),
    )
    return KernelCall("fpu", template, values, parameters, includes=("fpu",), overlaps=overlaps)
