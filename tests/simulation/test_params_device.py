"""Weights apart from the code on simulated boards: sent into RAM, or at an address in flash."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from elftools.elf.elffile import ELFFile

from uhost import driver, resources
from uhost.codegen.lowered import PARAMS_HEADER_BYTES
from uhost.codegen.placement import PlacedParams
from uhost.config.board import Board, load_board
from uhost.config.compilation import CompilationConfig
from uhost.errors import ConfigError, OutOfMemoryError, ProtocolError, RemoteError
from uhost.ir.tensor import Quantization
from uhost.ops._op import evaluate
from uhost.rpc import messages as m
from uhost.rpc.session import ParamsDescription, RunReport, Session
from uhost.runners._runner import RUNNERS
from uhost.runtime import build_folder
from uhost.runtime.compiled import Built, Source
from uhost.runtime.samples import read_samples
from uhost.toolchain._elf import read_program

BUNDLED = resources.bundled_model()
Placement = Literal["ram", "flash"]
NAME = "digits"
OTHER = "other"
TIMEOUT_S = 60.0
RUN_ON = [
    ("stm32f746", "unicorn", "arm_gcc"),
    ("stm32f746", "unicorn", "zig"),
    pytest.param("mps2_an500", "qemu", "arm_gcc", marks=pytest.mark.needs("qemu")),
]


def config(board: Board, placement: Placement) -> CompilationConfig:
    base = driver.configure(board)
    executor = replace(base.executor, link_params=False, params_placement=placement)
    return replace(base, executor=executor)


def load() -> Source:
    (source,) = driver.load(BUNDLED)
    return source


@cache
def retrained() -> Source:
    """Returns the bundled model with another weight: other values for the same code."""
    source = load()
    tensors = dict(source.graph.tensors)
    name = next(n for n, tensor in tensors.items() if tensor.is_constant and tensor.elements > 100)
    changed = np.array(tensors[name].constant())
    changed.reshape(-1)[0] ^= 1
    tensors[name] = replace(tensors[name], values=changed)
    return replace(source, graph=replace(source.graph, tensors=tensors))


def other_model() -> Source:
    """Returns a model of equal sizes that needs other code: one zero point differs."""
    source = load()
    tensors = dict(source.graph.tensors)
    name = source.graph.operators[0].outputs[0]
    scale, zero_point = tensors[name].scale, tensors[name].zero_point
    quantization = Quantization((scale,), (zero_point + 1,))
    tensors[name] = replace(tensors[name], quantization=quantization)
    return replace(source, graph=replace(source.graph, tensors=tensors))


@cache
def built(board_name: str, toolchain: str, placement: Placement) -> Built:
    board = load_board(board_name)
    compiled = driver.compile_models(driver.load(BUNDLED), board, config=config(board, placement))
    return driver.link(compiled, toolchain)


@cache
def linked(board_name: str, toolchain: str) -> Built:
    return driver.link(driver.compile_models(driver.load(BUNDLED), board_name), toolchain)


def weights(of: Built) -> PlacedParams:
    (placed,) = of.compiled.placed_params()
    return placed


def blob_of(source: Source, board: Board) -> bytes:
    compiled = driver.compile_models([source], board, config=config(board, "ram"))
    (placed,) = compiled.placed_params()
    return placed.params.blob


@contextmanager
def session_of(of: Built, runner: str, elf: Path | None = None) -> Iterator[Session]:
    image = replace(of.image, elf=elf) if elf else of.image
    transport = RUNNERS[runner].start(image, of.compiled.board)
    session = Session(transport, expected_digest=of.compiled.digest, symbolize=image.function_at)
    with session:
        session.handshake()
        yield session


def outputs(session: Session) -> tuple[list[bytes], list[RunReport]]:
    """Returns what the model makes of its samples."""
    samples = read_samples(BUNDLED.with_suffix(".npz"), load().graph).items[:3]
    made, reports = [], []
    for sample in samples:
        session.write_input(0, 0, sample.inputs[0].tobytes())
        reports.append(session.run(0, TIMEOUT_S))
        made.append(session.read_output(0, 0))
    return made, reports


def refused(session: Session) -> RemoteError:
    with pytest.raises(RemoteError) as raised:
        session.run(0, TIMEOUT_S)
    with pytest.raises(RemoteError) as of_operator:
        session.run_operator(0, 0, TIMEOUT_S)
    assert "BAD_PARAMS" in of_operator.value.what
    return raised.value


@pytest.mark.parametrize(("board", "runner", "toolchain"), RUN_ON)
def test_weights_in_ram_give_what_linked_ones_give(board: str, runner: str, toolchain: str) -> None:
    with session_of(linked(board, toolchain), runner) as session:
        expected, _ = outputs(session)
        assert session.describe_params(0) == ParamsDescription("code", 0, 0, True)
        with pytest.raises(RemoteError) as in_code:
            session._link.exchange(m.ParamsCheckRequest(0), m.ParamsCheckReply, (10.0,))
        assert in_code.value.what == (
            "the device refused ParamsCheckRequest: the weights of model 0 are part of its code"
        )
    one = built(board, toolchain, "ram")
    blob, steps = weights(one).params.blob, []
    with session_of(one, runner) as session:
        place = session.describe_params(0)
        ram = one.compiled.board.region(one.compiled.board.ram)
        assert (place.placement, place.size_bytes, place.present) == ("ram", len(blob), False)
        assert ram.start <= place.address < ram.end - len(blob)
        assert (
            "its weights are missing, or are another model's (BAD_PARAMS)" in refused(session).what
        )
        session.write_params(0, blob, lambda done, total: steps.append((done, total)))
        assert session.describe_params(0).present
        assert outputs(session)[0] == expected
        session.check_params(0, blob)
    assert steps[-1] == (len(blob), len(blob))
    assert [done for done, _ in steps] == sorted({done for done, _ in steps})


@pytest.mark.parametrize(("board", "runner", "toolchain"), RUN_ON)
def test_weights_in_flash_give_what_linked_ones_give(
    board: str, runner: str, toolchain: str
) -> None:
    with session_of(linked(board, toolchain), runner) as session:
        expected, _ = outputs(session)
    one = built(board, toolchain, "flash")
    placed = weights(one)
    with session_of(one, runner) as session:
        blob = placed.params.blob
        assert session.describe_params(0) == ParamsDescription(
            "flash", placed.address or 0, len(blob), True
        )
        assert outputs(session)[0] == expected
        session.check_params(0, blob)


@pytest.mark.parametrize(("board", "runner", "toolchain"), RUN_ON)
def test_another_models_weights_are_refused_in_ram(board: str, runner: str, toolchain: str) -> None:
    one = built(board, toolchain, "ram")
    wrong = blob_of(other_model(), one.compiled.board)
    right = weights(one).params.blob
    assert len(wrong) == len(right)
    steps: list[int] = []
    with session_of(one, runner) as session:
        with pytest.raises(RemoteError) as raised:
            session.write_params(0, wrong, lambda done, total: steps.append(done))
        assert raised.value.what == (
            f"the model '{NAME}' refuses these weights: they are another model's"
        )
        assert raised.value.where == f"weights of layout {wrong[16:24].hex()}"
        assert raised.value.fix == "send the weights that were made with this firmware"
        assert steps == []
        refused(session)
        session.write_params(0, right)
        expected, _ = outputs(session)
        with pytest.raises(RemoteError):
            session.write_params(0, wrong)
        refused(session)
    with session_of(linked(board, toolchain), runner) as session:
        assert outputs(session)[0] == expected


def test_an_upload_that_is_cut_short_does_not_run() -> None:
    one = built("stm32f746", "arm_gcc", "ram")
    blob = weights(one).params.blob

    class LineLost(Exception):
        pass

    def cut(done: int, total: int) -> None:
        if done > total // 2:
            raise LineLost

    with session_of(one, "unicorn") as session:
        with pytest.raises(LineLost):
            session.write_params(0, blob, cut)
        refused(session)
        assert not session.describe_params(0).present


def test_what_the_device_refuses_about_weights() -> None:
    ram, flash = (built("stm32f746", "arm_gcc", where) for where in ("ram", "flash"))
    blob = weights(ram).params.blob
    with session_of(ram, "unicorn") as session:
        place = session.describe_params(0)
        with pytest.raises(RemoteError) as raised:
            session.write_params(0, blob + b"\0")
        assert raised.value.what == (
            f"the weights of the model '{NAME}' are {len(blob)} bytes, these are {len(blob) + 1}"
        )
        assert raised.value.where == f"ram at 0x{place.address:08x}, {len(blob)} bytes"
        for offset, size in ((len(blob) - 3, 4), (len(blob), 1), (2**32 - 4, 8)):
            with pytest.raises(RemoteError) as raised:
                session._link.exchange(
                    m.ParamsWriteRequest(0, offset, bytes(size)), m.ParamsWriteReply, (10.0,)
                )
            assert raised.value.what == (
                "the device refused ParamsWriteRequest: "
                f"the bytes at offset {offset} are not all among the weights"
            )
    with session_of(flash, "unicorn") as session:
        with pytest.raises(RemoteError) as raised:
            session.write_params(0, blob)
        address = weights(flash).address
        assert raised.value.what == (
            f"the weights of the model '{NAME}' are in flash, and cannot be written over RPC"
        )
        assert raised.value.where == f"flash at 0x{address:08x}, {len(blob)} bytes"
        assert raised.value.fix == (
            f"write params_{NAME}.bin of the build to that address with a flash tool"
        )
        with pytest.raises(RemoteError) as raised:
            session._link.exchange(m.ParamsWriteRequest(0, 0, b"\0"), m.ParamsWriteReply, (10.0,))
        assert raised.value.what == (
            "the device refused ParamsWriteRequest: the weights of model 0 are in flash"
        )


@pytest.mark.parametrize(("board", "runner", "toolchain"), RUN_ON)
def test_weights_in_flash_are_replaced_without_the_code(
    board: str, runner: str, toolchain: str, tmp_path: Path
) -> None:
    one = built(board, toolchain, "flash")
    blob = weights(one).params.blob
    wrong = blob_of(other_model(), one.compiled.board)
    with session_of(one, runner) as session:
        before, _ = outputs(session)

    # What a flash tool leaves that writes the weights of the model trained again.
    updated = blob_of(retrained(), one.compiled.board)
    assert updated != blob
    with session_of(one, runner, reflashed(one, updated, tmp_path / "updated.elf")) as session:
        assert session.describe_params(0).present
        graph = retrained().graph
        sample = read_samples(BUNDLED.with_suffix(".npz"), graph).items[0]
        expected = evaluate(graph, {graph.inputs[0]: sample.inputs[0]})[graph.outputs[0]]
        assert outputs(session)[0][0] == expected.tobytes()
        session.check_params(0, updated)
        with pytest.raises(ProtocolError) as raised:
            session.check_params(0, blob)
        assert raised.value.what.startswith(
            f"the weights of the model '{NAME}' are not these on the device: CRC-32 "
        )

    for number, content in enumerate((wrong, b"\xff" * len(blob))):
        elf = reflashed(one, content, tmp_path / f"wrong_{number}.elf")
        with session_of(one, runner, elf) as session:
            assert refused(session).fix == (
                "send them with write_params, or write them to the flash address they are linked at"
            )
            with pytest.raises(RemoteError) as missing:
                session.check_params(0, blob)
            assert missing.value.what == (
                f"the weights of the model '{NAME}' are missing, or are another model's"
            )

    again = reflashed(one, blob, tmp_path / "again.elf")
    with session_of(one, runner, again) as session:
        assert outputs(session)[0] == before


def reflashed(of: Built, content: bytes, path: Path) -> Path:
    """Returns the image with other bytes in the section of the weights, and nothing else."""
    whole = bytearray(of.image.elf.read_bytes())
    with of.image.elf.open("rb") as stream:
        section = ELFFile(stream).get_section_by_name(f".params.{NAME}")
        at, size = section["sh_offset"], section["sh_size"]
    assert size == len(content)
    whole[at : at + size] = content
    path.write_bytes(whole)
    return path


@pytest.mark.parametrize("toolchain", ["arm_gcc", "zig"])
def test_the_address_of_weights_in_flash_does_not_depend_on_the_code(toolchain: str) -> None:
    # The last erase sector of 256 KiB; the last pages of 4 KiB where sectors are unknown.
    for board_name, end, unit in (
        ("stm32f746", 0x0810_0000, 1 << 18),
        ("mps2_an500", 1 << 22, 4096),
    ):
        one = built(board_name, toolchain, "flash")
        address = end - -(-len(weights(one).params.blob) // unit) * unit
        symbol = one.image.symbols[f"{NAME}_params"]
        assert (symbol.address, symbol.size) == (address, len(weights(one).params.blob))
        assert weights(one).address == address


def test_two_models_have_sectors_of_their_own() -> None:
    board = load_board("stm32f746")
    first, second = load(), replace(other_model(), graph=replace(other_model().graph, name=OTHER))
    compiled = driver.compile_models([first, second], board, config=config(board, "flash"))
    addresses = {one.name: one.address for one in compiled.placed_params()}
    assert addresses == {NAME: 0x08080000, OTHER: 0x080C0000}
    both = driver.link(compiled, "arm_gcc")
    sections = {s.name: s.address for s in read_program(both.image.elf).sections}
    assert sections[f".params.{NAME}"] == addresses[NAME]
    assert sections[f".params.{OTHER}"] == addresses[OTHER]
    with session_of(both, "unicorn") as session:
        assert session.describe_params(0).present
        assert session.describe_params(1).present


def test_figures_count_the_weights_where_they_are() -> None:
    board = "stm32f746"
    whole, ram, flash = (
        linked(board, "arm_gcc").image,
        built(board, "arm_gcc", "ram").image,
        built(board, "arm_gcc", "flash").image,
    )
    blob_bytes = len(weights(built(board, "arm_gcc", "flash")).params.blob)
    assert flash.flash_bytes == ram.flash_bytes + blob_bytes
    assert flash.model_flash_bytes == ram.model_flash_bytes + blob_bytes
    assert ram.ram_bytes - flash.ram_bytes in range(blob_bytes, blob_bytes + 16)
    assert abs(flash.ram_bytes - whole.ram_bytes) < 16
    assert ram.elf.with_suffix(".bin").stat().st_size == ram.flash_bytes
    assert flash.elf.with_suffix(".bin").stat().st_size == ram.flash_bytes
    last = struct.pack(">H", (weights(built(board, "arm_gcc", "flash")).address or 0) >> 16)
    assert f":02000004{last.hex().upper()}" in flash.elf.with_suffix(".hex").read_text()


def test_a_build_folder_holds_the_weights_and_says_where_they_go(tmp_path: Path) -> None:
    board = load_board("stm32f746")
    cases: tuple[tuple[Placement, int | None], ...] = (("flash", 0x080C0000), ("ram", None))
    for placement, address in cases:
        compiled = driver.compile_models(
            driver.load(BUNDLED), board, config=config(board, placement)
        )
        one = driver.link(compiled, "arm_gcc", tmp_path / placement)
        params = build_folder.write(one).params[NAME]
        blob = weights(one).params.blob
        assert (params.file, params.placement, params.address) == (
            f"params_{NAME}.bin",
            placement,
            address,
        )
        assert (params.size_bytes, params.digest) == (len(blob), blob[16:48].hex())
        assert (one.folder / params.file).read_bytes() == blob
        stored = json.loads((one.folder / "manifest.json").read_text())["params"]
        assert stored[NAME]["address"] == address


def test_weights_that_leave_no_flash_for_code_are_refused() -> None:
    board = load_board("stm32f746")
    flash = board.region("flash")
    small = replace(flash, size_bytes=256 * 1024, sectors_bytes=(256 * 1024,))
    regions = tuple(small if region is flash else region for region in board.regions)
    tiny = replace(board, regions=regions)
    with pytest.raises(OutOfMemoryError) as raised:
        driver.compile_models(driver.load(BUNDLED), tiny, config=config(board, "flash"))
    assert raised.value.what.startswith(
        "the weights leave no room for code: region 'flash' has 262,144 B, and each model's "
        "weights take whole erase sectors of it:\n"
    )
    assert raised.value.what.endswith(" digits")


def test_weights_in_ram_count_before_anything_is_built() -> None:
    board = load_board("stm32f746")
    ram = board.region("ram")
    small = replace(ram, size_bytes=board.stack_bytes + 6 * 1024)
    tiny = replace(board, regions=tuple(small if r is ram else r for r in board.regions))
    driver.compile_models(driver.load(BUNDLED), tiny)
    with pytest.raises(OutOfMemoryError) as raised:
        driver.compile_models(driver.load(BUNDLED), tiny, config=config(tiny, "ram"))
    assert "The weights in RAM take " in raised.value.what


def test_a_place_for_weights_that_are_in_the_code_is_refused() -> None:
    base = driver.configure(load_board("stm32f746"))
    with pytest.raises(ConfigError) as raised:
        replace(base, executor=replace(base.executor, params_placement="flash"))
    assert raised.value.what == (
        "the executor's params_placement is for weights apart from the code, and link_params "
        "puts them into it"
    )
    assert raised.value.fix == "give one of both: params_placement, or link_params"


def test_the_protocol_knows_the_size_of_the_header() -> None:
    assert m.PARAMS_HEADER_BYTES == PARAMS_HEADER_BYTES
