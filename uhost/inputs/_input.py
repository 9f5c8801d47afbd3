"""Kinds of input files: each makes samples for a model of what the user has.

A file of this folder defines `INPUT`, an `InputKind`. Its name is the `kind` that a project
file's `run.preprocess` selects; its `options` are the other keys there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from uhost.errors import ConfigError
from uhost.registry import Registry

if TYPE_CHECKING:
    from uhost.ir.graph import Graph
    from uhost.ir.tensor import Array
    from uhost.runtime.graph_module import GraphModule
    from uhost.runtime.samples import Samples

    StartModel = Callable[[Path], GraphModule]


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file that is to become samples of `graph`.

    `options` are the kind's own, None where the project file gives none. `quantize` lets
    floats become a quantised input's integers. `start` returns an executor, on this machine,
    of a model that preprocesses.
    """

    path: Path
    graph: Graph
    options: Any
    quantize: bool
    start: StartModel


@dataclass(frozen=True, slots=True)
class Prepared:
    """The samples, and in words what was done to make them: "" for nothing."""

    samples: Samples
    done: str = ""


@dataclass(frozen=True, slots=True)
class InputKind:
    """What files of `suffixes` become; `paths` are the options that are paths of files."""

    suffixes: tuple[str, ...]
    read: Callable[[InputFile], Prepared]
    options: type[msgspec.Struct] | None = None
    paths: tuple[str, ...] = ()


INPUTS: Registry[InputKind] = Registry("uhost.inputs", "INPUT", "kind of input")


def read_input(file: InputFile) -> Prepared:
    """Returns the samples of a file, read as its suffix says.

    `file.options` may be those of any kind. Arrays are taken as they are whatever the
    options, because they were prepared before. Raises `ConfigError` for a missing file, an
    unknown suffix, and for options of another kind than the file's.
    """
    if not file.path.is_file():
        raise ConfigError(f"there is no input file '{file.path}'", fix="check the path")
    suffix = file.path.suffix.lower()
    for name in INPUTS.names():
        kind = INPUTS[name]
        if suffix not in kind.suffixes:
            continue
        given = getattr(file.options, "__struct_config__", None)
        if given is not None and kind.options is not None and given.tag != name:
            raise ConfigError(
                f"the input is of kind {name}, the project file preprocesses {given.tag}",
                where=str(file.path),
                fix=f"write kind: {name} in run.preprocess, or give another file",
            )
        return kind.read(file)
    known = sorted(suffix for kind in INPUTS for suffix in kind.suffixes)
    raise ConfigError(
        f"input files end in {', '.join(known[:-1])} or {known[-1]}, not '{suffix}'",
        where=str(file.path),
        fix="convert it, for example with numpy.save",
    )


def as_input(values: Array, file: InputFile) -> Array:
    """Returns real numbers in the type of the model's only input: float, or quantised."""
    from uhost.runtime.samples import only_input, quantize_for

    tensor = only_input(file.graph, file.path)
    if tensor.dtype.numpy.kind == "f":
        real: Array = values.astype(tensor.dtype.numpy)
        return real
    if tensor.quantization is None:
        raise ConfigError(
            f"the input '{tensor.name}' is {tensor.dtype} without a scale: real numbers cannot "
            "be quantised for it",
            where=str(file.path),
            fix=f"give {tensor.dtype} values as .npy",
        )
    return quantize_for(values, tensor)
