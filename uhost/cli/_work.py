"""Steps that several verbs share: from the command line and a project to a built image."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uhost.cli._console import note
from uhost.cli._settings import BUILDS, Settings, named_models
from uhost.errors import ConfigError, ModelError

if TYPE_CHECKING:
    from uhost.config.compilation import KernelChoice
    from uhost.config.pass_context import PassContext
    from uhost.config.resolve import Resolved
    from uhost.runtime.compiled import Built, Compiled, Source


def configured(settings: Settings, project: Path | None) -> Resolved:
    """Returns the pipeline of the command line and of the project file, if there is one."""
    from uhost.config.project import find_project, read_project
    from uhost.config.resolve import resolve

    _refuse_misspelt(settings)
    path = find_project(project, Path())
    return resolve(settings, read_project(path) if path else None)


def _refuse_misspelt(settings: Settings) -> None:
    """Raises `ModelError` for a path that is not there, whatever else is wrong."""
    for path in model_paths(settings):
        if not Path(path).exists():
            raise ModelError(
                f"there is no model or build folder '{path}'",
                where="command line, MODEL",
                fix="check the path",
            )


def loaded(
    models: Sequence[str], input_shapes: Mapping[str, Sequence[int]] | None = None
) -> tuple[Source, ...]:
    """Returns the models given as `path` or `name=path`; without one, the bundled model."""
    from uhost import driver

    return driver.load(named_models(models), input_shapes) if models else _bundled(input_shapes)


def compiled(resolved: Resolved) -> Compiled:
    """Returns the models of a pipeline as C, after telling what instruments have to tell."""
    from uhost import driver

    named = _named(resolved)
    shapes = resolved.input_shapes
    sources = driver.load(named, shapes) if named else _bundled(shapes)
    context = _instrumented(resolved)
    made = driver.compile_models(sources, resolved.board, config=resolved.config, context=context)
    for instrument in context.instruments:
        if report := getattr(instrument, "report", None):
            note(report())
    return made


def _named(resolved: Resolved) -> dict[str, str]:
    named: dict[str, str] = {}
    for name, path in resolved.models:
        key = name or Path(path).stem
        if key in named:
            raise ConfigError(
                f"two models have the name '{key}'",
                where=f"{named[key]} and {path}",
                fix="give one another name: models: {NAME: PATH}",
            )
        named[key] = path
    return named


def _bundled(input_shapes: Mapping[str, Sequence[int]] | None = None) -> tuple[Source, ...]:
    from uhost import driver, resources

    bundled = resources.bundled_model()
    note(f"No model given: using the bundled one, {bundled.name} (handwritten digits).")
    return driver.load(bundled, input_shapes)


def _instrumented(resolved: Resolved) -> PassContext:
    """Returns the pass context with the instruments that were asked for."""
    asked = resolved.passes
    if not (asked.dump or asked.check or asked.time):
        return resolved.context
    from uhost.passes._instruments import CheckPasses, DumpPasses, TimePasses

    instruments: list[Any] = []
    if asked.dump:
        instruments.append(DumpPasses(Path(asked.dump)))
    if asked.check:
        instruments.append(CheckPasses())
    if asked.time:
        instruments.append(TimePasses())  # last: it is not to time the others
    return replace(resolved.context, instruments=tuple(instruments))


def chosen_models(compiled: Compiled, name: str | None) -> tuple[int, ...]:
    """Returns the places of the models to use: of the one that is named, else of all."""
    return (compiled.index(name),) if name is not None else tuple(range(len(compiled.models)))


def built(
    settings: Settings,
    project: Path | None,
    verb: str = "",
    kernels: tuple[KernelChoice, ...] | None = None,
) -> tuple[Built, Any]:
    """Returns an image, and the section of the configuration that says what `verb` does.

    The section is None for a verb that has none. `kernels` replace the forced kernels of
    the configuration.

    The image is that of a folder that `uhost build` made or of a `.tar` library, where one
    is given in place of a model, else one built now.
    """
    from uhost import driver

    stored = stored_path(settings)
    if stored is None:
        resolved = configured(settings, project)
        if kernels is not None:
            resolved = replace(resolved, config=replace(resolved.config, kernels=kernels))
        return driver.link(compiled(resolved), resolved.toolchain), getattr(resolved, verb, None)
    refuse_to_build(settings, stored, verb)
    board, toolchain = (settings.get((key,), (None, ""))[0] for key in ("board", "toolchain"))
    made = driver.read_stored(stored, board, toolchain)
    return made, section(settings, project, verb) if verb else None


def refuse_to_build(settings: Settings, stored: Path, verb: str) -> None:
    """Raises `ConfigError` for an option that would change what is built already."""
    for keys, (_, option) in settings.items():
        if keys not in BUILDS and keys[0] != verb:
            raise ConfigError(
                f"{option} says how to build, and '{stored}' is built already",
                where=f"command line, {option}",
                fix=f"leave out {option}, or give the model's file",
            )


def one_by_one(
    settings: Settings, project: Path | None
) -> Iterator[tuple[str, Settings, tuple[KernelChoice, ...] | None]]:
    """Yields for each model its path, and settings and forced kernels for it alone.

    Without a model, that is once, with the path "". The kernels are None where the
    configuration's are the model's own.
    """
    from uhost import driver

    models, option = settings.get(("models",), ({}, "MODEL"))
    if not models:
        models = dict(_named(configured(settings, project)))
    files = {name: path for name, path in models.items() if not driver.is_stored(Path(path))}
    kernels = _forced(files, settings, project) if len(models) > 1 and files else {}
    shapes = _input_shapes(files, settings, project) if len(models) > 1 and files else {}
    for name, path in models.items():
        alone = {**settings, ("models",): ({name: path}, option)}
        if name in shapes:
            alone["input_shapes",] = (shapes[name], "--input-shape")
        yield path, alone, kernels.get(name)
    if not models:
        yield "", settings, None


def _forced(
    models: dict[str, str], settings: Settings, project: Path | None
) -> dict[str, tuple[KernelChoice, ...]]:
    """Returns model → its forced kernels; raises `ConfigError` for those of no model."""
    from uhost import driver

    resolved = configured(settings, project)
    if not resolved.config.kernels:
        return {}
    graphs = [source.graph for source in driver.load(models, resolved.input_shapes)]
    return driver.choices_by_model(graphs, resolved.config, resolved.context)


def _input_shapes(
    models: dict[str, str], settings: Settings, project: Path | None
) -> dict[str, dict[str, list[int]]]:
    """Returns model → the shapes given for its inputs; raises `ConfigError` for those of none."""
    from uhost import driver

    shapes = given_shapes(settings, project)
    found = driver.input_shapes_of(models, shapes) if shapes else {}
    return {name: {key: list(own[key]) for key in own} for name, own in found.items()}


def given_shapes(settings: Settings, project: Path | None) -> dict[str, tuple[int, ...]]:
    """Returns the input shapes of the command line, else of the project file."""
    from uhost.config._layers import file_layer
    from uhost.config.project import find_project, read_project

    if ("input_shapes",) in settings:
        return dict(settings["input_shapes",][0])
    path = find_project(project, Path())
    setting = file_layer(read_project(path)).get(("input_shapes",)) if path else None
    return dict(setting.value) if setting else {}


def names_board(settings: Settings, project: Path | None) -> bool:
    """True if the command line or the project file names a board; checks all that they say."""
    from uhost.config._layers import file_layer
    from uhost.config.project import find_project, read_project
    from uhost.config.resolve import check_written

    _refuse_misspelt(settings)
    path = find_project(project, Path())
    file = read_project(path) if path else None
    check_written(settings, file)
    return ("board",) in settings or (file is not None and ("board",) in file_layer(file))


def project_models(settings: Settings, project: Path | None) -> dict[str, str]:
    """Returns name → path of the project file's models; empty where there are none."""
    from uhost.config._layers import file_layer
    from uhost.config.project import find_project, read_project

    path = find_project(project, Path())
    setting = file_layer(read_project(path)).get(("models",)) if path else None
    value = setting.value if setting else ()
    if isinstance(value, dict):
        return dict(value)
    return named_models([value] if isinstance(value, str) else list(value))


def section(settings: Settings, project: Path | None, verb: str) -> Any:
    """Returns what the command line and the project file say of `verb`, and nothing else."""
    import msgspec

    from uhost.config._layers import command_line_layer, file_layer, merge
    from uhost.config._resolve_parts import section as below
    from uhost.config._yaml import together
    from uhost.config.project import SECTIONS, find_project, read_project

    path = find_project(project, Path())
    written = file_layer(read_project(path)) if path else {}
    typed, mistakes = command_line_layer(settings)
    if mistakes:
        raise together(mistakes, "command line")
    return msgspec.convert(below(merge([written, typed]), verb), type=SECTIONS[verb])


def stored_path(settings: Settings) -> Path | None:
    """Returns the build folder or library given in place of a model; None for model files."""
    from uhost import driver

    paths = model_paths(settings)
    return Path(paths[0]) if len(paths) == 1 and driver.is_stored(Path(paths[0])) else None


def model_paths(settings: Settings) -> list[str]:
    """Returns the paths of the models on the command line."""
    models: dict[str, str] = settings.get(("models",), ({}, ""))[0]
    return list(models.values())


def for_model(value: Any, name: str) -> Path | None:
    """Returns the file for a model, of one file for all or of a mapping model → file."""
    if isinstance(value, dict):
        value = value.get(name)
    return Path(value) if value else None
