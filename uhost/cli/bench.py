"""`uhost bench`: instructions, flash and RAM of models, side by side."""

from __future__ import annotations

from pathlib import Path

import click

from uhost.cli._bench_output import output_options, show_differences, show_results
from uhost.cli._console import progress
from uhost.cli._options import (
    board_option,
    hardware_options,
    json_option,
    models_argument,
    project_option,
    runner_option,
    toolchain_option,
)
from uhost.cli._settings import Configured, SettingOption, Settings
from uhost.cli._work import built as build_model
from uhost.cli._work import one_by_one


@click.command(cls=Configured)
@models_argument
@board_option
@project_option
@runner_option("bench")
@hardware_options
@click.option(
    "--samples",
    cls=SettingOption,
    keys=("bench", "samples"),
    type=int,
    metavar="N",
    help="At most so many golden samples are run. Default: all.",
)
@click.option(
    "--quantize-input",
    cls=SettingOption,
    keys=("bench", "quantize_input"),
    is_flag=True,
    help="Quantise floats of the golden inputs as the model's input is.",
)
@toolchain_option
@output_options
@json_option
def command(
    settings: Settings,
    project: Path | None,
    port: str,
    probe: str,
    repeat: int,
    csv_file: Path | None,
    html_file: Path | None,
    compare: tuple[Path, Path] | None,
    as_json: bool,
) -> int:
    """Measure MODELs on a board: executed instructions, time, flash and RAM.

    The input is seeded random, or the golden samples beside a model
    (MODEL.golden.npz), whose outputs are then compared. Transfers and runs are timed.

    Example: uhost bench kws.tflite ic.tflite --board stm32f746 --html report.html
    """
    if compare:
        return show_differences(compare, as_json, csv_file, html_file)
    from uhost.runtime.benchmark import benchmark
    from uhost.runtime.device import device
    from uhost.runtime.samples import random_sample, read_samples

    results = []
    with progress("Measuring") as update:
        for path, alone, kernels in one_by_one(settings, project):
            update(path or "the bundled model")
            built, asked = build_model(alone, project, "bench", kernels)
            where = device(built.compiled.board, asked.on or None, port=port, probe=probe)
            golden = Path(path).with_suffix(".golden.npz") if path else None
            for index, model in enumerate(built.compiled.models):
                graph = model.lowered.graph
                if golden is not None and golden.is_file():
                    read = read_samples(golden, graph, bool(asked.quantize_input))
                    samples = read.items[: asked.samples or None]
                else:
                    samples = (random_sample(graph),)
                results.append(benchmark(built, where, samples, index, repeats=repeat))
    show_results(results, as_json, csv_file, html_file)
    return 0 if all(r.evaluation.matches in (True, None) for r in results) else 1


COMMAND = command
