"""Talks to a board that holds the image already, over its serial port."""

from __future__ import annotations

from dataclasses import dataclass, replace

from uhost.config.board import Board
from uhost.errors import ConfigError
from uhost.runners._ports import find_port
from uhost.runners._runner import HardwareRunner
from uhost.toolchain._toolchain import Image
from uhost.transport.serial import SerialTransport


@dataclass(frozen=True, slots=True)
class SerialRunner:
    """Opens the port of the board's console; flashes nothing and resets nothing.

    Whether the board runs the image is found out at the handshake.
    """

    name: str = "serial"
    port: str = ""
    probe: str = ""

    def at(self, port: str, probe: str) -> SerialRunner:
        """Returns the runner for the board on a port, or with the probe of a serial number."""
        return replace(self, port=port, probe=probe)

    def supports(self, board: Board) -> str:
        """Returns "" if it runs the board's images, else the reason it does not."""
        if board.console is None:
            return "it talks to microcontrollers; the board has no console"
        return ""

    def start(self, image: Image, board: Board) -> SerialTransport:
        """Returns the opened line to the board; raises `ConfigError` or `TransportError`."""
        if board.console is None:
            raise ConfigError(
                f"the runner 'serial' does not reach '{board.name}': {self.supports(board)}",
                fix="choose another runner with --on",
            )
        line = SerialTransport(find_port(board, self.port, self.probe), board.console.baud)
        line.open()
        return line


RUNNER: HardwareRunner = SerialRunner()
