"""MemoryPlan: where every tensor and every kernel's scratch lies in the arena, and when."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from uhost.errors import VerifyError


@dataclass(frozen=True, slots=True)
class Block:
    """Bytes needed from step `first` to step `last`, both included.

    Step i is operator i; a graph input lives from step 0, a graph output to the last step.
    """

    name: str
    size_bytes: int
    first: int
    last: int

    def overlaps(self, other: Block) -> bool:
        """True if both are live at some step."""
        return self.first <= other.last and other.first <= self.last


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """Block name → offset in the arena; views name the block they lie in.

    `lower_bound_bytes` is the largest sum of bytes live at one step: no plan of
    disjoint blocks can be smaller. The first `state_bytes` of the arena last from one run to
    the next.
    """

    pool: str
    blocks: tuple[Block, ...]
    offsets: Mapping[str, int]
    views: Mapping[str, str]
    arena_bytes: int
    lower_bound_bytes: int
    alignment_bytes: int
    state_bytes: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "offsets", MappingProxyType(dict(self.offsets)))
        object.__setattr__(self, "views", MappingProxyType(dict(self.views)))

    def offset(self, tensor: str) -> int:
        """Returns the tensor's offset in the arena, in bytes."""
        return self.offsets[self.views.get(tensor, tensor)]

    def verify(self) -> None:
        """Raises `VerifyError` unless blocks are aligned, inside, and disjoint while live."""
        for block in self.blocks:
            start = self.offsets[block.name]
            if start % self.alignment_bytes:
                raise VerifyError(f"'{block.name}' lies unaligned at offset {start}")
            if start < 0 or start + block.size_bytes > self.arena_bytes:
                raise VerifyError(f"'{block.name}' lies outside the arena")
        for index, one in enumerate(self.blocks):
            for two in self.blocks[index + 1 :]:
                if not one.overlaps(two) or not one.size_bytes or not two.size_bytes:
                    continue
                a, b = self.offsets[one.name], self.offsets[two.name]
                if a < b + two.size_bytes and b < a + one.size_bytes:
                    raise VerifyError(f"'{one.name}' and '{two.name}' share bytes while both live")

    def live_at(self, step: int) -> tuple[Block, ...]:
        """Returns the blocks live at `step`, largest first."""
        live = [b for b in self.blocks if b.first <= step <= b.last]
        return tuple(sorted(live, key=lambda b: (-b.size_bytes, b.name)))

    def peak_step(self) -> int:
        """Returns the first step at which the most bytes are live."""
        steps = range(max((b.last for b in self.blocks), default=0) + 1)
        return max(steps, key=lambda s: (sum(b.size_bytes for b in self.live_at(s)), -s), default=0)

    def __str__(self) -> str:
        lines = [
            f"arena {self.arena_bytes} B in {self.pool}, lower bound {self.lower_bound_bytes} B"
        ]
        for block in sorted(self.blocks, key=lambda b: (b.first, b.name)):
            lines.append(
                f"  {self.offsets[block.name]:>8} +{block.size_bytes:<8}"
                f" steps {block.first}-{block.last}  {block.name}"
            )
        return "\n".join(lines)
