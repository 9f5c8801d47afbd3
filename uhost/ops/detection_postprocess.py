"""The best boxes of an object detector that do not overlap, by classes.

Inputs, float32: box encodings (1, n, at least 4) as centre y, x, height, width, scores
(1, n, classes, perhaps with one in front for the background), anchors (n, 4) in the order of
encodings. Outputs, float32: boxes (1, m, 4) as ymin, xmin, ymax, xmax, classes (1, m), scores
(1, m), how many of them count (1,); what is behind is 0.
Source: TFLite Micro, "detection_postprocess.cc".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from flatbuffers import flexbuffers

from uhost.ir.dtype import DType
from uhost.ir.graph import Attributes, BoundOperator
from uhost.ir.tensor import Array
from uhost.ops._checks import require, require_dtype
from uhost.ops._examples import real
from uhost.ops._movement import misfit
from uhost.ops._op import Example, Imported, OperatorKind, SourceNode, single
from uhost.ops._signal import OPTIONS_DAMAGED
from uhost.ops._tflite import malformed

_COORDINATES = 4


@dataclass(frozen=True, slots=True)
class DetectionAttributes(Attributes):
    """As the options are called.

    With `use_regular_nms` boxes compete within a class, and up to `detections_per_class` of each
    with those of others; else a box competes by its best class, and has its
    `max_classes_per_detection` best ones among the results.
    """

    max_detections: int
    max_classes_per_detection: int
    detections_per_class: int
    nms_score_threshold: float
    nms_iou_threshold: float
    num_classes: int
    y_scale: float
    x_scale: float
    h_scale: float
    w_scale: float
    use_regular_nms: bool

    @property
    def classes_per_box(self) -> int:
        """How many results a box that is chosen gives."""
        if self.use_regular_nms:
            return 1
        return min(self.max_classes_per_detection, self.num_classes)


def _infer(bound: BoundOperator[DetectionAttributes]) -> Sequence[tuple[tuple[int, ...], DType]]:
    boxes, scores, anchors, at = bound.input(0), bound.input(1), bound.input(2), bound.attributes
    require_dtype(boxes, DType.FLOAT32)
    require_dtype(scores, DType.FLOAT32)
    require_dtype(anchors, DType.FLOAT32)
    fits = len(boxes.shape) == len(scores.shape) == 3 and boxes.shape[2] >= _COORDINATES
    if not fits or anchors.shape != (boxes.shape[1], _COORDINATES):
        raise misfit(
            bound,
            f"boxes {list(boxes.shape)}, scores {list(scores.shape)}, "
            f"anchors {list(anchors.shape)}",
        )
    require(boxes.shape[0] == 1, f"a batch of {boxes.shape[0]}")
    background = scores.shape[2] - at.num_classes
    if scores.shape[:2] != boxes.shape[:2] or background not in (0, 1) or at.num_classes < 1:
        raise misfit(bound, f"scores {list(scores.shape)} of {at.num_classes} classes")
    counts = (at.max_detections, at.max_classes_per_detection, at.detections_per_class)
    scales = (at.y_scale, at.x_scale, at.h_scale, at.w_scale)
    if min(counts) < 1 or 0.0 in scales or not 0.0 < at.nms_iou_threshold <= 1.0:
        raise misfit(bound, "options out of range")
    results = at.max_detections * at.max_classes_per_detection
    made = [(1, results, _COORDINATES), (1, results), (1, results), (1,)]
    return [(shape, DType.FLOAT32) for shape in made]


def _decoded(at: DetectionAttributes, boxes: Array, anchors: Array) -> Array:
    """Returns corners, computed in double and rounded to float32."""
    encoded, anchor = boxes[:, :_COORDINATES].astype(np.float64), anchors.astype(np.float64)
    scale = np.array([at.y_scale, at.x_scale, at.h_scale, at.w_scale], np.float32)
    encoded = encoded / scale.astype(np.float64)
    centre = (encoded[:, :2] * anchor[:, 2:] + anchor[:, :2]).astype(np.float32)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        half = (0.5 * np.exp(encoded[:, 2:]) * anchor[:, 2:]).astype(np.float32)
        return np.concatenate([centre - half, centre + half], axis=1)


def _overlaps(boxes: Array, chosen: int, most: float) -> Array:
    """Returns which boxes have more than `most` of the union with the chosen one in common."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        size = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
        low = np.maximum(boxes[:, :2], boxes[chosen, :2])
        high = np.minimum(boxes[:, 2:], boxes[chosen, 2:])
        common = np.prod(np.maximum(high - low, np.float32(0)), axis=1)
        shared = common / (size + size[chosen] - common)
    found: Array = (size > 0) & (size[chosen] > 0) & (shared > np.float32(most))
    return found


def _chosen(at: DetectionAttributes, boxes: Array, scores: Array, limit: int) -> list[int]:
    """Returns the best boxes by descending score, without those that overlap a better one."""
    active = scores >= np.float32(at.nms_score_threshold)
    found: list[int] = []
    while active.any() and len(found) < limit:
        # The first of equal ones, as a stable sort would put it in front.
        best = int(np.flatnonzero(active)[np.argmax(scores[active])])
        found.append(best)
        active &= ~_overlaps(boxes, best, at.nms_iou_threshold)
        active[best] = False
    return found


def _reference(
    bound: BoundOperator[DetectionAttributes], inputs: Sequence[Array | None]
) -> Sequence[Array]:
    encodings, scores, anchors = inputs[0], inputs[1], inputs[2]
    assert encodings is not None
    assert scores is not None
    assert anchors is not None
    at = bound.attributes
    boxes = _decoded(at, encodings[0], anchors)
    classes = scores[0][:, scores.shape[2] - at.num_classes :]
    results: list[tuple[int, int]] = []
    if at.use_regular_nms:
        for number in range(at.num_classes):
            column = classes[:, number]
            limit = min(at.detections_per_class, boxes.shape[0])
            results += [(box, number) for box in _chosen(at, boxes, column, limit)]
            results.sort(key=lambda one: -classes[one])
            del results[at.max_detections :]
    else:
        for box in _chosen(at, boxes, classes.max(axis=1), at.max_detections):
            best = np.argsort(-classes[box], kind="stable")[: at.classes_per_box]
            results += [(box, int(number)) for number in best]
    made = [np.zeros(tensor.shape, np.float32) for tensor in bound.outputs]
    for place, (box, number) in enumerate(results):
        made[0][0, place] = boxes[box]
        made[1][0, place] = number
        made[2][0, place] = classes[box, number]
    made[3][0] = len(results)
    return made


_PER_CLASS = 100
"""Detections per class where the file does not say."""


def _import_tflite(node: SourceNode) -> Imported:
    if len(node.inputs) != 3 or len(node.outputs) != 4 or None in node.inputs:
        raise malformed(
            node, f"the operator has {len(node.inputs)} inputs and {len(node.outputs)} outputs"
        )
    content = node.options if isinstance(node.options, bytes) else b""
    try:
        options: dict[str, Any] = flexbuffers.GetRoot(content).AsMap.Value
        attributes = DetectionAttributes(
            max_detections=int(options["max_detections"]),
            max_classes_per_detection=int(options["max_classes_per_detection"]),
            detections_per_class=int(options.get("detections_per_class", _PER_CLASS)),
            nms_score_threshold=float(np.float32(options["nms_score_threshold"])),
            nms_iou_threshold=float(np.float32(options["nms_iou_threshold"])),
            num_classes=int(options["num_classes"]),
            y_scale=float(np.float32(options["y_scale"])),
            x_scale=float(np.float32(options["x_scale"])),
            h_scale=float(np.float32(options["h_scale"])),
            w_scale=float(np.float32(options["w_scale"])),
            use_regular_nms=bool(options.get("use_regular_nms", False)),
        )
    except KeyError as error:
        raise malformed(node, f"the operator's options lack {error}") from error
    except OPTIONS_DAMAGED as error:
        raise malformed(node, f"the operator's options cannot be read: {error}") from error
    return Imported(attributes, node.inputs)


def _examples() -> Iterable[Example]:
    def case(name: str, boxes: int, background: bool, attributes: DetectionAttributes) -> Example:
        random = np.random.default_rng(boxes)
        centres, sizes = random.uniform(0, 1, (boxes, 2)), random.uniform(0.1, 0.5, (boxes, 2))
        anchors = np.concatenate([centres, sizes], axis=1).astype(np.float32)
        results = attributes.max_detections * attributes.max_classes_per_detection
        inputs = [
            real("encodings", (1, boxes, 4)),
            real("scores", (1, boxes, attributes.num_classes + background)),
            real("anchors", (boxes, 4), anchors),
        ]
        outputs = [
            real("boxes", (1, results, 4)),
            real("classes", (1, results)),
            real("kept_scores", (1, results)),
            real("count", (1,)),
        ]
        graph = single(name, "detection_postprocess", attributes, inputs, outputs)
        return Example(name, graph, ("regular" if attributes.use_regular_nms else "fast",))

    scales, threshold = (10.0, 10.0, 5.0, 5.0), float(np.float32(0.3))
    for regular in (False, True):
        name = "regular" if regular else "fast"
        at = DetectionAttributes(5, 1, 100, threshold, 0.5, 3, *scales, regular)
        yield case(name, 20, True, at)
        at = DetectionAttributes(30, 1, 2, threshold, 0.25, 4, *scales, regular)
        yield case(f"{name}_all_kept", 12, False, at)
    at = DetectionAttributes(6, 2, 100, threshold, 0.5, 3, *scales, False)
    yield case("fast_two_classes", 20, False, at)


OPERATOR = OperatorKind(
    name="detection_postprocess",
    attributes=DetectionAttributes,
    infer=_infer,
    reference=_reference,
    importers={"tflite": {"CUSTOM:TFLite_Detection_PostProcess": _import_tflite}},
    examples=_examples,
)
