"""Makes RELU, RELU6 and RELU_N1_TO_1 the fused activation of the operator before.

Only where it is exact. The activation's input and output must be quantised alike: then it
scales by 1, which its fixed-point arithmetic does without error, and what is left is the
clamp that the operator before can do. Where that operator clamps already, one clamp must
lie inside the other; the narrower one is what both together do.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from uhost.config.pass_context import PassContext
from uhost.ir.graph import Absorbed, Graph, Operator
from uhost.ir.module import IRModule
from uhost.ops._op import Activation
from uhost.passes._neighbours import is_sound, reader_counts

_CLAMPS = {one.value: one for one in Activation if one is not Activation.NONE}
"""Kinds of operators that clamp and do nothing else."""


@dataclass(frozen=True, slots=True)
class MergeActivations:
    """Merges an activation that is the only reader of a tensor into what makes the tensor."""

    opt_level: ClassVar[int] = 1
    after: ClassVar[tuple[str, ...]] = ("remove_copies", "remove_dead_operators")

    def run(self, module: IRModule, context: PassContext) -> IRModule:
        """Returns the module with activations merged."""
        return module.map_graphs(_merge)


def _merge(graph: Graph) -> Graph:
    counts = reader_counts(graph)
    kept: list[Operator] = []
    for operator in graph.operators:
        source = operator.inputs[0] if operator.kind in _CLAMPS else ""
        place = next((i for i, one in enumerate(kept) if one.outputs == (source,)), None)
        merged = None
        # A state is written where its operator stands, not before.
        if place is not None and counts[source] == 1 and operator.outputs[0] not in graph.states:
            merged = _clamping(kept[place], operator, graph)
        if place is None or merged is None:
            kept.append(operator)
        else:
            # At the place of the first: nothing in between reads what either makes.
            kept[place] = merged
    return graph.with_operators(tuple(kept))


def _clamping(before: Operator, clamp: Operator, graph: Graph) -> Operator | None:
    """Returns `before` with the clamp as its activation; None where it would not be the same."""
    source, result = graph.tensors[clamp.inputs[0]], graph.tensors[clamp.outputs[0]]
    attributes: Any = before.attributes
    fused = getattr(attributes, "activation", None)
    if not isinstance(fused, Activation) or source.quantization != result.quantization:
        return None
    activation = _narrower(fused, _CLAMPS[clamp.kind])
    if activation is None:
        return None
    merged = replace(
        before,
        outputs=clamp.outputs,
        attributes=replace(attributes, activation=activation),
        absorbed=(*before.absorbed, *clamp.absorbed, Absorbed(clamp.name, source.name)),
    )
    return merged if is_sound(merged, graph.tensors) else None


def _narrower(one: Activation, other: Activation) -> Activation | None:
    """Returns the activation whose interval lies in the other's; None where neither does."""
    for inner, outer in ((one, other), (other, one)):
        low, high = outer.bounds
        if low <= inner.bounds[0] and inner.bounds[1] <= high:
            return inner
    return None


PASS = MergeActivations
