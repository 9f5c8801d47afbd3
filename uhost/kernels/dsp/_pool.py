"""What the SIMD poolings share: the layers they take, and the values of their templates."""

from __future__ import annotations

from typing import Any

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.kernels._cost import Cost
from uhost.kernels._kernel import KernelCall, Parameter
from uhost.kernels._overlap import over_windows
from uhost.kernels.dsp._pieces import CLAMP_BYTES, clamping
from uhost.numerics.fixed_point import activation_range
from uhost.ops._pooling import window_axes
from uhost.targets._work import Work


def why_not_pooled(bound: BoundOperator[Any], channels: int) -> str:
    """Returns "" for int8 windows on the image, of this many channels or more, or the reason."""
    x = bound.input(0)
    if x.dtype is not DType.INT8:
        return f"{x.dtype} input"
    if x.shape[0] != 1:
        return f"batch of {x.shape[0]}"
    if x.shape[3] < channels:
        return f"fewer than {channels} channels"
    if any(axis.starts_outside or axis.ends_outside for axis in window_axes(bound)):
        return "padding"
    return ""


def pool_call(
    template: str,
    bound: BoundOperator[Any],
    values: dict[str, Any],
    includes: tuple[str, ...],
) -> KernelCall:
    """Returns the call of a pooling."""
    rows, columns = window_axes(bound)
    lowest, highest = activation_range(bound.attributes.activation.bounds, bound.output)
    channels = bound.output.shape[3]
    clamped = (lowest, highest) != (-128, 127)
    return KernelCall(
        library="dsp",
        template=template,
        values={
            **values,
            "channels": channels,
            "size": (rows.size, columns.size),
            "window": (rows.window, columns.window),
            "stride": (rows.stride, columns.stride),
            "outputs": (rows.output, columns.output),
            "clamped": clamped,
            "lowest": lowest,
            "highest": highest,
        },
        parameters=(
            Parameter("input", "const int8_t *", "input"),
            Parameter("output", "int8_t *", "output"),
        ),
        includes=("dsp", *includes, *(("dsp_clamp",) if clamped else ())),
        overlaps=(over_windows(rows, columns, channels, channels, reads_first=False),),
    )


def pool_cost(call: KernelCall, group: int, routine: Work, shared: dict[str, int]) -> Cost:
    """Returns the cost of a pooling whose `routine` makes one output of `group` channels."""
    rows, columns = call.values["outputs"]
    groups, rest = divmod(call.values["channels"], group)
    overlaps = int(rest > 0)
    # GCC spells out up to two calls, and keeps what four need in registers.
    calls = Work(alu=3, branch=1) * groups
    if groups < 3:
        loop = Work(alu=4, branch=1)
    elif groups < 5:
        loop = Work(alu=2, branch=1) * groups + Work(alu=5, branch=1)
    else:
        loop = Work(alu=2, load=1, branch=1) * groups + Work(alu=6, branch=1)
    pixel = routine * (groups + overlaps) + calls + loop + Work(alu=3, branch=1) * overlaps
    work = pixel * (rows * columns)
    if rows > 1 and columns > 1:
        work += Work(alu=4, branch=1) * (rows - 1)
    work += Work(load_many=1, store_many=1, words=14)
    several = (rows > 1) + (columns > 1)
    code = 14 + 26 * several + 12 * (groups > 1) + 16 * overlaps + 20 * (columns == 2)
    if call.values["clamped"]:
        work += clamping(rows * columns * call.values["channels"])
        shared = {**shared, "dsp_clamp": CLAMP_BYTES}
        code += 12
    return Cost(work, code, shared)
