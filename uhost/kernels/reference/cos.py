"""COS in portable C."""

from __future__ import annotations

from uhost.kernels.reference._float_functions import float_kernel

KERNEL = float_kernel("cos", "uhost_sine(x, 1)", "float_sine")
