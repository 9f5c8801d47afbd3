"""Results as CSV: one row per operator, and one per model with its figures."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

_WHERE = ("model", "board", "runner", "toolchain", "clock_hz")
_OPERATOR = ("kind", "kernel", "macs", "instructions", "cycles", "device_cycles")
_FIGURES = (
    "model_flash_bytes",
    "image_flash_bytes",
    "arena_bytes",
    "arena_lower_bound_bytes",
    "stack_bytes",
    "stack_bound_bytes",
    "params_ram_bytes",
    "model_ram_bytes",
    "image_ram_bytes",
    "exact",
)
_SPREADS = ("upload_s", "run_s", "download_s", "cycles")
_PARTS = ("min", "median", "p95")

COLUMNS = (
    *_WHERE,
    "operator",
    *_OPERATOR,
    *_FIGURES,
    "repeats",
    *(f"{name}_{part}" for name in _SPREADS for part in _PARTS),
)


def results_csv(results: Sequence[dict[str, Any]]) -> str:
    """Returns the results of `bench`: for every model its row, then those of its operators.

    In a model's row `operator` is empty, and `macs`, `instructions`, the modelled `cycles`
    and `device_cycles` are those of the whole model. Fields that a row does not have are empty.
    """
    stream = io.StringIO()
    writer = csv.DictWriter(stream, COLUMNS, restval="", lineterminator="\n")
    writer.writeheader()
    for result in results:
        place = {key: result[key] for key in _WHERE}
        timing = result["timing"]
        writer.writerow(
            {
                **place,
                "macs": sum(one["macs"] for one in result["operators"]),
                "instructions": result["instructions"],
                "cycles": result["cycles"],
                "device_cycles": result["device_cycles"],
                **{key: result[key] for key in _FIGURES},
                "repeats": timing["repeats"],
                **{
                    f"{name}_{part}": timing[name][part]
                    for name in _SPREADS
                    if timing[name] is not None
                    for part in _PARTS
                },
            }
        )
        for one in result["operators"]:
            operator = {key: one[key] for key in _OPERATOR}
            writer.writerow({**place, "operator": one["name"], **operator})
    return stream.getvalue()


def differences_csv(models: Sequence[dict[str, Any]]) -> str:
    """Returns the differences of `bench --compare`: a row per figure and per operator."""
    columns = ("model", "operator", "figure", "a", "b", "change", "percent")
    stream = io.StringIO()
    writer = csv.DictWriter(stream, columns, restval="", lineterminator="\n")
    writer.writeheader()
    for one in models:
        for row in one["figures"]:
            numbers = {key: row[key] for key in columns[3:]}
            writer.writerow({"model": one["model"], "figure": row["name"], **numbers})
        for row in one["operators"]:
            place = {"model": one["model"], "operator": row["name"], "figure": one["unit"]}
            writer.writerow({**place, **{key: row[key] for key in columns[3:]}})
    return stream.getvalue()
