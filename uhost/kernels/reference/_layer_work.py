"""Instructions of the general layers of weights and of pools: loops over windows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from uhost.ir.graph import BoundOperator
from uhost.kernels._cost import Cost
from uhost.kernels._kernel import KernelCall
from uhost.kernels.reference._loops import ENTER, TURN
from uhost.targets._work import Work

_FEW_TAPS = 4
"""So many are spelled out where every window has all of them."""

_PIXEL = Work(load=4, alu=14, store=3, branch=1)


def _product(values: Mapping[str, Any]) -> Work:
    """Returns one product of an input and a weight: zero points are taken off on the way."""
    if values["is_float"]:
        return Work(load=2, float_multiply=1, float_alu=1)
    off = bool(values["input_zero_point"]) + bool(values["weight_zero_point"])
    return Work(load=2, multiply=1, alu=off)


def _stored(values: Mapping[str, Any]) -> Work:
    """Returns what makes an output of a sum."""
    if values["is_float"]:
        return Work(alu=6, float_alu=1, load=1, store=1, branch=1)
    work = Work(load=3, alu=28, multiply=2, store=1, branch=2, untaken=2)
    return work + Work(alu=14) if values["wide"] or values["accumulator"] == "int64_t" else work


def _stored_bytes(values: Mapping[str, Any]) -> int:
    return 24 if values["is_float"] else 140


def _taps(values: Mapping[str, Any], letter: str) -> int:
    """Returns how many taps of all windows along an axis lie on the image."""
    found = 0
    for number in range(values[f"output_{letter}"]):
        start = number * values[f"stride_{letter}"] - values[f"before_{letter}"]
        for tap in range(values[f"window_{letter}"]):
            found += 0 <= start + tap * values[f"dilation_{letter}"] < values[f"size_{letter}"]
    return found


def _pixels(values: Mapping[str, Any]) -> int:
    found: int = values["batches"] * values["output_y"] * values["output_x"]
    return found


def _windows(values: Mapping[str, Any]) -> tuple[int, int]:
    """Returns the rows, and the taps, of the windows of all pixels that lie on the image."""
    rows, columns = _taps(values, "y"), _taps(values, "x")
    batches = values["batches"]
    return batches * rows * values["output_x"], batches * rows * columns


def _rows_cost(bound: BoundOperator[Any], call: KernelCall) -> Cost:
    """Returns a fully connected or pointwise layer: a sum of products per output."""
    values = call.values
    each = (_product(values) + TURN) * values["channels_in"] + _stored(values)
    row = Work(alu=6, branch=1, load=2)
    rows = bound.output.elements // values.get("channels_out", bound.output.shape[-1])
    return Cost(each * bound.output.elements + row * rows + ENTER, 50 + _stored_bytes(values))


def _conv_2d(_: BoundOperator[Any], call: KernelCall) -> Cost:
    values = call.values
    rows, taps = _windows(values)
    depth = values["channels_in"] // values["groups"]
    channels = values["channels_out"]
    work = (_product(values) + TURN) * (taps * depth * channels)
    runs = rows if values["groups"] == values["dilation_x"] == 1 else taps
    work += Work(alu=9, multiply=1, load=2, branch=2) * (runs * channels)
    work += (_stored(values) + Work(alu=2, load=2)) * (_pixels(values) * channels)
    return Cost(work + _PIXEL * _pixels(values) + ENTER, 210 + _stored_bytes(values))


def _depthwise(_: BoundOperator[Any], call: KernelCall) -> Cost:
    values = call.values
    rows, taps = _windows(values)
    channels = values["channels_out"]
    work = (_product(values) + TURN + Work(alu=3)) * (taps * channels)
    work += Work(alu=5, load=1, branch=1) * (rows * channels)
    work += (_stored(values) + Work(alu=4, load=2)) * (_pixels(values) * channels)
    return Cost(work + _PIXEL * _pixels(values) + ENTER, 180 + _stored_bytes(values))


def _transpose_conv(_: BoundOperator[Any], call: KernelCall) -> Cost:
    """Returns a window per output of which the stride leaves some taps."""
    values = call.values
    outputs = _pixels(values) * values["channels_out"]
    window = values["window_y"] * values["window_x"]
    image = values["batches"] * values["size_y"] * values["size_x"]
    work = (_product(values) + TURN) * (image * window * values["channels_in"])
    work = work * values["channels_out"]
    work += (Work(alu=6, branch=1, untaken=1) * window + _stored(values)) * outputs
    return Cost(work + _PIXEL * _pixels(values) + ENTER, 270 + _stored_bytes(values))


def _hybrid(_: BoundOperator[Any], call: KernelCall) -> Cost:
    """Returns windows that are quantised before they are multiplied; an element, by its value."""
    values = call.values
    window = values["window_y"] * values["window_x"] * values["channels_in"]
    pixels = _pixels(values)
    work = Work(load=2, alu=1, multiply=1, branch=1) * (window * values["channels_out"])
    if window > values["channels_in"]:
        work += Work(alu=5, branch=1) * (values["window_y"] * values["channels_out"])
    work += Work(load=2, store=1, float_multiply=3, float_alu=10, alu=16, branch=3) * window
    work += Work(load=3, float_multiply=3, float_alu=2, alu=4, store=1) * values["channels_out"]
    return Cost(work * pixels + ENTER, 588)


def _pool(tap: Work, row: Work, end: Work, short: Work) -> Callable[..., Cost]:
    """Returns the cost of a pool: its taps, its rows of taps, its outputs.

    Where all windows are whole and small their taps are spelled out, `short` each.
    """

    def cost(_: BoundOperator[Any], call: KernelCall) -> Cost:
        values = call.values
        channels = values["channels_in"]
        rows, taps = _windows(values)
        each = end
        if values["is_float"]:
            each += Work(float_alu=1, alu=2)
        elif values["clamps"]:
            each += Work(alu=6)
        window = values["window_y"] * values["window_x"]
        if taps == _pixels(values) * window and window <= _FEW_TAPS:
            work = short * (taps * channels)
            each = Work(alu=4, store=1, branch=1)
        else:
            each_tap = tap + TURN + Work(alu=values["is_float"])
            work = each_tap * (taps * channels) + row * (rows * channels)
        work += each * (_pixels(values) * channels) + _PIXEL * _pixels(values)
        return Cost(work + ENTER, 110 + 40 * (taps < _pixels(values) * window))

    return cost


_AVERAGE = _pool(
    Work(load=1, alu=1),
    Work(alu=3, branch=1),
    Work(alu=20, divide=1, store=1, branch=2, untaken=1),
    Work(load=1, alu=1),
)
_MAXIMUM = _pool(
    Work(load=1, alu=4), Work(alu=3, branch=1), Work(alu=19, store=1, branch=1), Work(load=1, alu=3)
)
_ROOT = _pool(
    Work(load=1, float_multiply=1, float_alu=1),
    Work(alu=3, branch=1),
    Work(alu=250, store=1),
    Work(load=1, float_multiply=1, float_alu=1),
)

LAYERS: Mapping[str, Callable[[BoundOperator[Any], KernelCall], Cost]] = MappingProxyType(
    {
        "average_pool_2d": _AVERAGE,
        "conv_2d": _conv_2d,
        "conv_2d_hybrid": _hybrid,
        "conv_2d_pointwise": _rows_cost,
        "depthwise_conv_2d": _depthwise,
        "fully_connected": _rows_cost,
        "l2_pool_2d": _ROOT,
        "max_pool_2d": _MAXIMUM,
        "transpose_conv": _transpose_conv,
    }
)
"""Template → the cost of a call of it."""
