"""Sizes as people write them."""

from __future__ import annotations

import pytest

from uhost.config._sizes import parse_size
from uhost.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [
        (4096, 4096),
        ("4096", 4096),
        ("12B", 12),
        ("64k", 65536),
        ("64K", 65536),
        ("256KiB", 262144),
        ("256 KiB", 262144),
        ("1M", 1048576),
        ("2MiB", 2097152),
    ],
)
def test_units_are_binary(text: int | str, size_bytes: int) -> None:
    assert parse_size(text) == size_bytes


@pytest.mark.parametrize("text", ["", "k", "64kB", "-1", "1.5M", "64 kibi", "0x10"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_size(text, "command line, --flash-limit")
    assert caught.value.what == f"'{text}' is no size"
    assert caught.value.where == "command line, --flash-limit"
    assert caught.value.fix == "write bytes, 64k, 256KiB or 1M"


def test_nothing_is_no_limit() -> None:
    with pytest.raises(ConfigError) as caught:
        parse_size("0k")
    assert caught.value.what == "a limit of no bytes"
