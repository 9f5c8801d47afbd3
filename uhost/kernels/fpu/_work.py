"""Instructions of the float kernels, as GCC compiles their C for a core with an FPU.

Counted from the compiled loops; what is done once per block or pixel is rounded.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from uhost.kernels._cost import Cost
from uhost.kernels._kernel import KernelCall
from uhost.ops._window import Axis
from uhost.targets._work import Work


def clamping(values: Mapping[str, Any]) -> Work:
    """Returns the activation of one output: compare, fetch the flags, move if so."""
    bounds = sum(values[bound] is not None for bound in ("lowest", "highest"))
    return Work(float_alu=2, alu=2) * bounds


def clamping_bytes(values: Mapping[str, Any]) -> int:
    """Returns the code of `clamping`."""
    return 14 * sum(values[bound] is not None for bound in ("lowest", "highest"))


def blocks_work(values: Mapping[str, Any]) -> Work:
    """Returns all blocks of a layer; `values` are those of `block_values`."""
    p: int = values["pixel_block"]
    c: int = values["channel_block"]
    depth: int = values["depth"]
    channels: int = -(-values["channels_out"] // c)
    columns: int = -(-values["pixels"] // p)
    step = Work(load=p + c, float_multiply=p * c, alu=2, branch=1)
    finish = (clamping(values) + Work(store=1)) * (p * c)
    finish += Work(load=c) if values["has_bias"] else Work(float_alu=c)
    finish += Work(float_alu=(p - 1) * c)
    block = step * depth + finish + (Work(alu=10, load=2, store=1, branch=1) * (channels > 1))
    per_columns = Work(alu=10, load=3, store=3, branch=1) * (columns > 1)
    return (block * channels + per_columns) * columns + Work(alu=10, load_many=2, store_many=2)


def blocks_bytes(values: Mapping[str, Any]) -> int:
    """Returns the code of `blocks_work`."""
    p: int = values["pixel_block"]
    c: int = values["channel_block"]
    each = 12 + clamping_bytes(values)
    uneven = int(values["pixels"] % p > 0) + int(values["channels_out"] % c > 0)
    return 44 + 4 * (p + 2 * c) + each * p * c + 60 * uneven


def blocks_cost(call: KernelCall) -> Cost:
    """Returns the cost of a layer whose columns lie as they are multiplied."""
    return Cost(blocks_work(call.values), blocks_bytes(call.values))


def taps_cost(call: KernelCall, rows: Axis, columns: Axis) -> Cost:
    """Returns the cost of a kernel that goes over taps: depthwise convolution or pooling."""
    values = call.values
    c: int = values["channel_block"]
    if values["operation"] == "depthwise":
        shared = values["channels_in"] == 1
        tap = Work(load=c + (1 if shared else c), float_multiply=c, alu=3, branch=1)
    elif values["operation"] == "average":
        tap = Work(load=c, float_alu=c, alu=2, branch=1)
    else:
        tap = Work(load=c, float_alu=3 * c, alu=2 + c, branch=1)
    output = clamping(values) + Work(load=1, store=1)
    if values["operation"] == "average":
        output += Work(float_multiply=1)
    blocks: int = -(-values["channels_out"] // c)
    batches: int = values["batches"]
    lines, taps = int(rows.valid_taps().sum()), int(columns.valid_taps().sum())
    line = Work(alu=7 if columns.starts_outside else 2, branch=1)
    around = Work(alu=10, load=6, store=3, branch=1)
    if values["operation"] != "depthwise" or values["channels_out"] == c:
        around = Work(alu=4, load=2, store=1, branch=1)
    work = tap * (lines * taps) + line * (lines * columns.output)
    work += (output * c + around) * (rows.output * columns.output)
    work = work * blocks + Work(alu=16, load=6, store=5, branch=1) * (rows.output * columns.output)
    each = 18 if values["operation"] == "depthwise" else 12
    code = (234 if values["operation"] == "depthwise" else 109) + (
        each + clamping_bytes(values)
    ) * c
    return Cost(work * batches + Work(alu=12, load=4, load_many=2, store_many=2), code)
