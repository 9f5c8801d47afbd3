"""Images: cut and resized to a model's input, their pixels normalised and quantised."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from uhost.errors import ConfigError
from uhost.inputs._input import InputFile, InputKind, Prepared, as_input

if TYPE_CHECKING:
    from uhost.ir.tensor import Array, Tensor

_Deviation = Annotated[float, Meta(gt=0)]


class ImageOptions(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="image"
):
    """How an image becomes a model's input."""

    channels: (
        Annotated[
            Literal["grayscale", "rgb"],
            Meta(
                description="Read as. Default: what the input has; grayscale for an input of 3 "
                "channels gives it three equal ones."
            ),
        ]
        | UnsetType
    ) = UNSET
    pixels: Annotated[
        Literal["unsigned", "signed"],
        Meta(
            description="signed: the file's bytes are numbers from -128 to 127, as in the test "
            "images of tflite-micro; they are read as 0 to 255."
        ),
    ] = "unsigned"
    crop: Annotated[
        Literal["center", "none"],
        Meta(description="center: cut to the input's proportions; none: stretch."),
    ] = "center"
    resize: Annotated[
        Literal["bilinear", "nearest"],
        Meta(description="How pixels are made, where the size differs from the input's."),
    ] = "bilinear"
    mean: (
        Annotated[
            float | tuple[float, ...],
            Meta(
                description="Of pixels from 0 to 255, or one per channel: the input is "
                "(pixel - mean) / std. Default: 0, where std is given."
            ),
        ]
        | UnsetType
    ) = UNSET
    std: (
        Annotated[
            _Deviation | tuple[_Deviation, ...],
            Meta(
                description="See mean; 1, where mean is given. Default of both: floats from 0 to "
                "1; an 8-bit input takes the pixel's byte, less 128 where it is signed."
            ),
        ]
        | UnsetType
    ) = UNSET


@dataclass(frozen=True, slots=True)
class _Frame:
    """What an image input holds: pixels high and wide, channels, and where these lie."""

    height: int
    width: int
    channels: int
    channels_first: bool


def _read(file: InputFile) -> Prepared:
    from uhost.runtime.samples import Sample, Samples, only_input

    options = file.options or ImageOptions()
    tensor = only_input(file.graph, file.path)
    frame = _frame(tensor, file.path)
    pixels, shaped = _pixels(file.path, frame, options)
    values, normalised = _normalised(pixels, tensor, frame, options, file)
    if frame.channels_first:
        values = values.transpose(2, 0, 1)
    sample = Sample({0: values.reshape(tensor.shape)})
    return Prepared(Samples((sample,)), f"{shaped}; {normalised}")


def _frame(tensor: Tensor, path: Path) -> _Frame:
    if len(tensor.shape) == 4 and tensor.shape[0] == 1:
        _, *sizes = tensor.shape
        if sizes[2] in (1, 3):
            return _Frame(sizes[0], sizes[1], sizes[2], False)
        if sizes[0] in (1, 3):
            return _Frame(sizes[1], sizes[2], sizes[0], True)
    shape = "x".join(map(str, tensor.shape)) or "scalar"
    raise ConfigError(
        "an image needs an input of one image of 1 or 3 channels, as 1x96x96x3; "
        f"'{tensor.name}' is {shape}",
        where=str(path),
        fix="prepare the image yourself and give it as .npy",
    )


def _pixels(path: Path, frame: _Frame, options: ImageOptions) -> tuple[Array, str]:
    """Returns the pixels as uint8 of height x width x channels, and what was done."""
    try:
        from PIL import Image, ImageOps
    except ImportError as error:
        raise ConfigError(
            "images are read by Pillow, which is not installed",
            where=str(path),
            fix="pip install 'uhost[images]'",
        ) from error
    import numpy as np

    gray = frame.channels == 1 if options.channels is UNSET else options.channels == "grayscale"
    if not gray and frame.channels == 1:
        raise ConfigError(
            "the input has one channel, the project file reads images as rgb",
            where=str(path),
            fix="write channels: grayscale in run.preprocess, or leave it out",
        )
    try:
        with Image.open(path) as opened:
            image: Any = ImageOps.exif_transpose(opened).convert("L" if gray else "RGB")
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise ConfigError(
            f"the image cannot be read: {_reason(error, path)}",
            where=str(path),
            fix="save it again as BMP, PNG, JPEG or PPM",
        ) from error
    done = [f"{image.width} x {image.height} {'grayscale' if gray else 'RGB'}"]
    if options.pixels == "signed":
        image = image.point([value ^ 0x80 for value in range(256)] * len(image.getbands()))
        done.append("bytes are signed")
    if options.crop == "center":
        box = _middle(image.width, image.height, frame)
        cut = (box[2] - box[0], box[3] - box[1])
        if cut != image.size:
            image = image.crop(box)
            done.append(f"cut to the middle {cut[0]} x {cut[1]}")
    if image.size != (frame.width, frame.height):
        filters = {"bilinear": Image.Resampling.BILINEAR, "nearest": Image.Resampling.NEAREST}
        image = image.resize((frame.width, frame.height), filters[options.resize])
        done.append(f"resized ({options.resize}) to {frame.width} x {frame.height}")
    pixels = np.asarray(image, np.uint8).reshape(frame.height, frame.width, 1 if gray else 3)
    if gray and frame.channels == 3:
        pixels = np.repeat(pixels, 3, axis=2)
        done.append("repeated in 3 channels")
    return pixels, ", ".join(done)


def _reason(error: Exception, path: Path) -> str:
    from PIL import UnidentifiedImageError

    if isinstance(error, UnidentifiedImageError):
        return f"'{path.name}' holds no image of a known format"
    return str(error)


def _middle(width: int, height: int, frame: _Frame) -> tuple[int, int, int, int]:
    """Returns left, top, right, bottom of the largest middle part of the input's proportions."""
    cut_width = max(1, min(width, height * frame.width // frame.height))
    cut_height = max(1, min(height, width * frame.height // frame.width))
    left, top = (width - cut_width) // 2, (height - cut_height) // 2
    return left, top, left + cut_width, top + cut_height


def _normalised(
    pixels: Array, tensor: Tensor, frame: _Frame, options: ImageOptions, file: InputFile
) -> tuple[Array, str]:
    """Returns the pixels as values of the input, and what was done."""
    import numpy as np

    from uhost.runtime.samples import quantization_text

    kind = tensor.dtype.numpy
    if options.mean is UNSET and options.std is UNSET:
        if kind == np.uint8:
            return pixels, "a pixel's byte is the uint8 input"
        if kind == np.int8:
            return (pixels.astype(np.int16) - 128).astype(np.int8), "int8 input is pixel - 128"
        mean, std, words = np.zeros(1), np.full(1, 255.0), "pixel / 255"
    else:
        mean = _per_channel("mean", 0.0 if options.mean is UNSET else options.mean, frame, file)
        std = _per_channel("std", 1.0 if options.std is UNSET else options.std, frame, file)
        words = f"(pixel - {_spelt(mean)}) / {_spelt(std)}"
    real = (pixels.astype(np.float32) - mean.astype(np.float32)) / std.astype(np.float32)
    text = f"input is {words}"
    if kind.kind != "f" and tensor.quantization is not None:
        text += f", quantised to {tensor.dtype} with {quantization_text(tensor)}"
    return as_input(real, file), text


def _per_channel(
    key: str, value: float | tuple[float, ...], frame: _Frame, file: InputFile
) -> Array:
    import numpy as np

    values = np.array(value, np.float64).reshape(-1)
    if len(values) not in (1, frame.channels):
        raise ConfigError(
            f"'{key}' has {len(values)} values, the input {frame.channels} channel"
            f"{'s' if frame.channels != 1 else ''}",
            where=f"{file.path}, run.preprocess",
            fix="give one number, or one for every channel",
        )
    return values


def _spelt(values: Array) -> str:
    text = ", ".join(f"{value:g}" for value in values)
    return text if len(values) == 1 else f"[{text}]"


INPUT = InputKind((".bmp", ".jpeg", ".jpg", ".pgm", ".png", ".ppm"), _read, options=ImageOptions)
