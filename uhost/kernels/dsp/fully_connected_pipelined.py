"""FULLY_CONNECTED, in the order for cores that issue two instructions a cycle."""

from __future__ import annotations

from uhost.kernels.dsp import fully_connected
from uhost.kernels.dsp._pipelined import pipelined_kernel

KERNEL = pipelined_kernel(fully_connected.KERNEL)
