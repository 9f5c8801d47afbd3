"""Where weights lie that are not part of the code: in RAM, or at flash addresses of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from uhost.codegen.environment import render
from uhost.codegen.literals import rows
from uhost.codegen.lowered import Lowered, Params, pack_params
from uhost.config.board import Board, Region
from uhost.config.compilation import Executor
from uhost.errors import OutOfMemoryError

# What is assumed of a flash whose sectors the board does not state.
SECTOR_BYTES = 4096


@dataclass(frozen=True, slots=True, eq=False)
class PlacedParams:
    """The weights of the model `name`, apart from its code.

    They take `reserved_bytes` of flash from `address` on, whole erase sectors, so that they
    are written without touching the code. `address` is None where they lie in RAM, or
    where the board has no flash.
    """

    name: str
    params: Params
    placement: str
    address: int | None = None
    reserved_bytes: int = 0

    @property
    def file_name(self) -> str:
        """The file that holds them in a build folder."""
        return f"params_{self.name}.bin"


def place_params(
    models: Sequence[Lowered], executor: Executor, board: Board
) -> tuple[PlacedParams, ...]:
    """Returns the weights of models and their places; none where the code holds them.

    In flash they end it, the last model's last: an address depends on the flash and on the
    sizes of weights alone, never on the code. Raises `OutOfMemoryError` where they leave
    nothing of the flash.
    """
    if executor.link_params:
        return ()
    packed = [(one.identifier, pack_params(one)) for one in models]
    if executor.params_placement == "ram" or not board.flash:
        return tuple(PlacedParams(*pair, executor.params_placement) for pair in packed)
    flash = board.region(board.flash)
    placed: list[PlacedParams] = []
    end = flash.end
    for name, params in reversed(packed):
        start = _sector_start(flash, end - len(params.blob))
        if start <= flash.start:
            raise _too_large(packed, flash, board)
        placed.append(PlacedParams(name, params, "flash", start, end - start))
        end = start
    return tuple(reversed(placed))


def params_source(placed: Sequence[PlacedParams]) -> dict[str, bytes]:
    """Returns `firmware/params.c` with the weights that lie in flash; empty without any."""
    rooms = [
        {
            "name": one.name,
            "section": f".params.{one.name}" if one.address is not None else "",
            "rows": rows(np.frombuffer(one.params.blob, np.uint8)),
        }
        for one in placed
        if one.placement == "flash"
    ]
    if not rooms:
        return {}
    return {"firmware/params.c": render("params.c.j2", {"models": rooms}).encode()}


def _sector_start(flash: Region, address: int) -> int:
    """Returns where the erase sector begins that holds `address`, at least the region's start."""
    start = flash.start
    if not flash.sectors_bytes:
        return max(start, address - (address - start) % SECTOR_BYTES)
    for size in flash.sectors_bytes:
        if address < start + size:
            break
        start += size
    return start


def _too_large(
    packed: Sequence[tuple[str, Params]], flash: Region, board: Board
) -> OutOfMemoryError:
    listed = "\n".join(f"  {len(params.blob):>10,} B  {name}" for name, params in packed)
    return OutOfMemoryError(
        f"the weights leave no room for code: region '{flash.name}' has {flash.size_bytes:,} B, "
        f"and each model's weights take whole erase sectors of it:\n{listed}",
        where=f"board '{board.name}'",
        fix="choose a board with more flash, or link the weights into the code",
    )
