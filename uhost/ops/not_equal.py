"""True where two elements differ, with numpy broadcasting."""

from __future__ import annotations

from uhost.ops._compare import comparison

OPERATOR = comparison("not_equal")
