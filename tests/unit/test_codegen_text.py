"""Names and literals of the generated C."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from uhost.codegen.environment import render
from uhost.codegen.literals import c_type, float_literal, int_literal, rows
from uhost.codegen.names import Names, identifier
from uhost.errors import InternalError, TemplateError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("model/conv1/Relu;bias", "model_conv1_relu_bias"),
        ("3d", "m_3d"),
        ("while", "m_while"),
        ("größe", "gr_e"),
        ("", "unnamed"),
        ("///", "unnamed"),
        ("x" * 300, "x" * 48),
    ],
)
def test_identifier(text: str, expected: str) -> None:
    assert identifier(text) == expected


def test_names_are_unique() -> None:
    names = Names()
    assert [names.unique("a/b"), names.unique("a-b"), names.unique("a_b")] == [
        "a_b",
        "a_b_2",
        "a_b_3",
    ]


@pytest.mark.parametrize(
    "value", [0.0, -0.0, 1.0, 0.1, 1e-38, 1.17549435e-38, 1e-45, 3.4028235e38, 16777217.0, -2.5e-7]
)
def test_float_literal_reads_back(value: float) -> None:
    text = float_literal(value)
    assert text.endswith("f")
    assert "." in text or "e" in text
    expected = np.float32(value)
    assert struct.pack("f", np.float32(text[:-1])) == struct.pack("f", expected)


def test_float_literal_of_what_is_not_finite() -> None:
    assert float_literal(float("inf")) == "__builtin_inff()"
    assert float_literal(float("-inf")) == "-__builtin_inff()"
    assert float_literal(float("nan")) == '__builtin_nanf("")'


def test_int_literal_of_the_smallest_int() -> None:
    # -2147483648 is an expression on a constant that does not fit an int.
    assert int_literal(-(2**31)) == "(-2147483647 - 1)"
    assert int_literal(2**31 - 1) == "2147483647"
    assert int_literal(2**31) == "2147483648u"


def test_rows_are_short() -> None:
    lines = rows(np.arange(-200, 200, dtype=np.int16))
    assert all(len(line) <= 96 for line in lines)
    assert " ".join(lines).count(",") == 400


def test_no_c_type_for_double() -> None:
    with pytest.raises(InternalError, match="no C type for numpy type float64"):
        c_type(np.zeros(1))


def test_a_missing_template_is_named() -> None:
    with pytest.raises(TemplateError, match=r"the template 'nowhere\.j2' does not exist"):
        render("nowhere.j2", {})


def test_an_undefined_name_gives_template_and_line() -> None:
    with pytest.raises(TemplateError) as caught:
        render("model_table.c.j2", {"model": "m"})
    assert caught.value.what == "'arenas' is undefined"
    assert caught.value.where.startswith("model_table.c.j2:")
