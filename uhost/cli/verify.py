"""`uhost verify`: proof, layer by layer, that the generated code is right."""

from __future__ import annotations

from pathlib import Path

import click

from uhost.cli._console import progress, show
from uhost.cli._options import (
    board_option,
    hardware_options,
    json_option,
    model_argument,
    name_option,
    project_option,
    runner_option,
    toolchain_option,
)
from uhost.cli._settings import Configured, SettingOption, Settings
from uhost.cli._work import built as build_model
from uhost.cli._work import chosen_models, for_model


@click.command(cls=Configured)
@model_argument
@name_option
@board_option
@project_option
@runner_option("verify")
@hardware_options
@click.option(
    "--golden",
    cls=SettingOption,
    keys=("verify", "golden"),
    type=click.Path(path_type=Path),
    metavar="F.npz",
    help="Samples with expected outputs: s<k>_in_<i>, s<k>_out_<i>, s<k>_tflm_<i>.",
)
@click.option(
    "--quantize-input",
    cls=SettingOption,
    keys=("verify", "quantize_input"),
    is_flag=True,
    help="Quantise floats of the golden inputs as the model's input is.",
)
@click.option(
    "--reset-each",
    cls=SettingOption,
    keys=("verify", "reset_each"),
    is_flag=True,
    help="Reset the model's state before every sample. Default: it goes on from the last.",
)
@toolchain_option
@json_option
def command(
    settings: Settings,
    project: Path | None,
    name: str | None,
    port: str,
    probe: str,
    as_json: bool,
) -> int:
    """Compare every tensor that MODEL makes on a board with the exact reference.

    With --golden, every sample's outputs as well, in order and with no reset between
    them; of a model that keeps state, every tensor of every sample. Integers must be equal
    bit for bit; floats agree within 1e-6 + 1e-5 of the tensor's largest value. Exit code 0
    when all match, 1 when not.

    Example: uhost verify kws.tflite --board stm32f746 --golden kws.golden.npz
    """
    from uhost import resources
    from uhost.report import records, tables
    from uhost.runtime.device import device
    from uhost.runtime.evaluation import measure
    from uhost.runtime.samples import random_sample, read_golden

    with progress("Building"):
        built, asked = build_model(settings, project, "verify")
    where = device(built.compiled.board, asked.on or None, port=port, probe=probe)
    results = []
    for index in chosen_models(built.compiled, name):
        chosen = built.compiled.models[index]
        graph = chosen.lowered.graph
        golden = for_model(asked.golden, chosen.name) or resources.bundled_samples(
            chosen.source.content
        )
        samples = (
            read_golden(golden, graph, bool(asked.quantize_input)).items
            if golden
            else (random_sample(graph),)
        )
        with progress("Verifying") as update:
            result = measure(
                built,
                where,
                samples,
                index,
                layers=True,
                reset_each=bool(asked.reset_each),
                progress=update,
            )
        results.append(result)
        if not as_json:
            show(
                f"{result.model} on {where}, built with {result.toolchain}\n",
                tables.comparisons(result),
                "",
                tables.verdict(result),
            )
    if as_json:
        click.echo(records.results_json([records.evaluation_record(one) for one in results]))
    return 0 if all(one.matches for one in results) else 1


COMMAND = command
