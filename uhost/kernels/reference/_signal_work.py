"""Instructions of the audio front end's kernels.

Bit lengths, roots and logarithms depend on the data: what is stated is about what speech
takes, as the recordings of the shared models do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from uhost.ir.graph import BoundOperator
from uhost.kernels._cost import Cost
from uhost.kernels._kernel import KernelCall
from uhost.kernels.reference._loops import ENTER, TURN, elements_work
from uhost.targets._work import Work

CostOf = Callable[[BoundOperator[Any], KernelCall], Cost]

_COPY = Work(load=1, store=1) + TURN


def _each(name: str, work: Work, code_bytes: int, rows: str = "") -> CostOf:
    """Returns the cost of one loop over what the value `name` counts, for each of `rows`."""

    def cost(_: BoundOperator[Any], call: KernelCall) -> Cost:
        count = call.values[name] * (call.values[rows] if rows else 1)
        return Cost(elements_work(count, work), code_bytes)

    return cost


def _energy(_: BoundOperator[Any], call: KernelCall) -> Cost:
    """Returns squares of the bins that are asked for; the others are 0."""
    values = call.values
    bins = values["end"] - values["first"]
    square = Work(load=1, multiply=2, alu=2, store=1) + TURN
    blank = (Work(store=1) + TURN) * (values["bins"] - bins)
    return Cost(square * bins + blank + ENTER, 40)


def _filter_bank(_: BoundOperator[Any], call: KernelCall) -> Cost:
    """Returns a sum of products of 64 bits per channel, over the channel's own bins."""
    bins = int(call.constants[0].values.reshape(-1)[2::3].sum())
    channel = Work(load=6, alu=20, store=4, branch=3)
    tap = Work(load=3, multiply=2, alu=9) + TURN
    return Cost(tap * bins + channel * (call.values["channels"] + 1) + ENTER, 184)


def _fourier(code_bytes: int) -> CostOf:
    def cost(_: BoundOperator[Any], call: KernelCall) -> Cost:
        """Returns the stages of a transform of complex numbers, and the way to real ones."""
        values = call.values
        stage = {
            "int16": Work(load=8, store=4, multiply=8, alu=21),
            "int32": Work(load=8, store=4, multiply=16, alu=46),
            "float32": Work(load=8, store=4, float_multiply=4, float_alu=8),
        }[values["suffix"]]
        work = (stage * len(values["stages"]) + Work(load=4, store=4, alu=12)) * values["count"]
        return Cost(work * values["rows"] + ENTER, code_bytes)

    return cost


def _framer(_: BoundOperator[Any], call: KernelCall) -> Cost:
    values = call.values
    copied = values["frames"] * values["size"] + values["kept"]
    return Cost((_COPY + Work(alu=2)) * (copied * values["rows"]) + ENTER, 142)


def _overlap_add(_: BoundOperator[Any], call: KernelCall) -> Cost:
    values = call.values
    each = _COPY + Work(load=1, alu=3)
    return Cost(each * (values["frames"] * values["size"] * values["rows"]) + ENTER, 120)


def _delay(_: BoundOperator[Any], call: KernelCall) -> Cost:
    values = call.values
    copied = 2 * values["delay"] + 2 * values["samples"]
    return Cost((_COPY * copied + Work(alu=10)) * values["rows"] + ENTER, 90)


def _stacker(_: BoundOperator[Any], call: KernelCall) -> Cost:
    """Returns the stacking of one frame but the first, which also fills the history."""
    values = call.values
    copied = 2 * values["kept"] + values["channels"]
    return Cost((_COPY + Work(alu=1)) * copied + Work(alu=12) + ENTER, 188)


SIGNALS: Mapping[str, CostOf] = MappingProxyType(
    {
        "signal_delay": _delay,
        "signal_energy": _energy,
        "signal_fft_auto_scale": _each("samples", Work(load=2, alu=9, store=1, branch=1), 82),
        "signal_filter_bank": _filter_bank,
        "signal_filter_bank_log": _each("elements", Work(load=2, alu=26, multiply=4, store=1), 176),
        "signal_filter_bank_spectral_subtraction": _each(
            "num_channels", Work(load=3, alu=17, multiply=6, store=3), 138
        ),
        "signal_filter_bank_square_root": _each("elements", Work(load=2, alu=248, store=1), 242),
        "signal_framer": _framer,
        "signal_irfft": _fourier(860),
        "signal_overlap_add": _overlap_add,
        "signal_pcan": _each("elements", Work(load=6, alu=22, multiply=4, store=1), 162),
        "signal_rfft": _fourier(498),
        "signal_stacker": _stacker,
        "signal_window": _each("samples", Work(load=2, alu=6, multiply=1, store=1), 80, "rows"),
    }
)
"""Template → the cost of a call of it."""
