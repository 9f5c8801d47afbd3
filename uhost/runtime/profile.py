"""Profile: what every operator of one inference took, as a table, CSV or a trace."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import astuple, dataclass, fields
from pathlib import Path

from uhost.codegen.artifact import write_file


@dataclass(frozen=True, slots=True)
class ProfileRow:
    """One operator; None where the device cannot measure.

    `cycles` are those of the device's own counter, `instructions` those a simulator
    executed, its call included. `seconds` are cycles at the board's clock, or this
    machine's clock where the model runs in this process.
    """

    operator: str
    kind: str
    kernel: str
    macs: int
    cycles: int | None = None
    instructions: int | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Profile:
    """The operators of one inference of `model` on `device`, in order."""

    model: str
    device: str
    clock_hz: int
    rows: tuple[ProfileRow, ...]

    def __iter__(self) -> Iterator[ProfileRow]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, operator: str) -> ProfileRow:
        """Returns the row of an operator; raises `KeyError` for an unknown one."""
        for row in self.rows:
            if row.operator == operator:
                return row
        raise KeyError(operator)

    @property
    def measured(self) -> str | None:
        """What is known of every operator: `cycles`, `instructions` or `seconds`, in this order."""
        for name in ("cycles", "instructions", "seconds"):
            if self.rows and all(getattr(row, name) is not None for row in self.rows):
                return name
        return None

    def to_csv(self, path: str | Path | None = None) -> str:
        """Returns the rows as CSV with a line of names; writes them to `path` as well."""
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(field.name for field in fields(ProfileRow))
        writer.writerows(astuple(row) for row in self.rows)
        return _written(stream.getvalue(), path)

    def to_chrome_trace(self, path: str | Path | None = None) -> str:
        """Returns the rows as a trace for chrome://tracing or Perfetto; writes it to `path` too.

        Operators follow one another without gaps. Where only instructions are known, each
        counts as one cycle of the board's clock; without a clock, as a microsecond.
        """
        events: list[dict[str, object]] = []
        at = 0.0
        for row in self.rows:
            duration = self._microseconds(row)
            figures = {"macs": row.macs, "cycles": row.cycles, "instructions": row.instructions}
            events.append(
                {
                    "name": row.operator,
                    "cat": row.kind,
                    "ph": "X",
                    "ts": round(at, 3),
                    "dur": round(duration, 3),
                    "pid": 0,
                    "tid": 0,
                    "args": {
                        "kernel": row.kernel,
                        **{k: v for k, v in figures.items() if v is not None},
                    },
                }
            )
            at += duration
        trace = {
            "traceEvents": events,
            "displayTimeUnit": "ns",
            "otherData": {"model": self.model, "device": self.device, "measured": self.measured},
        }
        return _written(json.dumps(trace, indent=1) + "\n", path)

    def _microseconds(self, row: ProfileRow) -> float:
        if row.seconds is not None:
            return row.seconds * 1e6
        steps = row.cycles if row.cycles is not None else row.instructions
        if steps is None:
            return 0.0
        return steps * 1e6 / self.clock_hz if self.clock_hz else float(steps)

    def __str__(self) -> str:
        heads = tuple(field.name for field in fields(ProfileRow))
        lines = [heads, *(tuple(_cell(value) for value in astuple(row)) for row in self.rows)]
        widths = [max(len(line[i]) for line in lines) for i in range(len(heads))]
        return "\n".join(
            "  ".join(
                cell.ljust(width) if i < 3 else cell.rjust(width)
                for i, (cell, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in lines
        )


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.3e}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _written(text: str, path: str | Path | None) -> str:
    if path is not None:
        write_file(Path(path), text.encode())
    return text
