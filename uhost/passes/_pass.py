"""What a pass file defines: a frozen dataclass whose fields are the pass's options."""

from __future__ import annotations

from typing import ClassVar, Protocol

from uhost.config.pass_context import PassContext
from uhost.ir.module import IRModule
from uhost.registry import Registry


class Pass(Protocol):
    """Maps a module to an equivalent one.

    `opt_level` is the lowest optimisation level at which it runs by itself; `after`
    names the passes that must come before it.
    """

    opt_level: ClassVar[int]
    after: ClassVar[tuple[str, ...]]

    def run(self, module: IRModule, context: PassContext) -> IRModule:
        """Returns the transformed module; the argument is never changed."""


PASSES: Registry[type[Pass]] = Registry("uhost.passes", "PASS", "pass")
