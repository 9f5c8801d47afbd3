"""Windows as lines: which way they run over the image, and how a line is laid out.

A line runs along one axis of the image and holds, for each of its positions, the elements
of all the window's lines that the other axis crosses. The window of an output is then one
run of bytes, and the next output's begins `stride` positions further.
"""

from __future__ import annotations

from dataclasses import dataclass

from uhost.ops._window import Axis


@dataclass(frozen=True, slots=True)
class Lines:
    """The axis across lines, the one along them, and whether lines are image columns."""

    across: Axis
    along: Axis
    are_columns: bool

    @property
    def positions(self) -> int:
        """Positions of a line, padding included, from the first to the last that is read."""
        return (self.along.output - 1) * self.along.stride + self.along.span

    @property
    def length(self) -> int:
        """Positions of a line that lie on the image."""
        return max(0, min(self.along.size, self.positions - self.along.before))

    @property
    def padded_across(self) -> bool:
        """True if some line of some window lies off the image."""
        return self.across.starts_outside or self.across.ends_outside

    @property
    def padded_along(self) -> bool:
        """True if some position of a line lies off the image."""
        return self.along.starts_outside or self.along.ends_outside

    def steps(self, row: int, pixel: int) -> tuple[int, int]:
        """Returns the steps from line to line and along a line, of an image's rows and pixels."""
        return (pixel, row) if self.are_columns else (row, pixel)


def image_lines(rows: Axis, columns: Axis) -> list[Lines]:
    """Returns both ways to cut the image into lines, rows first."""
    return [Lines(rows, columns, are_columns=False), Lines(columns, rows, are_columns=True)]
