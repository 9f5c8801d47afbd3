"""SVDF in portable C: each filter's history moves on by one as it is weighted.

The zero points of input and state are folded into constants: of the features, and of the
units.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Constant, Kernel, KernelCall, Parameter
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._parameters import (
    constant_parameter,
    input_parameter,
)
from uhost.numerics.fixed_point import wrap_int32
from uhost.ops.svdf import BIAS, FEATURES, STATE, TIMES, SvdfAttributes, is_hybrid, svdf_factors


def _supports(bound: BoundOperator[SvdfAttributes]) -> str:
    return "float32 inputs with int8 features" if is_hybrid(bound) else ""


def _lower(bound: BoundOperator[SvdfAttributes]) -> KernelCall:
    x, features, times = bound.input(0), bound.input(FEATURES), bound.input(TIMES)
    state, output, rank = bound.input(STATE), bound.outputs[0], bound.attributes.rank
    filters, memory = times.shape
    bias = bound.optional_input(BIAS)
    offsets = bias.constant() if bias is not None else np.zeros(filters // rank, np.int64)
    values: dict[str, Any] = {
        "batches": x.shape[0],
        "inputs": x.shape[1],
        "filters": filters,
        "units": filters // rank,
        "rank": rank,
        "memory": memory,
    }
    ends = (
        Parameter("state", f"{state.dtype.c_type} *", "output", 1),
        Parameter("output", f"{output.dtype.c_type} *", "output", 0),
    )
    weights = (
        input_parameter(x),
        input_parameter(features, "features", FEATURES),
        input_parameter(times, "times", TIMES),
    )
    if x.dtype is DType.FLOAT32:
        low, high = bound.attributes.activation.bounds
        values |= {
            "lowest": f"{low}f" if math.isfinite(low) else "",
            "highest": f"{high}f" if math.isfinite(high) else "",
        }
        return KernelCall(
            "reference",
            "svdf_float32",
            values,
            (*weights, constant_parameter("bias", "float"), *ends),
            constants=(Constant("bias", offsets.astype(np.float32)),),
        )
    to_state, to_output = svdf_factors(bound)
    shares = features.constant().astype(np.int64).sum(1) * -x.zero_point
    aged = times.constant().astype(np.int64).sum(1) * -state.zero_point
    units = offsets + aged.reshape(-1, rank).sum(1)
    limits = state.dtype.limits
    values |= {
        "state_type": state.dtype.c_type,
        "to_state": to_state,
        "to_output": to_output,
        "state_zero_point": state.zero_point,
        "state_lowest": limits[0],
        "state_highest": limits[1],
        "zero_point": output.zero_point,
    }
    return KernelCall(
        "reference",
        "svdf_int8",
        values,
        (
            *weights,
            constant_parameter("feature_bias", "int32_t", 0),
            constant_parameter("unit_bias", "int32_t", 1),
            *ends,
        ),
        constants=(
            Constant("feature_bias", wrap_int32(shares).astype(np.int32)),
            Constant("unit_bias", wrap_int32(units).astype(np.int32)),
        ),
        includes=("requantize",),
    )


KERNEL = Kernel(operator="svdf", supports=_supports, lower=_lower, cost=stated_cost)
