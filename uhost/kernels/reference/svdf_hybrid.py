"""SVDF of float32 inputs and int8 features: each input is made int8 first, in scratch."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from uhost.ir.graph import BoundOperator
from uhost.kernels._cost import Cost
from uhost.kernels._kernel import Constant, Kernel, KernelCall, Parameter
from uhost.kernels.reference._hybrid import quantizing
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._parameters import constant_parameter, input_parameter
from uhost.ops.svdf import BIAS, FEATURES, STATE, TIMES, SvdfAttributes, is_hybrid
from uhost.targets._work import Work


def _supports(bound: BoundOperator[SvdfAttributes]) -> str:
    return "" if is_hybrid(bound) else "not float32 inputs with int8 features"


def _lower(bound: BoundOperator[SvdfAttributes]) -> KernelCall:
    x, features, times = bound.input(0), bound.input(FEATURES), bound.input(TIMES)
    rank, (filters, memory) = bound.attributes.rank, times.shape
    bias, asymmetric = bound.optional_input(BIAS), bound.attributes.asymmetric
    offsets = bias.constant() if bias is not None else np.zeros(filters // rank, np.float32)
    low, high = bound.attributes.activation.bounds
    values: dict[str, Any] = {
        "batches": x.shape[0],
        "inputs": x.shape[1],
        "filters": filters,
        "units": filters // rank,
        "rank": rank,
        "memory": memory,
        "symmetric": not asymmetric,
        "scale": features.scale,
        "time_scale": times.scale,
        "lowest": low if math.isfinite(low) else None,
        "highest": high if math.isfinite(high) else None,
    }
    return KernelCall(
        "reference",
        "svdf_hybrid",
        values,
        (
            input_parameter(x),
            input_parameter(features, "features", FEATURES),
            input_parameter(times, "times", TIMES),
            constant_parameter("bias", "float"),
            Parameter("quantized", "int8_t *", "scratch"),
            Parameter("state", f"{bound.input(STATE).dtype.c_type} *", "output", 1),
            Parameter("output", "float *", "output", 0),
        ),
        constants=(Constant("bias", offsets),),
        scratch_bytes=x.shape[1],
        includes=(f"quantize_sample_{'asymmetric' if asymmetric else 'symmetric'}",),
    )


def _cost(bound: BoundOperator[SvdfAttributes], call: KernelCall) -> Cost:
    """Returns an int8 SVDF's cost and the quantisation of every input, which its value decides."""
    values = call.values
    sample = quantizing(values["inputs"], symmetric=values["symmetric"])
    floats = Work(float_alu=3, float_multiply=2) * (values["filters"] * values["memory"])
    work = stated_cost(bound, call).work + (sample + floats) * values["batches"]
    return Cost(work, 520)


KERNEL = Kernel(operator="svdf", supports=_supports, lower=_lower, cost=_cost)
