"""CONV_2D of a small padded image, ordered for cores that issue two instructions a cycle."""

from __future__ import annotations

from uhost.kernels.dsp import conv_2d_gathered_framed
from uhost.kernels.dsp._pipelined import pipelined_kernel

KERNEL = pipelined_kernel(conv_2d_gathered_framed.KERNEL)
