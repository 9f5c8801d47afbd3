"""Reading samples, and comparing what a device gave with what was expected."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from uhost.errors import ConfigError
from uhost.ir.dtype import DType
from uhost.ir.graph import Graph, Operator
from uhost.ir.tensor import Quantization, Tensor
from uhost.ops.relu import ReluAttributes
from uhost.runtime.evaluation import compare
from uhost.runtime.samples import random_sample, read_golden, read_samples

Q = Quantization((0.5,), (0,))


@pytest.fixture
def graph() -> Graph:
    tensors = {n: Tensor(n, (1, 3), DType.INT8, Q) for n in ("x", "y")}
    operator = Operator("r", "relu", ("x",), ("y",), ReluAttributes())
    return Graph("g", tensors, (operator,), ("x",), ("y",))


def test_npz_with_samples_goldens_and_labels(graph: Graph, tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    zeros, ones = np.zeros((1, 3), np.int8), np.ones((1, 3), np.int8)
    np.savez(
        path,
        s0_in_0=zeros,
        s0_out_0=ones,
        s0_tflm_0=zeros,
        s1_in_0=ones,
        s1_out_0=ones,
        labels=np.array([1, 0]),
        classes=np.array(["cat", "dog"]),
    )
    samples = read_samples(path, graph)
    assert samples.classes == ("cat", "dog")
    assert [item.label for item in samples.items] == ["dog", "cat"]
    # Where both are given, what TFLite Micro computes is what the numerics promise.
    assert np.array_equal(samples.items[0].expected[0], zeros)
    assert np.array_equal(samples.items[1].expected[0], ones)


def test_npz_by_name_and_alone(graph: Graph, tmp_path: Path) -> None:
    value = np.array([[1, 2, 3]], np.int8)
    np.savez(tmp_path / "named.npz", x=value)
    np.savez(tmp_path / "alone.npz", whatever=value)
    for name in ("named.npz", "alone.npz"):
        assert np.array_equal(read_samples(tmp_path / name, graph).items[0].inputs[0], value)


def test_npy_and_bin_may_hold_several_samples(graph: Graph, tmp_path: Path) -> None:
    values = np.arange(6, dtype=np.int8)
    np.save(tmp_path / "a.npy", values.reshape(2, 3))
    (tmp_path / "a.bin").write_bytes(values.tobytes())
    for name in ("a.npy", "a.bin"):
        samples = read_samples(tmp_path / name, graph)
        assert [item.inputs[0].tolist() for item in samples.items] == [[[0, 1, 2]], [[3, 4, 5]]]


def _npy_of_floats(path: Path) -> Path:
    np.save(path / "f.npy", np.zeros(3, np.float32))
    return path / "f.npy"


def _bin_of_four(path: Path) -> Path:
    (path / "f.bin").write_bytes(b"1234")
    return path / "f.bin"


def _text(path: Path) -> Path:
    (path / "f.txt").write_text("1 2 3")
    return path / "f.txt"


def _no_zip(path: Path) -> Path:
    (path / "f.npz").write_bytes(b"not a zip file")
    return path / "f.npz"


def _second_output(path: Path) -> Path:
    np.savez(path / "f.npz", s0_in_0=np.zeros(3, np.int8), s0_out_1=np.zeros(3, np.int8))
    return path / "f.npz"


def _no_input(path: Path) -> Path:
    np.savez(path / "f.npz", s0_out_0=np.zeros(3, np.int8))
    return path / "f.npz"


def _numbered(*numbers: int) -> dict[str, Any]:
    return {f"s{number}_in_0": np.zeros(3, np.int8) for number in numbers}


def _gap(path: Path) -> Path:
    np.savez(path / "f.npz", **_numbered(0, 2, 3))
    return path / "f.npz"


def _no_first(path: Path) -> Path:
    np.savez(path / "f.npz", **_numbered(1))
    return path / "f.npz"


def _wide_output(path: Path) -> Path:
    np.savez(path / "f.npz", **_numbered(0), s0_tflm_0=np.zeros(4, np.int8))
    return path / "f.npz"


def _two_of_floats(path: Path) -> Path:
    np.save(path / "f.npy", np.zeros((2, 1, 3), np.float32))
    return path / "f.npy"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (_npy_of_floats, "the input 'x' is int8, the file has float32"),
        (_bin_of_four, "the input 'x' takes 3 B a sample, the file has 4 B"),
        (_text, r"input files end in .npz, .npy or .bin, not '.txt'"),
        (_no_zip, "the input file cannot be read"),
        (_second_output, "'s0_out_1' is for an output the model does not have"),
        (_no_input, "the file has no array 's0_in_0', the input 'x'"),
        (_gap, "the file has no sample 1, but a sample 3"),
        (_no_first, "the file has no sample 0, but a sample 1"),
        (_wide_output, "'y' is int8 of shape 1x3, the file has int8 of shape 4"),
        (_two_of_floats, "the input 'x' is int8, the file has float32"),
        (lambda path: path / "none.npy", "there is no input file"),
    ],
)
def test_a_wrong_file_is_refused(graph: Graph, tmp_path: Path, make: object, message: str) -> None:
    assert callable(make)
    with pytest.raises(ConfigError, match=message):
        read_samples(make(tmp_path), graph)


def test_a_missing_input_and_a_wrong_output_are_named_by_their_keys(
    graph: Graph, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError) as caught:
        read_samples(_no_input(tmp_path), graph)
    assert caught.value.fix == "add it: int8 of shape 1x3"
    with pytest.raises(ConfigError) as caught:
        read_samples(_wide_output(tmp_path), graph)
    assert caught.value.where == f"{tmp_path / 'f.npz'}: s0_tflm_0"


def test_a_golden_file_says_what_every_sample_gives(graph: Graph, tmp_path: Path) -> None:
    path, one = tmp_path / "g.npz", np.ones(3, np.int8)
    np.savez(path, **_numbered(0, 1), s0_out_0=one, s1_tflm_0=one)
    assert [item.expected[0].tolist() for item in read_golden(path, graph).items] == [[[1] * 3]] * 2

    np.savez(path, **_numbered(0, 1, 2), s1_out_0=one)
    with pytest.raises(ConfigError) as caught:
        read_golden(path, graph)
    assert caught.value.what == (
        "the golden file has no expected output for 2 of 3 samples, the first of them sample 0"
    )
    assert caught.value.fix == "add s0_out_0 or s0_tflm_0, or leave the sample out"


@pytest.mark.parametrize("name", ["g.npz", "g.npy", "g.bin"])
def test_a_golden_file_without_expected_outputs(graph: Graph, tmp_path: Path, name: str) -> None:
    zeros = np.zeros(3, np.int8)
    np.savez(tmp_path / "g.npz", s0_in_0=zeros)
    np.save(tmp_path / "g.npy", zeros)
    (tmp_path / "g.bin").write_bytes(bytes(3))
    with pytest.raises(ConfigError) as caught:
        read_golden(tmp_path / name, graph)
    assert caught.value.what == "the golden file has no expected outputs"
    assert caught.value.where == str(tmp_path / name)
    assert "s<k>_out_<i> or s<k>_tflm_<i>" in caught.value.fix


def test_random_samples_are_seeded(graph: Graph) -> None:
    one, two = random_sample(graph), random_sample(graph)
    assert np.array_equal(one.inputs[0], two.inputs[0])
    assert one.inputs[0].dtype == np.int8


def test_integers_must_be_equal() -> None:
    a = np.array([1, 2, 3], np.int8)
    assert compare("t", "s", a, a.copy()).exact
    off = compare("t", "s", a, np.array([1, 2, -3], np.int8))
    assert (off.exact, off.matches, off.max_difference) == (False, False, 6.0)


def test_floats_match_within_the_tolerance_of_their_tensor() -> None:
    reference = np.array([100.0, 0.0], np.float32)
    near = compare("t", "s", np.array([100.0, 9e-4], np.float32), reference)
    assert (near.exact, near.matches) == (False, True)
    far = compare("t", "s", np.array([100.0, 2e-3], np.float32), reference)
    assert not far.matches
    nan = np.array([np.nan, np.inf], np.float32)
    assert compare("t", "s", nan, nan.copy()).matches
    assert not compare("t", "s", nan, reference).matches
    assert not compare("t", "s", reference, nan).matches
