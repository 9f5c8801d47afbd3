"""Sizes as people write them: plain bytes, or with a unit of 1024 bytes or 1024 times that."""

from __future__ import annotations

import re

from uhost.errors import ConfigError

PATTERN = r"^\s*[0-9]+(\.[0-9]+)?\s*(B|k|K|KiB|kiB|M|MiB)?\s*$"
_UNITS = {"": 1, "B": 1, "k": 1024, "K": 1024, "KiB": 1024, "kiB": 1024}
_UNITS |= {"M": 1024**2, "MiB": 1024**2}


def parse_size(value: int | str, where: str = "") -> int:
    """Returns the bytes of `4096`, `64k`, `256KiB` or `1.5M`; raises `ConfigError` for others.

    k, K and M are binary, as linkers have it. Fractions are rounded down.
    """
    if isinstance(value, int):
        size_bytes = value
    else:
        if not re.match(PATTERN, value):
            raise ConfigError(
                f"'{value}' is no size", where=where, fix="write bytes, 64k, 256KiB or 1M"
            )
        digits = re.match(r"\s*([0-9.]+)", value)
        assert digits is not None
        size_bytes = int(float(digits[1]) * _UNITS[value[digits.end() :].strip()])
    if size_bytes < 1:
        raise ConfigError("a limit is at least one byte", where=where, fix="give a larger one")
    return size_bytes
