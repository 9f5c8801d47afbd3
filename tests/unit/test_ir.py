"""Graphs: what verifies, what does not, how they print, and what the passes do to them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from uhost.config.compilation import CompilationConfig
from uhost.config.pass_context import PassContext
from uhost.config.target import Target
from uhost.errors import ConfigError, VerifyError
from uhost.ir.dtype import DType
from uhost.ir.graph import Graph, Operator
from uhost.ir.module import IRModule
from uhost.ir.tensor import Quantization, Tensor
from uhost.ops._op import evaluate
from uhost.ops.dequantize import DequantizeAttributes
from uhost.ops.relu import ReluAttributes
from uhost.passes._pipeline import optimize, pipeline

CONFIG = CompilationConfig(host=Target("host"), targets=(Target("host"),))


def floats(name: str, values: list[float] | None = None) -> Tensor:
    array = None if values is None else np.array(values, np.float32)
    return Tensor(name, (2,), DType.FLOAT32, values=array)


def relu(name: str, source: str, result: str) -> Operator:
    return Operator(name, "relu", (source,), (result,), ReluAttributes())


def chain() -> Graph:
    tensors = {n: floats(n) for n in ("x", "y", "z")}
    return Graph("g", tensors, (relu("a", "x", "y"), relu("b", "y", "z")), ("x",), ("z",))


def test_a_sound_graph_verifies_and_prints() -> None:
    graph = chain()
    graph.verify()
    assert str(graph) == (
        "graph g {\n"
        "  input  %x: float32[2]\n"
        "  %y: float32[2] = relu(%x) [unsigned=False]\n"
        "  %z: float32[2] = relu(%y) [unsigned=False]\n"
        "  output %z\n"
        "}\n"
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"operators": (relu("b", "y", "z"), relu("a", "x", "y"))},
            "operator 'b' reads 'y' before",
        ),
        ({"operators": (relu("a", "x", "y"), relu("a", "y", "z"))}, "two operators of one name"),
        ({"operators": (relu("a", "q", "y"),)}, "operator 'a' reads unknown tensor 'q'"),
        ({"operators": (relu("a", "x", "q"),)}, "operator 'a' writes unknown tensor 'q'"),
        ({"operators": (relu("a", "x", "y"), relu("b", "x", "y"))}, "tensor 'y' is written twice"),
        ({"operators": (relu("a", "x", "y"),)}, "nothing writes graph output 'z'"),
        ({"inputs": ("w",)}, "graph input 'w' is not a tensor"),
        ({"inputs": ("c",)}, "graph input 'c' is a constant"),
    ],
)
def test_an_unsound_graph_does_not(change: dict[str, object], message: str) -> None:
    graph = chain()
    graph = replace(graph, tensors={**graph.tensors, "c": floats("c", [1, 2])})
    with pytest.raises(VerifyError, match=message):
        replace(graph, **change).verify()  # type: ignore[arg-type]


def test_a_constant_of_another_shape_is_refused() -> None:
    with pytest.raises(VerifyError, match=r"constant 'c' is float32\[3\], declared float32\[2\]"):
        Tensor("c", (2,), DType.FLOAT32, values=np.zeros(3, np.float32))


def test_constants_are_read_only() -> None:
    with pytest.raises(ValueError, match="read-only"):
        floats("c", [1, 2]).constant()[0] = 5


def test_a_tensor_without_one_scale_has_no_scale() -> None:
    with pytest.raises(VerifyError, match="tensor 'x' is not quantised"):
        _ = floats("x").scale
    several = Tensor("w", (2,), DType.INT8, Quantization((0.5, 0.25), (0, 0), 0))
    with pytest.raises(VerifyError, match="expected one scale, found 2"):
        _ = several.scale


def test_constants_are_folded_and_dead_operators_removed() -> None:
    codes = np.array([1, 3], np.int8)
    tensors = {
        "c": Tensor("c", (2,), DType.INT8, Quantization((0.5,), (1,)), codes),
        "k": floats("k"),
        "r": floats("r"),
        "x": floats("x"),
        "y": floats("y"),
        "dead": floats("dead"),
    }
    operators = (
        Operator("d", "dequantize", ("c",), ("k",), DequantizeAttributes()),
        relu("r", "k", "r"),
        relu("y", "x", "y"),
        relu("unread", "x", "dead"),
    )
    graph = Graph("g", tensors, operators, ("x",), ("y", "r"))
    module = optimize(IRModule({"g": graph}, CONFIG), PassContext())
    folded = module.graphs["g"]
    # 'r' is an output of the graph and stays; what feeds it became a constant. It comes last,
    # so that it does not live beside 'x'.
    assert [o.name for o in folded.operators] == ["y", "r"]
    assert folded.tensors["k"].constant().tolist() == [0.0, 1.0]
    assert "dead" not in folded.tensors
    feed = {"x": np.array([-1, 2], np.float32)}
    before, after = evaluate(graph, feed), evaluate(folded, feed)
    assert all(np.array_equal(before[name], after[name]) for name in ("y", "r"))


def test_a_disabled_pass_does_not_run() -> None:
    graph = replace(chain(), outputs=("y",))
    module = IRModule({"g": graph}, CONFIG)
    kept = optimize(module, PassContext(disabled_passes=("remove_dead_operators",)))
    assert len(kept.graphs["g"].operators) == 2
    assert len(optimize(module, PassContext(opt_level=0)).graphs["g"].operators) == 2
    required = PassContext(opt_level=0, required_passes=("remove_dead_operators",))
    assert len(optimize(module, required).graphs["g"].operators) == 1


def test_passes_run_in_order_and_are_watched() -> None:
    seen: list[str] = []

    class Watch:
        def begin(self, module: object) -> None:
            seen.append("begin")

        def before_pass(self, name: str, module: object) -> None:
            seen.append(f"before {name}")

        def after_pass(self, name: str, module: object) -> None:
            seen.append(f"after {name}")

    optimize(IRModule({"g": chain()}, CONFIG), PassContext(instruments=(Watch(),)))
    pairs = [f"{when} {name}" for name in pipeline() for when in ("before", "after")]
    assert seen == ["begin", *pairs]
    assert pipeline().index("fold_constants") < pipeline().index("remove_dead_operators")


def test_unknown_passes_and_options_are_refused() -> None:
    module = IRModule({"g": chain()}, CONFIG)
    with pytest.raises(ConfigError, match="there is no pass 'fold_constant'"):
        optimize(module, PassContext(disabled_passes=("fold_constant",)))
    with pytest.raises(ConfigError, match="pass 'fold_constants' has no option 'depth'"):
        optimize(module, PassContext(options={"fold_constants": {"depth": 3}}))


def test_a_graph_is_bound_with_absent_inputs() -> None:
    graph = replace(chain(), operators=(replace(relu("a", "x", "y"), inputs=("x", "")),))
    bound = graph.bind(graph.operators[0])
    assert bound.optional_input(1) is None
    assert bound.optional_input(7) is None
    with pytest.raises(VerifyError, match=r"operator 'a' \(relu\) lacks input 1"):
        bound.input(1)
