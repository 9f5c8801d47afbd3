"""ADD, SOFTMAX, RELU, RELU6, QUANTIZE, DEQUANTIZE: numbers at their edges, and refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from build_tflite import Node, build

from uhost.errors import MalformedModelError, UnsupportedOperatorError
from uhost.frontends.tflite import FRONTEND
from uhost.ir.dtype import DType
from uhost.ir.graph import Attributes, BoundOperator
from uhost.ir.tensor import Array, Quantization, Tensor
from uhost.numerics.fixed_point import quantize_multiplier
from uhost.numerics.softmax import (
    exp_on_negative_values,
    reciprocal_of_one_plus,
    softmax_exponentials,
    softmax_int8,
)
from uhost.ops._examples import quantized, real
from uhost.ops._op import OPERATORS, Activation, UnsupportedNodeError
from uhost.ops.add import AddAttributes, add_scaling
from uhost.ops.dequantize import DequantizeAttributes
from uhost.ops.quantize import QuantizeAttributes
from uhost.ops.relu import ReluAttributes
from uhost.ops.relu6 import Relu6Attributes
from uhost.ops.relu_n1_to_1 import ReluN1To1Attributes
from uhost.ops.softmax import SoftmaxAttributes


def bind(kind: str, attributes: Attributes, *tensors: Tensor) -> BoundOperator[Any]:
    """The last tensor is the output."""
    return BoundOperator(kind, kind, attributes, tensors[:-1], tensors[-1:])


def run(bound: BoundOperator[Any], *inputs: Array) -> Array:
    return OPERATORS[bound.kind].reference(bound, inputs)[0]


def refusal(bound: BoundOperator[Any]) -> str:
    with pytest.raises(UnsupportedNodeError) as caught:
        OPERATORS[bound.kind].infer(bound)
    return str(caught.value)


EVERY_INT8 = np.arange(-128, 128).astype(np.int8)


def test_add_scales_inputs_to_twice_the_larger_scale() -> None:
    tensors = [quantized(n, (1,), s, 0) for n, s in (("a", 0.5), ("b", 0.25), ("o", 1.0))]
    scaling = add_scaling(bind("add", AddAttributes(), *tensors))
    # 0.5 / 1, 0.25 / 1 and 1 / 2^20 as multiplier · 2^(shift - 31).
    assert (scaling.first, scaling.second, scaling.output) == (
        (1 << 30, 0),
        (1 << 30, -1),
        (1 << 30, -19),
    )


def test_add_of_equal_scales_is_integer_addition() -> None:
    tensors = [quantized(n, (256, 256), 0.5, 0) for n in "abo"]
    first, second = np.meshgrid(EVERY_INT8, EVERY_INT8)
    result = run(bind("add", AddAttributes(), *tensors), first, second)
    wanted = np.clip(first.astype(int) + second, -128, 127)
    np.testing.assert_array_equal(result, wanted)


def test_add_activation_clamps_in_the_output_scale() -> None:
    tensors = [quantized(n, (256,), 0.5, 10) for n in "abo"]
    zeros = np.full(256, 10, np.int8)
    for activation, low, high in (
        (Activation.RELU, 10, 127),
        (Activation.RELU6, 10, 22),
        (Activation.RELU_N1_TO_1, 8, 12),
    ):
        result = run(bind("add", AddAttributes(activation), *tensors), EVERY_INT8, zeros)
        np.testing.assert_array_equal(result, np.clip(EVERY_INT8, low, high))


def test_add_refusals() -> None:
    a = quantized("a", (2, 3), 0.1, 0)
    output = quantized("o", (2, 3), 0.1, 0)
    add = AddAttributes()
    flags = Tensor("w", (2, 3), DType.BOOL)
    assert (
        refusal(bind("add", add, flags, flags, flags))
        == "'w' is bool, not int8 or int16 or int32 or int64 or float32"
    )
    offset = quantized("i", (2, 3), 0.1, 4, DType.INT16)
    assert refusal(bind("add", add, offset, offset, offset)) == "'i' is int16 with a zero point"
    assert (
        refusal(bind("add", add, a, real("r", (2, 3)), output)) == "'r' is float32 but 'a' is int8"
    )
    bare = Tensor("n", (2, 3), DType.INT8)
    assert refusal(bind("add", add, a, bare, output)) == "'n' has no quantisation"
    per_channel = Tensor("c", (2, 3), DType.INT8, Quantization((0.1, 0.2, 0.3), (0, 0, 0), 1))
    assert refusal(bind("add", add, a, per_channel, output)) == "'c' is quantised per channel"
    tiny = quantized("o", (2, 3), 1e-9, 0)
    assert (
        refusal(bind("add", add, a, a, tiny))
        == "the output scale 9.99999972e-10 is too far from the input scales"
    )
    empty = quantized("e", (0, 3), 0.1, 0)
    assert refusal(bind("add", add, empty, a, output)) == "'e' has no elements"
    negative = quantized("s", (2, 3), -0.5, 0)
    assert refusal(bind("add", add, a, negative, output)) == "'s' has the scale -0.5"
    far = quantized("z", (2, 3), 0.5, 128)
    assert (
        refusal(bind("add", add, a, far, output))
        == "'z' has the zero point 128, which int8 cannot hold"
    )


def test_add_of_shapes_that_do_not_broadcast() -> None:
    tensors = quantized("a", (2, 3), 1, 0), quantized("b", (2,), 1, 0), quantized("o", (2, 3), 1, 0)
    with pytest.raises(MalformedModelError, match=r"^shapes \[2, 3\] and \[2\] do not broadcast"):
        OPERATORS["add"].infer(bind("add", AddAttributes(), *tensors))


def test_add_refuses_a_fused_tanh() -> None:
    tensors = [quantized(n, (2,), 0.1, 0) for n in "abo"]
    node = Node("ADD", ("a", "b"), ("o",), {"FusedActivationFunction": 4})
    with pytest.raises(UnsupportedOperatorError, match="ADD: fused tanh"):
        FRONTEND.load(build(tensors, [node], ("a", "b"), ("o",)), "m")


def test_fixed_point_exponential_is_near_the_real_one() -> None:
    x = -np.unique(np.geomspace(1, 2**31 - 1, 4000).astype(np.int64))
    result = exp_on_negative_values(x) / 2.0**31
    np.testing.assert_allclose(result, np.exp(x / 2.0**26), rtol=0, atol=1e-6)
    assert exp_on_negative_values(np.array(0)) == 2**31 - 1


def test_fixed_point_reciprocal_is_near_the_real_one() -> None:
    x = np.linspace(0, 2**31 - 1, 5000).astype(np.int64)
    result = reciprocal_of_one_plus(x) / 2.0**31
    np.testing.assert_allclose(result, 1 / (1 + x / 2.0**31), rtol=0, atol=2e-8)
    assert reciprocal_of_one_plus(np.array(0)) == 2**31 - 1


def test_exponentials_end_where_the_fixed_point_does() -> None:
    # 31 / 0.5 = 62 steps fit Q5.26.
    table = softmax_exponentials(1.0, 0.5)
    assert table[0] == 2**31 - 1
    assert (np.diff(table[:20]) < 0).all()
    assert (np.diff(table) <= 0).all()
    assert (table[63:] == 0).all()
    with pytest.raises(ValueError, match="too small"):
        softmax_exponentials(1.0, 2.0**-27)


def test_softmax_of_equal_inputs_is_uniform() -> None:
    table = softmax_exponentials(1.0, 0.1)
    for depth in (1, 2, 3, 7, 511, 513, 1000, 4095):
        row = np.full((1, depth), 44, np.int8)
        wanted = min(np.floor(256 / depth + 0.5) - 128, 127)
        assert (softmax_int8(row, table) == wanted).all(), depth
    # Half a step rounds down: one is 1 - 2^-31 in Q0.31.
    assert (softmax_int8(np.zeros((1, 512), np.int8), table) == -128).all()


def test_softmax_refusals() -> None:
    source = quantized("a", (2, 3), 0.1, 0)
    output = quantized("o", (2, 3), 1 / 256, -128)
    other = quantized("o", (2, 3), 1 / 128, 0)
    one = SoftmaxAttributes(1.0)
    assert (
        refusal(bind("softmax", one, source, other))
        == "the output has scale 0.0078125 and zero point 0, not 1/256 and -128"
    )
    assert refusal(bind("softmax", SoftmaxAttributes(0.0), source, output)) == "beta is 0"
    assert (
        refusal(bind("softmax", SoftmaxAttributes(float("nan")), source, output)) == "beta is nan"
    )
    scalar = quantized("a", (), 0.1, 0)
    assert refusal(bind("softmax", one, scalar, scalar)) == "softmax of a scalar"
    wide = quantized("a", (4096,), 0.1, 0), quantized("o", (4096,), 1 / 256, -128)
    assert refusal(bind("softmax", one, *wide)) == "4096 classes, more than 4095"
    flat = quantized("a", (2, 3), 1e-9, 0)
    assert refusal(bind("softmax", one, flat, output)) == "the input scale is 9.99999972e-10"
    coarse = quantized("o", (2, 3), 1 / 32768, -32768, DType.INT16)
    assert (
        refusal(bind("softmax", one, source, coarse)) == "the output has scale 3.05175781e-05 "
        "and zero point -32768, not 1/65536 and -32768"
    )
    assert refusal(bind("softmax", one, source, real("r", (2, 3)))) == (
        "'r' is float32 but 'a' is int8"
    )


def test_softmax_without_options_has_no_beta() -> None:
    tensors = quantized("a", (2, 3), 0.1, 0), quantized("o", (2, 3), 1 / 256, -128)
    content = build(tensors, [Node("SOFTMAX", ("a",), ("o",), None)], ("a",), ("o",))
    with pytest.raises(UnsupportedOperatorError, match="SOFTMAX: beta is 0"):
        FRONTEND.load(content, "m")


@pytest.mark.parametrize(
    ("kind", "attributes", "high"),
    [("relu", ReluAttributes(), 127), ("relu6", Relu6Attributes(), 17)],
)
def test_rectifiers_of_equal_quantisation_only_clamp(
    kind: str, attributes: Attributes, high: int
) -> None:
    tensors = quantized("a", (256,), 0.5, 5), quantized("o", (256,), 0.5, 5)
    result = run(bind(kind, attributes, *tensors), EVERY_INT8)
    np.testing.assert_array_equal(result, np.clip(EVERY_INT8, 5, high))


def test_rectifiers_rescale_between_quantisations() -> None:
    tensors = quantized("a", (256,), 0.5, 0), quantized("o", (256,), 0.25, -128)
    relu = run(bind("relu", ReluAttributes(), *tensors), EVERY_INT8)
    np.testing.assert_array_equal(relu, np.clip(EVERY_INT8.astype(int) * 2 - 128, -128, 127))
    relu6 = run(bind("relu6", Relu6Attributes(), *tensors), EVERY_INT8)
    np.testing.assert_array_equal(relu6, np.clip(EVERY_INT8.astype(int) * 2 - 128, -128, -104))


def test_rectifier_factor_is_formed_in_double() -> None:
    # These two scales come from a search for an int8 input that tells the precisions apart.
    source = quantized("a", (256,), 0.0726490244269371, -128)
    output = quantized("o", (256,), 0.08313072472810745, -128)
    assert quantize_multiplier(source.scale / output.scale) != quantize_multiplier(
        float(np.float32(source.scale) / np.float32(output.scale))
    )
    result = run(bind("relu", ReluAttributes(), source, output), EVERY_INT8)
    real_value = (-13 + 128) * source.scale / output.scale - 128
    assert abs(real_value - np.floor(real_value) - 0.5) < 1e-5
    assert result[-13 + 128] == -28  # with a factor formed in float32, as in LiteRT, -27


def test_rectifier_refusals() -> None:
    source = quantized("a", (3,), 3e38, 0)
    output = quantized("o", (3,), 1e-38, 0)
    assert (
        refusal(bind("relu_n1_to_1", ReluN1To1Attributes(), source, output))
        == "the scales 3.00000001e+38 and 9.99999935e-39 are too far apart"
    )
    words = quantized("a", (3,), 0.1, 0, DType.INT32)
    assert (
        refusal(bind("relu6", Relu6Attributes(), words, words))
        == "'a' is int32, not int8 or int16 or float32"
    )
    offset = quantized("a", (3,), 0.1, 5, DType.INT16)
    assert (
        refusal(bind("relu", ReluAttributes(), offset, offset)) == "'a' is int16 with a zero point"
    )


def test_float_rectifiers_keep_nan() -> None:
    tensors = real("a", (5,)), real("o", (5,))
    values = np.array([-1, 0, 3, 7, np.nan], np.float32)
    relu = run(bind("relu", ReluAttributes(), *tensors), values)
    np.testing.assert_array_equal(relu, np.array([0, 0, 3, 7, np.nan], np.float32))
    relu6 = run(bind("relu6", Relu6Attributes(), *tensors), values)
    np.testing.assert_array_equal(relu6, np.array([0, 0, 3, 6, np.nan], np.float32))


def test_quantize_rounds_half_away_and_saturates() -> None:
    values = np.array([0.5, 1.5, -0.5, -1.5, 0.49999997, 1e30, -1e30, np.inf, -np.inf], np.float32)
    bound = bind("quantize", QuantizeAttributes(), real("a", (9,)), quantized("o", (9,), 1.0, 3))
    wanted = np.array([1, 2, -1, -2, 0, 124, -131, 124, -131]) + 3
    np.testing.assert_array_equal(run(bound, values), wanted.astype(np.int8))


def test_quantize_makes_nan_the_lowest_number() -> None:
    bound = bind("quantize", QuantizeAttributes(), real("a", (1,)), quantized("o", (1,), 1.0, 3))
    assert run(bound, np.array([np.nan], np.float32)).tolist() == [-128]


def test_quantize_divides_by_the_scale() -> None:
    # At ties of this scale a product with its inverse rounds to another number.
    scale = np.float32(0.0123)
    values = (np.arange(1, 240, 2, dtype=np.float32) / 2 * scale).astype(np.float32)
    bound = bind(
        "quantize",
        QuantizeAttributes(),
        real("a", values.shape),
        quantized("o", values.shape, float(scale), 0),
    )
    quotient = (values / scale).astype(np.float64)
    wanted = np.clip(np.floor(quotient + 0.5), -128, 127)
    np.testing.assert_array_equal(run(bound, values), wanted)
    product = (values * (np.float32(1) / scale)).astype(np.float64)
    assert (np.floor(product + 0.5) != np.floor(quotient + 0.5)).any()


def test_quantize_between_signed_and_unsigned_flips_the_top_bit() -> None:
    source = quantized("a", (256,), 0.3, -5)
    output = quantized("o", (256,), 0.3, 123, DType.UINT8)
    result = run(bind("quantize", QuantizeAttributes(), source, output), EVERY_INT8)
    np.testing.assert_array_equal(result, EVERY_INT8.view(np.uint8) ^ 0x80)


def test_quantize_refusals() -> None:
    bits = quantized("a", (3,), 0.1, 0, DType.UINT8)
    words = quantized("o", (3,), 0.1, 0, DType.INT16)
    attributes = QuantizeAttributes()
    assert refusal(bind("quantize", attributes, bits, words)) == "from uint8 to int16"
    wide = quantized("a", (3,), 0.1, 7, DType.INT32)
    assert refusal(bind("quantize", attributes, wide, words)) == "'a' is int32 with a zero point"
    half = Tensor("o", (3,), DType.INT8, Quantization((0.1, 0.2, 0.3), (0, 0, 0), 0))
    assert refusal(bind("quantize", attributes, real("a", (3,)), half)) == (
        "'o' is quantised per channel"
    )
    assert refusal(bind("quantize", attributes, Tensor("a", (3,), DType.BOOL), words)) == (
        "'a' is bool, not float32 or int8 or uint8 or int16 or int32"
    )


def test_dequantize_rounds_the_product_once() -> None:
    source = quantized("a", (256,), 0.0173, -5)
    result = run(bind("dequantize", DequantizeAttributes(), source, real("o", (256,))), EVERY_INT8)
    assert result.dtype == np.float32
    # float32 · float32 rounds the exact product too, which is what the C kernel computes.
    once = np.float32(source.scale) * (EVERY_INT8.astype(np.int32) + 5).astype(np.float32)
    np.testing.assert_array_equal(result, once)


def test_dequantize_refusals() -> None:
    attributes = DequantizeAttributes()
    wide = quantized("a", (3,), 0.1, 0, DType.INT32)
    assert refusal(bind("dequantize", attributes, wide, real("o", (3,)))) == (
        "'a' is int32, not int8 or uint8 or int16 or float16"
    )
    source = quantized("a", (3,), 0.1, 0)
    assert refusal(bind("dequantize", attributes, source, source)) == "'a' is int8, not float32"


def test_wrong_number_of_inputs_and_wrong_options() -> None:
    tensors = [quantized(n, (2,), 0.1, 0) for n in "abo"]
    for node, message in (
        (Node("ADD", ("a",), ("o",)), "the operator has 1 inputs"),
        (Node("ADD", ("a", ""), ("o",)), "the operator lacks an input"),
        (Node("RELU", ("a",), ("o", "b")), "the operator has 2 outputs"),
    ):
        inputs = ("a",) if "b" in node.outputs else ("a", "b")
        with pytest.raises(MalformedModelError) as caught:
            FRONTEND.load(build(tensors, [node], inputs, ("o",)), "m")
        assert caught.value.what == message
        assert "operator 0" in caught.value.where
        assert caught.value.fix == (
            "the file contradicts itself: export the model again with a current converter"
        )
