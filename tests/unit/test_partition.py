"""Partitioning: which target, library and kernel an operator gets, by order and by choice.

The second target, `npu`, and its kernel library come from an outside package that lies in
`tests/outside_npu`, installed by putting that folder on the path.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from uhost import driver
from uhost.codegen import environment
from uhost.config.board import load_board
from uhost.config.compilation import CompilationConfig, KernelChoice
from uhost.config.pass_context import PassContext
from uhost.config.target import Target
from uhost.errors import ConfigError, TemplateError, UnsupportedOperatorError
from uhost.ir.dtype import DType
from uhost.ir.graph import Graph, Operator
from uhost.ir.tensor import Quantization, Tensor
from uhost.kernels._kernel import Routine, candidates, library, library_names, template_folders
from uhost.kernels._partition import (
    PassedOver,
    Selection,
    asked,
    forced_kernels,
    offers,
    print_order,
)
from uhost.ops._examples import quantized
from uhost.ops._inputs import random_inputs
from uhost.ops._op import Activation, Padding2D, evaluate
from uhost.ops.add import AddAttributes
from uhost.ops.conv_2d import Conv2DAttributes
from uhost.ops.relu import ReluAttributes
from uhost.ops.reshape import ReshapeAttributes
from uhost.runtime.compiled import Source
from uhost.runtime.device import device
from uhost.targets._target import TARGETS

HERE = Path(__file__).resolve().parent.parent
HOST = Target("host", "", ("fpu", "fpu_double"), ("reference",))
M7 = Target("cortex_m", "cortex-m7", ("dsp",), ("dsp", "reference"))
NPU = Target("npu", "npu1", ("npu",), ("npu",))
NO_VIEWS: frozenset[str] = frozenset()


@pytest.fixture
def npu(monkeypatch: pytest.MonkeyPatch) -> Iterator[Target]:
    """The target of the outside package, installed for one test."""
    monkeypatch.syspath_prepend(str(HERE / "outside_npu"))
    _forget_packages()
    yield TARGETS["npu"].target("npu1", "none")
    for name in [name for name in sys.modules if name.startswith("acme_npu")]:
        del sys.modules[name]
    _forget_packages()


def _forget_packages() -> None:
    """What is installed is read once per process."""
    library.cache_clear()
    environment._environment.cache_clear()
    vars(TARGETS).pop("_outside", None)


def net(name: str = "net") -> Graph:
    """Returns x → conv 1x1 → conv 3x3 with padding → + → relu → reshape."""
    generator = np.random.default_rng(5)
    tensors = [quantized("x", (1, 6, 6, 4), 0.05, 3)]
    tensors += [quantized(n, (1, 6, 6, 4), s, z) for n, s, z in (("a", 0.04, -7), ("b", 0.06, 9))]
    tensors += [quantized(n, (1, 6, 6, 4), 0.07, -20) for n in ("sum", "positive")]
    tensors.append(quantized("flat", (1, 144), 0.07, -20))
    for one, size in (("wa", 1), ("wb", 3)):
        values = generator.integers(-127, 128, (4, size, size, 4)).astype(np.int8)
        scales = tuple(float(np.float32(s)) for s in (0.01, 0.02, 0.015, 0.005))
        quantization = Quantization(scales, (0,) * 4, 0)
        tensors.append(Tensor(one, values.shape, DType.INT8, quantization, values))
    attributes = Conv2DAttributes((1, 1), (1, 1), Padding2D(), Activation.NONE)
    padded = replace(attributes, padding=Padding2D(1, 1, 1, 1))
    operators = (
        Operator("conv_a", "conv_2d", ("x", "wa", ""), ("a",), attributes),
        Operator("conv_b", "conv_2d", ("a", "wb", ""), ("b",), padded),
        Operator("add", "add", ("a", "b"), ("sum",), AddAttributes()),
        Operator("relu", "relu", ("sum",), ("positive",), ReluAttributes()),
        Operator("reshape", "reshape", ("positive",), ("flat",), ReshapeAttributes()),
    )
    graph = Graph(name, {t.name: t for t in tensors}, operators, ("x",), ("flat",))
    graph.verify()
    return graph


def no_routine(graph: Graph, role: str, keep_inputs: bool) -> Routine:
    raise AssertionError(f"nothing runs '{graph.name}' as its {role}")


def select(
    graph: Graph, targets: Sequence[Target], views: frozenset[str], forced: Mapping[str, str]
) -> dict[str, Selection]:
    """The fastest variant of every operator."""
    chosen = {}
    for name, offer in offers(graph, targets, views, forced, no_routine).items():
        cycles = [one.cycles or 0 for one in offer.variants]
        chosen[name] = offer.select(cycles.index(min(cycles)), {})
    return chosen


def places(selections: dict[str, Selection]) -> dict[str, str]:
    return {n: f"{s.target} {s.library}/{s.name}" for n, s in selections.items()}


# ---- One target -----------------------------------------------------------------------------


PASSED_OVER_FOR_CONV_B = [
    "cortex_m dsp/conv_2d_pointwise_pipelined: not 1x1 with stride 1",
    "cortex_m dsp/conv_2d_winograd_pipelined: 4 input channels, not a multiple of 4 from 16 to 80",
]


def test_the_fastest_kernel_that_takes_an_operator_gets_it() -> None:
    selections = select(net(), (M7,), frozenset({"reshape"}), {})
    assert places(selections) == {
        "conv_a": "cortex_m dsp/conv_2d_pointwise",
        "conv_b": "cortex_m dsp/conv_2d_gathered_framed",
        "add": "cortex_m dsp/add",
        "relu": "cortex_m reference/relu",
    }
    assert [str(one) for one in selections["conv_b"].passed_over] == PASSED_OVER_FOR_CONV_B
    assert selections["relu"].passed_over == (
        PassedOver("cortex_m", "dsp", "", "no kernel for this operator"),
    )
    assert str(selections["relu"].passed_over[0]) == "cortex_m dsp: no kernel for this operator"


def test_a_kernel_whose_features_the_target_lacks_is_passed_over() -> None:
    selections = select(net(), (replace(M7, features=()),), NO_VIEWS, {})
    assert places(selections)["conv_a"] == "cortex_m reference/conv_2d_blocked"
    assert [str(one) for one in selections["conv_a"].passed_over] == [
        f"cortex_m dsp/{name}: the target lacks dsp" for name, _ in candidates("conv_2d", "dsp")
    ]


def lacking(kind: str) -> str:
    names = [name for name, _ in candidates(kind, "dsp")]
    return "; ".join(f"cortex_m dsp/{name}: the target lacks dsp" for name in names)


def test_all_operators_that_nobody_takes_are_named_with_the_reasons() -> None:
    with pytest.raises(UnsupportedOperatorError) as caught:
        select(net(), (replace(M7, libraries=("dsp",), features=()),), frozenset({"reshape"}), {})
    assert caught.value.what == (
        "no kernel of cortex_m (dsp) takes 4 operator(s):\n"
        f"  conv_a (conv_2d): {lacking('conv_2d')}\n"
        f"  conv_b (conv_2d): {lacking('conv_2d')}\n"
        f"  add (add): {lacking('add')}\n"
        "  relu (relu): cortex_m dsp: no kernel for this operator"
    )
    assert caught.value.where == "model 'net'"


# ---- Several targets ------------------------------------------------------------------------


def test_the_cpu_is_asked_last() -> None:
    other = replace(NPU, kind="other")
    assert asked((M7,)) == (M7,)
    assert asked((M7, NPU, other)) == (NPU, other, M7)
    assert print_order((M7, NPU)) == "npu (npu), cortex_m (dsp, reference)"


def test_the_outside_target_and_its_library_are_found(npu: Target) -> None:
    assert npu == NPU
    assert "npu" in TARGETS
    assert "npu" in library_names()
    assert [name for name, _ in candidates("conv_2d", "npu")] == ["conv_2d"]
    assert candidates("softmax", "npu") == []
    assert template_folders() == {"npu": (HERE / "outside_npu" / "acme_npu" / "templates",)}


def test_operators_go_to_the_accelerator_where_it_takes_them(npu: Target) -> None:
    selections = select(net(), (M7, npu), frozenset({"reshape"}), {})
    assert places(selections) == {
        "conv_a": "npu npu/conv_2d",
        "conv_b": "cortex_m dsp/conv_2d_gathered_framed",
        "add": "npu npu/add",
        "relu": "cortex_m reference/relu",
    }
    assert selections["conv_a"].passed_over == ()
    assert [str(one) for one in selections["conv_b"].passed_over] == [
        "npu npu/conv_2d: padding",
        *PASSED_OVER_FOR_CONV_B,
    ]
    assert [str(one) for one in selections["relu"].passed_over] == [
        "npu npu: no kernel for this operator",
        "cortex_m dsp: no kernel for this operator",
    ]


@pytest.mark.needs("host_cc")
def test_a_partitioned_model_is_generated_built_and_exact(npu: Target) -> None:
    board = load_board("host")
    config = replace(driver.configure(board), targets=(board.target, npu))
    graph = net()
    context = PassContext(disabled_passes=("merge_activations",))  # four operators, two targets
    compiled = driver.compile_models(
        (Source(graph, "net", b""),), board, config=config, context=context
    )
    [model] = compiled.models
    assert places(dict(model.lowered.selections)) == {
        "conv_a": "npu npu/conv_2d",
        "conv_b": "host reference/conv_2d_blocked",
        "add": "npu npu/add",
        "relu": "host reference/relu",
    }
    text = compiled.artifact.files["model.c"].decode()
    assert text.count("static inline int8_t npu_store(") == 1
    with driver.as_module(compiled)["net"](device("host")) as executor:
        for seed in range(3):
            [x] = random_inputs(graph, seed)
            executor.set_input(0, x)
            executor.run()
            assert np.array_equal(executor.get_output(0), evaluate(graph, {"x": x})["flat"])


def test_a_template_that_an_outside_library_lacks_is_an_error(npu: Target) -> None:
    with pytest.raises(TemplateError, match=r"'kernels/npu/relu\.c\.j2' does not exist"):
        environment.render("kernels/npu/relu.c.j2", {})


def test_an_entry_point_that_leads_nowhere_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "broken-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    points = "[uhost.kernels.broken]\nadd = not_installed.add:KERNEL\n"
    (folder / "entry_points.txt").write_text(points)
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ConfigError) as caught:
        template_folders()
    assert caught.value.what == "the kernel 'add' of an outside package cannot be found"
    assert caught.value.where == "entry point uhost.kernels.broken: not_installed.add:KERNEL"


def test_an_unknown_library_suggests() -> None:
    with pytest.raises(ConfigError) as caught:
        library("refrence")
    assert caught.value.what == "there is no kernel library 'refrence'"
    assert caught.value.fix == f"did you mean 'reference'? known: {', '.join(library_names())}"


# ---- The user's choice ----------------------------------------------------------------------


def test_a_library_can_be_chosen_for_an_operator() -> None:
    selections = select(net(), (M7,), NO_VIEWS, {"conv_a": "reference"})
    assert places(selections)["conv_a"] == "cortex_m reference/conv_2d_blocked"
    assert selections["conv_a"].forced
    assert selections["conv_a"].passed_over == ()
    assert not selections["conv_b"].forced


def test_a_choice_can_keep_an_operator_from_the_accelerator(npu: Target) -> None:
    selections = select(net(), (M7, npu), NO_VIEWS, {"conv_a": "dsp"})
    assert places(selections)["conv_a"] == "cortex_m dsp/conv_2d_pointwise"


def test_choices_of_what_does_not_exist_are_refused_all_at_once() -> None:
    forced = {"conv_c": "dsp", "add": "referense", "reshape": "reference"}
    with pytest.raises(ConfigError) as caught:
        select(net(), (M7,), frozenset({"reshape"}), forced)
    assert caught.value.what == (
        "kernels cannot be chosen so:\n"
        "  'conv_c': there is no such operator. did you mean 'conv_b'?\n"
        "  'add': no device target has the kernel library 'referense'. "
        "did you mean 'reference'? known: dsp, reference\n"
        "  'reshape': a view of its input needs no kernel"
    )
    assert caught.value.where == "model 'net'"
    assert caught.value.fix == "`uhost inspect` with --board lists the operators"


def test_a_library_that_cannot_take_the_operator_says_why(npu: Target) -> None:
    with pytest.raises(ConfigError) as caught:
        select(net(), (M7, npu), NO_VIEWS, {"conv_b": "npu", "relu": "dsp"})
    assert caught.value.what == (
        "2 operator(s) cannot have the kernel library chosen for them:\n"
        "  conv_b (conv_2d): npu npu/conv_2d: padding\n"
        "  relu (relu): cortex_m dsp: no kernel for this operator"
    )


def test_choices_name_an_operator_of_every_model_or_of_one() -> None:
    choices = (KernelChoice("one.conv_a", "dsp"), KernelChoice("conv_a", "reference"))
    forced = forced_kernels(choices, [net("one"), net("two")])
    assert forced == {"one": {"conv_a": "dsp"}, "two": {"conv_a": "reference"}}
    with pytest.raises(ConfigError) as caught:
        forced_kernels([KernelChoice("three.add", "dsp")], [net("one"), net("two")])
    assert caught.value.what == "no model has an operator 'three.add'. did you mean 'two.add'?"
    assert caught.value.fix == "`uhost inspect` with --board lists the operators"


def test_the_driver_follows_the_configuration() -> None:
    config = CompilationConfig(HOST, (M7,), kernels=(KernelChoice("conv_b", "reference"),))
    [lowered] = driver.lower_models([net()], config)
    assert places(dict(lowered.selections))["conv_b"] == "cortex_m reference/conv_2d_blocked"
    wrong = replace(config, kernels=(KernelChoice("conv_d", "reference"),))
    with pytest.raises(ConfigError, match="no model has an operator 'conv_d'"):
        driver.lower_models([net()], wrong)
