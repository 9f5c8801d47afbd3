"""UNIDIRECTIONAL_SEQUENCE_LSTM in portable C, in each of its arithmetics.

The weights of all gates lie one after another. Zero points are folded into the biases: of
sums over the input, and of sums over the hidden state.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.ir.tensor import Array, Tensor
from uhost.kernels._kernel import Constant, Kernel, KernelCall, Parameter
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._parameters import (
    constant_parameter,
    input_parameter,
    takes_anything,
)
from uhost.numerics.fixed_point import cut_multiplier, wrap_int32
from uhost.numerics.logistic import logistic_table
from uhost.ops._lstm import (
    CELL,
    FORGET,
    HIDDEN_STATE,
    INPUT,
    OUTPUT,
    Lstm,
    LstmAttributes,
    real_values,
)

_NAMES = {INPUT: "input gate", FORGET: "forget gate", CELL: "cell gate", OUTPUT: "output gate"}


def _lower(bound: BoundOperator[LstmAttributes]) -> KernelCall:
    lstm = Lstm(bound)
    if bound.input(0).dtype is DType.FLOAT32:
        return _lower_float(lstm)
    return _lower_litert(lstm) if lstm.is_litert else _lower_tflm(lstm)


def _sizes(lstm: Lstm) -> dict[str, Any]:
    """Returns the sizes, and the strides of input and output in elements."""
    steps, batches = lstm.steps
    inputs, outputs = lstm.bound.input(0).shape[2], lstm.outputs
    if lstm.bound.attributes.time_major:
        strides = (batches * inputs, inputs), (batches * outputs, outputs)
    else:
        strides = (inputs, steps * inputs), (outputs, steps * outputs)
    return {
        "steps": steps,
        "batches": batches,
        "inputs": inputs,
        "cells": lstm.cells,
        "outputs": outputs,
        "input_strides": strides[0],
        "output_strides": strides[1],
        "gates": tuple((gate, _NAMES[gate]) for gate in lstm.gates),
    }


def _ends(lstm: Lstm) -> tuple[Parameter, ...]:
    bound = lstm.bound
    names = ("output", "hidden", "cell")
    return tuple(
        Parameter(name, f"{tensor.dtype.c_type} *", "output", index)
        for index, (name, tensor) in enumerate(zip(names, bound.outputs, strict=True))
    )


def _joined(tensors: Sequence[Tensor | None]) -> Array:
    return np.concatenate([t.constant().reshape(-1) for t in tensors if t is not None])


def _call(
    lstm: Lstm,
    template: str,
    values: dict[str, Any],
    constants: dict[str, tuple[str, Array]],
    scratch: str = "",
    scratch_bytes: int = 0,
    includes: tuple[str, ...] = (),
) -> KernelCall:
    """Returns the call whose parameters are the input, `constants`, the ends and scratch."""
    parameters = [input_parameter(lstm.bound.input(0))]
    for index, (name, (ctype, _)) in enumerate(constants.items()):
        parameters.append(constant_parameter(name, ctype, index))
    parameters += _ends(lstm)
    if scratch:
        parameters.append(Parameter("scratch", f"{scratch} *", "scratch"))
    return KernelCall(
        "reference",
        template,
        {**_sizes(lstm), **values},
        tuple(parameters),
        constants=tuple(Constant(name, array) for name, (_, array) in constants.items()),
        scratch_bytes=scratch_bytes,
        includes=includes,
    )


def _folded(lstm: Lstm, *, with_bias: bool, wide: bool) -> tuple[Array, Array]:
    """Returns the biases of sums over the input and over the hidden state, by gate and cell."""
    first, second = [], []
    for gate in lstm.gates:
        weights, bias = lstm.weights(gate), lstm.bias(gate)
        assert weights is not None
        total = weights.constant().astype(np.int64).sum(1) * -lstm.bound.input(0).zero_point
        if bias is not None and with_bias:
            total = total + bias.constant()
        first.append(total)
        hidden = lstm.bound.input(HIDDEN_STATE).zero_point
        second.append(lstm.recurrent(gate).constant().astype(np.int64).sum(1) * -hidden)
    both = np.concatenate(first), np.concatenate(second)
    if wide:
        return both
    return wrap_int32(both[0]).astype(np.int32), wrap_int32(both[1]).astype(np.int32)


def _weights(lstm: Lstm, ctype: str) -> dict[str, tuple[str, Array]]:
    return {
        "weights": (ctype, _joined([lstm.weights(gate) for gate in lstm.gates])),
        "recurrent": (ctype, _joined([lstm.recurrent(gate) for gate in lstm.gates])),
    }


def _lower_tflm(lstm: Lstm) -> KernelCall:
    is_wide = lstm.bound.input(0).dtype is DType.INT16
    biases = _folded(lstm, with_bias=True, wide=is_wide)
    factors = [(lstm.input_factor(g), lstm.recurrent_factor(g)) for g in lstm.gates]
    if is_wide:
        # As the 64-bit requantisation takes them: a multiplier of 16 bits, and a right shift.
        factors = [
            ((int(cut_multiplier(a)), 15 - s), (int(cut_multiplier(b)), 15 - t))
            for (a, s), (b, t) in factors
        ]
    hidden, zero_point = lstm.hidden()
    keep, add = lstm.cell_factors()
    low, high = lstm.bound.input(HIDDEN_STATE).dtype.limits
    clip, _ = lstm.quantized_clips()
    sum_type = "int64_t" if is_wide else "int32_t"
    hidden_type = lstm.bound.input(HIDDEN_STATE).dtype.c_type
    values = {
        "type": hidden_type,
        "sum_type": sum_type,
        "scale": "uhost_multiply_wide" if is_wide else "uhost_multiply_by_quantized_multiplier",
        "factors": tuple(factors),
        "keep": keep,
        "add": add,
        "hidden": hidden,
        "zero_point": zero_point,
        "lowest": low,
        "highest": high,
        "clip": clip,
        "tanh": lstm.tanh_factor(),
    }
    constants = {
        **_weights(lstm, "int8_t"),
        "input_bias": (sum_type, biases[0]),
        "hidden_bias": (sum_type, biases[1]),
        "table": ("uint16_t", logistic_table()),
    }
    includes = ("requantize", "logistic", "tanh", *(("requantize_wide",) if is_wide else ()))
    size_bytes = lstm.cells * lstm.bound.input(HIDDEN_STATE).dtype.size_bytes
    return _call(lstm, "lstm_tflm", values, constants, hidden_type, size_bytes, includes)


def _lower_litert(lstm: Lstm) -> KernelCall:
    has_norm, has_peephole = lstm.norm(FORGET) is not None, lstm.peephole(FORGET) is not None
    biases = _folded(lstm, with_bias=not has_norm, wide=False)
    factors = [(lstm.input_factor(g), lstm.recurrent_factor(g)) for g in lstm.gates]
    constants = {
        **_weights(lstm, "int8_t"),
        "input_bias": ("int32_t", biases[0]),
        "hidden_bias": ("int32_t", biases[1]),
    }
    peeping = [gate for gate in lstm.gates if lstm.peephole(gate) is not None]
    if has_peephole:
        constants["peephole"] = ("int16_t", _joined([lstm.peephole(g) for g in peeping]))
    if has_norm:
        constants["norm"] = ("int16_t", _joined([lstm.norm(gate) for gate in lstm.gates]))
        constants["norm_bias"] = ("int32_t", _joined([lstm.bias(gate) for gate in lstm.gates]))
    hidden, zero_point = lstm.hidden()
    projection, bias = lstm.projection()
    clips = lstm.quantized_clips()
    values: dict[str, Any] = {
        "factors": tuple(factors),
        "peepholes": tuple(lstm.peephole_factor(g) if g in peeping else () for g in lstm.gates),
        "peeping": tuple(peeping.index(g) if g in peeping else 0 for g in lstm.gates),
        "norms": tuple(lstm.norm_factor(g) if has_norm else () for g in lstm.gates),
        "cell_power": lstm.cell_power,
        "hidden": hidden,
        "hidden_zero_point": zero_point,
        "clip": clips[0],
        "projection_clip": clips[1],
        "projection": (),
        "zero_point": lstm.bound.input(HIDDEN_STATE).zero_point,
    }
    if projection is not None:
        share = projection.constant().astype(np.int64).sum(1) * -zero_point
        offsets = share + (bias.constant() if bias is not None else 0)
        constants["projection"] = ("int8_t", projection.constant())
        constants["projection_bias"] = ("int32_t", wrap_int32(offsets).astype(np.int32))
        values["projection"] = lstm.projection_factor()
    # The gates, and the products of output gate and tanh.
    size_bytes = 2 * lstm.cells * (len(lstm.gates) + 1)
    includes = ("requantize", "series_16", *(("series_16_norm",) if has_norm else ()))
    return _call(lstm, "lstm_litert", values, constants, "int16_t", size_bytes, includes)


def _scale(tensor: Tensor | None) -> float:
    return 0.0 if tensor is None else tensor.scale


def _lower_float(lstm: Lstm) -> KernelCall:
    is_hybrid = lstm.is_hybrid
    constants = _weights(lstm, "int8_t" if is_hybrid else "float")
    at = lstm.bound.attributes
    peeping = [gate for gate in lstm.gates if lstm.peephole(gate) is not None]
    has_norm = lstm.norm(FORGET) is not None
    if lstm.bias(FORGET) is not None:
        constants["bias"] = ("float", _joined([lstm.bias(gate) for gate in lstm.gates]))
    if peeping:
        parts = [t for t in map(lstm.peephole, peeping) if t is not None]
        constants["peephole"] = ("float", np.concatenate([real_values(t) for t in parts]))
    if has_norm:
        constants["norm"] = ("float", _joined([lstm.norm(gate) for gate in lstm.gates]))
    projection, bias = lstm.projection()
    if projection is not None:
        constants["projection"] = ("int8_t" if is_hybrid else "float", projection.constant())
        if bias is not None:
            constants["projection_bias"] = ("float", bias.constant())
    values = {
        "has_bias": "bias" in constants,
        "has_norm": has_norm,
        "peeping": tuple(peeping.index(g) if g in peeping else -1 for g in lstm.gates),
        "clip": at.cell_clip,
        "projection_clip": at.projection_clip,
        "has_projection": projection is not None,
        "has_projection_bias": bias is not None,
        "hybrid": is_hybrid,
    }
    size_bytes = 4 * lstm.cells * (len(lstm.gates) + 1)
    includes = ["float_exp", "float_gate", "float_tanh", *["float_norm"] * has_norm]
    if is_hybrid:
        scales = [(_scale(lstm.weights(g)), _scale(lstm.recurrent(g))) for g in lstm.gates]
        values |= {
            "symmetric": not at.asymmetric,
            "scales": tuple(scales),
            "projection_scale": _scale(projection),
        }
        # What is multiplied, as int8: the input, the hidden state, and what is projected.
        size_bytes += lstm.bound.input(0).shape[2] + lstm.outputs
        size_bytes += lstm.cells if projection is not None else 0
        includes.append(f"quantize_sample_{'asymmetric' if at.asymmetric else 'symmetric'}")
    return _call(lstm, "lstm_float32", values, constants, "float", size_bytes, tuple(includes))


KERNEL = Kernel(
    operator="unidirectional_sequence_lstm", supports=takes_anything, lower=_lower, cost=stated_cost
)
