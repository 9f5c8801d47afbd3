"""Records every access to the arena while a model runs operator by operator in Unicorn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from unicorn import UC_HOOK_MEM_READ, UC_HOOK_MEM_WRITE, UC_MEM_WRITE

from uhost.planner.plan import MemoryPlan
from uhost.planner.replay import Accesses
from uhost.rpc.session import Session
from uhost.runners.unicorn import UnicornTransport
from uhost.runtime.compiled import Built


def record(built: Built, feeds: Sequence[NDArray[Any]]) -> tuple[MemoryPlan, tuple[Accesses, ...]]:
    """Returns the plan of the only model of `built`, and the accesses of each operator.

    The plan's live blocks share no byte. Raises `AssertionError` for an access that is in no
    block which lives while the operator runs.
    """
    lowered = built.compiled.models[0].lowered
    plan = lowered.plan
    assert not plan.overlaps
    transport = UnicornTransport(built.image, built.compiled.board)
    arena = _arena(built)
    log: list[tuple[int, int, bool]] = []

    def on_access(_engine: Any, kind: int, address: int, size: int, _value: int, _: Any) -> None:
        log.append((address - arena, size, kind == UC_MEM_WRITE))

    steps: list[Accesses] = []
    with Session(transport) as session:
        session.handshake()
        for index, feed in enumerate(feeds):
            session.write_input(0, index, feed.tobytes())
        executed = [o.name for o in lowered.graph.operators]
        transport._cpu.engine.hook_add(
            UC_HOOK_MEM_READ | UC_HOOK_MEM_WRITE,
            on_access,
            begin=arena,
            end=arena + plan.arena_bytes - 1,
        )
        for step, _name in enumerate(executed):
            log.clear()
            session.run_operator(0, step, timeout_s=120.0)
            steps.append(_accesses(plan, step, log))
    return plan, tuple(steps)


def _arena(built: Built) -> int:
    symbols = dict(built.image.symbols)
    found = [at for name, at in symbols.items() if "arena" in name]
    assert len(found) == 1, symbols
    return int(found[0].address)


def _accesses(plan: MemoryPlan, step: int, log: Sequence[tuple[int, int, bool]]) -> Accesses:
    table = np.array(log, np.int64).reshape(-1, 3)
    address = np.repeat(table[:, 0], table[:, 1])
    # The bytes of one access: its address, and those that follow.
    starts = np.repeat(np.cumsum(table[:, 1]) - table[:, 1], table[:, 1])
    address = address + np.arange(len(address)) - starts
    owner = np.full(plan.arena_bytes, -1, np.int64)
    for index, block in enumerate(plan.blocks):
        if block.first <= step <= block.last:
            owner[plan.offsets[block.name] : plan.offsets[block.name] + block.size_bytes] = index
    blocks = owner[address]
    assert (blocks >= 0).all(), f"operator {step} touches bytes of no live block"
    offsets = np.array([plan.offsets[b.name] for b in plan.blocks], np.int64)
    is_write = np.repeat(table[:, 2], table[:, 1]).astype(np.bool_)
    return Accesses(blocks, address - offsets[blocks], is_write)
