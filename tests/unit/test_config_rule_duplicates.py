"""Rule: a target kind given twice is refused, wherever it is given."""

from __future__ import annotations

from pathlib import Path

import pytest
from config_files import refusal

from uhost.config._layers import Values
from uhost.config.resolve import resolve
from uhost.errors import ConfigError


def test_twice_on_the_command_line() -> None:
    values: Values = {
        ("board",): ("stm32f746", "--board"),
        ("targets",): (("cortex_m", "cortex_m"), "--target"),
    }
    with pytest.raises(ConfigError) as caught:
        resolve(values)
    assert caught.value.what == "the target 'cortex_m' is given twice"
    assert caught.value.where == "command line, --target"
    assert caught.value.fix == "give each target once"


def test_twice_in_a_file(tmp_path: Path) -> None:
    text = "board: stm32f746\ntargets:\n  cortex_m: {}\n  cortex_m: {}\n"
    assert refusal(tmp_path, text) == (
        "the key 'cortex_m' occurs twice; first on line 3",
        "uhost.yaml:4",
        "keep one of them",
    )
