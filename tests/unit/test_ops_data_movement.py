"""Operators that move elements: how files say what moves where, and what they may not say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from build_tflite import Node, build

from uhost.errors import MalformedModelError, UnsupportedOperatorError
from uhost.frontends.tflite import FRONTEND
from uhost.ir.dtype import DType
from uhost.ir.graph import Graph
from uhost.ir.tensor import Tensor
from uhost.ops._examples import quantized
from uhost.ops._op import OPERATORS, evaluate
from uhost.ops.reshape import ReshapeAttributes
from uhost.ops.strided_slice import StridedSliceAttributes
from uhost.ops.tile import TileAttributes
from uhost.ops.transpose import TransposeAttributes


def bytes_of(name: str, *shape: int) -> Tensor:
    return Tensor(name, shape, DType.INT8)


def constant(name: str, values: Any, dtype: DType = DType.INT32) -> Tensor:
    array = np.array(values, dtype.numpy)
    return Tensor(name, array.shape, dtype, None, array)


def load(
    code: str,
    inputs: tuple[Tensor, ...],
    outputs: tuple[Tensor, ...] | Tensor,
    options: Mapping[str, Any] | None = None,
) -> Graph:
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    names = tuple(tensor.name for tensor in inputs)
    feeds = tuple(tensor.name for tensor in inputs if not tensor.is_constant)
    results = tuple(tensor.name for tensor in outputs)
    return FRONTEND.load(
        build((*inputs, *outputs), [Node(code, names, results, options)], feeds, results), "m"
    )


def wrong(code: str, *arguments: Any) -> str:
    with pytest.raises(MalformedModelError) as caught:
        load(code, *arguments)
    return caught.value.what


def refused(code: str, *arguments: Any) -> str:
    with pytest.raises(UnsupportedOperatorError) as caught:
        load(code, *arguments)
    return caught.value.what.splitlines()[-2].strip()


def attributes(code: str, *arguments: Any) -> tuple[str, Any]:
    (operator,) = load(code, *arguments).operators
    assert operator.inputs == ("a",)
    return operator.kind, operator.attributes


def test_squeeze_and_expand_dims_are_reshapes() -> None:
    a, reshape = bytes_of("a", 1, 3, 1, 2), ("reshape", ReshapeAttributes())
    assert attributes("SQUEEZE", (a,), bytes_of("o", 3, 2)) == reshape
    one = {"SqueezeDims": (-2,)}
    assert attributes("SQUEEZE", (a,), bytes_of("o", 1, 3, 2), one) == reshape
    axis = constant("axis", -1)
    assert attributes("EXPAND_DIMS", (a, axis), bytes_of("o", 1, 3, 1, 2, 1)) == reshape
    axis = constant("axis", [0])
    assert attributes("EXPAND_DIMS", (a, axis), bytes_of("o", 1, 1, 3, 1, 2)) == reshape


def test_what_cannot_be_squeezed_or_expanded() -> None:
    a = bytes_of("a", 1, 3, 1, 2)
    assert wrong("SQUEEZE", (a,), bytes_of("o", 1, 2), {"SqueezeDims": (1,)}) == (
        "axes [1] of [1, 3, 1, 2] are not all of size 1"
    )
    assert wrong("SQUEEZE", (a,), bytes_of("o", 6)) == (
        "tensor 'o' is declared int8[6], but SQUEEZE makes int8[3x2] of its inputs"
    )
    assert wrong("EXPAND_DIMS", (a, constant("axis", 5)), bytes_of("o", 6)) == (
        "axis 5 of a tensor of rank 5"
    )
    assert wrong("EXPAND_DIMS", (a, constant("axis", [0, 1])), bytes_of("o", 6)) == (
        "the axis has 2 elements"
    )
    axis = Tensor("axis", (), DType.INT32)
    assert refused("EXPAND_DIMS", (a, axis), bytes_of("o", 6)) == (
        "EXPAND_DIMS: the axis is not a constant"
    )


def test_slice_is_a_strided_slice_of_step_1() -> None:
    a = bytes_of("a", 4, 5)
    for dtype in (DType.INT32, DType.INT64):
        operands = (a, constant("begin", [1, 2], dtype), constant("size", [2, -1], dtype))
        kind, at = attributes("SLICE", operands, bytes_of("o", 2, 3))
        assert (kind, at) == (
            "strided_slice",
            StridedSliceAttributes((1, 2), (1, 1), (2, 3), (2, 3)),
        )


def test_slices_that_do_not_fit() -> None:
    a, o = bytes_of("a", 4, 5), bytes_of("o", 2, 3)
    assert wrong("SLICE", (a, constant("b", [1]), constant("s", [2])), o) == (
        "1 begins and 1 sizes for [4, 5]"
    )
    assert wrong("SLICE", (a, constant("b", [1, 3]), constant("s", [2, 3])), o) == (
        "the slice leaves the shape [4, 5]"
    )
    for size in (0, -2):
        assert refused("SLICE", (a, constant("b", [3, 4]), constant("s", [1, size])), o) == (
            "SLICE: the slice has no elements"
        )


def test_broadcast_to_is_a_tile() -> None:
    a = bytes_of("a", 3, 1)
    shape = constant("shape", [2, 3, 4])
    assert attributes("BROADCAST_TO", (a, shape), bytes_of("o", 2, 3, 4)) == (
        "tile",
        TileAttributes((2, 1, 4)),
    )
    for bad in ([4, 4], [4]):
        assert wrong("BROADCAST_TO", (a, constant("shape", bad)), bytes_of("o", *bad)) == (
            f"[3, 1] cannot be broadcast to {bad}"
        )
    assert wrong("TILE", (a, constant("multiples", [2])), bytes_of("o", 6, 1)) == (
        "1 multiples for rank 2"
    )
    assert wrong("TILE", (a, constant("multiples", [2, -1])), bytes_of("o", 6, 1)) == (
        "[3, 1] repeated [2, -1] times"
    )


def test_transpose_counts_axes_from_either_end() -> None:
    a, o = bytes_of("a", 2, 3, 4), bytes_of("o", 4, 2, 3)
    order = constant("order", [-1, 0, 1])
    assert attributes("TRANSPOSE", (a, order), o) == ("transpose", TransposeAttributes((2, 0, 1)))
    assert wrong("TRANSPOSE", (a, constant("order", [2, 0, 0])), o) == (
        "[2, 0, 0] does not permute [2, 3, 4]"
    )
    assert wrong("TRANSPOSE", (a, constant("order", [1, 0])), o) == (
        "2 axes for a tensor of rank 3"
    )
    assert refused("TRANSPOSE", (a, Tensor("order", (3,), DType.INT32)), o) == (
        "TRANSPOSE: the permutation is not a constant"
    )


@pytest.mark.parametrize(
    ("shape", "order", "keeps"),
    [
        ((1, 3, 1, 4), (1, 0, 3, 2), True),
        ((1, 64, 96, 1), (0, 1, 3, 2), True),
        ((1, 3, 3, 1), (0, 2, 1, 3), False),
        ((2, 3), (1, 0), False),
        ((), (), True),
    ],
)
def test_a_transpose_that_moves_ones_is_a_copy(
    shape: tuple[int, ...], order: tuple[int, ...], keeps: bool
) -> None:
    result = tuple(shape[axis] for axis in order)
    tensors = bytes_of("a", *shape), constant("order", list(order)), bytes_of("o", *result)
    graph = load("TRANSPOSE", tensors[:2], tensors[2])
    assert OPERATORS["transpose"].is_copy(graph.bind(graph.operators[0])) is keeps


def test_unpack_has_an_output_for_each_index() -> None:
    a, parts = bytes_of("a", 2, 3), tuple(bytes_of(f"o{n}", 2) for n in range(2))
    assert wrong("UNPACK", (a,), parts, {"Axis": -1, "Num": 3}) == (
        "the operator has 2 outputs, 3 by its options"
    )
    assert wrong("UNPACK", (a,), parts, {"Axis": 1, "Num": 2}) == (
        "[2, 3] cannot be taken apart along axis 1 into 2 tensors"
    )


def test_mirrors_reach_no_farther_than_the_tensor() -> None:
    a = bytes_of("a", 3)
    for mode, most in ((0, 2), (1, 3)):
        options = {"Mode": mode}
        paddings = constant("p", [[most, 0]])
        load("MIRROR_PAD", (a, paddings), bytes_of("o", 3 + most), options)
        paddings = constant("p", [[most + 1, 0]])
        assert wrong("MIRROR_PAD", (a, paddings), bytes_of("o", 4 + most), options) == (
            f"mirrored padding [{most + 1}] and [0] of [3]"
        )


def test_blocks_that_do_not_fit() -> None:
    a, pads = bytes_of("a", 1, 3, 4, 1), constant("p", [[0, 0], [0, 0]])
    block = constant("block", [2, 2])
    assert wrong("SPACE_TO_BATCH_ND", (a, block, pads), bytes_of("o", 4, 1, 2, 1)) == (
        "[1, 3, 4, 1] padded by [0, 0] and [0, 0] does not consist of blocks [2, 2]"
    )
    assert wrong("BATCH_TO_SPACE_ND", (a, block, pads), bytes_of("o", 1, 6, 8, 1)) == (
        "[1, 3, 4, 1] cannot be joined in blocks [2, 2] and cropped by [0, 0] and [0, 0]"
    )
    assert wrong("SPACE_TO_BATCH_ND", (a, constant("block", [2]), pads), bytes_of("o", 1)) == (
        "paddings of shape [2, 2] for blocks [2] of a tensor of rank 4"
    )
    options = {"BlockSize": 2}
    assert wrong("SPACE_TO_DEPTH", (a,), bytes_of("o", 1, 1, 2, 4), options) == (
        "[1, 3, 4, 1] in blocks of 2 x 2 pixels"
    )
    assert wrong("DEPTH_TO_SPACE", (a,), bytes_of("o", 1, 6, 8, 1), options) == (
        "[1, 3, 4, 1] in blocks of 2 x 2 pixels"
    )


def test_padding_of_quantised_blocks_is_their_zero_point() -> None:
    a, o = quantized("a", (1, 1, 1), 0.5, -3), quantized("o", (2, 1, 1), 0.5, -3)
    operands = a, constant("block", [2]), constant("p", [[0, 1]])
    graph = load("SPACE_TO_BATCH_ND", operands, o)
    assert evaluate(graph, {"a": np.array([[[7]]], np.int8)})["o"].tolist() == [[[7]], [[-3]]]


def test_constant_indices_are_checked_and_others_kept_within() -> None:
    a, o = bytes_of("a", 3), bytes_of("o", 2)
    assert wrong("GATHER", (a, constant("i", [0, 3])), o) == (
        "the indices 'i' are not all within 3"
    )
    graph = load("GATHER", (a, Tensor("i", (2,), DType.INT32)), o)
    values, indices = np.array([5, 6, 7], np.int8), np.array([-9, 9], np.int32)
    assert evaluate(graph, {"a": values, "i": indices})["o"].tolist() == [5, 7]


def test_resizing_by_both_rules_at_once_is_refused() -> None:
    operands = bytes_of("a", 1, 2, 2, 1), constant("size", [4, 4])
    options = {"AlignCorners": True, "HalfPixelCenters": True}
    assert refused("RESIZE_NEAREST_NEIGHBOR", operands, bytes_of("o", 1, 4, 4, 1), options) == (
        "RESIZE_NEAREST_NEIGHBOR: align_corners together with half_pixel_centers"
    )
    operands = bytes_of("a", 1, 2, 2, 1), constant("size", [4])
    assert wrong("RESIZE_NEAREST_NEIGHBOR", operands, bytes_of("o", 1, 4, 4, 1)) == (
        "a size of 1 numbers"
    )


def test_axes_are_reversed_once() -> None:
    a, o = bytes_of("a", 2, 3), bytes_of("o", 2, 3)
    assert wrong("REVERSE_V2", (a, constant("axis", [1, -1])), o) == "the axes [1, 1] repeat one"


def test_a_change_of_quantisation_on_the_way_is_refused() -> None:
    a, o = quantized("a", (2, 3), 0.5, 0), quantized("o", (3, 2), 0.25, 0)
    assert refused("TRANSPOSE", (a, constant("order", [1, 0])), o) == (
        "TRANSPOSE: 'o' and 'a' are quantised differently"
    )


def test_indices_into_several_axes() -> None:
    a = bytes_of("a", 3, 4)
    assert wrong("GATHER_ND", (a, constant("i", [[0, 4]])), bytes_of("o", 1)) == (
        "the indices 'i' are not all within (3, 4)"
    )
    assert wrong("GATHER_ND", (a, constant("i", [[0, 0, 0]])), bytes_of("o", 1)) == (
        "[1, 3] indices into [3, 4]"
    )
    graph = load("GATHER_ND", (a, Tensor("i", (1, 2), DType.INT32)), bytes_of("o", 1))
    values, indices = np.arange(12, dtype=np.int8).reshape(3, 4), np.array([[-5, 9]], np.int32)
    assert evaluate(graph, {"a": values, "i": indices})["o"].tolist() == [3]


def test_what_is_scattered_outside_is_lost_and_the_rest_added() -> None:
    indices, updates = Tensor("i", (4, 1), DType.INT32), bytes_of("u", 4)
    graph = load("SCATTER_ND", (indices, updates, constant("s", [3])), bytes_of("o", 3))
    places, added = np.array([[1], [3], [1], [-1]], np.int32), np.array([5, 6, 7, 8], np.int8)
    assert evaluate(graph, {"i": places, "u": added})["o"].tolist() == [0, 12, 0]
    assert wrong("SCATTER_ND", (indices, updates, constant("s", [3, 2])), bytes_of("o", 3, 2)) == (
        "[4] put into [3, 2] by [4, 1] indices"
    )


def test_a_box_is_moved_to_lie_inside() -> None:
    a, box, o = bytes_of("a", 4), bytes_of("b", 2), bytes_of("o", 4)
    graph = load("DYNAMIC_UPDATE_SLICE", (a, box, Tensor("s", (1,), DType.INT32)), o)
    values, update = np.zeros(4, np.int8), np.array([1, 2], np.int8)
    for start, result in ((-7, [1, 2, 0, 0]), (9, [0, 0, 1, 2])):
        place = np.array([start], np.int32)
        assert evaluate(graph, {"a": values, "b": update, "s": place})["o"].tolist() == result
    assert wrong(
        "DYNAMIC_UPDATE_SLICE", (a, bytes_of("b", 5), Tensor("s", (1,), DType.INT32)), o
    ) == ("[5] into [4] at [1] indices")


def test_a_table_of_int8_may_give_floats_if_it_has_no_zero_point() -> None:
    indices, output = Tensor("i", (2,), DType.INT32), Tensor("o", (2, 3), DType.FLOAT32)
    table = quantized("t", (4, 3), 0.5, 1, values=np.ones((4, 3), np.int8))
    assert refused("EMBEDDING_LOOKUP", (indices, table), output) == (
        "EMBEDDING_LOOKUP: 't' has a zero point"
    )
    same = bytes_of("t", 4)
    assert wrong("EMBEDDING_LOOKUP", (indices, same), bytes_of("o", 2)) == (
        "[2] indices into a table [4]"
    )


def test_shapes_that_are_broadcast() -> None:
    first, second = Tensor("a", (1,), DType.INT32), Tensor("b", (3,), DType.INT32)
    graph = load("BROADCAST_ARGS", (first, second), Tensor("o", (3,), DType.INT32))
    one, three = np.array([4], np.int32), np.array([2, 3, 1], np.int32)
    assert evaluate(graph, {"a": one, "b": three})["o"].tolist() == [2, 3, 4]
    ranks = Tensor("a", (1, 1), DType.INT32), second
    assert wrong("BROADCAST_ARGS", ranks, Tensor("o", (3,), DType.INT32)) == (
        "shapes of the ranks 2 and 1"
    )
