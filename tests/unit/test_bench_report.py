"""Benchmarks: percentiles, timed runs, the memory's schedule, CSV, HTML, comparisons."""

from __future__ import annotations

import csv
import io
import itertools
import json
import re
from pathlib import Path

import numpy as np
import pytest
from bench_results import OPERATORS, Page, record, result, slower
from click.testing import CliRunner
from rich.console import Console

from uhost import driver, resources
from uhost.cli import cli
from uhost.errors import ConfigError
from uhost.ir.tensor import Array
from uhost.report.bench import bench_tables
from uhost.report.compare import (
    Comparison,
    Difference,
    compare_results,
    comparison_records,
    comparison_tables,
    read_results,
)
from uhost.report.csv import COLUMNS, differences_csv, results_csv
from uhost.report.units import percent, signed, size
from uhost.rpc.session import RunReport
from uhost.runners._runner import RunCounts
from uhost.runtime._connection import OperatorCost
from uhost.runtime.benchmark import (
    Spread,
    placed_blocks,
    spread,
    time_runs,
)
from uhost.runtime.device import Device
from uhost.runtime.graph_module import GraphModule


def printed(table: object) -> str:
    console = Console(width=160, record=True, file=io.StringIO())
    console.print(table)
    return console.export_text()


# ---- Measuring ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([3.0], (3.0, 3.0, 3.0)),
        ([2.0, 1.0], (1.0, 1.0, 2.0)),
        ([5.0, 1.0, 3.0], (1.0, 3.0, 5.0)),
        ([float(n) for n in range(100, 0, -1)], (1.0, 50.0, 95.0)),
        ([float(n) for n in range(1, 21)], (1.0, 10.0, 19.0)),
    ],
)
def test_percentiles_are_values_that_occurred(
    values: list[float], expected: tuple[float, float, float]
) -> None:
    assert spread(values) == Spread(*expected)


class CountingConnection:
    """A model that takes 1000 cycles the first time and 10 more every time."""

    def __init__(self) -> None:
        self.written_bytes = self.runs = 0

    def write(self, offset: int, content: bytes | Array) -> None:
        self.written_bytes += len(content) if isinstance(content, bytes) else content.nbytes

    def read(self, offset: int, size_bytes: int) -> bytes:
        return bytes(size_bytes)

    def reset(self) -> None:
        raise AssertionError("the model has no state")

    def view(self, offset: int, size_bytes: int) -> Array | None:
        return None

    def write_params(self, blob: bytes) -> None:
        raise AssertionError("the code holds the weights")

    def run(self, timeout_s: float) -> RunReport:
        self.runs += 1
        return RunReport(990 + 10 * self.runs, None)

    def run_operator(self, index: int, timeout_s: float) -> OperatorCost:
        return OperatorCost(cycles=100 + index)

    def watch(self) -> None:
        """Counts nothing."""

    def counts(self) -> RunCounts | None:
        return None

    @property
    def why_uncounted(self) -> str:
        return "nothing is executed"

    def close(self) -> None:
        """Holds nothing."""


def test_timed_runs_come_after_a_first_one() -> None:
    compiled = driver.compile_models(driver.load(resources.bundled_model()), "stm32f746")
    connection = CountingConnection()
    model = compiled.program().models[0]
    executor = GraphModule(model, Device(compiled.board, "unicorn"), connection)
    for index, tensor in enumerate(executor.inputs):
        executor.set_input(index, np.zeros(tensor.shape, tensor.dtype))
    timing = time_runs(executor, 20)
    assert timing.repeats == 20
    assert timing.cycles == Spread(1010, 1100, 1190)
    assert timing.operator_cycles == tuple(100 + i for i in range(len(model.operators)))
    assert (timing.upload_bytes, timing.download_bytes) == (64, 10)
    assert timing.upload_s.smallest <= timing.upload_s.median <= timing.upload_s.p95
    assert connection.written_bytes >= 21 * 64


def test_blocks_are_where_the_plan_has_them() -> None:
    compiled = driver.compile_models(driver.load(resources.bundled_model()), "stm32f746")
    lowered = compiled.models[0].lowered
    blocks = placed_blocks(lowered)
    assert {b.role for b in blocks} == {"input", "output", "intermediate", "scratch"}
    assert [b.offset for b in blocks] == sorted(b.offset for b in blocks)
    assert max(b.offset + b.size_bytes for b in blocks) <= lowered.plan.arena_bytes
    sharing = {frozenset((o.read, o.written)) for o in lowered.plan.overlaps}
    for one, two in itertools.combinations(blocks, 2):
        if one.first <= two.last and two.first <= one.last:
            if frozenset((one.name, two.name)) in sharing:
                continue
            assert (
                one.offset + one.size_bytes <= two.offset
                or two.offset + two.size_bytes <= one.offset
            )


# ---- Tables and CSV -----------------------------------------------------------------------


def test_the_table_shows_times_with_units() -> None:
    text = printed(bench_tables([result(cycles=7710)]))
    assert re.search(r"upload +512 +1\.00 ms +2\.00 ms +3\.00 ms", text)
    assert re.search(r"download +16 +3\.00 ms +6\.00 ms +9\.00 ms", text)
    assert re.search(r"device cycles +7,710 +7,710 +7,710", text)
    assert "4 timed runs, by this machine's clock.\n" in text
    assert "conv_2d_0" in text
    several = printed(bench_tables([result(), result(model="other")]))
    assert "A simulator's seconds are not the board's." in several
    assert "conv_2d_0" not in several


def test_csv_has_a_row_per_model_and_operator() -> None:
    rows = list(csv.DictReader(io.StringIO(results_csv([record(cycles=7710), record()]))))
    assert len(rows) == 2 * (1 + len(OPERATORS))
    assert tuple(rows[0]) == COLUMNS
    assert {(r["model"], r["board"], r["clock_hz"]) for r in rows} == {
        ("tiny", "board", "100000000")
    }
    assert [r["operator"] for r in rows[:4]] == ["", "conv_2d_0", "reshape_1", "softmax_2"]
    assert [r["instructions"] for r in rows[:4]] == ["6500", "6000", "0", "500"]
    assert [r["device_cycles"] for r in rows[:4]] == ["7710", "7000", "10", "700"]
    assert [r["device_cycles"] for r in rows[4:]] == ["", "", "", ""]
    assert (rows[0]["macs"], rows[0]["arena_bytes"], rows[0]["run_s_p95"]) == (
        "4000",
        "1664",
        "0.006",
    )
    assert rows[1]["arena_bytes"] == ""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (signed(1234), "+1,234"),
        (signed(-5), "-5"),
        (signed(0), "0"),
        (signed(None), "-"),
        (size(1023), "1023 B"),
        (size(1024), "1.0 KiB"),
        (size(None), "-"),
        (percent(12.34), "+12.3 %"),
        (percent(-0.01), "≈ 0 %"),
        (percent(0.0), "0 %"),
        (percent(None), "-"),
    ],
)
def test_numbers_read_well(text: str, expected: str) -> None:
    assert text == expected


# ---- Comparing ----------------------------------------------------------------------------


def test_differences_are_b_less_a() -> None:
    one = Difference("x", 200, 150)
    assert (one.change, one.percent) == (-50, -25.0)
    assert Difference("x", None, 1).change is None
    assert Difference("x", 0, 5).percent is None


def test_a_comparison_covers_figures_and_operators() -> None:
    compared = compare_results([record(), record(model="gone")], [record(model="new"), slower()])
    assert (compared.only_a, compared.only_b) == (("gone",), ("new",))
    (model,) = compared.models
    figures = {figure.name: figure for figure in model.figures}
    assert figures["instructions"].change == 2550
    assert figures["arena (B)"].change == -64
    assert figures["device cycles"] == Difference("device cycles", None, None)
    assert [(o.name, o.a, o.b) for o in model.operators] == [
        ("conv_2d_0", 6000, 9000),
        ("reshape_1", 0, None),
        ("softmax_2", 500, None),
        ("relu_3", None, 50),
    ]
    text = printed(comparison_tables(compared))
    assert "tiny: board, unicorn, arm_gcc → board, unicorn, zig" in text
    assert re.search(r"instructions +6,500 +9,050 +\+2,550 +\+39\.2 %", text)
    assert re.search(r"conv_2d_0 +6,000 +9,000 +\+3,000 +\+50\.0 %", text)
    assert "Only in the first file: gone.\nOnly in the second file: new." in re.sub(
        " +\n", "\n", text
    )
    rows = list(csv.DictReader(io.StringIO(differences_csv(comparison_records(compared)))))
    assert rows[0] == {
        "model": "tiny",
        "operator": "",
        "figure": "instructions",
        "a": "6500",
        "b": "9050",
        "change": "2550",
        "percent": str(100 * 2550 / 6500),
    }


def test_cycles_are_compared_where_both_know_them() -> None:
    both = compare_results([record(cycles=7710)], [record(cycles=7710)]).models[0]
    assert both.unit == "cycles"
    assert both.operators[0].a == 7000
    assert compare_results([record(cycles=7710)], [record()]).models[0].unit == "instructions"


def test_equal_places_belong_together_before_equal_names() -> None:
    zig, gcc = record(toolchain="zig"), record()
    compared = compare_results([zig, gcc], [gcc, zig])
    assert [(m.a["toolchain"], m.b["toolchain"]) for m in compared.models] == [
        ("zig", "zig"),
        ("arm_gcc", "arm_gcc"),
    ]
    assert printed(comparison_tables(Comparison((), (), ()))).strip() == (
        "The files have no model in common."
    )


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (None, "the results cannot be read: No such file or directory"),
        ("{", "the file is not JSON: "),
        ("[1]", "the file holds no results of `uhost bench`"),
        ('{"results": [{"model": "m"}]}', "the file holds no results of `uhost bench`"),
        ('{"results": 3}', "the file holds no results of `uhost bench`"),
    ],
)
def test_a_file_of_something_else_is_an_error(
    tmp_path: Path, content: str | None, what: str
) -> None:
    path = tmp_path / "a.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(ConfigError) as raised:
        read_results(path)
    assert raised.value.what.startswith(what)
    assert raised.value.where == str(path)
    assert raised.value.fix


# ---- The command line ---------------------------------------------------------------------


@pytest.mark.needs("host_cc")
def test_bench_writes_files_that_compare(tmp_path: Path) -> None:
    def run(*arguments: str) -> str:
        done = CliRunner().invoke(cli, ["bench", *arguments], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.stdout

    table, page = tmp_path / "out.csv", tmp_path / "out.html"
    files = ("--csv", str(table), "--html", str(page))
    text = run("--board", "host", "--repeat", "2", "--json", *files)
    printed_results = json.loads(text)["results"]
    assert printed_results[0]["timing"]["repeats"] == 2
    assert len(table.read_text().splitlines()) == 2 + len(printed_results[0]["operators"])
    assert Page(page.read_text()).ids == {"result-0"}
    saved = tmp_path / "a.json"
    saved.write_text(text)
    both = ("--compare", str(saved), str(saved))
    assert "model flash (B)" in run(*both)
    compared = json.loads(run(*both, "--json", *files))["results"]
    assert {figure["change"] for figure in compared[0]["figures"]} <= {0, None}
    assert "contrast-0" in Page(page.read_text()).ids
    assert table.read_text().startswith("model,operator,figure,a,b,change,percent\n")
