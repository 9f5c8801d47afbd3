"""Why a kernel that can take an operator was not the one taken, in words."""

from __future__ import annotations

from collections.abc import Sequence

from uhost.kernels._choice import Aim, Choice, Option, flash_bytes
from uhost.kernels._partition import Offer


class Reasons:
    """Compares what was chosen for each operator with its other variants.

    `rows` are the operators' offers and options, `lacks` the bytes of RAM that are
    missing for each variant; none where RAM has no limit.
    """

    def __init__(
        self,
        rows: Sequence[tuple[Offer, list[Option]]],
        choice: Choice,
        aim: Aim,
        lacks: Sequence[Sequence[int]],
    ) -> None:
        self._choice = choice
        self._aim = aim
        self._lacks = lacks
        self._options = [options for _, options in rows]
        self._flash = flash_bytes(self._options, choice.picks)

    def of(self, row: int) -> dict[int, str]:
        """Returns variant → why it was not taken, of one operator."""
        chosen = self._choice.picks[row]
        return {
            index: self._compare(row, index)
            for index in range(len(self._options[row]))
            if index != chosen
        }

    def _compare(self, row: int, index: int) -> str:
        picks = list(self._choice.picks)
        taken = self._options[row][picks[row]]
        other = self._options[row][index]
        picks[row] = index
        slower = other.cycles - taken.cycles
        larger = flash_bytes(self._options, picks) - self._flash
        if self._lacks[row] and self._lacks[row][index]:
            return f"does not fit: {self._lacks[row][index]:,} B of RAM are missing at its step"
        if self._aim.optimize == "size":
            if larger > 0:
                return f"larger by {larger:,} B"
            return f"not smaller, and slower by {slower:,} cycles"
        if slower >= 0:
            return f"slower by {slower:,} cycles ({_share(slower, taken.cycles)})"
        if not self._aim.fits(self._flash + larger):
            left = (self._aim.flash_limit_bytes or 0) - self._flash - self._aim.fixed_bytes
            return f"does not fit: {larger:,} B more flash, {max(left, 0):,} B are left"
        whole = self._flash + self._aim.fixed_bytes
        return (
            f"{_share(larger, whole)} flash of the model for "
            f"{_share(slower, self._choice.cycles)} of its cycles"
        )


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:+.1f} %" if whole else "-"
