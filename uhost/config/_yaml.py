"""Reads a YAML file into a typed struct; every complaint names file, line and key.

PyYAML parses the text with its safe loader, msgspec checks the values against a
struct. A key may occur once, and unknown keys are refused.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

import msgspec
import yaml
from msgspec import inspect

from uhost.errors import ConfigError

T = TypeVar("T")
Key = str | int
"""A mapping key or a list index; a sequence of them leads to a value in the file."""

_AT = re.compile(r"(?P<message>.*?)(?: - at `(?P<path>\$.*?)`)?$", re.DOTALL)
_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`$")
_TEXT_TAG = "tag:yaml.org,2002:str"
_MISSING = re.compile(r"Object missing required field `(.*)`$")


@dataclass(frozen=True, slots=True, eq=False)
class YamlFile(Generic[T]):
    """A decoded file: its `value`, and how to complain about any key of it."""

    path: Path
    value: T
    root: yaml.Node
    error_type: type[ConfigError]

    def error(self, keys: Sequence[Key], what: str, fix: str = "") -> ConfigError:
        """Returns an error that names the file, the line and the key that `keys` leads to."""
        return _error(self.error_type, self.path, self.root, keys, what, fix)


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
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        if root is None:
            raise error_type("the file is empty", where=str(path), fix="write its keys")
        _check_keys(path, root, error_type)
        plain = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError, ValueError) as cause:
        mark = getattr(cause, "problem_mark", None)
        problem = getattr(cause, "problem", None) or str(cause)
        raise error_type(
            f"not valid YAML: {problem}",
            where=f"{path}:{mark.line + 1}" if mark else str(path),
            fix="correct the syntax",
        ) from None
    try:
        value = msgspec.convert(plain, type=struct)
    except msgspec.ValidationError as cause:
        raise _explain(str(cause), struct, plain, path, root, error_type) from None
    return YamlFile(path, value, root, error_type)


def nearest(word: str, known: Sequence[str]) -> str:
    """Returns "did you mean 'x'? " for the nearest of `known`, or "" when none is near."""
    close = difflib.get_close_matches(word, known, n=1)
    return f"did you mean '{close[0]}'? " if close else ""


def _error(
    error_type: type[ConfigError],
    path: Path,
    root: yaml.Node,
    keys: Sequence[Key],
    what: str,
    fix: str,
) -> ConfigError:
    where = f"{path}:{_line(root, keys)}"
    return error_type(what, where=f"{where}, key {_spell(keys)}" if keys else where, fix=fix)


def _spell(keys: Sequence[Key]) -> str:
    """Returns the keys as one would write them: `memory[0].start`."""
    text = ""
    for key in keys:
        text += f"[{key}]" if isinstance(key, int) else f".{key}" if text else key
    return text


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


def _explain(
    text: str,
    struct: type,
    plain: object,
    path: Path,
    root: yaml.Node,
    error_type: type[ConfigError],
) -> ConfigError:
    """Returns the error for a validation message: msgspec's finding with a line and a remedy."""
    match = _AT.match(text)
    message = match["message"] if match else text
    keys = _keys((match["path"] if match else None) or "$")
    kind = _type_at(inspect.type_info(struct), plain, keys)
    if unknown := _UNKNOWN.match(message):
        known = sorted(_fields(kind))
        return _error(
            error_type,
            path,
            root,
            (*keys, unknown[1]),
            f"unknown key '{unknown[1]}'",
            f"{nearest(unknown[1], known)}known: {', '.join(known)}",
        )
    if missing := _MISSING.match(message):
        field = _fields(kind).get(missing[1])
        expected = f", expected {_describe(field)}" if field else ""
        return _error(
            error_type,
            path,
            root,
            keys,
            f"the key '{missing[1]}' is missing{expected}",
            f"add '{missing[1]}:'",
        )
    options = tuple(str(value) for value in _choices(kind))
    wrong = re.search(r"'(.*)'", message)
    hint = nearest(wrong[1], options) if wrong and options else ""
    return _error(
        error_type,
        path,
        root,
        keys,
        f"wrong value: {message[0].lower()}{message[1:]}",
        f"{hint}expected {_describe(kind) if kind else 'another value'}",
    )


def _keys(path: str) -> tuple[Key, ...]:
    """Returns the keys of a msgspec path such as `$.memory[0].start`."""
    parts = re.findall(r"\.([^.\[\]]+)|\[(\d+)\]", path)
    return tuple(name if name else int(index) for name, index in parts)


def _type_at(kind: inspect.Type, plain: object, keys: Sequence[Key]) -> inspect.Type | None:
    """Returns the declared type of the value that `keys` leads to; None when undeclared."""
    for key in (*keys, None):
        if isinstance(kind, inspect.UnionType):
            kind = _member(kind, plain)
        if key is None:
            return kind
        if isinstance(kind, inspect.StructType) and isinstance(plain, dict):
            if key == kind.tag_field:
                return inspect.LiteralType((kind.tag,))
            declared = _fields(kind).get(str(key))
            if declared is None:
                return None
            kind, plain = declared, plain.get(key)
        elif isinstance(kind, inspect.UnionType) and isinstance(key, str):
            return inspect.LiteralType(tuple(_tags(kind)))
        elif isinstance(kind, inspect.ListType | inspect.VarTupleType) and isinstance(plain, list):
            kind, plain = kind.item_type, plain[int(key)]
        else:
            return None
    return None


def _member(kind: inspect.UnionType, plain: object) -> inspect.Type:
    """Returns the member of a union that `plain` claims to be; the union when none fits."""
    members = [m for m in kind.types if not isinstance(m, inspect.NoneType)]
    for member in members:
        if (
            isinstance(member, inspect.StructType)
            and member.tag_field
            and isinstance(plain, dict)
            and plain.get(member.tag_field) == member.tag
        ):
            return member
    return members[0] if len(members) == 1 else kind


def _tags(kind: inspect.UnionType) -> list[str]:
    return [str(m.tag) for m in kind.types if isinstance(m, inspect.StructType)]


def _fields(kind: inspect.Type | None) -> dict[str, inspect.Type]:
    if isinstance(kind, inspect.UnionType):
        tag_fields = {m.tag_field for m in kind.types if isinstance(m, inspect.StructType)}
        return {str(name): inspect.LiteralType(tuple(_tags(kind))) for name in tag_fields}
    if not isinstance(kind, inspect.StructType):
        return {}
    return {field.encode_name: field.type for field in kind.fields}


def _choices(kind: inspect.Type | None) -> tuple[object, ...]:
    return tuple(kind.values) if isinstance(kind, inspect.LiteralType) else ()


def _describe(kind: inspect.Type | None) -> str:
    """Returns the type in words."""
    match kind:
        case inspect.IntType(ge=int() as low, le=int() as high):
            return f"an integer from {low} to {high}"
        case inspect.IntType(ge=int() as low):
            return f"an integer, at least {low}"
        case inspect.IntType():
            return "an integer"
        case inspect.StrType():
            return "text"
        case inspect.BoolType():
            return "true or false"
        case inspect.LiteralType(values=values):
            return f"one of {', '.join(str(value) for value in values)}"
        case inspect.ListType(item_type=item) | inspect.VarTupleType(item_type=item):
            return f"a list, each item {_describe(item)}"
        case inspect.StructType(fields=fields):
            return f"a mapping with the keys {', '.join(f.encode_name for f in fields)}"
        case inspect.DictType():
            return "a mapping"
        case inspect.UnionType(types=types):
            return " or ".join(_describe(t) for t in types if not isinstance(t, inspect.NoneType))
        case _:
            return "another value"
