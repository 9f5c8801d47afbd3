"""ADD of two int8 tensors of one shape: two multiplies, a shift and a saturation per element.

The reference scales each element, rounding twice, and then their sum, rounding twice
more. There are only 256 · 256 pairs of elements, so a shorter formula

    saturate((A · first + B · second + C) >> shift)

can be compared with it on all of them. A and B are the scales' ratios in fixed point;
for each A and B near them every pair says from where to where C may lie.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.kernels._cost import Cost
from uhost.kernels._kernel import Kernel, KernelCall, Parameter
from uhost.kernels._overlap import by_element
from uhost.kernels.dsp._pieces import CLAMP_BYTES, clamping
from uhost.numerics.fixed_point import activation_range
from uhost.ops._op import OPERATORS
from uhost.ops.add import AddAttributes
from uhost.solutions import remembered
from uhost.targets._work import Work

Integers = NDArray[np.int64]

_WIDE_SHIFTS = tuple(range(22, 9, -1))
_PLAIN_SHIFTS = (22, 21, 20)
_EIGHTS = "dsp_add_eights:"
_ROUTINE_BYTES = {True: 196, False: 228}
_CHANGES = tuple(
    sorted(itertools.product(range(-3, 4), repeat=2), key=lambda pair: abs(pair[0]) + abs(pair[1]))
)


@dataclass(frozen=True, slots=True)
class AddForm:
    """A, B, C and shift; `wide` if A and B have 16 fractional bits more, dropped by SMLAW."""

    first: int
    second: int
    constant: int
    shift: int
    wide: bool


def add_form(bound: BoundOperator[AddAttributes]) -> AddForm | None:
    """Returns a form that is right for every pair of elements, or None if none was found.

    Where an activation clamps, sums are right once they are clamped too. Answers are
    remembered.
    """
    expected = _expected(bound)
    low, high = activation_range(bound.attributes.activation.bounds, bound.output)
    ratios = [bound.input(index).scale / bound.output.scale for index in (0, 1)]
    question = (ratios, low, high, expected.astype(np.int8).tobytes())
    return remembered(
        add_form, question, AddForm | None, lambda: _searched(expected, low, high, ratios)
    )


def _searched(expected: Integers, low: int, high: int, ratios: Sequence[float]) -> AddForm | None:
    """Returns what `add_form` promises, by trying shifts and factors near the ratios."""
    for wide in (True, False):
        bits = 16 if wide else 0
        # The largest shift that keeps A, B and all sums within 32 bits.
        shifts = _WIDE_SHIFTS if wide else _PLAIN_SHIFTS
        limit = 31 - bits if wide else 23
        fitting = [s for s in shifts if max(ratios) * 2.0**s < 2.0**limit - 8]
        for shift in fitting[:2]:
            for change in _CHANGES:
                first, second = (
                    round(ratio * 2.0 ** (shift + bits)) + step
                    for ratio, step in zip(ratios, change, strict=True)
                )
                constant = _constant(first, second, shift, bits, expected, low, high)
                if constant is not None:
                    return AddForm(first, second, constant, shift, wide)
    return None


def _expected(bound: BoundOperator[AddAttributes]) -> Integers:
    """Returns the reference's sums as (first element, second element)."""
    values = np.arange(-128, 128, dtype=np.int8)
    sums = OPERATORS["add"].reference(bound, [values[:, None], values[None, :]])[0]
    result: Integers = sums.astype(np.int64)
    return result


def _constant(
    first: int, second: int, shift: int, bits: int, expected: Integers, low: int, high: int
) -> int | None:
    """Returns the least C with which the form gives `expected`, or None if there is none."""
    values = np.arange(-128, 128, dtype=np.int64)
    sums = (first * values >> bits)[:, None] + (second * values >> bits)[None, :]
    at_least = int(((expected << shift) - sums)[expected > low].max(initial=-(1 << 40)))
    at_most = int((((expected + 1) << shift) - 1 - sums)[expected < high].min(initial=1 << 40))
    constant = max(at_least, -(1 << 30))
    # SMLAW and MLA add C first: neither partial sum may leave 32 bits.
    if constant > at_most or int(np.abs(sums).max()) + abs(constant) >= 1 << 31:
        return None
    return constant


def _supports(bound: BoundOperator[AddAttributes]) -> str:
    first, second = bound.input(0), bound.input(1)
    if first.dtype is not DType.INT8:
        return f"{first.dtype} input"
    if first.shape != second.shape:
        return "broadcasting"
    return "" if add_form(bound) is not None else "no short form is right for every pair"


def _lower(bound: BoundOperator[AddAttributes]) -> KernelCall:
    form = add_form(bound)
    assert form is not None
    lowest, highest = activation_range(bound.attributes.activation.bounds, bound.output)
    clamped = (lowest, highest) != (-128, 127)
    return KernelCall(
        library="dsp",
        template="add",
        values={
            "size": bound.output.elements,
            "first": form.first,
            "second": form.second,
            "constant": form.constant,
            "form": f"{'wide' if form.wide else 'plain'}_shift_{form.shift}",
            "clamped": clamped,
            "lowest": lowest,
            "highest": highest,
        },
        parameters=(
            Parameter("first", "const int8_t *", "input", 0),
            Parameter("second", "const int8_t *", "input", 1),
            Parameter("output", "int8_t *", "output"),
        ),
        includes=(
            "dsp",
            "dsp_add",
            f"{_EIGHTS}shift={form.shift},wide={int(form.wide)}",
            *(("dsp_clamp",) if clamped else ()),
        ),
        overlaps=(by_element(bound, 0), by_element(bound, 1)),
    )


_EIGHT = {
    True: Work(multiply=16, alu=23, load=4, store=2, branch=1),
    False: Work(multiply=16, alu=31, load=4, store=2, branch=1),
}
"""Eight elements in either form, by `wide`."""


def _cost(_bound: BoundOperator[AddAttributes], call: KernelCall) -> Cost:
    wide = str(call.values["form"]).startswith("wide")
    eights, rest = divmod(call.values["size"], 8)
    work = Work(alu=1, load=1, branch=1)
    shared = {name: _ROUTINE_BYTES[wide] for name in call.includes if name.startswith(_EIGHTS)}
    if eights:
        work += Work(alu=1, load_many=2, store_many=1, words=22) + _EIGHT[wide] * eights
    if rest:
        work += Work(multiply=2, alu=3, load=2, store=1, branch=1) * rest
        work += Work(alu=5 * (rest > 2 or eights > 0), load_many=rest > 2, words=2)
    if call.values["clamped"]:
        work += clamping(call.values["size"])
        if rest:
            work += Work(alu=6, load_many=1, store_many=1, words=6)
        shared["dsp_clamp"] = CLAMP_BYTES
    code = 12 + 16 * call.values["clamped"] + (50 + 12 * (rest > 1)) * (rest > 0)
    return Cost(work, code, shared)


KERNEL = Kernel("add", _supports, _lower, features=("dsp",), cost=_cost)
