"""Attributes and tensor names as text for people."""

from __future__ import annotations

from dataclasses import fields, is_dataclass

_LONGEST_NAME = 48


def print_attributes(attributes: object) -> str:
    """Returns a dataclass's `name=value` pairs in declaration order."""
    if not is_dataclass(attributes):
        return ""
    return ", ".join(f"{f.name}={_text(getattr(attributes, f.name))}" for f in fields(attributes))


def _text(value: object) -> str:
    """Returns a value as text; graphs that an operator calls in full, on lines of their own."""
    if isinstance(value, tuple) and any(str(one).startswith("graph ") for one in value):
        inner = "".join(map(str, value)).rstrip()
        return "\n" + "\n".join(f"    {line}" for line in inner.splitlines()) + "\n  "
    return str(value)


def short_name(name: str) -> str:
    """Returns a tensor's name without the fused names after ';', and its end where it is long."""
    first = name.partition(";")[0]
    return first if len(first) <= _LONGEST_NAME else f"…{first[-_LONGEST_NAME:]}"
