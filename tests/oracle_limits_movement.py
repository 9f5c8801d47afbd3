"""Where an interpreter is no oracle for an operator that moves elements, and why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

Limits = Mapping[tuple[str, str], str]

_ABSENT = "there is no such operator"
_NO_TYPE = "no such type"


def _types(kinds: Iterable[str], types: Iterable[str]) -> Limits:
    return {(kind, dtype): _NO_TYPE for kind in kinds for dtype in types}


_ALL = ("float32", "int8", "int16", "int32", "int64", "uint8", "bool")
_REPEATED = ("int8_whole", "int8_inner", *(f"{dtype}_twice" for dtype in _ALL))
_REST = "what is behind the last detection stays as it was"
_UNSET = "pads with a number that is never set"
_PADDED = ("int8_line", "int8_padded", "int8_zero_point")
_BLOCKS = ("space_to_batch_nd", "batch_to_space_nd", "space_to_depth", "depth_to_space")
_FEW = ("gather", "gather_nd", "mirror_pad", *_BLOCKS)

TFLM: Limits = {
    **{("tile", name): _ABSENT for name in _REPEATED},
    **{("space_to_batch_nd", name): _UNSET for name in _PADDED},
    ("gather", "int8_int64_indices"): _NO_TYPE,
    ("gather_nd", "int8_int64_indices"): _NO_TYPE,
    ("scatter_nd", ""): _ABSENT,
    ("detection_postprocess", "fast"): _REST,
    **_types(["dynamic_update_slice"], ("int64", "uint8", "bool")),
    **_types(_FEW, ("int16", "int32", "int64", "uint8", "bool")),
    **_types(["resize_bilinear"], ["int16"]),
    **_types(["transpose"], ("int32", "int64", "uint8", "bool")),
    **_types(["unpack"], ("int64", "uint8", "bool")),
    **_types(["resize_nearest_neighbor"], ("int32", "int64", "uint8", "bool")),
}
LITERT: Limits = {
    ("detection_postprocess", ""): _REST,
    ("tflm_decode", ""): _ABSENT,
    **_types(["space_to_depth", "depth_to_space"], ("int16", "bool")),
    **_types(["resize_nearest_neighbor"], ["int64"]),
    **_types(["unpack"], ["int64"]),
}
