"""True where two elements are equal, with numpy broadcasting."""

from __future__ import annotations

from uhost.ops._compare import comparison

OPERATOR = comparison("equal")
