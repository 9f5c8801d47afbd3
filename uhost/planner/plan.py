"""MemoryPlan: where every tensor and every kernel's scratch lies in the arena, and when."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
class Overlap:
    """Leave for two blocks to share bytes in the step that reads one last and writes the other.

    `read` may begin `least` to `most` bytes behind the first byte of `written`, both
    included; None is no limit.
    """

    read: str
    written: str
    least: int | None = None
    most: int | None = None

    def allows(self, displacement: int) -> bool:
        """True if `read` may begin so many bytes behind `written`."""
        return (self.least is None or self.least <= displacement) and (
            self.most is None or displacement <= self.most
        )

    def most_shared(self, read_bytes: int, written_bytes: int) -> int:
        """Returns the largest number of bytes that blocks of these sizes can share."""
        # Within this range the smaller block lies wholly in the larger one.
        low, high = sorted((0, written_bytes - read_bytes))
        shared = min(read_bytes, written_bytes)
        if self.least is not None and self.least > high:
            shared -= self.least - high
        elif self.most is not None and self.most < low:
            shared -= low - self.most
        return max(shared, 0)


def shared_bytes(blocks: Sequence[Block], overlaps: Sequence[Overlap]) -> dict[int, int]:
    """Returns step → bytes that the blocks live at it can have in common at most."""
    by_name = {block.name: block for block in blocks}
    shared: dict[int, int] = {}
    for written in {o.written for o in overlaps}:
        output = by_name[written]
        most = sum(
            o.most_shared(by_name[o.read].size_bytes, output.size_bytes)
            for o in overlaps
            if o.written == written
        )
        shared[output.first] = shared.get(output.first, 0) + min(most, output.size_bytes)
    return shared


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """Block name → offset in the arena; views name the block they lie in.

    `overlaps` are the pairs of blocks that may share bytes though both live at a step.
    `lower_bound_bytes` is the largest sum of bytes live at one step, less what they can
    share: no plan can be smaller. The first `state_bytes` of the arena last from one run to
    the next.
    """

    pool: str
    blocks: tuple[Block, ...]
    offsets: Mapping[str, int]
    views: Mapping[str, str]
    arena_bytes: int
    lower_bound_bytes: int
    alignment_bytes: int
    overlaps: tuple[Overlap, ...] = ()
    state_bytes: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "offsets", MappingProxyType(dict(self.offsets)))
        object.__setattr__(self, "views", MappingProxyType(dict(self.views)))

    def offset(self, tensor: str) -> int:
        """Returns the tensor's offset in the arena, in bytes."""
        return self.offsets[self.views.get(tensor, tensor)]

    def verify(self) -> None:
        """Raises `VerifyError` unless blocks are aligned, inside, and disjoint while live.

        Blocks of an overlap may share bytes at a displacement that it allows.
        """
        allowed = {(o.read, o.written): o for o in self.overlaps}
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
                if a >= b + two.size_bytes or b >= a + one.size_bytes:
                    continue
                forth = allowed.get((one.name, two.name))
                back = allowed.get((two.name, one.name))
                if not (forth and forth.allows(a - b)) and not (back and back.allows(b - a)):
                    raise VerifyError(f"'{one.name}' and '{two.name}' share bytes while both live")

    def live_at(self, step: int) -> tuple[Block, ...]:
        """Returns the blocks live at `step`, largest first."""
        live = [b for b in self.blocks if b.first <= step <= b.last]
        return tuple(sorted(live, key=lambda b: (-b.size_bytes, b.name)))

    def peak_step(self) -> int:
        """Returns the first step at which the most bytes are live, shared ones counted once."""
        shared = shared_bytes(self.blocks, self.overlaps)
        steps = range(max((b.last for b in self.blocks), default=0) + 1)
        return max(
            steps,
            key=lambda s: (sum(b.size_bytes for b in self.live_at(s)) - shared.get(s, 0), -s),
            default=0,
        )

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
