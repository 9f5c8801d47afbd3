"""What a kernel variant costs for one operator, stated before its code is printed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from uhost.targets._work import Work


@dataclass(frozen=True, slots=True)
class Cost:
    """The work of one run of the operator, and the bytes of code behind it.

    `code_bytes` is the function itself; calls that share a function pay for it once.
    `shared_bytes` maps each out-of-line piece of C that it calls to its bytes, paid once per
    model: a name of `KernelCall.includes`, or NAME#PART for one of several functions of it.
    Weights and scratch are the call's own and are not repeated here. Figures hold for the compiler
    flags of `uhost.toolchain` with GCC.

    `cycles` maps a core to the cycles of its model for a kernel whose instructions are in an
    order made for that core, which a model cannot know from the work alone.
    """

    work: Work
    code_bytes: int
    shared_bytes: Mapping[str, int] = field(default_factory=dict)
    cycles: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "shared_bytes", MappingProxyType(dict(self.shared_bytes)))
        object.__setattr__(self, "cycles", MappingProxyType(dict(self.cycles)))
