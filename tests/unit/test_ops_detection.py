"""TFLite_Detection_PostProcess: overlapping boxes, ties, classes, and options that are wrong."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pytest
from build_tflite import Node, build

from uhost.errors import MalformedModelError
from uhost.frontends.tflite import FRONTEND
from uhost.ops._examples import real
from uhost.ops._op import OPERATORS, evaluate, single
from uhost.ops.detection_postprocess import DetectionAttributes

FAST = DetectionAttributes(3, 1, 100, 0.5, 0.5, 2, 10.0, 10.0, 5.0, 5.0, False)
ANCHORS = np.array([[0, 0, 1, 1], [0.1, 0, 1, 1], [5, 5, 1, 1], [9, 9, 1, 1]], np.float32)


def detect(at: DetectionAttributes, scores: list[list[float]]) -> tuple[list[Any], list[Any], int]:
    """Returns classes and scores of the detections, and their number; boxes are the anchors."""
    results = at.max_detections * at.max_classes_per_detection
    boxes, kinds = real("e", (1, 4, 4)), real("s", (1, 4, len(scores[0])))
    inputs = [boxes, kinds, real("a", (4, 4), ANCHORS)]
    outputs = [real("b", (1, results, 4)), real("c", (1, results)), real("k", (1, results))]
    graph = single("d", "detection_postprocess", at, inputs, [*outputs, real("n", (1,))])
    feeds = {"e": np.zeros((1, 4, 4), np.float32), "s": np.array([scores], np.float32)}
    found = evaluate(graph, feeds)
    count = int(found["n"][0])
    assert not found["k"][0, count:].any()
    return found["c"][0, :count].tolist(), found["k"][0, :count].tolist(), count


def test_a_box_that_overlaps_a_better_one_is_dropped() -> None:
    scores = [[0.6, 0.0], [0.0, 0.75], [0.5, 0.0], [0.25, 0.25]]
    assert detect(FAST, scores) == ([1.0, 0.0], [0.75, 0.5], 2)


def test_of_equal_scores_the_first_box_and_the_first_class_win() -> None:
    scores = [[0.75, 0.75], [0.75, 0.0], [0.75, 0.0], [0.75, 0.0]]
    assert detect(FAST, scores) == ([0.0, 0.0, 0.0], [0.75] * 3, 3)


def test_several_classes_of_a_box_follow_one_another() -> None:
    two = replace(FAST, max_classes_per_detection=2, max_detections=2)
    scores = [[0.5, 0.75], [0.0, 0.0], [1.0, 0.25], [0.0, 0.0]]
    assert detect(two, scores) == ([0.0, 1.0, 1.0, 0.0], [1.0, 0.25, 0.75, 0.5], 4)


def test_the_background_is_no_class() -> None:
    scores = [[1.0, 0.6, 0.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.9], [1.0, 0.0, 0.0]]
    classes, _, count = detect(FAST, scores)
    assert (classes, count) == ([1.0, 0.0], 2)


def test_regularly_boxes_compete_within_a_class_only() -> None:
    regular = replace(FAST, use_regular_nms=True)
    scores = [[0.75, 0.5], [0.5, 1.0], [0.0, 0.0], [0.5, 0.0]]
    assert detect(regular, scores) == ([1.0, 0.0, 0.0], [1.0, 0.75, 0.5], 3)
    one_each = replace(regular, detections_per_class=1)
    assert detect(one_each, scores) == ([1.0, 0.0], [1.0, 0.75], 2)


def what(options: dict[str, Any], scores: int = 2) -> str:
    kinds = real("s", (1, 4, scores))
    anchors = real("a", (4, 4), ANCHORS)
    outputs = [real("b", (1, 3, 4)), real("c", (1, 3)), real("k", (1, 3)), real("n", (1,))]
    tensors = [real("e", (1, 4, 4)), kinds, anchors, *outputs]
    node = Node("CUSTOM:TFLite_Detection_PostProcess", ("e", "s", "a"), tuple("bckn"), options)
    with pytest.raises(MalformedModelError) as caught:
        FRONTEND.load(build(tensors, [node], ["e", "s"], list("bckn")), "m")
    return caught.value.what


def test_options_that_are_wrong() -> None:
    good = asdict(FAST)
    lacking = {name: value for name, value in good.items() if name != "num_classes"}
    assert what(lacking) == "the operator's options lack 'num_classes'"
    assert what(good | {"num_classes": "two"}).startswith("the operator's options cannot be read")
    assert what(good | {"y_scale": 0.0}) == "options out of range"
    assert what(good, scores=5) == "scores [1, 4, 5] of 2 classes"


def test_what_a_file_may_leave_out() -> None:
    example = next(iter(OPERATORS["detection_postprocess"].examples())).graph
    at = example.operators[0].attributes
    assert isinstance(at, DetectionAttributes)
    options = asdict(at)
    del options["use_regular_nms"], options["detections_per_class"]
    code = "CUSTOM:TFLite_Detection_PostProcess"
    node = Node(code, example.operators[0].inputs, example.operators[0].outputs, options)
    content = build(list(example.tensors.values()), [node], example.inputs, example.outputs)
    assert FRONTEND.load(content, "m").operators[0].attributes == at
