"""By how much a kernel's output may run into its input, from its order of reads and writes.

Input and output of one operator may share bytes where every byte is read for the last time
before the output overwrites it. Whether they do depends on how far the input begins behind
the output, the *displacement*. A kernel states the displacements its order of accesses
allows, as an interval; without a statement they may not share a byte. The functions here
compute it from that order, so that a statement is as long as the loop it describes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uhost.errors import VerifyError
from uhost.ir.graph import BoundOperator
from uhost.ops._window import Axis


@dataclass(frozen=True, slots=True)
class Overlap:
    """Input `input` may begin `least` to `most` bytes behind the output, both included.

    None is no limit. Negative: it begins before the output. With `scratch`, the scratch memory
    is meant in place of the output.
    """

    input: int
    least: int | None = None
    most: int | None = None
    scratch: bool = False


def forward(
    input: int, first_read: NDArray[Any], write_end: NDArray[Any], *, reads_first: bool = True
) -> Overlap:
    """Returns the overlap of a kernel that goes through both tensors in steps.

    `first_read` is the lowest byte of the input that each step reads, `write_end` the byte
    behind the last that it writes of the output. `reads_first`: no step reads after it has
    begun to write.
    """
    written = np.maximum.accumulate(np.asarray(write_end, np.int64))
    needed = np.minimum.accumulate(np.asarray(first_read, np.int64)[::-1])[::-1]
    if reads_first:
        written, needed = written[:-1], needed[1:]
    return Overlap(input, int((written - needed).max()) if len(written) else None)


def by_element(bound: BoundOperator[Any], input: int = 0) -> Overlap:
    """Returns the overlap of a kernel that reads an element for the last time, then writes its own.

    Input and output have as many elements, which go in the same order.
    """
    source, output = bound.input(input), bound.output
    if source.elements != output.elements:
        raise VerifyError(f"input {input} has other elements than the output", where=bound.name)
    # Behind a wider output the input has to end where the output ends.
    growth = output.dtype.size_bytes - source.dtype.size_bytes
    return Overlap(input, max(growth, 0) * max(output.elements - 1, 0))


def in_place() -> Overlap:
    """Returns the overlap of a kernel that may only write where it reads, element on element."""
    return Overlap(0, 0, 0)


def over_pixels(
    pixels: int,
    pixel_bytes: int,
    output_bytes: int,
    *,
    together: int = 2,
    again: int = 0,
    reads_first: bool = True,
) -> Overlap:
    """Returns the overlap of a kernel that maps each pixel to one, `together` at a time.

    `reads_first`: all pixels of a step are read before the first is written. `again`: the last
    step begins so many pixels early, at ones that were read and written before.
    """
    starts = np.arange(0, pixels, together)
    ends = np.minimum(starts + together, pixels)
    if again:
        starts[-1] -= again
    return forward(0, starts * pixel_bytes, ends * output_bytes, reads_first=reads_first)


def over_blocks(blocks: Mapping[str, int], element_bytes: int) -> Overlap:
    """Returns the overlap of a product of pixels as they lie in memory, by blocks.

    `blocks` has `pixels`, `depth`, `channels_out`, and of a block `pixel_block` and
    `channel_block`. Each block of channels reads the pixels again; the last block of pixels
    ends with the last one.
    """
    pixels, together = blocks["pixels"], blocks["pixel_block"]
    return over_pixels(
        pixels,
        blocks["depth"] * element_bytes,
        blocks["channels_out"] * element_bytes,
        together=together,
        again=-pixels % together,
        reads_first=blocks["channels_out"] <= blocks["channel_block"],
    )


def over_windows(
    rows: Axis,
    columns: Axis,
    pixel_bytes: int,
    output_bytes: int,
    *,
    together: int = 1,
    again: int = 0,
    reads_first: bool = True,
) -> Overlap:
    """Returns the overlap of a kernel whose windows follow the image, `together` at a time.

    Taps in the padding before the image read nothing. `reads_first`: all of a step's windows
    are read before its first output is written. `again`: the last step begins so many windows
    early, at ones that were read and written before.
    """
    tops = np.maximum(np.arange(rows.output) * rows.stride - rows.before, 0)
    lefts = np.maximum(np.arange(columns.output) * columns.stride - columns.before, 0)
    reads = ((tops[:, None] * columns.size + lefts) * pixel_bytes).reshape(-1)
    ends = np.arange(1, len(reads) + 1) * output_bytes
    early = reads[max(len(reads) - len(reads) % together - again, 0) :] if again else reads[:0]
    missing = -len(reads) % together
    reads = np.pad(reads, (0, missing), "edge").reshape(-1, together).min(axis=1)
    ends = np.pad(ends, (0, missing), "edge").reshape(-1, together).max(axis=1)
    if len(early):
        reads[-1] = early.min()
    return forward(0, reads, ends, reads_first=reads_first)
