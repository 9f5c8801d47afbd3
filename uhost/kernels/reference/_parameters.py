"""What kernels that go element by element have in common."""

from __future__ import annotations

from typing import Any

from uhost.ir.graph import BoundOperator
from uhost.ir.tensor import Tensor
from uhost.kernels._kernel import Parameter


def input_parameter(tensor: Tensor, name: str = "input", index: int = 0) -> Parameter:
    """Returns the parameter that points at input `index`."""
    return Parameter(name, f"const {tensor.dtype.c_type} *", "input", index)


def output_parameter(tensor: Tensor) -> Parameter:
    """Returns the parameter that points at the only output."""
    return Parameter("output", f"{tensor.dtype.c_type} *", "output")


def constant_parameter(name: str, ctype: str, index: int = 0) -> Parameter:
    """Returns the parameter that points at constant `index` of element type `ctype`."""
    return Parameter(name, f"const {ctype} *", "constant", index)


def takes_anything(bound: BoundOperator[Any]) -> str:
    """Returns "": the kernel takes whatever the operator's `infer` let through."""
    del bound
    return ""
