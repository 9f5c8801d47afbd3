"""C2, the project file `uhost.yaml`: what the user wrote for one pipeline.

The structs below are the one schema: of the file, of its JSON Schema for editors, and of
what the command line may set. Options of executors, runtimes and pools are the fields of
their dataclasses in `uhost/config/compilation.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Union, get_type_hints

import msgspec
from msgspec import UNSET, Meta, UnsetType, inspect

from uhost.config._findings import describe
from uhost.config._yaml import YamlFile, read_yaml
from uhost.config.compilation import Executor, Numerics, Optimize, Pool, Runtime
from uhost.errors import ConfigError
from uhost.inputs._input import INPUTS

FILE_NAME = "uhost.yaml"
TITLE = "uhost project file"


Size = Annotated[int, Meta(ge=1)] | str
"""Bytes, or text as `64k`, `256KiB` or `1M`."""


def options_of(kind: type) -> type[msgspec.Struct]:
    """Returns a struct of a dataclass's fields but `name`, each of them optional."""
    hints = get_type_hints(kind, include_extras=True)
    options = [(f.name, hints[f.name] | UnsetType, UNSET) for f in fields(kind) if f.name != "name"]
    return msgspec.defstruct(
        f"{kind.__name__}Options", options, frozen=True, forbid_unknown_fields=True
    )


if TYPE_CHECKING:
    ExecutorOptions = Any
    RuntimeOptions = Any
else:
    ExecutorOptions = options_of(Executor)
    RuntimeOptions = options_of(Runtime)


class TargetOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Options of one device target; what is left out is the board's, then the kind's own."""

    cpu: Annotated[str, Meta(description="A CPU of the target kind.")] | UnsetType = UNSET
    features: (
        Annotated[tuple[str, ...], Meta(description="Instruction-set features that code may use.")]
        | UnsetType
    ) = UNSET
    libraries: (
        Annotated[
            tuple[str, ...],
            Meta(description="Kernel libraries, the preferred first."),
        ]
        | UnsetType
    ) = UNSET


class ExecutorSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The executor, and its options."""

    aot: ExecutorOptions | UnsetType = UNSET


class RuntimeSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The runtime, and its options."""

    crt: RuntimeOptions | UnsetType = UNSET


class PoolsSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Memory pools; a list replaces the board's."""

    workspace: (
        Annotated[list[Pool], Meta(description="Where the arena may lie. Default: the RAM.")]
        | UnsetType
    ) = UNSET
    constants: (
        Annotated[list[Pool], Meta(description="Where weights may lie. Default: the flash.")]
        | UnsetType
    ) = UNSET


class PassesSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How passes do their work."""

    opt_level: (
        Annotated[int, Meta(ge=0, le=3, description="Passes up to this level run.")] | UnsetType
    ) = UNSET
    required: (
        Annotated[tuple[str, ...], Meta(description="Passes that run at any level.")] | UnsetType
    ) = UNSET
    disabled: (
        Annotated[tuple[str, ...], Meta(description="Passes that do not run.")] | UnsetType
    ) = UNSET
    options: (
        Annotated[dict[str, dict[str, Any]], Meta(description="Pass name → its options.")]
        | UnsetType
    ) = UNSET
    dump: (
        Annotated[str, Meta(description="A folder for the graph's text after each pass.")]
        | UnsetType
    ) = UNSET
    check: (
        Annotated[bool, Meta(description="Check after each pass that results are the same.")]
        | UnsetType
    ) = UNSET
    time: Annotated[bool, Meta(description="Tell how long each pass took.")] | UnsetType = UNSET


def _preprocessings() -> dict[str, type[msgspec.Struct]]:
    """Returns kind → its options, of the kinds of input that have some."""
    kinds = ((name, INPUTS[name].options) for name in INPUTS.names())
    return {name: options for name, options in kinds if options is not None}


if TYPE_CHECKING:
    Preprocess = Any
else:
    Preprocess = Union[tuple(_preprocessings().values())]  # noqa: UP007


class RunSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What `uhost run` does."""

    on: Annotated[str, Meta(description="The runner.")] | UnsetType = UNSET
    input: (
        Annotated[str | dict[str, str], Meta(description="Input file, or model → input file.")]
        | UnsetType
    ) = UNSET
    quantize_input: (
        Annotated[
            bool,
            Meta(description="Quantise floats of the input file as the model's input is."),
        ]
        | UnsetType
    ) = UNSET
    preprocess: (
        Annotated[
            dict[str, Preprocess],
            Meta(
                description="Model → how an image or a recording becomes its input: "
                f"{' or '.join(f'`kind: {name}`' for name in _preprocessings())}, and keys of it."
            ),
        ]
        | UnsetType
    ) = UNSET
    labels: (
        Annotated[
            str | list[str] | dict[str, str | list[str]],
            Meta(
                description="Names of the classes, in order: a file of one a line, a list, or "
                "model → either."
            ),
        ]
        | UnsetType
    ) = UNSET
    output: Annotated[str, Meta(description="The .npz file for outputs.")] | UnsetType = UNSET
    verify: (
        Annotated[bool, Meta(description="Compare every layer with the reference.")] | UnsetType
    ) = UNSET
    reset_each: (
        Annotated[bool, Meta(description="Reset the model's state before every sample.")]
        | UnsetType
    ) = UNSET


class VerifySection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What `uhost verify` does."""

    on: Annotated[str, Meta(description="The runner.")] | UnsetType = UNSET
    golden: (
        Annotated[
            str | dict[str, str],
            Meta(description="Samples with expected outputs, or model → samples."),
        ]
        | UnsetType
    ) = UNSET
    quantize_input: (
        Annotated[
            bool,
            Meta(description="Quantise floats of the golden inputs as the model's input is."),
        ]
        | UnsetType
    ) = UNSET
    reset_each: (
        Annotated[bool, Meta(description="Reset the model's state before every sample.")]
        | UnsetType
    ) = UNSET


class BenchSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What `uhost bench` does."""

    on: Annotated[str, Meta(description="The runner.")] | UnsetType = UNSET
    samples: (
        Annotated[int, Meta(ge=1, description="At most so many golden samples are run.")]
        | UnsetType
    ) = UNSET
    quantize_input: (
        Annotated[
            bool,
            Meta(description="Quantise floats of the golden inputs as the model's input is."),
        ]
        | UnsetType
    ) = UNSET


class Project(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A project file; every key is optional, and the command line goes before it."""

    models: (
        Annotated[
            str | list[str] | dict[str, str],
            Meta(description="A model file, several, or name → file."),
        ]
        | UnsetType
    ) = UNSET
    input_shapes: (
        Annotated[
            dict[str, list[Annotated[int, Meta(ge=1)]]],
            Meta(description="Input, or MODEL.INPUT → its shape, where the model leaves it open."),
        ]
        | UnsetType
    ) = UNSET
    board: (
        Annotated[str, Meta(description="A board, a chip, or the path of a board file.")]
        | UnsetType
    ) = UNSET
    host: Annotated[str, Meta(description="What drives the device: this machine.")] | UnsetType = (
        UNSET
    )
    targets: (
        Annotated[
            dict[str, TargetOptions],
            Meta(description="Device targets in order, each with its options."),
        ]
        | UnsetType
    ) = UNSET
    executor: ExecutorSection | UnsetType = UNSET
    runtime: RuntimeSection | UnsetType = UNSET
    pools: PoolsSection | UnsetType = UNSET
    numerics: (
        Annotated[Numerics, Meta(description="Whose integer results are reproduced.")] | UnsetType
    ) = UNSET
    optimize: (
        Annotated[
            Optimize,
            Meta(
                description="What kernels are chosen for. speed: fewest cycles, whatever the order "
                "of instructions; cycles: fewest cycles of the core's model, which rewards an "
                "order made for the core, at the price of more instructions; size: least "
                "flash; balanced: more flash where it saves a greater share of cycles; ram: the "
                "smallest arena for at most 1.2 times the cycles of speed."
            ),
        ]
        | UnsetType
    ) = UNSET
    flash_limit: (
        Annotated[Size, Meta(description="Most flash of the models' code and constants: 256KiB.")]
        | UnsetType
    ) = UNSET
    ram_limit: (
        Annotated[Size, Meta(description="Most RAM of the models' arenas: 64k.")] | UnsetType
    ) = UNSET
    kernels: (
        Annotated[dict[str, str], Meta(description="Operator, or MODEL.OPERATOR → kernel library.")]
        | UnsetType
    ) = UNSET
    passes: PassesSection | UnsetType = UNSET
    toolchain: (
        Annotated[str, Meta(description="What compiles the C: a file of uhost/toolchain.")]
        | UnsetType
    ) = UNSET
    output: Annotated[str, Meta(description="The folder `uhost build` writes.")] | UnsetType = UNSET
    run: RunSection | UnsetType = UNSET
    verify: VerifySection | UnsetType = UNSET
    bench: BenchSection | UnsetType = UNSET


@dataclass(frozen=True, slots=True)
class DescribedField:
    """A key of a section: its plain type, its choices where it has some, and what it means."""

    name: str
    kind: type | None
    is_list: bool
    choices: tuple[object, ...]
    type_text: str
    description: str
    section: type[msgspec.Struct] | None = None


def described_fields(struct: type) -> Iterator[DescribedField]:
    """Yields the keys of a struct or dataclass, as options and documents show them."""
    info = inspect.type_info(struct)
    assert isinstance(info, inspect.StructType | inspect.DataclassType)
    for declared in info.fields:
        kind, description = _described(declared.type)
        yield DescribedField(
            declared.encode_name,
            {inspect.IntType: int, inspect.BoolType: bool, inspect.StrType: str}.get(
                type(kind), int if _integers(kind) else None
            ),
            isinstance(kind, inspect.ListType | inspect.VarTupleType),
            tuple(kind.values) if isinstance(kind, inspect.LiteralType) else (),
            describe(kind),
            description,
            kind.cls if isinstance(kind, inspect.StructType) else None,
        )


def _described(kind: inspect.Type) -> tuple[inspect.Type, str]:
    """Returns a type without its unset and null alternatives, and its description."""
    text = ""
    while True:
        if isinstance(kind, inspect.Metadata):
            text = text or str((kind.extra_json_schema or {}).get("description", ""))
            kind = kind.type
        elif isinstance(kind, inspect.UnionType):
            types = [t for t in kind.types if not isinstance(t, inspect.NoneType)]
            if len(types) != 1:
                return kind, text
            kind = types[0]
        else:
            return kind, text


def _integers(kind: inspect.Type) -> bool:
    return isinstance(kind, inspect.LiteralType) and all(isinstance(v, int) for v in kind.values)


SECTIONS: Mapping[str, type[msgspec.Struct]] = MappingProxyType(
    {"run": RunSection, "verify": VerifySection, "bench": BenchSection}
)
"""Verb → the section that says what it does."""


def read_project(path: Path) -> YamlFile[Project]:
    """Returns the project file; raises one `ConfigError` with every mistake of its keys."""
    return read_yaml(path, Project, ConfigError)


def find_project(given: Path | None, folder: Path) -> Path | None:
    """Returns the project file: the one given, else `uhost.yaml` in `folder`, else None."""
    if given is None:
        path = folder / FILE_NAME
        return path if path.is_file() else None
    path = given / FILE_NAME if given.is_dir() else given
    if not path.is_file():
        raise ConfigError(
            f"there is no project file '{path}'",
            fix=f"give the path of a {FILE_NAME}, or make a project with `uhost new`",
        )
    return path


def leaves(plain: dict[str, Any]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yields (keys, value) of every key that holds no further keys, in order.

    `models` is one value however it is written. An empty mapping is yielded as it is: it
    selects a target, an executor or a runtime without options.
    """
    pending: list[tuple[tuple[str, ...], Any]] = [((), plain)]
    while pending:
        keys, value = pending.pop(0)
        if isinstance(value, dict) and (value or not keys) and keys not in _WHOLE:
            pending[:0] = [((*keys, str(key)), inner) for key, inner in value.items()]
        else:
            yield keys, value


_WHOLE = (
    *(("models",), ("input_shapes",), ("verify", "golden")),
    *(("run", "input"), ("run", "preprocess"), ("run", "labels")),
)


def json_schema() -> str:
    """Returns the JSON Schema of a project file, for editors."""
    schema = msgspec.json.schema(Project)
    for definition in schema["$defs"].values():
        definition["additionalProperties"] = False  # of dataclasses too
        if tag := definition["properties"].get("kind"):
            tag["description"] = "Selects what the other keys are of."
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": TITLE}
    return msgspec.json.format(msgspec.json.encode({**head, **schema}), indent=2).decode() + "\n"
