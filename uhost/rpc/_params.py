"""Puts a model's weights into a device's RAM so that only a whole, sound upload can run."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass

from uhost.errors import ProtocolError, RemoteError
from uhost.rpc import messages as m
from uhost.rpc._description import ParamsDescription

Progress = Callable[[int, int], None]
"""Is told after every step how many bytes of how many are written."""


@dataclass(frozen=True, slots=True)
class DeviceParams:
    """How the weights of `model` are reached.

    `describe` tells where they lie, and whether the right ones are there. `write` puts
    bytes at an offset, and tells after each request how many are written. `crc` is the
    CRC-32 over all of them, as the device finds them in its memory.
    """

    model: str
    describe: Callable[[], ParamsDescription]
    write: Callable[[int, bytes, Callable[[int], None]], None]
    crc: Callable[[], int]


def upload(params: DeviceParams, blob: bytes, on_progress: Progress) -> None:
    """Writes `blob` where a model's weights belong, and checks that it arrived.

    The header goes first, so that another model's weights are refused before they travel.
    Then it is erased, and written again when the device has confirmed the CRC-32 of what
    follows it: weights that are there in part never run. Raises `RemoteError` for weights
    the device does not take, `ProtocolError` when its memory holds something else after all.
    """
    model, place = params.model, params.describe()
    _check_size(place, blob, model)
    if place.placement == "flash":
        raise RemoteError(
            f"the weights of the model '{model}' are in flash, and cannot be written over RPC",
            where=_text(place),
            fix=f"write params_{model}.bin of the build to that address with a flash tool",
        )
    header, rest = blob[: m.PARAMS_HEADER_BYTES], blob[m.PARAMS_HEADER_BYTES :]
    erased = bytes(len(header))
    params.write(0, header, _ignore)
    present = params.describe().present
    params.write(0, erased, _ignore)
    if not present:
        raise RemoteError(
            f"the model '{model}' refuses these weights: they are another model's",
            where=f"weights of layout {header[16:].hex()[:16]}",
            fix="send the weights that were made with this firmware",
        )
    params.write(len(header), rest, lambda done: on_progress(len(header) + done, len(blob)))
    _check_crc(params, erased + rest, place)
    params.write(0, header, _ignore)
    if not params.describe().present:
        raise ProtocolError(
            f"the model '{model}' has no weights after they were written",
            where=_text(place),
            fix="build and flash the firmware with this version of uhost",
        )


def check(params: DeviceParams, blob: bytes) -> None:
    """Returns if the device holds exactly the weights `blob`.

    Raises `RemoteError` where they are missing, another model's or of another size,
    `ProtocolError` where their bytes differ.
    """
    place = params.describe()
    _check_size(place, blob, params.model)
    if not place.present:
        raise RemoteError(
            f"the weights of the model '{params.model}' are missing, or are another model's",
            where=_text(place),
            fix="write them: over RPC to RAM, with a flash tool to flash",
        )
    _check_crc(params, blob, place)


def _check_crc(params: DeviceParams, expected: bytes, place: ParamsDescription) -> None:
    found, wanted = params.crc(), zlib.crc32(expected)
    if found != wanted:
        raise ProtocolError(
            f"the weights of the model '{params.model}' are not these on the device: "
            f"CRC-32 {found:08x}, expected {wanted:08x}",
            where=_text(place),
            fix="write them again; where that does not help, the memory is bad",
        )


def _check_size(place: ParamsDescription, blob: bytes, model: str) -> None:
    if place.placement == "code":
        raise RemoteError(
            f"the weights of the model '{model}' are part of its code",
            fix="build with the executor's link_params off",
        )
    if len(blob) != place.size_bytes:
        raise RemoteError(
            f"the weights of the model '{model}' are {place.size_bytes} bytes, "
            f"these are {len(blob)}",
            where=_text(place),
            fix="give the weights that were made with this firmware",
        )


def _text(place: ParamsDescription) -> str:
    return f"{place.placement} at 0x{place.address:08x}, {place.size_bytes} bytes"


def _ignore(done: int) -> None:
    """Takes the progress of a header, which is none."""
