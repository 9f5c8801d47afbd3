"""Runs the passes in order, verifying the module before and after each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from graphlib import CycleError, TopologicalSorter
from typing import Any, get_type_hints

from uhost.config._findings import nearest
from uhost.config.pass_context import PassContext
from uhost.errors import ConfigError, PassError, VerifyError
from uhost.ir.module import IRModule
from uhost.passes._pass import PASSES, Pass


def pipeline() -> tuple[str, ...]:
    """Returns every pass's name in running order: by what each comes after, then by name."""
    order = {name: sorted(PASSES[name].after) for name in PASSES.names()}
    sorter = TopologicalSorter(order)
    try:
        sorter.prepare()
    except CycleError as error:
        raise PassError(
            f"the passes come after one another in a circle: {error.args[1]}"
        ) from error
    names: list[str] = []
    while sorter.is_active():
        ready = sorted(sorter.get_ready())
        names += ready
        sorter.done(*ready)
    return tuple(names)


def optimize(module: IRModule, context: PassContext) -> IRModule:
    """Returns the module after every pass that `context` enables.

    Raises `ConfigError` for an unknown pass, a pass both required and disabled, options of
    a pass that does not run and options it does not have, and `VerifyError` naming the
    pass whose result does not verify.
    """
    passes = enabled_passes(context)
    module.verify()
    for instrument in context.instruments:
        instrument.begin(module)
    for name, one in passes.items():
        for instrument in context.instruments:
            instrument.before_pass(name, module)
        module = one.run(module, context)
        try:
            module.verify()
        except VerifyError as error:
            raise VerifyError(f"after pass '{name}': {error.what}") from error
        for instrument in reversed(context.instruments):
            instrument.after_pass(name, module)
    return module


def enabled_passes(context: PassContext) -> dict[str, Pass]:
    """Returns the passes that `context` enables, by name and in running order, with options."""
    for name in (*context.required_passes, *context.disabled_passes, *context.options):
        PASSES[name]
    for name in context.required_passes:
        if name in context.disabled_passes:
            raise ConfigError(
                f"the pass '{name}' is both required and disabled", fix="remove it from one list"
            )
    running = [n for n in pipeline() if context.enables(n, PASSES[n].opt_level)]
    for name in context.options:
        if name not in running:
            raise ConfigError(
                f"the pass '{name}' was given options and does not run",
                fix=f"require it, or remove its options; running: {', '.join(running) or 'none'}",
            )
    return {name: _configured(name, context.options.get(name, {})) for name in running}


def _configured(name: str, options: Mapping[str, object]) -> Pass:
    """Returns the pass with its options; raises `ConfigError` for unknown ones and wrong types."""
    kind: Any = PASSES[name]  # a frozen dataclass, which a type cannot say
    types = {field.name: get_type_hints(kind)[field.name] for field in fields(kind)}
    for option, value in options.items():
        if option not in types:
            known = tuple(types)
            raise ConfigError(
                f"the pass '{name}' has no option '{option}'",
                fix=f"{nearest(option, known)}known: {', '.join(known) or 'none'}",
            )
        if type(value) is not types[option]:
            expected = getattr(types[option], "__name__", str(types[option]))
            raise ConfigError(
                f"the option '{option}' of the pass '{name}' is {expected}, "
                f"not {type(value).__name__}",
                where=f"{name}.{option}={value}",
                fix=f"give a value of type {expected}",
            )
    made: Pass = kind(**options)
    return made
