"""RELU_N1_TO_1 between 8-bit types: a clamp, or a table that is read sixteen elements at a time."""

from __future__ import annotations

from uhost.kernels._kernel import Kernel
from uhost.kernels.mve._lookup import lookup_call, lookup_cost, why_not_bytes

KERNEL = Kernel("relu_n1_to_1", why_not_bytes, lookup_call, features=("mve",), cost=lookup_cost)
