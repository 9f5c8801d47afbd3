"""The place of the smallest element along one axis."""

from __future__ import annotations

from uhost.ops._arg import arg_operator

OPERATOR = arg_operator("arg_min", "min")
