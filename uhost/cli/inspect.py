"""`uhost inspect`: what a model is made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from uhost.cli._console import note, show, terminal_width
from uhost.cli._options import board_option, json_option, model_argument, project_option
from uhost.cli._settings import Configured, Settings
from uhost.cli._variants import variant_records, variant_tables
from uhost.cli._work import (
    configured,
    given_shapes,
    loaded,
    names_board,
    refuse_to_build,
    stored_path,
)
from uhost.errors import ConfigError, UnsupportedOperatorError

if TYPE_CHECKING:
    from rich.table import Table

    from uhost.codegen.lowered import Lowered
    from uhost.config.compilation import CompilationConfig
    from uhost.ir.graph import BoundOperator, Graph
    from uhost.ir.tensor import Tensor


@click.command(cls=Configured)
@model_argument
@board_option
@project_option
@click.option(
    "--variants",
    is_flag=True,
    help="With a board: every kernel that each operator can have, what it takes, and why it "
    "was not taken.",
)
@click.option("--memory", is_flag=True, help="Draw who lives where in the arena, and when.")
@click.option(
    "-o",
    "output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="With --memory, the picture as SVG.",
)
@json_option
def command(
    settings: Settings,
    project: Path | None,
    variants: bool,
    memory: bool,
    output: Path | None,
    as_json: bool,
) -> None:
    """Show MODEL's operators, shapes, MACs, weights and quantisation.

    Without MODEL, those of the project file, else the bundled one. With a board, from --board
    or the project file, after the passes: the target and the kernel that each operator gets,
    why others were passed over, and the memory plan. The model need not fit the board. A
    model with operators that uhost lacks is shown as its file has it, with the reason for
    each of them (exit code 3). With --memory, the arena over the schedule instead.

    Example: uhost inspect kws.tflite --board stm32f746 --variants
    """
    from uhost.report.records import results_json

    paths = _paths(settings, project)
    if output is not None and not memory:
        raise ConfigError("-o is for the picture of --memory", fix="add --memory")
    if memory:
        _show_memory(_lowered(paths, settings, project), output, as_json)
        return
    try:
        records = _stored(settings, variants) or _loaded(paths, settings, project, variants)
    except UnsupportedOperatorError as error:
        if as_json:
            click.echo(results_json([_unsupported(paths, error)]))
        else:
            show(_file_operators(error), "")
        raise
    if as_json:
        click.echo(results_json(records))
    else:
        for record in records:
            _show(record)


def _paths(settings: Settings, project: Path | None) -> dict[str, str]:
    """Returns name → file of the models of the command line, else of the project file."""
    from uhost.cli._work import project_models

    given: dict[str, str] = settings.get(("models",), ({}, ""))[0]
    return given or project_models(settings, project)


def _stored(settings: Settings, variants: bool) -> list[dict[str, Any]]:
    """Returns a record per model of a build folder or library; nothing where files are given."""
    from uhost import driver

    path = stored_path(settings)
    if path is None:
        return []
    refuse_to_build(settings, path, "inspect")
    compiled = driver.compiled_in(path, settings.get(("board",), (None, ""))[0])
    title = str(settings.get(("board",), (compiled.board.name, ""))[0])
    return [
        _placed(one.lowered, len(one.source.content), title, compiled.config, variants)
        for one in compiled.models
    ]


def _loaded(
    paths: dict[str, str], settings: Settings, project: Path | None, variants: bool
) -> list[dict[str, Any]]:
    """Returns a record per model: as its file has it, or on a board as it is after the passes."""
    from uhost import driver

    resolved = configured(settings, project) if names_board(settings, project) else None
    sources = loaded(
        [f"{name}={path}" for name, path in paths.items()], given_shapes(settings, project)
    )
    if resolved is None:
        if variants:
            raise ConfigError("--variants is about a board's kernels", fix="add --board NAME")
        return [_record(one.graph, len(one.content)) for one in sources]
    graphs = [one.graph for one in sources]
    lowered = driver.lower_models(graphs, resolved.config, resolved.context)
    title = str(settings.get(("board",), (resolved.board.name, ""))[0])
    return [
        _placed(one, len(source.content), title, resolved.config, variants)
        for one, source in zip(lowered, sources, strict=True)
    ]


def _lowered(paths: dict[str, str], settings: Settings, project: Path | None) -> Sequence[Lowered]:
    """Returns the models as they are on a board."""
    from uhost import driver

    path = stored_path(settings)
    if path is not None:
        refuse_to_build(settings, path, "inspect")
        compiled = driver.compiled_in(path, settings.get(("board",), (None, ""))[0])
        return [one.lowered for one in compiled.models]
    if not names_board(settings, project):
        raise ConfigError("a memory plan is made for a board", fix="add --board")
    resolved = configured(settings, project)
    sources = loaded(
        [f"{name}={path}" for name, path in paths.items()], given_shapes(settings, project)
    )
    return driver.lower_models([one.graph for one in sources], resolved.config, resolved.context)


def _show_memory(models: Sequence[Lowered], output: Path | None, as_json: bool) -> None:
    """Draws the arena of each model; `output` takes the picture of the only one."""
    from uhost.report import memory
    from uhost.report.records import results_json

    records = [{"model": one.graph.name} | memory.memory_record(one) for one in models]
    if output is not None:
        if len(records) > 1:
            raise ConfigError("one file takes the picture of one model", fix="name one MODEL")
        output.write_text(memory.svg(records[0]))
    if as_json:
        click.echo(results_json(records))
        return
    for record in records:
        show(
            f"{record['model']}, bytes of the arena over the steps\n",
            memory.draw(record, terminal_width()),
            "",
            memory.peak_line(record),
            "",
            memory.legend(record),
        )
    if output is not None:
        note(f"The picture is in {output}.")


def _placed(
    lowered: Lowered, file_bytes: int, board: str, config: CompilationConfig, variants: bool
) -> dict[str, Any]:
    """Returns the record of a model on a board."""
    from uhost.kernels._partition import asked

    record = _record(lowered.graph, file_bytes)
    record |= {
        "board": board,
        "order": [{"target": t.kind, "libraries": t.libraries} for t in asked(config.targets)],
    }
    _add_placement(record, lowered)
    if variants:
        record["variants"] = variant_records(lowered)
    return record


def _unsupported(paths: dict[str, str], error: UnsupportedOperatorError) -> dict[str, Any]:
    """Returns what `--json` prints of a model that uhost cannot take."""
    name, path = next(
        ((n, p) for n, p in paths.items() if f"'{n}'" in (error.where or "")),
        next(iter(paths.items())),
    )
    return {
        "model": name,
        "file_bytes": Path(path).stat().st_size,
        "unsupported": [asdict(one) for one in error.operators if one.reason],
    }


def _file_operators(error: UnsupportedOperatorError) -> Table:
    """Returns every operator of a model file that uhost cannot take, the reasons beside them."""
    from rich.markup import escape

    from uhost.report.tables import table

    made = table("index", "operator", "output", "unsupported", right=("index",))
    for one in error.operators:
        texts = (one.operator, ", ".join(one.outputs) or "-", one.reason)
        made.add_row(str(one.index), *map(escape, texts))
    return made


def _record(graph: Graph, file_bytes: int) -> dict[str, Any]:
    rows = [
        _row(bound) | {"absorbed": [asdict(one) for one in operator.absorbed]}
        for operator, bound in zip(graph.operators, graph.bound_operators(), strict=True)
    ]
    constants = [t for t in graph.tensors.values() if t.is_constant]
    return {
        "model": graph.name,
        "file_bytes": file_bytes,
        "inputs": [_port(graph.tensors[name]) for name in graph.inputs],
        "outputs": [_port(graph.tensors[name]) for name in graph.outputs],
        "operators": rows,
        "macs": sum(row["macs"] for row in rows),
        "weight_bytes": sum(t.size_bytes for t in constants),
        "largest_activation_bytes": max(
            (t.size_bytes for t in graph.tensors.values() if not t.is_constant), default=0
        ),
    }


def _add_placement(record: dict[str, Any], lowered: Lowered) -> None:
    """Adds to a record the memory plan, and to its operators where each goes and why."""
    plan = lowered.plan
    record |= {
        "arena_bytes": plan.arena_bytes,
        "arena_lower_bound_bytes": plan.lower_bound_bytes,
    }
    for row in record["operators"]:
        selection = lowered.selections.get(row["name"])
        row |= {
            "target": selection.target if selection else None,
            "kernel": f"{selection.library}/{selection.name}" if selection else "view",
            "forced": selection is not None and selection.forced,
            "scratch_bytes": selection.call.scratch_bytes if selection else 0,
            "passed_over": [asdict(one) for one in selection.passed_over] if selection else [],
        }


def _row(bound: BoundOperator[Any]) -> dict[str, Any]:
    from uhost.ir.printer import print_attributes
    from uhost.ops._op import OPERATORS

    weights = [t for t in bound.inputs if t is not None and t.is_constant]
    return {
        "name": bound.name,
        "kind": bound.kind,
        "attributes": print_attributes(bound.attributes),
        "outputs": [_port(tensor) for tensor in bound.outputs],
        "macs": OPERATORS[bound.kind].macs(bound),
        "weight_bytes": sum(t.size_bytes for t in weights),
        "weight_scales": max(
            (len(t.quantization.scale) for t in weights if t.quantization is not None), default=0
        ),
    }


def _port(tensor: Tensor) -> dict[str, Any]:
    one_scale = tensor.quantization is not None and len(tensor.quantization.scale) == 1
    return {
        "name": tensor.name,
        "dtype": str(tensor.dtype),
        "shape": list(tensor.shape),
        "scale": tensor.scale if one_scale else None,
        "zero_point": tensor.zero_point if one_scale else None,
    }


def _text(port: dict[str, Any]) -> str:
    return f"{port['dtype']} {'x'.join(map(str, port['shape'])) or 'scalar'}"


def _quantization(port: dict[str, Any]) -> str:
    if port["scale"] is None:
        return "-"
    sign = "-" if port["zero_point"] >= 0 else "+"
    return f"{port['scale']:.6g} × (q {sign} {abs(port['zero_point'])})"


def _show(record: dict[str, Any]) -> None:
    from uhost.report.tables import table
    from uhost.report.units import count, kib

    show(
        f"{record['model']}: {len(record['operators'])} operators, "
        f"{count(record['macs'])} MACs, weights {kib(record['weight_bytes'])}, "
        f"largest activation {kib(record['largest_activation_bytes'])}\n"
    )
    ports = table("", "name", "type and shape", "real value")
    for what in ("inputs", "outputs"):
        for port in record[what]:
            ports.add_row(what[:-1], port["name"], _text(port), _quantization(port))
    show(ports, "", _operators(record))
    if "variants" in record:
        show("", *variant_tables(record["variants"]))
    elif "board" in record:
        order = (f"{one['target']} ({', '.join(one['libraries'])})" for one in record["order"])
        show(
            "",
            f"Asked in order: {', '.join(order)}. The first target that takes an operator gets it, "
            "there the kernel that is best for the whole; --variants shows all.",
            *_passed_over(record),
            "",
            f"Arena {kib(record['arena_bytes'])}, lower bound "
            f"{kib(record['arena_lower_bound_bytes'])}",
        )


def _operators(record: dict[str, Any]) -> Table:
    from uhost.ir.graph import Absorbed, operator_title
    from uhost.report.tables import table
    from uhost.report.units import count

    placed = ("target", "kernel", "scratch") if "board" in record else ()
    numbers = ("MACs", "weights", "scales")
    made = table(
        *("operator", "result", *placed, *numbers, "real value"), right=("scratch", *numbers)
    )
    for row in record["operators"]:
        port = row["outputs"][0]
        places = (
            (row["target"] or "-", _kernel(row), count(row["scratch_bytes"] or None))
            if placed
            else ()
        )
        absorbed = [Absorbed(**one) for one in row["absorbed"]]
        made.add_row(
            operator_title(row["name"], absorbed),
            _text(port),
            *places,
            count(row["macs"] or None),
            count(row["weight_bytes"] or None),
            count(row["weight_scales"] or None),
            _quantization(port),
        )
    return made


def _kernel(row: dict[str, Any]) -> str:
    return f"{row['kernel']}, by choice" if row["forced"] else str(row["kernel"])


def _passed_over(record: dict[str, Any]) -> tuple[str | Table, ...]:
    """Returns a table of who was passed over, why, and for which operators; nothing for none."""
    from uhost.kernels._partition import PassedOver
    from uhost.report.tables import table

    operators: dict[PassedOver, list[str]] = {}
    for row in record["operators"]:
        for one in row["passed_over"]:
            operators.setdefault(PassedOver(**one), []).append(row["name"])
    if not operators:
        return ()
    made = table("passed over", "because", "for")
    for one, names in operators.items():
        made.add_row(one.place, one.reason, ", ".join(names))
    return "", made


COMMAND = command
