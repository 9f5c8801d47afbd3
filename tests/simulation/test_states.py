"""What a model keeps from run to run: each executor its own, in every place, until a reset."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from build_tflite import from_graph
from small_models import small_graph, write_model

import uhost
from uhost import driver
from uhost.config.board import load_board
from uhost.config.compilation import CompilationConfig, Executor
from uhost.config.resolve import preset
from uhost.errors import ConfigError
from uhost.ir.graph import Graph
from uhost.ir.tensor import Array
from uhost.ops._inputs import random_inputs
from uhost.ops._op import OPERATORS, evaluate
from uhost.runtime.device import Device, device
from uhost.runtime.evaluation import measure
from uhost.runtime.graph_module import GraphModule
from uhost.runtime.module import Module
from uhost.runtime.samples import read_samples

STREAMS = (
    *("mww_v1_hey_jarvis", "mww_v2_okay_nabu", "mww_v2_vad", "pymicro_hey_jarvis"),
    *("litert_call_once_mul", "tflm_keyword_scrambled_int8", "tflm_keyword_scrambled_int16"),
    *("tflm_mnist_lstm_int8", "tflm_dtln_int8", "litert_uniseq_lstm_layernorm_int8"),
)
LENGTH = 8


def example() -> Graph:
    """An SVDF: whatever it makes depends on the last inputs as well."""
    return next(e for e in OPERATORS["svdf"].examples() if e.name == "int16_state").graph


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("state") / "filter.tflite"
    path.write_bytes(from_graph(example()))
    return path


@pytest.fixture(scope="module")
def module(model: Path) -> Module:
    return uhost.build(model, board="stm32f746")


def expected() -> list[tuple[Array, Array]]:
    """Returns a sequence of inputs, and the outputs of the reference."""
    graph, made = example(), []
    states = graph.states
    for seed in range(LENGTH):
        [given] = random_inputs(graph, seed)
        values = evaluate(graph, {"input": given}, states)
        states = {name: values[name] for name in states}
        made.append((given, values["output"]))
    return made


def outputs(executor: GraphModule, inputs: list[Array]) -> list[Array]:
    made = []
    for given in inputs:
        executor.set_input(0, given)
        executor.run()
        made.append(executor.get_output(0))
    return made


def devices() -> list[Device]:
    return [uhost.cpu(0), uhost.device("host"), uhost.device("stm32f746", on="unicorn")]


@pytest.mark.parametrize("device", devices(), ids=str)
def test_state_lasts_until_a_reset_on_every_device(module: Module, device: Device) -> None:
    pairs = expected()
    inputs = [given for given, _ in pairs]
    with module["filter"](device) as executor:
        for _ in range(2):
            for made, (_, right) in zip(outputs(executor, inputs), pairs, strict=True):
                assert np.array_equal(made, right)
            again = outputs(executor, inputs[:1])[0]
            assert not np.array_equal(again, pairs[0][1])  # it remembers the sequence
            executor.reset()
    with module["filter"](device) as executor:  # a new one knows nothing of the last
        assert np.array_equal(outputs(executor, inputs[:1])[0], pairs[0][1])


def test_executors_of_one_module_keep_their_own_state(module: Module) -> None:
    pairs = expected()
    with module["filter"](uhost.cpu(0)) as one, module["filter"](uhost.cpu(0)) as two:
        for given, right in pairs:
            outputs(two, [pairs[-1][0]])
            assert np.array_equal(outputs(one, [given])[0], right)


@pytest.mark.parametrize("device", devices()[:2], ids=str)
def test_profiles_and_saved_states_change_nothing(module: Module, device: Device) -> None:
    pairs = expected()
    with module["filter"](device) as executor:
        outputs(executor, [pairs[0][0]])
        saved = executor.get_states()
        executor.profile()
        assert np.array_equal(outputs(executor, [pairs[1][0]])[0], pairs[1][1])
        executor.set_states(saved)
        assert np.array_equal(outputs(executor, [pairs[1][0]])[0], pairs[1][1])
        with pytest.raises(ConfigError, match="the state 'state' is int16"):
            executor.set_states({"state": np.zeros(3, np.int8)})


def test_debugging_an_inference_twice_counts_once(module: Module) -> None:
    pairs = expected()
    with module.debug_create("filter", uhost.cpu(0)) as executor:
        for given, right in pairs[:3]:
            executor.set_input(0, given)
            for _ in range(3):
                assert np.array_equal(executor.run_until("svdf_0"), right)
                executor._position = None  # as after an operator that failed
            executor.run_until("svdf_0")
        executor.reset()
        executor.set_input(0, pairs[0][0])
        assert np.array_equal(executor.run_until(0), pairs[0][1])


def test_a_shared_arena_is_not_shared_with_state(model: Path, tmp_path: Path) -> None:
    other = write_model(tmp_path, small_graph(8))
    board = load_board("host")
    plain = preset(board)
    config = CompilationConfig(
        host=plain.host,
        targets=plain.targets,
        executor=Executor(shared_arena=True),
        workspace_pools=plain.workspace_pools,
        constant_pools=plain.constant_pools,
    )
    compiled = driver.compile_models(driver.load([model, other]), board, config=config)
    table = compiled.artifact.files["firmware/model_table.c"].decode()
    assert "static uint8_t filter_arena[" in table
    assert "static uint8_t arena[" in table
    header = compiled.artifact.files["model.h"].decode()
    assert " * filter keeps state in its arena from run to run: the arena is its own." in header
    assert "#define FILTER_STATE_BYTES " in header
    assert "conv8_reset" not in header


@pytest.mark.parametrize("suffix", [".tar", ".c", ".so", ""])
def test_an_exported_library_resets(module: Module, tmp_path: Path, suffix: str) -> None:
    pairs = expected()
    path = tmp_path / f"library{suffix}"
    exported = uhost.build(_file(tmp_path), board="host") if suffix in (".c", "") else module
    exported.export_library(path)
    loaded = uhost.load_module(path)
    with loaded["filter"](uhost.cpu(0)) as executor:
        assert [state.name for state in executor.executable.states] == ["state"]
        outputs(executor, [given for given, _ in pairs])
        executor.reset()
        assert np.array_equal(outputs(executor, [pairs[0][0]])[0], pairs[0][1])


def _file(folder: Path) -> Path:
    path = folder / "filter.tflite"
    path.write_bytes(from_graph(example()))
    return path


@pytest.mark.parametrize("name", STREAMS)
def test_streams_are_exact_at_every_invocation(shared_models: Path, name: str) -> None:
    built = driver.link(
        driver.compile_models(driver.load(shared_models / f"{name}.tflite"), "host")
    )
    golden = shared_models / f"{name}.golden.npz"
    samples = read_samples(golden, built.compiled.models[0].lowered.graph).items
    result = measure(built, device("host"), samples, layers=True)
    assert result.exact, [c for c in result.comparisons if not c.exact]
    if name.startswith(("mww", "pymicro")):
        assert len(samples) == 32
