"""Instructions of loops in portable C, as GCC compiles them for Armv7-M: by kind of loop.

A kernel that walks over elements costs so much per element, per run of the loop that holds
them, and per run of the loops around. The figures are counted from compiled loops. They
hold within 3 % where an element takes always the same; what depends on the data, or on how
GCC spills registers, is stated as the most of it that was seen, and said so where it is.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from uhost.ir.graph import BoundOperator
from uhost.kernels._cost import Cost
from uhost.kernels._kernel import KernelCall
from uhost.kernels.reference._memory import filling
from uhost.targets._work import Work

TURN = Work(alu=1, branch=1)
"""The end of a turn: a comparison and a branch. Pointers step within the loads."""

ENTER = Work(alu=5, branch=2)
"""What a function takes before its first loop, and its return."""

AROUND = Work(alu=5, branch=1)
"""A turn of a loop around another: pointers begin anew, and the end is computed."""

STEP_LIMIT = 255
"""Bytes that a load or a store can step by itself."""

_BLOCK, _UNROLLED = 16, 2
"""Bytes that one turn of `uhost_copy_run` copies, and how many turns GCC spells out."""

_WEIGHTS = {
    "uhost_clamp": 5,
    "uhost_multiply_by_quantized_multiplier": 9,
    "uhost_multiply_wide": 14,
    "uhost_divide_int32": 4,
    "uhost_exp": 45,
    "uhost_sqrt": 20,
}
"""Instructions of functions in expressions; any other counts as `_ANY_FUNCTION`."""

_ANY_FUNCTION = 40
_OPERATOR = re.compile(r"<<|>>|[<>=!]=|[-+*/%<>?&|^](?![-+*/%<>?&|^=])")
_ELEMENT = re.compile(r"\b\w+\[[^]]*\]")
"""Its index is stepped by the load."""

_FUNCTION = re.compile(r"\b(uhost_\w+|\w+f)\(")


def elements_work(count: int, each: Work) -> Work:
    """Returns a function of one loop over `count` elements."""
    return (each + TURN) * count + ENTER


def nest_work(loops: Sequence[tuple[str, int]], each: Work) -> Work:
    """Returns a nest of loops, outermost first, around what each element takes."""
    turns = 1
    work = Work()
    for _, size in loops[:-1]:
        turns *= size
        work += AROUND * turns
    innermost = loops[-1][1] if loops else 1
    return work + (each + (TURN if loops else Work())) * (turns * innermost)


def expression_work(texts: Sequence[str]) -> Work:
    """Returns the most that C expressions take: one instruction per operator, two per choice."""
    alu = multiply = 0
    for text in (_ELEMENT.sub("x", one) for one in texts):
        for name in _FUNCTION.findall(text):
            alu += _WEIGHTS.get(name, _ANY_FUNCTION)
        for sign in _OPERATOR.findall(text):
            if sign == "*":
                multiply += 1
            else:
                alu += 2 if sign == "?" else 1
    return Work(alu=alu, multiply=multiply)


def expression_bytes(texts: Sequence[str]) -> int:
    """Returns the code of such expressions."""
    return 3 * expression_work(texts).instructions


def run_work(size: int) -> Work:
    """Returns `uhost_copy_run` for `size` bytes, which are known: 16 a turn, then the rest."""
    blocks, rest = divmod(size, _BLOCK)
    words, rest = divmod(rest, 4)
    work = Work(load=4, store=4) * blocks + Work(load=1, store=1) * (words + rest)
    if blocks > _UNROLLED:
        work += Work(alu=3, branch=1) * blocks + Work(alu=2)
    if words > 2 or (words and blocks > _UNROLLED):
        work += Work(alu=1, branch=1) * words + Work(alu=2)
    if rest and blocks > _UNROLLED:
        work += Work(alu=3)
    return work


def copies_cost(bound: BoundOperator[Any], call: KernelCall) -> Cost:
    """Returns the cost of copies, as `lower_copies` makes them.

    Where loops are nested around a run, its own loop loses a register per level, two at most.
    """
    size_bytes = bound.outputs[0].dtype.size_bytes
    values = call.values
    work, code_bytes = ENTER, 12
    if values["fills"]:
        work += filling_work(values["fills"] * size_bytes)
        code_bytes += 16
    for loops, _, target_index, _, source_index, run_bytes in values["parts"]:
        if run_bytes:
            turns = math.prod(size for _, size in loops)
            spilled = min(max(len(loops) - 1, 0), 2)
            again = Work(alu=3, branch=1) if loops else Work(alu=1)
            again += Work(alu=spilled) * (run_bytes // _BLOCK)
            work += (run_work(run_bytes) + again) * turns
            for depth in range(1, len(loops)):
                work += AROUND * math.prod(size for _, size in loops[:depth])
            code_bytes += 60 + 12 * len(loops)
            continue
        each = Work(load=1, store=1)
        for index in (source_index, target_index):
            if loops and stride_of(index, loops[-1][0]) * size_bytes > STEP_LIMIT:
                each += Work(alu=1)
        work += nest_work(loops, each)
        code_bytes += 12 + 14 * len(loops)
    return Cost(work, code_bytes)


def filling_work(size: int) -> Work:
    """Returns a loop that GCC makes a MEMSET."""
    return filling(size) + Work(alu=3)


def stride_of(index: str, variable: str) -> int:
    """Returns the stride of a loop's variable in an index expression; 0 if it is not there."""
    found = re.search(rf"\b{variable}\b(?: \* (\d+))?", index)
    if found is None:
        return 0
    return int(found[1]) if found[1] else 1


def elements_cost(bound: BoundOperator[Any], call: KernelCall) -> Cost:
    """Returns the cost of an element-wise kernel: of a table, a clamp, copies or an expression.

    That of an expression is what its operators may take: GCC often finds less.
    """
    values = call.values
    if call.template == "copy":
        return copies_cost(bound, call)
    if call.template == "lookup":
        return Cost(elements_work(values["elements"], Work(load=2, store=1)), 28)
    if call.template == "clamp":
        ends = bool(values["lowest"]) + bool(values["highest"])
        each = Work(load=1, alu=3, store=1) if ends else Work(load=1, store=1)
        if ends == 2:
            each += Work(alu=3)
        return Cost(elements_work(values["elements"], each), 24 + 8 * ends)
    texts = (*values["statements"], values["result"])
    loops = values["loops"]
    inner = loops[-1][0] if loops else ""
    each = Work(store=1) + expression_work(texts)
    for _, _, element in values["operands"]:
        each += Work(load=1) if re.search(rf"\b{inner}\b", element) else Work()
    code_bytes = 30 + 14 * len(loops) + expression_bytes(texts)
    return Cost(nest_work(loops, each) + ENTER, code_bytes)


def fold_cost(_: BoundOperator[Any], call: KernelCall) -> Cost:
    """Returns the cost of a reduction: a step per element, and what makes an output of it."""
    values: Mapping[str, Any] = call.values
    step = Work(load=1) + expression_work((values["step"].replace("+=", "+"),))
    ends = (values["start"], *values["lines"], values["result"])
    end = Work(load=1, store=1, alu=4) + expression_work(ends)
    inner = nest_work(values["inner_loops"], step)
    work = nest_work(values["outer_loops"], inner + end) + ENTER
    depth = len(values["inner_loops"]) + len(values["outer_loops"])
    return Cost(work, 40 + 14 * depth + expression_bytes(ends))
