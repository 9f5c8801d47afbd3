"""The energy of each bin of a spectrum: the sum of the squares of real and imaginary part.

Input: (2 · bins), int16, real and imaginary parts in turn. Output: (bins), uint32. Bins outside
[start_index, end_index) are 0; TFLite Micro leaves there what the memory held.
Source: TFLite Micro, "signal/src/energy.cc".
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


@dataclass(frozen=True, slots=True)
class SignalEnergyAttributes(Attributes):
    """The first bin, and the bin behind the last."""

    start_index: int
    end_index: int


def _infer(
    bound: BoundOperator[SignalEnergyAttributes],
) -> Sequence[tuple[tuple[int, ...], DType]]:
    spectrum, at = bound.input(0), bound.attributes
    require_dtype(spectrum, DType.INT16)
    require(len(spectrum.shape) == 1, f"'{spectrum.name}' has the rank {len(spectrum.shape)}")
    bins, odd = divmod(spectrum.elements, 2)
    if odd or not 0 <= at.start_index <= at.end_index <= bins:
        raise inconsistent(
            bound,
            f"bins {at.start_index} to {at.end_index} of a spectrum of {spectrum.elements} numbers",
        )
    return [((bins,), DType.UINT32)]


def _reference(
    bound: BoundOperator[SignalEnergyAttributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    spectrum, at = inputs[0], bound.attributes
    assert spectrum is not None
    energy = (spectrum.astype(np.int64).reshape(-1, 2) ** 2).sum(1)
    energy[: at.start_index] = energy[at.end_index :] = 0
    return [energy.astype(np.uint32)]


def _import_tflite(node: SourceNode) -> Imported:
    return signal_import(node, read_attributes(node, SignalEnergyAttributes), 1, 1)


def _examples() -> Iterable[Example]:
    for name, bins, start, end in (("int16", 33, 0, 33), ("int16_band", 33, 5, 31)):
        spectrum = Tensor("spectrum", (2 * bins,), DType.INT16)
        energy = Tensor("energy", (bins,), DType.UINT32)
        attributes = SignalEnergyAttributes(start, end)
        yield signal_example(name, "signal_energy", attributes, [spectrum], [energy])


OPERATOR = OperatorKind(
    name="signal_energy",
    attributes=SignalEnergyAttributes,
    infer=_infer,
    reference=_reference,
    importers={"tflite": {"CUSTOM:SignalEnergy": _import_tflite}},
    examples=_examples,
)
