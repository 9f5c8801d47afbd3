"""FLOOR in portable C."""

from __future__ import annotations

from uhost.kernels.reference._float_functions import float_kernel

KERNEL = float_kernel("floor", "uhost_floor(x)", "float_floor")
