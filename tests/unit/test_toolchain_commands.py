"""Toolchains: the commands they run, finding compilers, building, and what failures say."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from uhost.codegen.artifact import Artifact
from uhost.config.board import load_board
from uhost.driver import choose_toolchain
from uhost.errors import BuildError, OutOfMemoryError, ToolNotFoundError
from uhost.report.doctor import diagnose
from uhost.toolchain import _build, arm_gcc, host_cc, riscv_gcc, zig
from uhost.toolchain._programs import MisdirectedVariableError, Program, version_of
from uhost.toolchain._toolchain import TOOLCHAINS, Toolchain
from uhost.toolchain.host_cc import HostCc

INCLUDES = ("-I.", "-Ifirmware")
CORTEX_M7 = load_board("stm32f746").target
HOST = load_board("host")


def host_artifact(main: str = "int main(void) { return 0; }\n", **files: str) -> Artifact:
    named = {name.replace("_h", ".h").replace("_c", ".c"): text for name, text in files.items()}
    return Artifact({path: text.encode() for path, text in {"main.c": main, **named}.items()})


def script(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


# ---- Commands ----------------------------------------------------------------------------


def test_the_command_of_gcc() -> None:
    assert arm_gcc.compile_command(("gcc",), CORTEX_M7, "firmware/hal/steps.c", INCLUDES) == (
        *("gcc", "-mcpu=cortex-m7", "-mthumb", "-mfpu=fpv5-sp-d16", "-mfloat-abi=hard"),
        *("-std=c11", "-O2", "-g", "-ffp-contract=off"),
        *("-Wall", "-Wextra", "-Wdouble-promotion", "-Werror"),
        *("-ffunction-sections", "-fdata-sections", "-fno-common", "-fno-schedule-insns"),
        *("-I.", "-Ifirmware"),
        *("-c", "firmware/hal/steps.c", "-o", "obj/firmware/hal/steps.c.o"),
    )
    assert arm_gcc.link_command(("gcc",), CORTEX_M7, ["obj/a.c.o", "obj/b.c.o"]) == (
        *("gcc", "-mcpu=cortex-m7", "-mthumb", "-mfpu=fpv5-sp-d16", "-mfloat-abi=hard"),
        *("--specs=nano.specs", "-nostartfiles", "-Wl,-T,firmware/memory.ld"),
        *("-Wl,--gc-sections", "obj/a.c.o", "obj/b.c.o", "-lm", "-o", "firmware.elf"),
    )


def test_the_command_of_zig() -> None:
    assert zig.compile_command(("zig", "cc"), CORTEX_M7, "model.c", INCLUDES) == (
        *("zig", "cc", "-target", "thumb-freestanding-eabihf"),
        "-mcpu=cortex_m7+fp_armv8d16sp",
        *("-std=c11", "-O2", "-g", "-ffp-contract=off"),
        *("-Wall", "-Wextra", "-Wdouble-promotion", "-Werror"),
        *("-ffunction-sections", "-fdata-sections", "-fno-common"),
        *("-fno-sanitize=undefined", "-fomit-frame-pointer"),
        *("-fno-unwind-tables", "-fno-asynchronous-unwind-tables"),
        *("-I.", "-Ifirmware", "-c", "model.c", "-o", "obj/model.c.o"),
    )
    assert zig.link_command(("zig", "cc"), CORTEX_M7, ["obj/a.c.o"]) == (
        *("zig", "cc", "-target", "thumb-freestanding-eabihf"),
        "-mcpu=cortex_m7+fp_armv8d16sp",
        *("-nostartfiles", "-Wl,-T,firmware/memory.ld", "-Wl,--gc-sections"),
        *("-Wl,-e,uhost_reset", "obj/a.c.o", "-o", "firmware.elf"),
    )


def test_the_command_of_the_host_compiler() -> None:
    assert host_cc.compile_command(("cc",), "model.c", INCLUDES) == (
        *("cc", "-std=c11", "-O2", "-g", "-ffp-contract=off"),
        *("-Wall", "-Wextra", "-Wdouble-promotion", "-Werror"),
        *("-ffunction-sections", "-fdata-sections", "-fno-common"),
        *("-I.", "-Ifirmware", "-c", "model.c", "-o", "obj/model.c.o"),
    )
    assert host_cc.link_command(("cc",), ["obj/a.c.o"]) == (
        *("cc", "-Wl,--gc-sections", "obj/a.c.o", "-lm", "-o", "firmware.elf"),
    )


def test_sanitizers_are_in_both_commands_of_the_host_compiler() -> None:
    for command in (
        host_cc.compile_command(("cc",), "model.c", (), sanitize=True),
        host_cc.link_command(("cc",), ["obj/a.c.o"], sanitize=True),
    ):
        assert "-fsanitize=address,undefined" in command
        assert "-fno-sanitize-recover=all" in command


def test_zig_as_host_compiler_does_not_trap() -> None:
    zig_cc = ("python", "-m", "ziglang", "cc")
    assert "-fno-sanitize=undefined" in host_cc.compile_command(zig_cc, "model.c", ())


def test_every_folder_with_a_header_is_searched_for_headers() -> None:
    artifact = Artifact({"model.h": b"", "firmware/hal/hal.h": b"", "firmware/rpc/main.c": b""})
    assert _build.include_flags(artifact) == ("-I.", "-Ifirmware/hal")
    assert _build.sources_of(artifact) == ("firmware/rpc/main.c",)


@pytest.mark.parametrize("toolchain", list(TOOLCHAINS), ids=TOOLCHAINS.names())
def test_a_toolchain_says_what_it_builds_for(toolchain: Toolchain) -> None:
    reasons = {
        "arm_gcc": "it builds for Arm Cortex-M",
        "host_cc": "it builds for this machine only",
        "riscv_gcc": "it builds for RISC-V",
        "zig": "it builds for Cortex-M and RISC-V",
    }
    boards = {
        "arm_gcc": {"mps2_an500"},
        "host_cc": {"host"},
        "riscv_gcc": {"qemu_riscv32"},
        "zig": {"mps2_an500", "qemu_riscv32"},
    }
    for board in ("host", "mps2_an500", "qemu_riscv32"):
        expected = "" if board in boards[toolchain.name] else reasons[toolchain.name]
        assert toolchain.supports(load_board(board)) == expected


def test_the_commands_for_riscv() -> None:
    target = load_board("qemu_riscv32").target
    flags = ("-march=rv32imc", "-misa-spec=2.2", "-mabi=ilp32", "-msmall-data-limit=0")
    compile_command = riscv_gcc.compile_command(("gcc",), target, "model.c", INCLUDES)
    assert compile_command[:5] == ("gcc", *flags)
    assert "--specs=picolibc.specs" in compile_command
    link = riscv_gcc.link_command(("gcc",), target, ["obj/a.c.o"])
    assert link == (
        *("gcc", *flags, "--specs=picolibc.specs", "-nostartfiles", "-Tfirmware/memory.ld"),
        *("-Wl,--gc-sections", "obj/a.c.o", "-lm", "-o", "firmware.elf"),
    )
    assert zig.compile_command(("zig", "cc"), target, "model.c", ())[2:7] == (
        *("-target", "riscv32-freestanding-none", "-mabi=ilp32", "-msmall-data-limit=0"),
        "-mcpu=generic_rv32+m+c+zicsr",
    )


# ---- Finding programs --------------------------------------------------------------------

PROGRAM = Program("uhost-gcc", "UHOST_TEST_GCC", "apt-get install uhost-gcc")


def test_a_program_that_is_not_on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("UHOST_TEST_GCC", raising=False)
    with pytest.raises(ToolNotFoundError) as caught:
        PROGRAM.locate()
    assert str(caught.value) == (
        "'uhost-gcc' is not on PATH\n"
        "  where: PATH\n"
        "  fix:   install it with `apt-get install uhost-gcc`, or set UHOST_TEST_GCC to its path"
    )
    assert not isinstance(caught.value, MisdirectedVariableError)


def test_a_variable_that_points_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UHOST_TEST_GCC", "/nowhere/gcc")
    with pytest.raises(MisdirectedVariableError) as caught:
        PROGRAM.locate()
    assert str(caught.value) == (
        "the variable UHOST_TEST_GCC points nowhere: '/nowhere/gcc' is not an executable program\n"
        "  where: environment variable UHOST_TEST_GCC\n"
        "  fix:   correct UHOST_TEST_GCC, or unset it to search PATH for 'uhost-gcc'"
    )


def test_a_variable_goes_before_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    script(tmp_path / "bin" / "uhost-gcc", "echo on path")
    script(tmp_path / "mine", "echo mine 1.2; echo more")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    assert PROGRAM.locate().version == "on path"
    monkeypatch.setenv("UHOST_TEST_GCC", str(tmp_path / "mine"))
    assert PROGRAM.locate().argv == (str(tmp_path / "mine"),)
    assert PROGRAM.locate().version == "mine 1.2"


def test_a_relative_variable_is_made_absolute(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    script(tmp_path / "mine", "echo mine")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("UHOST_TEST_GCC", "./mine")
    assert PROGRAM.locate().argv == (str(tmp_path / "mine"),)


def test_a_program_that_does_not_run(tmp_path: Path) -> None:
    broken = script(tmp_path / "broken", "exit 3")
    with pytest.raises(ToolNotFoundError) as caught:
        version_of((str(broken),))
    assert caught.value.what == f"'{broken}' does not run: `--version` ended with status 3"
    assert caught.value.fix == "reinstall it"
    broken.write_bytes(b"\x7fELF no program")
    with pytest.raises(ToolNotFoundError, match=r"does not run: .*Exec format error"):
        version_of((str(broken),))


def test_gcc_without_newlib(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    gcc = script(
        tmp_path / "gcc", 'case "$1" in --version) echo gcc 12;; *) echo nano.specs;; esac'
    )
    gcc.rename(tmp_path / "arm-none-eabi-gcc")
    gcc = tmp_path / "arm-none-eabi-gcc"
    monkeypatch.delenv("UHOST_ARM_GCC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolNotFoundError) as caught:
        arm_gcc.TOOLCHAIN.locate()
    assert not isinstance(caught.value, MisdirectedVariableError)
    assert caught.value.what == f"'{gcc}' has no newlib: nano.specs is missing"
    assert caught.value.fix == (
        "install it with `apt-get install gcc-arm-none-eabi libnewlib-arm-none-eabi`"
    )


def compiler(path: Path, machine: str, specs: str = "/specs") -> Path:
    return script(
        path,
        f'case "$1" in --version) echo gcc 12;; -dumpmachine) echo {machine};; *) echo {specs};; '
        "esac",
    )


@pytest.mark.parametrize(
    ("toolchain", "variable", "name", "machine", "specs", "reason"),
    [
        (arm_gcc, "UHOST_ARM_GCC", "arm-none-eabi-gcc", "x86_64-linux-gnu", "/s", "builds for "),
        (arm_gcc, "UHOST_ARM_GCC", "arm-none-eabi-gcc", "", "/s", "is no C compiler"),
        (
            *(arm_gcc, "UHOST_ARM_GCC", "arm-none-eabi-gcc", "arm-none-eabi", "nano.specs"),
            "has no newlib: nano.specs is missing",
        ),
        (
            *(riscv_gcc, "UHOST_RISCV_GCC", "riscv64-unknown-elf-gcc", "arm-none-eabi", "/s"),
            "builds for ",
        ),
        (
            *(riscv_gcc, "UHOST_RISCV_GCC", "riscv64-unknown-elf-gcc", "riscv64-unknown-elf", "p"),
            "has no picolibc: picolibc.specs is missing",
        ),
        (host_cc, "UHOST_HOST_CC", "cc", "arm-none-eabi", "/s", "builds for "),
        (host_cc, "UHOST_HOST_CC", "cc", "", "/s", "is no C compiler"),
    ],
)
def test_a_variable_that_names_a_wrong_program(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    toolchain: ModuleType,
    variable: str,
    name: str,
    machine: str,
    specs: str,
    reason: str,
) -> None:
    wrong = compiler(tmp_path / "wrong", machine, specs)
    monkeypatch.setenv(variable, str(wrong))
    with pytest.raises(MisdirectedVariableError) as caught:
        toolchain.TOOLCHAIN.locate()
    whole = f"{reason}{machine}" if reason.endswith(" ") else reason
    assert caught.value.what == f"{variable} names '{wrong}', which {whole}"
    assert caught.value.where == f"environment variable {variable}"
    assert caught.value.fix == f"correct {variable}, or unset it to search PATH for '{name}'"


def test_a_variable_that_names_a_program_that_fails(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fails = script(tmp_path / "fails", "exit 1")
    monkeypatch.setenv("UHOST_TEST_GCC", str(fails))
    with pytest.raises(MisdirectedVariableError) as caught:
        PROGRAM.locate()
    assert caught.value.what == (
        f"UHOST_TEST_GCC names '{fails}', which does not run: `--version` ended with status 1"
    )


def test_no_other_toolchain_stands_in_for_a_wrong_variable(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    wrong = compiler(tmp_path / "gcc", "x86_64-linux-gnu")
    monkeypatch.setenv("UHOST_ARM_GCC", str(wrong))
    with pytest.raises(MisdirectedVariableError):
        choose_toolchain(load_board("stm32f746"))
    (found,) = (f for f in diagnose() if f.tool == "arm_gcc")
    assert found.status == "misdirected"


def test_right_compilers_in_variables(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for toolchain, variable, machine in (
        (arm_gcc.TOOLCHAIN, "UHOST_ARM_GCC", "arm-none-eabi"),
        (riscv_gcc.TOOLCHAIN, "UHOST_RISCV_GCC", "riscv64-unknown-elf"),
        (host_cc.TOOLCHAIN, "UHOST_HOST_CC", "x86_64-linux-gnu"),
    ):
        right = compiler(tmp_path / machine, machine)
        monkeypatch.setenv(variable, str(right))
        assert toolchain.locate().argv == (str(right),)


def test_zig_without_its_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ToolNotFoundError) as caught:
        zig.TOOLCHAIN.locate()
    assert str(caught.value) == (
        "the Python package 'ziglang' is not installed\n"
        f"  where: {sys.executable}\n"
        "  fix:   install it with `pip install ziglang`"
    )


def test_the_host_compiler_falls_back_to_zig_but_never_past_a_variable(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("UHOST_HOST_CC", raising=False)
    located = HostCc().locate()
    assert located.argv == (sys.executable, "-m", "ziglang", "cc")
    assert located.version.startswith("zig ")
    with pytest.raises(ToolNotFoundError, match="'cc' is not on PATH"):
        HostCc(sanitize=True).locate()
    monkeypatch.setenv("UHOST_HOST_CC", "/nowhere/cc")
    with pytest.raises(MisdirectedVariableError, match="UHOST_HOST_CC points nowhere"):
        HostCc().locate()
    monkeypatch.delenv("UHOST_HOST_CC")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ToolNotFoundError, match="'cc' is not on PATH"):
        HostCc().locate()


def test_zig_gets_a_cache_that_it_can_write_to(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("ZIG_GLOBAL_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    expected = {"ZIG_GLOBAL_CACHE_DIR": str(tmp_path / "cache" / "zig")}
    assert zig.cache_environment(tmp_path / "build") == expected
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    expected = {"ZIG_GLOBAL_CACHE_DIR": str(tmp_path / "build" / "zig-cache")}
    assert zig.cache_environment(tmp_path / "build") == expected
    monkeypatch.setenv("ZIG_GLOBAL_CACHE_DIR", "/chosen")
    assert zig.cache_environment(tmp_path / "build") == {}


# ---- Building ----------------------------------------------------------------------------


@pytest.mark.needs("host_cc")
def test_a_host_program_runs_and_its_model_is_measured(tmp_path: Path) -> None:
    artifact = host_artifact(
        '#include "model.h"\nint main(void) { return run(2); }\n',
        model_h="int run(int);\n",
        model_c='#include "model.h"\nstatic const int w[64] = {40};\n'
        "int run(int x) { return w[x - 2] + x; }\n",
    )
    image = HostCc().build(artifact, HOST, tmp_path)
    assert image.elf == tmp_path / "firmware.elf"
    assert image.toolchain == "host_cc"
    assert subprocess.run([image.elf], check=False).returncode == 42
    assert 256 < image.model_flash_bytes < 400
    assert image.flash_bytes > image.model_flash_bytes
    assert image.symbols["run"].size > 0
    assert image.function_at(image.symbols["run"].address) == "run+0x0"


@pytest.mark.needs("host_cc")
def test_only_what_changed_is_compiled_again(tmp_path: Path) -> None:
    def times() -> dict[str, int]:
        objects = (tmp_path / "obj").glob("*.o")
        return {path.name: path.stat().st_mtime_ns for path in objects}

    header, other = "int other(void);\n", "int other(void) { return 1; }\n"
    main = '#include "other.h"\nint main(void) { return other(); }\n'
    HostCc().build(host_artifact(main, other_h=header, other_c=other), HOST, tmp_path)
    first = times()
    HostCc().build(host_artifact(main, other_h=header, other_c=other), HOST, tmp_path)
    assert times() == first
    changed = other.replace("1", "2")
    image = HostCc().build(host_artifact(main, other_h=header, other_c=changed), HOST, tmp_path)
    second = times()
    assert second["main.c.o"] == first["main.c.o"]
    assert second["other.c.o"] != first["other.c.o"]
    assert subprocess.run([image.elf], check=False).returncode == 2
    HostCc().build(host_artifact(main, other_h=header + "\n", other_c=changed), HOST, tmp_path)
    third = times()
    assert third["main.c.o"] != second["main.c.o"]
    HostCc(sanitize=True).build(
        host_artifact(main, other_h=header + "\n", other_c=changed), HOST, tmp_path
    )
    assert times()["main.c.o"] != third["main.c.o"]


@pytest.mark.needs("host_cc")
def test_a_sanitized_program_stops_at_undefined_behaviour(tmp_path: Path) -> None:
    main = "int main(int n, char **v) { (void)v; return (2147483647 + n) / 2; }\n"
    image = HostCc(sanitize=True).build(host_artifact(main), HOST, tmp_path)
    result = subprocess.run([image.elf], capture_output=True, text=True, check=False)
    assert result.returncode != 0
    assert "signed integer overflow" in result.stderr


@pytest.mark.needs("host_cc")
def test_a_warning_is_an_error_that_quotes_the_compiler(tmp_path: Path) -> None:
    with pytest.raises(BuildError) as caught:
        HostCc().build(host_artifact("int main(int n) { int unused; }\n"), HOST, tmp_path)
    assert caught.value.what.startswith("the compiler refused main.c: main.c:1:")
    assert "unused" in caught.value.what
    assert caught.value.where == str(tmp_path / "main.c")
    assert len(caught.value.what.splitlines()) <= 13


@pytest.mark.needs("host_cc")
def test_a_missing_symbol_is_an_error_and_leaves_no_old_program(tmp_path: Path) -> None:
    HostCc().build(host_artifact(), HOST, tmp_path)
    main = "int absent(void);\nint main(void) { return absent(); }\n"
    with pytest.raises(BuildError) as caught:
        HostCc().build(host_artifact(main), HOST, tmp_path)
    assert caught.value.what.startswith("the linker failed: ")
    assert "absent" in caught.value.what
    assert not (tmp_path / "firmware.elf").exists()


def test_a_compiler_that_vanished(tmp_path: Path) -> None:
    with pytest.raises(ToolNotFoundError) as caught:
        _build.build_elf(
            host_artifact(),
            HOST,
            tmp_path,
            compile_command=lambda source: ("/nowhere/cc", source),
            link_command=lambda objects: ("/nowhere/cc", *objects),
            version="1",
        )
    assert caught.value.what.startswith("'/nowhere/cc' does not run: ")
    assert caught.value.fix == "run `uhost doctor`"


def test_a_compiler_that_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_build, "TIMEOUT_S", 0.2)
    with pytest.raises(BuildError) as caught:
        _build.build_elf(
            host_artifact(),
            HOST,
            tmp_path,
            compile_command=lambda source: ("sh", "-c", "exec sleep 60"),
            link_command=lambda objects: ("true",),
            version="1",
        )
    assert caught.value.what == "'sh' did not end within 0.2 s"
    mapped = f"-ffile-prefix-map={tmp_path.resolve()}=."
    assert caught.value.where == f"sh -c exec sleep 60 {mapped}"


LINKER_MESSAGES = {
    "GNU ld": (
        "ld: firmware.elf section `.bss' will not fit in region `ram'\n"
        "ld: region `ram' overflowed by 4168 bytes\n"
    ),
    "lld": (
        "ld.lld: error: section '.data' will not fit in region 'ram': overflowed by 8 bytes\n"
        "ld.lld: error: section '.bss' will not fit in region 'ram': overflowed by 4168 bytes\n"
    ),
}


@pytest.mark.parametrize("messages", LINKER_MESSAGES.values(), ids=LINKER_MESSAGES.keys())
def test_a_region_that_overflows(tmp_path: Path, messages: str) -> None:
    (tmp_path / "messages").write_text(messages)
    (tmp_path / "obj").mkdir()
    with pytest.raises(OutOfMemoryError) as caught:
        _build.build_elf(
            host_artifact(),
            load_board("mps2_an500"),
            tmp_path,
            compile_command=lambda source: ("true",),
            link_command=lambda objects: ("sh", "-c", "cat messages >&2; exit 1"),
            version="1",
        )
    assert str(caught.value) == (
        "the image does not fit the region 'ram' (4194304 bytes at 0x20000000): "
        "4168 bytes are missing\n"
        "  where: board mps2_an500\n"
        "  fix:   use a smaller model, or a board with more memory"
    )
