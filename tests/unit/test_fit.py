"""A model that cannot fit is refused before anything is compiled, with who takes the bytes."""

from __future__ import annotations

import numpy as np
import pytest

from uhost.config.board import load_board
from uhost.config.compilation import Pool
from uhost.errors import OutOfMemoryError
from uhost.ir.dtype import DType
from uhost.ir.graph import Graph, Operator
from uhost.ir.tensor import Tensor
from uhost.ops._op import Activation
from uhost.ops.add import AddAttributes
from uhost.planner import plan_memory, view_operators
from uhost.planner.fit import check_fits


def adds(elements: int, constant_elements: int) -> Graph:
    tensors = {n: Tensor(n, (elements,), DType.FLOAT32) for n in ("x", "mid", "y")}
    values = np.zeros(constant_elements, np.float32)
    tensors["w"] = Tensor("w", (constant_elements,), DType.FLOAT32, values=values)
    attributes = AddAttributes(Activation.NONE)
    operators = (
        Operator("first", "add", ("x", "x"), ("mid",), attributes),
        Operator("second", "add", ("mid", "w"), ("y",), attributes),
    )
    return Graph("big", tensors, operators, ("x",), ("y",))


def check(graph: Graph, constant_bytes: int, board: str) -> None:
    plan = plan_memory(graph, view_operators(graph), {}, Pool("ram"), 8)
    check_fits(graph, plan, constant_bytes, load_board(board))


def test_an_arena_larger_than_ram() -> None:
    board = load_board("netduinoplus2")
    with pytest.raises(OutOfMemoryError) as caught:
        check(adds(20_000, 1), 4, "netduinoplus2")
    arena = 160_000
    missing = arena + board.stack_bytes - board.region(board.ram).size_bytes
    assert missing > 0
    assert caught.value.what == (
        f"the model does not fit: region '{board.ram}' of netduinoplus2 has 131,072 B, "
        f"at least {missing:,} B are missing. The arena takes 160,000 B and the stack "
        f"{board.stack_bytes:,} B. Live at the peak, step 0 (first):\n"
        "      80,000 B  mid  (steps 0 to 1)\n"
        "      80,000 B  x  (steps 0 to 0)"
    )
    assert caught.value.where == "model 'big' on board 'netduinoplus2'"


def test_weights_larger_than_flash() -> None:
    graph = adds(8, 8)
    with pytest.raises(OutOfMemoryError) as caught:
        check(graph, 2 * 2**20, "stm32f746")
    assert "the weights do not fit: region 'flash' of stm32f746 has 1,048,576 B" in str(
        caught.value
    )
    assert "at least 1,048,576 B are missing. The largest weights:\n          32 B  w" in str(
        caught.value
    )


def test_a_host_has_no_limit() -> None:
    check(adds(20_000, 1), 2**30, "host")
