"""Executors of one module on this machine, in simulators and in processes: the same results."""

from __future__ import annotations

import csv
import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from small_models import expected_output, small_graph, small_sample, write_model

import uhost
from uhost import resources
from uhost.errors import ConfigError
from uhost.ir.tensor import Array
from uhost.runtime.debug_module import DebugModule
from uhost.runtime.device import Device
from uhost.runtime.module import Module

BUNDLED = resources.bundled_model()


@pytest.fixture(scope="module")
def module() -> Module:
    return uhost.build(BUNDLED, board="stm32f746")


@pytest.fixture(scope="module")
def sample() -> tuple[Array, Array]:
    with np.load(BUNDLED.with_suffix(".npz")) as archive:
        return archive["s7_in_0"], archive["s7_out_0"]


def devices() -> list[Device]:
    return [uhost.cpu(0), uhost.device("host"), uhost.device("stm32f746", on="unicorn")]


@pytest.mark.parametrize("device", devices(), ids=str)
def test_one_model_on_every_device(
    module: Module, sample: tuple[Array, Array], device: Device
) -> None:
    with module["digits"](device) as executor:
        executor.run(**{"serving_default_image:0": sample[0]})
        assert np.array_equal(executor.get_output(0), sample[1])
        assert [t.layout for t in (*executor.inputs, *executor.outputs)] == ["NHWC", "row_major"]


def test_executors_of_one_module_share_no_state(module: Module) -> None:
    with np.load(BUNDLED.with_suffix(".npz")) as archive:
        pairs = [(archive[f"s{k}_in_0"], archive[f"s{k}_out_0"]) for k in (1, 2)]
    with module["digits"](uhost.cpu(0)) as one, module["digits"](uhost.cpu(0)) as two:
        for executor, (given, _) in zip((one, two), pairs, strict=True):
            executor.set_input(0, given)
            executor.run()
        for executor, (_, expected) in zip((one, two), pairs, strict=True):
            assert np.array_equal(executor.get_output(0), expected)


def test_views_are_the_arena_itself(module: Module, sample: tuple[Array, Array]) -> None:
    with module["digits"](uhost.cpu(0)) as executor:
        given, made = executor.input_view(0), executor.output_view(0)
        assert given.shape == (1, 8, 8, 1)
        given[:] = sample[0]
        executor.run()
        assert np.array_equal(made, sample[1])
        kept = executor.get_output(0)
        assert not np.shares_memory(kept, made)
        with pytest.raises(ValueError, match="read-only"):
            made[:] = 0
        given[:] = 0
        executor.run()
        assert not np.array_equal(made, kept)
    assert made.shape == (1, 10)  # still readable: the arena outlives the library


def test_a_value_that_changes_later_changes_no_input(
    module: Module, sample: tuple[Array, Array]
) -> None:
    given = sample[0].copy()
    with module["digits"](uhost.cpu(0)) as executor:
        executor.set_input(0, given)
        given[:] = 0
        for _ in range(2):  # the run reuses the input's bytes: it is written again
            executor.run()
            assert np.array_equal(executor.get_output(0), sample[1])


def test_a_device_elsewhere_has_no_views(module: Module) -> None:
    with (
        module["digits"](uhost.device("stm32f746")) as executor,
        pytest.raises(ConfigError) as caught,
    ):
        executor.output_view(0)
    assert str(caught.value) == (
        "the arena of the model is not in this process but on stm32f746 (unicorn)\n"
        "  fix:   use set_input and get_output, or run on uhost.cpu(0)"
    )


def test_a_closed_executor_says_so(module: Module, sample: tuple[Array, Array]) -> None:
    executor = module["digits"](uhost.cpu(0))
    executor.set_input(0, sample[0])
    executor.close()
    executor.close()
    for call in (executor.run, executor.get_output, executor.profile):
        with pytest.raises(ConfigError, match="the executor of 'digits' is closed"):
            call()


def test_closing_unloads_the_library(module: Module) -> None:
    def mapped() -> bool:
        return "/libraries/" in Path("/proc/self/maps").read_text()

    before = mapped()
    with module["digits"](uhost.cpu(0)):
        assert mapped()
    assert mapped() == before


def test_unknown_names_list_models_and_functions(module: Module) -> None:
    with pytest.raises(ConfigError) as caught:
        module["digit"]
    assert str(caught.value) == (
        "the module has no model 'digit'\n"
        "  fix:   models: digits; functions: get_params, get_params_blob, remove_params, "
        "debug_create"
    )
    with pytest.raises(ConfigError, match="the module has no model 'x'"):
        module["debug_create"]("x", uhost.cpu(0))
    with pytest.raises(ConfigError, match="the module has no model 'x'"):
        module["get_params"]("x")


@pytest.mark.parametrize("name", ["get_params", "get_params_blob", "remove_params", "debug_create"])
def test_a_model_cannot_have_the_name_of_a_function(name: str) -> None:
    with pytest.raises(ConfigError) as caught:
        uhost.build({name: BUNDLED}, board="stm32f746")
    assert str(caught.value) == (
        f"a model cannot have the name '{name}': a module answers to it with a function\n"
        "  fix:   give it another name: name=path"
    )


# ---- Debugging and profiling ----------------------------------------------------------------


@pytest.mark.parametrize("device", devices(), ids=str)
def test_debugging_shows_every_tensor_on_every_device(
    module: Module, sample: tuple[Array, Array], device: Device
) -> None:
    with module["digits"](device) as executor:
        executor.set_input(0, sample[0])
        layers = executor.run_layers()
    with module["debug_create"]("digits", device) as debugged:
        assert isinstance(debugged, DebugModule)
        debugged.set_input(0, sample[0])
        names = [o.name for o in debugged.executable.operators]
        made = [o.outputs[0].name for o in debugged.executable.operators]
        assert np.array_equal(debugged.run_until(3), layers[made[3]])
        assert list(debugged.costs) == names[:4]
        assert np.array_equal(debugged.get_node_output(names[6]), layers[made[6]])  # goes on
        assert np.array_equal(debugged.get_node_output(1), layers[made[1]])  # begins anew
        assert np.array_equal(debugged.run_until(names[-1]), sample[1])
        assert len(debugged.costs) == len(names)
        debugged.run()
        assert np.array_equal(debugged.get_output(0), sample[1])


def test_new_inputs_begin_a_new_inference(module: Module) -> None:
    with np.load(BUNDLED.with_suffix(".npz")) as archive:
        one, two, expected = archive["s1_in_0"], archive["s2_in_0"], archive["s2_out_0"]
    with module["debug_create"]("digits", uhost.cpu(0)) as debugged:
        debugged.set_input(0, one)
        debugged.run_until(4)
        debugged.set_input(0, two)
        assert np.array_equal(debugged.run_until(9), expected)


def test_an_unknown_operator_lists_them(module: Module, sample: tuple[Array, Array]) -> None:
    with module["debug_create"]("digits", uhost.cpu(0)) as debugged:
        debugged.set_input(0, sample[0])
        for key in ("conv", 10):
            with pytest.raises(ConfigError) as caught:
                debugged.run_until(key)
            assert caught.value.what == f"the model has no operator {key!r}"
            assert caught.value.fix.startswith("it has: 0 conv_2d_0, 1 depthwise_conv_2d_1")


def test_a_simulator_counts_instructions_per_operator(
    module: Module, sample: tuple[Array, Array]
) -> None:
    with module["digits"](uhost.device("stm32f746", on="unicorn")) as executor:
        executor.set_input(0, sample[0])
        profile = executor.profile()
        assert np.array_equal(executor.get_output(0), sample[1])
    assert profile.measured == "instructions"
    assert profile["reshape_7"].instructions == 0
    assert sum(row.instructions or 0 for row in profile) > 100_000
    rows = list(csv.DictReader(profile.to_csv().splitlines()))
    assert [row["operator"] for row in rows] == [row.operator for row in profile]
    assert [int(row["instructions"]) for row in rows] == [row.instructions for row in profile]
    assert rows[0]["cycles"] == rows[0]["seconds"] == ""


def test_this_process_is_measured_in_seconds(
    module: Module, sample: tuple[Array, Array], tmp_path: Path
) -> None:
    with module["digits"](uhost.cpu(0)) as executor:
        executor.set_input(0, sample[0])
        profile = executor.profile()
    assert profile.measured == "seconds"
    assert all(row.seconds and row.seconds > 0 for row in profile)
    trace = json.loads(profile.to_chrome_trace(tmp_path / "trace.json"))
    assert json.loads((tmp_path / "trace.json").read_text()) == trace
    events = trace["traceEvents"]
    assert [event["name"] for event in events] == [row.operator for row in profile]
    assert {event["ph"] for event in events} == {"X"}
    for before, after in itertools.pairwise(events):
        assert after["ts"] == pytest.approx(before["ts"] + before["dur"], abs=0.002)
    assert events[0]["args"]["kernel"] == "reference/conv_2d_blocked"
    assert str(profile).splitlines()[0].split()[:3] == ["operator", "kind", "kernel"]


# ---- Several models -------------------------------------------------------------------------


@pytest.mark.parametrize("shared", [True, False])
def test_two_models_in_one_module(tmp_path: Path, shared: bool) -> None:
    graphs = {"one": small_graph(5), "two": small_graph(9)}
    paths = {name: write_model(tmp_path, graph) for name, graph in graphs.items()}
    from dataclasses import replace

    from uhost import driver
    from uhost.config.board import load_board

    config = driver.configure(load_board("mps2_an500"))
    config = replace(config, executor=replace(config.executor, shared_arena=shared))
    module = uhost.build(paths, board="mps2_an500", config=config)
    assert module.names == ("one", "two")
    compiled = driver.compile_models(driver.load(paths), "mps2_an500", config=config)
    sizes = [model.lowered.plan.arena_bytes for model in compiled.models]
    assert compiled.arena_bytes == (max(sizes) if shared else sum(sizes))
    image = driver.link(compiled).image
    arenas = {n: s.size for n, s in image.symbols.items() if n == "arena" or n.endswith("_arena")}
    assert arenas == (
        {"arena": max(sizes)} if shared else {"one_arena": sizes[0], "two_arena": sizes[1]}
    )
    for device in (uhost.cpu(0), uhost.device("mps2_an500", on="unicorn")):
        for seed, (name, graph) in enumerate(graphs.items()):
            given = small_sample(seed)
            with module[name](device) as executor:
                executor.set_input(0, given)
                executor.run()
                assert np.array_equal(executor.get_output(0), expected_output(graph, given))
    params = module["get_params"]()
    assert {name.partition("/")[0] for name in params} == {"one", "two"}
    assert np.array_equal(params["two/weights"], graphs["two"].tensors["weights"].constant())
    assert set(module["get_params"]("one")) == {"weights", "bias"}


@pytest.mark.needs("qemu")
def test_kws_and_ic_in_one_module(shared_models: Path) -> None:
    files = {name: shared_models / f"mlperf_{name}_int8.tflite" for name in ("kws", "ic")}
    module = uhost.build(files, board="mps2_an500")
    from uhost import driver

    compiled = driver.compile_models(driver.load(files), "mps2_an500")
    sizes = [model.lowered.plan.arena_bytes for model in compiled.models]
    assert compiled.arena_bytes == max(sizes) < sum(sizes)
    places = (
        uhost.cpu(0),
        uhost.device("mps2_an500", on="unicorn"),
        uhost.device("mps2_an500", on="qemu"),
    )
    for name in files:
        with np.load(shared_models / f"mlperf_{name}_int8.golden.npz") as golden:
            key = "s0_tflm_0" if "s0_tflm_0" in golden.files else "s0_out_0"
            given, expected = golden["s0_in_0"], golden[key]
        for device in places:
            with module[name](device) as executor:
                executor.set_input(0, given)
                executor.run()
                made = executor.get_output(0)
            assert np.array_equal(made, expected.reshape(made.shape)), (name, str(device))


# ---- The example of the package -------------------------------------------------------------


def test_the_example_of_the_package_runs(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    sample: tuple[Array, Array],
) -> None:
    assert uhost.__doc__
    example = uhost.__doc__.split("\n\n", 1)[1]
    (tmp_path / "model.tflite").write_bytes(BUNDLED.read_bytes())
    monkeypatch.chdir(tmp_path)
    exec(compile(example, "example", "exec"), {"samples": sample[0]})
    assert capsys.readouterr().out == f"{sample[1]}\n"
