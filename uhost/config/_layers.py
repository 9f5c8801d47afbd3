"""Layers of configuration: who set which key, and which setting goes before which.

A layer maps keys to settings. Later layers go before earlier ones: built-in defaults, the
board's preset, one project file, the command line. A key replaces a key, a list a list.
The names of targets, executor and runtime are a setting beside their options:
`("targets",)` holds the kinds in order, `("targets", "cortex_m", "cpu")` an option.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from uhost.config._findings import Finding, check, spell
from uhost.config._yaml import YamlFile
from uhost.config.board import Board
from uhost.config.compilation import Pool
from uhost.config.project import Project, leaves
from uhost.errors import ConfigError
from uhost.inputs._input import INPUTS

Keys = tuple[str, ...]

CHOSEN: tuple[Keys, ...] = (("targets",), ("executor",), ("runtime",))
"""Settings that hold names, each with options below it."""

_PATHS: tuple[Keys, ...] = (
    ("models",),
    ("output",),
    ("passes", "dump"),
    ("run", "input"),
    ("run", "output"),
    ("verify", "golden"),
)


@dataclass(frozen=True, slots=True)
class Setting:
    """A value, who set it (`uhost.yaml:12`), and where to mend it (file, line and key)."""

    value: Any
    origin: str
    where: str


Layer = Mapping[Keys, Setting]
Values = Mapping[Keys, tuple[object, str]]
"""What the command line sets: keys → (value, the option that sets it)."""


def file_layer(file: YamlFile[Project]) -> dict[Keys, Setting]:
    """Returns the settings of a project file, each with its line; paths start at the file."""
    layer: dict[Keys, Setting] = {}
    folder = file.path.parent

    def put(keys: Keys, value: object) -> None:
        line = file.line(keys)
        where = f"{file.path}:{line}, key {spell(keys)}"
        layer[keys] = Setting(value, f"{file.path.name}:{line}", where)

    for keys in CHOSEN:
        if names := file.plain.get(keys[0]):
            put(keys, tuple(names))
    for keys, value in leaves(file.plain):
        if value == {}:
            continue  # the name is a setting above; it has no options
        if keys in _PATHS:
            value = _from(folder, value)
        elif keys == ("run", "preprocess"):
            value = {name: _preprocess_from(folder, one) for name, one in value.items()}
        elif keys == ("run", "labels"):
            value = _labels_from(folder, value)
        elif keys == ("board",) and is_path(value):
            value = str(folder / value)
        put(keys, tuple(value) if isinstance(value, list) else value)
    return layer


def is_path(board: str) -> bool:
    """True if a board is given as the path of a file."""
    return board.endswith((".yaml", ".yml")) or os.sep in board


def _from(folder: Path, value: Any) -> Any:
    if isinstance(value, dict):
        return {name: str(folder / path) for name, path in value.items()}
    if isinstance(value, list):
        return [str(folder / path) for path in value]
    return str(folder / value)


def _preprocess_from(folder: Path, options: dict[str, Any]) -> dict[str, Any]:
    paths = INPUTS[options["kind"]].paths
    return {key: str(folder / one) if key in paths else one for key, one in options.items()}


def _labels_from(folder: Path, value: Any) -> Any:
    """Returns labels with their files' paths; a list holds the labels themselves."""
    if isinstance(value, dict):
        return {name: _labels_from(folder, one) for name, one in value.items()}
    return value if isinstance(value, list) else str(folder / value)


def command_line_layer(values: Values) -> tuple[dict[Keys, Setting], list[ConfigError]]:
    """Returns the settings of the command line, and everything wrong with their types."""
    layer = {
        keys: Setting(value, "command line", f"command line, {option}")
        for keys, (value, option) in values.items()
    }
    plain: dict[str, Any] = {}
    for keys, (value, _) in values.items():
        inner = plain
        if keys in CHOSEN:
            continue
        for key in keys[:-1]:
            inner = inner.setdefault(key, {})
        inner[keys[-1]] = list(value) if isinstance(value, tuple) else value
    errors = [_mistake(found, layer) for found in check(plain, Project)]
    return layer, errors


def _mistake(found: Finding, layer: Layer) -> ConfigError:
    names = tuple(str(key) for key in found.keys)
    nearest = [keys for keys in layer if keys == names[: len(keys)] or names == keys[: len(names)]]
    where = layer[nearest[-1]].where if nearest else "command line"
    return ConfigError(found.what, where=where, fix=found.fix)


def board_layer(board: Board) -> dict[Keys, Setting]:
    """Returns what a board sets: its target, and pools from the regions it links to."""
    origin = f"board {board.board}"
    target = board.target
    values: dict[Keys, object] = {
        ("targets",): (target.kind,),
        ("targets", target.kind, "cpu"): target.cpu,
        ("targets", target.kind, "features"): target.features,
    }
    if board.regions:
        for kind, region in (("workspace", board.ram), ("constants", board.flash)):
            pool = Pool(region, usable_bytes(board, region))
            values["pools", kind] = (msgspec.to_builtins(pool),)
    return {keys: Setting(value, origin, origin) for keys, value in values.items()}


def usable_bytes(board: Board, region: str) -> int:
    """Returns a region's size, without the stack where it is the RAM."""
    size = board.region(region).size_bytes
    return size - board.stack_bytes if region == board.ram else size


def merge(layers: Sequence[Layer]) -> dict[Keys, Setting]:
    """Returns the settings of all layers, the last layer's before all others'."""
    merged: dict[Keys, Setting] = {}
    for layer in layers:
        merged.update(layer)
    return merged
