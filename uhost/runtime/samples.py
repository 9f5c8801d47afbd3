"""Samples: the inputs of inferences, and what is known of their right outputs."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from uhost.errors import ConfigError
from uhost.ir.graph import Graph
from uhost.ir.tensor import Array, Tensor
from uhost.numerics.affine import quantize as quantize_real
from uhost.ops._inputs import random_inputs

_KEY = re.compile(r"s(\d+)_(in|out|tflm)_(\d+)")


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Input index → array; expected output index → array; the class's name, where known."""

    inputs: Mapping[int, Array]
    expected: Mapping[int, Array] = field(default_factory=dict)
    label: str | None = None


@dataclass(frozen=True, slots=True)
class Samples:
    """Samples in order, and the names of the classes a classifier's output stands for."""

    items: tuple[Sample, ...]
    classes: tuple[str, ...] = ()


def random_sample(graph: Graph, seed: int = 0) -> Sample:
    """Returns one seeded random sample: whole range for integers, standard normal for floats."""
    return Sample(dict(enumerate(random_inputs(graph, seed))))


def read_samples(path: Path, graph: Graph, quantize: bool = False) -> Samples:
    """Returns the samples of an `.npz`, `.npy` or `.bin` file for the inputs of `graph`.

    With `quantize`, floats for a quantised input are quantised, and a `.bin` file for one
    holds float32 values.

    An `.npz` holds `s<k>_in_<i>` (and `s<k>_out_<i>`, `s<k>_tflm_<i>`, `labels`,
    `classes`), or one array per input under its name. An `.npy` or raw `.bin` file
    serves models of one input: one sample, or several one after another.
    Raises `ConfigError` with file, key, and the shape and type that was expected.
    """
    if not path.is_file():
        raise ConfigError(f"there is no input file '{path}'", fix="check the path")
    suffix = path.suffix.lower()
    try:
        if suffix == ".npz":
            with np.load(path, allow_pickle=False) as archive:
                arrays = {key: archive[key] for key in archive.files}
                return _from_npz(arrays, path, graph, quantize)
        if suffix == ".npy":
            return _from_array(np.load(path, allow_pickle=False), path, graph, quantize)
    except (ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise ConfigError(
            f"the input file cannot be read: {error}", str(path), "save it with numpy again"
        ) from error
    if suffix == ".bin":
        return _from_bytes(path.read_bytes(), path, graph, quantize)
    raise ConfigError(
        f"input files end in .npz, .npy or .bin, not '{suffix}'",
        where=str(path),
        fix="convert it, for example with numpy.save",
    )


def relabelled(samples: Samples, classes: Sequence[str]) -> Samples:
    """Returns samples whose classes have the names `classes`, theirs among them by number."""
    items = [replace(item, label=_class_name(item.label, classes)) for item in samples.items]
    return Samples(tuple(items), tuple(classes))


def read_golden(path: Path, graph: Graph, quantize: bool = False) -> Samples:
    """Returns the samples of a file that says of each what the model is to make of it.

    Raises `ConfigError` as `read_samples` does, and where a sample has no expected output.
    """
    samples = read_samples(path, graph, quantize)
    without = [number for number, item in enumerate(samples.items) if not item.expected]
    if len(without) == len(samples.items):
        raise ConfigError(
            "the golden file has no expected outputs",
            where=str(path),
            fix="give an .npz file with the keys s<k>_out_<i> or s<k>_tflm_<i> beside s<k>_in_<i>",
        )
    if without:
        raise ConfigError(
            f"the golden file has no expected output for {len(without)} of "
            f"{len(samples.items)} samples, the first of them sample {without[0]}",
            where=str(path),
            fix=f"add s{without[0]}_out_0 or s{without[0]}_tflm_0, or leave the sample out",
        )
    return samples


def _from_npz(arrays: dict[str, Array], path: Path, graph: Graph, quantize: bool) -> Samples:
    numbered: dict[int, dict[str, dict[int, Array]]] = {}
    for key, array in arrays.items():
        if found := _KEY.fullmatch(key):
            number, what, index = int(found[1]), found[2], int(found[3])
            numbered.setdefault(number, {}).setdefault(what, {})[index] = array
    classes = tuple(str(c) for c in arrays.get("classes", np.array([])))
    if not numbered:
        return Samples((_by_name(arrays, path, graph, quantize),), classes)
    _refuse_gaps(numbered, path)
    items: list[Sample] = []
    labels = [str(v) for v in arrays.get("labels", np.array([])).reshape(-1)]
    for number, parts in sorted(numbered.items()):
        inputs = {
            index: _feed(parts.get("in", {}).get(index), graph.tensors[name], path, key, quantize)
            for index, name in enumerate(graph.inputs)
            for key in [f"s{number}_in_{index}"]
        }
        expected: dict[int, Array] = {}
        for what in ("out", "tflm"):  # of an output given both ways, the latter counts
            for index, array in parts.get(what, {}).items():
                key = f"s{number}_{what}_{index}"
                if index >= len(graph.outputs):
                    raise ConfigError(
                        f"'{key}' is for an output the model does not have",
                        where=str(path),
                        fix=f"the model has {len(graph.outputs)} output(s)",
                    )
                expected[index] = _fit(array, graph.tensors[graph.outputs[index]], path, key)
        label = labels[number] if number < len(labels) else None
        items.append(Sample(inputs, expected, _class_name(label, classes)))
    return Samples(tuple(items), classes)


def _refuse_gaps(numbers: Collection[int], path: Path) -> None:
    """Raises `ConfigError` unless the samples are 0, 1, 2, …: results are told by number."""
    missing = next(number for number in range(len(numbers) + 1) if number not in numbers)
    if missing < len(numbers):
        raise ConfigError(
            f"the file has no sample {missing}, but a sample {max(numbers)}",
            where=str(path),
            fix="number the samples from 0 without a gap: s0_in_0, s1_in_0, …",
        )


def _class_name(label: str | None, classes: Sequence[str]) -> str | None:
    if label is not None and label.isdigit() and int(label) < len(classes):
        return classes[int(label)]
    return label


def _by_name(arrays: dict[str, Array], path: Path, graph: Graph, quantize: bool) -> Sample:
    missing = [name for name in graph.inputs if name not in arrays]
    if missing and not (len(graph.inputs) == 1 and len(arrays) == 1):
        raise ConfigError(
            f"the file holds no array for the input '{missing[0]}'",
            where=f"{path}: {', '.join(arrays) or 'empty'}",
            fix=f"name the arrays {', '.join(graph.inputs)}, or s0_in_0, s0_in_1, …",
        )
    if missing:
        only = graph.tensors[missing[0]]
        return Sample({0: _feed(next(iter(arrays.values())), only, path, "", quantize)})
    return Sample(
        {
            i: _feed(arrays[n], graph.tensors[n], path, n, quantize)
            for i, n in enumerate(graph.inputs)
        }
    )


def _from_array(array: Array, path: Path, graph: Graph, quantize: bool) -> Samples:
    tensor = only_input(graph, path)
    if quantize:
        array = _quantized(array, tensor, path)
    if _whole(array, tensor) and array.dtype == tensor.dtype.numpy:
        parts = array.reshape(-1, tensor.elements)
        return Samples(tuple(Sample({0: _fit(p, tensor, path, tensor.name)}) for p in parts))
    return Samples((Sample({0: _feed(array, tensor, path, tensor.name, quantize)}),))


def _from_bytes(content: bytes, path: Path, graph: Graph, quantize: bool) -> Samples:
    tensor = only_input(graph, path)
    real = quantize and tensor.quantization is not None
    size_bytes = tensor.elements * 4 if real else tensor.size_bytes
    if not content or len(content) % size_bytes:
        raise ConfigError(
            f"the input '{tensor.name}' takes {size_bytes:,} B a sample, the file has "
            f"{len(content):,} B",
            where=str(path),
            fix=f"give {'float32' if real else tensor.dtype} values in row-major order",
        )
    kind = np.dtype("<f4") if real else tensor.dtype.numpy
    return _from_array(np.frombuffer(content, kind), path, graph, quantize)


def only_input(graph: Graph, path: Path) -> Tensor:
    """Returns the input of a model of one input; raises `ConfigError` for one of several."""
    if len(graph.inputs) != 1:
        raise ConfigError(
            f"the model has {len(graph.inputs)} inputs, the file holds one array",
            where=str(path),
            fix="give an .npz file with one array per input",
        )
    return graph.tensors[graph.inputs[0]]


def _feed(array: Array | None, tensor: Tensor, path: Path, key: str, quantize: bool) -> Array:
    """Returns an array as the input takes it; says how where it holds floats for integers."""
    if array is not None and array.dtype.kind == "f" and tensor.quantization is not None:
        if quantize:
            array = _quantized(array, tensor, path)
        elif _whole(array, tensor) and tensor.dtype.numpy.kind in "iu":
            raise ConfigError(
                f"the input '{tensor.name}' is {tensor.dtype}, the file has {array.dtype}",
                where=f"{path}{': ' + key if key else ''}",
                fix=f"give --quantize-input to quantise it, {quantization_text(tensor)}",
            )
    return _fit(array, tensor, path, key)


def _whole(array: Array, tensor: Tensor) -> bool:
    """True if an array has as many values as one sample or several."""
    return bool(array.size and tensor.elements) and array.size % tensor.elements == 0


def _quantized(array: Array, tensor: Tensor, path: Path) -> Array:
    if array.dtype.kind != "f" or tensor.dtype.numpy.kind not in "iu":
        return array
    if tensor.quantization is None:
        raise ConfigError(
            f"the input '{tensor.name}' is {tensor.dtype} without a scale: floats cannot be "
            "quantised for it",
            where=str(path),
            fix=f"give {tensor.dtype} values",
        )
    return quantize_for(array, tensor)


def quantize_for(array: Array, tensor: Tensor) -> Array:
    """Returns floats quantised as `tensor` is, rounded as the operator QUANTIZE rounds."""
    real = array.astype(np.float32)
    return quantize_real(real, tensor.scale, tensor.zero_point, tensor.dtype.numpy)


def quantization_text(tensor: Tensor) -> str:
    """Returns the scale and zero point of a quantised tensor in words."""
    return f"scale {tensor.scale:.6g} and zero point {tensor.zero_point}"


def _fit(array: Array | None, tensor: Tensor, path: Path, key: str) -> Array:
    shape = "x".join(map(str, tensor.shape)) or "scalar"
    if array is None:
        raise ConfigError(
            f"the file has no array '{key}', the input '{tensor.name}'",
            where=str(path),
            fix=f"add it: {tensor.dtype} of shape {shape}",
        )
    if array.dtype != tensor.dtype.numpy or array.size != tensor.elements:
        given = "x".join(map(str, array.shape)) or "scalar"
        raise ConfigError(
            f"'{tensor.name}' is {tensor.dtype} of shape {shape}, the file has {array.dtype} "
            f"of shape {given}",
            where=f"{path}{': ' + key if key else ''}",
            fix="convert the array to that type and shape",
        )
    return array.reshape(tensor.shape)
