"""TFLM_DECODE where its outputs leave the graph: copies of what was unpacked at compile time."""

from __future__ import annotations

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Constant, Kernel, KernelCall, Parameter
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._parameters import constant_parameter, takes_anything
from uhost.ops._op import OPERATORS
from uhost.ops.tflm_decode import DecodeAttributes


def _lower(bound: BoundOperator[DecodeAttributes]) -> KernelCall:
    inputs = [tensor.constant() if tensor else None for tensor in bound.inputs]
    unpacked = OPERATORS[bound.kind].reference(bound, inputs)
    parts = tuple(
        (f"output{n}", f"values{n}", tensor.size_bytes) for n, tensor in enumerate(bound.outputs)
    )
    return KernelCall(
        "reference",
        "copy_constants",
        {"parts": parts},
        (
            *(
                constant_parameter(f"values{n}", tensor.dtype.c_type, n)
                for n, tensor in enumerate(bound.outputs)
            ),
            *(
                Parameter(f"output{n}", f"{tensor.dtype.c_type} *", "output", n)
                for n, tensor in enumerate(bound.outputs)
            ),
        ),
        constants=tuple(Constant(f"values_{n}", array) for n, array in enumerate(unpacked)),
        includes=("copy_run",),
    )


KERNEL = Kernel(operator="tflm_decode", supports=takes_anything, lower=_lower, cost=stated_cost)
