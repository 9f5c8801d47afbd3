"""Runs every shared TensorFlow Lite model against its golden outputs and writes docs/models.md.

Run it with `./dev models`. A model runs on a simulated stm32f746, one that is too large for it
on the host; one that does not compile is listed with the reason.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from uhost import __version__, driver
from uhost.errors import OutOfMemoryError, UhostError, UnsupportedOperatorError
from uhost.report.units import count
from uhost.runtime.device import device
from uhost.runtime.evaluation import Evaluation, measure
from uhost.runtime.samples import read_samples

ROOT = Path(__file__).resolve().parent.parent
BOARD = "stm32f746"


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one model.

    `samples` are the golden samples that ran. Without an `evaluation`, `reason` says what is in
    the way; with one, `why_host` says why it did not run on the board.
    """

    model: str
    size_bytes: int
    samples: int = 0
    evaluation: Evaluation | None = None
    reason: str = ""
    why_host: str = ""

    @property
    def is_right(self) -> bool:
        """True if every golden output was met, or there was nothing to run."""
        return self.evaluation is None or bool(self.evaluation.matches)


def evaluate(model: Path, golden: Path) -> Result:
    """Returns the result of one model: on the board, or on the host where it is too large."""
    size_bytes = model.stat().st_size
    try:
        sources = driver.load(model)
        samples = read_samples(golden, sources[0].graph).items
        why_host, board = "", BOARD
        try:
            built = driver.link(driver.compile_models(sources, board))
        except OutOfMemoryError as error:
            why_host, board = _needed(error), "host"
            built = driver.link(driver.compile_models(sources, board))
        one = measure(built, device(board), samples, count=board == BOARD)
    except UhostError as error:
        return Result(model.stem, size_bytes, reason=_in_short(error))
    return Result(model.stem, size_bytes, len(samples), one, why_host=why_host)


def _needed(error: OutOfMemoryError) -> str:
    """Returns what is too small, in two words."""
    first = error.what.splitlines()[0]
    return "RAM" if "'ram'" in first or "arena" in first else "flash"


def _in_short(error: UhostError) -> str:
    """Returns the reason of an error; of missing operators, each once."""
    if isinstance(error, UnsupportedOperatorError):
        refused = dict.fromkeys(f"{o.operator}: {o.reason}" for o in error.operators if o.reason)
        if refused:
            return "; ".join(refused)
    return error.what.splitlines()[0]


def row(result: Result) -> str:
    """Returns one line of the table."""
    one = result.evaluation
    size = f"{result.size_bytes / 1024:.0f}"
    if one is None:
        return f"| {result.model} | {size} | **does not compile**: {result.reason} | | | | | |"
    tolerance = f"within tolerance, at most {one.max_difference:.1e} off"
    verdict = "exact" if one.exact else tolerance if one.matches else "**WRONG**"
    cells = (
        result.model,
        size,
        f"{verdict}, {result.samples} sample{'s' if result.samples > 1 else ''}",
        f"{one.board}: {result.why_host} too small" if result.why_host else one.board,
        count(sum(o.macs for o in one.operators)),
        f"{one.arena_bytes / 1024:.1f}",
        f"{one.model_flash_bytes / 1024:.1f}",
        count(one.instructions),
    )
    return f"| {' | '.join(cells)} |"


def document(results: list[Result]) -> Iterator[str]:
    """Yields the lines of docs/models.md."""
    ran = [r for r in results if r.evaluation is not None]
    right = sum(r.is_right for r in ran)
    yield from (
        "# Models",
        "",
        f"Made by `./dev models` with uhost {__version__}: every TensorFlow Lite model of the",
        f"shared library, run with its golden inputs. Of {len(results)} models {len(ran)} compile,",
        f"and {right} of those meet all their golden outputs: bit for bit where they are integers,",
        "within 1e-6 + 1e-5 of the largest value where they are floats. The samples of a model",
        "with states are runs one after another, without a reset.",
        "",
        f"A model runs on a simulated {BOARD}; one that is too large for it runs on the host,",
        "where the instructions are not counted. MACs are those of the compiled graph.",
        "Arena and flash of the model (code and weights) in KiB, file size in KiB; instructions",
        "are those that the first sample executes.",
        "",
        "| model | file | result | runs on | MACs | arena | flash | instructions |",
        "|---|---:|---|---|---:|---:|---:|---:|",
    )
    yield from map(row, results)


def main() -> int:
    """Writes docs/models.md; returns 1 if any output was wrong."""
    folder = Path(os.environ.get("UHOST_MODELS", ROOT.parent / "shared" / "models"))
    models = sorted(folder.glob("*.tflite"))
    if not models:
        print(f"there are no models in {folder}; point UHOST_MODELS at them", file=sys.stderr)
        return 2
    results = []
    for model in models:
        results.append(evaluate(model, model.with_suffix(".golden.npz")))
        print(row(results[-1]), file=sys.stderr)
    (ROOT / "docs" / "models.md").write_text("\n".join(document(results)) + "\n")
    return int(not all(result.is_right for result in results))


if __name__ == "__main__":
    sys.exit(main())
