"""Rule: command line, then the project file, then the board, then built-in defaults."""

from __future__ import annotations

from pathlib import Path

from config_files import refusal, resolved

from uhost.config._layers import Values

TEXT = """\
models: [a.tflite, b.tflite]
board: stm32f746
targets: {cortex_m: {libraries: [reference], features: [dsp]}}
executor: {aot: {alignment_bytes: 16, shared_arena: false}}
passes: {disabled: [fold_constants], opt_level: 1}
kernels: {a.conv_2d_0: reference, conv_2d_1: reference}
run: {on: unicorn, verify: true}
"""
VALUES: Values = {
    ("models",): ({"c": "c.tflite"}, "MODEL"),
    ("targets", "cortex_m", "libraries"): (("dsp", "reference"), "--target-cortex-m-libraries"),
    ("executor", "aot", "alignment_bytes"): (64, "--executor-aot-alignment-bytes"),
    ("passes", "disabled"): (("remove_dead_operators",), "--disable-pass"),
    ("run", "on"): ("unicorn", "--on"),
}


def test_every_value_says_who_set_it(tmp_path: Path) -> None:
    origins = resolved(tmp_path, TEXT, VALUES).origins
    assert origins["executor.aot.alignment_bytes"] == (64, "command line")
    assert origins["executor.aot.shared_arena"] == (False, "uhost.yaml:4")
    assert origins["targets.cortex_m.cpu"] == ("cortex-m7", "board stm32f746g_disco")
    assert origins["targets.cortex_m.libraries"] == (["dsp", "reference"], "command line")
    assert origins["targets.cortex_m.features"] == (["dsp"], "uhost.yaml:3")
    assert origins["executor.aot.link_params"] == (True, "default")
    assert origins["passes.opt_level"] == (1, "uhost.yaml:5")
    assert origins["models"] == ({"c": "c.tflite"}, "command line")
    assert origins["run.verify"] == (True, "uhost.yaml:7")
    assert origins["pools.workspace"][1] == "board stm32f746g_disco"


def test_a_list_replaces_a_list_and_a_key_edits_a_key(tmp_path: Path) -> None:
    found = resolved(tmp_path, TEXT, VALUES)
    assert found.context.disabled_passes == ("remove_dead_operators",)
    assert found.models == (("c", "c.tflite"),)
    assert (found.run.on, found.run.verify) == ("unicorn", True)
    assert found.config.executor.alignment_bytes == 64
    assert not found.config.executor.shared_arena


def test_without_the_command_line_the_file_decides(tmp_path: Path) -> None:
    found = resolved(tmp_path, TEXT)
    assert found.context.disabled_passes == ("fold_constants",)
    assert found.models == ((None, f"{tmp_path}/a.tflite"), (None, f"{tmp_path}/b.tflite"))
    assert [(k.operator, k.library) for k in found.config.kernels] == [
        ("a.conv_2d_0", "reference"),
        ("conv_2d_1", "reference"),
    ]


def test_wrong_values_on_the_command_line_are_told_at_once(tmp_path: Path) -> None:
    values: Values = {
        ("executor", "aot", "alignment_bytes"): (12, "--executor-aot-alignment-bytes"),
        ("passes", "opt_level"): (9, "--opt-level"),
    }
    assert refusal(tmp_path, TEXT, values) == (
        "2 mistakes:\n"
        "  --executor-aot-alignment-bytes: wrong value: invalid enum value 12 "
        "(expected one of 8, 16, 32, 64, 128, 256)\n"
        "  --opt-level: wrong value: expected `int` <= 3 "
        "(expected an integer from 0 to 3)",
        "command line",
        "correct each of them",
    )
