"""The page on boards, `docs/boards.md`, from the board files themselves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from uhost.config.board import Board, Region
from uhost.report.units import frequency, kib

INTRODUCTION = """\
# Boards

This page is written by `uhost boards --markdown`, from the files in `boards/` and
`boards/chips/`; a test holds it to them. A board takes one file of data, and a chip that is
already there is shared: [bring up your own board in 30 minutes](bring-up.md). The name of a
chip stands for its board, and where boards share a chip for the one marked `*`: `stm32f746` is
`stm32f746g_disco`.

"Run on" names the simulators on which the bundled model gave bit-exact results, operator by
operator. None of the boards has been run on hardware yet. Unicorn runs the very image that
would be flashed, with the console modelled from the board's data; it shows that start-up sets
every register that the data name, and neither that pins are wired so nor that a clock has its
frequency. Times are given at one instruction a cycle.
"""


def boards_page(boards: Sequence[Board], defaults: Mapping[str, str]) -> str:
    """Returns the page in Markdown: one table of all, then an entry for each board.

    `defaults` is chip → the board its name stands for.
    """
    chips = chips_of(boards, defaults)
    embedded = [board for board in boards if board.console]
    lines = [
        "| board | chip | CPU | clock | flash | RAM | UART | run on |",
        "|---|---|---|---:|---:|---:|---|---|",
    ]
    for board in embedded:
        assert board.console
        lines.append(
            f"| [`{board.name}`](#{board.name}) | {chips[board.name]} | {cpu(board)} | "
            f"{frequency(board.clock_hz)} | "
            f"{kib(board.region(board.flash).size_bytes)} | "
            f"{kib(board.region(board.ram).size_bytes)} | {board.console.kind} | "
            f"{runs_on(board)} |"
        )
    entries = ["\n".join(_entry(board)) for board in embedded]
    hosts = [f"`{board.name}`: {board.description.lower()}." for board in boards if not board.chip]
    return "\n\n".join((INTRODUCTION.rstrip(), "\n".join(lines), *hosts, *entries)) + "\n"


def chips_of(boards: Sequence[Board], defaults: Mapping[str, str]) -> dict[str, str]:
    """Returns board → its chip, marked at the one of several boards the chip's name stands for."""
    users = Counter(board.chip for board in boards)
    return {
        board.name: (board.chip or "-")
        + (" *" if users[board.chip] > 1 and defaults.get(board.chip) == board.name else "")
        for board in boards
    }


def cpu(board: Board) -> str:
    """Returns the core, with what it has beyond the least: `cortex-m7 (dsp, fpu)`."""
    features = ", ".join(board.target.features)
    return (board.target.cpu or board.target.kind) + (f" ({features})" if features else "")


def runs_on(board: Board) -> str:
    """Returns the runners in order of preference, in brackets those it was not run on."""
    return ", ".join(
        runner if runner in board.verified else f"({runner})" for runner in board.runners
    )


def _entry(board: Board) -> list[str]:
    console = board.console
    assert console
    lines = [f"## {board.name}", "", f"{board.description}.", ""]
    lines += [f"- {note}." for note in board.notes]
    lines.append(f"- Chip: `{board.chip}`. CPU: {cpu(board)}, {_start(board)}.")
    lines.append(f"- Memory: {'; '.join(_region(board, region) for region in board.regions)}.")
    lines.append(
        f"- Console: {console.uart} ({console.kind}) at 0x{console.base:08x}, interrupt "
        f"{console.irq}, {console.baud} baud from {frequency(console.clock_hz)}."
    )
    if board.qemu:
        lines.append(f"- QEMU machine: `{board.qemu.machine}`.")
    if board.renode:
        lines.append(f"- Renode platform: `{board.renode.platform}`, `{board.renode.uart}`.")
    if tools := _tools(board):
        lines.append(f"- Tools: {'; '.join(tools)}.")
    if board.bootloader:
        lines.append(f"- ROM loader ({board.bootloader.kind}): {board.bootloader.enter}.")
    lines.append(f"- Sources: {', '.join(dict.fromkeys(board.sources))}.")
    return lines


def _start(board: Board) -> str:
    if board.clock_hz == board.reset_clock_hz:
        return f"at {frequency(board.clock_hz)} from reset"
    return f"from {frequency(board.reset_clock_hz)} at reset to {frequency(board.clock_hz)}"


def _region(board: Board, region: Region) -> str:
    used = {board.flash: ", code and weights", board.ram: ", stack, data and arena"}
    return (
        f"{region.name} {kib(region.size_bytes)} at 0x{region.start:08x}{used.get(region.name, '')}"
    )


def _tools(board: Board) -> list[str]:
    tools = []
    if board.openocd:
        tools.append("openocd " + " ".join(f"`{name}`" for name in board.openocd))
    if board.pyocd:
        tools.append(f"pyocd `{board.pyocd}`")
    if board.stlink:
        tools.append("st-flash")
    if board.jlink:
        tools.append(f"J-Link `{board.jlink}`")
    if board.usb:
        tools.append("USB " + ", ".join(board.usb))
    return tools
