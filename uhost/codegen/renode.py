"""The Renode files beside an image: a script, a platform description and a Robot test.

They are data for people and tools, not part of the program: they stand outside its
digest, and name the image by a path relative to themselves.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from uhost.codegen.environment import render
from uhost.codegen.names import identifier
from uhost.config.board import Board
from uhost.rpc import messages as m
from uhost.rpc.framing import Frame, encode_frame

FOLDER = "renode"
SCRIPT = f"{FOLDER}/uhost.resc"
PLATFORM = f"{FOLDER}/uhost.repl"
ROBOT = f"{FOLDER}/uhost.robot"

# Renode synchronises once a quantum. So many instructions take it longer than the
# synchronisation does, and the console still answers within a millisecond or so.
_QUANTUM_INSTRUCTIONS = 20_000
_SESSION = 1
_DWT = 0xE0001000


def renode_files(board: Board, digest: str, models: Sequence[str]) -> dict[str, bytes]:
    """Returns relative path → content of the files for a board that Renode has; else nothing.

    `digest` is the build's and `models` are the names in its table: the test asks for them.
    Same input, same bytes. The commands and keywords are those of Renode 1.15 and later.
    """
    if board.renode is None:
        return {}
    values = {
        "board": board,
        "renode": board.renode,
        "mips": max(1, round(board.clock_hz / 1_000_000)),
        "quantum_s": f"{quantum_us(board.clock_hz) / 1_000_000:.6f}",
        "quantum_instructions": quantum_us(board.clock_hz) * board.clock_hz // 1_000_000,
        "needs_dwt": board.cycle_counter == "dwt" and not _has_dwt(board.renode.overlay),
        "replaces_init": board.target.kind == "cortex_m"
        and not any(re.match(r"sysbus\s*:", line) for line in board.renode.overlay),
        "dwt": f"0x{_DWT:08X}",
        "digest": robot_argument(f".*{digest}.*"),
        "hello": _send(m.HelloRequest(), 1),
        "models": [
            {
                "name": name,
                "run": f"{identifier(name)}_run",
                "run_bytes": _send(m.RunRequest(index), 2),
                "model_bytes": _send(m.ModelRequest(index), 3),
                "reply": robot_argument(f".*{re.escape(name)}.*"),
            }
            for index, name in enumerate(models)
        ],
    }
    templates = {SCRIPT: "uhost.resc", PLATFORM: "overlay.repl", ROBOT: "uhost.robot"}
    return {
        path: render(f"renode/{template}.j2", values).encode()
        for path, template in templates.items()
    }


def quantum_us(clock_hz: int) -> int:
    """Returns the microseconds of virtual time between two synchronisations, at least 10."""
    return max(10, round(_QUANTUM_INSTRUCTIONS * 1_000_000 / clock_hz))


def robot_argument(text: str) -> str:
    """Returns `text` as one positional argument of a Robot keyword.

    Robot would take two spaces for a separator, `\\` for an escape, `${` for a variable and
    a beginning like `name=` for a named argument.
    """
    escaped = re.sub(r"([\\$@%&#])", r"\\\1", text).replace("  ", " \\ ")
    return re.sub(r"^([^\\=]*)=", r"\1\\=", escaped)


def _has_dwt(overlay: Sequence[str]) -> bool:
    return any(re.search(r"Miscellaneous\.DWT\b", line) for line in overlay)


def _send(request: m.Message, sequence: int) -> tuple[str, ...]:
    """Returns the bytes of a request as Renode's numbers."""
    frame = encode_frame(Frame(request.CODE, _SESSION, sequence, m.encode(request)))
    return tuple(f"0x{byte:02X}" for byte in frame)
