"""C0, `PassContext`: how passes do their work. Explicit, never global."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from uhost.ir.module import IRModule


class Instrument(Protocol):
    """Watches passes. It may keep what it saw: give every compilation its own."""

    def begin(self, module: IRModule) -> None:
        """Called with the module as loaded, before any pass."""

    def before_pass(self, name: str, module: IRModule) -> None:
        """Called before the pass runs, in the order of the context's instruments."""

    def after_pass(self, name: str, module: IRModule) -> None:
        """Called after the pass ran and its result verified, in the opposite order."""


@dataclass(frozen=True, slots=True)
class PassContext:
    """Optimisation level, required and disabled passes, options per pass, instruments."""

    opt_level: int = 2
    required_passes: tuple[str, ...] = ()
    disabled_passes: tuple[str, ...] = ()
    options: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    instruments: tuple[Instrument, ...] = ()

    def __post_init__(self) -> None:
        frozen = {name: MappingProxyType(dict(one)) for name, one in self.options.items()}
        object.__setattr__(self, "options", MappingProxyType(frozen))

    def enables(self, name: str, level: int) -> bool:
        """True if the pass `name` of optimisation level `level` is to run."""
        if name in self.disabled_passes:
            return False
        return name in self.required_passes or level <= self.opt_level
