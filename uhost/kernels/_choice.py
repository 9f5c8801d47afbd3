"""Chooses one option per operator: few cycles within a limit of flash, which options share.

Flash is the sum over everything that any chosen option needs: a function, a shared piece
of C or an array of constants is paid once however many need it. So this is a
multiple-choice knapsack whose weights overlap.

Operators are added one by one. A label is what was chosen so far: its cycles, its flash,
and which of the things paid for can be needed again. A label goes when another is no
slower and, with what it lacks of the first one's things bought as well, no larger; and
when even the least that the rest can take is no better than the best solution known,
which greedy descent finds at the start. For the rest a Lagrangian bound is taken. That is
exact. Where more than `MOST_LABELS` remain, only those of the best bounds are kept: the
result then says how much better than it an optimum could be at most (`Choice.gap`).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from uhost.config.compilation import Optimize

MOST_LABELS = 2000

FASTEST = ("speed", "cycles", "ram")
"""What makes cycles small. They differ in what is counted as cycles, and in the limit of RAM."""

_SLOPES = tuple(2.0**e for e in range(-8, 17))
"""Cycles per byte at which the greedy descent begins."""


@dataclass(frozen=True, slots=True)
class Option:
    """One way to compute an operator: its cycles, and what it needs in flash with the bytes."""

    cycles: int
    needs: Mapping[Hashable, int]

    def __post_init__(self) -> None:
        object.__setattr__(self, "needs", MappingProxyType(dict(self.needs)))


@dataclass(frozen=True, slots=True)
class Choice:
    """The option taken of each operator, what all of them take, and how far from the best.

    `gap` is 0 for an optimum; 0.01 says that no choice is better by more than 1 %.
    """

    picks: tuple[int, ...]
    cycles: int
    flash_bytes: int
    gap: float = 0.0


@dataclass(frozen=True, slots=True)
class Aim:
    """What is made small, and the flash that must not be exceeded.

    `speed`, `cycles` and, under a small limit of RAM, `ram`: cycles, then flash. `size`: flash,
    then cycles. `balanced`: the product of both: more flash is taken where it saves a greater
    share of cycles than it adds of flash. `fixed_bytes` are part of the flash whatever is chosen.
    """

    optimize: Optimize
    flash_limit_bytes: int | None = None
    fixed_bytes: int = 0

    def score(self, cycles: float, flash_bytes: float) -> tuple[float, float]:
        """Returns what is compared: the less the better."""
        flash = flash_bytes + self.fixed_bytes
        if self.optimize in FASTEST:
            return cycles, flash
        return (flash, cycles) if self.optimize == "size" else (cycles * flash, flash)

    def fits(self, flash_bytes: float) -> bool:
        """True if so much flash, with what is fixed, is allowed."""
        return (
            self.flash_limit_bytes is None
            or flash_bytes + self.fixed_bytes <= self.flash_limit_bytes
        )


def choose(operators: Sequence[Sequence[Option]], aim: Aim) -> Choice | None:
    """Returns the best choice of one option for each operator; None where none fits.

    Each operator has one option or more.
    """
    best = _greedy(operators, aim)
    fastest = tuple(min(range(len(o)), key=lambda j: o[j].cycles) for o in operators)
    if aim.optimize in FASTEST and best is not None:
        least = sum(options[j].cycles for options, j in zip(operators, fastest, strict=True))
        if best.cycles == least:
            return best
    return _Search(operators, aim, best).run()


def flash_bytes(operators: Sequence[Sequence[Option]], picks: Sequence[int]) -> int:
    """Returns the bytes of everything that the picked options need, each thing once."""
    needs: dict[Hashable, int] = {}
    for options, pick in zip(operators, picks, strict=True):
        for key, size in options[pick].needs.items():
            needs[key] = max(size, needs.get(key, 0))
    return sum(needs.values())


def _valued(operators: Sequence[Sequence[Option]], picks: tuple[int, ...]) -> Choice:
    cycles = sum(o[j].cycles for o, j in zip(operators, picks, strict=True))
    return Choice(picks, cycles, flash_bytes(operators, picks))


def _greedy(operators: Sequence[Sequence[Option]], aim: Aim) -> Choice | None:
    """Returns the best of many good choices that fit; None if none does."""
    best: Choice | None = None
    for slope in (0.0, *_SLOPES, 2.0**40):
        found = _descend(operators, slope)
        if aim.fits(found.flash_bytes) and (
            best is None
            or aim.score(found.cycles, found.flash_bytes) < aim.score(best.cycles, best.flash_bytes)
        ):
            best = found
    return best


def _descend(operators: Sequence[Sequence[Option]], slope: float) -> Choice:
    """Returns a choice that no change of one operator improves, flash at `slope` cycles a byte."""
    picks = [0] * len(operators)
    users: dict[Hashable, int] = {}

    def price(option: Option) -> tuple[float, int]:
        new = sum(size for key, size in option.needs.items() if not users.get(key))
        return option.cycles + slope * new, new

    def add(option: Option, count: int) -> None:
        for key in option.needs:
            users[key] = users.get(key, 0) + count

    for index, options in enumerate(operators):
        picks[index] = min(range(len(options)), key=lambda j: price(options[j]))
        add(options[picks[index]], 1)
    for _ in range(8):
        before = list(picks)
        for index, options in enumerate(operators):
            add(options[picks[index]], -1)
            picks[index] = min(range(len(options)), key=lambda j: price(options[j]))
            add(options[picks[index]], 1)
        if picks == before:
            break
    return _valued(operators, tuple(picks))


@dataclass(frozen=True, slots=True)
class _Label:
    cycles: int
    flash: int
    paid: int
    """A bit for each shared thing that was bought and may be needed again."""
    picks: tuple[int, ...]


class _Search:
    """The labels of one problem, operator by operator."""

    def __init__(
        self, operators: Sequence[Sequence[Option]], aim: Aim, best: Choice | None
    ) -> None:
        self._operators = operators
        self._aim = aim
        self._best = best
        users: dict[Hashable, list[int]] = {}
        sizes: dict[Hashable, int] = {}
        for index, options in enumerate(operators):
            for option in options:
                for key, size in option.needs.items():
                    users.setdefault(key, []).append(index)
                    sizes[key] = max(size, sizes.get(key, 0))
        shared = [key for key, by in users.items() if by[0] != by[-1]]
        self._bit = {key: 1 << number for number, key in enumerate(shared)}
        self._sizes = {self._bit[key]: sizes[key] for key in shared}
        self._own = [
            [sum(s for k, s in one.needs.items() if k not in self._bit) for one in options]
            for options in operators
        ]
        self._masks = [
            [sum(self._bit[k] for k in one.needs if k in self._bit) for one in options]
            for options in operators
        ]
        last = {self._bit[key]: users[key][-1] for key in shared}
        self._open = [
            sum(bit for bit, end in last.items() if end > index) for index in range(len(operators))
        ]
        self._rest = self._rests()
        self._dropped: tuple[float, float] | None = None

    def run(self) -> Choice | None:
        labels = [_Label(0, 0, 0, ())]
        for index in range(len(self._operators)):
            labels = self._undominated(list(self._extended(labels, index)))
            if len(labels) > MOST_LABELS:
                labels.sort(key=lambda one: self._bound(one, index + 1))
                cut = self._bound(labels[MOST_LABELS], index + 1)
                self._dropped = cut if self._dropped is None else min(cut, self._dropped)
                del labels[MOST_LABELS:]
        for label in labels:
            self._offer(Choice(label.picks, label.cycles, label.flash))
        if self._best is None or self._dropped is None:
            return self._best
        mine = self._aim.score(self._best.cycles, self._best.flash_bytes)[0]
        gap = max(0.0, 1 - self._dropped[0] / mine) if mine else 0.0
        return Choice(self._best.picks, self._best.cycles, self._best.flash_bytes, gap)

    def _offer(self, found: Choice) -> None:
        if self._best is None or self._aim.score(found.cycles, found.flash_bytes) < (
            self._aim.score(self._best.cycles, self._best.flash_bytes)
        ):
            self._best = found

    def _extended(self, labels: Sequence[_Label], index: int) -> Iterator[_Label]:
        """Yields each label with each option of the operator, unless that cannot be better."""
        ceiling = None
        if self._best is not None:
            ceiling = self._aim.score(self._best.cycles, self._best.flash_bytes)
        for label in labels:
            for pick, option in enumerate(self._operators[index]):
                mask = self._masks[index][pick]
                made = _Label(
                    label.cycles + option.cycles,
                    label.flash + self._own[index][pick] + self._bytes(mask & ~label.paid),
                    (label.paid | mask) & self._open[index],
                    (*label.picks, pick),
                )
                if not self._aim.fits(made.flash + self._rest[index + 1].flash):
                    continue
                if ceiling is None or self._bound(made, index + 1) < ceiling:
                    yield made

    def _bytes(self, mask: int) -> int:
        total = 0
        while mask:
            bit = mask & -mask
            total += self._sizes[bit]
            mask ^= bit
        return total

    def _undominated(self, labels: list[_Label]) -> list[_Label]:
        """Returns the labels that no other makes superfluous, of equals the first.

        Labels are compared with those that are quickest so far, which catches nearly all.
        """
        labels.sort(key=lambda one: (one.cycles, one.flash))
        kept: list[_Label] = []
        fronts: dict[int, int] = {}
        for label in labels:
            if any(
                flash + self._bytes(label.paid & ~paid) <= label.flash
                for paid, flash in fronts.items()
            ):
                continue
            fronts[label.paid] = label.flash
            kept.append(label)
        return kept

    @dataclass(frozen=True, slots=True)
    class _Rest:
        """The least that the operators from one on can take, whatever was paid before."""

        cycles: int
        flash: int
        priced: tuple[float, ...]
        """Of cycles plus flash at each slope."""

    def _rests(self) -> list[_Rest]:
        rests = [self._Rest(0, 0, tuple(0.0 for _ in _SLOPES))]
        for options, own in zip(reversed(self._operators), reversed(self._own), strict=True):
            after = rests[-1]
            rests.append(
                self._Rest(
                    after.cycles + min(one.cycles for one in options),
                    after.flash + min(own),
                    tuple(
                        rest
                        + min(one.cycles + slope * o for one, o in zip(options, own, strict=True))
                        for slope, rest in zip(_SLOPES, after.priced, strict=True)
                    ),
                )
            )
        return rests[::-1]

    def _bound(self, label: _Label, index: int) -> tuple[float, float]:
        """Returns a score that nothing made of the label can be below."""
        aim, rest = self._aim, self._rest[index]
        cycles, flash = label.cycles + rest.cycles, label.flash + rest.flash
        if aim.optimize == "size":
            return aim.score(cycles, flash)
        lowest: float = cycles
        product = float(cycles) * (flash + aim.fixed_bytes)
        for slope, priced in zip(_SLOPES, rest.priced, strict=True):
            # No completion has cycles + slope * flash below this.
            line = label.cycles + slope * (label.flash + aim.fixed_bytes) + priced
            if aim.optimize in FASTEST and aim.flash_limit_bytes is not None:
                lowest = max(lowest, line - slope * aim.flash_limit_bytes)
            elif aim.optimize == "balanced":
                least = flash + aim.fixed_bytes
                ends = (
                    cycles * max(least, (line - cycles) / slope),
                    max(cycles, line - slope * least) * least,
                )
                product = max(product, min(ends))
        if aim.optimize == "balanced":
            return product, flash + aim.fixed_bytes
        return lowest, flash + aim.fixed_bytes
