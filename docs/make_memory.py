"""Writes the part of benchmarks.md on RAM: the mode `speed` against `ram`, and other tools.

Run it with `.venv/bin/python docs/make_memory.py` to see the part; `./dev bench` makes it with
all the others.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import yaml

from uhost import driver
from uhost.config.board import load_board
from uhost.errors import OutOfMemoryError
from uhost.report.units import count
from uhost.runtime.device import device
from uhost.runtime.evaluation import Evaluation, measure
from uhost.runtime.samples import read_samples

ROOT = Path(__file__).resolve().parent.parent
NAMES = {name: f"mlperf_{name}_int8" for name in ("kws", "vww", "ic", "ad")}
FURTHER = (
    "mcunet_vww",
    "tinymaix_mbnet96_int8",
    "arm_yolo_fastest_face_int8",
    "coral_mobilenet_v1_uint8",
)
BOARD, RUNNER = "stm32f746", "unicorn"
AGAIN = ("mps2_an500", "qemu")
BOARDS = (BOARD, "mps2_an500")
"""Where the further models are tried, in this order."""

Mode = Literal["speed", "ram"]


@dataclass(frozen=True, slots=True)
class Pair:
    """One model in the two modes, on one board."""

    speed: Evaluation
    ram: Evaluation

    @property
    def ratio(self) -> float:
        """Instructions in the mode `ram` for one in the mode `speed`."""
        return (self.ram.instructions or 0) / (self.speed.instructions or 1)

    @property
    def exact(self) -> bool:
        """True if all outputs of both modes are those of the reference."""
        return bool(self.speed.exact and self.ram.exact)


def evaluate(model: Path, golden: Path, board: str, runner: str, mode: Mode) -> Evaluation:
    """Returns the figures of one model in one mode: its first golden sample, with GCC."""
    found = load_board(board)
    config = replace(driver.configure(found), optimize=mode)
    compiled = driver.compile_models(driver.load(model), found, config=config)
    built = driver.link(compiled, "arm_gcc")
    samples = read_samples(golden, built.compiled.models[0].lowered.graph).items[:1]
    return measure(built, device(found, runner), samples)


def pair(model: Path, golden: Path, board: str = BOARD, runner: str = RUNNER) -> Pair:
    """Returns one model in both modes."""
    print(f"{model.stem} for speed and for RAM on {board} in {runner}", file=sys.stderr)
    speed, ram = (evaluate(model, golden, board, runner, mode) for mode in ("speed", "ram"))
    return Pair(speed, ram)


def least_of_others(known: Mapping[str, Any], model: str) -> str:
    """Returns the least RAM that another tool takes on the Cortex-M7, and which tool."""
    rows = [row for row in known["rows"] if row[:2] == [model, "m7"] and row[6]]
    if not rows:
        return "-"
    best = min(rows, key=lambda row: int(row[6]))
    return f"{best[6] / 1024:.1f} ({known['tools'][best[2]]['name']})"


def row(name: str, one: Pair, last: str) -> str:
    """Returns one line of a table: KiB in both modes, instructions in both, what else there is."""
    cells = (
        name,
        *(f"{(each.model_ram_bytes or 0) / 1024:.1f}" for each in (one.speed, one.ram)),
        *(count(each.instructions) for each in (one.speed, one.ram)),
        f"{one.ratio:.2f}",
        "yes" if one.exact else "NO",
        last,
    )
    return f"| {' | '.join(cells)} |"


def head(last: str) -> tuple[str, str]:
    """Returns the first two lines of a table of `row`s."""
    return (
        f"| model | RAM, speed | RAM, ram | instructions, speed | ram | ratio | exact | {last} |",
        "|---|---:|---:|---:|---:|---:|---|---|",
    )


def further_row(model: Path, golden: Path) -> str:
    """Returns the line of a further model: on a board that holds it, or its arenas alone."""
    for board in BOARDS:
        try:
            return row(model.stem, pair(model, golden, board), board)
        except OutOfMemoryError:
            print(f"{model.stem} does not fit {board}", file=sys.stderr)
    return arenas_row(model)


def arenas_row(model: Path) -> str:
    """Returns the line of a model that no board here holds: its arenas on the host."""
    host = load_board("host")
    graphs = [source.graph for source in driver.load(model)]
    sizes = []
    for mode in ("speed", "ram"):
        config = replace(driver.configure(host), optimize=mode)
        [lowered] = driver.lower_models(graphs, config)
        sizes.append(f"{lowered.plan.arena_bytes / 1024:.1f}")
    return f"| {model.stem} | {sizes[0]} | {sizes[1]} | - | - | - | - | arena alone, host |"


def section(folder: Path) -> Iterator[str]:
    """Yields the part's lines, beginning with its title."""
    known = yaml.safe_load((ROOT / "docs" / "peers.yaml").read_text())
    again: list[str] = []
    yield from (
        "## RAM for speed and for little RAM",
        "",
        f"Arena (inputs and outputs lie in it) and stack in KiB, on {BOARD} in Unicorn with GCC,",
        "as `--optimize speed` and `--optimize ram` make them. Instructions are those of one",
        "inference; the ratio is that of the second to the first. Beside them the least RAM that",
        "another tool takes on a Cortex-M7 (`docs/peers.yaml`).",
        "",
        *head("least of other tools"),
    )
    for short, name in NAMES.items():
        model, golden = folder / f"{name}.tflite", folder / f"{name}.golden.npz"
        yield row(short, pair(model, golden), least_of_others(known, short))
        for mode in ("speed", "ram"):
            if not evaluate(model, golden, *AGAIN, mode).exact:
                again.append(f"{short} in the mode {mode}")
    verdict = f"not exact: {', '.join(again)}" if again else "exact in both modes"
    yield from ("", f"On {AGAIN[0]} in QEMU all four are {verdict}." if not again else verdict)
    yield from ("", "The same of larger models, on the first board named that holds them:", "")
    yield from head("board")
    for name in FURTHER:
        yield further_row(folder / f"{name}.tflite", folder / f"{name}.golden.npz")


if __name__ == "__main__":
    print("\n".join(section(Path(os.environ.get("UHOST_MODELS", ROOT.parent / "shared/models")))))
