"""Random operators that move elements, as files: every option, drawn from a seed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from build_movement import ints, pairs
from build_tflite import Node, build

from uhost.ir.dtype import DType
from uhost.ir.tensor import Array, Tensor

FEW = (DType.FLOAT32, DType.INT8)
SOME = (*FEW, DType.INT16)
MORE = (*SOME, DType.INT32)


class Draw:
    """What a case is drawn from, and what it consists of."""

    def __init__(self, rng: np.random.Generator, types: Sequence[DType]) -> None:
        self.rng = rng
        self.dtype = types[int(rng.integers(len(types)))]
        self.tensors: list[Tensor] = []
        self.feeds: list[str] = []
        self.outputs: list[str] = []

    def number(self, low: int, high: int) -> int:
        return int(self.rng.integers(low, high + 1))

    def shape(self, low: int, high: int, most: int = 6) -> tuple[int, ...]:
        return tuple(self.number(1, most) for _ in range(self.number(low, high)))

    def source(self, shape: tuple[int, ...]) -> str:
        name = f"x{len(self.tensors)}"
        self.tensors.append(Tensor(name, shape, self.dtype))
        self.feeds.append(name)
        return name

    def constant(self, values: Array) -> str:
        name = f"c{len(self.tensors)}"
        dtype = DType(str(values.dtype))
        self.tensors.append(Tensor(name, values.shape, dtype, None, values))
        return name

    def result(self, shape: Sequence[int]) -> str:
        name = f"y{len(self.tensors)}"
        self.tensors.append(Tensor(name, tuple(shape), self.dtype))
        self.outputs.append(name)
        return name


def _transpose(draw: Draw) -> Node:
    shape = draw.shape(1, 5)
    order = draw.rng.permutation(len(shape))
    inputs = draw.source(shape), draw.constant(order.astype(np.int32))
    return Node("TRANSPOSE", inputs, (draw.result([shape[a] for a in order]),))


def _slice(draw: Draw) -> Node:
    shape = draw.shape(1, 5)
    begin = [draw.number(0, size - 1) for size in shape]
    size = [draw.number(1, whole - first) for whole, first in zip(shape, begin, strict=True)]
    result = list(size)
    for axis in range(len(shape)):
        if draw.rng.random() < 0.2:
            size[axis], result[axis] = -1, shape[axis] - begin[axis]
    inputs = draw.source(shape), draw.constant(ints(begin)), draw.constant(ints(size))
    return Node("SLICE", inputs, (draw.result(result),))


def _unpack(draw: Draw) -> Node:
    shape = draw.shape(1, 4)
    axis = draw.number(-len(shape), len(shape) - 1)
    rest = [size for a, size in enumerate(shape) if a != axis % len(shape)]
    number = shape[axis]
    source = draw.source(shape)
    outputs = tuple(draw.result(rest) for _ in range(number))
    return Node("UNPACK", (source,), outputs, {"Axis": axis, "Num": number})


def _mirror_pad(draw: Draw) -> Node:
    mode, shape = draw.number(0, 1), draw.shape(1, 4)
    before, after = ([draw.number(0, n - 1 + mode) for n in shape] for _ in range(2))
    inputs = draw.source(shape), draw.constant(pairs(before, after))
    padded = [sum(three) for three in zip(before, shape, after, strict=True)]
    return Node("MIRROR_PAD", inputs, (draw.result(padded),), {"Mode": mode})


def _gather(draw: Draw) -> Node:
    shape = draw.shape(1, 4)
    axis = draw.number(0, len(shape) - 1)
    batch = draw.number(0, axis)
    places = (*shape[:batch], *draw.shape(0, 2))
    indices = draw.rng.integers(0, shape[axis], places).astype(np.int32)
    inputs = draw.source(shape), draw.constant(indices)
    result = (*shape[:axis], *places[batch:], *shape[axis + 1 :])
    return Node("GATHER", inputs, (draw.result(result),), {"Axis": axis, "BatchDims": batch})


def _gather_nd(draw: Draw) -> Node:
    shape = draw.shape(1, 4)
    depth = draw.number(1, len(shape))
    places = draw.shape(0, 2)
    indices = draw.rng.integers(0, shape[:depth], (*places, depth)).astype(np.int32)
    inputs = draw.source(shape), draw.constant(indices)
    return Node("GATHER_ND", inputs, (draw.result((*places, *shape[depth:])),))


def _blocks(draw: Draw) -> tuple[list[int], list[int], list[int], list[int]]:
    axes = draw.number(1, 2)
    block = [draw.number(1, 3) for _ in range(axes)]
    counts = [draw.number(1, 4) for _ in range(axes)]
    whole = [b * n for b, n in zip(block, counts, strict=True)]
    before = [draw.number(0, size - 1) for size in whole]
    after = [draw.number(0, size - 1 - b) for size, b in zip(whole, before, strict=True)]
    return block, counts, before, after


def _space_to_batch(draw: Draw) -> Node:
    block, counts, _, _ = _blocks(draw)
    # TFLite Micro pads with a number that is never set.
    before = after = [0] * len(block)
    batch, channels = draw.number(1, 2), draw.number(1, 5)
    sizes = zip(block, counts, before, after, strict=True)
    shape = (batch, *(b * n - x - y for b, n, x, y in sizes), channels)
    pads = pairs(before, after)
    inputs = draw.source(shape), draw.constant(ints(block)), draw.constant(pads)
    result = (batch * int(np.prod(block)), *counts, channels)
    return Node("SPACE_TO_BATCH_ND", inputs, (draw.result(result),))


def _batch_to_space(draw: Draw) -> Node:
    block, counts, before, after = _blocks(draw)
    batch, channels = draw.number(1, 2), draw.number(1, 5)
    shape = (batch * int(np.prod(block)), *counts, channels)
    crops = pairs(before, after)
    inputs = draw.source(shape), draw.constant(ints(block)), draw.constant(crops)
    sizes = zip(block, counts, before, after, strict=True)
    result = (batch, *(b * n - x - y for b, n, x, y in sizes), channels)
    return Node("BATCH_TO_SPACE_ND", inputs, (draw.result(result),))


def _depth(code: str) -> Callable[[Draw], Node]:
    def node(draw: Draw) -> Node:
        block = draw.number(1, 3)
        batch, rows, columns, channels = (draw.number(1, 4) for _ in range(4))
        image = (batch, rows * block, columns * block, channels)
        deep = (batch, rows, columns, channels * block * block)
        ends = (image, deep) if code == "SPACE_TO_DEPTH" else (deep, image)
        source = draw.source(ends[0])
        return Node(code, (source,), (draw.result(ends[1]),), {"BlockSize": block})

    return node


def _broadcast_to(draw: Draw) -> Node:
    result = draw.shape(1, 5)
    shape = tuple(1 if draw.rng.random() < 0.5 else size for size in result)
    shape = shape[draw.number(0, len(shape)) :]
    inputs = draw.source(shape), draw.constant(ints(result))
    return Node("BROADCAST_TO", inputs, (draw.result(result),))


def _resize(code: str) -> Callable[[Draw], Node]:
    def node(draw: Draw) -> Node:
        shape = (draw.number(1, 2), draw.number(1, 9), draw.number(1, 9), draw.number(1, 5))
        size = draw.number(1, 14), draw.number(1, 14)
        rule = draw.number(0, 2)
        options = {"AlignCorners": rule == 1, "HalfPixelCenters": rule == 2}
        inputs = draw.source(shape), draw.constant(ints(size))
        return Node(code, inputs, (draw.result((shape[0], *size, shape[3])),), options)

    return node


def _expand_dims(draw: Draw) -> Node:
    shape = draw.shape(1, 4)
    axis = draw.number(-len(shape) - 1, len(shape))
    at = axis % (len(shape) + 1)
    inputs = draw.source(shape), draw.constant(ints([axis]))
    return Node("EXPAND_DIMS", inputs, (draw.result((*shape[:at], 1, *shape[at:])),))


def _squeeze(draw: Draw) -> Node:
    shape = tuple(1 if draw.rng.random() < 0.5 else draw.number(2, 5) for _ in range(4))
    ones = [axis for axis, size in enumerate(shape) if size == 1]
    named = [axis for axis in ones if draw.rng.random() < 0.6]
    gone = named or ones
    options = {"SqueezeDims": tuple(named)} if named else {}
    source = draw.source(shape)
    result = [size for axis, size in enumerate(shape) if axis not in gone]
    return Node("SQUEEZE", (source,), (draw.result(result),), options)


def _reverse(draw: Draw) -> Node:
    shape = draw.shape(1, 4)
    first = draw.number(0, len(shape) - 1)
    axes = range(first, draw.number(first + 1, len(shape)))
    inputs = draw.source(shape), draw.constant(ints(list(axes)))
    return Node("REVERSE_V2", inputs, (draw.result(shape),))


def _update_slice(draw: Draw) -> Node:
    shape = draw.shape(1, 4)
    box = tuple(draw.number(1, size) for size in shape)
    start = ints([draw.number(-2, 7) for _ in shape])
    inputs = draw.source(shape), draw.source(box), draw.constant(start)
    return Node("DYNAMIC_UPDATE_SLICE", inputs, (draw.result(shape),))


CASES: Mapping[str, tuple[Callable[[Draw], Node], Sequence[DType]]] = {
    "TRANSPOSE": (_transpose, SOME),
    "SLICE": (_slice, (*MORE, DType.BOOL)),
    "UNPACK": (_unpack, MORE),
    "MIRROR_PAD": (_mirror_pad, FEW),
    "GATHER": (_gather, FEW),
    "GATHER_ND": (_gather_nd, FEW),
    "SPACE_TO_BATCH_ND": (_space_to_batch, FEW),
    "BATCH_TO_SPACE_ND": (_batch_to_space, FEW),
    "SPACE_TO_DEPTH": (_depth("SPACE_TO_DEPTH"), FEW),
    "DEPTH_TO_SPACE": (_depth("DEPTH_TO_SPACE"), FEW),
    "BROADCAST_TO": (_broadcast_to, MORE),
    "RESIZE_NEAREST_NEIGHBOR": (_resize("RESIZE_NEAREST_NEIGHBOR"), SOME),
    "RESIZE_BILINEAR": (_resize("RESIZE_BILINEAR"), FEW),
    "EXPAND_DIMS": (_expand_dims, SOME),
    "SQUEEZE": (_squeeze, MORE),
    "REVERSE_V2": (_reverse, (*MORE, DType.INT64, DType.UINT8, DType.BOOL)),
    "DYNAMIC_UPDATE_SLICE": (_update_slice, MORE),
}


def random_file(code: str, rng: np.random.Generator) -> bytes:
    """Returns a file of one operator of a type that both interpreters have."""
    make, types = CASES[code]
    draw = Draw(rng, types)
    node = make(draw)
    return build(draw.tensors, [node], draw.feeds, draw.outputs)
