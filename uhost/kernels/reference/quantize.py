"""QUANTIZE in portable C: from float32, by a table between 8-bit types, else by arithmetic."""

from __future__ import annotations

import numpy as np

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels._overlap import by_element
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._lookup import lower_lookup, response
from uhost.kernels.reference._nest import plus
from uhost.kernels.reference._parameters import input_parameter, output_parameter, takes_anything
from uhost.ops.quantize import QuantizeAttributes, requantize_scaling


def _lower(bound: BoundOperator[QuantizeAttributes]) -> KernelCall:
    source, output = bound.input(0), bound.output
    parameters = input_parameter(source), output_parameter(output)
    # Through pointers to bytes, or to one type, the compiler keeps the order.
    is_kept = output.dtype.size_bytes == 1 or source.dtype in (DType.INT8, output.dtype)
    sharing = (by_element(bound),) if is_kept else ()
    limits = np.iinfo(output.dtype.value)
    if source.dtype is DType.FLOAT32:
        values = {
            "elements": source.elements,
            "c_type": output.dtype.c_type,
            "scale": output.scale,
            "lowest": float(limits.min - output.zero_point),
            "highest": float(limits.max - output.zero_point),
            "output_offset": plus(output.zero_point),
        }
        return KernelCall("reference", "quantize", values, parameters, overlaps=sharing)
    if {source.dtype, output.dtype} == {DType.INT8, DType.UINT8} and _flips_sign(bound):
        values = {"elements": source.elements, "c_type": output.dtype.c_type}
        return KernelCall("reference", "flip_sign", values, parameters, overlaps=sharing)
    if source.dtype.size_bytes == 1 and output.dtype.size_bytes == 1:
        return lower_lookup(bound)
    multiplier, shift = requantize_scaling(source, output)
    values = {
        "elements": source.elements,
        "c_type": output.dtype.c_type,
        "input_offset": plus(-source.zero_point),
        "multiplier": multiplier,
        "shift": shift,
        "output_offset": plus(output.zero_point),
        "lowest": int(limits.min),
        "highest": int(limits.max),
        "clamps": output.dtype is not DType.INT32,
    }
    return KernelCall(
        "reference",
        "requantize",
        values,
        parameters,
        includes=("requantize",),
        overlaps=sharing,
    )


def _flips_sign(bound: BoundOperator[QuantizeAttributes]) -> bool:
    """True if all that changes is the highest bit: equal scales, zero points 128 apart."""
    inputs, outputs = response(bound)
    return bool(np.array_equal(inputs.astype(np.uint8) ^ 0x80, outputs.astype(np.uint8)))


KERNEL = Kernel(
    operator="quantize", supports=takes_anything, lower=_lower, cost=stated_cost, is_fallback=True
)
