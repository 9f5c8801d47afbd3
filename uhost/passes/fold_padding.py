"""Makes PAD the padding of the convolutions and poolings that read it.

A window pads with what counts as zero: PAD with the zero point (0 in float) before a
convolution is the same as that much more padding of the convolution. Sums of floats stay
what they are, bit for bit: they begin at +0, and adding ±0 to that or to a sum does not
change it, as long as no weight is infinite or NaN.

A maximum leaves padding out. So PAD may go into MAX_POOL_2D only where its value cannot
win: where no element of the input is smaller, by interval analysis, and every window has
an element of the input. AVERAGE_POOL_2D counts what PAD adds and not what it pads itself,
so the two differ there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from uhost.config.pass_context import PassContext
from uhost.ir.dtype import DType
from uhost.ir.graph import Absorbed, BoundOperator, Graph, Operator
from uhost.ir.module import IRModule
from uhost.ir.tensor import Tensor
from uhost.ops._interval import Interval
from uhost.ops._op import Padding2D
from uhost.ops._window import Axis
from uhost.ops.pad import PadAttributes
from uhost.passes._neighbours import is_sound
from uhost.passes.fold_constant_channels import intervals_of

_CONVOLUTIONS = ("conv_2d", "depthwise_conv_2d")


@dataclass(frozen=True, slots=True)
class FoldPadding:
    """Folds a PAD of rows and columns where all of its readers take it."""

    opt_level: ClassVar[int] = 1
    after: ClassVar[tuple[str, ...]] = ("remove_copies", "remove_dead_operators")

    def run(self, module: IRModule, context: PassContext) -> IRModule:
        """Returns the module with paddings folded."""
        return module.map_graphs(_fold)


def _fold(graph: Graph) -> Graph:
    pads = [bound for bound in graph.bound_operators() if bound.kind == "pad"]
    # Backwards, so that of two pads in a row both go.
    for pad in reversed(pads):
        ends = {pad.input(0).name, pad.output.name}
        # Of a state, a later reader may find other values than PAD did.
        if ends & graph.states.keys() or pad.output.name in graph.outputs:
            continue
        if not _is_of_rows_and_columns(pad):
            continue
        readers = [one for one in graph.operators if pad.output.name in one.inputs]
        known = intervals_of(graph) if any(r.kind == "max_pool_2d" for r in readers) else {}
        taken = {one.name: _with_padding(one, pad, graph, known) for one in readers}
        if not readers or None in taken.values():
            continue
        operators = [taken.get(one.name, one) for one in graph.operators if one.name != pad.name]
        graph = graph.with_operators(tuple(one for one in operators if one is not None))
    return graph


def _is_of_rows_and_columns(pad: BoundOperator[PadAttributes]) -> bool:
    amounts = list(zip(pad.attributes.before, pad.attributes.after, strict=True))
    source = pad.input(0)
    return (
        len(amounts) == 4
        and amounts[0] == amounts[3] == (0, 0)
        and not source.is_constant
        and source.quantization == pad.output.quantization
    )


def _with_padding(
    reader: Operator,
    pad: BoundOperator[PadAttributes],
    graph: Graph,
    known: Mapping[str, Interval],
) -> Operator | None:
    """Returns the reader with the pad in its own padding; None where it would not be the same."""
    padded, source = pad.output.name, pad.input(0)
    if reader.inputs[0] != padded or padded in reader.inputs[1:]:
        return None
    bound = graph.bind(reader)
    if reader.kind in _CONVOLUTIONS:
        if not _counts_as_zero(pad, bound):
            return None
    elif reader.kind != "max_pool_2d" or not _cannot_win(pad, known.get(source.name)):
        return None
    attributes: Any = reader.attributes
    old, before, after = attributes.padding, pad.attributes.before, pad.attributes.after
    padding = Padding2D(
        old.top + before[1], old.left + before[2], old.bottom + after[1], old.right + after[2]
    )
    folded = replace(
        reader,
        inputs=(source.name, *reader.inputs[1:]),
        attributes=replace(attributes, padding=padding),
        absorbed=(*reader.absorbed, *_of(graph, pad.name), Absorbed(pad.name, padded)),
    )
    sees_image = _every_window_sees(graph.bind(folded))
    return folded if sees_image and is_sound(folded, graph.tensors) else None


def _of(graph: Graph, name: str) -> tuple[Absorbed, ...]:
    return next(one.absorbed for one in graph.operators if one.name == name)


def _counts_as_zero(pad: BoundOperator[PadAttributes], reader: BoundOperator[Any]) -> bool:
    source: Tensor = pad.input(0)
    if source.dtype is not DType.FLOAT32:
        return pad.attributes.value == source.zero_point
    weights = reader.input(1)
    finite = weights.is_constant and bool(np.isfinite(weights.constant()).all())
    return pad.attributes.value == 0 and finite


def _cannot_win(pad: BoundOperator[PadAttributes], source: Interval | None) -> bool:
    if pad.input(0).dtype is DType.FLOAT32:
        return pad.attributes.value <= float(np.finfo(np.float32).min)
    return source is not None and bool((source.low >= pad.attributes.value).all())


def _every_window_sees(bound: BoundOperator[Any]) -> bool:
    """True if no window lies in padding alone, which kernels need not provide for."""
    a, image = bound.attributes, bound.input(0).shape
    window = getattr(a, "window", None) or bound.input(1).shape[1:3]
    dilation = getattr(a, "dilation", (1, 1))
    pads = ((a.padding.top, a.padding.bottom), (a.padding.left, a.padding.right))
    axes = [Axis(image[i + 1], window[i], a.stride[i], dilation[i], *pads[i]) for i in range(2)]
    return all(axis.output > 0 and axis.valid_taps().all() for axis in axes)


PASS = FoldPadding
