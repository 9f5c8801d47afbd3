"""The firmware around a model: start-up, HAL and RPC server for one board."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from uhost import resources
from uhost.codegen._boot import crc32_mpeg2, words16
from uhost.codegen.environment import render
from uhost.codegen.placement import PlacedParams
from uhost.config.board import Board
from uhost.rpc._header import protocol_header

ARENA_SECTION = ".bss.uhost_arena"
"""Where the arena is, when it lies in a region of its own."""

_SHARED_HAL = (
    *("console.c", "console.h", "registers.h"),
    *("steps.c", "steps.h", "uart.h"),
)


def firmware_files(
    board: Board, arena: str = "", params: Sequence[PlacedParams] = ()
) -> dict[str, bytes]:
    """Returns relative path → content of every firmware file that an image for `board` needs.

    All paths are below `firmware/`. Sources are those of the board's target kind and UART
    kind; `board.h`, `board.c` and the linker script `memory.ld` are written from its data,
    and `boot.c` where the chip's ROM looks for more than a vector table.
    The script makes room for the arena in the region `arena` where that is not the RAM,
    and for those of `params` that have an address.
    """
    root = resources.folder("firmware")
    kind = board.target.kind
    sources = [root / "hal" / "hal.h", *_sources(root / "rpc")]
    generated = {"rpc/protocol.h": protocol_header()}
    if board.console is None:
        sources.append(root / "hal" / f"{kind}.c")
    else:
        names = (f"{kind}.c", f"{kind}.h", *_SHARED_HAL)
        sources += [root / "hal" / name for name in names]
        sources.append(root / "hal" / f"uart_{board.console.kind}.c")
        sources += [root / "startup" / f"{kind}.c", root / "startup" / "vectors.h"]
        flash = board.region(board.flash)
        apart = [one for one in params if one.address is not None]
        values = {
            "board": board,
            "flash": flash,
            "params": apart,
            "code_bytes": flash.size_bytes - sum(one.reserved_bytes for one in apart),
            "ram": board.region(board.ram),
            "arena": next((r for r in board.regions if r.name == arena != board.ram), None),
            "arena_section": ARENA_SECTION,
        }
        for name in ("board.h", "board.c", "memory.ld"):
            generated[name] = render(f"{name}.j2", values)
        if board.boot is not None:
            checks = {"words16": words16, "crc32_mpeg2": crc32_mpeg2}
            generated["boot.c"] = render(f"boot_{board.boot.kind}.c.j2", {**values, **checks})
    files = {path.relative_to(root).as_posix(): path.read_bytes() for path in sources}
    files.update({path: text.encode() for path, text in generated.items()})
    return {f"firmware/{path}": files[path] for path in sorted(files)}


def _sources(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.suffix in {".c", ".h"})
