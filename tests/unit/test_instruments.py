"""Instruments: time per pass, text after each pass, and a check that catches a wrong pass."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from uhost.config.compilation import CompilationConfig
from uhost.config.pass_context import Instrument, PassContext
from uhost.config.target import Target
from uhost.errors import ConfigError, VerifyError
from uhost.frontends._frontend import load_model
from uhost.ir.graph import Graph, Operator
from uhost.ir.module import IRModule
from uhost.ops._examples import quantized, real
from uhost.ops._op import Activation
from uhost.ops.add import AddAttributes
from uhost.ops.relu import ReluAttributes
from uhost.passes import _pipeline
from uhost.passes._instruments import CheckPasses, DumpPasses, TimePasses
from uhost.passes._pipeline import optimize, pipeline
from uhost.registry import Registry
from uhost.resources import bundled_model

TARGET = Target("host")
CONFIG = CompilationConfig(host=TARGET, targets=(TARGET,))


def net() -> Graph:
    """Returns int8 x → y = x + c, and a dead operator."""
    constant = quantized("c", (2, 3), 0.5, 0, values=np.arange(6, dtype=np.int8).reshape(2, 3))
    tensors = [quantized("x", (2, 3), 0.5, 0), constant, quantized("y", (2, 3), 0.5, 0)]
    tensors.append(quantized("unread", (2, 3), 0.5, 0))
    operators = (
        Operator("add", "add", ("x", "c"), ("y",), AddAttributes()),
        Operator("dead", "relu", ("x",), ("unread",), ReluAttributes()),
    )
    return Graph("net", {t.name: t for t in tensors}, operators, ("x",), ("y",))


def module(graph: Graph | None = None) -> IRModule:
    one = graph or net()
    return IRModule({one.name: one}, CONFIG)


def install(monkeypatch: pytest.MonkeyPatch, change: Callable[[Graph], Graph]) -> None:
    """Makes a pass that applies `change` the only one, under the name `wrong`."""

    @dataclass(frozen=True)
    class Wrong:
        opt_level: ClassVar[int] = 0
        after: ClassVar[tuple[str, ...]] = ()

        def run(self, module: IRModule, context: PassContext) -> IRModule:
            return module.map_graphs(change)

    class OnlyThis(Registry[type[Wrong]]):
        def names(self) -> tuple[str, ...]:
            return ("wrong",)

        def __getitem__(self, name: str) -> type[Wrong]:
            return Wrong

    monkeypatch.setattr(_pipeline, "PASSES", OnlyThis("uhost.passes", "PASS", "pass"))


# ---- Time -----------------------------------------------------------------------------------


def test_time_of_every_pass_and_their_sum() -> None:
    times = TimePasses()
    optimize(module(), PassContext(instruments=(times,)))
    assert tuple(times.seconds) == pipeline()
    assert all(0 < taken < 10 for taken in times.seconds.values())
    lines = times.report().splitlines()
    assert [line.split("  ")[0] for line in lines] == [*pipeline(), "all passes"]
    assert all(line.endswith(" ms") for line in lines)
    optimize(module(), PassContext(opt_level=0, instruments=(times,)))
    assert times.report() == "all passes      0.000 ms"


def test_the_last_instrument_does_not_time_the_others() -> None:
    class Slow(TimePasses):
        def before_pass(self, name: str, module: IRModule) -> None:
            time.sleep(0.05)

        after_pass = before_pass

    times = TimePasses()
    optimize(module(), PassContext(instruments=(Slow(), times)))
    assert all(taken < 0.05 for taken in times.seconds.values())


# ---- Text -----------------------------------------------------------------------------------


def test_text_after_each_pass(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    last = optimize(module(), PassContext(instruments=(DumpPasses(folder),)))
    files = sorted(path.name for path in folder.iterdir())
    numbered = [f"{number:02}-{name}.txt" for number, name in enumerate(pipeline(), 1)]
    assert files == ["00-loaded.txt", *numbered]
    assert (folder / "00-loaded.txt").read_text() == str(module())
    assert (folder / numbered[-1]).read_text() == str(last) != str(module())


def test_without_passes_the_loaded_module_is_written(tmp_path: Path) -> None:
    optimize(module(), PassContext(opt_level=0, instruments=(DumpPasses(tmp_path),)))
    assert [path.name for path in tmp_path.iterdir()] == ["00-loaded.txt"]


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError) as caught:
        optimize(module(), PassContext(instruments=(DumpPasses(tmp_path / "file"),)))
    assert caught.value.what == f"cannot write '{tmp_path}/file/00-loaded.txt': File exists"


# ---- Check ----------------------------------------------------------------------------------


def checked(graph: Graph | None = None) -> IRModule:
    return optimize(module(graph), PassContext(instruments=(CheckPasses(),)))


def test_right_passes_pass_the_check() -> None:
    assert len(checked().graphs["net"].operators) == 1
    assert checked(load_model(bundled_model())).graphs


def test_a_pass_that_changes_a_constant_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def change(graph: Graph) -> Graph:
        values = graph.tensors["c"].constant().copy()
        values[1, 2] += 4
        tensors = {**graph.tensors, "c": replace(graph.tensors["c"], values=values)}
        return replace(graph, tensors=tensors)

    install(monkeypatch, change)
    optimize(module(), PassContext())  # unsound for nobody but the check
    with pytest.raises(VerifyError) as caught:
        checked()
    assert caught.value.what == (
        "after pass 'wrong': output 'y' of 'net' differs in 1 of 6 elements, by up to 4"
    )
    assert caught.value.where == "random sample 0"
    assert caught.value.fix == "disable the pass 'wrong', and report it"


def test_a_pass_that_fuses_a_wrong_activation_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def change(graph: Graph) -> Graph:
        add = replace(graph.operators[0], attributes=AddAttributes(Activation.RELU))
        return graph.with_operators((add,))

    install(monkeypatch, change)
    with pytest.raises(VerifyError, match=r"^after pass 'wrong': output 'y' of 'net' differs in "):
        checked()


def test_floats_are_compared_bit_for_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    zero = np.zeros(2, np.float32)
    tensors = {t.name: t for t in (real("x", (2,)), real("c", (2,), zero), real("y", (2,)))}
    add = Operator("add", "add", ("c", "c"), ("y",), AddAttributes())
    graph = Graph("net", tensors, (add,), ("x",), ("y",))

    def change(graph: Graph) -> Graph:
        minus = replace(graph.tensors["c"], values=-zero)
        return replace(graph, tensors={**graph.tensors, "c": minus})

    install(monkeypatch, change)
    with pytest.raises(VerifyError, match="differs in 2 of 2 elements, by up to 0"):
        checked(graph)


def test_a_pass_that_changes_an_output_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, lambda graph: replace(graph, outputs=("unread",)))
    with pytest.raises(VerifyError) as caught:
        checked()
    assert caught.value.what == (
        "after pass 'wrong': the outputs of 'net' are unread: int8[2x3] scale=0.5 zero_point=0, "
        "not y: int8[2x3] scale=0.5 zero_point=0"
    )


def test_a_graph_that_cannot_be_computed_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def change(graph: Graph) -> Graph:
        wide = replace(graph.tensors["unread"], shape=(3, 2))
        return replace(graph, tensors={**graph.tensors, "unread": wide})

    install(monkeypatch, change)
    message = "after pass 'wrong': the reference does not compute 'net': 'unread' should be int8"
    with pytest.raises(VerifyError, match=message):
        checked()


def test_a_lost_model_is_caught() -> None:
    check = CheckPasses()
    check.begin(module())
    with pytest.raises(VerifyError, match=r"after pass 'p': the models are other, not net"):
        check.after_pass("p", module(replace(net(), name="other")))


def test_instruments_are_instruments(tmp_path: Path) -> None:
    instruments: tuple[Instrument, ...] = (CheckPasses(), DumpPasses(tmp_path), TimePasses())
    optimize(module(), PassContext(instruments=instruments))
