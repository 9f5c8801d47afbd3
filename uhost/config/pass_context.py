"""C0, `PassContext`: how passes do their work. Explicit, never global."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Protocol


class Instrument(Protocol):
    """Watches passes: called before and after each, with the module as text on demand."""

    def before_pass(self, name: str, module: object) -> None:
        """Called before the pass runs."""

    def after_pass(self, name: str, module: object) -> None:
        """Called after the pass ran and its result verified."""


@dataclass(frozen=True, slots=True)
class PassContext:
    """Optimisation level, required and disabled passes, options per pass, instruments."""

    opt_level: int = 2
    required_passes: tuple[str, ...] = ()
    disabled_passes: tuple[str, ...] = ()
    options: Mapping[str, Mapping[str, object]] = field(
        default_factory=lambda: MappingProxyType({})
    )
    instruments: tuple[Instrument, ...] = ()

    def enables(self, name: str, level: int) -> bool:
        """True if the pass `name` of optimisation level `level` is to run."""
        if name in self.disabled_passes:
            return False
        return name in self.required_passes or level <= self.opt_level
