"""The costs of portable kernels by their templates: what several kernels print costs alike.

`stated_cost` is the `cost` of any kernel whose templates are listed here. Each figure is
what an element, an output or a product takes in the loops that GCC compiles for Armv7-M.
Kernels whose work depends on the data say so: theirs is the most that was seen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from uhost.ir.graph import BoundOperator
from uhost.kernels._cost import Cost
from uhost.kernels._kernel import KernelCall
from uhost.kernels.reference._layer_work import LAYERS
from uhost.kernels.reference._loops import (
    ENTER,
    STEP_LIMIT,
    TURN,
    copies_cost,
    elements_cost,
    elements_work,
    fold_cost,
    nest_work,
    run_work,
    stride_of,
)
from uhost.kernels.reference._signal_work import SIGNALS
from uhost.targets._work import Work

CostOf = Callable[[BoundOperator[Any], KernelCall], Cost]


def stated_cost(bound: BoundOperator[Any], call: KernelCall) -> Cost:
    """Returns the cost of a call by its template, which must be one of `KINDS`."""
    return KINDS[call.template](bound, call)


def _each(work: Work, code_bytes: int) -> CostOf:
    """Returns the cost of one loop over `elements`, or over the output's."""

    def cost(bound: BoundOperator[Any], call: KernelCall) -> Cost:
        count = call.values.get("elements", bound.output.elements)
        return Cost(elements_work(count, work), code_bytes)

    return cost


def _nest(work: Work, code_bytes: int) -> CostOf:
    """Returns the cost of a nest of `loops` around `work`."""

    def cost(_: BoundOperator[Any], call: KernelCall) -> Cost:
        loops = call.values["loops"]
        return Cost(nest_work(loops, work) + ENTER, code_bytes + 12 * len(loops))

    return cost


def _offsets(values: Mapping[str, Any]) -> int:
    """Returns how many of the three zero points of a quantised sum or product are not 0."""
    return sum(bool(values[f"{name}_offset"]) for name in ("first", "second", "output"))


def _add_quantized(_: BoundOperator[Any], call: KernelCall) -> Cost:
    """Returns a sum of two scaled inputs; GCC spills up to three registers an element more."""
    values = call.values
    down = (values["first_scale"][1] < 0) + (values["second_scale"][1] < 0)
    spilled = len(values["loops"]) > 1
    alu = 27 + _offsets(values) + 7 * down + 3 * spilled
    each = Work(load=2, alu=alu, multiply=3, store=1)
    code_bytes = 130 + 12 * down + 12 * len(values["loops"])
    return Cost(nest_work(values["loops"], each) + ENTER, code_bytes)


def _mul_integer(_: BoundOperator[Any], call: KernelCall) -> Cost:
    """Returns a scaled product; how a shift is rounded takes three instructions more or less."""
    values = call.values
    down = values["scale"][1] < 0
    each = Work(load=2, alu=11 + _offsets(values) + 5 * down, multiply=2, store=1)
    return Cost(nest_work(values["loops"], each) + ENTER, 80 + 12 * down)


def _mean(bound: BoundOperator[Any], call: KernelCall) -> Cost:
    """Returns a mean: a sum per output, in a loop unless it is short."""
    values, source = call.values, bound.input(0)
    floats = call.template == "mean_float32"
    step = Work(load=1, float_alu=1) if floats else Work(load=1, alu=1)
    end = Work(alu=7, float_multiply=9, store=1) if floats else Work(alu=25, multiply=2, store=1)
    inner = values["inner_loops"]
    step_bytes = stride_of(values["input_index"], inner[-1][0]) if inner else 0
    far = step_bytes * source.dtype.size_bytes > STEP_LIMIT
    if len(inner) == 1 and inner[0][1] <= 8:
        each = step * inner[0][1]
    else:
        each = nest_work(inner, step + Work(alu=1) * far)
    code_bytes = 105 + 14 * (len(inner) + len(values["outer_loops"]))
    return Cost(nest_work(values["outer_loops"], each + end) + ENTER, code_bytes)


def _clamped(operation: Work) -> CostOf:
    """Returns the cost of a nest around a float32 operation and its clamp."""

    def cost(_: BoundOperator[Any], call: KernelCall) -> Cost:
        values = call.values
        ends = bool(values["lowest"]) + bool(values["highest"])
        each = Work(load=2, store=1) + operation + Work(float_alu=2, alu=2) * ends
        loops = values["loops"]
        return Cost(nest_work(loops, each) + ENTER, 30 + 12 * len(loops) + 14 * ends)

    return cost


def _requantize(_: BoundOperator[Any], call: KernelCall) -> Cost:
    """Returns another quantisation of each element; one that is scaled down is rounded twice."""
    down, clamps = call.values["shift"] < 0, call.values["clamps"]
    each = Work(load=1, alu=17 + 5 * clamps if down else 6, multiply=1, store=1)
    return Cost(elements_work(call.values["elements"], each), 60 + 30 * down + 12 * clamps)


def _add_n(bound: BoundOperator[Any], call: KernelCall) -> Cost:
    inputs = call.values["inputs"]
    each = Work(load=inputs, alu=inputs - 1, store=1)
    if call.values["kind"] == "int8":
        each += Work(alu=15, multiply=2)
    return Cost(elements_work(call.values["elements"], each), 30 + 10 * inputs)


def _arg(_: BoundOperator[Any], call: KernelCall) -> Cost:
    """Returns the most of a search: every element is better than the one before."""
    values = call.values
    each = Work(load=1, alu=5, branch=1, untaken=1)
    outer = values["outer"] * values["inner"]
    return Cost((each * values["size"] + Work(alu=8, load=2, store=1, branch=1)) * outer, 62)


def _batch_matmul(bound: BoundOperator[Any], call: KernelCall) -> Cost:
    values = call.values
    product = Work(load=2, multiply=1, alu=2, branch=1)
    end = Work(store=1, alu=14, branch=2)
    if not values["is_float"]:
        product += Work(alu=2)
        end += Work(alu=14, multiply=1)
    each = product * values["depth"] + end
    return Cost(nest_work(values["loops"], each) + ENTER, 84 if values["is_float"] else 164)


def _rows(_: BoundOperator[Any], call: KernelCall) -> Cost:
    """Returns runs that indices choose."""
    values = call.values
    each = Work(load=1, alu=4 + 4 * values["is_checked"])
    if values["is_scaled"]:
        scaled = Work(load=1, alu=2, float_multiply=1, float_alu=1, store=1)
        each += (scaled + TURN) * values["run"]
    elif values["run"] > 1:
        each += run_work(values["run_bytes"])
    else:
        each += Work(load=1, store=1)
    return Cost(nest_work(values["loops"], each) + ENTER, 74)


def _picked(_: BoundOperator[Any], call: KernelCall) -> Cost:
    """Returns runs at places that a row of indices each gives."""
    values = call.values
    depth = Work(load=1, alu=6, multiply=1) * values["depth"]
    run = run_work(values["run"] * 4)
    each = depth + run + Work(alu=3)
    blank = values.get("elements", 0)
    return Cost((each + TURN) * values["count"] + (Work(store=1) + TURN) * blank + ENTER, 90)


def _cumsum(_: BoundOperator[Any], call: KernelCall) -> Cost:
    values = call.values
    each = Work(load=1, alu=5, store=1) + TURN
    if values["is_quantized"]:
        each += Work(alu=14, multiply=2)
    outer = values["outer"] * values["inner"]
    return Cost((each * values["size"] + Work(alu=8, branch=1)) * outer + ENTER, 70)


def _updated(_: BoundOperator[Any], call: KernelCall) -> Cost:
    values = call.values
    places = Work(load=1, alu=6, multiply=1) * len(values["axes"])
    runs = nest_work((*values["loops"], ("", 1)), run_work(values["run_bytes"]))
    return Cost(run_work(values["bytes"]) + places + runs + ENTER, 104)


def _normed(floats: bool) -> CostOf:
    def cost(_: BoundOperator[Any], call: KernelCall) -> Cost:
        """Returns rows whose sum of squares is taken first: the root's loop is the most of it."""
        values = call.values
        each = Work(load=2, float_multiply=9, store=1) if floats else Work(load=2, alu=20, store=1)
        row = (each + TURN * 2) * values["depth"] + Work(alu=220)
        return Cost(row * values["rows"] + ENTER, 244 if floats else 480)

    return cost


def _log_softmax(_: BoundOperator[Any], call: KernelCall) -> Cost:
    """Returns rows of exponentials and one logarithm: the most, since both are series."""
    rows, depth = call.values["rows"], call.values["depth"]
    floats = call.template == "log_softmax_float32"
    each = Work(load=2, alu=50, store=1) if floats else Work(load=2, alu=40, store=1)
    return Cost((each * depth + Work(alu=120)) * rows + ENTER, 560 if floats else 264)


def _bilinear(bound: BoundOperator[Any], call: KernelCall) -> Cost:
    pixels = call.values["batches"] * call.values["rows"] * call.values["columns"]
    each = Work(load=4, store=1) + TURN
    each += Work(float_multiply=4, float_alu=3) if call.values["is_float"] else Work(alu=12)
    pixel = Work(load=9, alu=16, multiply=3, store=3, branch=2)
    return Cost((each * call.values["channels"] + pixel) * pixels + ENTER, 222)


def _nearest(_: BoundOperator[Any], call: KernelCall) -> Cost:
    values = call.values
    pixels = values["batches"] * values["rows"] * values["columns"]
    return Cost((run_work(values["run_bytes"]) + Work(load=1, alu=3) + TURN) * pixels + ENTER, 62)


def _svdf(_: BoundOperator[Any], call: KernelCall) -> Cost:
    """Returns a filter after another: its feature, its memory that moves up, its output."""
    values = call.values
    floats = call.template == "svdf_float32"
    feature = (Work(load=2, multiply=1) + TURN) * values["inputs"]
    memory = (Work(load=3, multiply=1, store=1, alu=1) + Work(alu=0)) * values["memory"]
    each = feature + memory + (Work(alu=20) if floats else Work(alu=32, multiply=1))
    unit = Work(load=2, alu=8 if floats else 26, multiply=1, store=1, branch=2)
    work = (each * values["filters"] + unit * values["units"]) * values["batches"]
    return Cost(work + ENTER, 252 if floats else 264)


def _lstm(_: BoundOperator[Any], call: KernelCall) -> Cost:
    """Returns steps of four gates: sums of products, and per cell the functions of the gates.

    These take more or less by the data; with layer norms, peepholes or a projection, more.
    """
    values = call.values
    cells = values["cells"]
    product = Work(load=2, multiply=1) + TURN
    floats = call.template == "lstm_float32"
    if floats:
        product += Work(alu=1)
    gates = len(values["gates"])
    sums = product * (gates * cells * (values["inputs"] + values["outputs"]))
    per_cell = {"lstm_tflm": 460, "lstm_litert": 1710, "lstm_float32": 230}[call.template]
    if floats and (values["has_norm"] or values["has_projection"]):
        per_cell += 190
    code_bytes = {"lstm_tflm": 1288, "lstm_litert": 1424, "lstm_float32": 2060}[call.template]
    step = sums + Work(alu=per_cell) * cells
    return Cost(step * (values["steps"] * values["batches"]) + ENTER, code_bytes)


def _copied(_: BoundOperator[Any], call: KernelCall) -> Cost:
    work = ENTER
    for part in call.values["parts"]:
        work += run_work(part[2])
    return Cost(work, 12 + 34 * len(call.values["parts"]))


def _ring(_: BoundOperator[Any], call: KernelCall) -> Cost:
    kept, depth = call.values["kept"], call.values["depth"]
    return Cost(run_work(kept) * 2 + run_work(depth) * 2 + Work(load=3, alu=8) + ENTER, 80)


def _shape(_: BoundOperator[Any], call: KernelCall) -> Cost:
    count = len(call.values["sizes"])
    return Cost(Work(alu=1, store=1) * count + Work(branch=1), 2 + 4 * count)


def _broadcast_args(_: BoundOperator[Any], call: KernelCall) -> Cost:
    count = call.values["common"] + call.values["more"]
    return Cost((Work(load=2, alu=3, store=1) + TURN) * count + ENTER, 32)


_QUANTIZED = Work(load=1, float_multiply=2, float_alu=6, alu=9, untaken=3, store=1)
"""The most that one float32 takes on its way to an integer; one within the range less."""

_KINDS: dict[str, CostOf] = {
    "add_float32": _clamped(Work(float_alu=1)),
    "add_integers": _nest(Work(load=2, alu=1, store=1), 30),
    "add_quantized": _add_quantized,
    "add_n": _add_n,
    "arg": _arg,
    "batch_matmul": _batch_matmul,
    "broadcast_args": _broadcast_args,
    "circular_buffer": _ring,
    "clamp": elements_cost,
    "copy": copies_cost,
    "copy_constants": _copied,
    "cumsum": _cumsum,
    "dequantize": _each(Work(load=1, alu=2, float_alu=1, float_multiply=1, store=1), 44),
    "dynamic_update_slice": _updated,
    "elements": elements_cost,
    "fill": _each(Work(store=1), 16),
    "flip_sign": _each(Work(load=1, alu=1, store=1), 24),
    "fold": fold_cost,
    "gather": _rows,
    "gather_nd": _picked,
    "l2_normalization_float32": _normed(True),
    "l2_normalization_int8": _normed(False),
    "log_softmax_float32": _log_softmax,
    "log_softmax_int8": _log_softmax,
    "logistic_float32": _each(Work(load=1, float_multiply=25, float_alu=21, store=1), 332),
    "logistic_int16": _each(Work(load=3, alu=9, multiply=1, store=1), 128),
    "lookup": elements_cost,
    "lstm_float32": _lstm,
    "lstm_litert": _lstm,
    "lstm_tflm": _lstm,
    "mean_float32": _mean,
    "mean_quantized": _mean,
    "mul_float32": _clamped(Work(float_multiply=1)),
    "mul_integer": _mul_integer,
    "quantize": _each(_QUANTIZED, 160),
    "requantize": _requantize,
    "reshape": _each(Work(load=1, store=1), 20),
    "resize_bilinear": _bilinear,
    "resize_nearest_neighbor": _nearest,
    "scatter_nd": _picked,
    "shape": _shape,
    "svdf_float32": _svdf,
    "svdf_hybrid": _svdf,
    "svdf_int8": _svdf,
}

KINDS: Mapping[str, CostOf] = MappingProxyType({**_KINDS, **LAYERS, **SIGNALS})
"""Template → the cost of a call of it."""
