"""Steps that several verbs share: from the MODEL argument to a built image."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from uhost.cli._console import note
from uhost.errors import ConfigError
from uhost.runtime.compiled import Built, Compiled, Source


def need_board(board: str | None) -> str:
    """Returns the board; raises `ConfigError` without one."""
    if board is None:
        from uhost.config.board import board_names

        raise ConfigError(
            "no board given",
            fix=f"add --board, one of: {', '.join(board_names())}",
        )
    return board


def loaded(models: Sequence[str]) -> tuple[Source, ...]:
    """Returns the models given as `path` or `name=path`; without one, the bundled model."""
    from uhost import driver, resources

    if not models:
        bundled = resources.bundled_model()
        note(f"No model given: using the bundled one, {bundled.name} (handwritten digits).")
        return driver.load(bundled)
    named: dict[str, str | Path] = {}
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
    return driver.load(named)


def pick(compiled: Compiled, name: str | None) -> int:
    """Returns the place of the model to use; raises `ConfigError` where it is not clear."""
    if name is not None:
        return compiled.index(name)
    if len(compiled.models) > 1:
        raise ConfigError(
            f"the build holds {len(compiled.models)} models",
            fix=f"add --model, one of: {', '.join(compiled.names)}",
        )
    return 0


def built(models: Sequence[str], board: str | None, toolchain: str | None) -> Built:
    """Returns the image of model files, or of a folder that `uhost build` made."""
    from uhost import driver
    from uhost.runtime import build_folder

    if len(models) == 1 and Path(models[0]).is_dir():
        return build_folder.read(Path(models[0]), driver.compile_models, board, toolchain)
    name = need_board(board)
    return driver.link(driver.compile_models(loaded(models), name), toolchain)
