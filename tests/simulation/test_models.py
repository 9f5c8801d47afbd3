"""Whole models, built and run on simulated boards, exact in every layer and every golden sample."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import uhost
from uhost import driver, resources
from uhost.config.board import load_board
from uhost.errors import ConfigError, OutOfMemoryError
from uhost.frontends._frontend import load_model
from uhost.runtime.device import device
from uhost.runtime.evaluation import Evaluation, measure
from uhost.runtime.module import start
from uhost.runtime.samples import read_samples

MLPERF = ("mlperf_kws_int8", "mlperf_vww_int8", "mlperf_ic_int8", "mlperf_ad_int8")
FLOATS = ("mlperf_ad_float", "mlperf_ic_float")


def verified(model: Path, golden: Path, board: str, runner: str, toolchain: str) -> Evaluation:
    built = driver.link(driver.compile_models(driver.load(model), board), toolchain)
    samples = read_samples(golden, built.compiled.models[0].lowered.graph).items
    result = measure(built, device(board, runner), samples, layers=True)
    bound, measured = result.stack_bound, result.stack_bytes
    if measured is not None and load_board(board).target.kind == "cortex_m":
        assert bound.size_bytes is not None, bound.why
        assert measured <= bound.size_bytes, bound.deepest
    return result


@pytest.mark.parametrize("toolchain", ["arm_gcc", "zig"])
@pytest.mark.parametrize("name", MLPERF)
def test_mlperf_tiny_in_unicorn(shared_models: Path, name: str, toolchain: str) -> None:
    model, golden = shared_models / f"{name}.tflite", shared_models / f"{name}.golden.npz"
    result = verified(model, golden, "stm32f746", "unicorn", toolchain)
    assert result.exact, [c for c in result.comparisons if not c.exact]
    assert result.arena_bytes == result.arena_lower_bound_bytes
    assert result.instructions is not None
    assert result.instructions == sum(o.instructions or 0 for o in result.operators)
    assert result.model_ram_bytes == result.arena_bytes + (result.stack_bytes or 0)
    assert (result.stack_bound.size_bytes or 0) <= 1.2 * (result.stack_bytes or 0)
    assert result.modelled_cycles == sum(o.modelled_cycles or 0 for o in result.operators)
    if name in ("mlperf_kws_int8", "mlperf_ic_int8"):
        assert result.instructions <= 2.0 * sum(o.macs for o in result.operators)


@pytest.mark.needs("qemu")
@pytest.mark.parametrize("board", ["mps2_an500", "netduinoplus2"])
@pytest.mark.parametrize("name", MLPERF)
def test_mlperf_tiny_in_qemu(shared_models: Path, name: str, board: str) -> None:
    model, golden = shared_models / f"{name}.tflite", shared_models / f"{name}.golden.npz"
    result = verified(model, golden, board, "qemu", "arm_gcc")
    assert result.exact, [c for c in result.comparisons if not c.exact]


HELIUM_LIMITS = {
    "mlperf_kws_int8": 800_000,
    "mlperf_vww_int8": 1_600_000,
    "mlperf_ic_int8": 2_200_000,
    "mlperf_ad_int8": 80_000,
}


@pytest.mark.needs("qemu")
@pytest.mark.parametrize("toolchain", ["arm_gcc", "zig"])
@pytest.mark.parametrize("name", MLPERF)
def test_mlperf_tiny_by_helium(shared_models: Path, name: str, toolchain: str) -> None:
    model, golden = shared_models / f"{name}.tflite", shared_models / f"{name}.golden.npz"
    result = verified(model, golden, "mps3_an547", "qemu", toolchain)
    assert result.exact, [c for c in result.comparisons if not c.exact]
    assert result.instructions is not None
    assert result.instructions == sum(o.instructions or 0 for o in result.operators)
    assert result.instructions <= HELIUM_LIMITS[name]


@pytest.mark.parametrize("name", FLOATS)
def test_float_models_are_within_tolerance(shared_models: Path, name: str) -> None:
    model, golden = shared_models / f"{name}.tflite", shared_models / f"{name}.golden.npz"
    result = verified(model, golden, "mps2_an500", "unicorn", "arm_gcc")
    assert result.matches, [c for c in result.comparisons if not c.matches]


BUNDLED = resources.bundled_model()
SAMPLES = BUNDLED.with_suffix(".npz")


@pytest.mark.parametrize(
    ("board", "runner", "toolchain"),
    [
        ("host", "host", "host_cc"),
        ("stm32f746g_disco", "unicorn", "arm_gcc"),
        ("nucleo_f746zg", "unicorn", "zig"),
        ("mps2_an500", "unicorn", "arm_gcc"),
        ("mps2_an500", "qemu", "zig"),
        ("netduinoplus2", "unicorn", "arm_gcc"),
        ("netduinoplus2", "qemu", "zig"),
        ("mps3_an547", "qemu", "arm_gcc"),
        ("mps3_an547", "qemu", "zig"),
    ],
)
def test_the_bundled_model_on_every_board(board: str, runner: str, toolchain: str) -> None:
    result = verified(BUNDLED, SAMPLES, board, runner, toolchain)
    assert result.exact
    labels = [item.label for item in read_samples(SAMPLES, load_model(BUNDLED)).items]
    assert [str(int(np.argmax(outputs[0]))) for outputs in result.outputs] == labels


def test_the_module_interface() -> None:
    with np.load(SAMPLES) as archive:
        sample, expected = archive["s7_in_0"], archive["s7_out_0"]
    module = uhost.build(BUNDLED, board="stm32f746")
    for where in (uhost.device("stm32f746"), uhost.device("stm32f746g_disco"), uhost.cpu(0)):
        with module["digits"](where) as executor:
            assert list(executor.get_input_info().values()) == [((1, 8, 8, 1), "int8")]
            executor.set_input(0, sample)
            executor.run()
            assert np.array_equal(executor.get_output(0), expected)
    with pytest.raises(ConfigError, match="the module has no model 'digit'"):
        module["digit"]
    with pytest.raises(ConfigError, match="the module was built for 'stm32f746', the device is"):
        module["digits"](uhost.device("netduinoplus2"))


def test_a_stored_build_is_loaded_and_run(tmp_path: Path) -> None:
    from uhost.runtime import build_folder

    built = driver.link(
        driver.compile_models(driver.load(BUNDLED), "stm32f746"), None, tmp_path / "b"
    )
    build_folder.write(built)
    with np.load(SAMPLES) as archive:
        sample, expected = archive["s2_in_0"], archive["s2_out_0"]
    module = uhost.load_module(tmp_path / "b")
    for where in (uhost.device("stm32f746"), uhost.cpu(0)):
        with module["digits"](where) as executor:
            executor.set_input("serving_default_image:0", sample)
            executor.run()
            assert np.array_equal(executor.get_output("StatefulPartitionedCall_1:0"), expected)


def test_an_executor_refuses_wrong_values() -> None:
    built = driver.link(driver.compile_models(driver.load(BUNDLED), "stm32f746"))
    with start(built, device("stm32f746")) as executor:
        with pytest.raises(ConfigError, match="the model has no value for serving_default_image:0"):
            executor.run()
        with pytest.raises(ConfigError, match="is int8 of shape 1x8x8x1, the value is float64"):
            executor.set_input(0, np.zeros((8, 8)))
        with pytest.raises(ConfigError, match="the model has no input 'image'"):
            executor.set_input("image", np.zeros((8, 8)))


def test_a_model_too_large_for_the_board(shared_models: Path) -> None:
    with pytest.raises(OutOfMemoryError) as caught:
        driver.compile_models(
            driver.load(shared_models / "mlperf_vww_float.tflite"), "netduinoplus2"
        )
    assert (
        "region 'ram' of netduinoplus2 has 131,072 B, at least 24,768 B are missing"
        in caught.value.what
    )
    assert "147,456 B  model/activation_2/Relu" in caught.value.what


def test_what_only_the_linker_can_tell_names_the_peak_too(shared_models: Path) -> None:
    # Arena and stack fit the RAM; with the firmware's own buffers they do not.
    sources = driver.load(shared_models / "mlperf_vww_float.tflite")
    compiled = driver.compile_models(sources, "stm32f746")
    ram = compiled.board.region("ram")
    small = replace(ram, size_bytes=compiled.arena_bytes + compiled.board.stack_bytes)
    regions = tuple(small if r.name == "ram" else r for r in compiled.board.regions)
    board = replace(compiled.board, regions=regions)
    tight = driver.compile_models(sources, board)
    with pytest.raises(OutOfMemoryError) as caught:
        driver.link(tight, "arm_gcc")
    assert "Live at the peak, step 2 (conv_2d_2):" in caught.value.what
    assert "ram" in caught.value.what.splitlines()[0].lower()


def test_weights_that_only_the_linker_finds_too_large_are_named() -> None:
    # The weights fit the flash; with the code they do not.
    sources = driver.load(BUNDLED)
    board = load_board("stm32f746")
    weights = driver.compile_models(sources, board).models[0].lowered.constant_bytes()
    small = replace(board.region("flash"), size_bytes=weights + 64)
    regions = tuple(small if r.name == "flash" else r for r in board.regions)
    tight = driver.compile_models(sources, replace(board, regions=regions))
    with pytest.raises(OutOfMemoryError) as caught:
        driver.link(tight, "arm_gcc")
    first, second, *listed = caught.value.what.splitlines()
    assert "the image does not fit the region 'flash'" in first
    assert second == "The largest weights:"
    assert listed
    assert "arena" not in caught.value.what
