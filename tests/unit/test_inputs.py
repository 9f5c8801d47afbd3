"""What users have, at a model's boundary: floats, images and recordings for an integer input."""

from __future__ import annotations

import builtins
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from config_files import refusal, resolved
from input_files import TONE, model, only, read, recorded, refused
from PIL import Image

from uhost.errors import ConfigError
from uhost.inputs._input import INPUTS
from uhost.inputs._labels import labels_of
from uhost.inputs.audio import AudioOptions
from uhost.inputs.image import ImageOptions
from uhost.ir.dtype import DType
from uhost.ir.tensor import Array

ROOT = Path(__file__).resolve().parent.parent.parent


# Floats for integers.


@pytest.mark.parametrize("suffix", [".npy", ".bin", ".npz", "-numbered.npz"])
def test_floats_are_quantised_as_the_operator_quantize_rounds(tmp_path: Path, suffix: str) -> None:
    values = np.array([[0.25, -0.25, 0.74, 1e9]], np.float32)
    path = tmp_path / f"a{suffix}"
    if suffix == ".npy":
        np.save(path, values.astype(np.float64))
    elif suffix == ".bin":
        path.write_bytes(values.tobytes())
    else:
        arrays: dict[str, Any] = {"s0_in_0" if "numbered" in suffix else "x": values}
        np.savez(path, **arrays)
    prepared = read(path, model(1, 4, zero_point=3), quantize=True)
    np.testing.assert_array_equal(only(prepared), np.array([[4, 2, 4, 127]], np.int8))
    assert prepared.done == "floats are quantised: x to int8 with scale 0.5 and zero point 3"


def test_several_samples_of_floats_and_integers_beside_them(tmp_path: Path) -> None:
    np.save(tmp_path / "f.npy", np.array([0, 1, 2, 3], np.float32))
    np.save(tmp_path / "i.npy", np.array([7, 8], np.int8))
    prepared = read(tmp_path / "f.npy", model(1, 2), quantize=True)
    assert [item.inputs[0].tolist() for item in prepared.samples.items] == [[[0, 2]], [[4, 6]]]
    assert only(read(tmp_path / "i.npy", model(1, 2), quantize=True)).tolist() == [[7, 8]]


def test_floats_without_the_option_are_told_of_it(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.zeros((1, 4), np.float32))
    assert refused(tmp_path / "a.npy", model(1, 4)) == (
        "the input 'x' is int8, the file has float32",
        "give --quantize-input to quantise it, scale 0.5 and zero point 0",
    )


def test_floats_for_integers_without_a_scale_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.zeros((1, 4), np.float32))
    assert refused(tmp_path / "a.npy", model(1, 4, scale=None), quantize=True) == (
        "the input 'x' is int8 without a scale: floats cannot be quantised for it",
        "give int8 values",
    )


def test_raw_floats_must_be_whole(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(bytes(4))
    assert refused(tmp_path / "a.bin", model(1, 4), quantize=True) == (
        "the input 'x' takes 16 B a sample, the file has 4 B",
        "give float32 values in row-major order",
    )


# Images.


def saved(path: Path, pixels: Array) -> Path:
    Image.fromarray(pixels).save(path)
    return path


GRAY = np.arange(12, dtype=np.uint8).reshape(3, 4) * 20
COLOURS = np.arange(36, dtype=np.uint8).reshape(3, 4, 3) * 7


@pytest.mark.parametrize("suffix", [".bmp", ".png", ".pgm"])
def test_a_pixel_of_an_8_bit_input_keeps_its_byte(tmp_path: Path, suffix: str) -> None:
    path = saved(tmp_path / f"a{suffix}", GRAY)
    signed = read(path, model(1, 3, 4, 1))
    np.testing.assert_array_equal(only(signed)[0, :, :, 0], GRAY.astype(int) - 128)
    assert signed.done == "4 x 3 grayscale; int8 input is pixel - 128"
    unsigned = read(path, model(1, 3, 4, 1, dtype=DType.UINT8))
    np.testing.assert_array_equal(only(unsigned)[0, :, :, 0], GRAY)


def test_a_float_input_is_from_0_to_1_and_may_have_channels_first(tmp_path: Path) -> None:
    path = saved(tmp_path / "a.ppm", COLOURS)
    expected = COLOURS.astype(np.float32) / np.float32(255)
    last = read(path, model(1, 3, 4, 3, dtype=DType.FLOAT32, scale=None))
    np.testing.assert_array_equal(only(last)[0], expected)
    first = read(path, model(1, 3, 3, 4, dtype=DType.FLOAT32, scale=None))
    np.testing.assert_array_equal(only(first)[0], expected.transpose(2, 0, 1))
    assert first.done == "4 x 3 RGB; input is pixel / 255"


def test_mean_and_std_are_per_channel_and_the_result_is_quantised(tmp_path: Path) -> None:
    path = saved(tmp_path / "a.png", COLOURS)
    options = ImageOptions(mean=(1.0, 2.0, 3.0), std=50.0)
    prepared = read(path, model(1, 3, 4, 3, scale=0.1, zero_point=-5), options)
    real = (COLOURS.astype(np.float32) - np.array([1, 2, 3], np.float32)) / np.float32(50)
    expected = np.round(real.astype(np.float64) / 0.1) - 5  # none of these is a tie
    np.testing.assert_array_equal(only(prepared)[0], expected)
    assert prepared.done == (
        "4 x 3 RGB; input is (pixel - [1, 2, 3]) / 50, quantised to int8 with scale 0.1 and "
        "zero point -5"
    )


def test_an_image_is_cut_to_proportion_then_resized(tmp_path: Path) -> None:
    pixels = np.zeros((4, 8), np.uint8)
    pixels[:, 2:6] = np.array([[10, 10, 90, 90]] * 2 + [[50, 50, 200, 200]] * 2)
    path = saved(tmp_path / "a.png", pixels)
    prepared = read(path, model(1, 2, 2, 1, dtype=DType.UINT8), ImageOptions(resize="nearest"))
    assert only(prepared)[0, :, :, 0].tolist() == [[10, 90], [50, 200]]
    assert prepared.done == (
        "8 x 4 grayscale, cut to the middle 4 x 4, resized (nearest) to 2 x 2; "
        "a pixel's byte is the uint8 input"
    )
    stretched = read(path, model(1, 2, 2, 1, dtype=DType.UINT8), ImageOptions(crop="none"))
    assert stretched.done.startswith("8 x 4 grayscale, resized (bilinear) to 2 x 2;")
    assert only(stretched).tolist() != only(prepared).tolist()


def test_grey_in_three_channels_and_signed_bytes(tmp_path: Path) -> None:
    path = saved(tmp_path / "a.bmp", GRAY)
    options = ImageOptions(channels="grayscale", pixels="signed")
    prepared = read(path, model(1, 3, 4, 3), options)
    np.testing.assert_array_equal(only(prepared)[0, :, :, 1], GRAY.view(np.int8))
    assert "bytes are signed, repeated in 3 channels" in prepared.done


def test_images_that_cannot_be_inputs(tmp_path: Path) -> None:
    path = saved(tmp_path / "a.png", GRAY)
    assert refused(path, model(1, 12)) == (
        "an image needs an input of one image of 1 or 3 channels, as 1x96x96x3; 'x' is 1x12",
        "prepare the image yourself and give it as .npy",
    )
    assert refused(path, model(1, 3, 4, 1), ImageOptions(channels="rgb")) == (
        "the input has one channel, the project file reads images as rgb",
        "write channels: grayscale in run.preprocess, or leave it out",
    )
    assert refused(path, model(1, 3, 4, 1), ImageOptions(mean=(1.0, 2.0))) == (
        "'mean' has 2 values, the input 1 channel",
        "give one number, or one for every channel",
    )
    assert refused(path, model(1, 3, 4, 1, scale=None), ImageOptions(std=2.0)) == (
        "the input 'x' is int8 without a scale: real numbers cannot be quantised for it",
        "give int8 values as .npy",
    )
    bad = tmp_path / "bad.jpg"
    bad.write_bytes(b"no image")
    assert refused(bad, model(1, 3, 4, 1)) == (
        "the image cannot be read: 'bad.jpg' holds no image of a known format",
        "save it again as BMP, PNG, JPEG or PPM",
    )


def test_images_without_pillow_name_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = saved(tmp_path / "a.png", GRAY)
    real_import: Callable[..., Any] = builtins.__import__

    def without(name: str, *arguments: Any, **options: Any) -> Any:
        if name.split(".")[0] == "PIL":
            raise ImportError(name)
        return real_import(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    assert refused(path, model(1, 3, 4, 1)) == (
        "images are read by Pillow, which is not installed",
        "pip install 'uhost[images]'",
    )


# Which kind, labels, the project file, the extra.


def test_files_of_no_kind_and_of_another_kind(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("1")
    assert refused(tmp_path / "a.txt", model(1, 4)) == (
        "input files end in .bin, .bmp, .jpeg, .jpg, .npy, .npz, .pgm, .png, .ppm or .wav, not "
        "'.txt'",
        "convert it, for example with numpy.save",
    )
    assert refused(tmp_path / "none.wav", model(1, 4)) == (
        f"there is no input file '{tmp_path / 'none.wav'}'",
        "check the path",
    )
    path = recorded(tmp_path / "a.wav", TONE)
    assert refused(path, model(1, 4), ImageOptions()) == (
        "the input is of kind audio, the project file preprocesses image",
        "write kind: audio in run.preprocess, or give another file",
    )
    np.save(tmp_path / "a.npy", np.ones((1, 4), np.int8))
    assert only(read(tmp_path / "a.npy", model(1, 4), ImageOptions())).tolist() == [[1, 1, 1, 1]]


def test_every_kind_of_input_has_its_name_and_suffixes_of_its_own() -> None:
    suffixes = [suffix for kind in INPUTS for suffix in kind.suffixes]
    assert len(suffixes) == len(set(suffixes))
    for name in INPUTS.names():
        if (options := INPUTS[name].options) is not None:
            assert msgspec.inspect.type_info(options).tag == name  # type: ignore[attr-defined]


def test_labels_of_lists_and_files(tmp_path: Path) -> None:
    plain, numbered = tmp_path / "plain.txt", tmp_path / "numbered.txt"
    plain.write_text("cat\n2 dogs\n\n")
    numbered.write_text("0  cat\n1  two dogs\n")
    assert labels_of(str(plain), "m", 2) == ("cat", "2 dogs")
    assert labels_of(str(numbered), "m", 2) == ("cat", "two dogs")
    assert labels_of({"m": ["a", "b"], "n": str(plain)}, "m", 2) == ("a", "b")
    assert labels_of({"n": str(plain)}, "m", None) == ()


@pytest.mark.parametrize(
    ("value", "scores", "what"),
    [
        (["a"], 2, "there are 1 labels, 'm' gives 2 scores"),
        (["a"], None, "'m' gives no scores of classes that labels could name"),
        ("none.txt", 2, "the file of labels cannot be read: No such file or directory"),
        ("latin.txt", 2, "the file of labels is not text in UTF-8"),
    ],
)
def test_labels_that_cannot_be_used(
    tmp_path: Path, value: Any, scores: int | None, what: str
) -> None:
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9")
    given = str(tmp_path / value) if isinstance(value, str) else value
    with pytest.raises(ConfigError) as caught:
        labels_of(given, "m", scores)
    assert caught.value.what == what
    assert caught.value.fix


def test_paths_in_a_project_file_start_at_it(tmp_path: Path) -> None:
    text = (
        "board: host\nrun:\n  preprocess:\n    m: {kind: audio, model: f.tflite, stride_ms: 10}\n"
        "  labels: {m: l.txt, n: [yes, no]}\n"
    )
    run = resolved(tmp_path, text).run
    assert run.preprocess == {"m": AudioOptions(model=str(tmp_path / "f.tflite"), stride_ms=10.0)}
    assert run.labels == {"m": str(tmp_path / "l.txt"), "n": ["yes", "no"]}
    assert resolved(tmp_path, text, {("run", "labels"): ("x.txt", "--labels")}).run.labels == (
        "x.txt"
    )


@pytest.mark.parametrize(
    ("options", "what", "fix"),
    [
        ("{kind: imge}", "wrong value: invalid value 'imge'", "did you mean 'image'? "),
        ("{kind: image, cropp: none}", "unknown key 'cropp'", "did you mean 'crop'? "),
        ("{kind: image, std: 0}", "wrong value: ", "expected a number above 0"),
    ],
)
def test_mistakes_in_preprocess(tmp_path: Path, options: str, what: str, fix: str) -> None:
    text = f"board: host\nrun:\n  preprocess:\n    m: {options}\n"
    found = refusal(tmp_path, text)
    assert found[0].startswith(what)
    assert found[1].startswith("uhost.yaml:4, key run.preprocess.m")
    assert found[2].startswith(fix)


def test_pillow_is_an_extra_that_the_tests_have_and_nothing_imports_it_early() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert not [one for one in project["dependencies"] if one.startswith("pillow")]
    extras = project["optional-dependencies"]
    assert [one for one in extras["images"] if one.startswith("pillow")]
    assert [one for one in extras["test"] if one.startswith("uhost[") and "images" in one]
    assert "uhost[test]" in extras["dev"]
    assert "PIL" in sys.modules  # by this test
    for name in INPUTS.names():
        assert "PIL" not in vars(sys.modules[f"uhost.inputs.{name}"])
