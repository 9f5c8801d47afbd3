"""Modules as C, archives and shared libraries; same input gives same bytes in every form."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from small_models import (
    TWO_MODELS,
    check_two_models,
    expected_output,
    small_sample,
    write_two_models,
)

import uhost
from uhost.cli import cli
from uhost.config.board import load_board
from uhost.errors import ConfigError
from uhost.runtime.module import Module
from uhost.targets._target import TARGETS
from uhost.toolchain._archive import defined_symbols, read_members, write_members

ROOT = Path(__file__).resolve().parents[2]
BOARD = "mps2_an500"


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return write_two_models(tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="module")
def module(models: dict[str, Path]) -> Module:
    return uhost.build(models, board=BOARD)


# ---- C --------------------------------------------------------------------------------------


@pytest.mark.needs("arm_gcc")
def test_a_folder_of_c_builds_and_is_loaded(module: Module, tmp_path: Path) -> None:
    written = module.export_library(tmp_path / "c")
    assert [p.name for p in written] == ["model.c", "model.h", "CMakeLists.txt", "manifest.json"]
    flags = [line for line in written[2].read_text().splitlines() if "-mcpu=" in line]
    assert len(flags) == 1
    command = ["arm-none-eabi-gcc", *flags[0].partition("calls: ")[2].split(), "-c"]
    sources = [str(path) for path in written if path.suffix == ".c"]
    subprocess.run([*command, *sources], cwd=tmp_path, check=True)
    loaded = uhost.load_module(tmp_path / "c")
    check_two_models(loaded, uhost.device(BOARD))
    with pytest.raises(ConfigError) as caught:
        loaded["one"](uhost.cpu(0))
    assert str(caught.value) == (
        "the module does not run on this machine: its code is for cortex_m\n"
        f"  fix:   run it on '{BOARD}', or load the module's .tar, which holds a program for "
        "this machine as well"
    )
    with pytest.raises(ConfigError, match=f"built for '{BOARD}', the device is 'stm32f746'"):
        loaded["one"](uhost.device("stm32f746"))


@pytest.mark.needs("host_cc")
def test_c_for_this_machine_builds_with_cmake_and_with_the_compiler_alone(
    models: dict[str, Path], tmp_path: Path
) -> None:
    module = uhost.build(models, board="host")
    folder = tmp_path / "c"
    module.export_library(folder)
    check_two_models(uhost.load_module(folder), uhost.cpu(0))
    main = tmp_path / "main.c"
    main.write_text(MAIN)
    subprocess.run(
        ["cc", f"-I{folder}", main, *folder.glob("*.c"), "-o", tmp_path / "program"], check=True
    )
    expected = bytes(
        expected_output(TWO_MODELS["two"], np.full((1, 4, 4, 3), 7, np.int8)).tobytes()
    )
    assert (
        subprocess.run([tmp_path / "program"], stdout=subprocess.PIPE, check=True).stdout
        == expected
    )
    if shutil.which("cmake") is None:
        return  # the shipped file is read by CMake in CI's image
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.13)\nproject(application C)\nadd_subdirectory(c)\n"
        "add_executable(application main.c)\ntarget_link_libraries(application uhost_one)\n"
    )
    for command in (["cmake", "-S", ".", "-B", "out"], ["cmake", "--build", "out"]):
        subprocess.run(command, cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
    assert subprocess.check_output([tmp_path / "out" / "application"]) == expected


MAIN = """
#include <stdio.h>
#include <string.h>
#include "model.h"

static uint8_t arena[TWO_ARENA_BYTES] __attribute__((aligned(TWO_ARENA_ALIGNMENT)));

int main(void)
{
    memset(two_input_0(arena), 7, TWO_INPUT_0_BYTES);
    if (two_run(arena) != TWO_OK) {
        return 1;
    }
    fwrite(two_output_0(arena), 1, TWO_OUTPUT_0_BYTES, stdout);
    return 0;
}
"""


def test_one_c_file_has_its_header_and_manifest_beside_it(module: Module, tmp_path: Path) -> None:
    written = module.export_library(tmp_path / "both.c")
    assert [path.name for path in written] == ["both.c", "both.h", "both.manifest.json"]
    assert '#include "both.h"' in written[0].read_text()
    assert uhost.load_module(tmp_path / "both.c").names == ("one", "two")
    written[2].unlink()
    with pytest.raises(ConfigError, match=r"cannot read .*both.manifest.json"):
        uhost.load_module(tmp_path / "both.c")


# ---- Objects --------------------------------------------------------------------------------


@pytest.mark.needs("arm_gcc")
def test_an_archive_of_objects_links_and_is_loaded(module: Module, tmp_path: Path) -> None:
    written = module.export_library(tmp_path / "libboth.a")
    assert [path.name for path in written] == ["libboth.a", "libboth.h"]
    (tmp_path / "model.h").write_bytes(written[1].read_bytes())
    (tmp_path / "main.c").write_text(
        '#include "model.h"\nstatic uint8_t arena[TWO_ARENA_BYTES] __attribute__((aligned(8)));\n'
        "int main(void) { return (int)two_run(arena); }\n"
    )
    target = load_board(BOARD).target
    flags = [*TARGETS[target.kind].gcc_flags(target), "-nostartfiles", "-Wl,-e,main"]
    command = ["arm-none-eabi-gcc", *flags, "main.c", "-L.", "-lboth", "-o", "program.elf"]
    subprocess.run(command, cwd=tmp_path, check=True)
    names = subprocess.check_output(["arm-none-eabi-nm", tmp_path / "program.elf"], text=True)
    assert " two_run\n" in names
    assert "uhost_manifest" not in names
    loaded = uhost.load_module(tmp_path / "libboth.a")
    check_two_models(loaded, uhost.device(BOARD))
    with pytest.raises(ConfigError, match="does not run on this machine: its code is for cortex_m"):
        loaded["one"](uhost.cpu(0))
    with pytest.raises(ConfigError, match="was read from an archive of objects: it holds no C"):
        loaded.export_library(tmp_path / "again")


@pytest.mark.needs("host_cc")
def test_an_archive_for_this_machine_runs_in_this_process(
    models: dict[str, Path], tmp_path: Path
) -> None:
    uhost.build(models, board="host").export_library(tmp_path / "both.a")
    check_two_models(uhost.load_module(tmp_path / "both.a"), uhost.cpu(0))


@pytest.mark.needs("host_cc")
def test_a_shared_library_is_for_this_machine(module: Module, tmp_path: Path) -> None:
    path = tmp_path / "both.so"
    assert module.export_library(path) == (path,)
    loaded = uhost.load_module(path)
    check_two_models(loaded, uhost.cpu(0))
    with loaded["one"](uhost.cpu(0)) as executor:
        module.export_library(path)  # a loaded library is not written to
        executor.set_input(0, small_sample())
        executor.run()
    with pytest.raises(ConfigError, match=f"was built for 'host', the device is '{BOARD}'"):
        loaded["one"](uhost.device(BOARD))
    with pytest.raises(ConfigError, match="the module holds no firmware for 'host'"):
        loaded["one"](uhost.device("host"))


def test_files_without_a_manifest_are_refused(tmp_path: Path) -> None:
    (tmp_path / "other.so").write_bytes(b"\x7fELF")
    (tmp_path / "other.a").write_bytes(write_members({"a.o": b"text"}))
    (tmp_path / "text.a").write_bytes(b"text")
    for name, text in (
        ("other.so", "the library holds no manifest of uhost"),
        ("other.a", "the archive holds no manifest of uhost"),
        ("text.a", "the file is no archive of objects"),
    ):
        with pytest.raises(ConfigError, match=text):
            uhost.load_module(tmp_path / name)


def test_other_suffixes_are_refused(module: Module, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        module.export_library(tmp_path / "both.zip")
    assert str(caught.value) == (
        "a module is not exported as '.zip'\n"
        f"  where: {tmp_path / 'both.zip'}\n"
        "  fix:   give a path that ends in .tar, .c, .a or .so, or a folder without suffix"
    )


@pytest.mark.needs("host_cc")
def test_members_of_archives(tmp_path: Path) -> None:
    source = tmp_path / "x.c"
    source.write_text("int shown;\nstatic int hidden;\nint used(void) { return hidden; }\n")
    subprocess.run(["cc", "-c", "x.c"], cwd=tmp_path, check=True)
    made = (tmp_path / "x.o").read_bytes()
    assert sorted(defined_symbols(made)) == ["shown", "used"]
    files = {"x.o": made, "a_name_of_more_than_fifteen.o": b"odd"}
    content = write_members(files)
    assert read_members(content, "") == files
    (tmp_path / "x.a").write_bytes(content)
    listed = subprocess.run(
        ["ar", "t", tmp_path / "x.a"], capture_output=True, text=True, check=True
    )
    assert listed.stdout.split() == list(files)
    with pytest.raises(ConfigError, match="the archive is damaged"):
        read_members(content[:-40] + b"x" * 70, "x.a")


# ---- Same input, same bytes -----------------------------------------------------------------

EXPORT = """
import shutil, sys, uhost
from pathlib import Path
from uhost import driver
out = Path(sys.argv[1])
module = uhost.build({"one": "conv5.tflite", "two": "conv9.tflite"}, board="mps2_an500")
for name in ("both.tar", "both.c", "both.a", "both.so", "folder"):
    module.export_library(out / name)
module["remove_params"]().export_library(out / "bare.tar")
compiled = driver.compile_models(driver.load({"one": "conv5.tflite"}), "mps2_an500")
image = driver.link(compiled, "arm_gcc", Path("image")).image
for suffix in (".bin", ".hex"):
    shutil.copy(image.elf.with_suffix(suffix), out)
"""


@pytest.mark.needs("arm_gcc", "host_cc")
def test_same_input_gives_same_bytes(models: dict[str, Path], tmp_path: Path) -> None:
    made = []
    for number, days in ((1, "0"), (2, "1234567890")):
        folder = tmp_path / ("deep/" * number) / f"run{number}"
        folder.mkdir(parents=True)
        for path in models.values():
            shutil.copy(path, folder)
            os.utime(folder / path.name, (int(days), int(days)))
        environment = {
            **os.environ,
            "PYTHONHASHSEED": str(number),
            "UHOST_CACHE": str(folder / "cache"),
            "SOURCE_DATE_EPOCH": days,
            "TZ": ("UTC", "Asia/Tokyo")[number - 1],
            "PYTHONPATH": str(ROOT),
        }
        subprocess.run(
            [sys.executable, "-c", EXPORT, "out"], cwd=folder, env=environment, check=True
        )
        out = folder / "out"
        made.append(
            {p.relative_to(out).as_posix(): p.read_bytes() for p in out.rglob("*") if p.is_file()}
        )
    assert len(made[0]) == 13
    assert [name for name in made[0] if made[0][name] != made[1][name]] == []
    for name, content in made[0].items():
        assert str(tmp_path).encode() not in content, name


# ---- The command line -----------------------------------------------------------------------


def test_compile_writes_by_suffix(models: dict[str, Path], tmp_path: Path) -> None:
    arguments = [f"{name}={path}" for name, path in models.items()]
    for output, expected in (
        ("both.tar", ["both.tar"]),
        ("both.c", ["both.c", "both.h", "both.manifest.json"]),
    ):
        command = ["compile", *arguments, "--board", BOARD, "-o", str(tmp_path / output), "--json"]
        done = CliRunner().invoke(cli, command, catch_exceptions=False)
        assert done.exit_code == 0, done.output
        assert [r["files"] for r in json.loads(done.stdout)["results"]] == [expected, expected]
        assert uhost.load_module(tmp_path / output).names == ("one", "two")
