"""Names functions and constants, and turns kernel calls into C text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from uhost.codegen.environment import render, render_include
from uhost.codegen.literals import c_type, float_literal, rows
from uhost.codegen.lowered import Lowered, Params, key_of, pack_params
from uhost.codegen.names import Names, comment
from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.ir.tensor import Array, Tensor
from uhost.kernels._kernel import KernelCall, NestedCall, Parameter
from uhost.planner.lifetimes import SCRATCH_SUFFIX
from uhost.planner.plan import MemoryPlan

_WIDEST = 96
_LONGEST_LABEL = 48
# What the templates call their own functions and variables.
_OWN_WORDS = (
    *("is_aligned", "is_weights_of", "fill_state", "copy_state"),
    *("arena", "memory", "weights", "params", "index"),
)
_WIDEST_CALL = 90  # it is indented by 8 in one place

_DTYPE_MACROS = {
    "int8": "UHOST_DTYPE_INT8",
    "uint8": "UHOST_DTYPE_UINT8",
    "int16": "UHOST_DTYPE_INT16",
    "int32": "UHOST_DTYPE_INT32",
    "int64": "UHOST_DTYPE_INT64",
    "uint32": "UHOST_DTYPE_UINT32",
    "uint64": "UHOST_DTYPE_UINT64",
    "float32": "UHOST_DTYPE_FLOAT32",
    "bool": "UHOST_DTYPE_BOOL",
}


def port(tensor: Tensor, plan: MemoryPlan) -> dict[str, object]:
    """Returns what templates print of an input or output."""
    quantized = tensor.quantization is not None and len(tensor.quantization.scale) == 1
    return {
        "name": tensor.name,
        "c_name": "".join(
            c if 32 <= ord(c) < 127 and c not in '"\\?*' else "_" for c in tensor.name
        ),
        "shape": list(tensor.shape),
        "shape_text": "x".join(map(str, tensor.shape)) or "scalar",
        "dtype": str(tensor.dtype),
        "dtype_macro": _DTYPE_MACROS[str(tensor.dtype)],
        "c_type": tensor.dtype.c_type,
        "quantized": quantized,
        "scale": float_literal(tensor.scale) if quantized else "0.0f",
        "zero_point": tensor.zero_point if quantized else 0,
        "offset": plan.offset(tensor.name),
        "elements": tensor.elements,
        "size_bytes": tensor.size_bytes,
    }


class Printer:
    """Prints models that share functions and, where weights are linked, constants."""

    def __init__(
        self, models: Sequence[Lowered], link_params: bool, constant_alignment_bytes: int = 1
    ) -> None:
        self._constant_alignment_bytes = constant_alignment_bytes
        self._names = Names()
        self._link_params = link_params
        self._several = len(models) > 1
        self.arrays: dict[str, Array] = {}
        self._alignments: dict[str, int] = {}
        self._by_content: dict[tuple[str, bytes], str] = {}
        self._functions: dict[tuple[object, ...], str] = {}
        self._bodies: list[str] = []
        for word in _OWN_WORDS:
            self._names.reserve(word)
        for lowered in models:
            for word in _words_of(lowered):
                self._names.reserve(word)
        self._lowered = tuple(models)
        self._models = [self._model(lowered) for lowered in models]
        self._includes = sorted(
            {i for m in models for s in m.selections.values() for i in s.call.includes}
        )

    def template_values(self, version: str) -> dict[str, object]:
        """Returns what `model.c.j2` and `model.h.j2` print."""
        return {
            "version": version,
            "link_params": self._link_params,
            "models": self._models,
            "constants": [
                {
                    "name": name,
                    "c_type": c_type(array),
                    "count": array.size,
                    "alignment": self._alignments[name],
                    "natural": array.itemsize,
                    "rows": rows(array),
                }
                for name, array in self.arrays.items()
            ],
            "constant_bytes": sum(a.nbytes for a in self.arrays.values()),
            "uses_bool": any(
                one.graph.tensors[name].dtype is DType.BOOL
                for one in self._lowered
                for name in (*one.graph.inputs, *one.graph.outputs)
            ),
            "includes": [render_include(name) for name in self._includes],
            "functions": self._bodies,
        }

    def _model(self, lowered: Lowered) -> dict[str, object]:
        graph, plan = lowered.graph, lowered.plan
        params = None if self._link_params else pack_params(lowered)
        header = np.frombuffer(params.header, np.uint8) if params else np.zeros(0, np.uint8)
        return {
            "title": comment(graph.name, _LONGEST_LABEL),
            "name": lowered.identifier,
            "inputs": [port(graph.tensors[n], plan) for n in graph.inputs],
            "outputs": [port(graph.tensors[n], plan) for n in graph.outputs],
            "arena_bytes": plan.arena_bytes,
            "alignment_bytes": plan.alignment_bytes,
            "params_bytes": len(params.blob) if params else 0,
            "params_header": rows(header),
            "run_operator": self._run_operator(lowered.identifier, "memory"),
            "declare_run_operator": self._run_operator(lowered.identifier, "arena"),
            "uses_arena": bool(lowered.selections),
            "steps": [self._step(lowered, params, i) for i in range(len(graph.operators))],
            "state_bytes": plan.state_bytes,
            "resets": self._resets(lowered),
        }

    def _run_operator(self, model: str, arena: str) -> str:
        params = "" if self._link_params else ", const void *params"
        name = f"enum {model}_status {model}_run_operator"
        return _wrap(f"{name}(void *{arena}{params}, uint32_t index)")

    def _resets(self, lowered: Lowered) -> list[dict[str, object]]:
        """Returns what puts each state back: one byte repeated, or a copy of a constant."""
        stored = lowered.initial_values()
        prefix = f"{lowered.identifier}_" if self._several else ""
        resets: list[dict[str, object]] = []
        for number, (name, values) in enumerate(lowered.graph.states.items()):
            reset: dict[str, object] = {
                "label": _label(name),
                "offset": lowered.plan.offset(name),
                "size_bytes": values.nbytes,
                "byte": values.tobytes()[0],
                "constant": "",
            }
            if name in stored:
                text = f"{prefix}state_{number}_initial"
                reset["constant"] = self._constant(text, values, values.itemsize)
            resets.append(reset)
        return resets

    def _step(self, lowered: Lowered, params: Params | None, index: int) -> dict[str, object]:
        operator = lowered.graph.operators[index]
        bound = lowered.graph.bind(operator)
        shapes = ["x".join(map(str, t.shape)) for t in bound.outputs]
        step: dict[str, object] = {
            "index": index,
            "kind": operator.kind.upper(),
            "result": ", ".join(shapes) or "scalar",
            "label": _label(bound.outputs[0].name) if bound.outputs else "",
            "call": "",
        }
        selection = lowered.selections.get(operator.name)
        if selection is not None:
            call = selection.call
            arguments = [self._argument(lowered, params, bound, call, p) for p in call.parameters]
            step["call"] = _wrap(f"{self._function(call)}({', '.join(arguments)});", _WIDEST_CALL)
        return step

    def _function(self, call: KernelCall) -> str:
        key = call.function_key
        if key not in self._functions:
            name = self._names.unique(call.template)
            signature = (
                f"UHOST_KERNEL void {name}(" + ", ".join(_declare(p) for p in call.parameters) + ")"
            )
            self._functions[key] = name
            routines = [
                [(comment(n.note, _WIDEST), self._nested(n)) for n in routine.calls]
                for routine in call.routines
            ]
            self._bodies.append(
                render(
                    f"kernels/{call.library}/{call.template}.c.j2",
                    {
                        "name": name,
                        "signature": _wrap(signature),
                        "p": dict(call.values),
                        "routines": routines,
                    },
                ).rstrip()
            )
        return self._functions[key]

    def _nested(self, nested: NestedCall) -> str:
        """Returns the text of a call within another kernel, whose function comes before."""
        return _wrap(f"{self._function(nested.call)}({', '.join(nested.arguments)});", _WIDEST_CALL)

    def _argument(
        self,
        lowered: Lowered,
        params: Params | None,
        bound: BoundOperator[Any],
        call: KernelCall,
        p: Parameter,
    ) -> str:
        ctype = p.ctype.removesuffix("restrict")  # says nothing in a cast
        if p.source == "constant":
            constant = call.constants[p.index]
            name, values, alignment = constant.role, constant.values, constant.alignment
        elif p.source == "scratch":
            return f"({ctype})(arena + {lowered.plan.offset(bound.name + SCRATCH_SUFFIX)})"
        else:
            tensor = bound.input(p.index) if p.source == "input" else bound.outputs[p.index]
            if not tensor.is_constant:
                return f"({ctype})(arena + {lowered.plan.offset(tensor.name)})"
            name, values = f"input_{p.index}", tensor.constant()
            alignment = tensor.dtype.size_bytes
        if params is not None:
            return f"({ctype})(weights + {params.offsets[f'{bound.name}.{name}']})"
        prefix = f"{lowered.identifier}_" if self._several else ""
        return self._constant(f"{prefix}{bound.name}_{name}", values, alignment)

    def _constant(self, text: str, values: Array, alignment: int) -> str:
        key = key_of(values)
        if key not in self._by_content:
            name = self._names.unique(text)
            self._by_content[key] = name
            self.arrays[name] = np.ascontiguousarray(values)
            self._alignments[name] = self._constant_alignment_bytes
        name = self._by_content[key]
        self._alignments[name] = max(self._alignments[name], alignment)
        return name


def _words_of(lowered: Lowered) -> Iterator[str]:
    """Yields the identifiers that `model.h` and `model.c` make of a model's name."""
    name, graph = lowered.identifier, lowered.graph
    yield name
    for suffix in ("run", "run_operator", "reset", "status", "params_header"):
        yield f"{name}_{suffix}"
    for direction, tensors in (("input", graph.inputs), ("output", graph.outputs)):
        for index in range(len(tensors)):
            yield f"{name}_{direction}_{index}"


def _label(name: str) -> str:
    """Returns the part of a tensor's name before the first ';' as text for a C comment."""
    return comment(name.partition(";")[0], _LONGEST_LABEL)


def _declare(p: Parameter) -> str:
    return f"{p.ctype}{p.name}" if p.ctype.endswith("*") else f"{p.ctype} {p.name}"


def _wrap(text: str, width: int = _WIDEST) -> str:
    """Breaks a call or a signature after every argument where it is wider than `width`."""
    if len(text) <= width:
        return text
    head, _, rest = text.partition("(")
    parts, depth = [""], 0
    for part in rest.split(", "):
        parts[-1] += part
        depth += part.count("(") - part.count(")")
        if depth > 0:  # within a call among the arguments
            parts[-1] += ", "
        else:
            parts.append("")
    return f"{head}(\n    " + ",\n    ".join(parts[:-1] if not parts[-1] else parts)
