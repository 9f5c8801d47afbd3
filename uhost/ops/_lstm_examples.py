"""Examples of the LSTM: every type, and every part that a model may have or lack."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from uhost.ir.dtype import DType
from uhost.ir.graph import Graph, Operator
from uhost.ir.tensor import Array, Tensor
from uhost.ops._examples import quantized
from uhost.ops._lstm import (
    BIAS,
    CELL_STATE,
    HIDDEN_STATE,
    INPUT,
    NORM,
    PEEPHOLE,
    PROJECTION,
    PROJECTION_BIAS,
    RECURRENT,
    WEIGHTS,
    LstmAttributes,
)
from uhost.ops._op import Example

# Scales that float32 holds exactly, as those of files.
_INTERMEDIATES = ((2.0**-8, 0), (3 * 2.0**-9, 0), (2.0**-9, 0), (5 * 2.0**-10, 0), (2.0**-7, 5))


def lstm_examples() -> Iterable[Example]:
    """Yields the examples."""
    yield _example("int8", DType.INT8, LstmAttributes(time_major=False))
    yield _example("int8_time_major", DType.INT8, LstmAttributes(time_major=True), batches=2)
    yield _example("int8_clip", DType.INT8, LstmAttributes(False, cell_clip=0.375), batches=2)
    yield _example("int16", DType.INT16, LstmAttributes(time_major=False), batches=2)
    yield _example("float32", DType.FLOAT32, LstmAttributes(time_major=False), batches=2)
    yield _example(
        "float32_everything",
        DType.FLOAT32,
        LstmAttributes(True, 0.875, 0.75, "litert"),
        parts=("peephole", "norm", "projection"),
    )
    yield _example(
        "float32_coupled",
        DType.FLOAT32,
        LstmAttributes(False, arithmetic="litert"),
        parts=("coupled", "peephole"),
    )
    mixed = LstmAttributes(False, arithmetic="litert")
    yield _example("hybrid", DType.FLOAT32, mixed, parts=("hybrid",), batches=2)
    yield _example(
        "hybrid_everything",
        DType.FLOAT32,
        LstmAttributes(True, 0.875, 0.75, "litert", (), True),
        parts=("hybrid", "peephole", "norm", "projection"),
        batches=2,
    )
    parts = ("hybrid", "coupled", "peephole")
    yield _example("hybrid_coupled", DType.FLOAT32, mixed, parts=parts)
    general = LstmAttributes(False, 0.0, 0.0, "litert", _INTERMEDIATES)
    for name in ("norm", "projection", "peephole", "coupled"):
        yield _example(f"int8_{name}", DType.INT8, general, parts=(name,))
    everything = LstmAttributes(True, 0.625, 0.5, "litert", _INTERMEDIATES)
    parts = ("norm", "projection", "coupled")
    yield _example("int8_everything", DType.INT8, everything, parts=parts, batches=2)
    # LiteRT takes the number of outputs for that of cells here, and peeps at the wrong ones.
    wrong = ("projection", "peephole", "wrong_in_litert")
    yield _example("int8_projection_peephole", DType.INT8, general, parts=wrong, batches=2)


def _example(
    name: str,
    dtype: DType,
    attributes: LstmAttributes,
    parts: tuple[str, ...] = (),
    batches: int = 1,
) -> Example:
    random = np.random.default_rng(len(name))
    steps, inputs, cells = 3, 5, 6
    outputs = 4 if "projection" in parts else cells
    floats, hybrid = dtype is DType.FLOAT32, "hybrid" in parts

    def weights(label: str, shape: tuple[int, ...], kind: DType, scale: float) -> Tensor:
        values: Array
        if floats and not (hybrid and kind is DType.INT8):
            values = random.normal(0.0, 0.5, shape).astype(np.float32)
            return Tensor(label, shape, DType.FLOAT32, None, values)
        limit = {DType.INT8: 127, DType.INT16: 20000}.get(kind, 3000)
        values = random.integers(-limit, limit + 1, shape).astype(kind.numpy)
        return quantized(label, shape, scale, 0, kind, values)

    tensors: dict[int, Tensor] = {}
    wide = DType.INT64 if dtype is DType.INT16 else DType.INT32
    for gate in range(4):
        if gate == INPUT and "coupled" in parts:
            continue
        tensors[WEIGHTS + gate] = weights(f"w{gate}", (cells, inputs), DType.INT8, 0.007)
        tensors[RECURRENT + gate] = weights(f"r{gate}", (cells, outputs), DType.INT8, 0.006)
        tensors[BIAS + gate] = weights(f"b{gate}", (cells,), wide, 1e-4)
        if "norm" in parts:
            tensors[NORM + gate] = weights(f"n{gate}", (cells,), DType.INT16, 3e-5)
    if "peephole" in parts:
        for index in range(PEEPHOLE + ("coupled" in parts), BIAS):
            kind, factor = (DType.INT8, 0.006) if hybrid else (DType.INT16, 3e-5)
            tensors[index] = weights(f"p{index}", (cells,), kind, factor)
    if "projection" in parts:
        tensors[PROJECTION] = weights("projection", (outputs, cells), DType.INT8, 0.006)
        tensors[PROJECTION_BIAS] = weights("projection_bias", (outputs,), wide, 1e-4)
    scale, zero_point = (0.008, 3) if dtype is DType.INT8 else (0.00004, 0)
    shape = (steps, batches, inputs) if attributes.time_major else (batches, steps, inputs)

    def activation(label: str, dims: tuple[int, ...], factor: float, zero: int) -> Tensor:
        if floats:
            return Tensor(label, dims, DType.FLOAT32)
        return quantized(label, dims, factor, zero, dtype)

    tensors[0] = activation("input", shape, 4 * scale, -zero_point)
    tensors[HIDDEN_STATE] = activation("hidden", (batches, outputs), scale, zero_point)
    cell_type = DType.FLOAT32 if floats else DType.INT16
    cell = quantized("cell", (batches, cells), 2.0**-12, 0, DType.INT16)
    tensors[CELL_STATE] = Tensor("cell", cell.shape, cell_type) if floats else cell
    output = activation("output", (*shape[:2], outputs), scale, zero_point)
    names = tuple(tensors[i].name if i in tensors else "" for i in range(max(tensors) + 1))
    operator = Operator(
        "lstm",
        "unidirectional_sequence_lstm",
        names,
        ("output", "hidden", "cell"),
        attributes,
    )
    blank = 0 if floats else zero_point
    states = {
        "hidden": np.full((batches, outputs), blank, dtype.numpy),
        "cell": np.zeros((batches, cells), cell_type.numpy),
    }
    known = {tensor.name: tensor for tensor in (*tensors.values(), output)}
    graph = Graph(name, known, (operator,), ("input",), ("output",), states)
    return Example(name, graph, (str(dtype), *parts))
