"""Resolves what the user wrote (C2) into constraints (C1) and the work of passes (C0), once.

Layers, the later before the earlier: built-in defaults, the board's preset, one project
file, the command line. Rules:

* no host given: this machine
* a board gives its device target
* a device target without CPU features takes its kind's
* a target kind given twice is refused
* an option for a target, an executor or a runtime that is not selected is refused
* resolving a resolved configuration gives an equal one

All mistakes of one file are told at once; nothing is dropped.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec

from uhost.config._findings import not_known, spell
from uhost.config._layers import (
    CHOSEN,
    Keys,
    Layer,
    Setting,
    Values,
    board_layer,
    command_line_layer,
    file_layer,
    is_path,
    merge,
)
from uhost.config._resolve_parts import (
    LIMITS,
    Problems,
    context_of,
    limit_of,
    one_of,
    pools_of,
    refuse_unselected,
    section,
    selected_targets,
    unboarded_targets,
)
from uhost.config._yaml import YamlFile, together
from uhost.config.board import Board, board_names, chip_names, load_board
from uhost.config.compilation import CompilationConfig, Executor, KernelChoice, Runtime
from uhost.config.pass_context import PassContext
from uhost.config.project import (
    SECTIONS,
    BenchSection,
    PassesSection,
    Project,
    RunSection,
    VerifySection,
    described_fields,
    leaves,
)
from uhost.config.target import Target
from uhost.errors import ConfigError
from uhost.kernels._kernel import library_names
from uhost.passes._pass import PASSES
from uhost.registry import Registry
from uhost.runners._runner import RUNNERS
from uhost.toolchain._toolchain import TOOLCHAINS

Models = tuple[tuple[str | None, str], ...]
Origins = Mapping[str, tuple[object, str]]

NAME_A_BOARD = "add --board NAME, such as host, stm32f746 or microbit: `uhost boards` lists them"

_DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class Resolved:
    """One pipeline: what is built (C1) and how (C0), of which models, and what is done with it.

    `models` are (name or None, path). `passes` says which instruments were asked for;
    `context` holds none. `origins` is dotted key → (value, who set it), of every value.
    """

    models: Models
    board: Board
    config: CompilationConfig
    context: PassContext
    passes: PassesSection
    toolchain: str | None
    output: str | None
    run: RunSection
    verify: VerifySection
    bench: BenchSection
    input_shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    origins: Origins = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "origins", MappingProxyType(dict(self.origins)))

    def as_project(self) -> dict[str, Any]:
        """Returns the same as the keys of a project file, with every value spelt out."""
        config = self.config
        executor = msgspec.to_builtins(config.executor)
        runtime = msgspec.to_builtins(config.runtime)
        plain: dict[str, Any] = {
            "models": _plain_models(self.models),
            "input_shapes": {key: list(shape) for key, shape in self.input_shapes.items()} or None,
            "board": str(self.board.file or self.board.name),
            "host": config.host.kind,
            "targets": {
                t.kind: {
                    "cpu": t.cpu,
                    "features": list(t.features),
                    "libraries": list(t.libraries),
                }
                for t in config.targets
            },
            "executor": {executor.pop("name"): executor},
            "runtime": {runtime.pop("name"): runtime},
            "pools": {
                "workspace": list(msgspec.to_builtins(config.workspace_pools)),
                "constants": list(msgspec.to_builtins(config.constant_pools)),
            },
            "numerics": config.numerics,
            "optimize": config.optimize,
            "flash_limit": config.flash_limit_bytes,
            "ram_limit": config.ram_limit_bytes,
            "kernels": {choice.operator: choice.library for choice in config.kernels},
            "passes": {
                "opt_level": self.context.opt_level,
                "required": list(self.context.required_passes),
                "disabled": list(self.context.disabled_passes),
                "options": {name: dict(one) for name, one in self.context.options.items()},
                **msgspec.to_builtins(self.passes),
            },
            "toolchain": self.toolchain,
            "output": self.output,
            "run": msgspec.to_builtins(self.run),
            "verify": msgspec.to_builtins(self.verify),
            "bench": msgspec.to_builtins(self.bench),
        }
        return {key: value for key, value in plain.items() if value not in (None, {})}


def resolve(values: Values, project: YamlFile[Project] | None = None) -> Resolved:
    """Returns the pipeline that the command line and a project file describe.

    `values` is keys → (value, the option that set it). Raises one `ConfigError` with every
    mistake that can be told.
    """
    written = file_layer(project) if project else {}
    typed, problems = command_line_layer(values)
    if problems:
        raise together(problems, "command line")
    board = _board(merge([written, typed]), project)
    settings = merge([board_layer(board), written, typed])
    resolved = _resolve(settings, board, problems)
    if problems:
        raise together(problems, str(project.path) if project else "command line")
    return resolved


def check_written(values: Values, project: YamlFile[Project] | None = None) -> None:
    """Raises what `resolve` raises, but allows that no board is given yet.

    Without a board, what depends on one is not checked: its CPU's features and its memory.
    """
    settings = merge([file_layer(project) if project else {}, command_line_layer(values)[0]])
    if ("board",) in settings:
        resolve(values, project)
        return
    board = load_board("host")
    rest = {keys: one for keys, one in settings.items() if keys[0] not in ("targets", "pools")}
    problems = unboarded_targets(settings)
    _resolve(merge([board_layer(board), rest]), board, problems)
    if problems:
        raise together(problems, str(project.path) if project else "command line")


def preset(board: Board) -> CompilationConfig:
    """Returns the configuration of a board about which nothing else was said."""
    return _resolve(board_layer(board), board, []).config


def _board(settings: Layer, project: YamlFile[Project] | None) -> Board:
    """Returns the board: one of `boards/` beside the project file goes before uhost's own.

    Without a project file the working folder's `boards/` adds names, and replaces none.
    """
    setting = settings.get(("board",))
    if setting is None:
        raise ConfigError("no board given", fix=NAME_A_BOARD)
    name = str(setting.value)
    folder = project.path.parent if project else Path()
    own = folder / "boards" / f"{name}.yaml"
    replaceable = project is not None or name not in (*board_names(), *chip_names())
    if not is_path(name) and replaceable and own.is_file():
        return load_board(str(own))
    try:
        return load_board(name)
    except ConfigError as error:
        if error.where or setting.origin == "command line":
            raise
        raise type(error)(error.what, setting.where, error.fix) from None


def _resolve(settings: Layer, board: Board, problems: Problems) -> Resolved:
    targets = selected_targets(settings, board, problems)
    executor, executor_options = one_of(settings, "executor", problems)
    runtime, runtime_options = one_of(settings, "runtime", problems)
    selected = dict(zip(CHOSEN, (settings["targets",].value, (executor,), (runtime,)), strict=True))
    problems += refuse_unselected(settings, selected)
    workspace = pools_of(settings, "workspace", board, problems)
    constants = pools_of(settings, "constants", board, problems)
    context = context_of(settings, problems)
    host = _host(settings, problems)
    flash_limit, ram_limit = (limit_of(settings, key, problems) for key in LIMITS)
    _check_names(settings, problems)
    config = CompilationConfig(host, (board.target,))
    if not problems:
        given = {
            key: settings[key,].value for key in ("numerics", "optimize") if (key,) in settings
        }
        try:
            config = CompilationConfig(
                host,
                targets,
                Executor(executor, **executor_options),
                Runtime(runtime, **runtime_options),
                workspace,
                constants,
                kernels=_kernels(settings),
                flash_limit_bytes=flash_limit,
                ram_limit_bytes=ram_limit,
                **given,
            )
        except ConfigError as error:
            problems.append(error)
    passes = section(settings, "passes")
    shown = {key: passes[key] for key in ("dump", "check", "time") if key in passes}
    resolved = Resolved(
        models=_models(settings),
        board=board,
        config=config,
        context=context,
        passes=msgspec.convert(shown, type=PassesSection),
        toolchain=_value(settings, "toolchain"),
        output=_value(settings, "output"),
        run=msgspec.convert(section(settings, "run"), type=RunSection),
        verify=msgspec.convert(section(settings, "verify"), type=VerifySection),
        bench=msgspec.convert(section(settings, "bench"), type=BenchSection),
        input_shapes=_input_shapes(settings),
    )
    return replace(resolved, origins=_origins(resolved, settings))


def _host(settings: Layer, problems: Problems) -> Target:
    """Returns this machine's target: nothing else can drive a device."""
    machine = load_board("host").target
    setting = settings.get(("host",))
    if setting is not None and setting.value != machine.kind:
        problems.append(
            ConfigError(
                f"the host is '{setting.value}', but devices are driven by this machine",
                where=setting.where,
                fix=f"give '{machine.kind}', or leave it out",
            )
        )
    return machine


def _check_names(settings: Layer, problems: Problems) -> None:
    """Adds a complaint for every runner, toolchain and kernel library that does not exist."""
    for keys, setting in settings.items():
        if len(keys) == 2 and keys[1] == "on" and os.sep not in str(setting.value):  # a port
            _check(RUNNERS, "runner", setting, problems)
        if keys == ("toolchain",):
            _check(TOOLCHAINS, "toolchain", setting, problems)
        if keys[0] == "kernels" and setting.value not in library_names():
            problems.append(
                not_known("kernel library", setting.value, library_names(), setting.where)
            )


def _check(registry: Registry[Any], noun: str, setting: Setting, problems: Problems) -> None:
    if setting.value not in registry:
        problems.append(not_known(noun, setting.value, registry.names(), setting.where))


def _kernels(settings: Layer) -> tuple[KernelChoice, ...]:
    chosen = section(settings, "kernels")
    return tuple(KernelChoice(operator, library) for operator, library in chosen.items())


def _input_shapes(settings: Layer) -> dict[str, tuple[int, ...]]:
    setting = settings.get(("input_shapes",))
    return {key: tuple(shape) for key, shape in (setting.value if setting else {}).items()}


def _value(settings: Layer, key: str) -> str | None:
    setting = settings.get((key,))
    return None if setting is None else str(setting.value)


def _models(settings: Layer) -> Models:
    setting = settings.get(("models",))
    match setting.value if setting else None:
        case None:
            return ()
        case str() as path:
            return ((None, path),)
        case dict() as named:
            return tuple(named.items())
        case paths:
            return tuple((None, path) for path in paths)


def _plain_models(models: Models) -> object:
    if any(name for name, _ in models):
        return {name or Path(path).stem: path for name, path in models}
    return [path for _, path in models] or None


def _origins(resolved: Resolved, settings: Layer) -> dict[str, tuple[object, str]]:
    """Returns every value of the resolved configuration and who set it."""
    origins: dict[str, tuple[object, str]] = {}
    for keys, value in leaves(resolved.as_project()):
        if value in ({}, []) and keys not in settings:
            continue
        origins[spell(keys)] = (value, _origin(keys, settings))
    for keys, value in _defaults():
        if not any(key == spell(keys) or key.startswith(spell(keys) + ".") for key in origins):
            origins[spell(keys)] = (value, _DEFAULT)
    order = [*Project.__struct_fields__]
    ordered = sorted(origins, key=lambda key: order.index(key.partition(".")[0]))
    return {key: origins[key] for key in ordered}


def _defaults() -> Iterator[tuple[Keys, object]]:
    """Yields the keys that may be left out and what they then are; None: chosen when needed."""
    yield from (
        (("models",), None),
        (("input_shapes",), None),
        (("kernels",), {}),
        (("toolchain",), None),
    )
    yield from (((limit,), None) for limit in LIMITS)
    yield ("output",), None
    for name in PASSES.names():
        kind: Any = PASSES[name]
        for option in fields(kind):
            if option.name != "name" and option.default is not MISSING:
                yield ("passes", "options", name, option.name), option.default
    sections: Mapping[str, type[msgspec.Struct]] = {"passes": PassesSection, **SECTIONS}
    for section_name, struct in sections.items():
        for key in described_fields(struct):
            value: object = False if key.kind is bool else [] if key.is_list else None
            yield (section_name, key.name), {} if key.name == "options" else value


def _origin(keys: Keys, settings: Layer) -> str:
    setting = settings.get(keys)
    if setting is not None:
        return setting.origin
    if keys == ("host",):
        return "this machine"
    if keys[0] == "targets":
        return f"target {keys[1]}"
    return _DEFAULT
