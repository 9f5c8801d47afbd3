"""The planner: sound for every set of lifetimes, and at its lower bound where one chain is live."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from uhost.config.compilation import Pool
from uhost.errors import VerifyError
from uhost.ir.dtype import DType
from uhost.ir.graph import Attributes, Graph, Operator
from uhost.ir.tensor import Tensor
from uhost.planner import plan_memory
from uhost.planner.pack import lower_bound, pack
from uhost.planner.plan import Block, MemoryPlan, Overlap

lifetimes = st.one_of(
    # Equal, touching and nested lifetimes by construction, and any others.
    st.tuples(st.just(2), st.just(5)),
    st.tuples(st.just(5), st.just(8)),
    st.tuples(st.just(3), st.just(4)),
    st.tuples(st.integers(0, 10), st.integers(0, 10)).map(lambda p: (min(p), max(p))),
)
sizes = st.one_of(st.sampled_from([0, 1, 7, 8, 64]), st.integers(0, 5000))


def plan_of(
    blocks: list[Block], alignment: int, overlaps: list[Overlap] | None = None
) -> MemoryPlan:
    sharing = tuple(overlaps or ())
    offsets = pack(blocks, alignment, sharing)
    extent = max((offsets[b.name] + b.size_bytes for b in blocks), default=0)
    bound = lower_bound(blocks, sharing)
    return MemoryPlan("ram", tuple(blocks), offsets, {}, extent, bound, alignment, sharing)


@given(st.lists(st.tuples(sizes, lifetimes), max_size=14), st.sampled_from([1, 4, 8, 16]))
@settings(max_examples=80, deadline=None)
def test_no_two_live_blocks_share_bytes(
    drawn: list[tuple[int, tuple[int, int]]], alignment: int
) -> None:
    blocks = [Block(f"t{i}", size, *life) for i, (size, life) in enumerate(drawn)]
    plan = plan_of(blocks, alignment)
    plan.verify()
    assert plan.arena_bytes >= plan.lower_bound_bytes
    assert plan.arena_bytes <= sum(b.size_bytes + alignment for b in blocks)


@given(st.lists(st.integers(1, 500).map(lambda n: 8 * n), min_size=1, max_size=12))
@settings(max_examples=60, deadline=None)
def test_a_chain_reaches_its_lower_bound(chain: list[int]) -> None:
    # Tensor i is made at step i - 1 and read at step i, as in a network without branches.
    blocks = [Block(f"t{i}", size, max(i - 1, 0), i) for i, size in enumerate(chain)]
    plan = plan_of(blocks, 8)
    plan.verify()
    assert plan.arena_bytes == plan.lower_bound_bytes


limits = st.one_of(st.none(), st.integers(-40, 60).map(lambda n: 8 * n))


@given(
    st.lists(st.tuples(st.integers(1, 60).map(lambda n: 8 * n), limits, limits), min_size=2),
    st.lists(st.tuples(sizes, lifetimes), max_size=5),
)
@settings(max_examples=150, deadline=None)
def test_blocks_share_bytes_only_where_they_may(
    chain: list[tuple[int, int | None, int | None]],
    others: list[tuple[int, tuple[int, int]]],
) -> None:
    blocks = [Block(f"t{i}", size, max(i - 1, 0), i) for i, (size, _, _) in enumerate(chain)]
    sharing = [
        Overlap(f"t{i}", f"t{i + 1}", least, most)
        for i, (_, least, most) in enumerate(chain[:-1])
        if least is None or most is None or least <= most
    ]
    blocks += [Block(f"o{i}", size, *life) for i, (size, life) in enumerate(others)]
    plan = plan_of(blocks, 8, sharing)
    plan.verify()
    assert plan.arena_bytes >= plan.lower_bound_bytes
    for one in sharing:
        start, end = (plan.offsets[name] for name in (one.read, one.written))
        sizes_bytes = {b.name: b.size_bytes for b in blocks}
        apart = start >= end + sizes_bytes[one.written] or end >= start + sizes_bytes[one.read]
        assert apart or one.allows(start - end)


@pytest.mark.parametrize(
    ("read_bytes", "written_bytes", "least", "most"),
    [(100, 40, 0, None), (40, 100, 72, None), (64, 64, 0, 0), (64, 64, 16, None), (64, 40, -8, -8)],
)
def test_most_shared_is_what_counting_gives(
    read_bytes: int, written_bytes: int, least: int | None, most: int | None
) -> None:
    overlap = Overlap("a", "b", least, most)
    counted = max(
        min(written_bytes, d + read_bytes) - max(0, d)
        for d in range(-200, 201)
        if overlap.allows(d)
    )
    assert overlap.most_shared(read_bytes, written_bytes) == max(counted, 0)


def test_a_growing_layer_ends_where_its_input_ends() -> None:
    # The output is twice as long and may not overtake the input: it begins in front of it.
    blocks = [Block("in", 64, 0, 0), Block("out", 128, 0, 1)]
    plan = plan_of(blocks, 8, [Overlap("in", "out", 64)])
    assert (plan.arena_bytes, plan.offsets["in"], plan.offsets["out"]) == (128, 64, 0)


def test_a_plan_that_overtakes_its_input_does_not_verify() -> None:
    blocks = (Block("in", 64, 0, 0), Block("out", 64, 0, 1))
    sharing = (Overlap("in", "out", 8),)
    offsets = {"in": 0, "out": 0}
    with pytest.raises(VerifyError, match="'in' and 'out' share bytes while both live"):
        MemoryPlan("ram", blocks, offsets, {}, 128, 64, 8, sharing).verify()


def test_the_plan_is_repeatable() -> None:
    blocks = [Block(f"t{i}", 100 + 37 * i % 91, i % 5, i % 5 + 2) for i in range(12)]
    assert pack(blocks, 8) == pack(blocks, 8)


def test_touching_lifetimes_do_not_share() -> None:
    # Step 3 reads one and writes the other.
    plan = plan_of([Block("in", 64, 0, 3), Block("out", 64, 3, 5)], 8)
    assert plan.arena_bytes == 128
    plan = plan_of([Block("in", 64, 0, 2), Block("out", 64, 3, 5)], 8)
    assert plan.arena_bytes == 64


@pytest.mark.parametrize(
    ("offsets", "message"),
    [
        ({"a": 0, "b": 32}, "'a' and 'b' share bytes while both live"),
        ({"a": 0, "b": 68}, "'b' lies unaligned at offset 68"),
        ({"a": 0, "b": 128}, "'b' lies outside the arena"),
    ],
)
def test_a_wrong_plan_does_not_verify(offsets: dict[str, int], message: str) -> None:
    blocks = (Block("a", 64, 0, 2), Block("b", 64, 1, 3))
    with pytest.raises(VerifyError, match=message):
        MemoryPlan("ram", blocks, offsets, {}, 128, 128, 8).verify()


def test_the_peak_names_who_is_live() -> None:
    plan = plan_of([Block("a", 10, 0, 1), Block("b", 30, 1, 2), Block("c", 5, 2, 2)], 1)
    assert plan.peak_step() == 1
    assert [b.name for b in plan.live_at(1)] == ["b", "a"]
    assert "lower bound 40 B" in str(plan)


def element_wise(name: str, source: str, result: str) -> Operator:
    return Operator(name, "relu", (source,), (result,), Attributes())


def test_outputs_and_kept_inputs_share_nothing_though_they_are_read_last() -> None:
    shape = (16,)
    tensors = {n: Tensor(n, shape, DType.INT8) for n in ("x", "y", "z")}
    operators = (element_wise("a", "x", "y"), element_wise("b", "y", "z"))
    anywhere = {name: [(0, None, None, False)] for name in ("a", "b")}
    chain = Graph("chain", tensors, operators, ("x",), ("z",))

    def plan(graph: Graph, *, keep: bool) -> MemoryPlan:
        return plan_memory(graph, frozenset(), {}, Pool("ram"), 8, anywhere, keep)

    assert plan(chain, keep=False).arena_bytes == 16
    kept = plan(chain, keep=True)
    assert (kept.arena_bytes, [o.read for o in kept.overlaps]) == (32, ["y"])
    both = plan(replace(chain, outputs=("y", "z")), keep=False)
    assert (both.arena_bytes, [o.read for o in both.overlaps]) == (32, ["x"])
