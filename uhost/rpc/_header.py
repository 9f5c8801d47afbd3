"""Renders the firmware's `protocol.h` from the message declarations."""

from __future__ import annotations

import re
from enum import IntEnum

import jinja2

from uhost import resources
from uhost.rpc import framing, messages
from uhost.rpc._wire import Message, layout


def protocol_header() -> str:
    """Returns `protocol.h`: message codes, limits, and C structs with their packing."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(resources.folder("templates")),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    return environment.get_template("protocol.h.j2").render(
        version=framing.PROTOCOL_VERSION,
        header_bytes=framing.HEADER.size,
        crc_bytes=framing.CRC.size,
        smallest_buffer_bytes=messages.SMALLEST_BUFFER_BYTES,
        no_cycles=f"UINT64_C(0x{messages.NO_CYCLES:X})",
        no_stack=f"0x{messages.NO_STACK:X}u",
        largest_fixed_bytes=max(layout(kind).fixed.size for kind in messages.FROM_DEVICE),
        requests=[_describe(kind) for kind in messages.FROM_HOST],
        answers=[_describe(kind) for kind in messages.FROM_DEVICE],
        enums=[
            _enum("error", messages.ErrorCode),
            _enum("dtype", messages.DTypeCode),
            _enum("flag", messages.Flag),
            _enum("direction", messages.Direction),
            _enum("model_status", messages.ModelStatus),
            _enum("placement", messages.Placement),
        ],
    )


def _describe(kind: type[Message]) -> dict[str, object]:
    parts = layout(kind)
    return {
        "name": _snake(kind.__name__),
        "code": f"0x{kind.CODE:02X}",
        "summary": (kind.__doc__ or "").strip(),
        "fixed_bytes": parts.fixed.size,
        "numbers": [
            {
                "name": name,
                "c_type": number.c_type,
                "codec": number.codec,
                "offset": sum(n.size_bytes for _, n in parts.numbers[:index]),
            }
            for index, (name, number) in enumerate(parts.numbers)
        ],
        "variables": [f"{name} ({variable.kind})" for name, variable in parts.variables],
    }


def _enum(name: str, members: type[IntEnum]) -> dict[str, object]:
    return {
        "name": name,
        "summary": (members.__doc__ or "").strip(),
        "members": [(f"UHOST_{name.upper()}_{member.name}", member.value) for member in members],
    }


def _snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
