"""A transposed convolution as one convolution per phase of its outputs.

With stride s, output o of an axis reads input i through tap k where o + before = i·s + k. So the
outputs of one remainder, a phase, read the taps of one remainder only, and from output to output
of a phase the input goes on by one: a convolution with stride 1 and every s-th tap, turned round.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from uhost.ir.graph import BoundOperator
from uhost.kernels._quantize import channel_weights
from uhost.kernels.dsp._channels import Channels, Integers, fold
from uhost.kernels.dsp._parts import completed
from uhost.ops._window import Axis
from uhost.ops.transpose_conv import TransposeConvAttributes, window_axes


@dataclass(frozen=True, slots=True)
class PhaseAxis:
    """One axis of a phase: its outputs are `offset`, `offset` + stride, …

    `taps` are the window's in the order of the inputs they read; those of output number i
    are read at `first` + i and behind it.
    """

    offset: int
    outputs: int
    taps: range
    first: int

    @property
    def window(self) -> int:
        """Taps, of which there is one of zero weight where none reaches the phase."""
        return max(len(self.taps), 1)

    def ends_outside(self, size: int) -> bool:
        """True if some tap of some output lies before or behind the input."""
        return self.first < 0 or self.first + self.outputs - 1 + self.window > size


@dataclass(frozen=True, slots=True, eq=False)
class Phase:
    """The rows and columns of a phase, and its channels, completed to a multiple of four."""

    rows: PhaseAxis
    columns: PhaseAxis
    channels: Channels

    @property
    def window(self) -> tuple[int, int]:
        """Rows and columns of taps."""
        return self.rows.window, self.columns.window


def phase_axes(axis: Axis) -> list[PhaseAxis]:
    """Returns the phases of one axis of a transposed convolution that have outputs."""
    found = []
    for offset in range(min(axis.stride, axis.size)):
        first, tap = divmod(offset + axis.before, axis.stride)
        taps = range(tap, axis.window, axis.stride)[::-1]
        outputs = len(range(offset, axis.size, axis.stride))
        found.append(PhaseAxis(offset, outputs, taps, first - max(len(taps) - 1, 0)))
    return found


def phase_weights(
    bound: BoundOperator[TransposeConvAttributes],
) -> list[tuple[PhaseAxis, PhaseAxis, Integers]]:
    """Returns rows, columns and weights as (channel, tap) of each phase, as its outputs come.

    A phase that no tap reaches has one of zero weight.
    """
    weights = channel_weights(bound).reshape(bound.input(1).shape)
    all_rows, all_columns = (phase_axes(axis) for axis in window_axes(bound))
    found = []
    for rows in all_rows:
        for columns in all_columns:
            if rows.taps and columns.taps:
                taps = weights[:, list(rows.taps)][:, :, list(columns.taps)]
                found.append((rows, columns, taps.reshape(len(weights), -1)))
                continue
            no_rows, no_columns = (replace(axis, taps=range(0)) for axis in (rows, columns))
            found.append((no_rows, no_columns, np.zeros_like(weights[:, 0, 0])))
    return found


def layer_phases(bound: BoundOperator[TransposeConvAttributes]) -> list[Phase]:
    """Returns the phases of an int8 layer, in the order of their first outputs."""
    return [
        Phase(rows, columns, completed(fold(bound, taps=taps)))
        for rows, columns, taps in phase_weights(bound)
    ]
