"""Results of `bench` made up for tests of its reports."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from typing import Any

from uhost.report.records import benchmark_record, results_json
from uhost.runtime.benchmark import Benchmark, PlacedBlock, Spread, Timing
from uhost.runtime.evaluation import Evaluation, OperatorFigures

OPERATORS = (
    OperatorFigures("conv_2d_0", "conv_2d", 4000, "dsp/conv_2d", 6000),
    OperatorFigures("reshape_1", "reshape", 0, "view", 0),
    OperatorFigures("softmax_2", "softmax", 0, "reference/softmax", 500),
)
MEMORY = (
    PlacedBlock("a", "intermediate", 0, 1024, 0, 2),
    PlacedBlock("x", "input", 1024, 512, 0, 0),
    PlacedBlock("conv_2d_0:scratch", "scratch", 1536, 128, 0, 0),
    PlacedBlock("y", "output", 1024, 16, 2, 2),
)


def result(cycles: int | None = None, **changes: Any) -> Benchmark:
    fields: dict[str, Any] = {
        "model": "tiny",
        "board": "board",
        "runner": "unicorn",
        "toolchain": "arm_gcc",
        "clock_hz": 100_000_000,
        "instructions": 6500,
        "cycles": cycles,
        "model_flash_bytes": 3000,
        "image_flash_bytes": 9000,
        "arena_bytes": 1664,
        "arena_lower_bound_bytes": 1600,
        "stack_bytes": 100,
        "model_ram_bytes": 1764,
        "image_ram_bytes": 8000,
        "operators": OPERATORS,
    }
    upload, run, download = (Spread(0.001 * n, 0.002 * n, 0.003 * n) for n in (1, 2, 3))
    known = Spread(cycles, cycles, cycles) if cycles else None
    per_operator = (7000, 10, 700) if cycles else ()
    seconds = (7e-5, 1e-7, 7e-6) if cycles else ()
    timing = Timing(4, 512, 16, upload, run, download, known, per_operator, seconds)
    return Benchmark(Evaluation(**{**fields, **changes}), timing, MEMORY)


def record(cycles: int | None = None, **changes: Any) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(results_json([benchmark_record(result(cycles, **changes))]))
    first: dict[str, Any] = made["results"][0]
    return first


def slower() -> dict[str, Any]:
    conv = OperatorFigures("conv_2d_0", "conv_2d", 4000, "reference/conv_2d", 9000)
    new = OperatorFigures("relu_3", "relu", 0, "reference/relu", 50)
    return record(instructions=9050, toolchain="zig", operators=(conv, new), arena_bytes=1600)


VOID = {"meta", "rect", "line", "br"}


class Page(HTMLParser):
    """Checks that tags are balanced, and keeps texts and attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.ids: set[str] = set()
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += attrs
        self.ids |= {value for name, value in attrs if name == "id" and value}
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)
