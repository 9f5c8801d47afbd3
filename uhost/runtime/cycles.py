"""Modelled cycles of a run: what its executed blocks cost by the model of the board's core."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass

from uhost.runners._runner import ExecutedBlock, RunCounts
from uhost.targets._block_cycles import BlockCycles
from uhost.targets._cycles import CycleModel, cycle_model
from uhost.targets._instruction import Instruction, work_of
from uhost.targets._work import Work
from uhost.toolchain._elf import read_program
from uhost.toolchain._toolchain import Image


@dataclass(frozen=True, slots=True)
class ModelledCycles:
    """Cycles of one run, in all and per call as in `RunCounts`; or None and why there are none."""

    total: int | None
    calls: tuple[int, ...] = ()
    why_not: str = ""


@dataclass(frozen=True, slots=True)
class DecodedBlock:
    """An executed block with its instructions."""

    executed: ExecutedBlock
    instructions: tuple[Instruction, ...]

    @property
    def work(self) -> Work:
        """The instructions that all its executions took, by class."""
        return work_of(self.instructions, self.executed.executed, self.executed.taken)


def model_cycles(image: Image, cpu: str, counts: RunCounts | None) -> ModelledCycles:
    """Returns the cycles that the model of `cpu` gives for the executed blocks of a run.

    They are those of each block once, as often as it was executed: the sum over all blocks is
    the total. Without counts, blocks or a model there are none, with the reason.
    """
    model = cycle_model(cpu)
    if model is None:
        return ModelledCycles(None, why_not=f"there is no cycle model of {cpu or 'this machine'}")
    if counts is None:
        return ModelledCycles(None, why_not="the executed instructions were not counted")
    if counts.blocks is None:
        return ModelledCycles(None, why_not="the run executes too many blocks to tell them apart")
    if importlib.util.find_spec("capstone") is None:
        return ModelledCycles(None, why_not="the Python package 'capstone' is not installed")
    decoded = decode_blocks(image, counts.blocks)
    if len(decoded) < len(counts.blocks):
        return ModelledCycles(None, why_not="the run executes code that is not in the image")
    calls = [0] * max(1, len(counts.calls))
    for block, cycles in _costed(decoded, model):
        calls[block.executed.call] += cycles.total(block.executed.executed, block.executed.taken)
    return ModelledCycles(sum(calls), tuple(calls) if counts.calls else ())


def decode_blocks(image: Image, blocks: Sequence[ExecutedBlock]) -> list[DecodedBlock]:
    """Returns the blocks with their instructions, which must lie in the program as it was linked.

    A block whose code is not in the image has none and is left out.
    """
    from uhost.targets._thumb import decode

    pieces = read_program(image.elf).pieces
    known: dict[tuple[int, int], tuple[Instruction, ...]] = {}
    found = []
    for block in blocks:
        key = (block.address, block.size_bytes)
        if key not in known:
            code = next(
                (
                    piece.content[block.address - piece.address :][: block.size_bytes]
                    for piece in pieces
                    if piece.address <= block.address < piece.address + len(piece.content)
                ),
                b"",
            )
            known[key] = decode(code, block.address)
        if known[key]:
            found.append(DecodedBlock(block, known[key]))
    return found


def _costed(
    blocks: Sequence[DecodedBlock], model: CycleModel
) -> list[tuple[DecodedBlock, BlockCycles]]:
    known: dict[tuple[int, int], BlockCycles] = {}
    found = []
    for block in blocks:
        key = (block.executed.address, block.executed.size_bytes)
        if key not in known:
            known[key] = model.block(block.instructions)
        found.append((block, known[key]))
    return found
