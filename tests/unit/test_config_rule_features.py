"""Rule: a device target without CPU features takes its kind's; libraries follow from them."""

from __future__ import annotations

from pathlib import Path

import pytest
from config_files import outside_npu, refusal, resolved

from uhost.config.board import load_board
from uhost.config.target import Target
from uhost.errors import TargetError
from uhost.targets._target import TARGETS

PREFIX = "board: stm32f746\ntargets:\n  cortex_m: "


def test_a_target_without_cpu_and_features_takes_its_kinds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with outside_npu(monkeypatch):
        found = resolved(tmp_path, "board: stm32f746\ntargets: {cortex_m: {}, npu: {}}\n")
        assert found.config.targets[1] == Target("npu", "npu1", ("npu",), ("npu",))
        assert found.origins["targets.npu.features"] == (["npu"], "target npu")


@pytest.mark.parametrize(("cpu", "features"), [("cortex-m4", ("dsp",)), ("cortex-m7", ("dsp",))])
def test_the_kinds_features_are_the_cpus_without_an_fpu(
    cpu: str, features: tuple[str, ...]
) -> None:
    assert TARGETS["cortex_m"].complete(cpu) == Target(
        "cortex_m", cpu, features, ("dsp", "reference")
    )


def test_a_kind_with_one_cpu_needs_none() -> None:
    assert TARGETS["host"].complete() == Target("host", "", ("fpu", "fpu_double"), ("reference",))


def test_a_kind_with_several_cpus_needs_one() -> None:
    kind = TARGETS["cortex_m"]
    with pytest.raises(TargetError) as caught:
        kind.complete()
    assert caught.value.what == "the target 'cortex_m' needs a CPU"
    assert caught.value.fix == f"known: {', '.join(kind.cpus)}"


@pytest.mark.parametrize(
    ("features", "kept", "libraries"),
    [
        ("[fpu, dsp]", ("dsp", "fpu"), ("dsp", "fpu", "reference")),
        ("[dsp]", ("dsp",), ("dsp", "reference")),
        ("[fpu]", ("fpu",), ("fpu", "reference")),
        ("[]", (), ("reference",)),
    ],
)
def test_features_are_put_in_order_and_decide_the_libraries(
    tmp_path: Path, features: str, kept: tuple[str, ...], libraries: tuple[str, ...]
) -> None:
    (target,) = resolved(tmp_path, f"{PREFIX}{{features: {features}}}\n").config.targets
    assert (target.features, target.libraries) == (kept, libraries)


@pytest.mark.parametrize(
    ("options", "what", "key", "fix"),
    [
        (
            "{features: [dps]}",
            "the CPU 'cortex-m7' has no feature 'dps'",
            "features",
            "did you mean 'dsp'? known: dsp, fpu, fpu_double",
        ),
        (
            "{features: [fpu_double]}",
            "the CPU 'cortex-m7' does not exist with the features fpu_double",
            "features",
            "of an FPU, give one of: none; fpu; fpu, fpu_double",
        ),
        (
            "{libraries: [dps]}",
            "there is no kernel library 'dps'",
            "libraries",
            "did you mean 'dsp'? known: dsp, fpu, mve, reference",
        ),
    ],
)
def test_what_no_cpu_has_is_refused(
    tmp_path: Path, options: str, what: str, key: str, fix: str
) -> None:
    where = f"uhost.yaml:3, key targets.cortex_m.{key}"
    assert refusal(tmp_path, f"{PREFIX}{options}\n") == (what, where, fix)


def test_a_cpu_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    what, where, fix = refusal(tmp_path, f"{PREFIX}{{cpu: cortex-m9}}\n")
    assert what == "there is no CPU 'cortex-m9' in the target 'cortex_m'"
    assert where == "uhost.yaml:3, key targets.cortex_m.cpu"
    assert "cortex-m7" in fix


@pytest.mark.parametrize(
    ("board", "cpu", "codes"),
    [
        ("microbit", "cortex-m7", "cortex-m0 or cortex-m0plus"),
        ("netduinoplus2", "cortex-m7", "cortex-m4 or cortex-m3 or cortex-m0plus or cortex-m0"),
        ("mps2_an521", "cortex-m4", "cortex-m33+nodsp or cortex-m0plus or cortex-m0"),
    ],
)
def test_the_boards_core_runs_the_code(tmp_path: Path, board: str, cpu: str, codes: str) -> None:
    core = load_board(board).target.cpu
    text = f"board: {board}\ntargets: {{cortex_m: {{cpu: {cpu}}}}}\n"
    assert refusal(tmp_path, text) == (
        f"the board '{board}' has a {core}, which does not run code for {cpu}",
        "uhost.yaml:2, key targets.cortex_m.cpu",
        f"give {codes}, or leave it out",
    )


@pytest.mark.parametrize(
    ("options", "features"),
    [
        ("{cpu: cortex-m4}", ("dsp", "fpu")),
        ("{cpu: cortex-m3, features: []}", ()),
        ("{cpu: cortex-m0, features: []}", ()),
    ],
)
def test_code_for_a_smaller_core_of_the_family_is_allowed(
    tmp_path: Path, options: str, features: tuple[str, ...]
) -> None:
    assert resolved(tmp_path, f"{PREFIX}{options}\n").config.target.features == features


@pytest.mark.parametrize("kind", ["cortex_m", "riscv", "host"])
def test_cores_run_code_of_cpus_that_the_kind_has(kind: str) -> None:
    for cpu in TARGETS[kind].cpus:
        assert TARGETS[kind].codes_for(cpu)[0] == cpu
        assert set(TARGETS[kind].codes_for(cpu)) <= set(TARGETS[kind].cpus)
