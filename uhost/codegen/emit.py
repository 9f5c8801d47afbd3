"""Prints a lowered model as one C file and one header."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from uhost.codegen.artifact import Artifact
from uhost.codegen.environment import render
from uhost.codegen.literals import c_type, float_literal, rows
from uhost.codegen.names import Names, identifier
from uhost.ir.graph import BoundOperator, Graph
from uhost.ir.tensor import Array, Tensor
from uhost.kernels._kernel import KernelCall, Parameter, Selection
from uhost.planner.lifetimes import SCRATCH_SUFFIX
from uhost.planner.plan import MemoryPlan


@dataclass(frozen=True, slots=True)
class Lowered:
    """One model ready to be printed: graph, kernel per operator, memory plan."""

    graph: Graph
    selections: Mapping[str, Selection]
    plan: MemoryPlan

    @property
    def identifier(self) -> str:
        """The model's name as a C identifier."""
        return identifier(self.graph.name)

    def constant_bytes(self) -> int:
        """Bytes of weights and tables the model stores; equal arrays are stored once."""
        arrays = [c.values for s in self.selections.values() for c in s.call.constants]
        distinct = {(str(a.dtype), a.tobytes()): a.nbytes for a in arrays}
        return sum(distinct.values())


def emit(lowered: Lowered, version: str) -> Artifact:
    """Returns `model.c` and `model.h`."""
    values = _Printer(lowered).template_values(version)
    return Artifact(
        {
            "model.c": render("model.c.j2", values).encode(),
            "model.h": render("model.h.j2", values).encode(),
        }
    )


def model_table(lowered: Lowered, digest: str, board: str) -> str:
    """Returns `model_table.c`, by which the firmware's RPC server knows the model."""
    graph, plan = lowered.graph, lowered.plan
    ports = {
        "inputs": [_port(graph.tensors[n], plan) for n in graph.inputs],
        "outputs": [_port(graph.tensors[n], plan) for n in graph.outputs],
    }
    return render(
        "model_table.c.j2",
        {"model": lowered.identifier, "ports": ports, "digest": digest, "board": board},
    )


_WIDEST = 96
_LONGEST_LABEL = 48
_WIDEST_CALL = 90  # it is indented by 8 in one place

_DTYPE_MACROS = {
    "int8": "UHOST_DTYPE_INT8",
    "uint8": "UHOST_DTYPE_UINT8",
    "int16": "UHOST_DTYPE_INT16",
    "int32": "UHOST_DTYPE_INT32",
    "int64": "UHOST_DTYPE_INT64",
    "float32": "UHOST_DTYPE_FLOAT32",
    "bool": "UHOST_DTYPE_BOOL",
}


def _port(tensor: Tensor, plan: MemoryPlan) -> dict[str, object]:
    quantized = tensor.quantization is not None and len(tensor.quantization.scale) == 1
    return {
        "name": tensor.name,
        "c_name": "".join(
            c if 32 <= ord(c) < 127 and c not in '"\\?' else "_" for c in tensor.name
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


class _Printer:
    """Names functions and constants, and turns calls into C expressions."""

    def __init__(self, lowered: Lowered) -> None:
        self._lowered = lowered
        self._names = Names()
        self.arrays: dict[str, Array] = {}
        self._alignments: dict[str, int] = {}
        self._by_content: dict[tuple[str, tuple[int, ...], bytes], str] = {}
        self._functions: dict[tuple[object, ...], str] = {}
        self._bodies: list[str] = []
        self._names.unique(lowered.identifier)
        self.steps = [self._step(index) for index in range(len(lowered.graph.operators))]

    def template_values(self, version: str) -> dict[str, object]:
        """Returns what `model.c.j2` and `model.h.j2` print."""
        lowered = self._lowered
        graph, plan = lowered.graph, lowered.plan
        includes = sorted({i for s in lowered.selections.values() for i in s.call.includes})
        return {
            "version": version,
            "title": graph.name,
            "model": lowered.identifier,
            "inputs": [_port(graph.tensors[n], plan) for n in graph.inputs],
            "outputs": [_port(graph.tensors[n], plan) for n in graph.outputs],
            "arena_bytes": plan.arena_bytes,
            "alignment_bytes": plan.alignment_bytes,
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
            "includes": [render(f"kernels/include/{name}.h.j2", {}) for name in includes],
            "functions": self._bodies,
            "steps": self.steps,
        }

    def _step(self, index: int) -> dict[str, object]:
        operator = self._lowered.graph.operators[index]
        bound = self._lowered.graph.bind(operator)
        shapes = [str(t.shape).strip("()").rstrip(",").replace(", ", "x") for t in bound.outputs]
        step: dict[str, object] = {
            "index": index,
            "kind": operator.kind.upper(),
            "name": operator.name,
            "result": ", ".join(shapes) or "scalar",
            "label": _comment(bound.outputs[0].name) if bound.outputs else "",
            "function": None,
            "call": "",
        }
        selection = self._lowered.selections.get(operator.name)
        if selection is None:
            return step
        call = selection.call
        step["function"] = self._function(call)
        arguments = [self._argument(operator.name, bound, call, p) for p in call.parameters]
        step["call"] = _wrap(f"{step['function']}({', '.join(arguments)});", _WIDEST_CALL)
        return step

    def _function(self, call: KernelCall) -> str:
        key = call.function_key
        if key not in self._functions:
            name = self._names.unique(call.template)
            signature = (
                f"UHOST_KERNEL void {name}(" + ", ".join(_declare(p) for p in call.parameters) + ")"
            )
            self._functions[key] = name
            self._bodies.append(
                render(
                    f"kernels/{call.library}/{call.template}.c.j2",
                    {"name": name, "signature": _wrap(signature), "p": dict(call.values)},
                ).rstrip()
            )
        return self._functions[key]

    def _argument(
        self, operator: str, bound: BoundOperator[Any], call: KernelCall, p: Parameter
    ) -> str:
        if p.source == "constant":
            constant = call.constants[p.index]
            return self._constant(
                f"{operator}_{constant.role}", constant.values, constant.alignment
            )
        if p.source == "scratch":
            offset = self._lowered.plan.offset(operator + SCRATCH_SUFFIX)
        else:
            tensor = bound.input(p.index) if p.source == "input" else bound.outputs[p.index]
            if tensor.is_constant:
                return self._constant(tensor.name, tensor.constant(), tensor.dtype.size_bytes)
            offset = self._lowered.plan.offset(tensor.name)
        return f"({p.ctype})(arena + {offset})"

    def _constant(self, text: str, values: Array, alignment: int) -> str:
        packed = np.ascontiguousarray(values)
        key = (str(packed.dtype), (packed.size,), packed.tobytes())
        if key not in self._by_content:
            name = self._names.unique(text)
            self._by_content[key] = name
            self.arrays[name] = packed
            self._alignments[name] = alignment
        name = self._by_content[key]
        self._alignments[name] = max(self._alignments[name], alignment)
        return name


def _comment(name: str) -> str:
    """Returns the part of a tensor's name before the first ';' as text for a C comment."""
    text = "".join(c for c in name.partition(";")[0] if 32 <= ord(c) < 127).replace("*/", "* /")
    return text if len(text) <= _LONGEST_LABEL else f"...{text[-_LONGEST_LABEL:]}"


def _declare(p: Parameter) -> str:
    return f"{p.ctype}{p.name}" if p.ctype.endswith("*") else f"{p.ctype} {p.name}"


def _wrap(text: str, width: int = _WIDEST) -> str:
    """Breaks a call or a signature after every argument where it is wider than `width`."""
    if len(text) <= width:
        return text
    head, _, rest = text.partition("(")
    return f"{head}(\n    " + rest.replace(", ", ",\n    ")
