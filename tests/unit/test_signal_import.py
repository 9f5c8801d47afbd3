"""What the signal operators refuse, and names of the states they bring."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from build_tflite import Node, build, from_graph

from uhost.errors import MalformedModelError, UnsupportedOperatorError
from uhost.frontends.tflite import FRONTEND
from uhost.ir.dtype import DType
from uhost.ir.graph import Graph
from uhost.ir.tensor import Tensor
from uhost.ops._op import OPERATORS, evaluate


def example(kind: str) -> Graph:
    return next(iter(OPERATORS[kind].examples())).graph


def changed(kind: str, **attributes: object) -> bytes:
    """Returns the file of an operator's first example with other options."""
    graph = example(kind)
    (operator,) = graph.operators
    at = replace(operator.attributes, **attributes)  # type: ignore[type-var]
    operator = replace(operator, attributes=at)
    return from_graph(graph.with_operators((operator,)))


@pytest.mark.parametrize(
    ("kind", "attributes", "reason"),
    [
        ("signal_rfft", {"fft_length": 44}, "a transform of 44 numbers: a factor of 11"),
        ("signal_rfft", {"fft_length": 33}, "a transform of 33 numbers"),
        ("signal_rfft", {"fft_length": 20}, "30 samples for a transform of 20"),
        ("signal_window", {"shift": -1}, "the shift is -1"),
        ("signal_delay", {"delay_length": -3}, "the delay is too long"),
        ("signal_framer", {"frame_step": 0}, "frames of 6 samples every 0"),
        ("signal_overlap_add", {"frame_step": 0}, "frames every 0 samples"),
        ("signal_stacker", {"stacker_step": 9}, "a stack every 9 frames"),
        ("circular_buffer", {"cycles_max": 1 << 31}, "cycles of 2147483648 runs"),
        ("circular_buffer", {"cycles_max": 0}, "its options do not say when a run goes on"),
    ],
)
def test_options_out_of_range_are_refused(
    kind: str, attributes: dict[str, int], reason: str
) -> None:
    with pytest.raises(UnsupportedOperatorError) as caught:
        FRONTEND.load(changed(kind, **attributes), "model")
    assert reason in caught.value.what


@pytest.mark.parametrize(
    ("kind", "attributes", "reason"),
    [
        ("signal_energy", {"end_index": 99}, "bins 0 to 99 of a spectrum of 66 numbers"),
        ("signal_filter_bank", {"num_channels": 9}, "for 9 channels"),
        ("signal_framer", {"frame_step": 3}, "8 samples are no multiple of the step 3"),
        ("signal_stacker", {"num_channels": 4}, "a frame of 5 numbers, not 4"),
    ],
)
def test_options_that_contradict_the_tensors_are_malformed(
    kind: str, attributes: dict[str, int], reason: str
) -> None:
    with pytest.raises(MalformedModelError, match=reason):
        FRONTEND.load(changed(kind, **attributes), "model")


def test_options_that_are_missing_or_damaged_are_malformed() -> None:
    content = from_graph(example("signal_window"))
    assert content.count(b"shift\0") == 1
    with pytest.raises(MalformedModelError, match="the operator's options lack 'shift'"):
        FRONTEND.load(content.replace(b"shift\0", b"shaft\0"), "model")
    at = content.index(b"shift\0")
    for place in range(at + 6, at + 18):
        for byte in (0, 7, 36, 255):
            damaged = bytearray(content)
            damaged[place] = byte
            try:
                FRONTEND.load(bytes(damaged), "model")
            except (MalformedModelError, UnsupportedOperatorError):
                continue


def test_a_band_outside_the_energies_is_malformed() -> None:
    graph = example("signal_filter_bank")
    starts = graph.tensors["first_bins"]
    moved = replace(starts, values=starts.constant() + np.int16(20))
    content = from_graph(replace(graph, tensors={**graph.tensors, "first_bins": moved}))
    with pytest.raises(MalformedModelError, match="of 33 bins and 23 weights"):
        FRONTEND.load(content, "model")


def test_a_state_takes_no_name_that_the_file_has() -> None:
    """Two delays, whose state would be called like the input of both."""
    names = {"out_delayed": "in", "out": "out", "out_2": "out"}
    tensors = [Tensor(name, (4,), DType.INT16) for name in names]
    nodes = [
        Node("CUSTOM:SignalDelay", ("out_delayed",), (output,), {"delay_length": delay})
        for output, delay in (("out", 2), ("out_2", 3))
    ]
    graph = FRONTEND.load(build(tensors, nodes, ["out_delayed"], ["out", "out_2"]), "model")
    assert len(graph.states) == 2
    assert not set(graph.states) & set(names)
    values = evaluate(graph, {"out_delayed": np.arange(1, 5, dtype=np.int16)})
    assert values["out"].tolist() == [0, 0, 1, 2]
    assert values["out_2"].tolist() == [0, 0, 0, 1]
