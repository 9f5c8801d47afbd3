"""Measures how long uhost takes to start and to compile, and writes that part of benchmarks.md.

Run it with `.venv/bin/python docs/make_compile_times.py`; `./dev bench` makes the same
part with all the others. The figures are the user CPU time of whole processes on one
core, the best of several: they depend on the machine, but little on what else it does.
"""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MODELS = ("mlperf_kws_int8", "mlperf_vww_int8", "mlperf_ic_int8", "mlperf_ad_int8")
BOARD = "stm32f746"
RUNS = 7
TITLE = "## Time to start and to compile"


def folder_of_models() -> Path:
    """Returns the folder of the benchmark models."""
    return Path(os.environ.get("UHOST_MODELS", ROOT.parent / "shared" / "models"))


def user_s(argv: Sequence[str], runs: int = RUNS) -> float:
    """Returns the user CPU seconds of a command on one core: the best of `runs`."""
    best = float("inf")
    for _ in range(runs):
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, preexec_fn=use_one_core)
        best = min(best, resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before)
    return best


def use_one_core() -> None:
    """Keeps this process to one core, where the system can do that."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def section() -> list[str]:
    """Returns the part's lines, beginning with its title."""
    python = sys.executable
    starts = (
        ("`python -c pass`, for comparison", [python, "-c", "pass"]),
        ("`import uhost`", [python, "-c", "import uhost"]),
        ("`uhost --help`", [python, "-m", "uhost", "--help"]),
    )
    lines = [
        TITLE,
        "",
        "User CPU time of the whole process on one core, Python's own start included; the best",
        f"of {RUNS}. Compiling is `uhost compile MODEL --board {BOARD}`: from the model file to",
        "model.c and model.h.",
        "",
        "| command | ms |",
        "|---|---:|",
    ]
    for name, argv in starts:
        print(f"timing {name}", file=sys.stderr)
        lines.append(f"| {name} | {1e3 * user_s(argv):.0f} |")
    with tempfile.TemporaryDirectory() as folder:
        for model in MODELS:
            print(f"timing the compilation of {model}", file=sys.stderr)
            path = str(folder_of_models() / f"{model}.tflite")
            argv = [python, "-m", "uhost", "compile", path, "-b", BOARD, "-o", f"{folder}/{model}"]
            lines.append(f"| `uhost compile` of {model} | {1e3 * user_s(argv):.0f} |")
    return lines


def main() -> int:
    """Replaces the part in docs/benchmarks.md; returns 2 if models are missing."""
    missing = [name for name in MODELS if not (folder_of_models() / f"{name}.tflite").is_file()]
    if missing:
        print(f"benchmark models are missing: {', '.join(missing)}", file=sys.stderr)
        print("point UHOST_MODELS at the folder that holds them", file=sys.stderr)
        return 2
    path = ROOT / "docs" / "benchmarks.md"
    text = path.read_text()
    made = "\n".join(section()) + "\n"
    old = re.compile(rf"^{re.escape(TITLE)}$.*?(?=^## |\Z)", re.DOTALL | re.MULTILINE)
    if old.search(text):
        text = old.sub(lambda _: made + "\n", text).rstrip() + "\n"
    else:
        text = text.rstrip() + "\n\n" + made
    path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
