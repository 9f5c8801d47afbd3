"""What the two kinds of resizing an image share: options, shapes, import."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from uhost.ir.dtype import DType
from uhost.ir.graph import Attributes, BoundOperator
from uhost.ops._checks import require
from uhost.ops._movement import misfit
from uhost.ops._op import Imported, SourceNode
from uhost.ops._tflite import check_counts, constant_integers, malformed, options_table


@dataclass(frozen=True, slots=True)
class ResizeAttributes(Attributes):
    """`size` is (rows, columns) of the output.

    `align_corners`: the centres of the corner pixels stay; `half_pixel_centers`: those of the
    pixels lie half a pixel from the border. `unsigned`: the file's types are uint8, between
    which LiteRT interpolates in float32.
    """

    size: tuple[int, int]
    align_corners: bool
    half_pixel_centers: bool
    unsigned: bool = False


def infer_resize(bound: BoundOperator[ResizeAttributes]) -> tuple[tuple[int, ...], DType]:
    """Returns the output's shape and type after checking ranks and options."""
    source, at = bound.input(0), bound.attributes
    if len(source.shape) != 4 or min(at.size) < 1:
        raise misfit(bound, f"{list(source.shape)} resized to {list(at.size)}")
    # One excludes the other in TensorFlow, and LiteRT refuses such a file.
    require(
        not (at.align_corners and at.half_pixel_centers),
        "align_corners together with half_pixel_centers",
    )
    return (source.shape[0], *at.size, source.shape[3]), source.dtype


def import_resize(node: SourceNode, table: str, *, unsigned: bool = False) -> Imported:
    """Returns the imported form of a node whose options are the schema's table `table`."""
    source, operand = check_counts(node, 2)
    options: Any = options_table(node, table)
    size = constant_integers(node, operand, "size")
    if len(size) != 2:
        raise malformed(node, f"a size of {len(size)} numbers")
    corners, halves = False, False
    if options is not None:
        corners, halves = bool(options.AlignCorners()), bool(options.HalfPixelCenters())
    return Imported(ResizeAttributes((size[0], size[1]), corners, halves, unsigned), (source,))


def resize_cases() -> Iterator[tuple[str, tuple[int, ...], ResizeAttributes]]:
    """Yields (name, input shape, attributes) that both operators have examples of."""

    def at(rows: int, columns: int, corners: bool = False, halves: bool = False) -> Any:
        return ResizeAttributes((rows, columns), corners, halves)

    yield "double", (1, 3, 4, 5), at(6, 8)
    yield "double_half_pixels", (1, 3, 2, 3), at(6, 4, halves=True)
    yield "corners", (1, 3, 4, 2), at(7, 6, corners=True)
    yield "odd", (2, 4, 3, 2), at(7, 5)
    yield "odd_half_pixels", (1, 4, 7, 3), at(9, 10, halves=True)
    yield "smaller", (1, 8, 6, 4), at(4, 3)
    yield "smaller_half_pixels", (1, 9, 7, 2), at(4, 3, halves=True)
    yield "smaller_corners", (1, 9, 7, 2), at(4, 3, corners=True)
    yield "from_one", (1, 1, 1, 3), at(4, 5, halves=True)
    yield "to_one", (1, 5, 4, 3), at(1, 1, corners=True)


def result_shape(shape: Sequence[int], at: ResizeAttributes) -> tuple[int, ...]:
    """Returns the shape of the resized image."""
    return (shape[0], *at.size, shape[3])
