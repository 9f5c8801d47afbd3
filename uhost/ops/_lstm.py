"""The long short-term memory: its parts, and one step of it in each arithmetic.

    i, f, o = logistic(gate), g = tanh(gate);  c = f·c + i·g;  h = project(o·tanh(c))

A gate is W·x + R·h + P·c + bias; with layer normalisation the bias comes after that. Without
an input gate (CIFG) i = 1 - f. The arithmetics of integers:

`tflm`, for the plain form: both products requantised to int16 at the scale 2^-12, functions
by table. Source: TFLite Micro, "lstm_eval_common.cc".
`litert`, for all others: gates at the scale of the intermediates, functions by series.
Source: LiteRT, "lstm_eval.cc", `LstmStepInteger8x8_16`.

Float32 states may have int8 weights: what is multiplied with them is made int8 in every step, each
batch with a scale of its own. Source: LiteRT, "lstm_eval.cc", `LstmStepHybrid`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from uhost.ir.dtype import DType
from uhost.ir.graph import Attributes, BoundOperator
from uhost.ir.tensor import Array, Tensor
from uhost.numerics.fixed_point import (
    multiply_by_quantized_multiplier,
    multiply_wide,
    quantize_multiplier,
    rounding_divide_by_power_of_two,
)
from uhost.numerics.fixed_point16 import layer_norm, logistic_fixed, tanh_fixed
from uhost.numerics.hybrid import quantize_asymmetric, quantize_symmetric
from uhost.numerics.logistic import logistic_int16, tanh_int16

INPUT, FORGET, CELL, OUTPUT = range(4)
WEIGHTS, RECURRENT, PEEPHOLE, BIAS = 1, 5, 9, 12
PROJECTION, PROJECTION_BIAS, HIDDEN_STATE, CELL_STATE, NORM = 16, 17, 18, 19, 20
_PEEPHOLES = {INPUT: 9, FORGET: 10, OUTPUT: 11}
GATE_SCALE = 2.0**-12

Integers = NDArray[np.int64]
Factor = tuple[int, int]


@dataclass(frozen=True, slots=True)
class LstmAttributes(Attributes):
    """`intermediates` are scale and zero point of the four gates and of o·tanh(c).

    A clip of 0 is none. Of the arithmetic `tflm` the intermediates are not read. Where float32
    meets int8 weights, it is made int8 with a zero point if `asymmetric`.
    """

    time_major: bool
    cell_clip: float = 0.0
    projection_clip: float = 0.0
    arithmetic: str = "tflm"
    intermediates: tuple[tuple[float, int], ...] = ()
    asymmetric: bool = False


@dataclass(frozen=True, slots=True)
class Lstm:
    """The tensors of an LSTM by their roles."""

    bound: BoundOperator[LstmAttributes]

    @property
    def gates(self) -> tuple[int, ...]:
        """The gates that there are."""
        has_input = self.weights(INPUT) is not None
        return (INPUT, FORGET, CELL, OUTPUT) if has_input else (FORGET, CELL, OUTPUT)

    @property
    def is_hybrid(self) -> bool:
        """True for float32 states and int8 weights."""
        types = self.bound.input(0).dtype, self.bound.input(WEIGHTS + FORGET).dtype
        return types == (DType.FLOAT32, DType.INT8)

    @property
    def cells(self) -> int:
        """The number of cells."""
        return self.bound.input(WEIGHTS + FORGET).shape[0]

    @property
    def outputs(self) -> int:
        """The number of outputs: cells, or rows of the projection."""
        return self.bound.input(RECURRENT + FORGET).shape[1]

    @property
    def steps(self) -> tuple[int, int]:
        """The numbers of time steps and of batches."""
        first, second = self.bound.input(0).shape[:2]
        return (first, second) if self.bound.attributes.time_major else (second, first)

    def weights(self, gate: int) -> Tensor | None:
        """Weights of the input."""
        return self.bound.optional_input(WEIGHTS + gate)

    def recurrent(self, gate: int) -> Tensor:
        """Weights of the hidden state."""
        return self.bound.input(RECURRENT + gate)

    def bias(self, gate: int) -> Tensor | None:
        """The bias of a gate."""
        return self.bound.optional_input(BIAS + gate)

    def peephole(self, gate: int) -> Tensor | None:
        """Weights of the cell state."""
        return self.bound.optional_input(_PEEPHOLES[gate]) if gate != CELL else None

    def norm(self, gate: int) -> Tensor | None:
        """Weights of the layer normalisation."""
        return self.bound.optional_input(NORM + gate)

    def projection(self) -> tuple[Tensor | None, Tensor | None]:
        """Weights and bias of the projection."""
        bound = self.bound
        return bound.optional_input(PROJECTION), bound.optional_input(PROJECTION_BIAS)

    # ---- Factors of the integer arithmetics ------------------------------------------------

    @property
    def is_litert(self) -> bool:
        """True for the arithmetic `litert`."""
        return self.bound.attributes.arithmetic == "litert"

    def input_factor(self, gate: int) -> Factor:
        """From sums over the input to the gate."""
        weights = self.weights(gate)
        assert weights is not None
        return self._factor(gate, self.bound.input(0).scale, weights.scale)

    def recurrent_factor(self, gate: int) -> Factor:
        """From sums over the hidden state to the gate."""
        return self._factor(gate, self.bound.input(HIDDEN_STATE).scale, self.recurrent(gate).scale)

    def _factor(self, gate: int, one: float, two: float) -> Factor:
        product = np.float32(one) * np.float32(two)
        if not self.is_litert:
            return quantize_multiplier(float(product) / GATE_SCALE)
        return quantize_multiplier(float(product / np.float32(self.gate_scale(gate))))

    def gate_scale(self, gate: int) -> float:
        """The scale of a gate before its function."""
        normalised = self.norm(FORGET) is not None
        return self.bound.attributes.intermediates[gate][0] if normalised else GATE_SCALE

    def peephole_factor(self, gate: int) -> Factor:
        """From products of the cell state to the gate."""
        weights = self.peephole(gate)
        assert weights is not None
        scale = np.float32(2.0**self.cell_power) * np.float32(weights.scale)
        return quantize_multiplier(float(scale / np.float32(self.gate_scale(gate))))

    def norm_factor(self, gate: int) -> tuple[Factor, int]:
        """The scale of the normalisation's weights, and what stands for a variance of 0."""
        weights = self.norm(gate)
        assert weights is not None
        return quantize_multiplier(weights.scale), max(
            1, int(np.float32(10000) * np.float32(weights.scale))
        )

    @property
    def cell_power(self) -> int:
        """The binary logarithm of the cell state's scale, rounded."""
        return round(math.log2(self.bound.input(CELL_STATE).scale))

    def cell_factors(self) -> tuple[Factor, Factor]:
        """`tflm`: of forget gate times cell state, and of input gate times cell gate."""
        scale = self.bound.input(CELL_STATE).scale
        unit = 2.0**-15
        return quantize_multiplier(unit * scale / scale), quantize_multiplier(unit * unit / scale)

    def hidden(self) -> tuple[Factor, int]:
        """Factor and zero point of the product of output gate and tanh."""
        scale, zero_point = (
            self.bound.input(HIDDEN_STATE).scale,
            self.bound.input(HIDDEN_STATE).zero_point,
        )
        if not self.is_litert:
            return quantize_multiplier(2.0**-30 / scale), zero_point
        scale, zero_point = self.bound.attributes.intermediates[4]
        if self.projection()[0] is not None:
            zero_point = -zero_point  # LiteRT subtracts it, and takes it back before projecting
        unit = np.float32(2.0**-15)
        return quantize_multiplier(float(unit / np.float32(scale) * unit)), zero_point

    def projection_factor(self) -> Factor:
        """From sums of the projection to the hidden state."""
        weights, _ = self.projection()
        assert weights is not None
        scale = np.float32(weights.scale) * np.float32(self.bound.attributes.intermediates[4][0])
        return quantize_multiplier(float(scale / np.float32(self.bound.input(HIDDEN_STATE).scale)))

    def quantized_clips(self) -> tuple[int, int]:
        """The clips of cell state and projection as integers; 0 is none."""
        at = self.bound.attributes
        scales = self.bound.input(CELL_STATE).scale, self.bound.input(HIDDEN_STATE).scale
        cell = float(np.float32(at.cell_clip) / np.float32(scales[0]))
        projected = float(np.float32(at.projection_clip) / np.float32(scales[1]))
        return int(min(max(cell, -32768.0), 32767.0)), int(min(max(projected, -128.0), 127.0))

    def tanh_factor(self) -> Factor:
        """`tflm`: multiplier and right shift of the cell state for the table of tanh."""
        bits = 12 + self.cell_power
        return (3 << bits, 0) if bits >= 0 else (3, -bits)


def step(lstm: Lstm, x: Array, hidden: Array, cell: Array) -> tuple[Array, Array]:
    """Returns hidden and cell state, (batch, size) each, after the input `x`."""
    if lstm.bound.input(0).dtype is DType.FLOAT32:
        return _float_step(lstm, x, hidden, cell)
    return _integer_step(lstm, x, hidden, cell)


def _saturated(x: Array) -> Integers:
    return np.clip(x, -32768, 32767).astype(np.int64)


def _integer_step(lstm: Lstm, x: Array, hidden: Array, cell: Array) -> tuple[Array, Array]:
    bound = lstm.bound
    state = cell.astype(np.int64)
    centred = x.astype(np.int64) - bound.input(0).zero_point
    before = hidden.astype(np.int64) - bound.input(HIDDEN_STATE).zero_point
    scale = (
        multiply_wide if bound.input(0).dtype is DType.INT16 else (multiply_by_quantized_multiplier)
    )

    def gate(number: int) -> Integers:
        weights, bias, norm = lstm.weights(number), lstm.bias(number), lstm.norm(number)
        assert weights is not None
        sums = centred @ weights.constant().astype(np.int64).T
        if bias is not None and norm is None:
            sums = sums + bias.constant().astype(np.int64)
        first = scale(sums, *lstm.input_factor(number))
        second = scale(
            before @ lstm.recurrent(number).constant().astype(np.int64).T,
            *lstm.recurrent_factor(number),
        )
        if not lstm.is_litert:
            total = _saturated(_saturated(first) + _saturated(second))
            return tanh_int16(total, 3, 0) if number == CELL else logistic_int16(total, 3, 0)
        total = _saturated(_saturated(first) + second)
        peephole = lstm.peephole(number)
        if peephole is not None:
            product = state * peephole.constant().astype(np.int64)
            scaled = multiply_by_quantized_multiplier(product, *lstm.peephole_factor(number))
            total = _saturated(total + scaled)
        if norm is not None:
            assert bias is not None
            total = layer_norm(total, norm.constant(), bias.constant(), *lstm.norm_factor(number))
        return tanh_fixed(total, 3) if number == CELL else logistic_fixed(total)

    clip, projection_clip = lstm.quantized_clips()
    forget, new = gate(FORGET), gate(CELL)
    entry = gate(INPUT) if INPUT in lstm.gates else 32767 - forget
    if lstm.is_litert:
        kept = rounding_divide_by_power_of_two(forget * state, 15)
        added = rounding_divide_by_power_of_two(entry * new, 30 + lstm.cell_power)
    else:
        keep, add = lstm.cell_factors()
        kept = _saturated(multiply_by_quantized_multiplier(forget * state, *keep))
        added = _saturated(multiply_by_quantized_multiplier(entry * new, *add))
    state = _saturated(kept + added)
    if clip > 0:
        state = np.clip(state, -clip, clip)
    squashed = (
        tanh_fixed(state, 15 + lstm.cell_power)
        if lstm.is_litert
        else tanh_int16(state, *lstm.tanh_factor())
    )
    factor, zero_point = lstm.hidden()
    limits = np.iinfo(hidden.dtype)
    made = multiply_by_quantized_multiplier(gate(OUTPUT) * squashed, *factor) + zero_point
    made = np.clip(made, limits.min, limits.max)
    weights, bias = lstm.projection()
    if weights is not None:
        sums = (made - zero_point) @ weights.constant().astype(np.int64).T
        if bias is not None:
            sums = sums + bias.constant().astype(np.int64)
        scaled = multiply_by_quantized_multiplier(sums, *lstm.projection_factor())
        made = np.clip(scaled + bound.input(HIDDEN_STATE).zero_point, limits.min, limits.max)
        if projection_clip > 0:
            made = np.clip(made, -projection_clip, projection_clip)
    return made.astype(hidden.dtype), state.astype(cell.dtype)


def real_values(tensor: Tensor) -> Array:
    """Returns a constant as float32, whatever it is stored as."""
    values = tensor.constant()
    if values.dtype == np.float32:
        return values
    return np.asarray(values * np.float32(tensor.scale), np.float32)


def _product(lstm: Lstm, rows: Array, weights: Tensor) -> Array:
    """Returns rows times weights; for int8 weights every row is made int8 first."""
    if weights.dtype is not DType.INT8:
        return np.asarray(rows.astype(np.float64) @ weights.constant().T)
    quantize = quantize_asymmetric if lstm.bound.attributes.asymmetric else quantize_symmetric
    made = []
    for row in rows.astype(np.float32):
        sample = quantize(row)
        centred = sample.values.astype(np.int64) - sample.zero_point
        sums = (weights.constant().astype(np.int64) @ centred).astype(np.float32)
        made.append(sums * (sample.scale * np.float32(weights.scale)))
    return np.stack(made).astype(np.float64)


def _float_step(lstm: Lstm, x: Array, hidden: Array, cell: Array) -> tuple[Array, Array]:
    at, state = lstm.bound.attributes, cell.astype(np.float64)

    def gate(number: int) -> Array:
        weights, bias, norm = lstm.weights(number), lstm.bias(number), lstm.norm(number)
        assert weights is not None
        total: Array = _product(lstm, x, weights)
        total = total + _product(lstm, hidden, lstm.recurrent(number))
        peephole = lstm.peephole(number)
        if peephole is not None:
            total = total + state * real_values(peephole)
        if norm is not None:
            centred = total - total.mean(-1, keepdims=True)
            spread = np.sqrt((centred * centred).mean(-1, keepdims=True) + 1e-8)
            total = centred / spread * norm.constant()
        if bias is not None:
            total = total + bias.constant()
        made: Array = np.tanh(total) if number == CELL else 1.0 / (1.0 + np.exp(-total))
        return made

    forget, new = gate(FORGET), gate(CELL)
    entry = gate(INPUT) if INPUT in lstm.gates else 1.0 - forget
    state = forget * state + entry * new
    if at.cell_clip > 0:
        state = np.clip(state, -at.cell_clip, at.cell_clip)
    made = gate(OUTPUT) * np.tanh(state)
    weights, bias = lstm.projection()
    if weights is not None:
        made = _product(lstm, made, weights)
        if bias is not None:
            made = made + bias.constant()
        if at.projection_clip > 0:
            made = np.clip(made, -at.projection_clip, at.projection_clip)
    return made.astype(np.float32), state.astype(np.float32)
