"""Target: what code is emitted for. Flat: it holds no other target."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Target:
    """A kind (a file of `uhost/targets`), its CPU, CPU features, and kernel libraries in order.

    `features` are the instruction-set features the kernels may use (`dsp`, `mve`,
    `fpu`, `fpu_double`). `libraries` hold the kernels that operators may have.
    """

    kind: str
    cpu: str = ""
    features: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ("reference",)

    def has(self, feature: str) -> bool:
        """True if the CPU has `feature`."""
        return feature in self.features

    def __str__(self) -> str:
        name = f"{self.kind} {self.cpu}".strip()
        return f"{name} [{', '.join(self.features)}] kernels: {', '.join(self.libraries)}"
