"""CONV_2D by Winograd's F(2x2, 3x3), in the order for cores that issue two instructions a cycle."""

from __future__ import annotations

from uhost.kernels.dsp import conv_2d_winograd
from uhost.kernels.dsp._pipelined import pipelined_winograd

KERNEL = pipelined_winograd(conv_2d_winograd.KERNEL)
