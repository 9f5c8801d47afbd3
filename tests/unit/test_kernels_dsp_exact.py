"""Kernels of the SIMD library in a simulator: exact on random layers, within their budgets."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from bare_kernels import BareKernels
from random_layers import WEIGHTED, random_calls
from weighted_layers import VECTOR, Layer, conv, depthwise, expected, layer

from uhost.ir.tensor import Array
from uhost.kernels._kernel import candidates
from uhost.ops._op import OPERATORS, Activation, Padding2D
from uhost.ops._weighted_examples import LayerStyle


def inputs_of(bound: Layer, rng: np.random.Generator) -> list[Array]:
    x = bound.input(0)
    low, high = x.dtype.limits
    drawn = rng.integers(low, high, x.shape, endpoint=True), rng.choice([low, high], x.shape)
    return [values.astype(x.dtype.numpy) for values in drawn]


@pytest.mark.parametrize(
    "compiler", [pytest.param("arm_gcc", marks=pytest.mark.needs("arm_gcc")), "zig"]
)
@pytest.mark.parametrize("stem", WEIGHTED)
def test_random_layers_are_exact(stem: str, compiler: str, tmp_path: Path) -> None:
    seed = 1 if compiler == "zig" else 2
    layers = random_calls(stem, 25, seed)
    kernels = BareKernels([call for _, call in layers], compiler, tmp_path)
    rng = np.random.default_rng(seed)
    for bound, call in layers:
        for x in inputs_of(bound, rng):
            result = kernels.run(call, x, bound.output.size_bytes)
            found = result.output.view(bound.output.dtype.numpy)
            assert np.array_equal(found, expected(bound, x).reshape(-1)), bound


ZERO_POINT = LayerStyle(per_channel=False, weight_zero_point=23, output_zero_point=-128)
UNSIGNED = {"unsigned": True, "style": ZERO_POINT, "activation": Activation.RELU6}
FAR_APART = [
    depthwise((1, 4, 131, 5), (1, 3, 3, 5), stride=(2, 2), **UNSIGNED),
    depthwise((1, 4, 131, 5), (1, 3, 3, 5), stride=(2, 1), **UNSIGNED),
    conv((1, 2, 3, 1030), (6, 1, 1, 1030), **UNSIGNED),  # five sums of 128 pairs
    conv((1, 1, 1, 515), (3, 1, 1, 515), **UNSIGNED),
]


@pytest.mark.parametrize("bound", FAR_APART)
def test_weights_of_nine_bits_and_long_lines_are_exact(bound: Layer, tmp_path: Path) -> None:
    taken = [kernel for _, kernel in candidates(bound.kind, "dsp") if not kernel.supports(bound)]
    calls = [kernel.lower(bound) for kernel in taken]
    kernels = BareKernels(calls, "zig", tmp_path)
    extremes = np.full(bound.input(0).shape, -128, np.int8)
    for call in calls:
        for x in (*inputs_of(bound, np.random.default_rng(3)), extremes):
            result = kernels.run(call, x, bound.output.size_bytes)
            assert np.array_equal(result.output.view(np.int8), expected(bound, x).reshape(-1))


SAME = Padding2D(1, 1, 1, 1)
RELU = {"activation": Activation.RELU, "style": LayerStyle(output_zero_point=-128)}
KEYWORDS = {"stride": (2, 2), "padding": Padding2D(4, 1, 5, 1)}
BUDGETS = {
    # Layers of the MLPerf Tiny models; limits in hundredths of an instruction per MAC.
    "pointwise": (conv((1, 25, 5, 64), (64, 1, 1, 64), **RELU), 88),
    "pointwise, linear": (conv((1, 25, 5, 64), (64, 1, 1, 64)), 93),
    "pointwise, 8 channels": (conv((1, 48, 48, 8), (16, 1, 1, 8), **RELU), 120),
    "pointwise, 16 channels": (conv((1, 24, 24, 16), (32, 1, 1, 16), **RELU), 104),
    "3x3, 16 channels": (conv((1, 16, 16, 16), (16, 3, 3, 16), padding=SAME, **RELU), 49),
    "3x3, 32 channels": (conv((1, 16, 16, 32), (32, 3, 3, 32), padding=SAME), 41),
    "3x3, stride 2": (conv((1, 17, 17, 32), (64, 3, 3, 32), stride=(2, 2), **RELU), 83),
    "first layer, 1 channel": (conv((1, 49, 10, 1), (64, 10, 4, 1), **KEYWORDS, **RELU), 108),
    "first layer, 3 channels": (conv((1, 32, 32, 3), (16, 3, 3, 3), padding=SAME, **RELU), 124),
    "depthwise": (depthwise((1, 25, 5, 64), (1, 3, 3, 64), padding=SAME, **RELU), 172),
    "depthwise, linear": (depthwise((1, 25, 5, 64), (1, 3, 3, 64), padding=SAME), 235),
    "depthwise, stride 2": (
        depthwise((1, 25, 25, 32), (1, 3, 3, 32), stride=(2, 2), **RELU),
        290,
    ),
    "vector": (layer("fully_connected", VECTOR, (1, 640), (128, 640)), 94),
}


@pytest.mark.needs("arm_gcc")
def test_instructions_stay_within_their_budgets(tmp_path: Path) -> None:
    calls = {}
    for name, (bound, _) in BUDGETS.items():
        variants = [
            (kernel.cost(bound, call).work.instructions, call)
            for _, kernel in candidates(bound.kind, "dsp")
            if kernel.cost is not None and not kernel.supports(bound)
            for call in [kernel.lower(bound)]
        ]
        _, calls[name] = min(variants, key=lambda one: one[0])
    kernels = BareKernels(list(calls.values()), "arm_gcc", tmp_path)
    measured = {}
    for name, (bound, _) in BUDGETS.items():
        x = np.zeros(bound.input(0).shape, np.int8)
        instructions = kernels.run(calls[name], x, bound.output.size_bytes).instructions
        measured[name] = 100 * instructions / OPERATORS[bound.kind].macs(bound)
    over = {name: value for name, value in measured.items() if value > BUDGETS[name][1]}
    assert not over, measured
