"""TFLite_Detection_PostProcess in portable C: the best box again and again, without a sort."""

from __future__ import annotations

from dataclasses import asdict

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall, Parameter
from uhost.kernels.reference._parameters import input_parameter, takes_anything
from uhost.ops.detection_postprocess import DetectionAttributes


def _lower(bound: BoundOperator[DetectionAttributes]) -> KernelCall:
    encodings, scores, at = bound.input(0), bound.input(1), bound.attributes
    count = encodings.shape[1]
    values = asdict(at) | {
        "boxes": count,
        "encoding": encodings.shape[2],
        "width": scores.shape[2],
        "background": scores.shape[2] - at.num_classes,
        "per_class": min(at.detections_per_class, count),
        "per_box": at.classes_per_box,
        "results": bound.outputs[1].elements,
    }
    names = ("boxes", "classes", "kept_scores", "kept")
    return KernelCall(
        "reference",
        "detection_postprocess",
        values,
        (
            input_parameter(encodings, "encodings", 0),
            input_parameter(scores, "scores", 1),
            input_parameter(bound.input(2), "anchors", 2),
            *(Parameter(name, "float *", "output", i) for i, name in enumerate(names)),
            Parameter("decoded", "float *", "scratch"),
        ),
        # Corners of every box, the score by which it competes, whether it still does.
        scratch_bytes=(4 + 1) * 4 * count + count,
        includes=("float_exp_any", "rival_boxes"),
    )


KERNEL = Kernel(operator="detection_postprocess", supports=takes_anything, lower=_lower)
