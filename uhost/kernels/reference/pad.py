"""PAD in portable C: fill everything, then copy the input into place."""

from __future__ import annotations

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.reference._nest import headers, index_expression, loop_nest, row_major_strides
from uhost.kernels.reference._parameters import input_parameter, output_parameter, takes_anything
from uhost.ops.pad import PadAttributes


def _lower(bound: BoundOperator[PadAttributes]) -> KernelCall:
    source, output, at = bound.input(0), bound.output, bound.attributes
    strides = row_major_strides(output.shape)
    loops = loop_nest(source.shape, row_major_strides(source.shape), strides)
    start = sum(before * stride for before, stride in zip(at.before, strides, strict=True))
    value = float(at.value) if output.dtype is DType.FLOAT32 else int(at.value)
    values = {
        "fills": output.elements if output.elements != source.elements else 0,
        "value": value,
        "is_float": output.dtype is DType.FLOAT32,
        "loops": headers(loops),
        "input_index": index_expression(loops, 0),
        "output_index": index_expression(loops, 1, start),
    }
    parameters = input_parameter(source), output_parameter(output)
    return KernelCall("reference", "pad", values, parameters)


KERNEL = Kernel(operator="pad", supports=takes_anything, lower=_lower)
