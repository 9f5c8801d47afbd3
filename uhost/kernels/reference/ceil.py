"""CEIL in portable C."""

from __future__ import annotations

from uhost.kernels.reference._float_functions import float_kernel

KERNEL = float_kernel("ceil", "-uhost_floor(-x)", "float_floor")
