"""`uhost bench`: instructions, flash and RAM of models, side by side."""

from __future__ import annotations

from pathlib import Path

import click

from uhost.cli._console import progress, show
from uhost.cli._options import (
    board_option,
    json_option,
    models_argument,
    runner_option,
    toolchain_option,
)
from uhost.cli._work import built as build_model


@click.command()
@models_argument
@board_option
@runner_option
@toolchain_option
@json_option
def command(
    models: tuple[str, ...],
    board: str | None,
    on: str | None,
    toolchain: str | None,
    as_json: bool,
) -> int:
    """Measure MODELs on a board: executed instructions, time, flash and RAM.

    The input is seeded random, or the golden samples beside a model
    (MODEL.golden.npz), whose outputs are then compared.

    Example: uhost bench kws.tflite ic.tflite --board stm32f746
    """
    from uhost.report import records, tables
    from uhost.runtime.device import device
    from uhost.runtime.evaluation import measure
    from uhost.runtime.samples import random_sample, read_samples

    results = []
    with progress("Measuring") as update:
        for given in models or (None,):
            update(given or "the bundled model")
            built = build_model([given] if given else [], board, toolchain)
            where = device(built.compiled.board, on)
            golden = Path(given.rpartition("=")[2]).with_suffix(".golden.npz") if given else None
            for index, model in enumerate(built.compiled.models):
                graph = model.lowered.graph
                if golden is not None and golden.is_file():
                    samples = read_samples(golden, graph).items
                else:
                    samples = (random_sample(graph),)
                results.append(measure(built, where, samples, index))
    if as_json:
        click.echo(records.results_json([records.evaluation_record(r) for r in results]))
    else:
        show(f"{results[0].board}, built with {results[0].toolchain}\n", tables.bench(results))
    return 0 if all(r.matches in (True, None) for r in results) else 1


COMMAND = command
