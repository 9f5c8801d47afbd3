"""The messages between host and device, declared once.

`protocol.h` of the firmware is rendered from these classes (`protocol_header`). A
reply has the code of its request with the top bit set. Requests come from the host,
one at a time; `LogNotice` and `FaultNotice` come from the device unasked.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from uhost.rpc._wire import (
    F32,
    I32,
    U8,
    U16,
    U32,
    U64,
    Message,
    Rest,
    Shape,
    Text,
    decode,
    encode,
    layout,
)

REPLY_BIT = 0x80
# Sent where the device has no counter, or cannot measure.
NO_CYCLES = 2**64 - 1
NO_STACK = 2**32 - 1
# Every request but the bytes of a write fits a buffer of this size.
SMALLEST_BUFFER_BYTES = 64
# What a model's weights begin with: by these bytes it tells its own from others.
PARAMS_HEADER_BYTES = 48


class ErrorCode(IntEnum):
    """Why a device refuses a request."""

    UNKNOWN_MESSAGE = 1
    MALFORMED = 2
    NO_SESSION = 3
    VERSION = 4
    NO_MODEL = 5
    NO_TENSOR = 6
    NO_OPERATOR = 7
    OUT_OF_RANGE = 8
    NO_PARAMS = 9
    PARAMS_IN_FLASH = 10
    PARAMS_OUT_OF_RANGE = 11


class ModelStatus(IntEnum):
    """What generated models return: the same numbers as in their header."""

    OK = 0
    BAD_ARENA = 1
    BAD_OPERATOR = 2
    BAD_PARAMS = 3


class Placement(IntEnum):
    """Where a model's weights lie: in its code, in RAM, or in flash at their own address."""

    CODE = 0
    RAM = 1
    FLASH = 2


class DTypeCode(IntEnum):
    """Element types in `TensorReply` and in the firmware's model table."""

    INT8 = 1
    UINT8 = 2
    INT16 = 3
    INT32 = 4
    INT64 = 5
    FLOAT32 = 6
    BOOL = 7
    UINT32 = 8
    UINT64 = 9


class Flag(IntEnum):
    """Bits of `HelloReply.flags`."""

    HAS_CYCLES = 1


class Direction(IntEnum):
    """Which tensors of a model a `TensorRequest` counts."""

    INPUT = 0
    OUTPUT = 1


@dataclass(frozen=True, slots=True)
class HelloRequest(Message):
    """Starts the session that its frame names; repeated in that session, changes nothing."""

    CODE = 0x01


@dataclass(frozen=True, slots=True)
class HelloReply(Message):
    """What runs on the device. A payload to it may have up to `buffer_bytes`."""

    CODE = 0x81
    buffer_bytes: U32
    clock_hz: U32
    dropped_frames: U32
    model_count: U8
    flags: U8
    digest: Text
    board: Text


@dataclass(frozen=True, slots=True)
class ModelRequest(Message):
    """Asks what a model is."""

    CODE = 0x02
    model: U8


@dataclass(frozen=True, slots=True)
class ModelReply(Message):
    """A model of the firmware's table."""

    CODE = 0x82
    arena_bytes: U32
    operator_count: U32
    input_count: U16
    output_count: U16
    name: Text


@dataclass(frozen=True, slots=True)
class TensorRequest(Message):
    """Asks what an input or output of a model is."""

    CODE = 0x03
    model: U8
    direction: U8
    index: U16


@dataclass(frozen=True, slots=True)
class TensorReply(Message):
    """An input or output: `size_bytes` at `offset` in the arena; scale 0 is not quantised."""

    CODE = 0x83
    offset: U32
    size_bytes: U32
    scale: F32
    zero_point: I32
    dtype: U8
    name: Text
    shape: Shape


@dataclass(frozen=True, slots=True)
class WriteRequest(Message):
    """Puts bytes into a model's arena."""

    CODE = 0x04
    model: U8
    offset: U32
    content: Rest


@dataclass(frozen=True, slots=True)
class WriteReply(Message):
    """The bytes are in the arena."""

    CODE = 0x84


@dataclass(frozen=True, slots=True)
class ReadRequest(Message):
    """Asks for bytes of a model's arena."""

    CODE = 0x05
    model: U8
    offset: U32
    size_bytes: U32


@dataclass(frozen=True, slots=True)
class ReadReply(Message):
    """The bytes asked for."""

    CODE = 0x85
    content: Rest


@dataclass(frozen=True, slots=True)
class RunRequest(Message):
    """Runs a model once. Repeated with the same sequence number it does not run again."""

    CODE = 0x06
    model: U8


@dataclass(frozen=True, slots=True)
class RunReply(Message):
    """The model returned `status`; 0 is success. All ones: not measured."""

    CODE = 0x86
    cycles: U64
    stack_bytes: U32
    status: I32


@dataclass(frozen=True, slots=True)
class OperatorRequest(Message):
    """Runs one operator of a model once."""

    CODE = 0x07
    model: U8
    index: U32


@dataclass(frozen=True, slots=True)
class OperatorReply(Message):
    """The operator returned `status`; 0 is success. All ones: no cycle counter."""

    CODE = 0x87
    cycles: U64
    status: I32


@dataclass(frozen=True, slots=True)
class ParamsRequest(Message):
    """Asks where a model's weights lie, and whether the right ones are there."""

    CODE = 0x08
    model: U8


@dataclass(frozen=True, slots=True)
class ParamsReply(Message):
    """The place of the weights. `present` is 1 where their header is the model's, else 0."""

    CODE = 0x88
    address: U64
    size_bytes: U32
    placement: U8
    present: U8


@dataclass(frozen=True, slots=True)
class ParamsWriteRequest(Message):
    """Puts bytes into the weights of a model that has them in RAM."""

    CODE = 0x09
    model: U8
    offset: U32
    content: Rest


@dataclass(frozen=True, slots=True)
class ParamsWriteReply(Message):
    """The bytes are among the weights."""

    CODE = 0x89


@dataclass(frozen=True, slots=True)
class ParamsCheckRequest(Message):
    """Asks for the CRC-32 of a model's weights as they are in memory, header and all."""

    CODE = 0x0A
    model: U8


@dataclass(frozen=True, slots=True)
class ParamsCheckReply(Message):
    """The CRC-32 over all bytes of the weights, as frames compute it."""

    CODE = 0x8A
    crc: U32


@dataclass(frozen=True, slots=True)
class ResetRequest(Message):
    """Puts what a model keeps from run to run back to its initial values, as a new session does."""

    CODE = 0x0B
    model: U8


@dataclass(frozen=True, slots=True)
class ResetReply(Message):
    """The next run is the first of a sequence."""

    CODE = 0x8B


@dataclass(frozen=True, slots=True)
class LogNotice(Message):
    """A line of text from the firmware."""

    CODE = 0xF0
    line: Rest


@dataclass(frozen=True, slots=True)
class FaultNotice(Message):
    """The firmware crashed and has stopped; registers as the exception found them."""

    CODE = 0xF1
    kind: U32
    r0: U32
    r1: U32
    r2: U32
    r3: U32
    r12: U32
    lr: U32
    pc: U32
    xpsr: U32
    sp: U32
    cfsr: U32
    hfsr: U32
    mmfar: U32
    bfar: U32


@dataclass(frozen=True, slots=True)
class ErrorReply(Message):
    """The request was refused; `detail` is the offending number."""

    CODE = 0xFF
    detail: U32
    code: U8


FROM_HOST: tuple[type[Message], ...] = (
    HelloRequest,
    ModelRequest,
    TensorRequest,
    WriteRequest,
    ReadRequest,
    RunRequest,
    OperatorRequest,
    ParamsRequest,
    ParamsWriteRequest,
    ParamsCheckRequest,
    ResetRequest,
)
FROM_DEVICE: tuple[type[Message], ...] = (
    HelloReply,
    ModelReply,
    TensorReply,
    WriteReply,
    ReadReply,
    RunReply,
    OperatorReply,
    ParamsReply,
    ParamsWriteReply,
    ParamsCheckReply,
    ResetReply,
    LogNotice,
    FaultNotice,
    ErrorReply,
)

__all__ = [
    "FROM_DEVICE",
    "FROM_HOST",
    "NO_CYCLES",
    "NO_STACK",
    "PARAMS_HEADER_BYTES",
    "REPLY_BIT",
    "SMALLEST_BUFFER_BYTES",
    "DTypeCode",
    "Direction",
    "ErrorCode",
    "ErrorReply",
    "FaultNotice",
    "Flag",
    "HelloReply",
    "HelloRequest",
    "LogNotice",
    "Message",
    "ModelReply",
    "ModelRequest",
    "ModelStatus",
    "OperatorReply",
    "OperatorRequest",
    "ParamsCheckReply",
    "ParamsCheckRequest",
    "ParamsReply",
    "ParamsRequest",
    "ParamsWriteReply",
    "ParamsWriteRequest",
    "Placement",
    "ReadReply",
    "ReadRequest",
    "ResetReply",
    "ResetRequest",
    "RunReply",
    "RunRequest",
    "TensorReply",
    "TensorRequest",
    "WriteReply",
    "WriteRequest",
    "decode",
    "encode",
    "layout",
]
