"""CONV_2D of any window, in the order for cores that issue two instructions a cycle."""

from __future__ import annotations

from uhost.kernels.dsp import conv_2d
from uhost.kernels.dsp._pipelined import pipelined_kernel

KERNEL = pipelined_kernel(conv_2d.KERNEL)
