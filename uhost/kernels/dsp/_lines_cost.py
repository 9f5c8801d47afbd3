"""What depthwise windows over a ring of lines of halfwords cost.

Counts of the assembler are those of its text, `templates/kernels/include/dsp_depthwise_3x3.h.j2`;
those of the C around it are GCC 12's at -O2.
"""

from __future__ import annotations

from typing import Any

from uhost.ir.graph import BoundOperator
from uhost.kernels._cost import Cost
from uhost.kernels._kernel import KernelCall
from uhost.kernels.dsp._pieces import CLAMP_BYTES, clamping
from uhost.targets._work import Work

SAVED = Work(alu=12, store=4, load=2, load_many=1, store_many=1, words=18)
WORD = Work(store=1, alu=1, branch=1)
"""A word of `uhost_dsp_fill`."""


def clamped(call: KernelCall) -> tuple[Work, dict[str, int]]:
    """Returns the work of clamping all outputs, where that is needed, and its code."""
    if not call.values["clamped"]:
        return Work(), {}
    rows, columns = call.values["outputs"]
    outputs = rows * columns * call.values["channels"] * call.values.get("multiplier", 1)
    return clamping(outputs), {"dsp_clamp": CLAMP_BYTES}


# A ring of lines, brought and split in C.


def _bringing(call: KernelCall, y: int, channels: int) -> Work:
    """Returns the work of bringing input line `y` of some channels into the ring."""
    values = call.values
    if not 0 <= y < values["lines"]:
        words: int = values["line_words"]
        return Work(alu=10, branch=3) + (WORD * words + Work(alu=5)) * channels
    length: int = values["length"]
    odd: int = values["before"][1] % 2
    if channels < 4:
        pixel = Work(alu=14, load=2, store=1, branch=1)
        return Work(alu=14, branch=3) + (pixel * length + Work(alu=6, branch=1)) * channels
    work = Work(alu=21, load=3, branch=4)
    single = Work(alu=22, load=5, store=4)
    pairs, rest = divmod(length - odd, 2)
    work += single * odd + single * rest
    return work + Work(alu=11, load=2, store=4, branch=1) * pairs


def _ring(call: KernelCall, outputs: Work, per_line: Work) -> Work:
    """Returns the work over all lines and groups; `outputs` are one channel's of one line."""
    values = call.values
    total, rest = values["channels"], values["channels"] % 4
    work: Work = SAVED + WORD * values["window_words"]
    for channels, groups in ((4, total // 4), (rest, int(rest > 0))):
        if not groups:
            continue
        group = (outputs * channels + per_line) * values["outputs"][0] + Work(alu=8, store=3)
        last = (values["outputs"][0] - 1) * values["stride"][0] + values["window"][0]
        for line in range(last):
            group += _bringing(call, line - values["before"][0], channels)
        work += group * groups
    return work


def _ring_bytes(call: KernelCall, group: int) -> int:
    """Returns the code of the loops over groups, of whole ones and of the rest."""
    values = call.values
    odd: int = values["before"][1] % 2
    singles = odd + (values["length"] - odd) % 2
    whole: int = (group + 75 * singles) * (values["channels"] >= 4)
    return 60 + whole + group * bool(values["channels"] % 4)


ROUTINE_BYTES = {1: 252, 2: 260}
"""The routine of one line of 3x3 windows, by stride."""


def _line(outputs: int, stride: int, *, wide: bool) -> Work:
    """Returns the work of `uhost_dsp_depthwise_3x3_stride_N`, or of its wide form."""
    work = Work(store_many=3, load_many=3, words=31, load=2, store=3, alu=9, multiply=1, branch=2)
    work += Work(load_many=3, words=6, alu=3) if wide else Work(load=3, alu=12)
    pair = Work(load_many=4, words=10, multiply=14, alu=8, load=1, store=2, branch=1)
    if stride == 2:
        pair += Work(load_many=1, words=3)
    work += pair * (outputs // 2)
    if outputs % 2:
        work += Work(load_many=3, words=9, multiply=7, alu=3, store=1)
    return work


def ring_3x3_cost(_bound: BoundOperator[Any], call: KernelCall) -> Cost:
    """Returns the cost of `depthwise_conv_2d_3x3`."""
    values = call.values
    stride, wide = values["stride"][1], values["row_bytes"] == 8
    line = _line(values["outputs"][1], stride, wide=wide) + Work(alu=6, load=1, branch=2)
    work = _ring(call, line, Work(alu=22, multiply=3, load=4, store=4, branch=2))
    clamp, shared = clamped(call)
    shared[f"dsp_depthwise_3x3#{stride}{'w' * wide}"] = ROUTINE_BYTES[stride] - 32 * wide
    code = _ring_bytes(call, 370) + 16 * values["clamped"]
    return Cost(work + clamp, code, shared)


def ring_cost(_bound: BoundOperator[Any], call: KernelCall) -> Cost:
    """Returns the cost of `depthwise_conv_2d`."""
    values = call.values
    rows, columns = values["window"]
    pairs = (columns + 1) // 2
    # Few weights stay in registers over a line.
    row = Work(load=1 if rows * pairs <= 4 else 2, multiply=1) * pairs
    if not values["unrolled"]:
        row += Work(alu=4, branch=1)
    one = row * rows + Work(multiply=1, alu=6, load=2, store=1, branch=1)
    line = one * values["outputs"][1] + Work(alu=8, load=4, branch=1)
    # Where the window begins at the same place of the ring for every line, GCC copies none.
    if values["outputs"][0] > 1 and values["stride"][0] % rows:
        line += (Work(load=1, store=1) * pairs + Work(alu=4, branch=1)) * rows
    line = line * values["multiplier"]
    work = _ring(call, line, Work(alu=14, multiply=1, load=4, store=2, branch=2))
    clamp, shared = clamped(call)
    products = (8 if rows * pairs <= 4 else 10) * pairs * (rows if values["unrolled"] else 1)
    code = _ring_bytes(call, 300 + 4 * pairs + products) + 16 * values["clamped"]
    return Cost(work + clamp, code, shared)
