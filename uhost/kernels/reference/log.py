"""LOG in portable C."""

from __future__ import annotations

from uhost.kernels.reference._float_functions import float_kernel

KERNEL = float_kernel("log", "uhost_log(x)", "float_log")
