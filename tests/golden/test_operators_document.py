"""The table of operators is the one that the registry gives, and says what the tests know."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.console import Console

from uhost.cli import cli
from uhost.kernels._kernel import built_in_libraries
from uhost.ops._op import OPERATORS
from uhost.report.operators import (
    LITERT,
    TFLM,
    SupportedTypes,
    document,
    in_short,
    operators_table,
    supported_types,
)

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "operators.md"


@pytest.fixture(scope="module")
def supported() -> list[SupportedTypes]:
    return list(supported_types(built_in_libraries()))


def test_the_document_is_current() -> None:
    assert DOCUMENT.read_text() == document(), "run `./dev docs`"


def test_every_operator_has_a_portable_kernel_or_is_a_view(supported: list[SupportedTypes]) -> None:
    assert {one.operator for one in supported} == set(OPERATORS.names())
    for one in supported:
        assert one.is_view or one.kernels["reference"], one


@pytest.mark.parametrize(
    ("operator", "types", "reference"),
    [
        ("conv_2d", "int8", TFLM),
        ("conv_2d", "uint8", LITERT),
        ("conv_2d", "float32 × int8", LITERT),
        ("fully_connected", "int16 × int8", TFLM),
        ("relu_n1_to_1", "float32", LITERT),
        ("dequantize", "int8 → float32", TFLM),
    ],
)
def test_the_reference_is_named(
    supported: list[SupportedTypes], operator: str, types: str, reference: str
) -> None:
    [found] = [o for o in supported if o.operator == operator and types in o.types]
    assert found.reference == reference


def test_types_with_the_same_outputs_stand_together() -> None:
    assert in_short(["int8", "int16", "float32"]) == "int8, int16, float32"
    assert in_short(["int8 → bool", "bool"]) == "int8 → bool; bool"
    both = ["int8", "int8 → int16", "int16", "int16 → int8"]
    assert in_short(both) == "int8, int16 → int8, int16"


def test_the_table_is_readable_in_eighty_columns(supported: list[SupportedTypes]) -> None:
    console = Console(width=80, file=io.StringIO())
    console.print(operators_table(supported, built_in_libraries()))
    assert isinstance(console.file, io.StringIO)
    lines = console.file.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    assert any(re.match(r"add +int8 +1 +- +1 +\d +tflm", line) for line in lines)


def test_the_verb_lists_what_is_supported() -> None:
    results = json.loads(CliRunner().invoke(cli, ["ops", "--json"]).stdout)["results"]
    [add] = [one for one in results if one["operator"] == "add"]
    assert add["support"][0]["types"] == ["int8"]
    assert add["support"][0]["kernels"]["dsp"] == ["add"]
