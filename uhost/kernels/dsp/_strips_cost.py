"""What depthwise windows over strips of lines cost.

Counts of the assembler are those of its text, `templates/kernels/include/dsp_split.h.j2` and
`dsp_depthwise_*.h.j2`; those of the C around it are GCC 12's at -O2.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from uhost.ir.graph import BoundOperator
from uhost.kernels._cost import Cost
from uhost.kernels._kernel import KernelCall
from uhost.kernels.dsp._lines_cost import SAVED, WORD, clamped
from uhost.targets._work import Work

# 3x3 with a fused ReLU: strips of lines, split by one routine, multiplied by another.

SPLIT_BYTES = 186
NUMBERS_BYTES = 56


def splitting(pairs: int, *, before: bool, after: bool) -> Work:
    """Returns the work of `uhost_dsp_split_line`: pairs of pixels, and one at either end."""
    work = Work(load=2, load_many=2, store_many=1, words=18, alu=5, branch=3)
    work += Work(load=2, alu=10, store=4, branch=1) * pairs
    work += Work(load=1, alu=7, store=4) * before + Work(load=1, alu=6, store=4) * after
    return work


def strip_windows(
    lines: int, channels: int, outputs: int, along: int, unrolled: int, *, wide: bool
) -> Work:
    """Returns the work of the routine that makes lines of outputs of up to four channels."""
    pairs = outputs // 2
    pair = Work(load_many=4, words=8, multiply=14, alu=3, store=2) + Work(load=3 * (along == 2))
    line = pair * pairs + Work(load=3, alu=3, store=1, branch=1)
    if pairs > unrolled:
        line += Work(alu=1, store=1) + Work(load=1, alu=1, branch=1) * (pairs // unrolled)
    if outputs % 2:
        line += Work(load_many=4, words=8, multiply=7, alu=2, store=1)
    channel = Work(load=10, load_many=1, words=6, store=6, alu=3, branch=1) + line * lines
    channel += Work(words=3) if wide else Work(alu=9)
    ends = Work(store_many=3, load_many=2, words=24, alu=2, store=2)
    return ends + channel * channels


def _strip_windows_bytes(outputs: int, along: int, unrolled: int) -> int:
    pairs = outputs // 2
    pair = 104 if along == 2 else 92
    return 176 + 18 * (pairs > unrolled) + pair * min(pairs, unrolled) + 54 * (outputs % 2)


def _filling(words: int) -> Work:
    """Returns the work of filling a line of four channels; GCC spells out up to three words."""
    if words <= 3:
        return (Work(store=words) + Work(alu=4) * (words - 2)) * 4
    return (WORD * words + Work(alu=3, branch=1)) * 4


def over_strips(call: KernelCall, windows: Callable[[int, int], Work]) -> Work:
    """Returns the work of all strips; `windows` is that of so many lines of so many channels."""
    values = call.values
    rows, across, before = values["outputs"][0], values["stride"][0], values["before"][0]
    split = splitting(
        values["pair_bytes"] // 4, before=bool(values["ends"] & 1), after=bool(values["ends"] & 2)
    )
    channels = values["channels"]
    groups, rest = -(-channels // 4), channels % 4
    work: Work = SAVED + WORD * values["plane_bytes"]
    several = values["strip_lines"] < rows
    # GCC spells out the loop over lines of two words.
    slot_alu = 9 + 3 * (before > 0) - 6 * (values["pitch_words"] == 2 and not rest)
    for first in range(0, rows, values["strip_lines"]):
        lines = min(values["strip_lines"], rows - first)
        if several:
            for slot in range(values["slots"]):
                y = first * across + slot - before
                if 0 <= y < values["lines"]:
                    work += (split + Work(alu=slot_alu, branch=3, load=1)) * groups
                else:
                    work += (_filling(values["pitch_words"]) + Work(alu=11, branch=3)) * groups
        else:
            work += (split + Work(alu=6, branch=2)) * (values["used_lines"] * groups)
        work += windows(lines, 4) * (channels // 4)
        if rest:
            work += windows(lines, rest)
    return work + Work(alu=6, store=1, branch=1) * (groups if rest else 0)


def strips_bytes(call: KernelCall, window: int) -> int:
    """Returns the code of the loops over strips of windows of `window` lines, without the calls."""
    values = call.values
    rows, across, before = values["outputs"][0], values["stride"][0], values["before"][0]
    code: int = 116 + 40 * (values["channels"] % 4 > 0) + 16 * values["clamped"]
    if values["strip_lines"] < rows:
        below = (rows - 1) * across + window - before > values["lines"]
        code += 54 + 36 * (before > 0) + 32 * below - 38 * (values["channels"] <= 4)
    return code


def rectified_cost(_bound: BoundOperator[Any], call: KernelCall) -> Cost:
    """Returns the cost of `depthwise_conv_2d_3x3_rectified`."""
    values = call.values
    outputs, along = values["outputs"][1], values["stride"][1]
    routine = next(i for i in call.includes if i.startswith("dsp_depthwise_3x3_rectified:"))
    unrolled = int(routine.rpartition("unrolled=")[2])
    wide = values["record_words"] == 9

    def windows(lines: int, channels: int) -> Work:
        routine = strip_windows(lines, channels, outputs, along, unrolled, wide=wide)
        return routine + Work(alu=8, load=4, store=1, branch=2)

    clamp, shared = clamped(call)
    shared |= {
        routine: _strip_windows_bytes(outputs, along, unrolled) - 36 * wide,
        "dsp_split": SPLIT_BYTES,
    }
    return Cost(over_strips(call, windows) + clamp, strips_bytes(call, 3), shared)


# Any window: four neighbouring outputs at once.


def _loading(count: int) -> Work:
    """Returns the work of loading so many pairs of weights."""
    if count < 2:
        return Work(load=count)
    return Work(load_many=1, words=count)


def _window_line(count: int, taps: int, along: int) -> Work:
    """Returns the work of one line of the windows of `count` neighbouring outputs."""
    words = ((count - 1) * along + taps - 1) // 2 + 1
    pairs = max(taps - 1, 1) if along == 1 else (taps + 1) // 2
    lowest_tap = -1 if along == 1 else 0
    work = Work()
    for word in range(words):
        first, last = (word, word) if along == 2 else (max(2 * word - 1, 4), 2 * word)
        if word == 0:
            work += _loading(min(pairs, 4))
        elif first >= 4:
            work += _loading(max(min(last, pairs - 1) - first + 1, 0))
        if word % 2 == 0:
            alone = 0 < word == words - 1
            work += Work(load=1) if alone else Work(load_many=1, words=2)
        met = (lowest_tap <= 2 * word - output * along < taps for output in range(count))
        work += Work(multiply=sum(met))
    return work


def _window_block(count: int, window: tuple[int, int], along: int, *, general: bool) -> Work:
    """Returns the work of `count` neighbouring outputs, requantisation and stores included."""
    work = _window_line(count, window[1], along) * window[0]
    work += Work(load=1, load_many=1, words=2, store=count, alu=(count + 1) // 2 + 1)
    if general:
        return work + Work(load=1, alu=3 * count, multiply=count)
    return work + Work(alu=count, multiply=count)


def _window_lines(call: KernelCall, lines: int) -> Work:
    """Returns the work of the routine for so many lines of outputs of one channel."""
    values = call.values
    outputs: int = values["outputs"][1]
    along: int = values["stride"][1]
    blocks, rest = divmod(outputs, 4)
    general = values["ends_words"] == 4
    line = Work(load_many=1, words=2, alu=3, store=1, branch=1)
    window = values["window"][0], values["spans"][1]
    four = _window_block(4, window, along, general=general) + Work(alu=1)
    if blocks > 1:
        line += Work(alu=1, store=1)
        four += Work(load=1, alu=1, branch=1)
    line += four * blocks
    if rest:
        line += _window_block(rest, window, along, general=general)
    ends = Work(store_many=3, load_many=3, words=30, load=1, alu=5)
    return ends + line * lines


def _window_bytes(call: KernelCall) -> int:
    """Returns the code of the routine: four bytes an instruction, but for the shortest."""
    outputs: int = call.values["outputs"][1]
    along: int = call.values["stride"][1]
    blocks, rest = divmod(outputs, 4)
    general = call.values["ends_words"] == 4
    code = 62 + 6 * (blocks > 1)
    for count in (4 * (blocks > 0), rest):
        if count:
            window = call.values["window"][0], call.values["spans"][1]
            block = _window_block(count, window, along, general=general)
            code += 4 * block.instructions
    return code


def strips_cost(_bound: BoundOperator[Any], call: KernelCall) -> Cost:
    """Returns the cost of `depthwise_conv_2d_strips`."""
    values = call.values
    words: int = values["record_words"] - values["ends_words"]
    general = values["ends_words"] == 4
    expanding = Work(alu=8 if general else 5, load=1, store=2, branch=1) * words
    expanding += Work(alu=4, load=3 + general, store=3 + general, branch=1, untaken=1)

    def windows(lines: int, channels: int) -> Work:
        each = _window_lines(call, lines) + expanding + Work(alu=12, branch=3)
        return each * channels + Work(alu=6, load=2, store=1)

    clamp, shared = clamped(call)
    routine, numbers = (
        next(name for name in call.includes if name.startswith(f"dsp_depthwise_{piece}:"))
        for piece in ("window", "numbers")
    )
    shared |= {routine: _window_bytes(call), numbers: NUMBERS_BYTES, "dsp_split": SPLIT_BYTES}
    code = strips_bytes(call, values["spans"][0]) + 20
    return Cost(over_strips(call, windows) + clamp, code, shared)
