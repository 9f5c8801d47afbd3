"""MEAN and AVERAGE_POOL_2D round differently: no pass may make one of the other."""

from __future__ import annotations

import numpy as np
import pytest

from uhost.ir.graph import BoundOperator
from uhost.ops._examples import quantized
from uhost.ops._op import OPERATORS, Activation, Padding2D
from uhost.ops.average_pool_2d import AveragePool2DAttributes
from uhost.ops.mean import MeanAttributes

COUNTS = [2, *range(4, 130), 144, 196, 225, 256]


def images_of_every_sum(count: int) -> np.ndarray:
    """Returns an image of one channel and `count` pixels for every sum that int8 reaches."""
    sums = np.arange(-128 * count, 127 * count + 1)
    base, above = np.divmod(sums, count)
    return (base[:, None] + (np.arange(count) < above[:, None])).astype(np.int8)


@pytest.mark.parametrize("zero_point", [-128, 0, 127])
def test_some_sum_tells_mean_from_average_for_every_count(zero_point: int) -> None:
    for count in COUNTS:
        images = images_of_every_sum(count).reshape(-1, 1, count, 1)
        x = quantized("x", images.shape, 0.1, zero_point)
        y = quantized("y", (len(images), 1, 1, 1), 0.1, zero_point)
        window = AveragePool2DAttributes((1, count), (1, 1), Padding2D(), Activation.NONE)
        pool = BoundOperator("p", "average_pool_2d", window, (x,), (y,))
        mean = BoundOperator("m", "mean", MeanAttributes((1, 2), keep_dims=True), (x,), (y,))
        [pooled] = OPERATORS["average_pool_2d"].reference(pool, [images])
        [averaged] = OPERATORS["mean"].reference(mean, [images])
        assert (pooled != averaged).any(), count
        # They are neighbours nevertheless: each is within one of the other.
        assert np.abs(pooled.astype(int) - averaged).max() == 1, count


def test_the_shortest_example() -> None:
    x = quantized("x", (1, 1, 4, 1), 0.1, 0)
    y = quantized("y", (1, 1, 1, 1), 0.1, 0)
    window = AveragePool2DAttributes((1, 4), (1, 1), Padding2D(), Activation.NONE)
    image = np.array([0, 0, 0, 1], np.int8).reshape(1, 1, 4, 1)
    pool = BoundOperator("p", "average_pool_2d", window, (x,), (y,))
    mean = BoundOperator("m", "mean", MeanAttributes((1, 2), keep_dims=True), (x,), (y,))
    assert OPERATORS["average_pool_2d"].reference(pool, [image])[0].item() == 0
    assert OPERATORS["mean"].reference(mean, [image])[0].item() == 1
