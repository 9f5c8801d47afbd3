"""CONV_2D with a 1x1 window, ordered for cores that issue two instructions a cycle."""

from __future__ import annotations

from uhost.kernels.dsp import conv_2d_pointwise
from uhost.kernels.dsp._pipelined import pipelined_kernel

KERNEL = pipelined_kernel(conv_2d_pointwise.KERNEL)
