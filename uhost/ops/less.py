"""True where the first element is the smaller one, with numpy broadcasting."""

from __future__ import annotations

from uhost.ops._compare import comparison

OPERATOR = comparison("less")
