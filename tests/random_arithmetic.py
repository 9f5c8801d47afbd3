"""Random operators that compute element by element or reduce, as files: types, scales, shapes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from build_movement import ints
from build_tflite import Node, build

from uhost.ir.dtype import DType
from uhost.ir.tensor import Array, Quantization, Tensor

F32, I8, I16, I32, I64 = DType.FLOAT32, DType.INT8, DType.INT16, DType.INT32, DType.INT64
U8, BOOL = DType.UINT8, DType.BOOL
BOTH, LITERT, TFLM = frozenset({"litert", "tflm"}), frozenset({"litert"}), frozenset({"tflm"})
Oracles = Mapping[DType, frozenset[str]]


class Draw:
    """What a case is drawn from, and what it consists of."""

    def __init__(self, rng: np.random.Generator, dtype: DType) -> None:
        self.rng, self.dtype = rng, dtype
        self.tensors: list[Tensor] = []
        self.feeds: list[str] = []
        self.outputs: list[str] = []

    def number(self, low: int, high: int) -> int:
        return int(self.rng.integers(low, high + 1))

    def shape(self, low: int = 0, high: int = 4, most: int = 7) -> tuple[int, ...]:
        return tuple(self.number(1, most) for _ in range(self.number(low, high)))

    def pair(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Returns two shapes that broadcast."""
        whole = self.shape(1)
        shapes = []
        for _ in range(2):
            kept = [1 if self.rng.random() < 0.3 else size for size in whole]
            shapes.append(tuple(kept[self.number(0, 1) * self.number(0, len(kept)) :]))
        return shapes[0], shapes[1]

    def scale(self, low: float = -8, high: float = 0) -> float:
        if self.dtype is I16:
            low, high = low - 7, high - 7
        drawn = 2.0 ** self.rng.uniform(low, high)
        if self.rng.random() < 0.4:
            # A few digits: quotients of such scales lead to ties, which the precision decides.
            short = float(f"{drawn:.1g}")
            drawn = short if short < 2.0**high else drawn
        return float(np.float32(drawn))

    def quantization(self, scale: float | None = None) -> Quantization | None:
        if self.dtype not in (I8, U8, I16):
            return None
        low, high = self.dtype.limits
        zero = 0 if self.dtype is I16 else self.number(low, high)
        return Quantization((self.scale() if scale is None else scale,), (zero,))

    def source(
        self, shape: tuple[int, ...], quantization: Quantization | None, dtype: DType | None = None
    ) -> str:
        name = f"x{len(self.tensors)}"
        self.tensors.append(Tensor(name, shape, dtype or self.dtype, quantization))
        self.feeds.append(name)
        return name

    def constant(self, values: Array, quantization: Quantization | None = None) -> str:
        name = f"c{len(self.tensors)}"
        dtype = DType(str(values.dtype))
        self.tensors.append(Tensor(name, values.shape, dtype, quantization, values))
        return name

    def result(
        self,
        shape: Sequence[int],
        quantization: Quantization | None,
        dtype: DType | None = None,
    ) -> str:
        name = f"y{len(self.tensors)}"
        self.tensors.append(Tensor(name, tuple(shape), dtype or self.dtype, quantization))
        self.outputs.append(name)
        return name


def feed(tensor: Tensor, rng: np.random.Generator) -> Array:
    """Returns random values of a type with its ends and its zero among them."""
    if tensor.dtype is BOOL:
        return rng.integers(0, 2, tensor.shape).astype(np.bool_)
    if tensor.dtype is F32:
        values = rng.normal(0.0, 2.0 ** rng.uniform(-3, 3), tensor.shape)
        edges = [0.0, -0.0, 1.0, -1.0, 0.5, 6.0, 1e4, -1e4]
    else:
        low, high = tensor.dtype.limits
        values = rng.integers(low, high, tensor.shape, tensor.dtype.numpy, endpoint=True)
        zero = tensor.zero_point if tensor.quantization else 0
        edges = [low, high, zero, min(zero + 1, high), max(zero - 1, low)]
    chosen = rng.choice(np.array(edges, tensor.dtype.numpy), tensor.shape)
    edge = rng.random(tensor.shape) < 0.15
    return np.where(edge, chosen, values).astype(tensor.dtype.numpy)


def _activation(draw: Draw) -> int:
    return draw.number(0, 3)


def _binary(
    code: str,
    *,
    fuses: bool = False,
    same: bool = False,
    output: DType | None = None,
    result_scales: tuple[float, float] = (-8, 0),
) -> Callable[[Draw], Node]:
    def node(draw: Draw) -> Node:
        first, second = draw.pair()
        shape = tuple(np.broadcast_shapes(first, second))
        ends = (-8, 0), (-8, 0), result_scales
        quantizations = [draw.quantization(draw.scale(*two)) for two in ends]
        if same:
            quantizations = quantizations[:1] * 3
        inputs = draw.source(first, quantizations[0]), draw.source(second, quantizations[1])
        options: dict[str, Any] | None = {}
        if fuses:
            # TFLite Micro drops the activation of int32.
            activation = 0 if draw.dtype is I32 else _activation(draw)
            options = {"FusedActivationFunction": activation}
            if code in ("ADD", "SUB"):
                options["PotScaleInt16"] = False
        made = draw.result(shape, None if output else quantizations[2], output)
        return Node(code, inputs, (made,), options)

    return node


def _div(draw: Draw) -> Node:
    shape = draw.shape(1)
    # A larger output scale makes shifts of more than 31 bits, which C leaves undefined.
    limits = (-3, -2), (-6, -5), (-6, -5)
    first, second, third = (draw.quantization(draw.scale(*two)) for two in limits)
    values = draw.rng.integers(1, 100, shape[draw.number(0, len(shape)) :])
    zero = second.zero_point[0] if second else 0
    far = values + zero if zero < 28 else zero - values
    divisors = draw.constant(far.astype(draw.dtype.numpy), second)
    options = {"FusedActivationFunction": _activation(draw) if draw.dtype is not I32 else 0}
    return Node("DIV", (draw.source(shape, first), divisors), (draw.result(shape, third),), options)


def _prelu(draw: Draw) -> Node:
    shape = draw.shape(1)
    alpha_shape = shape[draw.number(0, len(shape) - 1) :]
    source, output = draw.quantization(), draw.quantization()
    feed_name = draw.source(shape, source)
    if draw.dtype is F32:
        alpha = draw.constant(draw.rng.normal(0, 1, alpha_shape).astype(np.float32))
    else:
        dtype = I8 if draw.dtype is I16 else draw.dtype
        low, high = dtype.limits
        values = draw.rng.integers(low, high, alpha_shape, dtype.numpy, endpoint=True)
        zero = 0 if draw.dtype is I16 else draw.number(low, high)
        scale = float(np.float32(2.0 ** draw.rng.uniform(-9, -5)))
        alpha = draw.constant(values, Quantization((scale,), (zero,)))
    return Node("PRELU", (feed_name, alpha), (draw.result(shape, output),))


def _unary(
    code: str,
    *,
    fixed: Mapping[DType, tuple[float, int]] | None = None,
    options: Callable[[Draw], dict[str, Any]] = lambda draw: {},
    low: int = 0,
    scales: tuple[float, float] = (-8, 0),
    same: bool = False,
) -> Callable[[Draw], Node]:
    """`fixed` maps types to the scale and zero point that the output has."""

    def node(draw: Draw) -> Node:
        shape = draw.shape(low)
        source = draw.quantization(draw.scale(*scales))
        output = source if same else draw.quantization()
        if output is not None and fixed and draw.dtype in fixed:
            scale, zero = fixed[draw.dtype]
            output = Quantization((scale,), (zero,))
        name = draw.source(shape, source)
        return Node(code, (name,), (draw.result(shape, output),), options(draw))

    return node


def _reduction(code: str, *, same: bool = False) -> Callable[[Draw], Node]:
    def node(draw: Draw) -> Node:
        shape = draw.shape(1)
        axes = [axis for axis in range(len(shape)) if draw.rng.random() < 0.5] or [0]
        keep = bool(draw.number(0, 1))
        source = draw.quantization()
        output = source if same else draw.quantization()
        result = [
            1 if axis in axes else size
            for axis, size in enumerate(shape)
            if keep or axis not in axes
        ]
        signed = [axis - len(shape) * draw.number(0, 1) for axis in axes]
        inputs = draw.source(shape, source), draw.constant(ints(signed))
        return Node(code, inputs, (draw.result(result, output),), {"KeepDims": keep})

    return node


def _arg(code: str) -> Callable[[Draw], Node]:
    def node(draw: Draw) -> Node:
        shape = draw.shape(1)
        axis = draw.number(0, len(shape) - 1)
        inputs = draw.source(shape, draw.quantization()), draw.constant(ints([axis]))
        result = draw.result((*shape[:axis], *shape[axis + 1 :]), None, I32)
        return Node(code, inputs, (result,), {"OutputType": 2})

    return node


def _concatenation(draw: Draw) -> Node:
    shape = draw.shape(1)
    axis = draw.number(0, len(shape) - 1)
    output = draw.quantization()
    inputs = []
    for _ in range(draw.number(1, 4)):
        size = draw.number(1, 5)
        # Only uint8 is rescaled; the others are copied.
        own = draw.quantization() if draw.dtype is U8 and draw.rng.random() < 0.7 else output
        inputs.append((draw.source((*shape[:axis], size, *shape[axis + 1 :]), own), size))
    whole = (*shape[:axis], sum(size for _, size in inputs), *shape[axis + 1 :])
    names = tuple(name for name, _ in inputs)
    return Node("CONCATENATION", names, (draw.result(whole, output),), {"Axis": axis})


def _cumsum(draw: Draw) -> Node:
    shape = draw.shape(1)
    axis = draw.constant(np.array(draw.number(-len(shape), len(shape) - 1), np.int32))
    options = {"Exclusive": bool(draw.number(0, 1)), "Reverse": bool(draw.number(0, 1))}
    return Node("CUMSUM", (draw.source(shape, None), axis), (draw.result(shape, None),), options)


def _add_n(draw: Draw) -> Node:
    shape = draw.shape(1)
    inputs = tuple(draw.source(shape, None) for _ in range(draw.number(2, 5)))
    return Node("ADD_N", inputs, (draw.result(shape, None),))


@dataclass(frozen=True)
class Family:
    """How cases of an operator are made, and who is asked about which type."""

    make: Callable[[Draw], Node]
    oracles: Oracles


_ACTIVATION_SCALES = {I8: (1 / 128, 0), U8: (1 / 128, 128), I16: (1 / 32768, 0)}
_UNIT_SCALES = {I8: (1 / 256, -128), U8: (1 / 256, 0), I16: (1 / 32768, 0)}
_LOG_SCALES = {I8: (16 / 256, 127), U8: (16 / 256, 255)}
_WHOLE = {I32: BOTH, F32: BOTH}
_QUANTIZED = {I8: BOTH, U8: LITERT}
# LiteRT forms the factors of these in float32, TFLite Micro in double.
_FACTORS = {I8: TFLM, U8: LITERT, I16: TFLM, F32: BOTH}
COMPARISONS = ("EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL")
CASES: Mapping[str, Family] = {
    "ADD": Family(_binary("ADD", fuses=True), {**_QUANTIZED, **_WHOLE, I16: BOTH}),
    "SUB": Family(_binary("SUB", fuses=True), {**_QUANTIZED, **_WHOLE, I16: BOTH}),
    "MUL": Family(_binary("MUL", fuses=True), {**_FACTORS, I32: BOTH}),
    "DIV": Family(_div, {I8: TFLM, U8: LITERT, **_WHOLE}),
    "SQUARED_DIFFERENCE": Family(
        _binary("SQUARED_DIFFERENCE", result_scales=(-3, 3)), {I8: BOTH, I16: TFLM, **_WHOLE}
    ),
    **{
        code: Family(_binary(code, same=True), {**_QUANTIZED, **_WHOLE, I16: BOTH, I64: BOTH})
        for code in ("MAXIMUM", "MINIMUM")
    },
    **{
        code: Family(_binary(code, output=BOOL), {**_QUANTIZED, **_WHOLE, I64: BOTH})
        for code in COMPARISONS
    },
    "PRELU": Family(_prelu, _FACTORS),
    "LEAKY_RELU": Family(
        _unary("LEAKY_RELU", options=lambda draw: {"Alpha": float(draw.rng.normal(0, 0.5))}),
        _FACTORS,
    ),
    "RELU": Family(_unary("RELU"), _FACTORS),
    "RELU6": Family(_unary("RELU6"), {U8: LITERT, F32: BOTH}),
    "RELU_N1_TO_1": Family(_unary("RELU_N1_TO_1"), {I8: LITERT, U8: LITERT, F32: LITERT}),
    "ABS": Family(_unary("ABS"), {I8: TFLM, I16: TFLM, F32: BOTH, I32: LITERT}),
    "TANH": Family(_unary("TANH", fixed=_ACTIVATION_SCALES), {**_QUANTIZED, I16: BOTH, F32: BOTH}),
    "LOGISTIC": Family(
        _unary("LOGISTIC", fixed=_UNIT_SCALES), {**_QUANTIZED, I16: BOTH, F32: BOTH}
    ),
    "SOFTMAX": Family(
        _unary("SOFTMAX", fixed=_UNIT_SCALES, low=1, options=lambda draw: {"Beta": 1.0}),
        # LiteRT makes two of the 513 points of a table of int16 otherwise.
        {**_QUANTIZED, I16: TFLM, F32: BOTH},
    ),
    "LOG_SOFTMAX": Family(
        _unary("LOG_SOFTMAX", fixed=_LOG_SCALES, low=1), {**_QUANTIZED, F32: BOTH}
    ),
    "HARD_SWISH": Family(_unary("HARD_SWISH", scales=(-8, -2)), {**_QUANTIZED, F32: BOTH}),
    "ELU": Family(_unary("ELU"), {I8: TFLM, F32: TFLM}),
    "GELU": Family(
        _unary("GELU", options=lambda draw: {"Approximate": bool(draw.number(0, 1))}),
        {I8: LITERT, U8: LITERT, F32: LITERT},
    ),
    "L2_NORMALIZATION": Family(
        _unary("L2_NORMALIZATION", fixed=_ACTIVATION_SCALES, low=1), {**_QUANTIZED, F32: BOTH}
    ),
    "QUANTIZE": Family(_unary("QUANTIZE"), {I8: BOTH, U8: LITERT, I16: BOTH}),
    "SUM": Family(_reduction("SUM"), {I8: TFLM, I16: TFLM, U8: LITERT, F32: BOTH, I32: LITERT}),
    "MEAN": Family(_reduction("MEAN"), {**_QUANTIZED, I16: BOTH, F32: BOTH}),
    **{
        code: Family(_reduction(code, same=True), {**_QUANTIZED, F32: BOTH, I32: LITERT})
        for code in ("REDUCE_MAX", "REDUCE_MIN")
    },
    "REDUCE_PROD": Family(_reduction("REDUCE_PROD"), {I32: LITERT}),
    "REDUCE_ALL": Family(_reduction("REDUCE_ALL"), {BOOL: BOTH}),
    "REDUCE_ANY": Family(_reduction("REDUCE_ANY"), {BOOL: LITERT}),
    "ARG_MAX": Family(_arg("ARG_MAX"), {**_QUANTIZED, F32: BOTH}),
    "ARG_MIN": Family(_arg("ARG_MIN"), {**_QUANTIZED, F32: BOTH}),
    "CONCATENATION": Family(
        _concatenation, {**_QUANTIZED, **_WHOLE, I16: BOTH, I64: BOTH, BOOL: BOTH}
    ),
    "CUMSUM": Family(_cumsum, {F32: BOTH, I32: LITERT, I64: LITERT}),
    "ADD_N": Family(_add_n, {F32: BOTH, I32: LITERT}),
    **{code: Family(_binary(code), {BOOL: BOTH}) for code in ("LOGICAL_AND", "LOGICAL_OR")},
}


def random_file(code: str, dtype: DType, rng: np.random.Generator) -> bytes:
    """Returns a file of one operator."""
    draw = Draw(rng, dtype)
    node = CASES[code].make(draw)
    return build(draw.tensors, [node], draw.feeds, draw.outputs)
