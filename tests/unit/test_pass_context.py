"""PassContext: what runs, with which options; explicit everywhere, so that threads agree."""

from __future__ import annotations

import ast
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import uhost
from uhost import driver
from uhost.config.board import load_board
from uhost.config.pass_context import PassContext
from uhost.errors import ConfigError
from uhost.ir.graph import Graph, Operator
from uhost.ir.module import IRModule
from uhost.ops._examples import real
from uhost.ops.add import AddAttributes
from uhost.ops.relu import ReluAttributes
from uhost.passes import _pipeline
from uhost.passes._instruments import TimePasses
from uhost.passes._pipeline import enabled_passes, pipeline
from uhost.registry import Registry
from uhost.runtime.compiled import Source

SOURCES = Path(uhost.__file__).parent


@dataclass(frozen=True)
class Tile:
    """A pass with options."""

    depth: int = 2
    greedy: bool = False
    opt_level: ClassVar[int] = 3
    after: ClassVar[tuple[str, ...]] = ()

    def run(self, module: IRModule, context: PassContext) -> IRModule:
        return module


@pytest.fixture
def tile(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes `tile` the only pass."""

    class OnlyTile(Registry[type[Tile]]):
        def names(self) -> tuple[str, ...]:
            return ("tile",)

        def __getitem__(self, name: str) -> type[Tile]:
            return Tile

    monkeypatch.setattr(_pipeline, "PASSES", OnlyTile("uhost.passes", "PASS", "pass"))


# ---- What runs ------------------------------------------------------------------------------


def test_level_required_and_disabled_decide() -> None:
    assert tuple(enabled_passes(PassContext())) == pipeline()
    assert not enabled_passes(PassContext(opt_level=0))
    first, *others = pipeline()
    assert list(enabled_passes(PassContext(opt_level=0, required_passes=(first,)))) == [first]
    assert list(enabled_passes(PassContext(disabled_passes=(first,)))) == others


def test_a_pass_cannot_be_required_and_disabled() -> None:
    names = (pipeline()[0],)
    with pytest.raises(ConfigError) as caught:
        enabled_passes(PassContext(required_passes=names, disabled_passes=names))
    assert caught.value.what == f"the pass '{names[0]}' is both required and disabled"


@pytest.mark.usefixtures("tile")
def test_options_reach_the_pass() -> None:
    context = PassContext(opt_level=3, options={"tile": {"depth": 5}})
    assert enabled_passes(context) == {"tile": Tile(depth=5)}


@pytest.mark.usefixtures("tile")
@pytest.mark.parametrize(
    ("level", "options", "what", "fix"),
    [
        (
            3,
            {"dept": 3},
            "the pass 'tile' has no option 'dept'",
            "did you mean 'depth'? known: depth, greedy",
        ),
        (
            3,
            {"depth": "3"},
            "the option 'depth' of the pass 'tile' is int, not str",
            "give a value of type int",
        ),
        (
            3,
            {"depth": True},
            "the option 'depth' of the pass 'tile' is int, not bool",
            "give a value of type int",
        ),
        (
            2,
            {"depth": 3},
            "the pass 'tile' was given options and does not run",
            "require it, or remove its options; running: none",
        ),
    ],
)
def test_options_that_do_not_fit_are_refused(
    level: int, options: dict[str, Any], what: str, fix: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        enabled_passes(PassContext(opt_level=level, options={"tile": options}))
    assert (caught.value.what, caught.value.fix) == (what, fix)


def test_a_context_does_not_change_with_what_it_was_made_of() -> None:
    depth: dict[str, object] = {"depth": 3}
    options = {"tile": depth}
    context = PassContext(options=options)
    depth["depth"] = 4
    del options["tile"]
    assert context.options["tile"]["depth"] == 3
    with pytest.raises(TypeError):
        context.options["tile"]["depth"] = 5  # type: ignore[index]


# ---- Nothing global -------------------------------------------------------------------------


def net() -> Graph:
    """Returns y = relu(x) + (c + c), and a dead operator: every pass has something to do."""
    constant = real("c", (4,), np.arange(4, dtype=np.float32))
    tensors = [constant, *(real(name, (4,)) for name in ("x", "r", "k", "y", "unread"))]
    operators = (
        Operator("relu", "relu", ("x",), ("r",), ReluAttributes()),
        Operator("double", "add", ("c", "c"), ("k",), AddAttributes()),
        Operator("dead", "relu", ("r",), ("unread",), ReluAttributes()),
        Operator("add", "add", ("r", "k"), ("y",), AddAttributes()),
    )
    return Graph("net", {t.name: t for t in tensors}, operators, ("x",), ("y",))


def test_threads_with_different_contexts_give_the_sequential_results() -> None:
    board = load_board("stm32f746")
    contexts = [
        PassContext(opt_level=0),
        PassContext(),
        PassContext(disabled_passes=("fold_constants",)),
        PassContext(opt_level=0, required_passes=("fold_constants",)),
    ]

    def compile_with(context: PassContext) -> tuple[str, int]:
        source = Source(net(), "net", b"")
        compiled = driver.compile_models((source,), board, context=context)
        return compiled.digest, len(compiled.models[0].lowered.graph.operators)

    sequential = [compile_with(context) for context in contexts]
    assert [count for _, count in sequential] == [4, 2, 3, 3]
    ready = threading.Barrier(len(contexts))

    def compile_at_once(context: PassContext) -> list[tuple[str, int]]:
        ready.wait(timeout=30)
        return [compile_with(context) for _ in range(5)]

    with ThreadPoolExecutor(len(contexts)) as pool:
        for expected, found in zip(sequential, pool.map(compile_at_once, contexts), strict=True):
            assert found == [expected] * 5


def test_instruments_of_one_context_do_not_see_another_thread() -> None:
    times = [TimePasses(), TimePasses()]
    contexts = [
        PassContext(instruments=(times[0],)),
        PassContext(disabled_passes=("fold_constants",), instruments=(times[1],)),
    ]
    config = driver.configure(load_board("host"))
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda context: driver.lower_models([net()], config, context), contexts))
    assert tuple(times[0].seconds) == pipeline()
    assert "fold_constants" not in times[1].seconds


_CHANGES = frozenset(
    "add append clear discard extend insert pop popitem remove reverse set setdefault sort "
    "update".split()
)
_HOLDERS = frozenset(("ContextVar", "local", "Lock", "RLock"))


def module_state(text: str) -> Iterator[str]:
    """Yields what a module keeps that can change: `global`, holders, changed module names."""
    tree = ast.parse(text)
    names = set()
    for statement in tree.body:
        if isinstance(statement, ast.Assign | ast.AnnAssign):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            names |= {target.id for target in targets if isinstance(target, ast.Name)}
            if isinstance(statement.value, ast.Call):
                called = statement.value.func
                kind = called.attr if isinstance(called, ast.Attribute) else ast.unparse(called)
                if kind in _HOLDERS:
                    yield ast.unparse(statement)
    for node in ast.walk(tree):
        if isinstance(node, ast.Global):
            yield ast.unparse(node)
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del):
            changed: ast.expr = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr not in _CHANGES:
                continue
            changed = node.func.value
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            changed = node.value
        else:
            continue
        if isinstance(changed, ast.Name) and changed.id in names:
            yield ast.unparse(node)


@pytest.mark.parametrize(
    "text",
    [
        "_current = None\ndef f():\n    global _current\n    _current = 1",
        "_seen = {}\ndef f():\n    _seen['a'] = 1",
        "_seen: list[int] = []\ndef f():\n    _seen.append(1)",
        "_current = threading.local()",
        "_current = ContextVar('current')",
        "CONTEXT = Context()\ndef f():\n    CONTEXT.level = 3",
    ],
)
def test_state_of_a_module_is_recognised(text: str) -> None:
    assert list(module_state(text))


def test_no_module_keeps_state() -> None:
    files = sorted(SOURCES.rglob("*.py"))
    assert len(files) > 100
    found = [
        f"{path.relative_to(SOURCES)}: {what}"
        for path in files
        for what in module_state(path.read_text())
    ]
    assert not found
