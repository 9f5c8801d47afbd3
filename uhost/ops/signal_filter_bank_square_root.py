"""The square root of each number, rounded to nearest, then shifted right.

Inputs: numbers, uint64, and one int32: by how many bits, of which the lowest five count.
Output: uint32. The root of a number below 2^32 is at most 65535, that of any other at most
2^32 - 1.
Source: TFLite Micro, "signal/src/square_root_32.cc" and "signal/src/square_root_64.cc".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from uhost.ir.dtype import DType
from uhost.ir.graph import Attributes, BoundOperator
from uhost.ir.tensor import Array, Tensor
from uhost.ops._checks import require, require_dtype
from uhost.ops._op import Example, Imported, OperatorKind, SourceNode
from uhost.ops._signal import signal_example, signal_import


@dataclass(frozen=True, slots=True)
class SignalFilterBankSquareRootAttributes(Attributes):
    """Nothing to choose."""


def _infer(
    bound: BoundOperator[SignalFilterBankSquareRootAttributes],
) -> Sequence[tuple[tuple[int, ...], DType]]:
    numbers, bits = bound.input(0), bound.input(1)
    require_dtype(numbers, DType.UINT64)
    require_dtype(bits, DType.INT32)
    require(bits.elements == 1, f"'{bits.name}' has {bits.elements} elements, not one")
    return [(numbers.shape, DType.UINT32)]


def square_root(number: int) -> int:
    """Returns the root rounded to nearest, within 16 bits for a number of 32, else within 32."""
    # The floor in integers: a double has too few bits for a number of 64.
    root = int(np.sqrt(np.float64(number)))
    root -= root * root > number
    root += (root + 1) * (root + 1) <= number
    highest = 2**16 - 1 if number < 2**32 else 2**32 - 1
    return min(root + (number - root * root > root), highest)


def _reference(
    bound: BoundOperator[SignalFilterBankSquareRootAttributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    numbers, bits = inputs
    assert numbers is not None
    assert bits is not None
    roots = np.array([square_root(int(n)) for n in numbers.reshape(-1)], np.uint32)
    return [(roots >> np.uint32(int(bits.reshape(-1)[0]) & 31)).reshape(numbers.shape)]


def _import_tflite(node: SourceNode) -> Imported:
    return signal_import(node, SignalFilterBankSquareRootAttributes(), 2, 1)


def _examples() -> Iterable[Example]:
    edges = [0, 1, 2, 3, 4, 6, 7, 2**32 - 1, 2**32, 2**32 - 65536, 2**64 - 1, 2**64 - 2**32]
    edges += [n * n + d for n in (2, 255, 65535, 2**31 + 5, 2**32 - 1) for d in (-1, 0, 1, n)]
    edges += [n * (n + 1) + d for n in (3, 65534, 2**20 + 7, 2**32 - 2) for d in (0, 1)]
    constant = np.array(edges, np.uint64)
    for name, values in (("uint64", None), ("uint64_edges", constant)):
        numbers = Tensor("numbers", constant.shape, DType.UINT64, None, values)
        bits = Tensor("bits", (), DType.INT32)
        output = Tensor("output", constant.shape, DType.UINT32)
        attributes = SignalFilterBankSquareRootAttributes()
        inputs = [numbers, bits]
        yield signal_example(name, "signal_filter_bank_square_root", attributes, inputs, [output])


OPERATOR = OperatorKind(
    name="signal_filter_bank_square_root",
    attributes=SignalFilterBankSquareRootAttributes,
    infer=_infer,
    reference=_reference,
    importers={"tflite": {"CUSTOM:SignalFilterBankSquareRoot": _import_tflite}},
    examples=_examples,
)
