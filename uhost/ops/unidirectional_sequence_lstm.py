"""A long short-term memory over a sequence, its two states kept from run to run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from uhost.errors import MalformedModelError
from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.ir.tensor import Array, Tensor
from uhost.ops._checks import require, require_dtype, require_quantized
from uhost.ops._lstm import (
    BIAS,
    CELL_STATE,
    FORGET,
    HIDDEN_STATE,
    INPUT,
    NORM,
    PEEPHOLE,
    PROJECTION,
    PROJECTION_BIAS,
    RECURRENT,
    WEIGHTS,
    Lstm,
    LstmAttributes,
    step,
)
from uhost.ops._lstm_examples import lstm_examples
from uhost.ops._op import CallingNode, Imported, OperatorKind, SourceNode, UnsupportedNodeError
from uhost.ops._tflite import malformed, options_table

_INPUTS = 24
_TANH = 4


def _infer(bound: BoundOperator[LstmAttributes]) -> Sequence[tuple[tuple[int, ...], DType]]:
    x, hidden, cell = bound.input(0), bound.input(HIDDEN_STATE), bound.input(CELL_STATE)
    lstm, output = Lstm(bound), bound.outputs[0]
    require_dtype(x, DType.FLOAT32, DType.INT8, DType.INT16)
    require_dtype(hidden, x.dtype)
    require_dtype(cell, DType.FLOAT32 if x.dtype is DType.FLOAT32 else DType.INT16)
    if len(x.shape) != 3:
        raise MalformedModelError(
            f"the input has the shape {list(x.shape)}, not three axes", where=_place(bound)
        )
    _check_shapes(lstm)
    _check_types(lstm)
    if x.dtype is not DType.FLOAT32:
        _check_quantization(lstm)
    return [
        ((*x.shape[:2], lstm.outputs), output.dtype),
        (hidden.shape, hidden.dtype),
        (cell.shape, cell.dtype),
    ]


def _place(bound: BoundOperator[LstmAttributes]) -> str:
    return f"operator '{bound.name}' (unidirectional_sequence_lstm)"


def _check_shapes(lstm: Lstm) -> None:
    bound = lstm.bound
    inputs, (_, batches) = bound.input(0).shape[2], lstm.steps
    cells, outputs = lstm.cells, lstm.outputs
    wanted: dict[int, tuple[int, ...]] = {
        HIDDEN_STATE: (batches, outputs),
        CELL_STATE: (batches, cells),
        PROJECTION: (outputs, cells),
        PROJECTION_BIAS: (outputs,),
    }
    for gate in range(4):
        wanted |= {WEIGHTS + gate: (cells, inputs), RECURRENT + gate: (cells, outputs)}
        wanted |= {BIAS + gate: (cells,), NORM + gate: (cells,)}
    wanted |= dict.fromkeys(range(PEEPHOLE, BIAS), (cells,))
    for index, shape in wanted.items():
        tensor = bound.optional_input(index)
        if tensor is not None and tensor.shape != shape:
            raise MalformedModelError(
                f"input {index} has the shape {list(tensor.shape)}, not {list(shape)}",
                where=_place(bound),
            )
    if bound.optional_input(PROJECTION) is None and outputs != cells:
        raise MalformedModelError(
            f"{cells} cells and {outputs} outputs need a projection", where=_place(bound)
        )
    gates = lstm.gates
    for first in (WEIGHTS, RECURRENT, BIAS):
        present = [g for g in range(4) if bound.optional_input(first + g) is not None]
        if first == BIAS and lstm.bound.optional_input(BIAS + FORGET) is None:
            continue
        if present != [g for g in range(4) if g in gates]:
            raise MalformedModelError(
                f"of inputs {first} to {first + 3} some are missing", where=_place(bound)
            )
    norms = [g for g in range(4) if bound.optional_input(NORM + g) is not None]
    require(norms in ([], list(gates)), "only some gates are normalised")
    peepholes = [i for i in range(PEEPHOLE, BIAS) if bound.optional_input(i) is not None]
    require(peepholes in ([], [9, 10, 11] if INPUT in gates else [10, 11]), "only some gates peep")


def is_added(index: int) -> bool:
    """True for a bias or a normalisation, which stay float32 beside int8 weights."""
    return BIAS <= index < PROJECTION or index in (PROJECTION_BIAS, *range(NORM, NORM + 4))


def _check_types(lstm: Lstm) -> None:
    bound = lstm.bound
    kind = bound.input(0).dtype
    floats, states = kind is DType.FLOAT32, (0, HIDDEN_STATE, CELL_STATE)
    bias = DType.INT64 if kind is DType.INT16 else DType.INT32
    for index, tensor in enumerate(bound.inputs):
        if tensor is None or index in states:
            continue
        require(tensor.is_constant, f"input {index} is not a constant")
        if floats and lstm.is_hybrid and not is_added(index):
            require_dtype(tensor, DType.INT8)
            require_quantized(tensor)
            require(tensor.zero_point == 0, f"input {index} has a zero point")
        elif floats:
            require_dtype(tensor, DType.FLOAT32)
        elif BIAS <= index < PROJECTION or index == PROJECTION_BIAS:
            require_dtype(tensor, bias)
        elif PEEPHOLE <= index < BIAS or index >= NORM:
            require_dtype(tensor, DType.INT16)
        else:
            require_dtype(tensor, DType.INT8)
            require_quantized(tensor)
            require(tensor.zero_point == 0, f"input {index} has a zero point")


def _check_quantization(lstm: Lstm) -> None:
    bound, at = lstm.bound, lstm.bound.attributes
    cell = bound.input(CELL_STATE)
    require_quantized(bound.input(0), bound.input(HIDDEN_STATE), cell)
    require(cell.zero_point == 0, "the cell state has a zero point")
    require(-15 <= lstm.cell_power <= 0, f"the cell state has the scale {cell.scale:.9g}")
    if at.arithmetic == "litert":
        require(bound.input(0).dtype is DType.INT8, "LiteRT has this form for int8 only")
        require(len(at.intermediates) == 5, "the model does not say what it computes in")
        require(2.0**lstm.cell_power == cell.scale, "the cell's scale is no power of two")
        require(lstm.cell_power <= -9, f"the cell state has the scale {cell.scale:.9g}")
        require(
            bound.optional_input(NORM + FORGET) is None
            or bound.optional_input(BIAS + FORGET) is not None,
            "the normalisation has no bias",
        )


def _reference(
    bound: BoundOperator[LstmAttributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    x, hidden, cell = inputs[0], inputs[HIDDEN_STATE], inputs[CELL_STATE]
    assert x is not None
    assert hidden is not None
    assert cell is not None
    lstm, time_major = Lstm(bound), bound.attributes.time_major
    made = []
    for moment in range(lstm.steps[0]):
        hidden, cell = step(lstm, x[moment] if time_major else x[:, moment], hidden, cell)
        made.append(hidden)
    return [np.stack(made, 0 if time_major else 1), hidden, cell]


def _import_tflite(node: SourceNode) -> Imported:
    count = len(node.inputs)
    if count not in (20, _INPUTS) or len(node.outputs) != 1:
        raise malformed(node, f"the operator has {count} inputs and {len(node.outputs)} outputs")
    hidden, cell = node.inputs[HIDDEN_STATE], node.inputs[CELL_STATE]
    if hidden is None or cell is None:
        raise malformed(node, "the operator lacks a state")
    options: Any = options_table(node, "UnidirectionalSequenceLSTMOptions")
    if options is None:
        raise malformed(node, "the operator has no options")
    if options.FusedActivationFunction() != _TANH:
        raise UnsupportedNodeError("another activation than tanh")
    optional = (WEIGHTS, *range(PEEPHOLE, BIAS), PROJECTION, *range(NORM, count))
    is_plain = all((node.inputs[index] is None) == (index != WEIGHTS) for index in optional)
    types = [tensor.dtype for tensor in (node.inputs[0], node.inputs[WEIGHTS + FORGET]) if tensor]
    is_hybrid = types == [DType.FLOAT32, DType.INT8]
    attributes = LstmAttributes(
        bool(options.TimeMajor()),
        float(options.CellClip()),
        float(options.ProjClip()),
        "tflm" if is_plain and not is_hybrid else "litert",
        () if is_plain or is_hybrid else _intermediates(node),
        is_hybrid and bool(options.AsymmetricQuantizeInputs()),
    )
    return Imported(attributes, node.inputs, updates=(hidden, cell))


def _intermediates(node: SourceNode) -> tuple[tuple[float, int], ...]:
    found: list[tuple[float, int]] = []
    tensors: tuple[Tensor | None, ...] = node.intermediates if isinstance(node, CallingNode) else ()
    for tensor in tensors:
        parameters = None if tensor is None else tensor.quantization
        found.append((0.0, 0) if parameters is None else parameters.per_tensor)
    return tuple(found)


def _macs(bound: BoundOperator[LstmAttributes]) -> int:
    steps, batches = Lstm(bound).steps
    indices = (*range(WEIGHTS, PEEPHOLE), PROJECTION)
    weights = [bound.optional_input(index) for index in indices]
    return steps * batches * sum(tensor.elements for tensor in weights if tensor is not None)


OPERATOR = OperatorKind(
    name="unidirectional_sequence_lstm",
    attributes=LstmAttributes,
    infer=_infer,
    reference=_reference,
    importers={"tflite": {"UNIDIRECTIONAL_SEQUENCE_LSTM": _import_tflite}},
    examples=lstm_examples,
    operands=lambda bound: (bound.input(0),),
    by_litert=lambda bound: Lstm(bound).is_hybrid,
    macs=_macs,
)
