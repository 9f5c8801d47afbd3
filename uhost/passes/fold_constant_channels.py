"""Removes channels that no input can change, and folds what they add into the next biases.

Interval analysis (`uhost.ops._interval`) finds channels of int8 tensors that have one
value for every input: a ReLU that never opens, mostly. Where every reader of such a
channel sums over channels, its share of the sum is a constant of the reader's bias.
A channel whose readers all have zero weights for it goes too, whatever its values.

Channels linked by operators that work channel by channel (depthwise convolution, pools,
ADD, PAD of rows and columns) go together or not at all; through CONCATENATION each goes
with its place in the joined tensor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from uhost.config.pass_context import PassContext
from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator, Graph
from uhost.ir.module import IRModule
from uhost.ops._interval import Interval, whole
from uhost.ops._op import OPERATORS, Padding2D
from uhost.ops._weighted import weight_zero_point
from uhost.passes._channels import keep_channels, operand_masks

Mask = NDArray[np.bool_]

_ROUNDS = 4


@dataclass(frozen=True, slots=True)
class FoldConstantChannels:
    """Repeats until nothing more goes, four times at the most."""

    opt_level: ClassVar[int] = 2
    after: ClassVar[tuple[str, ...]] = (
        "fold_constants",
        "fold_padding",
        "merge_activations",
        "remove_dead_operators",
    )

    def run(self, module: IRModule, context: PassContext) -> IRModule:
        """Returns the module without channels that cannot change."""
        return module.map_graphs(_fold)


def intervals_of(graph: Graph) -> dict[str, Interval]:
    """Returns the interval of every tensor of which something is known: the int8 ones."""
    known = {
        name: whole(tensor)
        for name, tensor in graph.tensors.items()
        if tensor.dtype is DType.INT8 and tensor.elements
    }
    for bound in graph.bound_operators():
        kind = OPERATORS[bound.kind]
        names = [tensor.name for tensor in kind.operands(bound)]
        if kind.interval is None or len(bound.outputs) != 1 or bound.output.name not in known:
            continue
        if bound.output.name in graph.states:
            continue  # it is read before it is written, and after other writes
        if all(name in known for name in names):
            known[bound.output.name] = kind.interval(bound, [known[name] for name in names])
    return known


def _fold(graph: Graph) -> Graph:
    for _ in range(_ROUNDS):
        known = intervals_of(graph)
        removable = _removable(graph, known)
        if not any(mask.any() for mask in removable.values()):
            break
        graph = keep_channels(graph, {n: ~mask for n, mask in removable.items()}, known)
    return graph


def _removable(graph: Graph, known: Mapping[str, Interval]) -> dict[str, Mask]:
    """Returns, for each tensor, the channels that can go from it and from all it is linked to."""
    free: dict[str, Mask] = {}
    for name, interval in known.items():
        tensor = graph.tensors[name]
        stays = tensor.is_constant or name in {*graph.inputs, *graph.outputs, *graph.states}
        free[name] = np.full(len(interval.low), not stays)
    for bound in graph.bound_operators():
        kind = OPERATORS[bound.kind]
        if kind.is_channelwise(bound) or kind.joins_channels(bound):
            continue
        contracts, expands = kind.is_contraction(bound), kind.is_expansion(bound)
        for name in {t.name for t in bound.inputs if t is not None} & free.keys():
            if contracts and name == bound.input(0).name:
                free[name] &= _foldable(bound, known[name])
            else:
                free[name] &= False
        for name in {t.name for t in bound.outputs} & free.keys():
            free[name] &= contracts or expands
    _agree(graph, free)
    for mask in free.values():
        if mask.all() and mask.size:
            mask[0] = False  # a tensor keeps one channel
    _agree(graph, free)
    return {name: mask for name, mask in free.items() if not graph.tensors[name].is_constant}


def _foldable(bound: BoundOperator[Any], x: Interval) -> Mask:
    """Returns the channels whose share of every sum is known: constant, or of zero weight.

    Where the window reaches into padding, a constant other than the zero point adds
    something else there, so it must stay.
    """
    weights = bound.input(1).constant() != weight_zero_point(bound)
    unread: Mask = np.logical_not(np.any(weights.reshape(-1, weights.shape[-1]), axis=0))
    constant: Mask = x.is_constant
    if getattr(bound.attributes, "padding", Padding2D()) != Padding2D():
        constant = np.logical_and(constant, x.low == bound.input(0).zero_point)
    return np.logical_or(unread, constant)


def _agree(graph: Graph, free: dict[str, Mask]) -> None:
    """Lets a channel go only where it goes from every tensor that an operator links it in."""
    changed = True
    while changed:
        changed = False
        for bound in graph.bound_operators():
            kind = OPERATORS[bound.kind]
            if kind.joins_channels(bound):
                changed |= _agree_on_joined(bound, free)
            elif kind.is_channelwise(bound):
                # Constants are no obstacle: each reader gets the part it needs.
                tensors = (*kind.operands(bound), *bound.outputs)
                linked = [tensor.name for tensor in tensors if not tensor.is_constant]
                masks = [free.get(name, np.zeros(1, bool)) for name in linked]
                agreed = np.logical_and.reduce(np.broadcast_arrays(*masks), axis=0)
                changed |= _settle(free, linked, [agreed] * len(linked))


def _agree_on_joined(bound: BoundOperator[Any], free: dict[str, Mask]) -> bool:
    """Does for an operator that joins channels what `_agree` does; returns whether any changed.

    A constant that is joined gives up whatever channel the output does.
    """
    output = free.get(bound.output.name, np.zeros(bound.output.shape[-1], bool))
    operands = OPERATORS[bound.kind].operands(bound)
    names = [tensor.name for tensor in operands if not tensor.is_constant]
    agreed = [
        mask
        if tensor.is_constant
        else mask & free.get(tensor.name, np.zeros(tensor.shape[-1], bool))
        for tensor, mask in zip(operands, operand_masks(bound, output), strict=True)
    ]
    own = [mask for tensor, mask in zip(operands, agreed, strict=True) if not tensor.is_constant]
    return _settle(free, [bound.output.name, *names], [np.concatenate(agreed), *own])


def _settle(free: dict[str, Mask], names: Sequence[str], masks: Sequence[Mask]) -> bool:
    """Lets of every tensor only the channels go that its mask marks; returns whether any stay."""
    changed = False
    for name, mask in zip(names, masks, strict=True):
        if name in free and (free[name] & ~mask).any():
            free[name], changed = free[name] & mask, True
    return changed


PASS = FoldConstantChannels
