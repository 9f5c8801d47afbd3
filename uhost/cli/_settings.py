"""Command line options that set a key of the configuration; most are made from its schema.

A verb of the class `Configured` gets `settings`, keys → (value, option), of every such
option that was given, and `project`, the project file. Options of targets, executors,
runtimes and passes are made when a verb is parsed, so that `uhost --help` stays quick.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from uhost.errors import ConfigError

if TYPE_CHECKING:
    from uhost.config._layers import Keys

Settings = dict[tuple[str, ...], tuple[Any, str]]

BUILDS = (("models",), ("board",), ("toolchain",))
"""What may be said of a build that was made before."""


class SettingOption(click.Option):
    """An option that sets the configuration's `keys`; `heading` groups it in the help."""

    def __init__(self, *args: Any, keys: Keys = (), heading: str = "", **options: Any) -> None:
        super().__init__(*args, **options)
        self.keys = keys
        self.heading = heading


class Configured(click.Command):
    """A verb that is configured by a project file and by options made from the schema."""

    configurable = True

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Returns the verb's own parameters, then those made from the schema."""
        *own, help_option = super().get_params(ctx)
        return [*own, *generated(), help_option]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Prints the verb's own options first, then the others under their headings."""
        sections: dict[str, list[tuple[str, str]]] = {"Options": []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and isinstance(parameter, click.Option):
                heading = getattr(parameter, "heading", "") or "Options"
                sections.setdefault(heading, []).append(record)
        for heading, records in sections.items():
            with formatter.section(heading):
                formatter.write_dl(records)

    def invoke(self, ctx: click.Context) -> Any:
        """Gathers the settings, and calls the verb with them."""
        settings: Settings = {}
        for parameter in self.get_params(ctx):
            if isinstance(parameter, SettingOption) and parameter.name:
                value = ctx.params.pop(parameter.name, None)
                source = ctx.get_parameter_source(parameter.name)
                if source is not ParameterSource.DEFAULT:
                    settings.update(_setting(parameter, value))
        models = ctx.params.pop("models", None) or ()
        if model := ctx.params.pop("model", None):
            models = (model,)
        if models:
            settings["models",] = (named_models(models), "MODEL")
        ctx.params["settings"] = settings
        return super().invoke(ctx)


def named_models(models: Sequence[str]) -> dict[str, str]:
    """Returns name → path of models given as `path` or `name=path`."""
    named: dict[str, str] = {}
    for text in models:
        name, equals, path = text.partition("=")
        given = (name, path) if equals and not Path(text).exists() else (Path(text).stem, text)
        if given[0] in named:
            raise ConfigError(
                f"two models have the name '{given[0]}'",
                where=f"{named[given[0]]} and {given[1]}",
                fix="give one another name: name=path",
            )
        named[given[0]] = given[1]
    return named


def _setting(option: SettingOption, value: Any) -> Settings:
    name = max(option.opts, key=len)
    if option.name == "input_shapes":
        return {option.keys: (dict(_input_shape(text, name) for text in value), name)}
    if option.name == "pass_option":
        return dict(_pass_option(text, name) for text in value)
    if isinstance(value, Path):
        value = str(value)
    if option.name == "executor" or option.name == "runtime":
        value = (value,)
    if option.multiple:
        value = tuple(value)
    if option.type is _NAMES:
        value = tuple(part.strip() for part in value.split(",") if part.strip())
    return {option.keys: (value, name)}


def _pass_option(text: str, name: str) -> tuple[tuple[str, ...], tuple[Any, str]]:
    from uhost.config._yaml import parse_scalar

    keys, equals, value = text.partition("=")
    pass_name, dot, option = keys.partition(".")
    if not (pass_name and dot and option and equals):
        raise ConfigError(
            f"'{text}' does not say which option of which pass",
            where=f"command line, {name}",
            fix=f"write {name} PASS.OPTION=VALUE",
        )
    return ("passes", "options", pass_name, option), (parse_scalar(value), f"{name} {text}")


def _input_shape(text: str, name: str) -> tuple[str, list[int]]:
    """Returns input and shape of `NAME=1,96,96,3`; a name may hold an equals sign itself."""
    key, _, sizes = text.rpartition("=")
    parts = [part.strip() for part in sizes.split(",")]
    if not (key and all(part.isdecimal() and int(part) > 0 for part in parts)):
        raise ConfigError(
            f"'{text}' does not say which input has which shape",
            where=f"command line, {name}",
            fix=f"write {name} INPUT=1,96,96,3, with the input's name and whole numbers above 0",
        )
    return key, [int(part) for part in parts]


class _Names(click.ParamType):  # type: ignore[type-arg]  # generic only in newer clicks
    name = "NAME,…"


_NAMES = _Names()


def generated() -> Iterator[click.Parameter]:
    """Yields the options of targets, executors, runtimes and passes."""
    from uhost.config.compilation import EXECUTORS, RUNTIMES
    from uhost.config.project import TargetOptions, options_of
    from uhost.registry import Registry

    kinds = Registry[object]("uhost.targets", "TARGET", "target").names()
    yield SettingOption(
        ["--target"],
        keys=("targets",),
        heading="Targets",
        multiple=True,
        metavar="KIND",
        help=f"Device targets in order: {', '.join(kinds)}. Default: the board's.",
    )
    for kind in kinds:
        yield from _options(("targets", kind), f"target-{kind}", "Targets", TargetOptions)
    for what, known in (("executor", EXECUTORS), ("runtime", RUNTIMES)):
        heading = what.capitalize()
        yield SettingOption(
            [f"--{what}"],
            keys=(what,),
            heading=heading,
            metavar="NAME",
            help=f"{', '.join(known)}.",
        )
        for name, made in known.items():
            yield from _options((what, name), f"{what}-{name}", heading, options_of(made), made())
    yield SettingOption(
        ["--input-shape", "input_shapes"],
        keys=("input_shapes",),
        multiple=True,
        metavar="[MODEL.]INPUT=1,96,…",
        help="The shape of an input of which the model leaves dimensions open.",
    )
    yield from _choice_options()
    yield from _pass_options()


def _choice_options() -> Iterator[click.Parameter]:
    heading = "Choice of kernels"
    yield SettingOption(
        ["--optimize"],
        keys=("optimize",),
        heading=heading,
        metavar="[speed|cycles|balanced|size|ram]",
        help="What kernels are chosen for. Default: speed.",
    )
    for what, of in (("flash", "code and constants"), ("ram", "arenas")):
        yield SettingOption(
            [f"--{what}-limit"],
            keys=(f"{what}_limit",),
            heading=heading,
            metavar="SIZE",
            help=f"Most {what} of the models' {of}: 65536, 64k, 256KiB. Default: the board's.",
        )


_SHORT = {
    "executor-aot-c-prefix": ("--c-prefix",),
    "executor-aot-keep-input": ("--keep-input/--no-keep-input",),
}


def _options(
    keys: tuple[str, ...], prefix: str, heading: str, struct: Any, defaults: Any = None
) -> Iterator[click.Parameter]:
    """Yields one option per field of a struct: `--PREFIX-FIELD`."""
    from uhost.config.project import described_fields

    for key in described_fields(struct):
        name = f"{prefix}-{key.name}".replace("_", "-")
        text = key.description
        default = getattr(defaults, key.name, None)
        if default is not None:
            text += f" Default: {_spelt(default)}."
        declared: dict[str, Any] = {"keys": (*keys, key.name), "heading": heading, "help": text}
        parameter = name.replace("-", "_")
        if key.kind is bool:
            names = [f"--{name}/--no-{name}", *_SHORT.get(name, ())]
            yield SettingOption([*names, parameter], default=None, **declared)
        elif key.is_list:
            yield SettingOption([f"--{name}", parameter], type=_NAMES, **declared)
        else:
            metavar = f"[{'|'.join(map(str, key.choices))}]" if key.choices else None
            kind = int if key.kind is int else str
            yield SettingOption(
                [f"--{name}", *_SHORT.get(name, ()), parameter],
                type=kind,
                metavar=metavar,
                **declared,
            )


def _spelt(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value) or "none"


def _pass_options() -> Iterator[click.Parameter]:
    heading = "Passes"
    yield SettingOption(
        ["--opt-level"],
        keys=("passes", "opt_level"),
        heading=heading,
        type=int,
        metavar="0-3",
        help="Passes up to this level run. Default: 2.",
    )
    for verb, key in (("disable", "disabled"), ("require", "required")):
        yield SettingOption(
            [f"--{verb}-pass"],
            keys=("passes", key),
            heading=heading,
            multiple=True,
            metavar="PASS",
            help=f"The pass {'does not run' if verb == 'disable' else 'runs at any level'}.",
        )
    yield SettingOption(
        ["--pass-option"],
        keys=("passes", "options"),
        heading=heading,
        multiple=True,
        metavar="PASS.OPTION=VALUE",
        help="Set an option of a pass.",
    )
    yield SettingOption(
        ["--dump-passes"],
        keys=("passes", "dump"),
        heading=heading,
        metavar="DIR",
        help="Write the graph as text after each pass.",
    )
    yield SettingOption(
        ["--check-passes", "check_passes"],
        keys=("passes", "check"),
        heading=heading,
        is_flag=True,
        help="Check after each pass that results are the same.",
    )
    yield SettingOption(
        ["--time-passes", "time_passes"],
        keys=("passes", "time"),
        heading=heading,
        is_flag=True,
        help="Tell how long each pass took.",
    )
