"""EXP in portable C."""

from __future__ import annotations

from uhost.kernels.reference._float_functions import float_kernel

KERNEL = float_kernel("exp", "uhost_exp(x)", "float_exp_any")
