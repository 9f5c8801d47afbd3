"""C1: frozen, hashable, equal by value, the same text again; contradictions are refused."""

from __future__ import annotations

import dataclasses
import json
from typing import Any, cast

import pytest

from uhost.config.board import board_names, load_board
from uhost.config.compilation import (
    CompilationConfig,
    Executor,
    KernelChoice,
    Pool,
    Runtime,
)
from uhost.config.resolve import preset
from uhost.config.target import Target
from uhost.errors import ConfigError

HOST = Target("host", "", ("fpu", "fpu_double"))
M7 = Target("cortex_m", "cortex-m7", ("dsp", "fpu"), ("dsp", "reference"))
NPU = Target("npu", "npu1", ("npu",), ("npu",))
FULL = CompilationConfig(
    HOST,
    (M7, NPU),
    Executor("aot", False, "ram", "c", 16, False, True, "tvmgen"),
    Runtime("crt", False),
    (Pool("ccm", 4096, 32, ("cortex_m", "npu"), 3), Pool("ram")),
    (Pool("flash", 1 << 20),),
    "tflm",
    (KernelChoice("kws.conv_2d_0", "reference"),),
)
PLAIN = json.loads(FULL.to_json())


@pytest.mark.parametrize("config", [FULL, *(preset(load_board(name)) for name in board_names())])
def test_text_and_value_are_the_same_thing(config: CompilationConfig) -> None:
    text = config.to_json()
    again = CompilationConfig.from_json(text)
    assert again == config
    assert hash(again) == hash(config)
    assert again.to_json() == text
    assert CompilationConfig.from_json(text.encode()).to_json() == text


def test_the_text_has_the_keys_in_order_of_declaration() -> None:
    assert list(PLAIN) == [f.name for f in dataclasses.fields(CompilationConfig)]
    assert list(PLAIN["executor"]) == [f.name for f in dataclasses.fields(Executor)]
    assert FULL.to_json().startswith('{\n  "host": {\n    "kind": "host",')
    assert FULL.to_json().endswith("}\n")


def test_keys_in_another_order_give_the_same_value() -> None:
    shuffled = json.dumps(dict(reversed(PLAIN.items())))
    assert CompilationConfig.from_json(shuffled) == FULL


def test_it_is_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        FULL.numerics = "tflm"  # type: ignore[misc]
    assert dataclasses.replace(FULL, kernels=()) != FULL
    assert len({FULL, dataclasses.replace(FULL), dataclasses.replace(FULL, kernels=())}) == 2


@pytest.mark.parametrize(
    ("changes", "what", "fix"),
    [
        ({"targets": ()}, "there is no device target", "give at least one target"),
        ({"targets": (M7, M7)}, "the target 'cortex_m' is given twice", "give each target once"),
        (
            {"executor": Executor("graph")},
            "there is no executor 'graph'",
            "known: aot",
        ),
        ({"runtime": Runtime("cpp")}, "there is no runtime 'cpp'", "known: crt"),
        (
            {"workspace_pools": (Pool("ram"), Pool("ram"))},
            "the workspace pool 'ram' is given twice",
            "rename one of them",
        ),
        (
            {"constant_pools": (Pool("flash", targets=("cortexm",)),)},
            "the constant pool 'flash' is for the target 'cortexm', which is not selected",
            "did you mean 'cortex_m'? selected: cortex_m",
        ),
        (
            {"targets": (M7, NPU), "workspace_pools": (Pool("ram", targets=("npu",)),)},
            "no workspace pool may be used by all of: cortex_m, npu",
            "add a pool, or leave out the pools' targets",
        ),
        (
            {"kernels": (KernelChoice("a", "dsp"), KernelChoice("a", "reference"))},
            "the kernel choice 'a' is given twice",
            "keep one of them",
        ),
    ],
)
def test_contradictions_are_refused(changes: dict[str, Any], what: str, fix: str) -> None:
    with pytest.raises(ConfigError) as caught:
        CompilationConfig(**{"host": HOST, "targets": (M7,), **changes})
    assert (caught.value.what, caught.value.fix) == (what, fix)


def test_pools_are_those_all_targets_may_use_the_fastest_first() -> None:
    pools = (Pool("a", speed=1), Pool("b", targets=("npu",), speed=9), Pool("c", speed=2))
    config = CompilationConfig(HOST, (M7, NPU), workspace_pools=pools)
    assert [pool.name for pool in config.usable_workspace_pools()] == ["c", "a"]
    assert [pool.name for pool in config.usable_constant_pools()] == ["flash"]


def test_everything_wrong_in_a_text_is_told_at_once() -> None:
    wrong = json.loads(FULL.to_json())
    wrong["executor"]["alignment_bytes"] = 12
    wrong["executor"]["c_prefix"] = "9x"
    wrong["numeric"] = wrong.pop("numerics")
    wrong["targets"][0].pop("kind")
    with pytest.raises(ConfigError) as caught:
        CompilationConfig.from_json(json.dumps(wrong))
    assert caught.value.what == (
        "4 mistakes in the configuration:\n"
        "  numeric: unknown key 'numeric' (did you mean 'numerics'? known: constant_pools, "
        "executor, flash_limit_bytes, host, kernels, numerics, optimize, ram_limit_bytes, "
        "runtime, targets, workspace_pools)\n"
        "  targets[0]: the key 'kind' is missing, expected text (add 'kind:')\n"
        "  executor.alignment_bytes: wrong value: invalid enum value 12 "
        "(expected one of 8, 16, 32, 64, 128, 256)\n"
        "  executor.c_prefix: wrong value: expected `str` matching regex "
        "'^([A-Za-z_][A-Za-z0-9_]*)?$' (expected text that matches ^([A-Za-z_][A-Za-z0-9_]*)?$)"
    )
    assert caught.value.fix == "correct each of them"


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("{", "the configuration is not JSON: Input data was truncated"),
        ("3", "wrong value: expected `object`, got `int`"),
        (json.dumps({**PLAIN, "targets": []}), "there is no device target"),
    ],
)
def test_a_text_that_is_no_configuration(text: str, what: str) -> None:
    with pytest.raises(ConfigError) as caught:
        CompilationConfig.from_json(text)
    assert caught.value.what == what


@pytest.mark.parametrize(
    ("part", "what", "where"),
    [
        (
            {"executor": Executor(alignment_bytes=cast(Any, 12))},
            "wrong value: invalid enum value 12",
            "the configuration, key executor.alignment_bytes",
        ),
        (
            {"workspace_pools": (Pool("ram", size_bytes=0),)},
            "wrong value: expected `int` >= 1",
            "the configuration, key workspace_pools[0].size_bytes",
        ),
        (
            {"numerics": "tflite"},
            "wrong value: invalid enum value 'tflite'",
            "the configuration, key numerics",
        ),
        (
            {"constant_pools": [Pool("flash")]},
            "wrong value: expected a tuple, got `list`",
            "the configuration, key constant_pools",
        ),
        (
            {"host": "host"},
            "wrong value: expected `object`, got `str`",
            "the configuration, key host",
        ),
    ],
)
def test_a_configuration_made_by_hand_is_checked_as_one_from_a_file(
    part: dict[str, Any], what: str, where: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        CompilationConfig(**{"host": Target("host"), "targets": (Target("host"),), **part})
    assert (caught.value.what, caught.value.where) == (what, where)


def test_all_mistakes_of_a_configuration_made_by_hand_come_at_once() -> None:
    with pytest.raises(ConfigError, match="2 mistakes in the configuration") as caught:
        CompilationConfig(
            Target("host"),
            (Target("host"),),
            executor=Executor(link_params=cast(Any, "yes")),
            numerics=cast(Any, 3),
        )
    assert "executor.link_params" in caught.value.what
    assert "numerics" in caught.value.what
