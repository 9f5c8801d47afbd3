"""What the firmware says of itself, its models and their tensors."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TensorDescription:
    """An input or output: `size_bytes` at `offset` in the arena; scale 0 is not quantised."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    scale: float
    zero_point: int
    offset: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class ModelDescription:
    """A model of the firmware's table."""

    name: str
    arena_bytes: int
    operator_count: int
    inputs: tuple[TensorDescription, ...]
    outputs: tuple[TensorDescription, ...]


@dataclass(frozen=True, slots=True)
class ParamsDescription:
    """Where a model's weights lie on the device: `placement` is code, ram or flash.

    `present` is True where their header is the one that the model's code wants; `address`
    and `size_bytes` are 0 for weights that are part of the code.
    """

    placement: str
    address: int
    size_bytes: int
    present: bool


@dataclass(frozen=True, slots=True)
class DeviceDescription:
    """What runs on the device.

    `buffer_bytes` is the longest payload it takes, `clock_hz` its core clock (0 where it
    does not know), `dropped_frames` the damaged frames it received since its reset.
    """

    board: str
    digest: str
    protocol: int
    buffer_bytes: int
    clock_hz: int
    has_cycles: bool
    dropped_frames: int
    models: tuple[ModelDescription, ...]
