"""What would make models smaller that do not fit, in bytes: tried, not guessed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from uhost.codegen.lower import lower_module
from uhost.codegen.lowered import Lowered, arena_bytes
from uhost.config.compilation import CompilationConfig
from uhost.errors import OutOfMemoryError
from uhost.kernels._partition import forced_kernels


def with_remedies(
    error: OutOfMemoryError, models: Sequence[Lowered], config: CompilationConfig
) -> OutOfMemoryError:
    """Returns the error with the options that make the arena of `models` smaller.

    Each says what the arena would take. Where none helps, the error stays as it is.
    """
    now = arena_bytes(models, config.executor)
    found = []
    smallest = now
    for what, other in _changes(config):
        size = _arena_of(models, other)
        if size < smallest:
            found.append(f"{what} makes the arena {size:,} B, {now - size:,} B less")
            smallest = size
    if not found:
        return error
    fix = "; ".join((*found, error.fix)) if error.fix else "; ".join(found)
    return OutOfMemoryError(error.what, error.where, fix)


def _changes(config: CompilationConfig) -> list[tuple[str, CompilationConfig]]:
    """Returns option → configuration with it, each with those before it as well."""
    changes: list[tuple[str, CompilationConfig]] = []
    if config.executor.keep_input:
        config = replace(config, executor=replace(config.executor, keep_input=False))
        changes.append(("--no-keep-input", config))
    if config.optimize != "ram":
        config = replace(config, optimize="ram")
        changes.append(("--optimize ram", config))
    return changes


def _arena_of(models: Sequence[Lowered], config: CompilationConfig) -> int:
    graphs = [one.graph for one in models]
    try:
        made = lower_module(graphs, config, forced_kernels(config.kernels, graphs))
    except OutOfMemoryError:  # the user's own limit, which that does not meet either
        return arena_bytes(models, config.executor)
    return arena_bytes(made, config.executor)
