"""`uhost run`: a model runs on a simulated or real board."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

import click

from uhost.cli._console import note, progress, show
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
from uhost.errors import ConfigError

if TYPE_CHECKING:
    from uhost.ir.graph import Graph
    from uhost.ir.tensor import Array
    from uhost.runtime.evaluation import Evaluation
    from uhost.runtime.samples import Samples


@click.command(cls=Configured)
@model_argument
@name_option
@board_option
@project_option
@runner_option("run")
@hardware_options
@click.option(
    "--input",
    cls=SettingOption,
    keys=("run", "input"),
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Inputs: .npz, .npy or .bin. Default: seeded random values.",
)
@click.option(
    "--output",
    cls=SettingOption,
    keys=("run", "output"),
    type=click.Path(path_type=Path),
    metavar="F.npz",
    help="Write the outputs of every sample, as s<k>_out_<i>; of several models to F-MODEL.npz.",
)
@click.option(
    "--verify",
    cls=SettingOption,
    keys=("run", "verify"),
    is_flag=True,
    help="Compare every layer with the exact reference.",
)
@click.option(
    "--reset-each",
    cls=SettingOption,
    keys=("run", "reset_each"),
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
    """Run MODEL on a board and show results, speed and memory.

    Without MODEL, that of the project file, else the bundled one on its own real samples.
    Outputs that the input file expects are compared. Samples run in order, and a model that
    keeps state keeps it between them. Exit code 1 when something compared is wrong.

    Example: uhost run kws.tflite --board stm32f746 --input yes.npy
    """
    from uhost import resources
    from uhost.report import records
    from uhost.runtime.device import device
    from uhost.runtime.evaluation import measure
    from uhost.runtime.samples import Samples, random_sample, read_samples

    with progress("Building"):
        built, asked = build_model(settings, project, "run")
    if asked.output and Path(asked.output).suffix.lower() != ".npz":
        raise ConfigError(
            f"outputs are written as .npz, not '{Path(asked.output).suffix or asked.output}'",
            where=f"{asked.output}",
            fix="give --output a name that ends in .npz",
        )
    where = device(built.compiled.board, asked.on or None, port=port, probe=probe)
    indices = chosen_models(built.compiled, name)
    results = []
    for index in indices:
        chosen = built.compiled.models[index]
        graph = chosen.lowered.graph
        source = for_model(asked.input, chosen.name) or resources.bundled_samples(
            chosen.source.content
        )
        if source is not None:
            samples = read_samples(source, graph)
        else:
            note("No --input given: using seeded random values.")
            samples = Samples((random_sample(graph),))
        with progress("Running") as update:
            result = measure(
                built,
                where,
                samples.items,
                index,
                layers=bool(asked.verify),
                reset_each=bool(asked.reset_each),
                progress=update,
            )
        results.append(result)
        if asked.output:
            _write_outputs(_own(Path(asked.output), chosen.name, len(indices)), result.outputs)
        if not as_json:
            _show(result, samples, graph, str(where))
    if as_json:
        click.echo(records.results_json([records.evaluation_record(one) for one in results]))
    return 0 if all(one.matches in (True, None) for one in results) else 1


def _show(result: Evaluation, samples: Samples, graph: Graph, where: str) -> None:
    from uhost.report import tables

    outputs = [graph.tensors[name] for name in graph.outputs]
    show(f"{result.model} on {where}, built with {result.toolchain}\n")
    if len(outputs) == 1 and tables.is_classifier(outputs[0]):
        show(tables.sample_outputs(result, samples, outputs[0]))
    else:
        show(tables.output_ranges(result, outputs))
    show(tables.verdict(result), "", tables.figures(result), "", tables.operators(result))


def _own(path: Path, model: str, count: int) -> Path:
    """Returns the file for a model's outputs: with its name in it where there are several."""
    return path if count == 1 else path.with_name(f"{path.stem}-{model}{path.suffix}")


def _write_outputs(path: Path, outputs: tuple[tuple[Array, ...], ...]) -> None:
    import numpy as np

    from uhost.codegen.artifact import write_file

    arrays = {f"s{k}_out_{i}": a for k, sample in enumerate(outputs) for i, a in enumerate(sample)}
    stream = io.BytesIO()
    np.savez(stream, allow_pickle=False, **arrays)
    write_file(path, stream.getvalue())


COMMAND = command
