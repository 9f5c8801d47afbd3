"""Builds `.tflite` files field by field, sound or not, for the tests of the frontend.

`RawModel()` is a sound file that adds two int8 tensors; tests change one thing in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import flatbuffers
import numpy as np
import pytest
import tflite

from uhost.errors import MalformedModelError, ModelError
from uhost.frontends.tflite import FRONTEND
from uhost.ir.graph import Graph

TYPE = tflite.TensorType
CODE = tflite.BuiltinOperator
INCONSISTENT = "the file contradicts itself: export the model again with a current converter"
DAMAGED = "the file is damaged: export or download it again"


@dataclass(frozen=True)
class RawTensor:
    """A tensor as the file has it; None leaves a field out."""

    name: str | bytes | None = "t"
    shape: tuple[int, ...] | None = (1, 4)
    type: int = TYPE.INT8
    buffer: int = 0
    scale: tuple[float, ...] = ()
    zero_point: tuple[int, ...] = ()
    axis: int = 0
    signature: tuple[int, ...] | None = None
    is_variable: bool = False
    is_sparse: bool = False
    details: int = 0


@dataclass(frozen=True)
class RawOperator:
    """An operator as the file has it: `code` is an index of the operator codes."""

    code: int = 0
    inputs: tuple[int, ...] | None = (0, 1)
    outputs: tuple[int, ...] | None = (2,)
    options: str = "AddOptions"
    fields: tuple[tuple[str, int], ...] = ()
    custom: bytes | None = None


@dataclass(frozen=True)
class RawBuffer:
    """A buffer: its bytes in the file, or where they are behind it."""

    data: bytes = b""
    offset: int = 0
    size: int = 0


@dataclass(frozen=True)
class RawModel:
    """A whole file; the default adds two int8 inputs."""

    tensors: Sequence[RawTensor] = (
        RawTensor("a", scale=(0.5,), zero_point=(3,)),
        RawTensor("b", scale=(0.25,), zero_point=(-1,)),
        RawTensor("c", scale=(0.75,), zero_point=(0,)),
    )
    operators: Sequence[RawOperator] = (RawOperator(),)
    inputs: tuple[int, ...] = (0, 1)
    outputs: tuple[int, ...] = (2,)
    codes: Sequence[tuple[int, int, str | None]] = ((CODE.ADD, CODE.ADD, None),)
    buffers: Sequence[RawBuffer] = (RawBuffer(),)
    version: int = 3
    subgraphs: int = 1

    def build(self) -> bytes:
        """Returns the bytes of the file."""
        fb = flatbuffers.Builder(256)

        def vector(values: Sequence[float] | None, dtype: str = "i4") -> int | None:
            return None if values is None else fb.CreateNumpyVector(np.array(values, dtype))

        def offsets(values: Sequence[int]) -> int:
            fb.StartVector(4, len(values), 4)
            for value in reversed(values):
                fb.PrependUOffsetTRelative(value)
            return int(fb.EndVector())

        def table(kind: str, **fields: Any) -> int:
            getattr(tflite, f"{kind}Start")(fb)
            for key, value in fields.items():
                if value is not None:
                    getattr(tflite, f"{kind}Add{key}")(fb, value)
            return int(getattr(tflite, f"{kind}End")(fb))

        def tensor(raw: RawTensor) -> int:
            quantization = table(
                "QuantizationParameters",
                Scale=vector(raw.scale or None, "f4"),
                ZeroPoint=vector(raw.zero_point or None, "i8"),
                QuantizedDimension=raw.axis,
                DetailsType=raw.details,
            )
            return table(
                "Tensor",
                Shape=vector(raw.shape),
                Type=raw.type,
                Buffer=raw.buffer,
                Name=None if raw.name is None else fb.CreateString(raw.name),
                Quantization=quantization,
                IsVariable=raw.is_variable,
                Sparsity=table("SparsityParameters") if raw.is_sparse else None,
                ShapeSignature=vector(raw.signature),
            )

        def operator(raw: RawOperator) -> int:
            options = table(raw.options, **dict(raw.fields)) if raw.options else None
            return table(
                "Operator",
                OpcodeIndex=raw.code,
                Inputs=vector(raw.inputs),
                Outputs=vector(raw.outputs),
                BuiltinOptionsType=getattr(tflite.BuiltinOptions, raw.options or "NONE"),
                BuiltinOptions=options,
                CustomOptions=vector(None if raw.custom is None else list(raw.custom), "u1"),
            )

        def code(deprecated: int, builtin: int, custom: str | None) -> int:
            return table(
                "OperatorCode",
                DeprecatedBuiltinCode=deprecated,
                BuiltinCode=builtin,
                CustomCode=None if custom is None else fb.CreateString(custom),
            )

        def buffer(raw: RawBuffer) -> int:
            data = vector(list(raw.data), "u1") if raw.data else None
            return table("Buffer", Data=data, Offset=raw.offset, Size=raw.size)

        subgraph = table(
            "SubGraph",
            Tensors=offsets([tensor(raw) for raw in self.tensors]),
            Inputs=vector(self.inputs),
            Outputs=vector(self.outputs),
            Operators=offsets([operator(raw) for raw in self.operators]),
        )
        model = table(
            "Model",
            Version=self.version,
            OperatorCodes=offsets([code(*raw) for raw in self.codes]),
            Subgraphs=offsets([subgraph] * self.subgraphs),
            Buffers=offsets([buffer(raw) for raw in self.buffers]),
        )
        fb.Finish(model, file_identifier=b"TFL3")
        return bytes(fb.Output())

    def load(self) -> Graph:
        """Returns the graph of the file."""
        return FRONTEND.load(self.build(), "m")


A, B, C = RawModel().tensors


def with_tensor(index: int, **changes: Any) -> RawModel:
    """Returns the default model with one tensor changed."""
    tensors = [A, B, C]
    tensors[index] = replace(tensors[index], **changes)
    return RawModel(tensors)


def with_operator(**changes: Any) -> RawModel:
    """Returns the default model with its operator changed."""
    return RawModel(operators=[replace(RawOperator(), **changes)])


def constant(name: str = "b", data: bytes = bytes(4), **changes: Any) -> RawModel:
    """Returns the default model with input 1 a constant of `data`."""
    tensor = replace(replace(B, name=name, buffer=1), **changes)
    return RawModel([A, tensor, C], inputs=(0,), buffers=[RawBuffer(), RawBuffer(data)])


def refused(model: RawModel, kind: type[ModelError] = MalformedModelError) -> str:
    """Returns the message with which `model` is refused, by an error of exactly that kind."""
    with pytest.raises(ModelError) as error:
        model.load()
    assert type(error.value) is kind
    return str(error.value)
