"""Graphs whose input is made of a file, and what reading it gives."""

from __future__ import annotations

import wave
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from uhost.errors import ConfigError
from uhost.inputs._input import InputFile, Prepared, read_input
from uhost.ir.dtype import DType
from uhost.ir.graph import Graph, Operator
from uhost.ir.tensor import Array, Quantization, Tensor
from uhost.ops.relu import ReluAttributes


def model(
    *shape: int,
    dtype: DType = DType.INT8,
    scale: float | None = 0.5,
    zero_point: int = 0,
) -> Graph:
    quantization = Quantization((scale,), (zero_point,)) if scale else None
    tensors = {n: Tensor(n, shape, dtype, quantization) for n in ("x", "y")}
    operator = Operator("r", "relu", ("x",), ("y",), ReluAttributes())
    return Graph("g", tensors, (operator,), ("x",), ("y",))


def started(path: Path) -> Any:
    raise AssertionError(f"{path} is not to be started")


def read(
    path: Path, graph: Graph, options: Any = None, quantize: bool = False, start: Any = started
) -> Prepared:
    return read_input(InputFile(path, graph, options, quantize, start))


def only(prepared: Prepared) -> Array:
    (sample,) = prepared.samples.items
    return sample.inputs[0]


def refused(*arguments: Any, **options: Any) -> tuple[str, str]:
    with pytest.raises(ConfigError) as caught:
        read(*arguments, **options)
    return caught.value.what, caught.value.fix


def recorded(
    path: Path, samples: Array, rate_hz: int = 16000, channels: int = 1, width: int = 2
) -> Path:
    with wave.open(str(path), "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(width)
        file.setframerate(rate_hz)
        file.writeframes(samples.tobytes())
    return path


TONE = (np.arange(10) * 3000 - 15000).astype(np.int16)
