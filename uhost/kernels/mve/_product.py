"""Weight streams of the dot products, and the calls of the kernels that are built around them.

The layout is described in `templates/kernels/include/mve_product.h.j2`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uhost.ir.graph import BoundOperator
from uhost.kernels._cost import Cost
from uhost.kernels._kernel import Constant, KernelCall, Parameter
from uhost.kernels._overlap import Overlap, forward
from uhost.kernels.mve import _work as work
from uhost.kernels.mve._channels import Channels, Integers
from uhost.kernels.mve._overlaps import product_steps
from uhost.targets._work import Work

STEP = 16
"""Bytes that one instruction multiplies."""
_OFFSET_LIMIT = 1 << 16
_EVEN_ODD = (0, 2, 4, 6, 1, 3, 5, 7)


def first_step(depth: int) -> tuple[int, int]:
    """Returns the bytes the first step advances by, and the steps of 16 bytes behind it."""
    first = (depth - 1) % STEP + 1
    return first, (depth - first) // STEP


def why_not_product(channels: Channels) -> str:
    """Returns "" if the products are exact for these channels, or the reason."""
    if len(channels.weights) + 3 >= _OFFSET_LIMIT:
        return "more than 65,532 channels"
    return channels.why_inexact()


def pack(channels: Channels, *, vector: bool) -> NDArray[np.uint32]:
    """Returns the weight stream, by four channels or, for a `vector`, by eight."""
    group = 8 if vector else 4
    order = _EVEN_ODD if vector else (0, 1, 2, 3)
    depth = channels.weights.shape[1]
    first, steps = first_step(depth)
    weights = np.zeros((len(channels.weights), STEP * (steps + 1)), np.int64)
    weights[:, :first] = channels.weights[:, :first]
    weights[:, STEP:] = channels.weights[:, first:]
    weights = _grouped(weights, group)
    groups = len(weights)
    ends = [
        _grouped(values, group)[:, order]
        for values in (channels.bias, channels.multipliers, channels.shifts)
    ]
    packed = weights.reshape(groups, group, steps + 1, STEP).transpose(0, 2, 1, 3)
    stream = np.concatenate(
        [
            _bytes(packed.reshape(groups, -1).astype(np.int8)),
            _bytes(np.concatenate(ends, axis=1).astype(np.int32)),
        ],
        axis=1,
    )
    return np.ascontiguousarray(stream).reshape(-1).view(np.uint32)


def _bytes(values: NDArray[Any]) -> NDArray[np.uint8]:
    return np.ascontiguousarray(values).view(np.uint8)


def _grouped(values: Integers, group: int) -> Integers:
    """Returns the values as (group of channels, channel, ...), completed by zeros."""
    missing = -len(values) % group
    padded = np.pad(values, ((0, missing), *[(0, 0)] * (values.ndim - 1)))
    return padded.reshape(-1, group, *values.shape[1:])


def suffix(channels: Channels) -> str:
    """Returns what the name of the product for these channels ends in."""
    count, depth = channels.weights.shape
    return "".join(
        part
        for part, holds in (
            ("_positive", channels.positive),
            ("_ragged", count % 4 != 0),
            ("_short", depth <= STEP),
        )
        if holds
    )


def pointwise_call(template: str, bound: BoundOperator[Any], channels: Channels) -> KernelCall:
    """Returns the call for a layer whose every `K` inputs in a row give one pixel's outputs."""
    count, depth = channels.weights.shape
    pixels = bound.output.elements // count
    return product_call(
        template,
        bound,
        channels,
        pixels=pixels,
        pitch=depth,
        values={},
        overlaps=(forward(0, *product_steps(pixels, depth, depth, count, count)),),
    )


def product_call(
    template: str,
    bound: BoundOperator[Any],
    channels: Channels,
    *,
    pixels: int,
    pitch: int,
    values: dict[str, Any],
    stride: int = 0,
    scratch_bytes: int = 0,
    includes: Sequence[str] = (),
    overlaps: tuple[Overlap, ...] = (),
) -> KernelCall:
    """Returns the call of a kernel that multiplies `pixels` columns in a row at a time.

    Columns are `pitch` bytes apart, their outputs `stride` bytes or, without it, the channels.
    """
    count, depth = channels.weights.shape
    vector = pixels == 1
    first, steps = first_step(depth)
    constant = Constant("weights", pack(channels, vector=vector))
    return KernelCall(
        library="mve",
        template=template,
        values={
            **values,
            "pixels": pixels,
            "pitch": pitch,
            "output_pitch": stride or count,
            "depth": depth,
            "first": first,
            "steps": steps,
            "channels": count,
            "outputs_in_all": bound.output.elements,
            "zero_point": channels.zero_point,
            "suffix": "_positive" * channels.positive if vector else suffix(channels),
            "clamped": channels.clamped,
            "lowest": channels.lowest,
            "highest": channels.highest,
        },
        parameters=(
            Parameter("input", "const int8_t *", "input"),
            Parameter("weights", "const uint32_t *", "constant"),
            Parameter("output", "int8_t *", "output"),
            *((Parameter("line", "int8_t *", "scratch"),) if scratch_bytes else ()),
        ),
        constants=(constant,),
        scratch_bytes=scratch_bytes,
        includes=(
            "mve",
            "mve_product",
            *(("mve_clamp",) if channels.clamped else ()),
            *includes,
        ),
        overlaps=overlaps,
    )


def product_cost(bound: BoundOperator[Any], call: KernelCall) -> Cost:
    """Returns the cost of a kernel that multiplies pixels as they lie in memory."""
    del bound
    shared = {
        "mve_product": code_bytes(call),
        **({"mve_clamp": 40} if call.values["clamped"] else {}),
    }
    own = 48 if call.values["pixels"] % 2 and call.values["pixels"] > 1 else 20
    return Cost(product_work(call) + clamp_work(call) + Work(load=2, alu=3, branch=1), own, shared)


def product_work(call: KernelCall) -> Work:
    """Returns the work of a line of pixels: one product, or two where their number is odd."""
    p = call.values
    shape = {"positive": "positive" in p["suffix"]}
    if p["pixels"] == 1:
        return work.vector(p["channels"], p["depth"], **shape)
    total = work.product(p["pixels"] // 2, p["channels"], p["depth"], **shape)
    if p["pixels"] % 2:
        total += work.product(1, p["channels"], p["depth"], **shape)
        total += Work(load=2, alu=4, branch=1, store_many=1, load_many=1, words=8)
    return total


def clamp_work(call: KernelCall) -> Work:
    """Returns the work of the clamp behind all products, none where there is no clamp."""
    return work.clamp(call.values["outputs_in_all"]) if call.values["clamped"] else Work()


def code_bytes(call: KernelCall) -> int:
    """Returns the size of the product that a call uses."""
    return 740 if call.values["pixels"] == 1 else 330 if "_short" in call.values["suffix"] else 760
