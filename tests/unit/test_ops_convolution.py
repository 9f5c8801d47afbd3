"""Convolutions, fully connected layers and poolings: values against scalar loops and LiteRT."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from build_tflite import from_graph

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.ir.tensor import Array, Tensor
from uhost.ops._op import (
    OPERATORS,
    Example,
    evaluate,
)
from uhost.ops._weighted import is_unsigned

LAYERS = ("conv_2d", "depthwise_conv_2d", "fully_connected")
POOLS = ("average_pool_2d", "max_pool_2d")


def examples(*kinds: str) -> list[Any]:
    return [
        pytest.param(example, id=f"{kind}-{example.name}")
        for kind in kinds
        for example in OPERATORS[kind].examples()
        if "hybrid" not in example.tags  # test_ops_against_litert
    ]


def bound_of(example: Example) -> BoundOperator[Any]:
    return next(iter(example.graph.bound_operators()))


def named(kind: str, name: str) -> BoundOperator[Any]:
    """The operator of an example."""
    return bound_of(next(e for e in OPERATORS[kind].examples() if e.name == name))


def run(example: Example) -> tuple[Array, Array]:
    """Input and output of an example on seeded input."""
    image = bound_of(example).input(0)
    rng = np.random.default_rng(3)
    if image.dtype.is_integer:
        low, high = image.dtype.limits
        x: Array = rng.integers(low, high + 1, image.shape).astype(image.dtype.numpy)
    else:
        x = rng.normal(0, 1, image.shape).astype(np.float32)
    return x, evaluate(example.graph, {image.name: x})[bound_of(example).output.name]


# ---- A second implementation: scalar loops over whole numbers and exact fractions ------------


def windows(bound: BoundOperator[Any], window: tuple[int, int], y: int, x: int) -> Iterator[Any]:
    """Yields (ky, kx, row, column) of the taps of output (y, x) that lie on the image."""
    a = bound.attributes
    dilation = getattr(a, "dilation", (1, 1))
    height, width = bound.input(0).shape[1:3]
    for ky, kx in product(range(window[0]), range(window[1])):
        row = y * a.stride[0] - a.padding.top + ky * dilation[0]
        column = x * a.stride[1] - a.padding.left + kx * dilation[1]
        if 0 <= row < height and 0 <= column < width:
            yield ky, kx, row, column


def scalar_terms(bound: BoundOperator[Any], x: Array, at: tuple[int, ...]) -> Iterator[Any]:
    """Yields (input, weight) of every product in one output, as Python numbers."""
    weights = bound.input(1).constant()
    channel = at[-1]
    if bound.kind == "fully_connected":
        row = math.prod(bound.output.shape[:-1])
        flat = x.reshape(row, -1)[np.ravel_multi_index(at[:-1], bound.output.shape[:-1])]
        yield from zip(flat.tolist(), weights[channel].tolist(), strict=True)
        return
    image, y, column_out = at[:3]
    for ky, kx, row, column in windows(bound, weights.shape[1:3], y, column_out):
        if bound.kind == "depthwise_conv_2d":
            source = channel // (weights.shape[3] // x.shape[3])
            yield x[image, row, column, source].item(), weights[0, ky, kx, channel].item()
            continue
        depth = weights.shape[3]
        first = channel // (weights.shape[0] // (x.shape[3] // depth)) * depth
        for i in range(depth):
            yield x[image, row, column, first + i].item(), weights[channel, ky, kx, i].item()


def scalar_requantize(value: int, factor: float) -> int:
    """Multiplies by a double as TFLite Micro does, in Python integers."""
    mantissa, shift = math.frexp(factor)
    multiplier = math.floor(mantissa * 2**31 + 0.5)
    if multiplier == 2**31:
        multiplier, shift = 2**30, shift + 1
    if shift < -31:
        return 0
    wrapped = ((value << max(shift, 0)) + 2**31) % 2**32 - 2**31
    high = (wrapped * multiplier + 2**30) // 2**31
    divisor = 2 ** max(-shift, 0)
    return int(math.copysign((abs(high) + divisor // 2) // divisor, high))


def scalar_requantize_wide(value: int, factor: float) -> int:
    """Multiplies a 64-bit sum by a double as TFLite Micro does, in Python integers."""
    mantissa, shift = math.frexp(factor)
    multiplier = math.floor(mantissa * 2**31 + 0.5)
    if multiplier == 2**31:
        multiplier, shift = 2**30, shift + 1
    if shift < -31:
        return 0
    short = min((multiplier + 2**15) // 2**16, 0x7FFF)
    return math.floor(Fraction(value * short, 2 ** (15 - shift)) + Fraction(1, 2))


def scalar_clamp(bound: BoundOperator[Any], value: int) -> int:
    low, high = bound.output.dtype.limits
    for index, limit in enumerate(bound.attributes.activation.bounds):
        if math.isfinite(limit):
            steps = np.float32(limit) / np.float32(bound.output.scale)
            level = bound.output.zero_point + int(np.sign(steps)) * math.floor(abs(steps) + 0.5)
            low, high = (max(low, level), high) if index == 0 else (low, min(high, level))
    return min(max(value, low), high)


def scalar_layer(bound: BoundOperator[Any], x: Array, at: tuple[int, ...]) -> int:
    quantization = bound.input(1).quantization
    assert quantization is not None
    many = len(quantization.scale) > 1
    scale_x, scale_w, scale_out = (
        np.float32(bound.input(0).scale),
        np.float32(quantization.scale[at[-1] if many else 0]),
        np.float32(bound.output.scale),
    )
    if (bound.kind == "fully_connected" and not many) or is_unsigned(bound):
        factor = float(scale_x * scale_w) / float(scale_out)
    else:
        factor = float(scale_x) * float(scale_w) / float(scale_out)
    zero_x, zero_w = bound.input(0).zero_point, quantization.zero_point[0]
    total = sum((a - zero_x) * (b - zero_w) for a, b in scalar_terms(bound, x, at))
    bias = bound.optional_input(2)
    total += 0 if bias is None else int(bias.constant()[at[-1]])
    if bound.output.dtype is DType.INT16 and (bias is None or bias.dtype is DType.INT64):
        return scalar_clamp(bound, scalar_requantize_wide(total, factor))
    total = (total + 2**31) % 2**32 - 2**31
    return scalar_clamp(bound, scalar_requantize(total, factor) + bound.output.zero_point)


@pytest.mark.parametrize("example", examples(*LAYERS))
def test_layer_examples_equal_scalar_loops(example: Example) -> None:
    bound, (x, got) = bound_of(example), run(example)
    assert OPERATORS[bound.kind].macs(bound) < 20_000
    for at in np.ndindex(got.shape):
        if bound.output.dtype.is_integer:
            assert got[at] == scalar_layer(bound, x, at), at
            continue
        low, high = bound.attributes.activation.bounds
        total: Any = np.float32(0)
        for a, b in scalar_terms(bound, x, at):
            total += np.float32(a) * np.float32(b)
        bias = bound.optional_input(2)
        total += np.float32(0) if bias is None else bias.constant()[at[-1]]
        # The same additions in the same order: equal to the last bit.
        assert got[at] == min(max(total, np.float32(low)), np.float32(high)), at


@pytest.mark.parametrize("example", examples(*POOLS))
def test_pool_examples_equal_scalar_loops(example: Example) -> None:
    bound, (x, got) = bound_of(example), run(example)
    low, high = bound.attributes.activation.bounds
    for at in np.ndindex(got.shape):
        taps = [
            x[at[0], row, column, at[3]]
            for _, _, row, column in windows(bound, bound.attributes.window, at[1], at[2])
        ]
        if bound.output.dtype is DType.FLOAT32:
            value: Any = np.float32(0)
            for tap in taps:
                value += tap
            value = max(taps) if bound.kind == "max_pool_2d" else value / np.float32(len(taps))
            assert got[at] == min(max(value, np.float32(low)), np.float32(high)), at
            continue
        levels = [int(tap) for tap in taps]
        total = sum(levels)
        mean = int(math.copysign((abs(total) + len(levels) // 2) // len(levels), total))
        if bound.attributes.unsigned:
            mean = (total + len(levels) // 2) // len(levels)
        level = max(levels) if bound.kind == "max_pool_2d" else mean
        assert got[at] == scalar_clamp(bound, level), at


def readable_by_litert() -> list[Any]:
    """The examples but those with a 32-bit bias that LiteRT reads as 64-bit, and uint8."""
    return [
        example
        for example in examples(*LAYERS, *POOLS)
        if example.id != "depthwise_conv_2d-int16_narrow" and "uint8" not in example.id
    ]


@pytest.mark.parametrize("example", readable_by_litert())
def test_examples_equal_litert_reference_kernels(example: Example) -> None:
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    bound = bound_of(example)
    if bound.kind in LAYERS[:2] and bound.optional_input(2) is None:
        zeros = np.zeros(bound.output.shape[-1], DType(str(bound.output.dtype)).numpy)
        if bound.output.dtype.is_integer:
            zeros = zeros.astype(np.int32 if bound.output.dtype is DType.INT8 else np.int64)
        bias = Tensor("bias", zeros.shape, DType(str(zeros.dtype)), None, zeros)
        operator = replace(example.graph.operators[0], inputs=("input", "weights", "bias"))
        graph = replace(
            example.graph,
            operators=(operator,),
            tensors={**example.graph.tensors, "bias": bias},
        )
    else:
        graph = example.graph
    x, ours = run(example)
    interpreter = Interpreter(
        model_content=from_graph(graph), experimental_op_resolver_type=OpResolverType.BUILTIN_REF
    )
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x)
    interpreter.invoke()
    theirs = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
    if bound.kind == "fully_connected" and bound.output.dtype.is_integer:
        # LiteRT requantises this operator in double, TFLite Micro in fixed point.
        assert np.abs(theirs.astype(int) - ours).max() <= 1
    else:
        np.testing.assert_array_equal(theirs, ours)
