"""ARG_MIN in portable C."""

from __future__ import annotations

from uhost.kernels.reference._arg import arg_kernel

KERNEL = arg_kernel("arg_min", "<")
