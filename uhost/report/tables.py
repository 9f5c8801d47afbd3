"""Tables for people: aligned, with units, few words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from uhost.ir.printer import short_name
from uhost.report.units import count, duration, frequency, kib, share

if TYPE_CHECKING:
    from uhost.ir.tensor import Array, Tensor
    from uhost.runtime.evaluation import Evaluation
    from uhost.runtime.samples import Samples
    from uhost.toolchain._stack_bound import StackBound

_LONGEST_LIST = 20
_RANKS = 5
RANKED_SAMPLES = 4
"""So many samples are shown with all of their highest scores, more with the best alone."""
MODEL_NOTE = "a model, not silicon"


def table(*headers: str, right: Sequence[str] = ()) -> Table:
    """Returns an empty table; columns named in `right` are right-aligned."""
    made = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for header in headers:
        made.add_column(header, justify="right" if header in right else "left", overflow="fold")
    return made


def figures(evaluation: Evaluation) -> Table:
    """Returns instructions, time, flash and RAM of one result."""
    made = Table.grid(padding=(0, 2))
    per_second = evaluation.clock_hz
    if evaluation.instructions is not None:
        time = duration(evaluation.instructions / per_second) if per_second else "-"
        made.add_row(
            "instructions",
            count(evaluation.instructions),
            f"about {time} at {frequency(per_second)}, at one instruction a cycle"
            if per_second
            else "",
        )
    if evaluation.modelled_cycles is not None:
        time = duration(evaluation.modelled_cycles / per_second) if per_second else "-"
        made.add_row(
            "modelled cycles",
            count(evaluation.modelled_cycles),
            f"{time} at {frequency(per_second)}, {MODEL_NOTE}" if per_second else MODEL_NOTE,
        )
    elif evaluation.why_uncounted or evaluation.instructions is None:
        made.add_row("instructions", "-", evaluation.why_uncounted)
    if evaluation.cycles is not None:
        made.add_row(
            "cycles",
            count(evaluation.cycles),
            f"{duration(evaluation.cycles / per_second)} at {frequency(per_second)}, measured",
        )
    made.add_row(
        "flash",
        kib(evaluation.image_flash_bytes),
        f"of which the model {kib(evaluation.model_flash_bytes)}",
    )
    made.add_row(
        "RAM",
        kib(evaluation.image_ram_bytes),
        f"of which the model {kib(evaluation.model_ram_bytes)}: arena "
        f"{kib(evaluation.arena_bytes)}, stack {kib(evaluation.stack_bytes)}"
        f"{stack_limit(evaluation.stack_bound)}"
        + (f", weights {kib(evaluation.params_ram_bytes)}" if evaluation.params_ram_bytes else ""),
    )
    return made


def stack_limit(bound: StackBound) -> str:
    """Returns what the stack is at most, or what stands against a bound."""
    if bound.size_bytes is not None:
        return f" of at most {count(bound.size_bytes)} B"
    return f" without a bound: {'; '.join(bound.why)}" if bound.why else ""


def operators(evaluation: Evaluation) -> Table:
    """Returns where the time goes: one line per operator."""
    made = table(
        "operator",
        "kernel",
        "MACs",
        "instructions",
        "share",
        "per MAC",
        "modelled cycles",
        right=("MACs", "instructions", "share", "per MAC", "modelled cycles"),
    )
    for one in evaluation.operators:
        per_mac = f"{one.instructions / one.macs:.2f}" if one.macs and one.instructions else "-"
        made.add_row(
            one.name,
            one.kernel,
            count(one.macs or None),
            count(one.instructions),
            share(one.instructions, evaluation.instructions),
            per_mac,
            count(one.modelled_cycles),
        )
    return made


def verdict(evaluation: Evaluation) -> Text:
    """Returns the sentence that says whether the results are right."""
    compared = evaluation.comparisons
    if not compared:
        return Text("Not compared: no expected outputs were given. Add --verify to compare.")
    what = f"{len(compared)} tensor{'s' if len(compared) != 1 else ''} compared"
    if evaluation.exact:
        return Text(f"bit-exact against the reference: yes ({what})", style="green")
    if evaluation.matches:
        return Text(
            f"matches the reference: yes, within the tolerance for floats ({what}, "
            f"largest difference {evaluation.max_difference:.3g})",
            style="green",
        )
    wrong = [c for c in compared if not c.matches]
    first = wrong[0]
    of = f" of {first.title}" if first.operator else ""
    return Text(
        f"matches the reference: NO. {len(wrong)} of {len(compared)} tensors differ; the first "
        f"is '{first.tensor}'{of} ({first.source}), by {first.max_difference:g}",
        style="bold red",
    )


def comparisons(evaluation: Evaluation) -> Table:
    """Returns one line per compared tensor."""
    headers = ("tensor", "made by", "compared with", "result", "largest difference")
    made = table(*headers, right=headers[-1:])
    for one in evaluation.comparisons:
        result = "exact" if one.exact else "within tolerance" if one.matches else "DIFFERENT"
        made.add_row(
            short_name(one.tensor),
            one.title or "-",
            one.source,
            result,
            f"{one.max_difference:g}",
        )
    return made


def sample_outputs(evaluation: Evaluation, samples: Samples, tensor: Tensor) -> RenderableType:
    """Returns the class of each sample for a classifier, else the shape and range of outputs."""
    labelled = any(item.label is not None for item in samples.items)
    headers = ["sample", "class", "score"]
    made = table(*headers, *(["label"] if labelled else []), right=("sample", "score"))
    for number, (item, outputs) in enumerate(zip(samples.items, evaluation.outputs, strict=True)):
        if number == _LONGEST_LIST:
            made.caption = f"and {len(samples.items) - number} more"
            break
        real = _real(outputs[0], tensor).reshape(-1)
        best = int(np.argmax(real))
        name = samples.classes[best] if best < len(samples.classes) else str(best)
        row = [str(number), name, f"{real[best]:.3f}"]
        if labelled:
            row.append(
                "-"
                if item.label is None
                else "right"
                if item.label == name
                else f"wrong: {item.label}"
            )
        made.add_row(*row)
    return made


def ranking(evaluation: Evaluation, samples: Samples, tensor: Tensor) -> Table:
    """Returns the classes of the highest scores of each sample, the highest first."""
    several = len(samples.items) > 1
    made = table(*(["sample"] if several else []), "class", "score", right=("sample", "score"))
    for number, outputs in enumerate(evaluation.outputs):
        for place, (index, score) in enumerate(ranked(outputs[0], tensor)):
            name = samples.classes[index] if index < len(samples.classes) else str(index)
            first = [str(number) if place == 0 else ""] if several else []
            made.add_row(*first, Text(name), f"{score:.3f}")
    return made


def ranked(array: Array, tensor: Tensor) -> list[tuple[int, float]]:
    """Returns (class, real score) of the highest scores; of equal ones the first class first."""
    real = _real(array, tensor).reshape(-1)
    order = np.argsort(-real, kind="stable")[:_RANKS]
    return [(int(index), float(real[index])) for index in order]


def classifies(outputs: Sequence[Tensor]) -> bool:
    """Returns whether a model's only output reads as scores of classes."""
    return len(outputs) == 1 and is_classifier(outputs[0])


def is_classifier(tensor: Tensor) -> bool:
    """Returns whether an output reads as scores of classes: one vector of 2 to 1000 values."""
    return 2 <= tensor.elements <= 1000 and max(tensor.shape, default=0) == tensor.elements


def output_ranges(evaluation: Evaluation, tensors: Sequence[Tensor]) -> Table:
    """Returns shape, type and range of each output of the first sample."""
    made = table("output", "type", "shape", "smallest", "largest", right=("smallest", "largest"))
    for tensor, array in zip(tensors, evaluation.outputs[0], strict=True):
        real = _real(array, tensor)
        made.add_row(
            tensor.name,
            str(tensor.dtype),
            "x".join(map(str, tensor.shape)),
            f"{real.min():.4g}" if real.size else "-",
            f"{real.max():.4g}" if real.size else "-",
        )
    return made


def bench(evaluations: Sequence[Evaluation]) -> RenderableType:
    """Returns one line per model: instructions, estimated time, flash, RAM, right or wrong."""
    numbers = (
        "MACs",
        "instructions",
        "per MAC",
        "modelled cycles",
        "time",
        "model flash",
        "image flash",
        "arena",
        "stack",
        "model RAM",
    )
    made = table("model", "runner", *numbers, "exact", right=numbers)
    for one in evaluations:
        macs = sum(o.macs for o in one.operators)
        steps = one.modelled_cycles or one.instructions
        time = steps / one.clock_hz if steps and one.clock_hz else None
        made.add_row(
            one.model,
            one.runner,
            count(macs or None),
            count(one.instructions),
            f"{one.instructions / macs:.2f}" if one.instructions and macs else "-",
            count(one.modelled_cycles),
            duration(time),
            kib(one.model_flash_bytes),
            kib(one.image_flash_bytes),
            kib(one.arena_bytes),
            kib(one.stack_bytes),
            kib(one.model_ram_bytes),
            {True: "yes", False: "yes*" if one.matches else "NO", None: "-"}[one.exact],
        )
    notes = [f"time: modelled cycles at the board's clock, {MODEL_NOTE}."]
    if any(one.modelled_cycles is None and one.instructions for one in evaluations):
        notes.append("Where there are none: instructions, at one a cycle.")
    for one in evaluations:
        if why := one.why_uncounted or one.why_unmodelled:
            what = "instructions" if one.why_uncounted else "modelled cycles"
            notes.append(f"{one.model} has no {what}: {why}.")
    if any(one.exact is False and one.matches for one in evaluations):
        notes.append("yes*: floats, within 1e-6 + 1e-5 of the largest value.")
    return Group(made, Text(" ".join(notes), style="dim"))


def _real(array: Array, tensor: Tensor) -> Array:
    if tensor.quantization is None or array.dtype.kind == "f":
        return array
    return (array.astype(np.float64) - tensor.zero_point) * tensor.scale
