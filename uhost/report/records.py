"""Results as plain values: the JSON that programs read."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from uhost import __version__
from uhost.errors import UhostError
from uhost.report.tables import classifies, ranked

if TYPE_CHECKING:
    from uhost.ir.graph import Graph
    from uhost.runtime.benchmark import Benchmark, Spread
    from uhost.runtime.evaluation import Evaluation
    from uhost.runtime.samples import Samples


def evaluation_record(evaluation: Evaluation) -> dict[str, Any]:
    """Returns the fields of one result; see `docs/json.md` for their meaning."""
    return {
        "model": evaluation.model,
        "board": evaluation.board,
        "runner": evaluation.runner,
        "toolchain": evaluation.toolchain,
        "exact": evaluation.exact,
        "matches": evaluation.matches,
        "max_difference": evaluation.max_difference,
        "instructions": evaluation.instructions,
        "cycles": evaluation.modelled_cycles,
        "why_uncounted": evaluation.why_uncounted,
        "why_unmodelled": evaluation.why_unmodelled,
        "device_cycles": evaluation.cycles,
        "clock_hz": evaluation.clock_hz,
        "model_flash_bytes": evaluation.model_flash_bytes,
        "image_flash_bytes": evaluation.image_flash_bytes,
        "arena_bytes": evaluation.arena_bytes,
        "arena_lower_bound_bytes": evaluation.arena_lower_bound_bytes,
        "stack_bytes": evaluation.stack_bytes,
        "stack_bound_bytes": evaluation.stack_bound.size_bytes,
        "why_unbounded": list(evaluation.stack_bound.why),
        "params_ram_bytes": evaluation.params_ram_bytes,
        "model_ram_bytes": evaluation.model_ram_bytes,
        "image_ram_bytes": evaluation.image_ram_bytes,
        "operators": [
            {
                "name": o.name,
                "kind": o.kind,
                "kernel": o.kernel,
                "macs": o.macs,
                "instructions": o.instructions,
                "cycles": o.modelled_cycles,
            }
            for o in evaluation.operators
        ],
        "comparisons": [
            {
                "tensor": c.tensor,
                "source": c.source,
                "exact": c.exact,
                "matches": c.matches,
                "max_difference": c.max_difference,
                "operator": c.operator or None,
                "absorbed": [asdict(one) for one in c.absorbed],
            }
            for c in evaluation.comparisons
        ],
    }


def benchmark_record(benchmark: Benchmark) -> dict[str, Any]:
    """Returns the fields of one result of `bench`: the times and the memory's schedule too."""
    timing = benchmark.timing
    record = evaluation_record(benchmark.evaluation)
    cycles = timing.operator_cycles or (None,) * len(record["operators"])
    seconds = timing.operator_seconds or (None,) * len(record["operators"])
    for one, own_cycles, own_s in zip(record["operators"], cycles, seconds, strict=True):
        one["device_cycles"] = own_cycles
        one["seconds"] = own_s
    return {
        **record,
        "timing": {
            "repeats": timing.repeats,
            "upload_bytes": timing.upload_bytes,
            "download_bytes": timing.download_bytes,
            "upload_s": _spread(timing.upload_s),
            "run_s": _spread(timing.run_s),
            "download_s": _spread(timing.download_s),
            "cycles": _spread(timing.cycles),
        },
        "memory": [asdict(block) for block in benchmark.memory],
    }


def run_record(
    evaluation: Evaluation, samples: Samples, graph: Graph, prepared: str
) -> dict[str, Any]:
    """Returns the fields of one result of `uhost run`: also what its input was, and the classes."""
    outputs = [graph.tensors[name] for name in graph.outputs]
    classes = None
    if classifies(outputs):
        classes = [
            [
                {
                    "index": index,
                    "label": samples.classes[index] if index < len(samples.classes) else None,
                    "score": score,
                }
                for index, score in ranked(arrays[0], outputs[0])
            ]
            for arrays in evaluation.outputs
        ]
    return {**evaluation_record(evaluation), "prepared": prepared, "classes": classes}


def _spread(spread: Spread | None) -> dict[str, float] | None:
    if spread is None:
        return None
    return {"min": spread.smallest, "median": spread.median, "p95": spread.p95}


def results_json(results: Sequence[dict[str, Any]]) -> str:
    """Returns the one object that `--json` prints."""
    return json.dumps({"uhost": __version__, "results": [_plain(r) for r in results]}, indent=2)


def error_json(error: UhostError) -> str:
    """Returns the one object that `--json` prints to standard error for a failure."""
    return json.dumps(
        {
            "uhost": __version__,
            "kind": type(error).__name__,
            "error": error.what,
            "where": error.where,
            "fix": error.fix,
        },
        indent=2,
    )


def _plain(value: Any) -> Any:
    """Replaces what JSON cannot say (infinities, NaN) by text."""
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value
