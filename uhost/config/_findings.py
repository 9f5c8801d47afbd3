"""Everything wrong with decoded values against a declared type, all of it at once.

msgspec stops at its first complaint. Here each part is checked by itself: where a mapping
or a list is refused, its parts are asked, down to the values that are wrong.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, is_dataclass
from dataclasses import fields as dataclass_fields
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import inspect

from uhost.errors import ConfigError

Key = str | int
"""A mapping key or a list index; a sequence of them leads to a value in the file."""

_AT = re.compile(r"(?P<message>.*?)(?: - at `(?P<path>\$.*?)`)?$", re.DOTALL)
_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`$")
_MISSING = re.compile(r"Object missing required field `(.*)`$")


@dataclass(frozen=True, slots=True)
class Finding:
    """One mistake: the keys that lead to it, what is wrong and how to mend it."""

    keys: tuple[Key, ...]
    what: str
    fix: str

    @property
    def key(self) -> str:
        """The keys as one would write them: `memory[0].start`."""
        return spell(self.keys)


def check(plain: object, kind: Any, keys: tuple[Key, ...] = ()) -> list[Finding]:
    """Returns everything wrong with `plain` as a `kind`: a struct, a dataclass or a type hint."""
    found: list[Finding] = []
    parts, known, required = _parts(plain, kind)
    if known is not None and isinstance(plain, dict):
        found += [
            _explain(f"Object contains unknown field `{name}`", kind, plain, keys)
            for name in plain
            if name not in known
        ]
        found += [
            _explain(f"Object missing required field `{name}`", kind, plain, keys)
            for name in required
            if name not in plain
        ]
    for key, value, hint in parts:
        found += check(value, hint, (*keys, key))
    if not found:
        try:
            msgspec.convert(plain, type=kind)
        except msgspec.ValidationError as cause:
            found.append(_explain(str(cause), kind, plain, keys))
        except ConfigError as cause:
            found.append(Finding(keys, cause.what, cause.fix))
    return found


def nearest(word: str, known: Sequence[str]) -> str:
    """Returns "did you mean 'x'? " for the nearest of `known`, or "" when none is near."""
    close = difflib.get_close_matches(word, known, n=1)
    return f"did you mean '{close[0]}'? " if close else ""


def not_known(noun: str, name: str, known: Sequence[str], where: str = "") -> ConfigError:
    """Returns the error for a name that is not among `known`."""
    return ConfigError(
        f"there is no {noun} '{name}'",
        where=where,
        fix=f"{nearest(name, known)}known: {', '.join(known) or 'none'}",
    )


def spell(keys: Sequence[Key]) -> str:
    """Returns the keys as one would write them: `memory[0].start`."""
    text = ""
    for key in keys:
        text += f"[{key}]" if isinstance(key, int) else f".{key}" if text else key
    return text


def describe(kind: inspect.Type | None) -> str:
    """Returns the type in words."""
    match kind:
        case inspect.Metadata(type=inner):
            return describe(inner)
        case inspect.IntType(ge=int() as low, le=int() as high):
            return f"an integer from {low} to {high}"
        case inspect.IntType(ge=int() as low):
            return f"an integer, at least {low}"
        case inspect.IntType():
            return "an integer"
        case inspect.FloatType(gt=(int() | float()) as low):
            return f"a number above {low:g}"
        case inspect.FloatType():
            return "a number"
        case inspect.StrType(pattern=str() as pattern):
            return f"text that matches {pattern}"
        case inspect.StrType():
            return "text"
        case inspect.BoolType():
            return "true or false"
        case inspect.LiteralType(values=values):
            return f"one of {', '.join(str(value) for value in values)}"
        case inspect.ListType(item_type=item) | inspect.VarTupleType(item_type=item):
            return f"a list, each item {describe(item)}"
        case inspect.StructType(fields=fields) | inspect.DataclassType(fields=fields):
            return f"a mapping with the keys {', '.join(f.encode_name for f in fields)}"
        case inspect.DictType():
            return "a mapping"
        case inspect.UnionType(types=types):
            return " or ".join(describe(t) for t in types if not isinstance(t, inspect.NoneType))
        case _:
            return "another value"


_Parts = list[tuple[Key, object, Any]]


def _parts(plain: object, kind: Any) -> tuple[_Parts, set[str] | None, tuple[str, ...]]:
    """Returns the parts of a value with their types, the known keys, and the required ones.

    The known keys are None where every key is allowed.
    """
    kind = _bare(kind)
    if get_origin(kind) in (Union, UnionType):
        kind = _alternative(plain, get_args(kind))
    if isinstance(plain, dict) and _is_record(kind):
        hints, required = _record(kind)
        parts: _Parts = [(k, v, hints[k]) for k, v in plain.items() if k in hints]
        return parts, {*hints, *_tag_of(kind)}, required
    if isinstance(plain, dict) and get_origin(kind) is dict:
        return [(str(k), v, get_args(kind)[1]) for k, v in plain.items()], None, ()
    if isinstance(plain, list) and get_origin(kind) in (list, tuple):
        return [(i, v, get_args(kind)[0]) for i, v in enumerate(plain)], None, ()
    return [], None, ()


def _bare(kind: Any) -> Any:
    while get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    return kind


def _alternative(plain: object, alternatives: Sequence[Any]) -> Any:
    """Returns the alternative of a union that `plain` claims to be; None where none fits."""
    for one in map(_bare, alternatives):
        if isinstance(plain, list) and get_origin(one) in (list, tuple):
            return one
        if not isinstance(plain, dict):
            continue
        if get_origin(one) is dict:
            return one
        if _is_record(one) and all(plain.get(k) == v for k, v in _tag_of(one).items()):
            return one
    return None


def _is_record(kind: Any) -> bool:
    return isinstance(kind, type) and (issubclass(kind, msgspec.Struct) or is_dataclass(kind))


def _record(kind: Any) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Returns the field types and the required fields of a struct or dataclass."""
    hints = get_type_hints(kind, include_extras=True)
    if is_dataclass(kind):
        names = [f.name for f in dataclass_fields(kind) if f.init]
    else:
        names = list(kind.__struct_fields__)
    info = inspect.type_info(kind)
    assert isinstance(info, inspect.StructType | inspect.DataclassType)
    required = tuple(f.name for f in info.fields if f.required)
    return {name: hints[name] for name in names}, required


def _tag_of(kind: Any) -> dict[str, object]:
    config = getattr(kind, "__struct_config__", None)
    return {config.tag_field: config.tag} if config is not None and config.tag_field else {}


def _explain(text: str, kind: Any, plain: object, keys: tuple[Key, ...]) -> Finding:
    """Returns the finding for a validation message of msgspec: with a key and a remedy."""
    match = _AT.match(text)
    message = match["message"] if match else text
    inner = _keys((match["path"] if match else None) or "$")
    declared = _type_at(inspect.type_info(kind), plain, inner)
    keys = (*keys, *inner)
    if unknown := _UNKNOWN.match(message):
        known = sorted(_fields(declared))
        return Finding(
            (*keys, unknown[1]),
            f"unknown key '{unknown[1]}'",
            f"{nearest(unknown[1], known)}known: {', '.join(known)}",
        )
    if missing := _MISSING.match(message):
        field = _fields(declared).get(missing[1])
        expected = f", expected {describe(field)}" if field else ""
        return Finding(keys, f"the key '{missing[1]}' is missing{expected}", f"add '{missing[1]}:'")
    options = tuple(str(value) for value in _choices(declared))
    wrong = re.search(r"'(.*)'", message)
    hint = nearest(wrong[1], options) if wrong and options else ""
    return Finding(
        keys,
        f"wrong value: {message[0].lower()}{message[1:]}",
        f"{hint}expected {describe(declared) if declared else 'another value'}",
    )


def _keys(path: str) -> tuple[Key, ...]:
    """Returns the keys of a msgspec path such as `$.memory[0].start`."""
    parts = re.findall(r"\.([^.\[\]]+)|\[(\d+)\]", path)
    return tuple(name if name else int(index) for name, index in parts)


def _type_at(kind: inspect.Type, plain: object, keys: Sequence[Key]) -> inspect.Type | None:
    """Returns the declared type of the value that `keys` leads to; None when undeclared."""
    for key in (*keys, None):
        while isinstance(kind, inspect.Metadata):
            kind = kind.type
        if isinstance(kind, inspect.UnionType):
            kind = _member(kind, plain)
        if key is None:
            return kind
        if isinstance(kind, inspect.StructType | inspect.DataclassType) and isinstance(plain, dict):
            if isinstance(kind, inspect.StructType) and key == kind.tag_field:
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
    if not isinstance(kind, inspect.StructType | inspect.DataclassType):
        return {}
    return {field.encode_name: field.type for field in kind.fields}


def _choices(kind: inspect.Type | None) -> Iterator[object]:
    if isinstance(kind, inspect.LiteralType):
        yield from kind.values
