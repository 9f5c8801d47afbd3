"""Builds small `.tflite` files for tests, without TensorFlow.

`build` takes tensors and nodes in the file format's own terms; `from_graph` takes a
`Graph` and puts back the operands that importing folds into attributes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import flatbuffers
import numpy as np
import tflite
from build_movement import FOLDED, TABLES, VERSIONS
from flatbuffers import flexbuffers

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator, CallingAttributes, Graph
from uhost.ir.tensor import Array, Quantization, Tensor
from uhost.ops._op import OPERATORS

TENSOR_TYPES = {
    DType.FLOAT32: tflite.TensorType.FLOAT32,
    DType.INT32: tflite.TensorType.INT32,
    DType.UINT8: tflite.TensorType.UINT8,
    DType.INT64: tflite.TensorType.INT64,
    DType.UINT32: tflite.TensorType.UINT32,
    DType.UINT64: tflite.TensorType.UINT64,
    DType.BOOL: tflite.TensorType.BOOL,
    DType.INT16: tflite.TensorType.INT16,
    DType.INT8: tflite.TensorType.INT8,
}
ACTIVATIONS = {
    "none": tflite.ActivationFunctionType.NONE,
    "relu": tflite.ActivationFunctionType.RELU,
    "relu_n1_to_1": tflite.ActivationFunctionType.RELU_N1_TO_1,
    "relu6": tflite.ActivationFunctionType.RELU6,
}
REDUCTIONS = (
    *("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD", "REDUCE_ALL", "REDUCE_ANY"),
)
OPTION_TABLES = {
    **TABLES,
    "ADD": "AddOptions",
    "AVERAGE_POOL_2D": "Pool2DOptions",
    "L2_NORMALIZATION": "L2NormOptions",
    "L2_POOL_2D": "Pool2DOptions",
    "BIDIRECTIONAL_SEQUENCE_LSTM": "BidirectionalSequenceLSTMOptions",
    "CALL_ONCE": "CallOnceOptions",
    "CONCATENATION": "ConcatenationOptions",
    "CONV_2D": "Conv2DOptions",
    "DEPTHWISE_CONV_2D": "DepthwiseConv2DOptions",
    "DEQUANTIZE": "DequantizeOptions",
    "FULLY_CONNECTED": "FullyConnectedOptions",
    "IF": "IfOptions",
    "MAX_POOL_2D": "Pool2DOptions",
    **dict.fromkeys(REDUCTIONS, "ReducerOptions"),
    "ARG_MAX": "ArgMaxOptions",
    "ARG_MIN": "ArgMinOptions",
    "MUL": "MulOptions",
    "PAD": "PadOptions",
    "PADV2": "PadV2Options",
    "QUANTIZE": "QuantizeOptions",
    "RESHAPE": "ReshapeOptions",
    "PACK": "PackOptions",
    "SHAPE": "ShapeOptions",
    "SOFTMAX": "SoftmaxOptions",
    "TRANSPOSE_CONV": "TransposeConvOptions",
    "SPLIT": "SplitOptions",
    "SPLIT_V": "SplitVOptions",
    "SUB": "SubOptions",
    "DIV": "DivOptions",
    "CUMSUM": "CumsumOptions",
    "CAST": "CastOptions",
    "LEAKY_RELU": "LeakyReluOptions",
    "GELU": "GeluOptions",
    "STRIDED_SLICE": "StridedSliceOptions",
    "SVDF": "SVDFOptions",
    "VAR_HANDLE": "VarHandleOptions",
    "WHILE": "WhileOptions",
    "UNIDIRECTIONAL_SEQUENCE_LSTM": "UnidirectionalSequenceLSTMOptions",
}
CUSTOM = "CUSTOM:"
OPERATOR_VERSIONS = {"DEPTHWISE_CONV_2D": 3, "FULLY_CONNECTED": 4, "CONV_2D": 3, "QUANTIZE": 2}
OPERATOR_VERSIONS |= VERSIONS


@dataclass(frozen=True, slots=True)
class Node:
    """One operator of a file: builtin name, tensor names ("" where absent), option fields.

    `options` maps the schema's field names in camel case ("StrideW") to values; None
    leaves the options table out.
    """

    code: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    options: Mapping[str, Any] | None = field(default_factory=dict)
    version: int = 0
    intermediates: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Subgraph:
    """A subgraph of a file: `variables` are kept between runs, `resources` are handles of some."""

    tensors: Sequence[Tensor]
    nodes: Sequence[Node]
    inputs: Sequence[str] = ()
    outputs: Sequence[str] = ()
    variables: Collection[str] = ()
    resources: Collection[str] = ()


def build(
    tensors: Sequence[Tensor],
    nodes: Sequence[Node],
    inputs: Sequence[str],
    outputs: Sequence[str],
    variables: Collection[str] = (),
) -> bytes:
    """Returns the bytes of a `.tflite` file of one subgraph; `variables` are kept between runs."""
    return build_file([Subgraph(tensors, nodes, inputs, outputs, variables)])


def build_file(subgraphs: Sequence[Subgraph]) -> bytes:
    """Returns the bytes of a `.tflite` file of several subgraphs; the first is the model."""
    fb = flatbuffers.Builder(1024)
    nodes = [node for one in subgraphs for node in one.nodes]
    codes = list(dict.fromkeys(node.code for node in nodes))
    data = [b""]  # buffer 0 is the empty one, by the format's convention
    subgraph_vector = _offsets(fb, [_subgraph(fb, one, codes, data) for one in subgraphs])
    buffer_offsets = []
    for content in data:
        vector = _bytes(fb, content) if content else None
        tflite.BufferStart(fb)
        if vector is not None:
            tflite.BufferAddData(fb, vector)
        buffer_offsets.append(tflite.BufferEnd(fb))
    code_offsets = []
    for code in codes:
        is_custom = code.startswith(CUSTOM)
        name = fb.CreateString(code.removeprefix(CUSTOM)) if is_custom else 0
        number = getattr(tflite.BuiltinOperator, "CUSTOM" if is_custom else code)
        version = max(n.version or OPERATOR_VERSIONS.get(code, 1) for n in nodes if n.code == code)
        tflite.OperatorCodeStart(fb)
        tflite.OperatorCodeAddDeprecatedBuiltinCode(fb, min(number, 127))
        tflite.OperatorCodeAddBuiltinCode(fb, number)
        tflite.OperatorCodeAddVersion(fb, version)
        if is_custom:
            tflite.OperatorCodeAddCustomCode(fb, name)
        code_offsets.append(tflite.OperatorCodeEnd(fb))
    code_vector = _offsets(fb, code_offsets)
    buffer_vector = _offsets(fb, buffer_offsets)
    tflite.ModelStart(fb)
    tflite.ModelAddVersion(fb, 3)
    tflite.ModelAddOperatorCodes(fb, code_vector)
    tflite.ModelAddSubgraphs(fb, subgraph_vector)
    tflite.ModelAddBuffers(fb, buffer_vector)
    fb.Finish(tflite.ModelEnd(fb), file_identifier=b"TFL3")
    return bytes(fb.Output())


def _subgraph(
    fb: flatbuffers.Builder, subgraph: Subgraph, codes: Sequence[str], data: list[bytes]
) -> int:
    """Writes a subgraph, and adds the values of its constants to `data`."""
    index = {tensor.name: i for i, tensor in enumerate(subgraph.tensors)}
    tensor_offsets = []
    for tensor in subgraph.tensors:
        number = 0
        if tensor.values is not None:
            number = len(data)
            data.append(np.ascontiguousarray(tensor.values).tobytes())
        is_variable = tensor.name in subgraph.variables
        is_resource = tensor.name in subgraph.resources
        tensor_offsets.append(_tensor(fb, tensor, number, is_variable, is_resource))
    node_offsets = [_operator(fb, node, codes, index) for node in subgraph.nodes]
    tensor_vector = _offsets(fb, tensor_offsets)
    node_vector = _offsets(fb, node_offsets)
    input_vector = _int32(fb, [index[name] for name in subgraph.inputs])
    output_vector = _int32(fb, [index[name] for name in subgraph.outputs])
    name = fb.CreateString("main")
    tflite.SubGraphStart(fb)
    tflite.SubGraphAddName(fb, name)
    tflite.SubGraphAddTensors(fb, tensor_vector)
    tflite.SubGraphAddInputs(fb, input_vector)
    tflite.SubGraphAddOutputs(fb, output_vector)
    tflite.SubGraphAddOperators(fb, node_vector)
    return int(tflite.SubGraphEnd(fb))


def _int32(fb: flatbuffers.Builder, values: Sequence[int]) -> int:
    return int(fb.CreateNumpyVector(np.asarray(values, np.int32)))


def _offsets(fb: flatbuffers.Builder, offsets: Sequence[int]) -> int:
    fb.StartVector(4, len(offsets), 4)
    for offset in reversed(offsets):
        fb.PrependUOffsetTRelative(offset)
    return int(fb.EndVector())


def _bytes(fb: flatbuffers.Builder, content: bytes) -> int:
    """Writes `content` where the file aligns it to 16 bytes, as the schema asks of buffers."""
    fb.StartVector(1, len(content), 16)
    fb.head -= len(content)
    fb.Bytes[fb.head : fb.head + len(content)] = content
    return int(fb.EndVector())


def _tensor(
    fb: flatbuffers.Builder, tensor: Tensor, buffer: int, is_variable: bool, is_resource: bool
) -> int:
    quantization = None
    if tensor.quantization is not None:
        scale = fb.CreateNumpyVector(np.asarray(tensor.quantization.scale, np.float32))
        zero = fb.CreateNumpyVector(np.asarray(tensor.quantization.zero_point, np.int64))
        tflite.QuantizationParametersStart(fb)
        tflite.QuantizationParametersAddScale(fb, scale)
        tflite.QuantizationParametersAddZeroPoint(fb, zero)
        tflite.QuantizationParametersAddQuantizedDimension(fb, tensor.quantization.axis or 0)
        quantization = tflite.QuantizationParametersEnd(fb)
    shape = _int32(fb, tensor.shape)
    name = fb.CreateString(tensor.name)
    tflite.TensorStart(fb)
    tflite.TensorAddShape(fb, shape)
    number = tflite.TensorType.RESOURCE if is_resource else TENSOR_TYPES[tensor.dtype]
    tflite.TensorAddType(fb, number)
    tflite.TensorAddBuffer(fb, buffer)
    tflite.TensorAddName(fb, name)
    tflite.TensorAddIsVariable(fb, is_variable)
    if quantization is not None:
        tflite.TensorAddQuantization(fb, quantization)
    return int(tflite.TensorEnd(fb))


def _operator(
    fb: flatbuffers.Builder, node: Node, codes: Sequence[str], index: Mapping[str, int]
) -> int:
    inputs = _int32(fb, [index[name] if name else -1 for name in node.inputs])
    outputs = _int32(fb, [index[name] for name in node.outputs])
    intermediates = _int32(fb, [index[name] for name in node.intermediates])
    table = OPTION_TABLES.get(node.code)
    options = None
    if table is not None and node.options is not None:
        values = {
            key: _int32(fb, value)
            if isinstance(value, tuple)
            else fb.CreateString(value)
            if isinstance(value, str)
            else value
            for key, value in node.options.items()
        }
        getattr(tflite, f"{table}Start")(fb)
        for key, value in values.items():
            getattr(tflite, f"{table}Add{key}")(fb, value)
        options = getattr(tflite, f"{table}End")(fb)
    custom = None
    if node.code.startswith(CUSTOM):
        custom = _bytes(fb, bytes(flexbuffers.Dumps(dict(node.options or {}))))
    tflite.OperatorStart(fb)
    tflite.OperatorAddOpcodeIndex(fb, codes.index(node.code))
    tflite.OperatorAddInputs(fb, inputs)
    tflite.OperatorAddOutputs(fb, outputs)
    if node.intermediates:
        tflite.OperatorAddIntermediates(fb, intermediates)
    if custom is not None:
        tflite.OperatorAddCustomOptions(fb, custom)
    if options is not None:
        tflite.OperatorAddBuiltinOptionsType(fb, getattr(tflite.BuiltinOptions, str(table)))
        tflite.OperatorAddBuiltinOptions(fb, options)
    return int(tflite.OperatorEnd(fb))


def from_graph(graph: Graph) -> bytes:
    """Returns a `.tflite` file that computes what `graph` computes.

    Operands folded into attributes (shapes, paddings, axes) become constants again.
    Raises `ValueError` for an operator that is uint8 in its file, and for padding that the
    format's SAME and VALID cannot express.
    """
    tensors = dict(graph.tensors)
    nodes = []
    for bound in graph.bound_operators():
        names = [t.name if t is not None else "" for t in bound.inputs]
        code, options, operands = _node(bound)
        if code.startswith(CUSTOM):  # its states are its own, and in no file
            names = [name for name in names if name not in graph.states]
            for name in graph.states:
                tensors.pop(name, None)
        if code == "TRANSPOSE_CONV":
            shape = f"{bound.name}_shape"
            tensors[shape] = _shape(shape, bound.output)
            names = [shape, names[1], names[0], *names[2:]]
        for role, values in operands:
            name = f"{bound.name}_{role}"
            quantization = bound.output.quantization if role == "value" else None
            dtype = DType(str(values.dtype))
            tensors[name] = Tensor(name, values.shape, dtype, quantization, values)
            names.append(name)
        if code in ("SPLIT", "FILL"):
            names.reverse()  # the axis or the shape comes first
        outputs = tuple(t.name for t in bound.outputs if t.name not in graph.states)
        between = _intermediates(bound)
        tensors |= {tensor.name: tensor for tensor in between}
        names += [""] * (48 - len(names) if code == "BIDIRECTIONAL_SEQUENCE_LSTM" else 0)
        names += [""] * (24 - len(names) if code == "UNIDIRECTIONAL_SEQUENCE_LSTM" else 0)
        nodes.append(
            Node(
                code,
                tuple(names),
                outputs,
                options,
                intermediates=tuple(tensor.name for tensor in between),
            )
        )
    return build(
        list(tensors.values()),
        nodes,
        graph.inputs,
        graph.outputs,
        graph.states.keys() & tensors.keys(),
    )


def _intermediates(bound: BoundOperator[Any]) -> tuple[Tensor, ...]:
    """Returns the tensors by whose quantisation LiteRT computes an LSTM."""
    parameters = getattr(bound.attributes, "intermediates", ())
    types = (*(DType.INT16,) * 4, DType.INT8)
    return tuple(
        Tensor(f"{bound.name}_between_{i}", (), types[i], Quantization((scale,), (zero_point,)))
        for i, (scale, zero_point) in enumerate(parameters)
    )


def _node(bound: BoundOperator[Any]) -> tuple[str, dict[str, Any], list[tuple[str, Array]]]:
    """Returns builtin name, options and folded operands of `bound`."""
    at = bound.attributes
    if isinstance(at, CallingAttributes):
        raise ValueError(f"{bound.name} runs graphs, which are subgraphs of a file")
    if getattr(at, "unsigned", False):
        raise ValueError(f"{bound.name} is uint8 in its file")
    if DType.BOOL in [tensor.dtype for tensor in bound.outputs] and hasattr(at, "cycles_max"):
        raise ValueError(f"{bound.name} says whether a run goes on, as none does in a file")
    if bound.kind in FOLDED:
        return FOLDED[bound.kind](bound)
    if any(name.startswith(CUSTOM) for name in OPERATORS[bound.kind].importers["tflite"]):
        return _custom(bound)
    code = bound.kind.upper()
    options: dict[str, Any] = {}
    operands: list[tuple[str, Array]] = []
    if hasattr(at, "activation"):
        options["FusedActivationFunction"] = ACTIVATIONS[str(at.activation)]
    if code == "RESHAPE":
        operands = [("shape", np.array(bound.output.shape, np.int32))]
    elif code == "SOFTMAX":
        options["Beta"] = at.beta
    elif code == "CUMSUM":
        options |= {"Exclusive": at.exclusive, "Reverse": at.reverse}
        operands = [("axis", np.array(at.axis, np.int32))]
    elif code == "FILL":
        operands = [("shape", np.array(at.shape, np.int32))]
    elif code == "GELU":
        options["Approximate"] = at.approximate
    elif code == "LEAKY_RELU":
        options["Alpha"] = at.alpha
    elif code in ("ARG_MAX", "ARG_MIN"):
        options["OutputType"] = TENSOR_TYPES[bound.output.dtype]
        operands = [("axis", np.array(at.axis, np.int32))]
    elif code in REDUCTIONS:
        options["KeepDims"] = at.keep_dims
        operands = [("axes", np.array(at.axes, np.int32))]
    elif code == "FULLY_CONNECTED":
        options["KeepNumDims"] = at.keep_dims
        options["AsymmetricQuantizeInputs"] = at.asymmetric
    elif code == "SVDF":
        options |= {"Rank": at.rank, "AsymmetricQuantizeInputs": at.asymmetric}
    elif code in ("UNIDIRECTIONAL_SEQUENCE_LSTM", "BIDIRECTIONAL_SEQUENCE_LSTM"):
        options |= {"MergeOutputs": at.merge_outputs} if code.startswith("BI") else {}
        options |= {"CellClip": at.cell_clip, "ProjClip": at.projection_clip}
        options |= {"TimeMajor": at.time_major, "FusedActivationFunction": 4}
        options["AsymmetricQuantizeInputs"] = at.asymmetric
    elif code == "PACK":
        options |= {"Axis": at.axis, "ValuesCount": len(bound.inputs)}
    elif code == "SHAPE":
        options["OutType"] = TENSOR_TYPES[bound.output.dtype]
    elif code == "STRIDED_SLICE":
        operands, options = _strided_slice(at)
    elif code == "SPLIT":
        options["NumSplits"] = len(at.sizes)
        operands = [("axis", np.array(at.axis, np.int32))]
    elif code == "SPLIT_V":
        options["NumSplits"] = len(at.sizes)
        operands = [("sizes", np.array(at.sizes, np.int32)), ("axis", np.array(at.axis, np.int32))]
    elif code == "CONCATENATION":
        options["Axis"] = at.axis
    elif code == "PAD":
        pads = np.array([at.before, at.after], np.int32).T.copy()
        operands = [("paddings", pads)]
        default = bound.output.zero_point if bound.output.dtype.size_bytes == 1 else 0
        if at.value != default:
            code = "PADV2"
            operands.append(("value", np.array([at.value], bound.output.dtype.numpy)))
    if code in ("CONV_2D", "FULLY_CONNECTED", "TRANSPOSE_CONV"):
        bias = bound.optional_input(2)
        if bias is not None and bound.input(0).dtype is DType.INT16:
            options["QuantizedBiasType"] = TENSOR_TYPES[bias.dtype]
    if code in ("CONV_2D", "DEPTHWISE_CONV_2D", "AVERAGE_POOL_2D", "L2_POOL_2D", "MAX_POOL_2D"):
        options |= _window(bound)
    if code == "TRANSPOSE_CONV":
        options |= {"StrideH": at.stride[0], "StrideW": at.stride[1]}
        options["Padding"] = _transposed_padding(bound)
    return code, options, operands


def _custom(bound: BoundOperator[Any]) -> tuple[str, dict[str, Any], list[tuple[str, Array]]]:
    """Returns name and options of a custom operator whose options are its attributes."""
    (code,) = (n for n in OPERATORS[bound.kind].importers["tflite"] if n.startswith(CUSTOM))
    options = asdict(bound.attributes)
    if bound.kind in ("signal_rfft", "signal_irfft", "signal_overlap_add"):
        options["T"] = TENSOR_TYPES[bound.input(0).dtype]
    return code, options, []


def _transposed_padding(bound: BoundOperator[Any]) -> int:
    """Returns the scheme that gives the padding and the size of a TRANSPOSE_CONV's input."""
    at, window = bound.attributes, bound.input(1).shape[1:3]
    pixels = bound.input(0).shape[1:3]
    axes = list(zip(at.size, at.stride, window, strict=True))
    steps = [-(-size // stride) for size, stride, _ in axes]
    totals = [
        max((n - 1) * stride + taps - size, 0)
        for n, (size, stride, taps) in zip(steps, axes, strict=True)
    ]
    if at.before == tuple(total // 2 for total in totals) and pixels == tuple(steps):
        return int(tflite.Padding.SAME)
    valid = tuple((size - taps + stride) // stride for size, stride, taps in axes)
    if at.before == (0, 0) and pixels == valid:
        return int(tflite.Padding.VALID)
    raise ValueError(f"{bound.name}: padding {at.before} is neither SAME nor VALID")


def _shape(name: str, tensor: Tensor) -> Tensor:
    """Returns the constant that holds a tensor's shape."""
    values = np.array(tensor.shape, np.int32)
    return Tensor(name, values.shape, DType.INT32, None, values)


def _strided_slice(at: Any) -> tuple[list[tuple[str, Array]], dict[str, Any]]:
    """Returns the operands and options of a slice."""
    options = {"EndMask": 0, "ShrinkAxisMask": 0, "NewAxisMask": 0}
    entries: list[tuple[int, int, int]] = []
    shape = list(at.shape)
    for start, step, count in zip(at.start, at.step, at.count, strict=True):
        while shape and shape[0] != count and shape[0] == 1:
            options["NewAxisMask"] |= 1 << len(entries)
            entries.append((0, 0, 1))
            shape.pop(0)
        if shape and shape[0] == count:
            shape.pop(0)
        else:
            options["ShrinkAxisMask"] |= 1 << len(entries)
        end = start + step * count
        if end < 0:
            options["EndMask"] |= 1 << len(entries)
        entries.append((start, end, step))
    operands = np.array(entries, np.int32).T
    named = zip(("begin", "end", "strides"), operands, strict=True)
    return [(name, values.copy()) for name, values in named], options


def _window(bound: BoundOperator[Any]) -> dict[str, Any]:
    """Returns the options of an operator that slides a window over rows and columns."""
    at = bound.attributes
    options: dict[str, Any] = {"StrideH": at.stride[0], "StrideW": at.stride[1]}
    dilation = (1, 1)
    if bound.kind.endswith("conv_2d"):
        dilation = at.dilation
        options |= {"DilationHFactor": dilation[0], "DilationWFactor": dilation[1]}
        window = bound.input(1).shape[1:3]
        if bound.kind == "depthwise_conv_2d":
            options["DepthMultiplier"] = bound.output.shape[3] // bound.input(0).shape[3]
    else:
        window = at.window
        options |= {"FilterHeight": window[0], "FilterWidth": window[1]}
    pads = (at.padding.top, at.padding.left, at.padding.bottom, at.padding.right)
    same = [0, 0, 0, 0]
    for axis in range(2):
        size = bound.input(0).shape[1 + axis]
        extent = (window[axis] - 1) * dilation[axis] + 1
        steps = -(-size // at.stride[axis])
        total = max((steps - 1) * at.stride[axis] + extent - size, 0)
        same[axis], same[axis + 2] = total // 2, total - total // 2
    if pads == tuple(same):
        options["Padding"] = tflite.Padding.SAME
    elif not any(pads):
        options["Padding"] = tflite.Padding.VALID
    else:
        raise ValueError(f"{bound.name}: padding {at.padding} is neither SAME nor VALID")
    return options
