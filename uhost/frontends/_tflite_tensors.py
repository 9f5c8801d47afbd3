"""The tensors of a TensorFlow Lite subgraph: names, shapes, types, quantisation, constants."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tflite

from uhost.errors import MalformedModelError
from uhost.frontends._flatbuffer import DAMAGED, Flatbuffer
from uhost.frontends._import import fresh_name
from uhost.frontends._node import Declared, RefusedTensor
from uhost.ir.dtype import DType
from uhost.ir.tensor import Array, Quantization, Tensor

RANK_LIMIT = 8
TENSOR_LIMIT_BYTES = 2**31
TENSOR_LIMIT = 2**16

_DTYPES = {
    tflite.TensorType.INT8: DType.INT8,
    tflite.TensorType.UINT8: DType.UINT8,
    tflite.TensorType.INT16: DType.INT16,
    tflite.TensorType.INT32: DType.INT32,
    tflite.TensorType.INT64: DType.INT64,
    tflite.TensorType.UINT32: DType.UINT32,
    tflite.TensorType.UINT64: DType.UINT64,
    tflite.TensorType.FLOAT32: DType.FLOAT32,
    tflite.TensorType.FLOAT16: DType.FLOAT16,
    tflite.TensorType.BOOL: DType.BOOL,
}


@dataclass(frozen=True, slots=True)
class TensorTable:
    """The tensors of a subgraph in file order, and which of their dimensions the file leaves open.

    `dynamic` maps the name of each tensor with open dimensions to its shape as the file
    writes it, -1 where open. `variables` are the names of the tensors
    that the file says are kept from run to run.
    """

    tensors: tuple[Declared, ...]
    dynamic: dict[str, tuple[int, ...]]
    variables: frozenset[str]


def enum_names(enumeration: type[Any]) -> dict[int, str]:
    """Returns value → name of a generated enumeration."""
    return {value: name for name, value in vars(enumeration).items() if not name.startswith("_")}


def integers(vector: Any) -> tuple[int, ...]:
    """Returns a generated `…AsNumpy()` result as integers; the absent vector, 0, as ()."""
    return () if isinstance(vector, int) else tuple(vector.tolist())


def text(content: bytes | None) -> str:
    """Returns a string of the file; what is not printable UTF-8 becomes U+FFFD.

    Names end up on terminals and in comments of generated code: a line break in one would
    let a model write there what it likes.
    """
    decoded = (content or b"").decode("utf-8", "replace")
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in decoded)


def read_tensors(
    flatbuffer: Flatbuffer,
    model: Any,
    subgraph: Any,
    written: frozenset[int],
    place: str,
    taken: frozenset[str] = frozenset(),
) -> TensorTable:
    """Returns every tensor of `subgraph`, unique and non-empty names included.

    `written` holds the indices that the subgraph's inputs and operators write, `taken` the
    names that no tensor may have. Tensors that uhost cannot represent come back as
    `RefusedTensor`.
    Raises `MalformedModelError` where a tensor contradicts the file or itself.
    """
    count = subgraph.TensorsLength()
    if count > TENSOR_LIMIT:
        raise MalformedModelError(
            f"the file is corrupt: {count} tensors, more than {TENSOR_LIMIT}",
            where=place,
            fix=DAMAGED,
        )
    buffers = _Buffers(flatbuffer, model)
    names = set(taken)
    variables = set[str]()
    tensors: list[Declared] = []
    dynamic: dict[str, tuple[int, ...]] = {}
    for index in range(count):
        tensor_place = f"{place}, tensor {index}"
        source = flatbuffer.checked(subgraph.Tensors(index), tensor_place)
        name = fresh_name(text(source.Name()), index, names)
        names.add(name)
        if source.IsVariable():
            variables.add(name)
        reader = _TensorReader(flatbuffer, source, name, tensor_place)
        signature = reader.signature()
        if -1 in signature:
            dynamic[name] = signature
        tensors.append(reader.read(buffers, index in written))
    return TensorTable(tuple(tensors), dynamic, frozenset(variables))


class _Buffers:
    """The buffers of a model, each read once."""

    def __init__(self, flatbuffer: Flatbuffer, model: Any) -> None:
        self._flatbuffer = flatbuffer
        self._model = model
        self._count: int = model.BuffersLength()
        self._read: dict[int, Array] = {}

    def content(self, index: int, place: str) -> Array:
        """Returns the bytes of buffer `index` as a read-only view of the file."""
        if index not in self._read:
            # Files without constants may lack even the empty buffer 0.
            if index >= max(self._count, 1):
                raise MalformedModelError(
                    f"the file is corrupt: buffer {index} of {self._count} is named",
                    where=place,
                    fix=DAMAGED,
                )
            self._read[index] = self._slice(index) if self._count else np.zeros(0, np.uint8)
        return self._read[index]

    def _slice(self, index: int) -> Array:
        place = f"buffer {index}"
        buffer = self._flatbuffer.checked(self._model.Buffers(index), place)
        offset, size_bytes = buffer.Offset(), buffer.Size()
        if offset > 1:  # data behind the flatbuffer, in files of more than 2 GB by design
            self._flatbuffer.check(offset, size_bytes, place)
            return np.frombuffer(self._flatbuffer.content, np.uint8, size_bytes, offset)
        view: Array | int = buffer.DataAsNumpy()
        return np.zeros(0, np.uint8) if isinstance(view, int) else view


@dataclass(frozen=True, slots=True)
class _TensorReader:
    """One tensor of the file under its final name."""

    flatbuffer: Flatbuffer
    source: Any
    name: str
    place: str

    def signature(self) -> tuple[int, ...]:
        """Returns the shape with -1 for dimensions that the file leaves open."""
        return integers(self.source.ShapeSignatureAsNumpy()) or self._declared_shape()

    def read(self, buffers: _Buffers, is_written: bool) -> Declared:
        shape = self._shape()
        code = self.source.Type()
        is_packed = code == tflite.TensorType.INT4
        dtype = DType.INT8 if is_packed else _DTYPES.get(code)
        if dtype is None:
            type_name = enum_names(tflite.TensorType).get(code)
            if type_name is None:
                raise self._malformed(f"has the unknown element type {code}")
            return self._refused(shape, type_name.lower(), f"has type {type_name.lower()}")
        size_bytes = math.prod(shape) * dtype.size_bytes
        type_name = "int4" if is_packed else str(dtype)
        if size_bytes > TENSOR_LIMIT_BYTES:
            raise self._malformed(f"takes {size_bytes} bytes, {dtype}{list(shape)}")
        if self.source.Sparsity() is not None:
            return self._refused(shape, str(dtype), "is sparse")
        parameters = self.source.Quantization()
        quantization = None
        # Float tensors carry calibration statistics here, no quantisation.
        if parameters is not None and dtype.is_integer:
            parameters = self.flatbuffer.checked(parameters, self.place)
            if parameters.DetailsType() != tflite.QuantizationDetails.NONE:
                return self._refused(shape, str(dtype), "has a custom quantisation")
            quantization = self._quantization(parameters, shape, dtype)
        content = buffers.content(self.source.Buffer(), self.place)
        # A tensor without elements has no bytes to tell it from an activation.
        is_constant = content.size > 0 or (size_bytes == 0 and not is_written)
        if self.source.IsVariable() and content.size:
            return self._refused(shape, str(dtype), "is a variable with values of its own")
        if not is_constant:
            if is_packed or dtype is DType.FLOAT16:
                return self._refused(shape, type_name, f"has type {type_name}")
            if size_bytes == 0:
                return self._refused(shape, str(dtype), "has no elements")
            return Tensor(self.name, shape, dtype, quantization)
        if is_packed and content.size == (size_bytes + 1) // 2:
            self.flatbuffer.charge(size_bytes, self.place)
            return Tensor(self.name, shape, dtype, quantization, _unpacked(content, shape))
        if content.size != size_bytes:
            raise self._malformed(
                f"is {dtype}{list(shape)} of {size_bytes} bytes, its buffer holds {content.size}"
            )
        if dtype is DType.BOOL:
            self.flatbuffer.charge(size_bytes, self.place)
            if size_bytes and content.max() > 1:
                raise self._malformed("is boolean and holds other values than 0 and 1")
        values = content.view(dtype.numpy.newbyteorder("<")).reshape(shape)
        return Tensor(self.name, shape, dtype, quantization, values.astype(dtype.numpy, copy=False))

    def _declared_shape(self) -> tuple[int, ...]:
        shape = integers(self.source.ShapeAsNumpy())
        if len(shape) > RANK_LIMIT:
            raise self._malformed(f"has {len(shape)} dimensions, more than {RANK_LIMIT}")
        return shape

    def _shape(self) -> tuple[int, ...]:
        shape, signature = self._declared_shape(), self.signature()
        if len(signature) != len(shape):
            raise self._malformed(
                f"has {len(shape)} dimensions, its shape signature {len(signature)}"
            )
        # An open dimension is 1 until somebody says otherwise: one sample, one step.
        shape = tuple(1 if size == -1 else size for size in shape)
        if any(size < 0 for size in shape):
            raise self._malformed(f"has the shape {list(shape)}")
        return shape

    def _quantization(
        self, parameters: Any, shape: tuple[int, ...], dtype: DType
    ) -> Quantization | None:
        scales: Sequence[float] = integers(parameters.ScaleAsNumpy())
        zero_points = integers(parameters.ZeroPointAsNumpy()) or (0,) * len(scales)
        if not scales:
            return None
        if len(zero_points) != len(scales):
            raise self._malformed(f"has {len(scales)} scales and {len(zero_points)} zero points")
        if not all(math.isfinite(scale) and scale > 0 for scale in scales):
            raise self._malformed("has a scale that is not a positive number")
        limits = np.iinfo(dtype.value)
        if not all(limits.min <= zero_point <= limits.max for zero_point in zero_points):
            raise self._malformed(f"has a zero point outside {dtype}")
        if len(scales) == 1:
            return Quantization(tuple(scales), zero_points)
        # A vector has one axis only, whatever the file says of biases.
        axis = 0 if len(shape) == 1 else parameters.QuantizedDimension()
        if not 0 <= axis < len(shape) or shape[axis] != len(scales):
            raise self._malformed(
                f"has {len(scales)} scales along axis {axis} of the shape {list(shape)}"
            )
        return Quantization(tuple(scales), zero_points, axis)

    def _refused(self, shape: tuple[int, ...], dtype: str, reason: str) -> RefusedTensor:
        return RefusedTensor(self.name, f"{dtype}[{'x'.join(map(str, shape))}]", reason)

    def _malformed(self, what: str) -> MalformedModelError:
        return MalformedModelError(
            f"the file is corrupt: tensor '{self.name}' {what}", where=self.place, fix=DAMAGED
        )


def _unpacked(content: Array, shape: tuple[int, ...]) -> Array:
    """Returns 4-bit numbers, two per byte and the low one first, as int8 of `shape`."""
    pairs = np.stack([content & 15, content >> 4], axis=-1).reshape(-1)
    return ((pairs[: math.prod(shape)].astype(np.int8) ^ 8) - 8).astype(np.int8).reshape(shape)
