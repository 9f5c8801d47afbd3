"""ADD of int8: a linear form where one is exact for all inputs, else scaled as the reference.

The linear form takes tensors of one shape. The other form takes any broadcast.
"""

from __future__ import annotations

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.kernels._cost import Cost
from uhost.kernels._kernel import Kernel, KernelCall, Parameter
from uhost.kernels._linear import Linear, linear_form
from uhost.kernels._overlap import by_element
from uhost.kernels.mve._rows import rows_call, rows_of, rows_work, scaling_work
from uhost.ops.add import INPUT_LEFT_SHIFT, AddAttributes, add_scaling
from uhost.targets._work import Work

_HALF = (1 << 30, 0)
"""The factor of the input of the larger scale: a shift, without rounding."""


def _supports(bound: BoundOperator[AddAttributes]) -> str:
    return "" if bound.output.dtype is DType.INT8 else f"{bound.output.dtype}"


def _lower(bound: BoundOperator[AddAttributes]) -> KernelCall:
    if bound.input(0).shape == bound.input(1).shape:
        form = linear_form(bound)
        if form is not None:
            return _linear_call(bound, form)
    return _scaled_call(bound)


def _linear_call(bound: BoundOperator[AddAttributes], form: Linear) -> KernelCall:
    return KernelCall(
        library="mve",
        template="add",
        values={
            "elements": bound.output.elements,
            "first": form.first,
            "second": form.second,
            "constant": form.constant,
            "shift": form.shift - 16,
            "clamped": (form.lowest, form.highest) != (-128, 127),
            "lowest": form.lowest,
            "highest": form.highest,
        },
        parameters=(
            Parameter("first", "const int8_t *", "input", 0),
            Parameter("second", "const int8_t *", "input", 1),
            Parameter("output", "int8_t *", "output"),
        ),
        includes=("mve",),
        overlaps=(by_element(bound, 0), by_element(bound, 1)),
    )


def _scaled_call(bound: BoundOperator[AddAttributes]) -> KernelCall:
    rows = rows_of(bound)
    scaling = add_scaling(bound)
    offset = 0
    for index, (factor, stands) in enumerate(
        ((scaling.first, rows.first_stands), (scaling.second, rows.second_stands))
    ):
        if factor == _HALF and not stands:
            offset -= bound.input(index).zero_point << (INPUT_LEFT_SHIFT - 1)
    values = {
        "left_shift": INPUT_LEFT_SHIFT,
        "first_scale": scaling.first,
        "second_scale": scaling.second,
        "output_scale": scaling.output,
        "first_zero_point": bound.input(0).zero_point,
        "second_zero_point": bound.input(1).zero_point,
        "offset": offset,
    }
    return rows_call("add_scaled", bound, rows, bound.attributes.activation, values)


def _cost(bound: BoundOperator[AddAttributes], call: KernelCall) -> Cost:
    p = call.values
    if call.template == "add":
        clamped = 1 if p["clamped"] else 0
        turn = Work(vector_load=2, vector_multiply=4, vector_alu=7 + 2 * clamped, vector_store=1)
        groups, rest = divmod(p["elements"], 8)
        total = Work(vector_alu=1 + 2 * clamped, alu=10 + clamped, store_many=1, load_many=1)
        if groups:
            total += groups * (turn + Work(branch=1)) + Work(alu=1, branch=1)
        if rest:
            total += turn + Work(vector_alu=3, alu=1)
        return Cost(total, 76 + 12 * clamped + (66 + 4 * clamped if rest else 0))
    rows = rows_of(bound)
    turn = Work(vector_alu=3, vector_store=1, branch=1) + scaling_work(p["output_scale"][1])
    for name, stands in (("first", rows.first_stands), ("second", rows.second_stands)):
        if stands:
            continue
        turn += Work(vector_load=1, vector_alu=1)
        if p[f"{name}_scale"] != _HALF:
            turn += Work(vector_alu=1) + scaling_work(p[f"{name}_scale"][1])
    if not (rows.first_stands or rows.second_stands):
        turn += Work(vector_alu=2 if p["offset"] else 1)
    else:
        turn += Work(vector_alu=1)
    return rows_work(rows, turn, 200)


KERNEL = Kernel("add", _supports, _lower, features=("mve",), cost=_cost)
