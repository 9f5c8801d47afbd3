"""What the kernels of TFLite Micro's signal library have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Constant, KernelCall, Parameter
from uhost.kernels.reference._parameters import constant_parameter, input_parameter


def lower_signal(
    bound: BoundOperator[Any],
    values: dict[str, Any],
    inputs: Sequence[str],
    outputs: Sequence[str],
    *,
    template: str = "",
    constants: Sequence[Constant] = (),
    includes: tuple[str, ...] = (),
) -> KernelCall:
    """Returns a call of the operator's template: inputs, constants, then outputs, by name.

    States that change are outputs.
    """
    sources = (input_parameter(bound.input(n), name, n) for n, name in enumerate(inputs))
    tables = (
        constant_parameter(one.role, f"{one.values.dtype}_t".replace("float32_t", "float"), n)
        for n, one in enumerate(constants)
    )
    targets = (
        Parameter(name, f"{bound.outputs[n].dtype.c_type} *", "output", n)
        for n, name in enumerate(outputs)
    )
    return KernelCall(
        "reference",
        template or bound.kind,
        values,
        (*sources, *tables, *targets),
        constants=tuple(constants),
        includes=includes,
    )
