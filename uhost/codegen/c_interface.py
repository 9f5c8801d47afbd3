"""The C interface of microTVM: a header and a source by which its applications call a model.

Names follow TVM's `interface_c.cc`: `PREFIX_MODEL_run`, the structs of inputs and outputs
with a pointer per tensor, and a macro per tensor and for the workspace. Tensor names keep
their case; what is no letter or digit becomes an underscore.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from uhost.codegen.environment import render
from uhost.codegen.lowered import Lowered
from uhost.codegen.names import is_reserved
from uhost.config.compilation import Executor
from uhost.errors import ConfigError
from uhost.ir.tensor import Tensor

_LONGEST_STEM = 200  # files are named after it
_C11_WORD = re.compile(
    r"_(Alignas|Alignof|Atomic|Bool|Complex|Generic|Imaginary|Noreturn|Static_assert|Thread_local)"
)


def interface_files(models: Sequence[Lowered], executor: Executor) -> dict[str, bytes]:
    """Returns `PREFIX_MODEL.h` and `.c` for every model; nothing without a prefix.

    The workspace is static in the source; inputs and outputs are copied. Raises
    `ConfigError` where the weights are not part of the code: the interface has no place
    for them.
    """
    prefix = executor.c_prefix
    if not prefix:
        return {}
    if not executor.link_params:
        raise ConfigError(
            f"the C interface of '{prefix}' needs the weights in the code",
            where="executor aot: c_prefix with link_params off",
            fix="turn link_params on, or leave out c_prefix",
        )
    files: dict[str, bytes] = {}
    for lowered in models:
        values = _values(lowered, prefix)
        if values["variable"] in {one.identifier for one in models}:
            raise ConfigError(
                f"the C interface of '{lowered.identifier}' would have the names of the model "
                f"'{values['variable']}'",
                where=f"executor aot: c_prefix '{prefix}'",
                fix="choose another prefix, or give a model another name: name=path",
            )
        for suffix in ("h", "c"):
            text = render(f"c_interface.{suffix}.j2", values)
            files[f"{values['file']}.{suffix}"] = text.encode()
    return files


def _values(lowered: Lowered, prefix: str) -> dict[str, object]:
    graph, name = lowered.graph, lowered.identifier
    stem = f"{prefix}_{_plain(graph.name)[:_LONGEST_STEM]}"
    names = member_names([*graph.inputs, *graph.outputs])
    sizes = _macro_names(names.values())
    ports = {}
    for direction, tensors in (("inputs", graph.inputs), ("outputs", graph.outputs)):
        taken = member_names(tensors)
        ports[direction] = [
            _port(graph.tensors[t], taken[t], sizes[names[t]], index)
            for index, t in enumerate(tensors)
        ]
    return {
        "model": name,
        "upper": name.upper(),
        "file": stem.lower(),
        "variable": stem.lower(),
        "macro": stem.upper(),
        "workspace_bytes": lowered.plan.arena_bytes,
        "has_state": bool(lowered.plan.state_bytes),
        **ports,
    }


def _port(tensor: Tensor, member: str, macro: str, index: int) -> dict[str, object]:
    return {"member": member, "macro": macro, "size_bytes": tensor.size_bytes, "index": index}


def _plain(name: str) -> str:
    """Returns the name as microTVM makes it: only letters, digits and underscores."""
    return re.sub(r"[^0-9A-Za-z]", "_", name) or "unnamed"


def member_names(tensors: Sequence[str]) -> dict[str, str]:
    """Returns tensor name → a legal member name, unique among them.

    As microTVM makes it where that is legal and unique; else with `m_` before it, or a
    number after it.
    """
    names: dict[str, str] = {}
    taken: set[str] = set()
    for tensor in dict.fromkeys(tensors):
        base = _plain(tensor)
        if base[0].isdigit() or is_reserved(base) or _C11_WORD.fullmatch(base):
            base = f"m_{base}"
        name, number = base, 2
        while name in taken:
            name, number = f"{base}_{number}", number + 1
        taken.add(name)
        names[tensor] = name
    return names


def _macro_names(members: Iterable[str]) -> dict[str, str]:
    """Returns member name → the middle of its macro, unique where only case differs."""
    macros: dict[str, str] = {}
    for member in members:
        base = member.upper()
        name, number = base, 2
        while name in macros.values():
            name, number = f"{base}_{number}", number + 1
        macros[member] = name
    return macros
