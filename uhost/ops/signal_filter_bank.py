"""The energies of bins gathered into channels of overlapping triangles.

Inputs: energies (bins), uint32; then int16 constants: weights, unweights, and per channel and
one before the first the first bin, the first weight, and the number of bins. Each bin counts
with its weight for its channel and with its unweight for the next. Output: (num_channels),
uint64, modulo 2^64; the channel before the first only feeds the first.
Source: TFLite Micro, "signal/src/filter_bank.cc".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from uhost.ir.dtype import DType
from uhost.ir.graph import Attributes, BoundOperator
from uhost.ir.tensor import Array, Tensor
from uhost.ops._checks import require, require_dtype
from uhost.ops._op import Example, Imported, OperatorKind, SourceNode
from uhost.ops._signal import inconsistent, read_attributes, signal_example, signal_import

WEIGHTS, UNWEIGHTS, FIRST_BINS, FIRST_WEIGHTS, WIDTHS = range(1, 6)


@dataclass(frozen=True, slots=True)
class SignalFilterBankAttributes(Attributes):
    """Number of channels."""

    num_channels: int


def bands(bound: BoundOperator[SignalFilterBankAttributes]) -> list[tuple[int, int, int]]:
    """Returns first bin, first weight and number of bins of each channel, the one before first."""
    columns = (bound.input(index).constant() for index in (FIRST_BINS, FIRST_WEIGHTS, WIDTHS))
    return [(int(a), int(b), int(c)) for a, b, c in zip(*columns, strict=True)]


def _infer(
    bound: BoundOperator[SignalFilterBankAttributes],
) -> Sequence[tuple[tuple[int, ...], DType]]:
    energies, channels = bound.input(0), bound.attributes.num_channels
    require_dtype(energies, DType.UINT32)
    for index in range(WEIGHTS, WIDTHS + 1):
        table = bound.input(index)
        require_dtype(table, DType.INT16)
        require(table.is_constant, f"'{table.name}' is not a constant")
    weights = bound.input(WEIGHTS).elements
    tables = [bound.input(index).shape for index in (FIRST_BINS, FIRST_WEIGHTS, WIDTHS)]
    if channels < 1 or tables != [(channels + 1,)] * 3:
        raise inconsistent(bound, f"tables {tables} for {channels} channels")
    if bound.input(UNWEIGHTS).elements != weights:
        raise inconsistent(bound, "there are not as many unweights as weights")
    for first, weight, width in bands(bound):
        inside = first + width <= energies.elements and weight + width <= weights
        if min(first, weight, width) < 0 or (width and not inside):
            raise inconsistent(
                bound,
                f"a channel of {width} bins from {first} on, with weights from {weight} on, of "
                f"{energies.elements} bins and {weights} weights",
            )
    return [((channels,), DType.UINT64)]


def _reference(
    bound: BoundOperator[SignalFilterBankAttributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    energies, weights, unweights = inputs[: UNWEIGHTS + 1]
    assert energies is not None
    assert weights is not None
    assert unweights is not None
    wide = energies.astype(np.uint64)
    # As uint64 a negative weight is 2^64 less, and everything counts modulo 2^64.
    factors = [table.astype(np.int64).astype(np.uint64) for table in (weights, unweights)]
    made, carried = [], np.uint64(0)
    for first, weight, width in bands(bound):
        part = wide[first : first + width]
        own, other = (
            (part * table[weight : weight + width]).sum(dtype=np.uint64) for table in factors
        )
        made.append(np.add(carried, own))
        carried = other
    return [np.array(made[1:], np.uint64)]


def _import_tflite(node: SourceNode) -> Imported:
    return signal_import(node, read_attributes(node, SignalFilterBankAttributes), 6, 1)


def _macs(bound: BoundOperator[SignalFilterBankAttributes]) -> int:
    return 2 * sum(width for _, _, width in bands(bound))


def _examples() -> Iterable[Example]:
    def case(name: str, bins: int, widths: Sequence[int], low: int = 0, first: int = 0) -> Example:
        random = np.random.default_rng(5)
        count = sum(widths)
        weights = random.integers(low, 4096, count, endpoint=True)
        starts = np.cumsum([0, *widths[:-1]])
        tables = {
            "weights": weights,
            "unweights": 4096 - weights,
            "first_bins": first + starts,
            "first_weights": starts,
            "widths": np.array(widths),
        }
        energies = Tensor("energies", (bins,), DType.UINT32)
        constants = [
            Tensor(role, table.shape, DType.INT16, None, table.astype(np.int16))
            for role, table in tables.items()
        ]
        channels = len(widths) - 1
        output = Tensor("output", (channels,), DType.UINT64)
        attributes = SignalFilterBankAttributes(channels)
        inputs = [energies, *constants]
        return signal_example(name, "signal_filter_bank", attributes, inputs, [output])

    yield case("uint32", 33, [3, 2, 3, 4, 5, 6], first=4)
    yield case("uint32_negative", 20, [4, 1, 0, 7], low=-32000)
    yield case("uint32_one_channel", 9, [2, 5])


OPERATOR = OperatorKind(
    name="signal_filter_bank",
    attributes=SignalFilterBankAttributes,
    infer=_infer,
    reference=_reference,
    importers={"tflite": {"CUSTOM:SignalFilterBank": _import_tflite}},
    examples=_examples,
    macs=_macs,
)
