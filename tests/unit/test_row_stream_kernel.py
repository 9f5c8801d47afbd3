"""What the function of a chain that runs row by row consists of."""

from __future__ import annotations

import pytest

from uhost import driver
from uhost.config.board import load_board
from uhost.kernels._kernel import KernelCall
from uhost.ops._op import OPERATORS

EXAMPLES = {example.name: example.graph for example in OPERATORS["row_stream"].examples()}


def call(name: str, board: str = "stm32f746") -> KernelCall:
    lowered = driver.lower(EXAMPLES[name], driver.configure(load_board(board)))
    return lowered.selections["row_stream"].call


@pytest.mark.parametrize(
    ("name", "lesser"), [("narrowing", False), ("residual", True), ("float", False)]
)
def test_no_piece_of_c_is_there_that_nothing_calls(name: str, lesser: bool) -> None:
    includes = call(name).includes  # Clang refuses a static function without a use
    assert "rows" in includes
    assert "rows_fill" in includes
    assert ("rows_lesser" in includes) is lesser


def test_weights_that_several_versions_read_are_one_argument() -> None:
    made = call("residual", "rpi_pico")
    assert len(made.routines) == 6  # three of the first layer, for its padding; then one each
    weights = [p.name for p in made.parameters if p.name.startswith("conv_2d_0_weights")]
    assert weights == ["conv_2d_0_weights"]


def test_the_result_and_the_rings_may_run_into_what_was_read() -> None:
    made = call("narrowing")
    assert [(o.input, o.scratch) for o in made.overlaps] == [(0, False), (0, True)]
    assert all(o.least is not None and o.most is None for o in made.overlaps)


def test_the_cost_is_that_of_all_rows() -> None:
    lowered = driver.lower(EXAMPLES["narrowing"], driver.configure(load_board("stm32f746")))
    variant = lowered.selections["row_stream"].variant
    rows = {"conv_2d_0": 5, "depthwise_conv_2d_1": 5, "conv_2d_2": 5}
    least = 0
    for routine in variant.call.routines:
        name = routine.graph.operators[0].name
        if name in rows and routine.calls[0].cost is not None:
            least += rows.pop(name) * routine.calls[0].cost.work.instructions
    assert variant.cost is not None
    assert least < variant.cost.work.instructions < 3 * least
