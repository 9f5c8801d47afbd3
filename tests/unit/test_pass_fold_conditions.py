"""IF on a known condition becomes its branch, exactly."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from uhost.config.board import load_board
from uhost.config.compilation import CompilationConfig
from uhost.config.pass_context import PassContext
from uhost.config.resolve import preset
from uhost.ir.graph import CallingAttributes, Graph, Operator
from uhost.ir.module import IRModule
from uhost.ir.tensor import Quantization
from uhost.ops._inputs import random_inputs
from uhost.ops._op import OPERATORS, Example, evaluate
from uhost.passes._instruments import CheckPasses
from uhost.passes._pipeline import optimize


def config() -> CompilationConfig:
    return preset(load_board("host"))


def known(example: Example, condition: bool) -> Graph:
    """The example with a constant for its condition."""
    graph = example.graph
    constant = replace(graph.tensors["condition"], values=np.array(condition))
    inputs = tuple(name for name in graph.inputs if name != "condition")
    return replace(graph, tensors={**graph.tensors, "condition": constant}, inputs=inputs)


def optimized(graph: Graph) -> Graph:
    context = PassContext(instruments=(CheckPasses(),))
    return optimize(IRModule({"m": graph}, config()), context).graphs["m"]


CASES = [(e, c) for e in OPERATORS["conditional"].examples() for c in (True, False)]


@pytest.mark.parametrize(
    ("example", "condition"), [pytest.param(e, c, id=f"{e.name}-{c}") for e, c in CASES]
)
def test_a_known_branch_takes_the_place_of_the_operator(example: Example, condition: bool) -> None:
    graph = known(example, condition)
    made = optimized(graph)
    assert all(operator.kind != "conditional" for operator in made.operators)
    states, own = graph.states, made.states
    for seed in range(3):
        inputs = dict(zip(graph.inputs, random_inputs(graph, seed), strict=True))
        before, after = evaluate(graph, inputs, states), evaluate(made, inputs, own)
        for name in graph.outputs:
            np.testing.assert_array_equal(before[name], after[name])
        states = {name: before[name] for name in states}
        own = {name: after[name] for name in own}
        assert all(np.array_equal(own[name], states[name]) for name in own)


def test_branches_within_branches_are_folded() -> None:
    graph = known(next(iter(OPERATORS["conditional"].examples())), True)
    [operator] = graph.operators
    at = operator.attributes
    assert isinstance(at, CallingAttributes)
    then, otherwise = at.called
    nested = replace(
        then,
        tensors={**then.tensors, "yes": replace(graph.tensors["condition"], name="yes")},
        operators=(Operator("inner", "conditional", ("yes", "a", "b"), ("c", "d"), at),),
        outputs=("c", "d"),
    )
    tensors = {**nested.tensors, "d": replace(then.tensors["c"], name="d")}
    nested = replace(nested, tensors=tensors)
    outer = replace(operator, attributes=replace(at, called=(nested, otherwise)))
    made = optimized(replace(graph, operators=(outer,)))
    assert [one.kind for one in made.operators] == ["add", "reshape"]


def test_a_branch_that_reads_its_bytes_otherwise_stays() -> None:
    graph = known(next(iter(OPERATORS["conditional"].examples())), True)
    other = replace(graph.tensors["argument_0"], quantization=Quantization((0.5,), (1,)))
    graph = replace(graph, tensors={**graph.tensors, "argument_0": other})
    assert [one.kind for one in optimized(graph).operators] == ["conditional"]


def test_an_unknown_condition_stays() -> None:
    graph = next(iter(OPERATORS["conditional"].examples())).graph
    assert [one.kind for one in optimized(graph).operators] == ["conditional"]
