"""The planner against a solver that proves the smallest arena: close to it, and never below."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from packing_oracle import prove

from uhost.planner.pack import lower_bound, pack
from uhost.planner.plan import Block, Overlap

ALIGNMENT_BYTES = 8
GAP = 0.1
"""By how much of the smallest arena a plan of a few blocks may be larger than it."""


@st.composite
def block_sets(draw: st.DrawFn) -> tuple[list[Block], list[Overlap]]:
    """Blocks with any lifetimes, some of which may run into one that begins where they end."""
    steps = st.integers(0, 8)
    drawn = draw(st.lists(st.tuples(st.integers(1, 400), steps, steps), min_size=2, max_size=8))
    blocks = [Block(f"t{i}", size, min(a, b), max(a, b)) for i, (size, a, b) in enumerate(drawn)]
    limits = st.one_of(st.none(), st.integers(-20, 20).map(lambda n: n * ALIGNMENT_BYTES))
    overlaps = []
    for read in blocks:
        for written in blocks:
            if not read.first < read.last == written.first < written.last:
                continue
            least, most = draw(st.tuples(limits, limits))
            if least is None or most is None or least <= most:
                overlaps.append(Overlap(read.name, written.name, least, most))
    return blocks, overlaps


def extent(blocks: list[Block], overlaps: list[Overlap]) -> int:
    offsets = pack(blocks, ALIGNMENT_BYTES, overlaps)
    return max(offsets[block.name] + block.size_bytes for block in blocks)


@given(block_sets())
@settings(max_examples=150, deadline=None)
def test_a_plan_of_few_blocks_is_close_to_the_smallest(
    drawn: tuple[list[Block], list[Overlap]],
) -> None:
    blocks, overlaps = drawn
    proven = prove(blocks, ALIGNMENT_BYTES, overlaps)
    assert proven.least_bytes == proven.found_bytes
    assert lower_bound(blocks, overlaps) <= proven.least_bytes
    packed = extent(blocks, overlaps)
    assert proven.least_bytes <= packed
    assert packed <= (1 + GAP) * proven.least_bytes + ALIGNMENT_BYTES


def test_the_solver_knows_what_sums_do_not() -> None:
    """Of two blocks of 12 bytes the upper one begins at 16: the sum of both is less."""
    blocks = [Block("a", 12, 0, 1), Block("b", 12, 1, 2)]
    assert lower_bound(blocks) == 24
    assert prove(blocks, ALIGNMENT_BYTES).least_bytes == extent(blocks, []) == 28


def test_the_solver_shares_bytes_as_far_as_it_may() -> None:
    blocks = [Block("in", 64, 0, 0), Block("out", 128, 0, 1)]
    assert prove(blocks, 8).least_bytes == 192
    assert prove(blocks, 8, [Overlap("in", "out", 64)]).least_bytes == 128
    assert prove(blocks, 8, [Overlap("in", "out", 96)]).least_bytes == 160
    assert prove(blocks, 8, [Overlap("in", "out", None, -32)]).least_bytes == 160
