"""Steps that several verbs share: from the MODEL argument to a built image."""

from __future__ import annotations

from pathlib import Path

from uhost.cli._console import note
from uhost.errors import ConfigError
from uhost.runtime.compiled import Built


def model_or_bundled(model: Path | None) -> Path:
    """Returns the model to use; without one, the bundled model, and says so."""
    if model is not None:
        return model
    from uhost import resources

    bundled = resources.bundled_model()
    note(f"No model given: using the bundled one, {bundled.name} (handwritten digits).")
    return bundled


def need_board(board: str | None) -> str:
    """Returns the board; raises `ConfigError` without one."""
    if board is None:
        from uhost.config.board import board_names

        raise ConfigError(
            "no board given",
            fix=f"add --board, one of: {', '.join(board_names())}",
        )
    return board


def built(model: Path | None, board: str | None, toolchain: str | None) -> Built:
    """Returns the image of a model file, or of a folder that `uhost build` made."""
    from uhost import driver
    from uhost.runtime import build_folder

    if model is not None and model.is_dir():
        return build_folder.read(model, driver.compile_graph, board, toolchain)
    path = model_or_bundled(model)
    compiled = driver.compile_model(path, need_board(board))
    return driver.link(compiled, toolchain)
