"""From the nodes of a model file to a graph of known operators: the same for every format.

A frontend reads its file into `Node`s and `Declared` tensors; this file finds the
importer of each node, checks the result, and reports all unsupported nodes at once.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from uhost.errors import InternalError, MalformedModelError, ModelError, VerifyError
from uhost.frontends._node import Declared, Node, RefusedTensor
from uhost.frontends._unsupported import Unsupported, type_text, unsupported_operators, why_absent
from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator, Graph, Operator
from uhost.ir.tensor import Array, Tensor
from uhost.ops._op import OPERATORS, Imported, Importer, OperatorKind, UnsupportedNodeError

ACTIVATION_LIMIT_BYTES = 2**31
INCONSISTENT = "the file contradicts itself: export the model again with a current converter"


def fresh_name(name: str, index: int, taken: Container[str]) -> str:
    """Returns `name`, or the nearest name that is neither empty nor in `taken`."""
    base = name or f"tensor_{index}"
    fresh, suffix = base, index
    while fresh in taken:
        fresh = f"{base}_{suffix}"
        suffix += 1
    return fresh


def import_nodes(
    name: str,
    form: str,
    nodes: Sequence[Node],
    inputs: Sequence[Declared],
    outputs: Sequence[Declared],
    dynamic: Mapping[str, tuple[int, ...]],
    states: Mapping[str, tuple[Tensor, Array]] | None = None,
    *,
    is_model: bool = True,
) -> Graph:
    """Returns the verified graph of `nodes`, the model `name` in the format `form`.

    `dynamic` gives the shape, -1 where open, of each tensor the file leaves open; what an
    operator makes fills it, and an open batch of an input is 1. `states` are those that last
    from run to run, with their initial values. A graph that is no model, but called by one,
    may have no operators and no outputs. Raises `UnsupportedOperatorError` with all
    unsupported nodes at once, and `MalformedModelError`
    where the file contradicts itself.
    """
    for tensor in inputs:
        if -1 in dynamic.get(tensor.name, ())[1:]:
            raise _dynamic_shape(tensor.name, dynamic[tensor.name], name)
    kinds = _importers_of(form)
    declared = (*inputs, *outputs, *(tensor for node in nodes for tensor in node.declared))
    exits = frozenset(tensor.name for tensor in outputs)
    names = {tensor.name for tensor in declared if tensor}
    graph = _GraphUnderWay(name, inputs, exits, names, dynamic, dict(states or {}))
    unsupported: list[Unsupported] = []
    for node in nodes:
        try:
            graph.add(node, kinds)
        except UnsupportedNodeError as error:
            unsupported.append(Unsupported(node, str(error)))
        graph.write(node)
    if unsupported:
        raise unsupported_operators(name, nodes, unsupported)
    return graph.finish(inputs, outputs, is_model)


_Importers: TypeAlias = Mapping[str, tuple[OperatorKind[Any], Importer]]


def _importers_of(form: str) -> _Importers:
    """Returns name in the format → the operator that takes it, and its importer."""
    importers: dict[str, tuple[OperatorKind[Any], Importer]] = {}
    for kind in OPERATORS:
        for source_name, importer in kind.importers.get(form, {}).items():
            if source_name in importers:
                raise InternalError(
                    f"the operators '{importers[source_name][0].name}' and '{kind.name}' "
                    f"both import {source_name}",
                    where=f"format {form}",
                )
            importers[source_name] = kind, importer
    return importers


class _GraphUnderWay:
    """The operators and tensors of a graph so far, and the names that are written already."""

    def __init__(
        self,
        name: str,
        inputs: Sequence[Declared],
        exits: frozenset[str],
        names: set[str],
        dynamic: Mapping[str, tuple[int, ...]],
        states: dict[str, tuple[Tensor, Array]],
    ) -> None:
        self._states = states
        self._shaped: dict[str, Tensor] = {}
        self._name = name
        self._names = names
        self._dynamic = dynamic
        self._inputs_are_shaped = bool(dynamic) and not any(t.name in dynamic for t in inputs)
        self._tensors: dict[str, Tensor] = {}
        self._operators: list[Operator] = []
        self._written = set(states)
        self._folded: dict[str, Tensor] = {}
        self._exits = exits
        for tensor in inputs:
            if tensor.is_constant:
                raise self._malformed(f"the model input '{tensor.name}' is a constant")
            if tensor.name in self._written:
                raise self._malformed(f"the model input '{tensor.name}' is listed twice")
            self._written.add(tensor.name)

    def add(self, node: Node, importers: _Importers) -> None:
        """Adds the operator for a node; raises `UnsupportedNodeError` where there is none."""
        if node.operator not in importers:
            raise UnsupportedNodeError(why_absent(node.operator))
        kind, importer = importers[node.operator]
        node = self._with_shapes(node)
        for role, tensors in ("input", node.declared_inputs), ("output", node.declared_outputs):
            for index, tensor in enumerate(tensors):
                if isinstance(tensor, RefusedTensor):
                    raise UnsupportedNodeError(f"{role} {index} {tensor.reason}")
        node = replace(node, declared_inputs=tuple(map(self._known, node.declared_inputs)))
        for tensor in node.inputs:
            if tensor and not tensor.is_constant and tensor.name not in self._written:
                raise self._malformed(
                    f"tensor '{tensor.name}' is read before anything writes it", node.place
                )
        if node.from_uint8 and not kind.takes_uint8:
            raise UnsupportedNodeError("uint8")
        with _contradictions(node):
            imported = self._with_fresh_states(importer(node))
        inputs = tuple(self._keep(tensor) for tensor in imported.inputs)
        while inputs and inputs[-1] is None:
            inputs = inputs[:-1]  # one form for "no bias", whether left out or marked absent
        own = node.outputs
        if (shape := imported.output_shape) is not None:
            made = [(shape, own[0].dtype)]
            own = self._shape(own, made)
            self._check_outputs(node, own, made)
        outputs = (*own, *self._updated(node, imported))
        bound = BoundOperator(
            f"{kind.name}_{node.index}", kind.name, imported.attributes, inputs, outputs
        )
        with _contradictions(node):
            inferred = tuple(kind.infer(bound))
        outputs = self._shape(outputs, inferred)
        bound = replace(bound, outputs=outputs)
        self._check_outputs(node, outputs, inferred)
        is_exit = any(tensor.name in self._exits for tensor in node.outputs)
        constant = all(t is None or t.is_constant for t in inputs)
        # Where open shapes were filled, what is computed of them has to be known here.
        computes_shape = self._inputs_are_shaped and (
            kind.reads_shapes or any(t and t.name in self._folded for t in inputs)
        )
        if (
            not is_exit
            and (constant or kind.reads_shapes)
            and (kind.folds_at_import or computes_shape)
        ):
            self._fold(kind, bound)
            return
        for index, tensor in enumerate(node.inputs):
            if tensor is not None and tensor.dtype is DType.FLOAT16:
                raise UnsupportedNodeError(f"input {index} has type float16")
        self._operators.append(
            Operator(
                bound.name,
                bound.kind,
                tuple(tensor.name if tensor else "" for tensor in inputs),
                tuple(tensor.name for tensor in outputs),
                bound.attributes,
            )
        )
        self._tensors.update({tensor.name: tensor for tensor in outputs})

    def _known(self, tensor: Declared | None) -> Declared | None:
        """Returns the constant that an operator before made of a tensor, else the tensor."""
        return self._folded.get(tensor.name, tensor) if tensor is not None else None

    def _fold(self, kind: OperatorKind[Any], bound: BoundOperator[Any]) -> None:
        """Makes constants of the outputs of an operator on constants, in place of the operator."""
        arrays = [None if t is None else _values(t) for t in bound.inputs]
        for tensor, values in zip(bound.outputs, kind.reference(bound, arrays), strict=True):
            self._folded[tensor.name] = replace(tensor, values=values)

    def write(self, node: Node) -> None:
        """Notes what a node writes, supported or not; raises where it must not."""
        for tensor in node.declared_outputs:
            if tensor.is_constant:
                raise self._malformed(f"the constant '{tensor.name}' is written", node.place)
            if tensor.name in self._written and tensor.name not in self._states:
                raise self._malformed(f"tensor '{tensor.name}' is written twice", node.place)
            self._written.add(tensor.name)

    def finish(
        self, inputs: Sequence[Declared], outputs: Sequence[Declared], is_model: bool
    ) -> Graph:
        """Returns the graph of everything added, verified."""
        if is_model and not (self._operators and outputs):
            raise self._malformed("the model computes nothing")
        for tensor in (*inputs, *outputs):
            if isinstance(tensor, RefusedTensor):
                raise ModelError(
                    f"tensor '{tensor.name}', an input or output of the model, {tensor.reason}",
                    where=f"model '{self._name}'",
                    fix="convert the model with inputs and outputs of a supported type",
                )
            if not tensor.is_constant and tensor.name not in self._written:
                raise self._malformed(f"nothing writes the model output '{tensor.name}'")
            self._keep(self._shaped.get(tensor.name, tensor))
        total_bytes = sum(t.size_bytes for t in self._tensors.values() if not t.is_constant)
        if total_bytes > ACTIVATION_LIMIT_BYTES:
            raise self._malformed(f"the tensors between operators take {total_bytes} bytes")
        graph = Graph(
            self._name,
            self._tensors,
            tuple(self._operators),
            tuple(tensor.name for tensor in inputs),
            tuple(tensor.name for tensor in outputs),
            {name: values for name, (_, values) in self._states.items() if name in self._tensors},
        )
        graph.verify()
        return graph

    def _with_shapes(self, node: Node) -> Node:
        """Returns the node with the shapes that were found for what it reads."""
        found = (
            self._shaped.get(tensor.name, tensor) if tensor is not None else None
            for tensor in node.declared_inputs
        )
        return replace(node, declared_inputs=tuple(found)) if self._shaped else node

    def _shape(
        self, outputs: tuple[Tensor, ...], inferred: Sequence[tuple[tuple[int, ...], DType]]
    ) -> tuple[Tensor, ...]:
        """Returns the outputs, those of no declared shape with the shape that they have.

        A file may leave a tensor's shape out, which reads like that of a scalar, or some of
        its dimensions open.
        """
        shaped = []
        for tensor, made in zip(outputs, inferred, strict=False):
            left_out = tensor.shape == () and made[0] != ()
            if (left_out or self._fills(tensor, made[0])) and tensor.name not in self._states:
                tensor = replace(tensor, shape=tuple(made[0]))
                self._shaped[tensor.name] = tensor
            shaped.append(tensor)
        return (*shaped, *outputs[len(shaped) :])

    def _fills(self, tensor: Tensor, shape: Sequence[int]) -> bool:
        """True if `shape` is another than the tensor's, and one that the file allows."""
        allowed = self._dynamic.get(tensor.name)
        if allowed is None or len(allowed) != len(shape) or tensor.shape == tuple(shape):
            return False
        return all(declared in (-1, size) for declared, size in zip(allowed, shape, strict=True))

    def _with_fresh_states(self, imported: Imported) -> Imported:
        """Returns what an importer made of a node, its own states under names of their own."""
        fresh: dict[int, Tensor] = {}  # by identity: an input may have the name of a state
        for tensor in imported.states:
            name = fresh_name(tensor.name, len(self._names), self._names)
            self._names.add(name)
            fresh[id(tensor)] = replace(tensor, name=name)
        return replace(
            imported,
            inputs=tuple(t and fresh.get(id(t), t) for t in imported.inputs),
            updates=tuple(fresh.get(id(t), t) for t in imported.updates),
            states={fresh[id(tensor)]: values for tensor, values in imported.states.items()},
        )

    def _updated(self, node: Node, imported: Imported) -> tuple[Tensor, ...]:
        """Returns the states that the operator changes, the importer's own among them."""
        for tensor, values in imported.states.items():
            self._states[tensor.name] = tensor, values
        for tensor in imported.updates:
            if tensor.name not in self._states:
                raise self._malformed(
                    f"tensor '{tensor.name}', which {node.operator} changes, is no variable",
                    node.place,
                )
        return imported.updates

    def _keep(self, tensor: Tensor | None) -> Tensor | None:
        """Returns `tensor` as the graph holds it: renamed if an importer made it of another."""
        if tensor is None:
            return None
        if tensor.elements == 0:
            raise UnsupportedNodeError("an input has no elements")
        if self._tensors.setdefault(tensor.name, tensor) is tensor:
            return tensor
        renamed = replace(tensor, name=fresh_name(tensor.name, len(self._names), self._names))
        self._names.add(renamed.name)
        self._tensors[renamed.name] = renamed
        return renamed

    def _check_outputs(
        self,
        node: Node,
        outputs: Sequence[Tensor],
        inferred: Sequence[tuple[tuple[int, ...], DType]],
    ) -> None:
        """Raises unless the file declares the outputs as the operator makes them."""
        if len(inferred) != len(outputs):
            raise self._malformed(
                f"{node.operator} has {len(outputs)} outputs, not {len(inferred)}", node.place
            )
        for tensor, (shape, dtype) in zip(outputs, inferred, strict=True):
            if (tensor.shape, tensor.dtype) == (tuple(shape), dtype):
                continue
            if declared := self._dynamic.get(tensor.name):
                raise self._malformed(
                    f"tensor '{tensor.name}' is declared {dtype}[{written(declared)}], but "
                    f"{node.operator} makes {type_text(shape, dtype)} of its inputs",
                    node.place,
                )
            raise self._malformed(
                f"tensor '{tensor.name}' is declared {type_text(tensor.shape, tensor.dtype)}, "
                f"but {node.operator} makes {type_text(shape, dtype)} of its inputs",
                node.place,
            )

    def _malformed(self, what: str, place: str = "") -> MalformedModelError:
        return MalformedModelError(what, where=place or f"model '{self._name}'", fix=INCONSISTENT)


@contextmanager
def _contradictions(node: Node) -> Iterator[None]:
    """Turns what an importer or inference trips over in an inconsistent node into its error.

    They read a node as if it were sound: that an input is there, that a shape has four
    entries, that an option is one of its enumeration. Where it is not, Python raises.
    """
    try:
        yield
    except MalformedModelError as error:
        error.where = node.place  # it knows the node only by its number
        raise
    except VerifyError as error:
        raise MalformedModelError(error.what, where=node.place, fix=INCONSISTENT) from error
    except (ArithmeticError, LookupError, ValueError) as error:
        raise _inconsistent(node, error) from error
    except AttributeError as error:
        # An absent input or options table is None; a node may carry another one's options.
        if error.obj is not None and error.obj is not node.options:
            raise
        raise _inconsistent(node, error) from error


def _inconsistent(node: Node, error: Exception) -> MalformedModelError:
    return MalformedModelError(
        f"{node.operator} has inputs or options that contradict each other ({error})",
        where=node.place,
        fix=INCONSISTENT,
    )


def _values(tensor: Tensor) -> Array:
    """Returns a constant's values, and zeros for a tensor of which only the shape is read."""
    if tensor.is_constant:
        return tensor.constant()
    return np.broadcast_to(np.zeros((), tensor.dtype.numpy), tensor.shape)


def _dynamic_shape(tensor: str, shape: Sequence[int], name: str) -> ModelError:
    return ModelError(
        f"tensor '{tensor}' has the dynamic shape [{written(shape)}]",
        where=f"model '{name}'",
        fix="memory is planned when the model is compiled: give a number for every N with "
        f"--input-shape {tensor}={written(shape, 'N', ',')}, or export the model with fixed shapes",
    )


def written(shape: Sequence[int], unknown: str = "?", between: str = "x") -> str:
    """Returns a shape as text, `unknown` where it is open."""
    return between.join(unknown if size < 0 else str(size) for size in shape)
