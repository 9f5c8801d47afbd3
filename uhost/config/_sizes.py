"""Sizes as people write them: plain bytes, or with a unit of 1024 bytes or 1024 times that."""

from __future__ import annotations

import re

from uhost.errors import ConfigError

_PATTERN = "^[0-9]+ ?(B|k|K|KiB|M|MiB)?$"
_UNITS = {None: 1, "B": 1, "k": 1024, "K": 1024, "KiB": 1024, "M": 1024**2, "MiB": 1024**2}


def parse_size(value: int | str, where: str = "") -> int:
    """Returns the bytes of `4096`, `64k`, `256KiB` or `1M`; raises `ConfigError` for no size.

    k, K and M are binary, as linkers have it.
    """
    match = re.match(_PATTERN, str(value))
    if match is None:
        raise ConfigError(f"'{value}' is no size", where, "write bytes, 64k, 256KiB or 1M")
    size_bytes = int(re.findall("[0-9]+", str(value))[0]) * _UNITS[match[1]]
    if size_bytes < 1:
        raise ConfigError("a limit of no bytes", where, "give at least one byte, or leave it out")
    return size_bytes
