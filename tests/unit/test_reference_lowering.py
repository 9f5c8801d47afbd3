"""Calls of the portable kernels: loop nests, tables against clamps, what is left out."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from uhost.codegen.environment import render
from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.ir.tensor import Tensor
from uhost.kernels._kernel import KernelCall, candidates
from uhost.kernels.reference._nest import (
    broadcast_strides,
    headers,
    index_expression,
    loop_nest,
    plus,
    row_major_strides,
)
from uhost.ops._examples import quantized, real
from uhost.ops._op import OPERATORS
from uhost.ops.add import AddAttributes
from uhost.ops.pad import PadAttributes
from uhost.ops.quantize import QuantizeAttributes
from uhost.ops.relu import ReluAttributes
from uhost.ops.relu6 import Relu6Attributes
from uhost.ops.softmax import SoftmaxAttributes


def lower(kind: str, attributes: Any, *tensors: Tensor) -> KernelCall:
    bound = BoundOperator(kind, kind, attributes, tensors[:-1], tensors[-1:])
    kernel = next(k for _, k in candidates(kind, "reference") if not k.supports(bound))
    return kernel.lower(bound)


def test_loops_of_equal_shapes_merge_into_one() -> None:
    strides = row_major_strides((2, 3, 4))
    assert strides == (12, 4, 1)
    (loop,) = loop_nest((2, 3, 4), strides, strides)
    assert (loop.size, loop.strides) == (24, (1, 1))


def test_broadcast_axes_keep_their_loops() -> None:
    shape = (2, 3, 1, 4)
    loops = loop_nest(shape, broadcast_strides((3, 1, 4), shape), row_major_strides(shape))
    assert headers(loops) == (("i", 2), ("j", 12))
    assert index_expression(loops, 0) == "j"
    assert index_expression(loops, 1, 5) == "i * 12 + j + 5"
    assert headers(loops, 5) == (("n", 2), ("i6", 12))


def test_no_loop_is_left_of_a_scalar() -> None:
    assert loop_nest((), (), ()) == ()
    assert index_expression((), 0) == "0"


def test_text_of_offsets() -> None:
    assert [plus(0), plus(5), plus(-5)] == ["", " + 5", " - 5"]


@given(
    st.lists(st.tuples(st.integers(1, 4), st.booleans(), st.booleans()), max_size=5),
)
def test_a_nest_visits_the_elements_of_every_operand(axes: list[tuple[int, bool, bool]]) -> None:
    shape = tuple(size for size, _, _ in axes)
    shapes = [tuple(1 if axis[1 + n] else axis[0] for axis in axes) for n in range(2)]
    strides = [broadcast_strides(s, shape) for s in shapes]
    loops = loop_nest(shape, *strides)
    visited = [
        tuple(
            sum(step * loop.strides[operand] for step, loop in zip(steps, loops, strict=True))
            for operand in range(2)
        )
        for steps in product(*(range(loop.size) for loop in loops))
    ]
    wanted = [
        np.broadcast_to(np.arange(np.prod(s, dtype=int)).reshape(s), shape).reshape(-1).tolist()
        for s in shapes
    ]
    assert visited == list(zip(*wanted, strict=True))


def test_rectifier_is_a_clamp_where_nothing_is_rescaled() -> None:
    tensors = quantized("a", (7,), 0.5, 3), quantized("o", (7,), 0.5, 3)
    call = lower("relu6", Relu6Attributes(), *tensors)
    assert (call.template, call.constants) == ("clamp", ())
    assert (call.values["lowest"], call.values["highest"]) == ("3", "15")
    call = lower("relu", ReluAttributes(), *tensors)
    assert (call.values["lowest"], call.values["highest"]) == ("3", "")
    call = lower("relu", ReluAttributes(), real("a", (7,)), real("o", (7,)))
    assert (call.values["lowest"], call.values["highest"]) == ("0.0f", "")


def test_rectifier_is_a_table_where_it_rescales() -> None:
    call = lower("relu", ReluAttributes(), quantized("a", (7,), 0.5, 3), quantized("o", (7,), 1, 0))
    assert call.template == "lookup"
    assert call.constants[0].values.shape == (256,)
    assert call.constants[0].values[3 + 20] == 10
    assert call.constants[0].values[np.uint8(np.int8(-100))] == 0


def test_a_constant_of_another_type_is_no_clamp() -> None:
    # Every int8 gives 204, which a comparison of int8 values with 204 would not.
    source = quantized("a", (7,), 0.000343923602, 124)
    output = quantized("o", (7,), 0.421595186, 204, DType.UINT8)
    call = lower("quantize", QuantizeAttributes(), source, output)
    assert call.template == "lookup"
    assert (call.constants[0].values == 204).all()


@pytest.mark.parametrize(("scale", "entries"), [(20.0, 1), (0.14, 100), (1e-5, 256)])
def test_softmax_table_holds_what_can_change_a_result(scale: float, entries: int) -> None:
    tensors = quantized("a", (2, 5), scale, 0), quantized("o", (2, 5), 1 / 256, -128)
    call = lower("softmax", SoftmaxAttributes(1.0), *tensors)
    assert call.values["entries"] == call.constants[0].values.size == entries


def test_padding_by_nothing_fills_nothing() -> None:
    tensors = quantized("a", (2, 3), 1, 0), quantized("o", (2, 3), 1, 0)
    call = lower("pad", PadAttributes((0, 0), (0, 0), 0), *tensors)
    assert (call.values["fills"], call.values["parts"]) == (
        0,
        (((), "output", "0", "input", "0", 6),),
    )


def test_text_of_a_broadcast_addition() -> None:
    call = lower("add", AddAttributes(), real("a", (2, 3)), real("b", (3,)), real("o", (2, 3)))
    text = render(
        f"kernels/reference/{call.template}.c.j2",
        {"name": "add", "signature": "void add(…)", "p": dict(call.values)},
    )
    assert text == (
        "void add(…)\n"
        "{\n"
        "    for (int32_t i = 0; i < 2; i++) {\n"
        "        for (int32_t j = 0; j < 3; j++) {\n"
        "            output[i * 3 + j] = first[i * 3 + j] + second[j];\n"
        "        }\n"
        "    }\n"
        "}\n"
    )


def test_calls_of_every_example_are_printable_and_hashable() -> None:
    for kind in OPERATORS.names():
        if OPERATORS[kind].is_view or not candidates(kind, "reference"):
            continue
        for example in OPERATORS[kind].examples():
            for bound in example.graph.bound_operators():
                for _, kernel in candidates(kind, "reference"):
                    if kernel.lower_calling is None and not kernel.supports(bound):
                        hash(kernel.lower(bound).function_key)
