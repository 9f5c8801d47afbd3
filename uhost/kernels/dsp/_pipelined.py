"""The order of the products for cores that issue two instructions a cycle, as the Cortex-M7.

Such a core multiplies in one pipe and loads several registers alone. So the pipelined routines
load each operand by itself, beside a multiplication: more instructions, and fewer cycles.
`templates/kernels/include/dsp_product_pipelined.h.j2` and
`dsp_winograd_product_pipelined.h.j2` have the texts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from uhost.ir.graph import BoundOperator
from uhost.kernels._cost import Cost
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.dsp import _winograd_cost
from uhost.kernels.dsp._product_cost import is_rectified, product
from uhost.targets._cycles_dual_issue import CORTEX_M7
from uhost.targets._work import Work

_ENTER = 17
_START = {2: 8, 1: 6}
_STEP = {2: 8, 1: 9}
_ROUND = 3
_END = {(2, False): 46, (2, True): 24, (1, False): 28, (1, True): 15}
"""Cycles of the Cortex-M7's model for the parts of a product, as `_product_cost` names them."""

CostOf = Callable[[BoundOperator[Any], KernelCall], Cost]


def pipelined_kernel(kernel: Kernel) -> Kernel:
    """Returns the kernel with the pipelined order of `uhost_dsp_product`."""

    def lower(bound: BoundOperator[Any]) -> KernelCall:
        call = kernel.lower(bound)
        values = {**call.values, "suffix": "_pipelined" + call.values["suffix"]}
        return replace(call, values=values, includes=_pipelined(call.includes, "dsp_product_tiles"))

    assert kernel.cost is not None
    cost = ordered_cost(kernel.cost, _products)
    return Kernel(kernel.operator, kernel.supports, lower, kernel.features, cost)


def _pipelined(includes: tuple[str, ...], piece: str) -> tuple[str, ...]:
    """Returns the pieces of C with the pipelined one in place of `piece`."""
    other = f"{piece.removesuffix('_tiles')}_pipelined:"
    return tuple(name.replace(f"{piece}:", other) for name in includes)


def ordered_cost(cost_of: CostOf, ordered: Callable[[KernelCall], tuple[Work, int]]) -> CostOf:
    """Returns the cost with cycles of the Cortex-M7.

    `ordered` gives the part of a call's work whose order is known, and its cycles.
    """

    def cost(bound: BoundOperator[Any], call: KernelCall) -> Cost:
        found = cost_of(bound, call)
        work, cycles = ordered(call)
        rest = found.work + -1 * work
        return replace(found, cycles={CORTEX_M7.core: CORTEX_M7.estimate(rest) + cycles})

    return cost


def _products(call: KernelCall) -> tuple[Work, int]:
    """Returns the work and the cycles of all calls of the product's routines."""
    values = call.values
    pixels = values["pixels"] if "pixels" in values else values["outputs"][0] * values["outputs"][1]
    # The kernels for small windows multiply the last of an odd number twice.
    twos = -(-pixels // 2) if call.template.startswith("conv_2d_gathered") else pixels // 2
    work, cycles = Work(), 0
    for tile, count in ((2, twos), (1, pixels - 2 * twos)):
        if count > 0:
            for channels in (values["channels"] // 4 * 4, 4 if values["channels"] % 4 else 0):
                if channels:
                    order = {"rectified": is_rectified(call), "pipelined": True}
                    work += product(tile, values["pairs"], channels, **order) * count
                    one = product_cycles(tile, values["pairs"], channels, is_rectified(call))
                    cycles += one * count
    return work, cycles


def product_cycles(pixels: int, pairs: int, channels: int, rectified: bool) -> int:
    """Returns the cycles of one call of the routine."""
    steps = pairs // (3 - pixels)
    four = _START[pixels] + _STEP[pixels] * steps + _ROUND * -(-steps // 8)
    return _ENTER + (four + _END[pixels, rectified]) * (channels // 4)


# Winograd's product.


def pipelined_winograd(kernel: Kernel) -> Kernel:
    """Returns Winograd's convolution with the pipelined order of its product."""

    def lower(bound: BoundOperator[Any]) -> KernelCall:
        call = kernel.lower(bound)
        routine = call.values["routine"].replace("_shift_", "_pipelined_shift_")
        includes = _pipelined(call.includes, "dsp_winograd_product")
        return replace(call, values={**call.values, "routine": routine}, includes=includes)

    assert kernel.cost is not None
    cost = ordered_cost(kernel.cost, _tile_products)
    return Kernel(kernel.operator, kernel.supports, lower, kernel.features, cost)


def _tile_products(call: KernelCall) -> tuple[Work, int]:
    rows, columns = call.values["outputs"]
    calls = rows // 2 * columns // 4
    return _winograd_cost.tile_product(call) * calls, tile_product_cycles(call) * calls


def tile_product_cycles(call: KernelCall) -> int:
    """Returns the cycles of one call of the routine."""
    values = call.values
    position = 8 * (values["depth"] // 4) + 3
    end = 143 if _winograd_cost.is_rectified(call) else 188
    pair = 2 + 16 * position + 5 * values["rounds"] + end
    cycles: int = 20 + pair * (values["channels"] // 2)
    return cycles
