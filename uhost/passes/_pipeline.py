"""Runs the passes in order, verifying the module before and after each."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter

from uhost.config.pass_context import PassContext
from uhost.errors import ConfigError, PassError, VerifyError
from uhost.ir.module import IRModule
from uhost.passes._pass import PASSES


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

    Raises `ConfigError` for an unknown pass or options it does not have, and
    `VerifyError` naming the pass whose result does not verify.
    """
    for name in (*context.required_passes, *context.disabled_passes, *context.options):
        PASSES[name]
    module.verify()
    for name in pipeline():
        kind = PASSES[name]
        if not context.enables(name, kind.opt_level):
            continue
        try:
            one = kind(**context.options.get(name, {}))
        except TypeError as error:
            raise ConfigError(
                f"pass '{name}' was given options it does not have: {error}"
            ) from error
        for instrument in context.instruments:
            instrument.before_pass(name, module)
        module = one.run(module, context)
        try:
            module.verify()
        except VerifyError as error:
            raise VerifyError(f"after pass '{name}': {error.what}") from error
        for instrument in context.instruments:
            instrument.after_pass(name, module)
    return module
