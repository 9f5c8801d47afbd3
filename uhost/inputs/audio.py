"""Recordings: samples of a WAV file, or the features that a model makes of their windows."""

from __future__ import annotations

import wave
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from uhost.errors import ConfigError
from uhost.inputs._input import InputFile, InputKind, Prepared, as_input

if TYPE_CHECKING:
    from uhost.ir.tensor import Array, Tensor

FULL_SCALE = 32768
"""What 16-bit samples are divided by where a model takes floats: they are then in [-1, 1)."""


class AudioOptions(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="audio"
):
    """How a recording becomes a model's input."""

    model: (
        Annotated[
            str,
            Meta(
                description="A model that makes features of one window; those of several windows "
                "are the input. It runs on this machine. Default: samples are the input."
            ),
        ]
        | UnsetType
    ) = UNSET
    window_ms: Annotated[float, Meta(gt=0, description="What the model of features takes.")] = 30.0
    stride_ms: Annotated[
        float, Meta(gt=0, description="From the start of one window to that of the next.")
    ] = 20.0


def _read(file: InputFile) -> Prepared:
    options = file.options or AudioOptions()
    samples, rate_hz = _samples(file.path)
    heard = f"{len(samples) / rate_hz:.3f} s at {rate_hz:,} Hz"
    if options.model is UNSET:
        return _from_samples(file, samples, rate_hz, heard)
    return _from_features(file, options, samples, rate_hz, heard)


def _samples(path: Path) -> tuple[Array, int]:
    """Returns the samples as int16, and how many of them are a second."""
    import numpy as np

    try:
        with wave.open(str(path)) as opened:
            rate_hz, channels = opened.getframerate(), opened.getnchannels()
            bits = 8 * opened.getsampwidth()
            content = opened.readframes(opened.getnframes())
    except (wave.Error, EOFError) as error:
        raise ConfigError(
            f"the recording cannot be read: {str(error) or 'it ends too early'}",
            where=str(path),
            fix=_convert(path),
        ) from error
    if channels != 1 or bits != 16:
        raise ConfigError(
            f"a recording has one channel of 16-bit samples, this has {channels} of {bits} bits",
            where=str(path),
            fix=_convert(path),
        )
    samples = np.frombuffer(content[: len(content) // 2 * 2], "<i2").astype(np.int16)
    if not len(samples) or rate_hz <= 0:
        raise ConfigError("the recording holds no samples", str(path), "record it again")
    return samples, rate_hz


def _convert(path: Path) -> str:
    return f"convert it: ffmpeg -i {path.name} -ac 1 -c:a pcm_s16le {path.stem}-16bit.wav"


def _from_samples(file: InputFile, samples: Array, rate_hz: int, heard: str) -> Prepared:
    import numpy as np

    from uhost.runtime.samples import Sample, Samples, only_input

    tensor = only_input(file.graph, file.path)
    count = tensor.elements
    samples, fitted = _fitted(samples, count, count, rate_hz)
    if tensor.dtype.numpy == np.int16:
        values, how = samples, "as they are"
    else:
        values = as_input(samples.astype(np.float32) / np.float32(FULL_SCALE), file)
        how = f"divided by {FULL_SCALE:,}"
        how += ", quantised" if tensor.dtype.numpy.kind != "f" else ""
    rows = values.reshape(-1, *tensor.shape)
    done = f"{heard}{fitted}; {_many(len(rows), 'input')} of {count:,} samples, {how}"
    return Prepared(Samples(tuple(Sample({0: row}) for row in rows)), done)


def _from_features(
    file: InputFile, options: AudioOptions, samples: Array, rate_hz: int, heard: str
) -> Prepared:
    import numpy as np

    from uhost.runtime.samples import Sample, Samples, only_input

    assert isinstance(options.model, str)
    tensor = only_input(file.graph, file.path)
    model = Path(options.model)
    window = round(options.window_ms * rate_hz / 1000)
    stride = round(options.stride_ms * rate_hz / 1000)
    if stride < 1:
        raise ConfigError(
            f"stride_ms: {options.stride_ms:g} is less than a sample at {rate_hz:,} Hz",
            where=f"{file.path}, run.preprocess",
            fix="give a longer stride",
        )
    with file.start(model) as executor:
        if len(executor.inputs) != 1 or executor.inputs[0].elements != window:
            takes = " and ".join(f"{one.elements:,} values" for one in executor.inputs)
            raise ConfigError(
                f"'{model.name}' takes {takes}, a window of {options.window_ms:g} ms at "
                f"{rate_hz:,} Hz has {window:,} samples",
                where=f"{file.path}, run.preprocess",
                fix="set window_ms, or give a recording of the rate that the model was made for",
            )
        per_window = executor.outputs[0].elements
        if not per_window or tensor.elements % per_window:
            raise ConfigError(
                f"'{model.name}' gives {per_window:,} features of a window, which does not "
                f"divide the {tensor.elements:,} values of the input '{tensor.name}'",
                where=f"{file.path}, run.preprocess",
                fix="name the model that makes this model's features",
            )
        windows = tensor.elements // per_window
        samples, fitted = _fitted(
            samples, window + (windows - 1) * stride, windows * stride, rate_hz
        )
        begins = range(0, len(samples) - window + 1, stride)
        features = []
        for begin in begins:
            heard_now = samples[begin : begin + window].reshape(executor.inputs[0].shape)
            if executor.inputs[0].numpy.kind == "f":
                heard_now = heard_now.astype(np.float32) / np.float32(FULL_SCALE)
            executor.set_input(0, heard_now)
            executor.run()
            features.append(executor.get_output(0).reshape(-1))
    rows = _as_taken(np.concatenate(features), tensor, model, file).reshape(-1, *tensor.shape)
    done = (
        f"{heard}{fitted}; {len(features)} windows of {options.window_ms:g} ms every "
        f"{options.stride_ms:g} ms through {model.name}; "
        f"{_many(len(rows), 'input')} of {windows} x {per_window} features"
    )
    return Prepared(Samples(tuple(Sample({0: row}) for row in rows)), done)


def _as_taken(features: Array, tensor: Tensor, model: Path, file: InputFile) -> Array:
    """Returns features in the input's type: of the same type as they are, floats quantised."""
    if features.dtype == tensor.dtype.numpy:
        return features
    if features.dtype.kind == "f":
        return as_input(features, file)
    raise ConfigError(
        f"'{model.name}' gives features of {features.dtype}, the input '{tensor.name}' takes "
        f"{tensor.dtype}",
        where=f"{file.path}, run.preprocess",
        fix="name the model that makes this model's features",
    )


def _fitted(samples: Array, first: int, each: int, rate_hz: int) -> tuple[Array, str]:
    """Returns the samples of whole inputs, and what was done to have them.

    The first input takes `first` samples, every further one `each` more. A recording too
    short for one input ends in silence; what is left over at the end is left out.
    """
    import numpy as np

    missing = first - len(samples)
    if missing > 0:
        return np.pad(samples, (0, missing)), f", then {missing / rate_hz:.3f} s of silence"
    used = first + (len(samples) - first) // each * each
    left = len(samples) - used
    return samples[:used], f", the last {left / rate_hz:.3f} s left out" if left else ""


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' if count != 1 else ''}"


INPUT = InputKind((".wav",), _read, options=AudioOptions, paths=("model",))
