"""TRANSPOSE_CONV of any window and stride: a convolution for each phase of the outputs."""

from __future__ import annotations

import numpy as np

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.dsp._channels import why_not_int8
from uhost.kernels.dsp._parts import streams_of
from uhost.kernels.dsp._phases import Phase, layer_phases
from uhost.kernels.dsp._phases_cost import phases_cost
from uhost.kernels.dsp._product import column_pairs, tiled_call, why_inexact
from uhost.ops.transpose_conv import TransposeConvAttributes

_MOST_PHASES = 64


def _supports(bound: BoundOperator[TransposeConvAttributes]) -> str:
    reason = why_not_int8(bound)
    if reason:
        return reason
    if bound.input(0).shape[0] != 1:
        return f"batch of {bound.input(0).shape[0]}"
    stride = bound.attributes.stride
    if stride[0] * stride[1] > _MOST_PHASES:
        return f"more than {_MOST_PHASES} phases"
    reasons = (why_inexact(phase.channels) for phase in layer_phases(bound))
    return next((reason for reason in reasons if reason), "")


def _is_padded(bound: BoundOperator[TransposeConvAttributes], phases: list[Phase]) -> bool:
    _, height, width, _ = bound.input(0).shape
    return any(
        phase.rows.ends_outside(height) or phase.columns.ends_outside(width) for phase in phases
    )


def _lower(bound: BoundOperator[TransposeConvAttributes]) -> KernelCall:
    phases = layer_phases(bound)
    _, height, width, depth = bound.input(0).shape
    _, _, line, count = bound.output.shape
    stride = bound.attributes.stride
    single = any(phase.columns.outputs % 2 for phase in phases)
    pairs = [column_pairs(p.window[1] * depth, p.window[0], even=single) for p in phases]
    streams = streams_of([phase.channels for phase in phases], pairs, even=single)
    rows, offset = [], 0
    for phase, stream in zip(phases, streams, strict=True):
        rows.append(
            {
                "top": phase.rows.first,
                "left": phase.columns.first,
                "rows": phase.window[0],
                "taps": phase.window[1],
                "pairs": stream.pairs,
                "summed": stream.summed,
                "weights": offset,
                "last_weights": offset + stream.group_words * (count // 4),
                "output": (phase.rows.offset * line + phase.columns.offset) * count,
                "lines": phase.rows.outputs,
                "outputs": phase.columns.outputs,
            }
        )
        offset += len(stream.words)
    shift = streams[0].shift
    padded = _is_padded(bound, phases)
    patch_bytes = -(-max(row["taps"] for row in rows) * depth // 8) * 8
    column_words = 2 * max(row["pairs"] for row in rows)
    summed = any(row["summed"] for row in rows)
    return tiled_call(
        "transpose_conv",
        {
            "size": (height, width),
            "depth": depth,
            "channels": count,
            "window": bound.input(1).shape[1:3],
            "stride": stride,
            "image": bound.attributes.size,
            "phases": tuple(tuple(row.values()) for row in rows),
            "fields": tuple(rows[0]),
            "single": single,
            "padded": padded,
            "patch_bytes": patch_bytes,
            "column_words": column_words,
            "aligned": depth % 8 == 0,
            "zero_point": bound.input(0).zero_point,
        },
        np.concatenate([stream.words for stream in streams]),
        clamp=phases[0].channels.clamp,
        shift=shift,
        summed=summed,
        scratch_bytes=4 * column_words + 3 * patch_bytes * padded,
        includes=("dsp_phase", *(("dsp_run",) if padded else ())),
    )


KERNEL = Kernel("transpose_conv", _supports, _lower, features=("dsp",), cost=phases_cost)
