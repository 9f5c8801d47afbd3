"""Samples: the inputs of inferences, and what is known of their right outputs."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from uhost.errors import ConfigError
from uhost.ir.graph import Graph
from uhost.ir.tensor import Array, Tensor
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


def read_samples(path: Path, graph: Graph) -> Samples:
    """Returns the samples of an `.npz`, `.npy` or `.bin` file for the inputs of `graph`.

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
                return _from_npz({key: archive[key] for key in archive.files}, path, graph)
        if suffix == ".npy":
            return _from_array(np.load(path, allow_pickle=False), path, graph)
    except (ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise ConfigError(
            f"the input file cannot be read: {error}", str(path), "save it with numpy again"
        ) from error
    if suffix == ".bin":
        return _from_bytes(path.read_bytes(), path, graph)
    raise ConfigError(
        f"input files end in .npz, .npy or .bin, not '{suffix}'",
        where=str(path),
        fix="convert it, for example with numpy.save",
    )


def _from_npz(arrays: dict[str, Array], path: Path, graph: Graph) -> Samples:
    numbered: dict[int, dict[str, dict[int, Array]]] = {}
    for key, array in arrays.items():
        if found := _KEY.fullmatch(key):
            number, what, index = int(found[1]), found[2], int(found[3])
            numbered.setdefault(number, {}).setdefault(what, {})[index] = array
    classes = tuple(str(c) for c in arrays.get("classes", np.array([])))
    if not numbered:
        return Samples((_by_name(arrays, path, graph),), classes)
    items: list[Sample] = []
    labels = [str(v) for v in arrays.get("labels", np.array([])).reshape(-1)]
    for number, parts in sorted(numbered.items()):
        inputs = {
            index: _fit(parts.get("in", {}).get(index), graph.tensors[name], path, f"s{number}_in")
            for index, name in enumerate(graph.inputs)
        }
        expected = {**parts.get("out", {}), **parts.get("tflm", {})}
        for index, array in expected.items():
            if index >= len(graph.outputs):
                raise ConfigError(
                    f"'s{number}_out_{index}' is for an output the model does not have",
                    where=str(path),
                    fix=f"the model has {len(graph.outputs)} output(s)",
                )
            expected[index] = _fit(
                array, graph.tensors[graph.outputs[index]], path, f"s{number}_out"
            )
        label = labels[number] if number < len(labels) else None
        items.append(Sample(inputs, expected, _class_name(label, classes)))
    return Samples(tuple(items), classes)


def _class_name(label: str | None, classes: Sequence[str]) -> str | None:
    if label is not None and label.isdigit() and int(label) < len(classes):
        return classes[int(label)]
    return label


def _by_name(arrays: dict[str, Array], path: Path, graph: Graph) -> Sample:
    missing = [name for name in graph.inputs if name not in arrays]
    if missing and not (len(graph.inputs) == 1 and len(arrays) == 1):
        raise ConfigError(
            f"the file holds no array for the input '{missing[0]}'",
            where=f"{path}: {', '.join(arrays) or 'empty'}",
            fix=f"name the arrays {', '.join(graph.inputs)}, or s0_in_0, s0_in_1, …",
        )
    if missing:
        return Sample({0: _fit(next(iter(arrays.values())), graph.tensors[missing[0]], path, "")})
    return Sample(
        {i: _fit(arrays[n], graph.tensors[n], path, n) for i, n in enumerate(graph.inputs)}
    )


def _from_array(array: Array, path: Path, graph: Graph) -> Samples:
    tensor = _only_input(graph, path)
    if tensor.elements and array.size and array.size % tensor.elements == 0:
        parts = array.reshape(-1, tensor.elements)
        return Samples(tuple(Sample({0: _fit(p, tensor, path, tensor.name)}) for p in parts))
    return Samples((Sample({0: _fit(array, tensor, path, tensor.name)}),))


def _from_bytes(content: bytes, path: Path, graph: Graph) -> Samples:
    tensor = _only_input(graph, path)
    if not content or len(content) % tensor.size_bytes:
        raise ConfigError(
            f"the input '{tensor.name}' takes {tensor.size_bytes:,} B a sample, the file has "
            f"{len(content):,} B",
            where=str(path),
            fix=f"give {tensor.dtype} values in row-major order",
        )
    return _from_array(np.frombuffer(content, tensor.dtype.numpy), path, graph)


def _only_input(graph: Graph, path: Path) -> Tensor:
    if len(graph.inputs) != 1:
        raise ConfigError(
            f"the model has {len(graph.inputs)} inputs, the file holds one array",
            where=str(path),
            fix="give an .npz file with one array per input",
        )
    return graph.tensors[graph.inputs[0]]


def _fit(array: Array | None, tensor: Tensor, path: Path, key: str) -> Array:
    if array is None:
        raise ConfigError(f"the file has no array for '{tensor.name}' ({key}_…)", str(path))
    if array.dtype != tensor.dtype.numpy or array.size != tensor.elements:
        shape = "x".join(map(str, tensor.shape)) or "scalar"
        given = "x".join(map(str, array.shape)) or "scalar"
        raise ConfigError(
            f"'{tensor.name}' is {tensor.dtype} of shape {shape}, the file has {array.dtype} "
            f"of shape {given}",
            where=f"{path}{': ' + key if key else ''}",
            fix="convert the array to that type and shape",
        )
    return array.reshape(tensor.shape)
