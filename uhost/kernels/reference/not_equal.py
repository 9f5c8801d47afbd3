"""NOT_EQUAL in portable C, with any broadcasting."""

from __future__ import annotations

from uhost.kernels.reference._compare import comparing

KERNEL = comparing("not_equal", "!=")
