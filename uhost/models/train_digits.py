"""Trains the bundled demo model and writes `digits.tflite` and `digits.npz`.

The data are the 1797 handwritten digits (8 x 8 pixels, 17 grey levels) which
scikit-learn ships as `load_digits`: the test part of "Optical Recognition of
Handwritten Digits" by E. Alpaydin and C. Kaynak (UCI Machine Learning
Repository, data set 80, 1998). Nothing is downloaded.

One image in five is held out, stratified by class. The network never sees
those, and they do not calibrate the quantisation either: they give the printed
accuracies. Of each class, the first one (in the order of the split) that the int8
model recognises is stored in `digits.npz` as a sample; any passed over for that are
counted in what the script prints. The strength of the augmentation was chosen by
cross-validation inside the other four fifths.

How to run, with Python 3.11 in an environment of its own:

    pip install tensorflow-cpu scikit-learn ai-edge-litert tflite pyyaml
    pip install --pre --no-deps tflite-micro
    python train_digits.py

It takes about half a minute on two cores. The same options and package versions on
the same kind of processor give the same bytes again; elsewhere, floating-point
sums may be ordered differently and the weights then differ slightly.
The files beside this script were made with tensorflow-cpu 2.21.0, keras 3.15.1,
scikit-learn 1.9.1, numpy 2.4.6 and ai-edge-litert 2.3.0.

What it writes:

* `digits.tflite`: int8 in, int8 out, batch 1. Convolutions have per-channel
  weights, the classifier has per-tensor weights, which every runtime accepts.
* `digits.npz`: `s<k>_in_0` and `s<k>_out_0` are the quantised image of a `k`
  and what LiteRT's reference kernels answer; `s<k>_tflm_0` is there only where
  TensorFlow Lite Micro answers something else. `labels` holds the ten true
  classes and `classes` their names.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float32]
Int8Array = npt.NDArray[np.int8]
IntArray = npt.NDArray[np.int64]
Runner = Callable[[Int8Array], Int8Array]

SIDE = 8
GREY_MAX = 16.0
CLASSES = tuple("0123456789")
SIZE_LIMIT = 64 * 1024
ALLOWED_OPS = frozenset(
    {
        "AVERAGE_POOL_2D",
        "CONV_2D",
        "DEPTHWISE_CONV_2D",
        "FULLY_CONNECTED",
        "MAX_POOL_2D",
        "RESHAPE",
        "SOFTMAX",
    }
)


@dataclass(frozen=True)
class Split:
    """Images in 0..1 as (n, 8, 8, 1) and their classes, in two disjoint parts."""

    train_x: FloatArray
    train_y: IntArray
    test_x: FloatArray
    test_y: IntArray


@dataclass(frozen=True)
class Quantisation:
    """Maps real values to int8: real = scale * (stored - zero_point)."""

    scale: float
    zero_point: int

    def store(self, real: FloatArray) -> Int8Array:
        """Returns the nearest int8 value for each real value."""
        stored = np.rint(real.astype(np.float64) / self.scale) + self.zero_point
        return np.asarray(np.clip(stored, -128, 127), dtype=np.int8)


def load_split(seed: int) -> Split:
    """Returns the digits, one in five held out, stratified by class."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    data = load_digits()
    images = (np.asarray(data.images) / GREY_MAX).astype(np.float32)[..., np.newaxis]
    labels = np.asarray(data.target, dtype=np.int64)
    train_x, test_x, train_y, test_y = train_test_split(
        images, labels, test_size=0.2, random_state=seed, stratify=labels
    )
    return Split(train_x, train_y, test_x, test_y)


def warp(images: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Returns each image shifted, turned and scaled a little, at random.

    Pixels are sampled bilinearly; what comes from outside the image is black.
    """
    count = len(images)
    angle = rng.uniform(-0.15, 0.15, (count, 1, 1))
    zoom = rng.uniform(0.92, 1.08, (2, count, 1, 1))
    shift = rng.uniform(-0.6, 0.6, (2, count, 1, 1))
    centre = (SIDE - 1) / 2
    row, col = np.meshgrid(np.arange(SIDE) - centre, np.arange(SIDE) - centre, indexing="ij")
    # One black pixel all around; a coordinate further out is clipped onto it.
    source_row = (np.cos(angle) * row - np.sin(angle) * col) * zoom[0] + shift[0] + centre + 1
    source_col = (np.sin(angle) * row + np.cos(angle) * col) * zoom[1] + shift[1] + centre + 1
    source_row = np.clip(source_row, 0, SIDE + 1)
    source_col = np.clip(source_col, 0, SIDE + 1)
    padded = np.pad(images[..., 0], ((0, 0), (1, 1), (1, 1)))
    top = np.minimum(source_row.astype(np.int64), SIDE)
    left = np.minimum(source_col.astype(np.int64), SIDE)
    down = source_row - top
    right = source_col - left
    which = np.arange(count)[:, np.newaxis, np.newaxis]
    upper = padded[which, top, left] * (1 - right) + padded[which, top, left + 1] * right
    lower = padded[which, top + 1, left] * (1 - right) + padded[which, top + 1, left + 1] * right
    warped = upper * (1 - down) + lower * down
    return np.asarray(warped[..., np.newaxis], dtype=np.float32)


def build_network(batch: int | None = None) -> Any:
    """Returns the untrained Keras network: two separable blocks and a classifier."""
    import keras

    layers = keras.layers
    return keras.Sequential(
        [
            keras.Input((SIDE, SIDE, 1), batch_size=batch, name="image"),
            layers.Conv2D(16, 3, padding="same", activation="relu", name="stem"),
            layers.DepthwiseConv2D(3, padding="same", activation="relu", name="block1_depth"),
            layers.Conv2D(32, 1, activation="relu", name="block1_point"),
            layers.AveragePooling2D(2, name="block1_pool"),
            layers.DepthwiseConv2D(3, padding="same", activation="relu", name="block2_depth"),
            layers.Conv2D(48, 1, activation="relu", name="block2_point"),
            layers.MaxPooling2D(2, name="block2_pool"),
            layers.Reshape((2 * 2 * 48,), name="flat"),
            layers.Dense(len(CLASSES), name="classifier"),
            layers.Softmax(name="probabilities"),
        ],
        name="digits",
    )


def train(split: Split, *, seed: int, copies: int, epochs: int, batch: int) -> Any:
    """Returns the network trained on `copies` warped versions of the training part."""
    import keras
    import tensorflow as tf

    keras.utils.set_random_seed(seed)
    tf.config.experimental.enable_op_determinism()
    # How a sum is split over threads changes its rounding.
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    rng = np.random.default_rng(seed)
    warped = [warp(split.train_x, rng) for _ in range(copies)]
    images = np.concatenate([split.train_x, *warped])
    one_hot = np.eye(len(CLASSES), dtype=np.float32)[np.tile(split.train_y, copies + 1)]
    network = build_network()
    steps = epochs * -(-len(images) // batch)
    network.compile(
        optimizer=keras.optimizers.Adam(keras.optimizers.schedules.CosineDecay(4e-3, steps)),
        # Smoothing keeps the softmax from saturating, so that more of its int8 range is used.
        loss=keras.losses.CategoricalCrossentropy(label_smoothing=0.05),
        metrics=["accuracy"],
    )
    network.fit(images, one_hot, batch_size=batch, epochs=epochs, verbose=2)
    return network


def quantise(network: Any, images: FloatArray) -> bytes:
    """Returns the network as an int8 TFLite file of batch 1, calibrated on `images`."""
    import tensorflow as tf

    fixed = build_network(batch=1)
    fixed.set_weights(network.get_weights())
    converter = tf.lite.TFLiteConverter.from_keras_model(fixed)
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    converter.representative_dataset = lambda: ([image[np.newaxis]] for image in images)
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
    converter.inference_input_type = tf.int8
    converter.inference_output_type = tf.int8
    # Not every runtime has kernels for a per-channel FULLY_CONNECTED.
    converter._experimental_disable_per_channel_quantization_for_dense_layers = True
    return bytes(converter.convert())


def check_structure(model: bytes) -> list[str]:
    """Returns the operators in order; raises ValueError on a model we must not ship."""
    import tflite

    names = {value: name for name, value in vars(tflite.BuiltinOperator).items() if name.isupper()}
    graph = tflite.Model.GetRootAs(model)
    if graph.SubgraphsLength() != 1:
        raise ValueError("the model has more than one subgraph")
    subgraph = graph.Subgraphs(0)
    ops: list[str] = []
    for index in range(subgraph.OperatorsLength()):
        operator = subgraph.Operators(index)
        name = names[graph.OperatorCodes(operator.OpcodeIndex()).BuiltinCode()]
        ops.append(name)
        if name in {"CONV_2D", "DEPTHWISE_CONV_2D"}:
            weights = subgraph.Tensors(operator.Inputs(1))
            channels = weights.Shape(3 if name == "DEPTHWISE_CONV_2D" else 0)
            if weights.Quantization().ScaleLength() != channels:
                raise ValueError(f"operator {index} ({name}) is not quantised per channel")
    if not set(ops) <= ALLOWED_OPS:
        raise ValueError(f"operators that are not wanted: {sorted(set(ops) - ALLOWED_OPS)}")
    for index in range(subgraph.TensorsLength()):
        tensor = subgraph.Tensors(index)
        if tensor.Type() not in {tflite.TensorType.INT8, tflite.TensorType.INT32}:
            raise ValueError(f"tensor {index} is neither int8 nor int32")
        if -1 in [tensor.ShapeSignature(i) for i in range(tensor.ShapeSignatureLength())]:
            raise ValueError(f"tensor {index} has a dynamic dimension")
    if len(model) >= SIZE_LIMIT:
        raise ValueError(f"the model has {len(model)} bytes, {SIZE_LIMIT} or more")
    return ops


def litert_runner(model: bytes) -> tuple[Runner, Quantisation, Quantisation]:
    """Returns LiteRT with reference kernels, and the input's and output's quantisation."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    interpreter = Interpreter(
        model_content=model, experimental_op_resolver_type=OpResolverType.BUILTIN_REF
    )
    interpreter.allocate_tensors()
    source = interpreter.get_input_details()[0]
    sink = interpreter.get_output_details()[0]

    def run(image: Int8Array) -> Int8Array:
        interpreter.set_tensor(source["index"], image)
        interpreter.invoke()
        return np.array(interpreter.get_tensor(sink["index"]), dtype=np.int8)

    return run, Quantisation(*source["quantization"]), Quantisation(*sink["quantization"])


def tflm_runner(model: bytes) -> Runner:
    """Returns TensorFlow Lite Micro with reference kernels."""
    from tflite_micro import runtime

    interpreter = runtime.Interpreter.from_bytes(model)

    def run(image: Int8Array) -> Int8Array:
        interpreter.set_input(image, 0)
        interpreter.invoke()
        return np.array(interpreter.get_output(0), dtype=np.int8)

    return run


def run_all(run: Runner, images: Int8Array) -> Int8Array:
    """Returns the answers for each image, as (n, 10)."""
    return np.concatenate([run(image[np.newaxis]) for image in images])


def accuracy(answers: npt.NDArray[Any], labels: IntArray) -> float:
    """Returns which part of the answers has its maximum at the true class."""
    return float(np.mean(np.argmax(answers, axis=1) == labels))


def pick_samples(
    images: Int8Array, labels: IntArray, litert: Int8Array, tflm: Int8Array
) -> tuple[dict[str, npt.NDArray[Any]], int]:
    """Returns what `digits.npz` holds, and how many unrecognised images were passed over.

    A sample is the first image of its class that both runtimes recognise.
    """
    arrays: dict[str, npt.NDArray[Any]] = {}
    passed_over = 0
    right = (np.argmax(litert, axis=1) == labels) & (np.argmax(tflm, axis=1) == labels)
    for label in range(len(CLASSES)):
        of_class = np.flatnonzero(labels == label)
        skipped = int(np.argmax(right[of_class]))
        first = int(of_class[skipped])
        if not right[first]:
            raise ValueError(f"no held-out {label} is recognised")
        passed_over += skipped
        arrays[f"s{label}_in_0"] = images[first : first + 1]
        arrays[f"s{label}_out_0"] = litert[first : first + 1]
        if not np.array_equal(litert[first], tflm[first]):
            arrays[f"s{label}_tflm_0"] = tflm[first : first + 1]
    arrays["labels"] = np.arange(len(CLASSES), dtype=np.int64)
    arrays["classes"] = np.array(CLASSES)
    return arrays, passed_over


def main() -> None:
    """Trains, quantises, checks and writes the two files."""
    parser = argparse.ArgumentParser(description="Train the bundled handwritten-digit model.")
    parser.add_argument("--out", type=Path, default=Path(__file__).resolve().parent)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--copies", type=int, default=30, help="warped copies of each image")
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--min-accuracy", type=float, default=0.97, help="least int8 accuracy")
    args = parser.parse_args()
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")  # its sums vary with the processor
    os.environ["KERAS_BACKEND"] = "tensorflow"

    started = time.monotonic()
    split = load_split(args.seed)
    network = train(split, seed=args.seed, copies=args.copies, epochs=args.epochs, batch=args.batch)
    float_answers = np.asarray(network.predict(split.test_x, verbose=0))
    model = quantise(network, split.train_x)
    ops = check_structure(model)

    litert, source, sink = litert_runner(model)
    images = source.store(split.test_x)
    litert_answers = run_all(litert, images)
    tflm_answers = run_all(tflm_runner(model), images)
    int8_accuracy = accuracy(litert_answers, split.test_y)
    different = int(np.sum(np.any(litert_answers != tflm_answers, axis=1)))

    print(f"operators       {' '.join(ops)}")
    print(f"input           1x{SIDE}x{SIDE}x1 int8, {source}")
    print(f"output          1x{len(CLASSES)} int8, {sink}")
    print(f"parameters      {network.count_params()}")
    print(f"size            {len(model)} bytes")
    print(f"images          {len(split.train_y)} to train, {len(split.test_y)} held out")
    print(f"accuracy float  {accuracy(float_answers, split.test_y):.4f}")
    print(f"accuracy int8   {int8_accuracy:.4f} (LiteRT, reference kernels)")
    print(f"accuracy int8   {accuracy(tflm_answers, split.test_y):.4f} (TFLite Micro)")
    print(f"LiteRT and TFLite Micro differ on {different} of {len(images)} held-out images")
    print(f"took            {time.monotonic() - started:.0f} s")
    if int8_accuracy < args.min_accuracy:
        raise SystemExit(f"the int8 accuracy is below {args.min_accuracy}: nothing written")

    arrays, passed_over = pick_samples(images, split.test_y, litert_answers, tflm_answers)
    print(f"samples         {len(CLASSES)}, {passed_over} unrecognised passed over")
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "digits.tflite").write_bytes(model)
    save: Callable[..., None] = np.savez
    save(args.out / "digits.npz", **arrays)


if __name__ == "__main__":
    main()
