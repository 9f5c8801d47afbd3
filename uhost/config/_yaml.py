"""Reads a YAML file into a typed struct; every complaint names file, line and key.

PyYAML parses the text with its safe loader, msgspec checks the values against a
struct. A key may occur once, and unknown keys are refused. All mistakes of a file are
told at once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec
import yaml

from uhost.config._findings import Key, check, nearest, spell
from uhost.errors import ConfigError

__all__ = ["Key", "YamlFile", "nearest", "parse_scalar", "read_yaml", "to_yaml", "together"]

T = TypeVar("T")

_TEXT_TAG = "tag:yaml.org,2002:str"
_BOOL_TAG = "tag:yaml.org,2002:bool"


class _Loader(yaml.SafeLoader):
    """PyYAML's safe loader with the truth values of YAML 1.2: `on`, `off`, `yes`, `no` are text."""

    yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag != _BOOL_TAG]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


_Loader.add_implicit_resolver(
    _BOOL_TAG, re.compile("^(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF")
)


class _Dumper(yaml.SafeDumper):
    """PyYAML's safe dumper, which quotes text only where the loader above needs it."""

    yaml_implicit_resolvers = _Loader.yaml_implicit_resolvers


def to_yaml(plain: object) -> str:
    """Returns plain values as the text of a file, keys in their order."""
    text: str = yaml.dump(plain, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)
    return text


def parse_scalar(text: str) -> object:
    """Returns the value that `text` has as a value in a file: a number, true, a list, text."""
    try:
        return yaml.load(text, Loader=_Loader)
    except (yaml.YAMLError, ValueError):
        return text


@dataclass(frozen=True, slots=True, eq=False)
class YamlFile(Generic[T]):
    """A decoded file: its `value`, the same undecoded, and how to complain about any key."""

    path: Path
    value: T
    plain: dict[str, Any]
    root: yaml.Node
    error_type: type[ConfigError]

    def error(self, keys: Sequence[Key], what: str, fix: str = "") -> ConfigError:
        """Returns an error that names the file, the line and the key that `keys` leads to."""
        return _error(self.error_type, self.path, self.root, keys, what, fix)

    def line(self, keys: Sequence[Key]) -> int:
        """Returns the line of the deepest node that `keys` reaches, counted from 1."""
        return _line(self.root, keys)


def read_yaml(path: Path, struct: type[T], error_type: type[ConfigError]) -> YamlFile[T]:
    """Returns the file decoded as `struct`; raises `error_type` for everything wrong with it."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as cause:
        raise error_type(
            f"cannot read the file: {cause}",
            where=str(path),
            fix="give the path of a readable UTF-8 text file",
        ) from None
    try:
        root = yaml.compose(text, Loader=_Loader)
        if root is None:
            raise error_type("the file is empty", where=str(path), fix="write its keys")
        _check_keys(path, root, error_type)
        plain = yaml.load(text, Loader=_Loader)
    except (yaml.YAMLError, RecursionError, ValueError) as cause:
        mark = getattr(cause, "problem_mark", None)
        problem = getattr(cause, "problem", None) or str(cause)
        raise error_type(
            f"not valid YAML: {problem}",
            where=f"{path}:{mark.line + 1}" if mark else str(path),
            fix="correct the syntax",
        ) from None
    if found := check(plain, struct):
        errors = [_error(error_type, path, root, f.keys, f.what, f.fix) for f in found]
        raise together(errors, str(path))
    return YamlFile(path, msgspec.convert(plain, type=struct), plain, root, error_type)


def together(errors: Sequence[ConfigError], where: str) -> ConfigError:
    """Returns one error for several: itself where there is one, else all of them, by line."""
    if len(errors) == 1:
        return errors[0]
    lines = []
    for error in sorted(errors, key=_line_of):
        place = error.where.removeprefix(where).lstrip(":, ")
        place = f"line {place}" if place[:1].isdigit() else place or where
        lines.append(f"  {place}: {error.what}" + (f" ({error.fix})" if error.fix else ""))
    listed = "\n".join(lines)
    return type(errors[0])(
        f"{len(errors)} mistakes:\n{listed}", where=where, fix="correct each of them"
    )


def _line_of(error: ConfigError) -> int:
    line = re.search(r":(\d+)(?:,|$)", error.where)
    return int(line[1]) if line else 0


def _error(
    error_type: type[ConfigError],
    path: Path,
    root: yaml.Node,
    keys: Sequence[Key],
    what: str,
    fix: str,
) -> ConfigError:
    where = f"{path}:{_line(root, keys)}"
    return error_type(what, where=f"{where}, key {spell(keys)}" if keys else where, fix=fix)


def _line(root: yaml.Node, keys: Sequence[Key]) -> int:
    """Returns the line of the deepest node that `keys` reaches, counted from 1."""
    node: yaml.Node = root
    line = node.start_mark.line
    for key in keys:
        if isinstance(node, yaml.MappingNode):
            found = [(k, v) for k, v in node.value if k.value == key]
            if not found:
                break
            line = found[0][0].start_mark.line
            node = found[0][1]
        elif isinstance(node, yaml.SequenceNode) and isinstance(key, int):
            node = node.value[key]
            line = node.start_mark.line
        else:
            break
    return int(line) + 1


def _check_keys(path: Path, root: yaml.Node, error_type: type[ConfigError]) -> None:
    """Raises for a key that is no text, and for one that occurs twice: YAML keeps the last."""
    pending, visited = [root], set[int]()
    while pending:
        node = pending.pop()
        if id(node) in visited:
            continue
        visited.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            pending.extend(node.value)
        elif isinstance(node, yaml.MappingNode):
            seen: dict[str, int] = {}
            for key, value in node.value:
                where = f"{path}:{key.start_mark.line + 1}"
                if key.tag != _TEXT_TAG:
                    raise error_type(
                        f"a key must be text, not {_shorten(key)}", where=where, fix="rename it"
                    )
                if key.value in seen:
                    raise error_type(
                        f"the key '{key.value}' occurs twice; first on line {seen[key.value]}",
                        where=where,
                        fix="keep one of them",
                    )
                seen[key.value] = key.start_mark.line + 1
                pending.append(value)


def _shorten(key: yaml.Node) -> str:
    return f"'{key.value}'" if isinstance(key, yaml.ScalarNode) else "a collection"
