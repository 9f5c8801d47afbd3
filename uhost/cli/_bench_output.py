"""What `uhost bench` writes besides its table, and the comparison of two of its results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from uhost.cli._console import note, show

if TYPE_CHECKING:
    from uhost.runtime.benchmark import Benchmark

F = TypeVar("F", bound=Callable[..., Any])

_FILE = click.Path(dir_okay=False, path_type=Path)


def output_options(function: F) -> F:
    """Adds `--repeat`, `--csv`, `--html` and `--compare`."""
    options = (
        click.option(
            "--repeat",
            type=click.IntRange(min=1),
            default=5,
            show_default=True,
            metavar="N",
            help="Runs that are timed, after a first one.",
        ),
        click.option(
            "--csv", "csv_file", type=_FILE, metavar="FILE", help="Also write a row per operator."
        ),
        click.option(
            "--html", "html_file", type=_FILE, metavar="FILE", help="Also write a page with plots."
        ),
        click.option(
            "--compare",
            nargs=2,
            type=_FILE,
            metavar="A B",
            help="Measure nothing: show the differences between two files that --json gave.",
        ),
    )
    for option in reversed(options):
        function = option(function)
    return function


def show_results(
    results: Sequence[Benchmark], as_json: bool, csv_file: Path | None, html_file: Path | None
) -> None:
    """Prints the results, and writes the files that were asked for."""
    from uhost.report import csv, html, records
    from uhost.report.bench import bench_tables

    made = [records.benchmark_record(one) for one in results]
    _write(csv_file, lambda: csv.results_csv(made))
    _write(html_file, lambda: html.report(made))
    if as_json:
        click.echo(records.results_json(made))
    else:
        first = results[0].evaluation
        show(f"{first.board}, built with {first.toolchain}\n", bench_tables(results))


def show_differences(
    files: tuple[Path, Path], as_json: bool, csv_file: Path | None, html_file: Path | None
) -> int:
    """Prints what changed from the first file to the second; returns the exit code 0."""
    from uhost.report import compare, csv, html, records

    a, b = (compare.read_results(path) for path in files)
    compared = compare.compare_results(a, b)
    _write(csv_file, lambda: csv.differences_csv(compare.comparison_records(compared)))
    _write(html_file, lambda: html.report([*a, *b], compared))
    if as_json:
        click.echo(records.results_json(compare.comparison_records(compared)))
    else:
        show(f"a: {files[0]}\nb: {files[1]}\n", compare.comparison_tables(compared))
    return 0


def _write(path: Path | None, text: Callable[[], str]) -> None:
    if path is not None:
        from uhost.codegen.artifact import write_file

        write_file(path, text().encode())
        note(f"Wrote {path}.")
