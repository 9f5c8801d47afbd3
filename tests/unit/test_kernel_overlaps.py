"""Statements of how far an output may run into its input, against the loops they describe."""

from __future__ import annotations

import pytest

from uhost.kernels._overlap import over_blocks, over_windows
from uhost.ops._window import Axis

Step = tuple[set[int], set[int], bool]
"""Bytes read, bytes written, and whether all are read before the first is written."""


def least_displacement(steps: list[Step]) -> int:
    """Returns the least displacement at which no byte is read after it was overwritten."""
    least = -(1 << 30)
    for read_step, (read, _, _) in enumerate(steps):
        for write_step, (_, written, reads_first) in enumerate(steps[: read_step + 1]):
            if write_step == read_step and reads_first:
                continue
            least = max(least, max(written) + 1 - min(read))
    return least


@pytest.mark.parametrize("pixels", [1, 2, 4, 5, 6, 7, 9])
@pytest.mark.parametrize("together", [1, 2, 4])
@pytest.mark.parametrize(("depth", "channels", "block"), [(3, 5, 5), (5, 3, 2), (4, 4, 2)])
def test_blocks_of_pixels(
    pixels: int, together: int, depth: int, channels: int, block: int
) -> None:
    together = min(together, pixels)
    steps: list[Step] = []
    for first in range(0, pixels, together):
        pixel = min(first, pixels - together)
        read = set(range(pixel * depth, (pixel + together) * depth))
        written = set(range(pixel * channels, (pixel + together) * channels))
        steps.append((read, written, channels <= block))
    blocks = {
        "pixels": pixels,
        "depth": depth,
        "channels_out": channels,
        "pixel_block": together,
        "channel_block": block,
    }
    stated = over_blocks(blocks, 1).least
    if len(steps) == 1 and channels <= block:
        assert stated is None
    else:
        assert stated == least_displacement(steps)


@pytest.mark.parametrize("together", [1, 2, 4])
@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("size", [(5, 5), (4, 7), (3, 2)])
def test_windows_whose_last_block_begins_early(
    together: int, stride: int, size: tuple[int, int]
) -> None:
    rows, columns = (Axis(n, 3, stride, 1, 1, 1) for n in size)
    depth, channels = 3, 4
    windows: list[set[int]] = []
    for y in range(rows.output):
        for x in range(columns.output):
            windows.append(
                {
                    ((top * columns.size) + left) * depth
                    for top in range(max(y * stride - 1, 0), min(y * stride + 2, rows.size))
                    for left in range(max(x * stride - 1, 0), min(x * stride + 2, columns.size))
                }
            )
    together = min(together, len(windows))
    steps: list[Step] = []
    for first in range(0, len(windows), together):
        pixel = min(first, len(windows) - together)
        read = set().union(*windows[pixel : pixel + together])
        steps.append((read, set(range(pixel * channels, (pixel + together) * channels)), True))
    again = -len(windows) % together
    stated = over_windows(rows, columns, depth, channels, together=together, again=again).least
    assert stated == (least_displacement(steps) if len(steps) > 1 else None)
