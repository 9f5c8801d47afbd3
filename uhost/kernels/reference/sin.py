"""SIN in portable C."""

from __future__ import annotations

from uhost.kernels.reference._float_functions import float_kernel

KERNEL = float_kernel("sin", "uhost_sine(x, 0)", "float_sine")
