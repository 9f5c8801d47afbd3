"""Writes the parts of benchmarks.md on other tools and on further models.

The figures of other tools are those of `docs/peers.yaml`, measured once; ours are given.
`./dev bench` makes these parts with all the others.
"""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from uhost import driver
from uhost.errors import UhostError
from uhost.report.units import count
from uhost.runtime.device import device
from uhost.runtime.evaluation import Evaluation, measure
from uhost.runtime.samples import read_samples

ROOT = Path(__file__).resolve().parent.parent
NAMES = {"kws": "mlperf_kws_int8", "vww": "mlperf_vww_int8", "ic": "mlperf_ic_int8"}
NAMES["ad"] = "mlperf_ad_int8"
CORES = {"m4": "Cortex-M4", "m7": "Cortex-M7", "m55": "Cortex-M55"}
FURTHER = (
    "mcunet_vww",
    "arm_micronet_kws_m_int8",
    "arm_micronet_cifar_int8",
    "tinymaix_mbnet96_int8",
    "silabs_magic_wand",
    "coral_mobilenet_v1_uint8",
)
FURTHER_BOARD = "mps2_an500"
_COLUMNS = "| {} | tool | version | build | instructions | flash KiB | RAM KiB |"

Ours = Mapping[tuple[str, str], Evaluation]
"""(model, core) → our figures with GCC, by the short names of `peers.yaml`."""


def peers(ours: Ours) -> Iterator[str]:
    """Yields the part on other tools: for each core and model the best build of each."""
    known: dict[str, Any] = yaml.safe_load((ROOT / "docs" / "peers.yaml").read_text())
    yield from (
        "## Other tools",
        "",
        *textwrap.wrap(
            f"Measured on {known['date']}. {known['method'].strip()} Ours are the model's flash, "
            "and arena and stack, with GCC. Of each tool the build with the fewest instructions "
            "is shown; `docs/peers.yaml` has them all. Versions that were not recorded are not "
            "guessed.",
            95,
        ),
    )
    for core, title in CORES.items():
        yield from (
            "",
            f"### {title}",
            "",
            _COLUMNS.format("model"),
            "|---|---|---|---|---:|---:|---:|",
        )
        for model in NAMES:
            if (model, core) in ours:
                yield _our_row(model, ours[model, core])
            rows = [row for row in known["rows"] if row[:2] == [model, core]]
            for tool, row in _best(rows).items():
                about = known["tools"][tool]
                yield _row(model, about["name"], about["version"], *row[3:])


def _best(rows: list[list[Any]]) -> dict[str, list[Any]]:
    """Returns tool → its row with the fewest instructions, in the order of these."""
    found: dict[str, list[Any]] = {}
    for row in sorted(rows, key=lambda row: int(row[4])):
        found.setdefault(row[2], row)
    return found


def _our_row(model: str, one: Evaluation) -> str:
    cells = (one.instructions, one.model_flash_bytes, one.model_ram_bytes)
    return _row(f"**{model}**", "**uhost**", "this", one.toolchain, *cells)


def _row(
    model: str, tool: str, version: str, build: str, steps: int | None, flash: int, ram: int | None
) -> str:
    sizes = " | ".join("-" if size is None else f"{size / 1024:.1f}" for size in (flash, ram))
    return f"| {model} | {tool} | {version} | {build} | {count(steps)} | {sizes} |"


def latencies(ours: Ours) -> Iterator[str]:
    """Yields the part that holds modelled cycles against published latencies."""
    known = yaml.safe_load((ROOT / "docs" / "peers.yaml").read_text())["closed"]
    m4, m7 = known["m4"], known["m7"]
    yield from (
        "## Modelled cycles and published latencies",
        "",
        "Millions of cycles. Ours are a model, not silicon, without wait states",
        "(`docs/cycle-models.md`). Published are MLPerf Tiny latencies of the best closed entry,",
        f"times the clock it is taken to have: {m4['board']} at {m4['clock_mhz']} MHz,",
        f"{m7['board']} at {m7['clock_mhz']} MHz; flash wait states are in them. What the",
        "two have in common, whatever the kernels, is how many more cycles the M4 takes.",
        "",
        "| model | published M4 | published M7 | M4 / M7 | ours M4 | ours M7 | M4 / M7 |",
        "|---|---:|---:|---:|---:|---:|---:|",
    )
    for model in NAMES:
        own = [(ours[model, core].modelled_cycles or 0) / 1e6 for core in ("m4", "m7")]
        yield (
            f"| {model} | {m4[model]:g} | {m7[model]:g} | {m4[model] / m7[model]:.2f} "
            f"| {own[0]:.2f} | {own[1]:.2f} | {own[0] / own[1]:.2f} |"
        )


def further(folder: Path) -> Iterator[str]:
    """Yields the part on further models: figures, or why there are none."""
    yield from (
        "## Further models",
        "",
        f"On {FURTHER_BOARD} (Cortex-M7) in Unicorn, with GCC, one golden sample. A model that",
        "does not compile or fit has the reason instead.",
        "",
        "| model | MACs | instructions | per MAC | modelled cycles | model flash KiB | arena KiB "
        "| exact |",
        "|---|---:|---:|---:|---:|---:|---:|---|",
    )
    left = []
    for name in FURTHER:
        print(f"{name} on {FURTHER_BOARD}", file=sys.stderr)
        try:
            yield _further_row(folder / f"{name}.tflite")
        except UhostError as error:
            left.append(f"- {name}: {error.what}")
    if left:
        yield from ("", "Not among them:", "", *left)


def _further_row(model: Path) -> str:
    built = driver.link(driver.compile_models(driver.load(model), FURTHER_BOARD), "arm_gcc")
    graph = built.compiled.models[0].lowered.graph
    samples = read_samples(model.with_suffix(".golden.npz"), graph).items[:1]
    one = measure(built, device(built.compiled.board, "unicorn"), samples)
    macs = sum(o.macs for o in one.operators)
    steps = one.instructions or 0
    cells = (
        one.model,
        count(macs),
        count(steps),
        f"{steps / macs:.2f}" if macs else "-",
        count(one.modelled_cycles),
        f"{one.model_flash_bytes / 1024:.1f}",
        f"{one.arena_bytes / 1024:.1f}",
        "yes" if one.exact else "within tolerance" if one.matches else "NO",
    )
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    print("\n".join(further(Path(os.environ.get("UHOST_MODELS", ROOT.parent / "shared/models")))))
