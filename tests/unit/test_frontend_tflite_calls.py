"""IF and WHILE of TensorFlow Lite files: arguments, variables, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from build_tflite import Node, Subgraph, build_file

from uhost.errors import MalformedModelError, UnsupportedOperatorError, VerifyError
from uhost.frontends.tflite import FRONTEND
from uhost.ir.dtype import DType
from uhost.ir.graph import Graph
from uhost.ir.tensor import Array, Tensor
from uhost.ops._op import evaluate

IF = Node("IF", ("c", "x"), ("y",), {"ThenSubgraphIndex": 1, "ElseSubgraphIndex": 2})
WHILE = Node("WHILE", ("x", "n"), ("y", "m"), {"CondSubgraphIndex": 1, "BodySubgraphIndex": 2})
X = np.array([1.0, -2.0, 3.0], np.float32)


def reals(*names: str, size: int = 3) -> tuple[Tensor, ...]:
    return tuple(Tensor(name, (size,), DType.FLOAT32) for name in names)


def constant(name: str, *values: float) -> Tensor:
    return Tensor(name, (len(values),), DType.FLOAT32, None, np.array(values, np.float32))


def branching(*branches: Subgraph) -> list[Subgraph]:
    """A model of one IF: c, x → y."""
    tensors = (Tensor("c", (1,), DType.BOOL), *reals("x", "y"))
    return [Subgraph(tensors, [IF], ("c", "x"), ("y",)), *branches]


def adding(*values: float) -> Subgraph:
    tensors = (*reals("a", "b"), constant("k", *values))
    return Subgraph(tensors, [Node("ADD", ("a", "k"), ("b",))], ("a",), ("b",))


def counting(limit: float) -> list[Subgraph]:
    """A model of one WHILE: x doubles, n grows by one while it is below the limit."""
    ends = (*reals("x", "y"), *reals("n", "m", size=1))
    asks = (*reals("x"), *reals("n", size=1), constant("k", limit), Tensor("b", (1,), DType.BOOL))
    body = (*reals("x", "y"), *reals("n", "m", size=1), constant("k", 1.0))
    return [
        Subgraph(ends, [WHILE], ("x", "n"), ("y", "m")),
        Subgraph(asks, [Node("LESS", ("n", "k"), ("b",))], ("x", "n"), ("b",)),
        Subgraph(
            body,
            [Node("ADD", ("x", "x"), ("y",)), Node("ADD", ("n", "k"), ("m",))],
            ("x", "n"),
            ("y", "m"),
        ),
    ]


def load(subgraphs: Sequence[Subgraph]) -> Graph:
    return FRONTEND.load(build_file(subgraphs), "m")


def run(graph: Graph, inputs: Mapping[str, Array]) -> list[Array]:
    values = evaluate(graph, inputs)
    return [values[name] for name in graph.outputs]


@pytest.mark.parametrize(("condition", "added"), [(True, 1.0), (False, 2.0)])
def test_if_runs_the_branch_of_its_condition(condition: bool, added: float) -> None:
    graph = load(branching(adding(1.0, 1.0, 1.0), adding(2.0, 2.0, 2.0)))
    [found] = run(graph, {"c": np.array([condition]), "x": X})
    assert np.array_equal(found, X + np.float32(added))


@pytest.mark.parametrize(("first", "rounds"), [(0.0, 4), (3.0, 1), (7.0, 0)])
def test_while_runs_as_long_as_its_condition_holds(first: float, rounds: int) -> None:
    n = np.array([first], np.float32)
    [y, m] = run(load(counting(4.0)), {"x": X, "n": n})
    assert np.array_equal(y, X * 2**rounds)
    assert m[0] == first + rounds


def test_a_loop_that_does_not_end_is_an_error_of_the_reference() -> None:
    graph = load(counting(float("inf")))
    with pytest.raises(VerifyError, match="'loop_0' has not ended after 65536 rounds"):
        evaluate(graph, {"x": X * 0, "n": np.zeros(1, np.float32)})


def handles(name: str) -> Node:
    return Node("VAR_HANDLE", (), ("h",), {"SharedName": name, "Container": ""})


def assigning(name: str) -> Subgraph:
    """A branch that puts its argument into a variable, and returns it."""
    tensors = (*reals("a"), Tensor("h", (), DType.INT32))
    nodes = [handles(name), Node("ASSIGN_VARIABLE", ("h", "a"), ())]
    return Subgraph(tensors, nodes, ("a",), ("a",), resources=("h",))


def test_a_variable_assigned_in_a_branch_is_the_state_of_the_model() -> None:
    tensors = (Tensor("c", (1,), DType.BOOL), *reals("x", "y", "old"), Tensor("h", (), DType.INT32))
    nodes = [handles("v"), IF, Node("READ_VARIABLE", ("h",), ("old",))]
    model = Subgraph(tensors, nodes, ("c", "x"), ("old", "y"), resources=("h",))
    graph = load([model, assigning("v"), adding(2.0, 2.0, 2.0)])
    assert list(graph.states) == ["v"]
    assert not run(graph, {"c": np.array([False]), "x": X})[0].any()
    assert np.array_equal(run(graph, {"c": np.array([True]), "x": X})[0], X)


def test_branches_of_other_shapes_contradict_the_model() -> None:
    with pytest.raises(
        MalformedModelError, match=r"'a' of 'm_2' is float32\[2\], but 'x' is float"
    ):
        load(branching(adding(1.0, 1.0, 1.0), _short()))


def _short() -> Subgraph:
    tensors = (*reals("a", "b", size=2), constant("k", 1.0, 2.0))
    return Subgraph(tensors, [Node("ADD", ("a", "k"), ("b",))], ("a",), ("b",))


def test_a_branch_of_more_arguments_contradicts_the_model() -> None:
    more = Subgraph(reals("a", "b", "c"), [Node("ADD", ("a", "b"), ("c",))], ("a", "b"), ("c",))
    with pytest.raises(MalformedModelError, match="'m_2' takes or makes 2 values, not 1"):
        load(branching(adding(1.0, 1.0, 1.0), more))


def test_a_condition_that_is_no_boolean_contradicts_the_model() -> None:
    asks = Subgraph(reals("x", "n"), [], ("x", "n"), ("n",))
    model = Subgraph(reals("x", "y", "n", "m"), [WHILE], ("x", "n"), ("y", "m"))
    body = Subgraph(reals("x", "n"), [], ("x", "n"), ("x", "n"))
    with pytest.raises(MalformedModelError, match="'m_1' makes no single boolean"):
        load([model, asks, body])


def test_an_unsupported_operator_of_a_branch_is_named() -> None:
    branch = Subgraph(reals("a", "b"), [Node("CUSTOM:Odd", ("a",), ("b",))], ("a",), ("b",))
    with pytest.raises(UnsupportedOperatorError, match="CUSTOM:Odd"):
        load(branching(adding(1.0, 1.0, 1.0), branch))


def test_calls_that_double_at_every_level_are_refused() -> None:
    tensors = (Tensor("c", (1,), DType.BOOL), *reals("x", "y"))
    levels = [
        Subgraph(
            tensors,
            [Node("IF", ("c", "c", "x"), ("y",), {"ThenSubgraphIndex": n, "ElseSubgraphIndex": n})],
            ("c", "x"),
            ("y",),
        )
        for n in range(1, 13)
    ]
    last = Subgraph(tensors, [Node("ADD", ("x", "x"), ("y",))], ("c", "x"), ("y",))
    with pytest.raises(UnsupportedOperatorError, match="called in more than 256 places"):
        load([*levels, last])
