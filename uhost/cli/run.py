"""`uhost run`: a model runs on a simulated or real board."""

from __future__ import annotations

import io
from dataclasses import replace
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
from uhost.cli._work import chosen_models, for_model, project_models
from uhost.errors import ConfigError

if TYPE_CHECKING:
    from uhost.config.project import RunSection
    from uhost.inputs._input import Prepared
    from uhost.ir.graph import Graph
    from uhost.ir.tensor import Array
    from uhost.runtime.evaluation import Evaluation
    from uhost.runtime.graph_module import GraphModule


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
    help="Inputs: arrays (.npz, .npy, .bin), an image (.png, .jpg, .bmp, .ppm, .pgm) or a "
    "recording (.wav). Default: seeded random values.",
)
@click.option(
    "--quantize-input",
    cls=SettingOption,
    keys=("run", "quantize_input"),
    is_flag=True,
    help="Quantise floats of the input file as the model's input is; a .bin is then float32.",
)
@click.option(
    "--labels",
    cls=SettingOption,
    keys=("run", "labels"),
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Names of the classes, one a line, in the order of the scores.",
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
    _refuse_unknown(
        asked, [*project_models(settings, project), *(m.name for m in built.compiled.models)]
    )
    shown = []
    results = []
    for index in indices:
        chosen = built.compiled.models[index]
        graph = chosen.lowered.graph
        bundled = resources.bundled_samples(chosen.source.content)
        prepared = _prepared(asked, chosen.name, graph, bundled)
        samples = prepared.samples
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
            _show(result, prepared, graph, str(where), bool(asked.labels))
        shown.append(records.run_record(result, samples, graph, prepared.done))
    if as_json:
        click.echo(records.results_json(shown))
    return 0 if all(one.matches in (True, None) for one in results) else 1


def _prepared(asked: RunSection, name: str, graph: Graph, bundled: Path | None) -> Prepared:
    """Returns the samples for a model, with its labels, and what was done to make them."""
    from uhost.inputs._input import InputFile, Prepared, read_input
    from uhost.inputs._labels import labels_of
    from uhost.report import tables
    from uhost.runtime.samples import Samples, random_sample, relabelled

    outputs = [graph.tensors[name] for name in graph.outputs]
    scores = outputs[0].elements if tables.classifies(outputs) else None
    labels = labels_of(asked.labels, name, scores)
    source = for_model(asked.input, name) or bundled
    if source is not None:
        options = asked.preprocess.get(name) if asked.preprocess else None
        quantize = bool(asked.quantize_input)
        prepared = read_input(InputFile(source, graph, options, quantize, _start))
    else:
        note("No --input given: using seeded random values.")
        prepared = Prepared(Samples((random_sample(graph),)))
    if labels:
        prepared = replace(prepared, samples=relabelled(prepared.samples, labels))
    return prepared


def _refuse_unknown(asked: RunSection, models: list[str]) -> None:
    """Raises `ConfigError` for preprocessing or labels of none of the models."""
    from uhost.config._findings import not_known

    for key, value in (("preprocess", asked.preprocess), ("labels", asked.labels)):
        for name in value if isinstance(value, dict) else ():
            if name not in models:
                raise not_known("model", name, sorted({*models}), f"run.{key}")


def _start(path: Path) -> GraphModule:
    """Returns an executor, in this process, of a model that preprocesses."""
    from uhost import driver
    from uhost.runtime.device import cpu

    module = driver.build({"preprocess": path}, "host")
    return module["preprocess"](cpu(0))


def _show(result: Evaluation, prepared: Prepared, graph: Graph, where: str, ranked: bool) -> None:
    from rich.text import Text

    from uhost.report import tables

    outputs = [graph.tensors[name] for name in graph.outputs]
    samples = prepared.samples
    show(f"{result.model} on {where}, built with {result.toolchain}")
    if prepared.done:
        show(Text(f"input: {prepared.done}"))
    show("")
    if tables.classifies(outputs):
        few = len(samples.items) <= tables.RANKED_SAMPLES
        made = tables.ranking if ranked and few else tables.sample_outputs
        show(made(result, samples, outputs[0]))
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
