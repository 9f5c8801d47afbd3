"""One run of a `.tflite` file by the interpreters whose results are the references."""

from __future__ import annotations

import platform
import sys
from collections.abc import Sequence
from typing import Any

import pytest
from ai_edge_litert.interpreter import Interpreter, OpResolverType

from uhost.ir.tensor import Array


def micro_runtime() -> Any:
    """Returns TFLite Micro's Python runtime; where it has no wheel for this machine, skips.

    The condition is that of the test extra: where the wheel must be, a missing one fails.
    """
    has_wheel = sys.platform == "linux" and platform.machine() == "x86_64"
    if not has_wheel or sys.version_info >= (3, 14):
        pytest.skip("TFLite Micro has no wheel for this machine", allow_module_level=True)
    from tflite_micro import runtime

    return runtime


def litert(content: bytes, inputs: Sequence[Array]) -> list[Array]:
    """Returns the outputs of LiteRT's reference kernels."""
    interpreter = Interpreter(
        model_content=content,
        experimental_op_resolver_type=OpResolverType.BUILTIN_REF,
        num_threads=1,
    )
    interpreter.allocate_tensors()
    for detail, array in zip(interpreter.get_input_details(), inputs, strict=True):
        interpreter.set_tensor(detail["index"], array)
    interpreter.invoke()
    return [interpreter.get_tensor(d["index"]) for d in interpreter.get_output_details()]


def tflm(content: bytes, inputs: Sequence[Array], count: int) -> list[Array]:
    """Returns the `count` outputs of TFLite Micro."""
    interpreter = micro_runtime().Interpreter.from_bytes(content, arena_size=1 << 18)
    for index, array in enumerate(inputs):
        interpreter.set_input(array, index)
    interpreter.invoke()
    return [interpreter.get_output(index) for index in range(count)]
