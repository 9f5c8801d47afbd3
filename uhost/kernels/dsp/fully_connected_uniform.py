"""FULLY_CONNECTED of one vector whose outputs all have the same factor.

Requantisation takes three numbers per layer instead of three per output, so that a layer takes
no more flash than its weights and biases, and layers of every factor share one routine.
"""

from __future__ import annotations

from uhost.ir.graph import BoundOperator
from uhost.kernels._cost import Cost
from uhost.kernels._kernel import Constant, Kernel, KernelCall, Parameter
from uhost.kernels._quantize import conv_requantization
from uhost.kernels.dsp._channels import Channels, fold, why_not_int8
from uhost.kernels.dsp._lift import Pairs, lifted
from uhost.kernels.dsp._pieces import CLAMP_BYTES, SUMS_BYTES, clamping, summing, widening
from uhost.kernels.dsp._product import Ends, column_bytes, column_pairs, pack, why_inexact
from uhost.ops.fully_connected import FullyConnectedAttributes
from uhost.targets._work import Work

_ROUTINE_BYTES = 620
_STEP = Work(multiply=8, alu=4, load_many=2, words=6)
"""Two K pairs of four outputs; the routine has eight of these in a round."""


def _channels(bound: BoundOperator[FullyConnectedAttributes]) -> Channels:
    # Outputs that cannot change are computed as well: a number of their own would cost more.
    return fold(bound, keep_constant=True)


def _pairs(bound: BoundOperator[FullyConnectedAttributes]) -> Pairs:
    return column_pairs(bound.input(1).shape[1], 1, even=True)


def _supports(bound: BoundOperator[FullyConnectedAttributes]) -> str:
    reason = why_not_int8(bound)
    if reason:
        return reason
    if bound.output.elements != bound.input(1).shape[0]:
        return "several vectors"
    if not conv_requantization(bound).is_uniform:
        return "outputs of different factors"
    return why_inexact(_channels(bound))


def _lower(bound: BoundOperator[FullyConnectedAttributes]) -> KernelCall:
    count, depth = bound.input(1).shape
    channels, pairs, summed = lifted(_channels(bound), _pairs(bound), even=True)
    lowest, highest = channels.clamp
    clamped = (lowest, highest) != (-128, 127)
    ends = Ends(channels.addends[:, None][:, :0], channels.bias, 0)
    return KernelCall(
        library="dsp",
        template="fully_connected_uniform",
        values={
            "depth": depth,
            "channels": count,
            "pairs": len(pairs),
            "summed": summed,
            "group_words": 4 + 2 * len(pairs),
            "multiplier": int(channels.multipliers[0]),
            "addend": int(channels.addends[0]),
            "shift": int(channels.shifts[0]),
            "clamped": clamped,
            "lowest": lowest,
            "highest": highest,
        },
        parameters=(
            Parameter("input", "const int8_t *", "input"),
            Parameter("weights", "const uint32_t *", "constant"),
            Parameter("output", "int8_t *", "output"),
            Parameter("column", "uint32_t *", "scratch"),
        ),
        constants=(Constant("weights", pack(channels, pairs, ends)),),
        scratch_bytes=column_bytes(pairs, 1),
        includes=(
            "dsp",
            "dsp_vector",
            "dsp_widen",
            *(("dsp_sums",) if summed else ()),
            *(("dsp_clamp",) if clamped else ()),
        ),
    )


def _cost(bound: BoundOperator[FullyConnectedAttributes], call: KernelCall) -> Cost:
    count, pairs = call.values["channels"], call.values["pairs"]
    groups = -(-count // 4)
    calls = (count >= 4) + (count % 4 > 0)
    enter = Work(multiply=1, alu=7, load_many=2, store_many=2, words=27, branch=1)
    start = Work(load=1, load_many=1, words=4, branch=1)
    rounds = Work(alu=1, load=1, branch=1) * -(-pairs // 16)
    end = Work(multiply=4, alu=22, load=1, load_many=1, words=2, store=2, branch=1)
    group = start + _STEP * (pairs // 2) + rounds + end
    work = group * groups + (enter + Work(alu=5, store=1, branch=1)) * calls
    work += widening(call.values["depth"]) + Work(load=1, store=1) * (count % 4)
    work += Work(load_many=1, store_many=1, words=8, alu=1)
    shared = {"dsp_vector": _ROUTINE_BYTES}
    if call.values["summed"]:
        work += summing(call.values["summed"], 1)
        shared["dsp_sums#1"] = SUMS_BYTES[1]
    if call.values["clamped"]:
        work += clamping(count)
        shared["dsp_clamp"] = CLAMP_BYTES
    rest = call.values["depth"] % 4
    spelled_out = 22 * (pairs > 2) + 12 * rest // 2 + 32 * (calls - 1) + 2 * (count % 4)
    return Cost(work, 44 + spelled_out + 10 * call.values["clamped"], shared)


KERNEL = Kernel("fully_connected", _supports, _lower, features=("dsp",), cost=_cost)
