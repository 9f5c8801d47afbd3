"""What `build_tflite.from_graph` puts into files for operators that move elements."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import tflite

from uhost.ir.graph import BoundOperator
from uhost.ir.tensor import Array
from uhost.ops.tile import is_broadcast

Folded: TypeAlias = tuple[str, dict[str, Any], list[tuple[str, Array]]]
"""Builtin name, options, and the operands that importing folds into attributes, by role."""

TABLES: Mapping[str, str] = {
    "BATCH_MATMUL": "BatchMatMulOptions",
    "BATCH_TO_SPACE_ND": "BatchToSpaceNDOptions",
    "BROADCAST_TO": "BroadcastToOptions",
    "DEPTH_TO_SPACE": "DepthToSpaceOptions",
    "EXPAND_DIMS": "ExpandDimsOptions",
    "GATHER": "GatherOptions",
    "MIRROR_PAD": "MirrorPadOptions",
    "RESIZE_BILINEAR": "ResizeBilinearOptions",
    "RESIZE_NEAREST_NEIGHBOR": "ResizeNearestNeighborOptions",
    "REVERSE_V2": "ReverseV2Options",
    "SLICE": "SliceOptions",
    "SPACE_TO_BATCH_ND": "SpaceToBatchNDOptions",
    "SPACE_TO_DEPTH": "SpaceToDepthOptions",
    "SQUEEZE": "SqueezeOptions",
    "TILE": "TileOptions",
    "TRANSPOSE": "TransposeOptions",
    "UNPACK": "UnpackOptions",
}
VERSIONS: Mapping[str, int] = {"BATCH_MATMUL": 3, "BROADCAST_TO": 2}


def ints(values: Sequence[int]) -> Array:
    return np.array(values, np.int32)


def pairs(before: Sequence[int], after: Sequence[int]) -> Array:
    return np.array([before, after], np.int32).T.copy()


def _blocks(role: str) -> Callable[[Any], Folded]:
    def fold(bound: BoundOperator[Any]) -> Folded:
        at = bound.attributes
        operands = [("block", ints(at.block)), (role, pairs(at.before, at.after))]
        return bound.kind.upper(), {}, operands

    return fold


def _depth(bound: BoundOperator[Any]) -> Folded:
    return bound.kind.upper(), {"BlockSize": bound.attributes.block}, []


def _mirror_pad(bound: BoundOperator[Any]) -> Folded:
    at, modes = bound.attributes, tflite.MirrorPadMode
    mode = modes.SYMMETRIC if at.repeats_border else modes.REFLECT
    return "MIRROR_PAD", {"Mode": mode}, [("paddings", pairs(at.before, at.after))]


def _resize(bound: BoundOperator[Any]) -> Folded:
    at = bound.attributes
    options = {"AlignCorners": at.align_corners, "HalfPixelCenters": at.half_pixel_centers}
    return bound.kind.upper(), options, [("size", ints(at.size))]


def _tile(bound: BoundOperator[Any]) -> Folded:
    multiples = bound.attributes.multiples
    if is_broadcast(bound):
        return "BROADCAST_TO", {}, [("shape", ints(bound.output.shape))]
    return "TILE", {}, [("multiples", ints(multiples))]


FOLDED: Mapping[str, Callable[[BoundOperator[Any]], Folded]] = {
    "batch_matmul": lambda b: (
        "BATCH_MATMUL",
        {"AdjX": b.attributes.first_transposed, "AdjY": b.attributes.second_transposed},
        [],
    ),
    "batch_to_space_nd": _blocks("crops"),
    "depth_to_space": _depth,
    "broadcast_args": lambda b: ("BROADCAST_ARGS", {}, []),
    "dynamic_update_slice": lambda b: ("DYNAMIC_UPDATE_SLICE", {}, []),
    "embedding_lookup": lambda b: ("EMBEDDING_LOOKUP", {}, []),
    "gather_nd": lambda b: ("GATHER_ND", {}, []),
    "scatter_nd": lambda b: ("SCATTER_ND", {}, [("shape", ints(b.attributes.shape))]),
    "gather": lambda b: (
        "GATHER",
        {"Axis": b.attributes.axis, "BatchDims": b.attributes.batch_axes},
        [],
    ),
    "mirror_pad": _mirror_pad,
    "resize_bilinear": _resize,
    "resize_nearest_neighbor": _resize,
    "reverse_v2": lambda b: ("REVERSE_V2", {}, [("axes", ints(b.attributes.axes))]),
    "space_to_batch_nd": _blocks("paddings"),
    "space_to_depth": _depth,
    "tile": _tile,
    "transpose": lambda b: ("TRANSPOSE", {}, [("order", ints(b.attributes.permutation))]),
    "unpack": lambda b: ("UNPACK", {"Axis": b.attributes.axis, "Num": len(b.outputs)}, []),
}
