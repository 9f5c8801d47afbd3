"""uint8 inputs and outputs of a model beside a QUANTIZE from or to wider integers."""

from __future__ import annotations

import numpy as np
import pytest
from build_tflite import Node, build

from uhost.frontends.tflite import FRONTEND
from uhost.ir.dtype import DType
from uhost.ir.tensor import Quantization, Tensor
from uhost.numerics.fixed_point import multiply_by_quantized_multiplier, quantize_multiplier
from uhost.ops._op import evaluate

NARROW = Tensor("narrow", (1, 256), DType.UINT8, Quantization((0.05,), (131,)))


@pytest.mark.parametrize(("dtype", "scale"), [(DType.INT16, 0.0007), (DType.INT32, 0.0000013)])
def test_uint8_becomes_a_wider_integer(dtype: DType, scale: float) -> None:
    wide = Tensor("wide", NARROW.shape, dtype, Quantization((scale,), (0,)))
    content = build(
        [NARROW, wide], [Node("QUANTIZE", ("narrow",), ("wide",))], ["narrow"], ["wide"]
    )
    graph = FRONTEND.load(content, "m")
    assert graph.tensors["narrow"].dtype is DType.UINT8
    values = np.arange(256, dtype=np.uint8).reshape(NARROW.shape)
    factor = quantize_multiplier(graph.tensors["narrow"].scale / graph.tensors["wide"].scale)
    expected = multiply_by_quantized_multiplier(values.astype(np.int64) - 131, *factor)
    low, high = dtype.limits
    made = evaluate(graph, {"narrow": values})["wide"]
    np.testing.assert_array_equal(made, np.clip(expected, low, high))
