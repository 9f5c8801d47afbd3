"""Exact packing that integer kernels of weighted layers share: factors, bias, 32-bit bounds.

A weighted layer is conv_2d, depthwise_conv_2d or fully_connected. The zero point of the
input can be folded into the bias: Σ (x - z)·w = Σ x·w - z·Σ w, for *all* taps of the
window, so padding then has to be read as z.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from uhost.errors import VerifyError
from uhost.ir.graph import BoundOperator
from uhost.ops._weighted import (
    Requantization,
    conv_requantization,
    output_channels,
    place,
    weight_zero_point,
)

__all__ = [
    "Requantization",
    "accumulator_fits",
    "bias_fits",
    "channel_bias",
    "channel_weights",
    "conv_requantization",
    "folded_accumulator_fits",
    "folded_bias",
    "folded_reach",
]

_LIMIT = 2**31


def channel_weights(bound: BoundOperator[Any]) -> NDArray[np.int64]:
    """Returns the weights less their zero point as (output channel, tap)."""
    weights = bound.input(1).constant().astype(np.int64) - weight_zero_point(bound)
    if bound.kind == "depthwise_conv_2d":
        return weights.reshape(-1, weights.shape[3]).T
    return weights.reshape(weights.shape[0], -1)


def channel_bias(bound: BoundOperator[Any]) -> NDArray[np.int64]:
    """Returns the bias of every output channel, zeros where the layer has none."""
    bias = bound.optional_input(2)
    if bias is None:
        return np.zeros(output_channels(bound), np.int64)
    return bias.constant().astype(np.int64).reshape(-1)


def accumulator_fits(bound: BoundOperator[Any]) -> bool:
    """True if no partial sum of (x - zero_point)·w, in any order, leaves 32 bits."""
    return bool((_reach(bound) < _LIMIT).all())


def bias_fits(bound: BoundOperator[Any]) -> bool:
    """True if no sum of (x - zero_point)·w plus the bias leaves 32 bits."""
    return bool((_reach(bound) + np.abs(channel_bias(bound)) < _LIMIT).all())


def _reach(bound: BoundOperator[Any]) -> NDArray[np.int64]:
    zero_point = bound.input(0).zero_point
    low, high = bound.input(0).dtype.limits
    largest = max(high - zero_point, zero_point - low)
    reach: NDArray[np.int64] = np.abs(channel_weights(bound)).sum(axis=1) * largest
    return reach


def folded_accumulator_fits(bound: BoundOperator[Any]) -> bool:
    """True if no partial sum of folded bias and x·w, in any order, leaves 32 bits."""
    return bool((folded_reach(bound) < _LIMIT).all())


def folded_reach(bound: BoundOperator[Any]) -> NDArray[np.int64]:
    """Returns what no partial sum of folded bias and x·w exceeds in size, per output channel."""
    products: NDArray[np.int64] = np.abs(channel_weights(bound)).sum(axis=1) * 128
    return np.abs(_folded(bound)) + products


def folded_bias(bound: BoundOperator[Any]) -> NDArray[np.int32]:
    """Returns bias - zero_point·Σw of every output channel.

    Raises `VerifyError` where one leaves 32 bits: a kernel asks
    `folded_accumulator_fits` first.
    """
    folded = _folded(bound)
    if not ((folded >= -_LIMIT) & (folded < _LIMIT)).all():
        raise VerifyError(
            "a bias with the input's zero point folded in leaves 32 bits", where=place(bound)
        )
    return folded.astype(np.int32)


def _folded(bound: BoundOperator[Any]) -> NDArray[np.int64]:
    sums: NDArray[np.int64] = channel_weights(bound).sum(axis=1)
    return channel_bias(bound) - bound.input(0).zero_point * sums
