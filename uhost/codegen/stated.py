"""The flash and the cycles that kernels state, as what they share counts once."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from uhost.codegen.lowered import Lowered, constants_of, key_of
from uhost.ir.graph import BoundOperator
from uhost.kernels._choice import Option
from uhost.kernels._partition import Variant

RUN_BYTES = 160
"""Code of a model's run functions, without the calls."""

CALL_BYTES = 25
"""Code of the calls of one operator in them."""

FUNCTION_BYTES = 16
"""What a kernel's function takes besides its code: shapes that it passes on, alignment."""

UNSTATED_BYTES = 400
"""What is counted for the code of a kernel that states no cost."""


CONSTANT = "constant"
"""Marks arrays among the things that share flash."""


@dataclass(frozen=True, slots=True)
class Stated:
    """What the kernels chosen for some models say they take, with what calls them.

    `cycles` and `instructions` lack those of kernels that state no cost.
    """

    cycles: int
    instructions: int
    code_bytes: int
    constant_bytes: int

    @property
    def flash_bytes(self) -> int:
        """Code and constants."""
        return self.code_bytes + self.constant_bytes


def stated(models: Sequence[Lowered]) -> Stated:
    """Returns what the kernels of models take together, shared code and constants once."""
    needs: dict[Hashable, int] = {}
    variants: list[Variant] = []
    for model in models:
        for operator in model.graph.operators:
            selection = model.selections.get(operator.name)
            if selection is not None:
                variants.append(selection.variant)
                option = option_of(model.graph.bind(operator), selection.variant, True)
                for key, size in option.needs.items():
                    needs[key] = max(size, needs.get(key, 0))
    constants = sum(
        size for key, size in needs.items() if isinstance(key, tuple) and key[0] == CONSTANT
    )
    return Stated(
        cycles=sum(one.cycles or 0 for one in variants),
        instructions=sum(one.cost.work.instructions for one in variants if one.cost),
        code_bytes=sum(needs.values()) - constants + fixed_bytes(len(models), len(variants)),
        constant_bytes=constants,
    )


def fixed_bytes(models: int, calls: int) -> int:
    """Returns the code of what calls the kernels: of so many models, and operators in all."""
    return RUN_BYTES * models + CALL_BYTES * calls


def option_of(bound: BoundOperator[Any], variant: Variant, with_constants: bool) -> Option:
    """Returns what the choice knows of a variant."""
    cost, call = variant.cost, variant.call
    needs: dict[Hashable, int] = {
        ("function", call.function_key): FUNCTION_BYTES
        + (cost.code_bytes if cost else UNSTATED_BYTES)
    }
    for name, size in (cost.shared_bytes if cost else {}).items():
        needs["piece", name] = size
    if with_constants:
        for constant in constants_of(bound, call):
            kind, content = key_of(constant.values)
            needs[CONSTANT, kind, hashlib.sha256(content).digest()] = len(content)
    return Option(variant.cycles or 0, needs)
