"""TFLM_DECODE: constants are unpacked when a file is read; what cannot be is told."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from build_tflite import Node, build

from uhost.errors import MalformedModelError, UnsupportedOperatorError
from uhost.frontends.tflite import FRONTEND
from uhost.ir.dtype import DType
from uhost.ir.graph import Graph
from uhost.ir.tensor import Array, Tensor
from uhost.ops.tflm_decode import header_of, packed_bits

TABLE = np.array([3, -5, 7, 11], np.int8)


def load(packed: Array, header: Array, output: Tensor | None = None) -> Graph:
    """Returns the graph of an addition of what is unpacked to an input."""
    tensors = [
        Tensor("p", packed.shape, DType.UINT8, None, packed),
        Tensor("h", header.shape, DType.UINT8, None, header),
        output or Tensor("w", (4,), DType.INT32),
        Tensor("x", (4,), DType.INT32),
        Tensor("y", (4,), DType.INT32),
    ]
    nodes = [Node("CUSTOM:TFLM_DECODE", ("p", "h"), ("w",), {}), Node("ADD", ("x", "w"), ("y",))]
    return FRONTEND.load(build(tensors, nodes, ["x"], ["y"]), "m")


def table(values: list[int]) -> Any:
    return np.array(values, np.int32)


def test_what_is_unpacked_is_a_constant() -> None:
    graph = load(packed_bits([2, 0, 1, 3], 2), header_of(0, table([3, -5, 7, 11]), 2, 4))
    assert [operator.kind for operator in graph.operators] == ["add"]
    assert graph.tensors["w"].constant().tolist() == [7, 3, -5, 11]


def test_pruned_elements_are_zero() -> None:
    graph = load(packed_bits([0, 1, 0, 1], 1), header_of(2, table([9, -9])))
    assert graph.tensors["w"].constant().tolist() == [0, 9, 0, -9]


def what(error: type[Exception], *arguments: Any) -> str:
    with pytest.raises(error) as caught:
        load(*arguments)
    assert isinstance(caught.value, MalformedModelError | UnsupportedOperatorError)
    return caught.value.what


def test_what_cannot_be_unpacked() -> None:
    packed = packed_bits([2, 0, 1, 3], 2)
    header = header_of(0, table([3, -5, 7]), 2, 4)
    assert what(MalformedModelError, packed, header).startswith("'w' cannot be unpacked: ")
    header = header_of(0, table([3, -5, 7, 11]), 0, 4)
    assert what(MalformedModelError, packed, header) == (
        "'w' cannot be unpacked: indices of no bits"
    )
    header = header_of(0, table([3, -5, 7, 11]), 7, 4)
    assert what(MalformedModelError, packed[:1], header) == (
        "'w' cannot be unpacked: the packed elements end early"
    )
    old = header_of(0, table([3, -5, 7, 11]), 2, 4)
    old[1] = 2
    assert what(MalformedModelError, packed, old) == "'h' is no header of version 1"
    assert "the scheme 9" in what(UnsupportedOperatorError, packed, header_of(9, TABLE))
    assert "'w' is int32" in what(UnsupportedOperatorError, packed, header_of(1, TABLE, 1))
