"""ADD and the poolings of the SIMD library: what they take, and exact in a simulator."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from bare_kernels import BareKernels
from numpy.typing import NDArray
from random_elementwise import ELEMENTWISE, add, mul, pool, random_elementwise, tensor
from random_layers import random_calls
from weighted_layers import Layer

from uhost.ir.dtype import DType
from uhost.ir.tensor import Array, Tensor
from uhost.kernels._kernel import library
from uhost.kernels.dsp.add import add_form
from uhost.kernels.dsp.average_pool_2d import division
from uhost.ops._op import OPERATORS, Padding2D

Inputs = list[NDArray[np.int8]]


def expected(bound: Layer, inputs: Inputs) -> Array:
    result: Array = OPERATORS[bound.kind].reference(bound, inputs)[0].reshape(-1)
    return result


def inputs_of(bound: Layer, rng: np.random.Generator) -> list[Inputs]:
    shapes = [x.shape for x in bound.inputs if x is not None]
    ends = np.asarray([-128, 127], np.int8)
    return [
        [rng.integers(-128, 128, shape, dtype=np.int8) for shape in shapes],
        [rng.choice(ends, shape) for shape in shapes],
        [np.full(shape, -128, np.int8) for shape in shapes],
    ]


@pytest.mark.parametrize(
    "compiler", [pytest.param("arm_gcc", marks=pytest.mark.needs("arm_gcc")), "zig"]
)
@pytest.mark.parametrize("kind", ELEMENTWISE)
def test_random_layers_are_exact(kind: str, compiler: str, tmp_path: Path) -> None:
    layers = random_calls(kind, 25, 1 if compiler == "zig" else 2)
    kernels = BareKernels([call for _, call in layers], compiler, tmp_path)
    rng = np.random.default_rng(3)
    for bound, call in layers:
        for inputs in inputs_of(bound, rng):
            result = kernels.run(call, inputs, bound.output.size_bytes)
            assert np.array_equal(result.output, expected(bound, inputs)), bound


@pytest.mark.needs("arm_gcc")
@pytest.mark.parametrize(
    "scales", [(0.0512, 0.0317, 0.0703), (0.9, 0.0013, 0.4), (0.05, 0.05, 0.05)]
)
def test_every_pair_of_elements_is_added_right(
    scales: tuple[float, float, float], tmp_path: Path
) -> None:
    bound = add(1 << 16, scales)
    assert library("dsp")["add"].supports(bound) == ""
    call = library("dsp")["add"].lower(bound)
    values = np.arange(-128, 128, dtype=np.int8)
    pairs = [side.reshape(1, -1) for side in np.meshgrid(values, values)]
    kernels = BareKernels([call], "arm_gcc", tmp_path)
    result = kernels.run(call, pairs, bound.output.size_bytes)
    assert np.array_equal(result.output, expected(bound, pairs))
    assert result.instructions < 7.5 * (1 << 16)


@pytest.mark.parametrize(
    ("bound", "reason"),
    [
        (mul(((4, 1), (4, 6))), "broadcasting other than over leading dimensions"),
        (mul(((1,), (4, 6))), "fewer than four elements that repeat"),
        (mul(((8,), (8,)), (0.9, 0.8, 0.5)), "an output factor of 0.5 or more, or of 0"),
        (mul(((8,), (8,)), (1e-4, 1e-4, 1.0)), "an output factor below 2^-22"),
        (mul(((1, 1, 1, 8), (1, 3, 3, 8))), ""),
    ],
)
def test_products_that_are_taken(bound: Layer, reason: str) -> None:
    assert library("dsp")["mul"].supports(bound) == reason


@pytest.mark.needs("arm_gcc")
def test_every_pair_of_elements_is_multiplied_right(tmp_path: Path) -> None:
    bound = mul(((1, 1 << 16), (1, 1 << 16)), (0.05, 0.031, 0.4), (3, -128, 5))
    call = library("dsp")["mul"].lower(bound)
    values = np.arange(-128, 128, dtype=np.int8)
    pairs = [side.reshape(1, -1) for side in np.meshgrid(values, values)]
    kernels = BareKernels([call], "arm_gcc", tmp_path)
    result = kernels.run(call, pairs, bound.output.size_bytes)
    assert np.array_equal(result.output, expected(bound, pairs))
    assert result.instructions < 8.6 * (1 << 16)


def test_both_forms_of_addition_are_used() -> None:
    rng = np.random.default_rng(5)
    forms = [add_form(random_elementwise("add", rng)) for _ in range(40)]
    assert {form.wide for form in forms if form is not None} == {True, False}


def test_every_window_up_to_256_pixels_but_the_smallest_has_a_quotient() -> None:
    lacking = [pixels for pixels in range(1, 257) if division(pixels) is None]
    assert lacking == [1, 2]
    lowering = [n for n in range(3, 257) if (found := division(n)) and found.lowers]
    assert lowering == [4, 8, 16, 32, 64, 128, 256]


IMAGE = (1, 4, 4, 8)


@pytest.mark.parametrize(
    ("bound", "reason"),
    [
        (pool("average_pool_2d", (1, 4, 4, 7), (2, 2)), "fewer than 8 channels"),
        (pool("average_pool_2d", (2, 4, 4, 8), (2, 2)), "batch of 2"),
        (pool("average_pool_2d", IMAGE, (2, 2), padding=Padding2D(1)), "padding"),
        (pool("average_pool_2d", (1, 17, 17, 8), (17, 17)), "windows of more than 256 pixels"),
        (
            pool("average_pool_2d", IMAGE, (1, 2)),
            "a window whose mean takes more than one multiplication",
        ),
        (pool("max_pool_2d", (1, 4, 4, 3), (2, 2)), "fewer than 4 channels"),
        (pool("max_pool_2d", IMAGE, (2, 2), padding=Padding2D(0, 0, 1, 1)), "padding"),
        # 50 and 31 seventieths have sums halfway between integers, whose ties differ by sign.
        (add(4, (0.05, 0.031, 0.07)), "no short form is right for every pair"),
    ],
)
def test_refusal(bound: Layer, reason: str) -> None:
    assert library("dsp")[bound.kind].supports(bound) == reason


def test_addition_refuses_broadcasting_and_floats() -> None:
    bound = add(4, (0.1, 0.1, 0.1))
    kernel = library("dsp")["add"]
    scalar = replace(bound, inputs=(bound.inputs[0], tensor("b", (1, 1), 0.1, 0)))
    assert kernel.supports(scalar) == "broadcasting"
    real = tuple(Tensor(name, (1, 4), DType.FLOAT32) for name in ("a", "b", "sum"))
    floats = replace(bound, inputs=real[:2], outputs=real[2:])
    assert kernel.supports(floats) == "float32 input"
