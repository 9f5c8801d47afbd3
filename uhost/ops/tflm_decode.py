"""Compressed constants, unpacked: TFLite Micro's DECODE, by three schemes.

Inputs are pairs of uint8 constants, the packed elements and a header of 16 bytes with tables
behind it; there is an output for each pair. Bits are counted from the highest of a byte.
Source: TFLite Micro, "decode.cc" and "decode_state_*.cc".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from uhost.ir.dtype import DType
from uhost.ir.graph import Attributes, BoundOperator
from uhost.ir.tensor import Array, Quantization, Tensor
from uhost.ops._checks import require
from uhost.ops._movement import misfit
from uhost.ops._op import Example, Imported, OperatorKind, SourceNode, single
from uhost.ops._tflite import malformed

_HEADER_BYTES = 16
_VERSION = 1
LOOKUP, HUFFMAN, PRUNED = 0, 1, 2
_TYPES = {
    LOOKUP: (DType.BOOL, DType.FLOAT32, DType.INT8, DType.INT16, DType.INT32, DType.INT64),
    HUFFMAN: (DType.INT8, DType.INT16),
    PRUNED: (DType.BOOL, DType.FLOAT32, DType.INT8, DType.INT16, DType.INT32, DType.INT64),
}


@dataclass(frozen=True, slots=True)
class DecodeAttributes(Attributes):
    """Nothing: the second constant of each pair says how the first is packed."""


def _infer(bound: BoundOperator[DecodeAttributes]) -> Sequence[tuple[tuple[int, ...], DType]]:
    if len(bound.inputs) != 2 * len(bound.outputs) or not bound.outputs:
        raise misfit(bound, f"{len(bound.inputs)} inputs for {len(bound.outputs)} outputs")
    for number, output in enumerate(bound.outputs):
        packed, header = bound.input(2 * number), bound.input(2 * number + 1)
        for tensor in (packed, header):
            require(tensor.is_constant, f"'{tensor.name}' is not a constant")
        content = header.constant().tobytes()
        if len(content) < _HEADER_BYTES or content[1] != _VERSION or content[4] != _VERSION:
            raise misfit(bound, f"'{header.name}' is no header of version {_VERSION}")
        require(content[0] in _TYPES, f"the scheme {content[0]}")
        types = _TYPES[content[0]]
        require(output.dtype in types, f"'{output.name}' is {output.dtype}")
        if content[0] == HUFFMAN:
            require(bool(content[5] & 1) or output.dtype is DType.INT8, "a table of 16 bits")
    return [(tensor.shape, tensor.dtype) for tensor in bound.outputs]


def _channels(output: Tensor) -> NDArray[np.int64]:
    """Returns the channel of every element: by the first axis, or the last if so quantised."""
    quantization = output.quantization
    count = len(quantization.scale) if quantization else 1
    if quantization is None or count == 1:
        return np.zeros(output.elements, np.int64)
    if quantization.axis == len(output.shape) - 1:
        return np.arange(output.elements) % count
    return np.arange(output.elements) // max(output.elements // count, 1)


def _looked_up(output: Tensor, packed: bytes, header: bytes) -> Array:
    """Returns the elements of which `packed` has the indices, in a table per channel."""
    bits, stride = header[5] & 7, header[6]
    if bits == 0:
        raise ValueError("indices of no bits")
    ones = _bits(packed, bits * output.elements)
    weights = 1 << np.arange(bits - 1, -1, -1)
    indices = ones.reshape(output.elements, bits).astype(np.int64) @ weights
    return _table(output, header)[indices + stride * _channels(output)]


def _pruned(output: Tensor, packed: bytes, header: bytes) -> Array:
    """Returns the elements that a set bit of `packed` says to be listed; others are zero."""
    listed = _bits(packed, output.elements).astype(bool)
    zeros: Array = np.zeros(output.elements, output.dtype.numpy)
    if output.quantization is not None and output.dtype is DType.INT8:
        zeros = np.array(output.quantization.zero_point, np.int8)[_channels(output)]
    elements: Array = zeros.copy()
    elements[listed] = _table(output, header)[: listed.sum()]
    return elements


def _bits(packed: bytes, count: int) -> NDArray[np.uint8]:
    if count > 8 * len(packed):
        raise ValueError("the packed elements end early")
    return np.unpackbits(np.frombuffer(packed, np.uint8), count=count)


def _table(output: Tensor, header: bytes) -> Array:
    """Returns what follows the header, as elements of the output's type."""
    content = header[_HEADER_BYTES:]
    size = output.dtype.size_bytes
    return np.frombuffer(content[: len(content) // size * size], output.dtype.numpy)


def _huffman(output: Tensor, packed: bytes, header: bytes) -> Array:
    """Returns the symbols of a prefix code, found by tables of tables.

    An entry has from its top bit on: whether it is a symbol, four bits of a count, a value. Of a
    symbol the count is how many of the bits looked up last belong to it; else one less than how
    many are looked up next, the value farther on in the table.
    """
    wide = bool(header[5] & 1)
    entry_bits, first_bits = (32 if wide else 16), (header[5] >> 4) + 1
    content = header[_HEADER_BYTES:]
    content = content[: len(content) // (entry_bits // 8) * (entry_bits // 8)]
    table = np.frombuffer(content, np.uint32 if wide else np.uint16).tolist()
    count_shift = entry_bits - 5
    value_mask = (1 << count_shift) - 1
    position = 0
    symbols = []

    def take(count: int) -> int:
        """Returns the next bits; behind the end there are zeros."""
        first, last = position // 8, -(-(position + count) // 8)
        taken = int.from_bytes(packed[first:last].ljust(last - first, b"\0"), "big")
        return taken >> (8 * last - position - count) & ((1 << count) - 1)

    for _ in range(output.elements):
        bits, place = first_bits, take(first_bits)
        entry = table[place]
        while not entry >> (entry_bits - 1):
            position += bits
            bits = (entry >> count_shift & 15) + 1
            place += (entry & value_mask) + take(bits)
            entry = table[place]
        position += min(entry >> count_shift & 15, bits)
        if position > 8 * len(packed):
            raise ValueError("the packed elements end early")
        symbols.append(entry & value_mask)
    return np.array(symbols, np.int64).astype(output.dtype.numpy)


_DECODERS = {LOOKUP: _looked_up, HUFFMAN: _huffman, PRUNED: _pruned}


def _reference(
    bound: BoundOperator[DecodeAttributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    made = []
    for number, output in enumerate(bound.outputs):
        packed, header = inputs[2 * number], inputs[2 * number + 1]
        assert packed is not None
        assert header is not None
        content = header.tobytes()
        try:
            elements = _DECODERS[content[0]](output, packed.tobytes(), content)
        except (IndexError, ValueError) as error:
            raise misfit(bound, f"'{output.name}' cannot be unpacked: {error}") from error
        made.append(elements.reshape(output.shape))
    return made


def _import_tflite(node: SourceNode) -> Imported:
    if None in node.inputs:
        raise malformed(node, "the operator lacks an input")
    return Imported(DecodeAttributes(), node.inputs)


def packed_bits(values: Sequence[int], bits: int) -> Array:
    """Returns numbers of so many bits each, one after the other from the highest bit on."""
    text = "".join(f"{value:0{bits}b}" for value in values)
    return _bytes_of(text)


def _bytes_of(text: str) -> Array:
    text += "0" * (-len(text) % 32)
    return np.array([int(text[i : i + 8], 2) for i in range(0, len(text), 8)], np.uint8)


def header_of(scheme: int, table: Array, *options: int) -> Array:
    """Returns the second constant of a pair: `options` are the header's bytes from 5 on."""
    fixed = [scheme, _VERSION, 0, 0, _VERSION, *options]
    fixed += [0] * (_HEADER_BYTES - len(fixed))
    return np.concatenate([np.array(fixed, np.uint8), np.frombuffer(table.tobytes(), np.uint8)])


def _examples() -> Iterable[Example]:
    def case(name: str, packed: Array, header: Array, output: Tensor) -> Example:
        inputs = [
            Tensor("packed", packed.shape, DType.UINT8, None, packed),
            Tensor("header", header.shape, DType.UINT8, None, header),
        ]
        graph = single(name, "tflm_decode", DecodeAttributes(), inputs, [output])
        return Example(name, graph, (str(output.dtype),))

    random = np.random.default_rng(1)
    for dtype in _TYPES[LOOKUP]:
        table = random.integers(0, 2 if dtype is DType.BOOL else 100, 8).astype(dtype.numpy)
        indices = random.integers(0, 8, 15).tolist()
        output = Tensor("output", (3, 5), dtype)
        yield case(f"{dtype}_table", packed_bits(indices, 3), header_of(0, table, 3, 8), output)
    for axis, name in ((0, "first"), (1, "last")):
        count = (3, 5)[axis]
        channels = Quantization((0.5,) * count, tuple(range(count)), axis)
        output = Tensor("output", (3, 5), DType.INT8, channels)
        tables = random.integers(-128, 128, 4 * count).astype(np.int8)
        indices = random.integers(0, 4, 15).tolist()
        packed = packed_bits(indices, 2)
        yield case(f"int8_table_{name}_axis", packed, header_of(0, tables, 2, 4), output)
        listed = random.integers(0, 2, 15)
        rest = random.integers(-128, 128, int(listed.sum())).astype(np.int8)
        packed = packed_bits(listed.tolist(), 1)
        yield case(f"int8_pruned_{name}_axis", packed, header_of(2, rest), output)
    listed = random.integers(0, 2, 15)
    rest = random.standard_normal(int(listed.sum())).astype(np.float32)
    output = Tensor("output", (15,), DType.FLOAT32)
    yield case("float32_pruned", packed_bits(listed.tolist(), 1), header_of(2, rest), output)
    # The code 0, 10, 110, 111 of four symbols: a table of two bits, and one of one bit behind it.
    for dtype, entry in ((DType.INT8, np.uint16), (DType.INT16, np.uint32)):
        size = np.dtype(entry).itemsize * 8
        symbols = {"0": 5, "10": -7, "110": 100, "111": -128}

        def found(bits: int, symbol: int, size: int = size, low: int = 8 * dtype.size_bytes) -> int:
            return 1 << (size - 1) | bits << (size - 5) | symbol & ((1 << low) - 1)

        entries = [found(1, 5), found(1, 5), found(2, -7), 1, found(1, 100), found(1, -128)]
        table = np.array(entries, np.int64).astype(entry)
        drawn = random.choice(list(symbols), 24).tolist()
        header = header_of(1, table, 1 << 4 | (size == 32))
        output = Tensor("output", (4, 6), dtype)
        yield case(f"{dtype}_prefix_code", _bytes_of("".join(drawn)), header, output)


OPERATOR = OperatorKind(
    name="tflm_decode",
    attributes=DecodeAttributes,
    infer=_infer,
    reference=_reference,
    importers={"tflite": {"CUSTOM:TFLM_DECODE": _import_tflite}},
    examples=_examples,
    folds_at_import=True,
)
