"""The table of operators: types, kernels per library, and whose results are reproduced.

Everything in it comes from the registries: the types of an operator are those of the examples by
which it is tested, and a library has a kernel for them if it takes one of these examples.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from uhost.ir.dtype import DType
from uhost.kernels._kernel import built_in_libraries, candidates
from uhost.ops._op import OPERATORS, OperatorKind
from uhost.report.tables import table

if TYPE_CHECKING:
    from rich.table import Table

    from uhost.ir.graph import BoundOperator

TFLM, LITERT = "tflm", "litert"
_NAME_WIDTH = 28


@dataclass(frozen=True, slots=True)
class SupportedTypes:
    """What becomes of an operator on `types`, each written as "int8" or "int8 → float32".

    `kernels` maps each library to the kernels that take it, `reference` names whose results they
    give: those of TFLite Micro, or of LiteRT's reference kernels.
    """

    operator: str
    types: tuple[str, ...]
    kernels: dict[str, tuple[str, ...]]
    reference: str
    is_view: bool

    def cells(self, libraries: Sequence[str]) -> tuple[str, ...]:
        """Returns operator, types, the number of kernels per library, and the reference."""
        numbers = (len(self.kernels[one]) for one in libraries)
        counts = ("view",) * len(libraries) if self.is_view else (str(n or "-") for n in numbers)
        return (self.operator, in_short(self.types), *counts, self.reference)


def supported_types(libraries: Sequence[str]) -> Iterator[SupportedTypes]:
    """Yields what is supported, by operator; types that have the same kernels together."""
    for kind in OPERATORS:
        groups: dict[tuple[object, ...], SupportedTypes] = {}
        for one in _by_type(kind, libraries):
            key = (tuple(one.kernels.items()), one.reference)
            before = groups[key].types if key in groups else ()
            groups[key] = SupportedTypes(
                kind.name, (*before, *one.types), one.kernels, one.reference, kind.is_view
            )
        yield from groups.values()


def _by_type(kind: OperatorKind[Any], libraries: Sequence[str]) -> Iterator[SupportedTypes]:
    """Yields every combination of types by itself, narrow types first."""
    found: dict[str, list[BoundOperator[Any]]] = {}
    for example in kind.examples():
        bound = next(b for b in example.graph.bound_operators() if b.kind == kind.name)
        found.setdefault(types_of(bound), []).append(bound)
    if kind.takes_uint8:
        for own in [t for t in found if t.split(" → ")[0] == "int8" and t != "int8 → uint8"]:
            found.setdefault(f"u{own}", found[own])
    known = [
        (one, name, kernel) for one in libraries for name, kernel in candidates(kind.name, one)
    ]
    for types, operators in sorted(found.items(), key=_order):
        kernels: dict[str, tuple[str, ...]] = dict.fromkeys(libraries, ())
        for one, name, kernel in known:
            if any(not kernel.supports(bound) for bound in operators):
                kernels[one] = (*kernels[one], name)
        by_litert = types.startswith("uint8") or all(map(kind.by_litert, operators))
        reference = LITERT if by_litert else TFLM
        yield SupportedTypes(kind.name, (types,), kernels, reference, kind.is_view)


def _order(entry: tuple[str, object]) -> tuple[tuple[bool, int, str], ...]:
    """Sorts by the input's type, then by the output's."""
    first, _, output = entry[0].partition(" → ")
    return _width(first), _width(output)


def _width(types: str) -> tuple[bool, int, str]:
    """Sorts integers by width, before booleans and floats."""
    digits = "".join(letter for letter in types.split(" × ")[0] if letter.isdigit())
    return not digits or types.startswith("float"), int(digits or 0), types


def types_of(bound: BoundOperator[Any]) -> str:
    """Returns the types of an operator: the input's, × the weights', → the output's.

    Either is left out where it is the input's. Where the operator is uint8 in the file
    (`unsigned`), int8 is written so; int8 weights beside int8 or uint8 go without saying.
    """
    is_unsigned = getattr(bound.attributes, "unsigned", False)
    first, output = (
        "uint8" if is_unsigned and t.dtype is DType.INT8 else str(t.dtype)
        for t in (bound.input(0), bound.outputs[0])
    )
    operands = {t.name for t in OPERATORS[bound.kind].operands(bound)}
    second = bound.optional_input(1) if len(bound.inputs) > 1 else None
    is_weighted = second is not None and second.is_constant and second.name not in operands
    weights = str(second.dtype) if second is not None and is_weighted else first
    if weights != first and first != "uint8":
        first += f" × {weights}"
    return first if output == first.split()[0] else f"{first} → {output}"


def in_short(types: Sequence[str]) -> str:
    """Returns combinations of types with those that lead to the same outputs together.

    "int8 → bool" and "int16 → bool" become "int8, int16 → bool".
    """
    outputs: dict[str, list[str]] = {}
    for one in types:
        first, _, output = one.partition(" → ")
        outputs.setdefault(first, []).append(output or first)
    groups: dict[tuple[str, ...], list[str]] = {}
    for first, own in outputs.items():
        key = () if own == [first] else tuple(sorted(own, key=_width))
        groups.setdefault(key, []).append(first)
    return "; ".join(
        ", ".join(first) + (f" → {', '.join(key)}" if key else "") for key, first in groups.items()
    )


def operators_table(supported: Sequence[SupportedTypes], libraries: Sequence[str]) -> Table:
    """Returns the table for a terminal; an operator's name stands in its first row."""
    made = table("operator", "types", *libraries, "exact to", right=libraries)
    made.columns[0].max_width = _NAME_WIDTH
    last = ""
    for one in supported:
        operator, *cells = one.cells(libraries)
        made.add_row("" if operator == last else operator, *cells)
        last = operator
    return made


def document() -> str:
    """Returns docs/operators.md, of the libraries that uhost itself has."""
    libraries = built_in_libraries()
    head = ("operator", "types", *libraries, "exact to")
    lines = [
        "# Operators",
        "",
        "Made by `./dev docs` from the registry; `uhost ops` prints it too. Columns of libraries",
        "say how many kernels of a library take these types: what an operator costs decides which",
        "one is used. A `view` needs none. Types are the input's, × those of weights where they",
        "are others, → the output's. Integer results are bit for bit those of the reference named",
        "last: TFLite Micro, or LiteRT's reference kernels for what TFLite Micro does not have;",
        "`docs/numerics.md` has the exceptions.",
        "",
        f"| {' | '.join(head)} |",
        f"|---|---|{'---:|' * len(libraries)}---|",
    ]
    last = ""
    for one in supported_types(libraries):
        operator, *cells = one.cells(libraries)
        shown = "" if operator == last else f"`{operator}`"
        last = operator
        lines.append(f"| {' | '.join((shown, *cells))} |")
    return "\n".join(lines) + "\n"
