"""The firmware around a model: start-up, HAL and RPC server for one board."""

from __future__ import annotations

from pathlib import Path

from uhost import resources
from uhost.codegen.environment import render
from uhost.config.board import Board
from uhost.rpc._header import protocol_header


def firmware_files(board: Board) -> dict[str, bytes]:
    """Returns relative path → content of every firmware file that an image for `board` needs.

    All paths are below `firmware/`. Sources are those of the board's target kind and UART
    kind; `board.h`, `board.c` and the linker script `memory.ld` are written from its data.
    """
    root = resources.folder("firmware")
    kind = board.target.kind
    sources = [root / "hal" / "hal.h", *_sources(root / "rpc")]
    generated = {"rpc/protocol.h": protocol_header()}
    if board.console is None:
        sources.append(root / "hal" / f"{kind}.c")
    else:
        names = (f"{kind}.c", "registers.h", "steps.c", "steps.h", "uart.h")
        sources += [root / "hal" / name for name in names]
        sources.append(root / "hal" / f"uart_{board.console.kind}.c")
        sources += [root / "startup" / f"{kind}.c", root / "startup" / "vectors.h"]
        values = {
            "board": board,
            "flash": board.region(board.flash),
            "ram": board.region(board.ram),
        }
        for name in ("board.h", "board.c", "memory.ld"):
            generated[name] = render(f"{name}.j2", values)
    files = {path.relative_to(root).as_posix(): path.read_bytes() for path in sources}
    files.update({path: text.encode() for path, text in generated.items()})
    return {f"firmware/{path}": files[path] for path in sorted(files)}


def _sources(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.suffix in {".c", ".h"})
