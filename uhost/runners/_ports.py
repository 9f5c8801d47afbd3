"""Serial ports: which there are, and which of them leads to a board."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from serial.tools import list_ports

from uhost.config.board import Board, board_names, load_board
from uhost.errors import ConfigError

VARIABLE = "UHOST_PORT"


class UsbPort(Protocol):
    """What pyserial tells of a port."""

    device: str
    description: str
    vid: int | None
    pid: int | None
    serial_number: str | None


@dataclass(frozen=True, slots=True)
class Port:
    """A serial port; `usb_id` is `vid:pid` in hexadecimal, "" for one that is not on USB.

    `serial_number` is that of the USB device: of a debug probe's port, the probe's.
    """

    device: str
    description: str
    usb_id: str
    serial_number: str


def ports(found: Iterable[UsbPort] | None = None) -> list[Port]:
    """Returns the serial ports of this machine, by name; `found` stands in for them."""
    listed = list_ports.comports() if found is None else found
    made = [
        Port(
            one.device,
            one.description if one.description not in (None, "n/a") else "",
            f"{one.vid:04x}:{one.pid:04x}" if one.vid is not None and one.pid is not None else "",
            one.serial_number or "",
        )
        for one in listed
    ]
    return sorted(made, key=lambda port: port.device)


def boards_by_usb_id() -> dict[str, list[str]]:
    """Returns USB id → the boards whose own probe or port has it."""
    known: dict[str, list[str]] = {}
    for name in board_names():
        for usb_id in load_board(name).usb:
            known.setdefault(usb_id, []).append(name)
    return known


def find_port(
    board: Board, port: str = "", probe: str = "", listed: Sequence[Port] | None = None
) -> str:
    """Returns the port of the board's console.

    That is `port`; else what the variable UHOST_PORT says; else the one port whose USB id
    is the board's and, with `probe`, whose serial number is the probe's. Raises
    `ConfigError` where none or several are.
    """
    if given := port or os.environ.get(VARIABLE, ""):
        return given
    there = ports() if listed is None else listed
    fitting = [
        one
        for one in there
        if one.usb_id in board.usb and (not probe or probe.lower() == one.serial_number.lower())
    ]
    if len(fitting) == 1:
        return fitting[0].device
    fix = f"plug the board in, or give its port with --port or {VARIABLE}"
    if fitting:
        raise ConfigError(
            f"{len(fitting)} ports may be that of the board '{board.name}'",
            where=", ".join(f"{p.device} (serial number {p.serial_number})" for p in fitting),
            fix="choose one with --port, or with --probe and its serial number",
        )
    named = f" on the probe {probe}" if probe else ""
    raise ConfigError(
        f"no serial port of the board '{board.name}' was found{named}",
        where=", ".join(f"{p.device} ({p.usb_id or 'no USB'})" for p in there) or "no serial port",
        fix=fix if board.usb else f"its USB ids are not known: {fix}",
    )
