"""Measures the benchmark models in the simulator and writes docs/benchmarks.md.

Run it with `./dev bench`. The figures are executed instructions, so they do not
depend on the machine that runs the simulator.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import make_compile_times
import make_memory
import make_peers

from uhost import __version__, driver, resources
from uhost.report.units import count
from uhost.runtime.device import device
from uhost.runtime.evaluation import Evaluation, measure
from uhost.runtime.samples import read_samples

ROOT = Path(__file__).resolve().parent.parent
MODELS = ("mlperf_kws_int8", "mlperf_vww_int8", "mlperf_ic_int8", "mlperf_ad_int8")
RUNS = (
    ("stm32f746", "arm_gcc", "unicorn"),
    ("stm32f746", "zig", "unicorn"),
    ("netduinoplus2", "arm_gcc", "unicorn"),
    ("mps2_an500", "arm_gcc", "qemu"),
    ("mps3_an547", "arm_gcc", "qemu"),
)
# Which of the runs stands for a core beside other tools.
CORES = {
    ("stm32f746", "arm_gcc"): "m7",
    ("netduinoplus2", "arm_gcc"): "m4",
    ("mps3_an547", "arm_gcc"): "m55",
}


def evaluate(model: Path, golden: Path, board: str, toolchain: str, runner: str) -> Evaluation:
    """Returns the figures of one model on one board in one simulator."""
    built = driver.link(driver.compile_models(driver.load(model), board), toolchain)
    samples = read_samples(golden, built.compiled.models[0].lowered.graph).items
    return measure(built, device(built.compiled.board, runner), samples, layers=True)


def row(one: Evaluation) -> str:
    """Returns one line of the table of models."""
    macs = sum(o.macs for o in one.operators)
    instructions = one.instructions or 0
    cells = (
        one.model,
        count(macs),
        count(instructions),
        f"{instructions / macs:.2f}",
        count(one.modelled_cycles),
        f"{1e3 * (one.modelled_cycles or instructions) / one.clock_hz:.2f}",
        f"{one.model_flash_bytes / 1024:.1f}",
        f"{one.image_flash_bytes / 1024:.1f}",
        f"{one.arena_bytes / 1024:.1f}",
        f"{one.arena_lower_bound_bytes / 1024:.1f}",
        count(one.stack_bytes),
        count(one.stack_bound.size_bytes),
        f"{(one.model_ram_bytes or 0) / 1024:.1f}",
        "yes" if one.exact else "NO",
    )
    return f"| {' | '.join(cells)} |"


def operator_rows(one: Evaluation) -> list[str]:
    """Returns the lines of the table of one model's operators."""
    lines = [
        f"\n### {one.model}, per operator\n",
        "| operator | kernel | MACs | instructions | per MAC | modelled cycles |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for o in one.operators:
        per_mac = f"{o.instructions / o.macs:.2f}" if o.instructions and o.macs else ""
        lines.append(
            f"| {o.name} | {o.kernel} | {count(o.macs) if o.macs else ''} "
            f"| {count(o.instructions)} | {per_mac} | {count(o.modelled_cycles)} |"
        )
    return lines


def main() -> int:
    """Writes docs/benchmarks.md; returns 1 if any output was wrong."""
    folder = Path(os.environ.get("UHOST_MODELS", ROOT.parent / "shared" / "models"))
    jobs = [(resources.bundled_model(), resources.bundled_model().with_suffix(".npz"))]
    for name in MODELS:
        jobs.append((folder / f"{name}.tflite", folder / f"{name}.golden.npz"))
    missing = [str(model) for model, _ in jobs if not model.is_file()]
    if missing:
        print(f"benchmark models are missing: {', '.join(missing)}", file=sys.stderr)
        print("point UHOST_MODELS at the folder that holds them", file=sys.stderr)
        return 2
    lines = [
        "# Benchmarks",
        "",
        f"Made by `./dev bench` with uhost {__version__}. Executed instructions of one inference,",
        "from entry to return of the model's run function, counted in the simulator named. MACs",
        "are those of the compiled graph, without channels that no input can change. Cycles and",
        "times at the board's clock are a model, not silicon (`docs/cycle-models.md`). Sizes in",
        "KiB, the stack in bytes, as seen and at most; model RAM is arena (inputs and outputs lie",
        "in it) and stack. Exact: every layer and every golden sample equals the reference.",
    ]
    detail: list[str] = []
    ours: dict[tuple[str, str], Evaluation] = {}
    wrong = False
    for board, toolchain, runner in RUNS:
        lines += [
            f"\n## {board}, {toolchain}, {runner}\n",
            "| model | MACs | instructions | per MAC | modelled cycles | ms | model flash "
            "| image flash | arena | lower bound | stack | at most | model RAM | exact |",
            "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|",
        ]
        for model, golden in jobs:
            print(f"{model.stem} on {board} with {toolchain}", file=sys.stderr)
            one = evaluate(model, golden, board, toolchain, runner)
            wrong |= not one.exact
            lines.append(row(one))
            if core := CORES.get((board, toolchain)):
                short = model.stem.removeprefix("mlperf_").removesuffix("_int8")
                ours[short, core] = one
            if (board, toolchain, runner) == RUNS[0]:
                detail += operator_rows(one)
    parts = (make_memory.section(folder), make_peers.peers(ours), make_peers.latencies(ours))
    for section in (*parts, make_peers.further(folder)):
        lines += ["", *section]
    lines += [f"\n## {RUNS[0][0]}, {RUNS[0][1]}, per operator", *detail]
    lines += ["", *make_compile_times.section()]
    (ROOT / "docs" / "benchmarks.md").write_text("\n".join(lines) + "\n")
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
