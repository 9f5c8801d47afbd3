"""Gives the inputs of a TensorFlow Lite file a shape: the same file, its open dimensions filled."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

import tflite

from uhost.errors import ConfigError, MalformedModelError
from uhost.frontends._flatbuffer import DAMAGED, Flatbuffer
from uhost.frontends._import import fresh_name, written
from uhost.frontends._tflite_tensors import RANK_LIMIT, TENSOR_LIMIT, integers, text

_SHAPE, _SIGNATURE = 4, 18
"""Where the fields of that name are in the vtable of a tensor."""

Shape = tuple[int, ...]


def input_tensors(content: bytes, place: str) -> dict[str, tuple[Any, Shape]]:
    """Returns the inputs of the model by name: the table, and the shape, -1 where it is open."""
    flatbuffer = Flatbuffer(content)
    model = flatbuffer.root(tflite.Model, place)
    if model.SubgraphsLength() == 0:
        return {}
    subgraph = flatbuffer.checked(model.Subgraphs(0), place)
    count = subgraph.TensorsLength()
    if count > TENSOR_LIMIT:
        raise MalformedModelError("the file is corrupt", where=place, fix=DAMAGED)
    taken: set[str] = set()
    tensors = []
    for index in range(count):
        tensor = flatbuffer.checked(subgraph.Tensors(index), f"{place}, tensor {index}")
        name = fresh_name(text(tensor.Name()), index, taken)
        taken.add(name)
        tensors.append((name, tensor))
    found: dict[str, tuple[Any, Shape]] = {}
    for index in integers(subgraph.InputsAsNumpy()):
        if 0 <= index < count:  # loading complains of others
            name, tensor = tensors[index]
            shape = integers(tensor.ShapeAsNumpy())
            found[name] = tensor, integers(tensor.ShapeSignatureAsNumpy()) or shape
    return found


def fix_shapes(content: bytes, shapes: Mapping[str, Shape], place: str) -> bytes:
    """Returns the file with the inputs named by `shapes` of those shapes.

    The vectors are put behind the file, as another tensor may have the same. Raises
    `ConfigError` where a shape does not fill the dimensions that the file leaves open.
    """
    tensors = input_tensors(content, place)
    fixed = bytearray(content)
    for name, shape in shapes.items():
        tensor, signature = tensors[name]
        _check(name, shape, signature, place)
        if -1 not in signature:
            continue
        fixed += bytes(-len(fixed) % 4)
        for slot in (_SHAPE, _SIGNATURE):
            if tensor._tab.Offset(slot) == 0:
                continue  # the shape itself is written with -1
            field = tensor._tab.Pos + tensor._tab.Offset(slot)
            struct.pack_into("<I", fixed, field, len(fixed) - field)
        fixed += struct.pack(f"<I{len(shape)}i", len(shape), *shape)
    return bytes(fixed)


def _check(name: str, shape: Shape, signature: Shape, place: str) -> None:
    if len(shape) != len(signature) or len(shape) > RANK_LIMIT:
        raise ConfigError(
            f"the input '{name}' has {len(signature)} dimensions, [{written(signature)}]; "
            f"{len(shape)} are given",
            where=place,
            fix=f"give as many as it has: {name}={written(signature, 'N', ',')}",
        )
    for axis, (given, declared) in enumerate(zip(shape, signature, strict=True)):
        if declared not in (-1, given):
            raise ConfigError(
                f"dimension {axis} of the input '{name}' is {declared} in the model, not {given}",
                where=place,
                fix=f"only open dimensions can be given, of [{written(signature)}] those written ?",
            )
