"""MUL of two int8 tensors, one of which may repeat over the leading dimensions of the other.

A product x of two elements less their zero points is requantised as sums of weighted layers
are (`_channels`): (SMMLAR(2x, multiplier, addend) - (x < 0)) >> shift.
"""

from __future__ import annotations

import math

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.kernels._cost import Cost
from uhost.kernels._kernel import Kernel, KernelCall, Parameter
from uhost.kernels.dsp._pieces import CLAMP_BYTES, clamping
from uhost.numerics.fixed_point import activation_range
from uhost.ops.mul import MulAttributes, mul_scaling
from uhost.targets._work import Work

_LARGEST_SHIFT = 22
"""The zero point times 2^shift, half the divisor and the product fit 32 bits."""

_ROUTINE_BYTES = 172


def _repeated(bound: BoundOperator[MulAttributes]) -> int | None:
    """Returns which input repeats (1 where neither does), or None for other broadcasting."""
    for index in (1, 0):
        small, large = bound.input(index), bound.input(1 - index)
        ones = next((i for i, size in enumerate(small.shape) if size > 1), len(small.shape))
        core = small.shape[ones:]
        trailing = large.shape[len(large.shape) - len(core) :]
        if large.shape == bound.output.shape and trailing == core:
            return index
    return None


def _plus(value: int) -> str:
    return f" {'+' if value > 0 else '-'} {abs(value)}" if value else ""


def _unsigned(value: int) -> str:
    return f"0x{value & 0xFFFFFFFF:08X}u"


def _supports(bound: BoundOperator[MulAttributes]) -> str:
    if bound.input(0).dtype is not DType.INT8:
        return f"{bound.input(0).dtype} input"
    index = _repeated(bound)
    if index is None:
        return "broadcasting other than over leading dimensions"
    if bound.input(index).elements < min(4, bound.output.elements):
        return "fewer than four elements that repeat"
    multiplier, shift = mul_scaling(bound)
    if shift > -1 or multiplier == 0:
        return "an output factor of 0.5 or more, or of 0"
    return "" if shift >= -_LARGEST_SHIFT else f"an output factor below 2^-{_LARGEST_SHIFT}"


def _lower(bound: BoundOperator[MulAttributes]) -> KernelCall:
    index = _repeated(bound)
    assert index is not None
    large, small, output = bound.input(1 - index), bound.input(index), bound.output
    multiplier, shift = mul_scaling(bound)
    lowest, highest = activation_range(bound.attributes.activation.bounds, output)
    clamped = (lowest, highest) != (-128, 127)

    return KernelCall(
        library="dsp",
        template="mul",
        values={
            "size": small.elements,
            "rounds": math.prod(output.shape) // small.elements,
            "multiplier": multiplier,
            "addend": _unsigned((1 << -shift - 1) + (output.zero_point << -shift)),
            "shift": -shift,
            "plus": tuple(_plus(-tensor.zero_point) for tensor in (large, small)),
            "offsets": tuple(
                _unsigned((-tensor.zero_point & 0xFFFF) * 0x10001) for tensor in (large, small)
            ),
            "clamped": clamped,
            "lowest": lowest,
            "highest": highest,
        },
        parameters=(
            Parameter("first", "const int8_t *", "input", 1 - index),
            Parameter("second", "const int8_t *", "input", index),
            Parameter("output", "int8_t *", "output"),
        ),
        includes=("dsp", "dsp_mul", *(("dsp_clamp",) if clamped else ())),
    )


def _cost(_bound: BoundOperator[MulAttributes], call: KernelCall) -> Cost:
    fours, rest = divmod(call.values["size"], 4)
    rounds = call.values["rounds"]
    four = Work(multiply=8, alu=22, load=2, store=1, branch=1)
    enter = Work(alu=2, load_many=2, store_many=1, words=24, branch=1)
    work = (four * fours + enter) * rounds if fours else Work()
    work += Work(multiply=2, alu=7, load=2, store=1, branch=1) * (rest * rounds)
    if fours and rest:
        work += Work(alu=1, load_many=1, store_many=1, words=12) * rounds
    if rounds > 1:
        work += Work(alu=6, branch=1) * rounds + Work(alu=3, load_many=1, store_many=1, words=10)
    work += Work(alu=1, load=1, branch=1)
    shared = {"dsp_mul": _ROUTINE_BYTES}
    code = 12 + 30 * (rounds > 1) + 74 * (rest > 0)
    if call.values["clamped"]:
        work += clamping(call.values["size"] * rounds)
        shared["dsp_clamp"] = CLAMP_BYTES
        code += 16
    return Cost(work, code, shared)


KERNEL = Kernel("mul", _supports, _lower, features=("dsp",), cost=_cost)
