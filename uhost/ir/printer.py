"""Attributes and tensor names as text for people."""

from __future__ import annotations

from dataclasses import fields, is_dataclass

_LONGEST_NAME = 48


def print_attributes(attributes: object) -> str:
    """Returns a dataclass's `name=value` pairs in declaration order."""
    if not is_dataclass(attributes):
        return ""
    return ", ".join(f"{f.name}={getattr(attributes, f.name)}" for f in fields(attributes))


def short_name(name: str) -> str:
    """Returns a tensor's name without the fused names after ';', and its end where it is long."""
    first = name.partition(";")[0]
    return first if len(first) <= _LONGEST_NAME else f"…{first[-_LONGEST_NAME:]}"
