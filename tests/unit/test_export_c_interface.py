"""An application written against microTVM's C interface compiles and runs unchanged."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from small_models import expected_output, small_graph, small_sample, write_model

import uhost
from uhost import driver
from uhost.config.board import load_board
from uhost.errors import ConfigError
from uhost.runtime.module import Module

# As microTVM's own examples call a model named `default` whose tensors are input_1 and Identity.
APPLICATION = """
#include <stdint.h>
#include <stdio.h>

#include "tvmgen_default.h"

static int8_t input_storage[TVMGEN_DEFAULT_INPUT_1_SIZE];
static int8_t output_storage[TVMGEN_DEFAULT_IDENTITY_SIZE];

int main(void)
{
    struct tvmgen_default_inputs inputs = {.input_1 = input_storage};
    struct tvmgen_default_outputs outputs = {.Identity = output_storage};
    int32_t result;

    if (fread(input_storage, 1, sizeof input_storage, stdin) != sizeof input_storage) {
        return 2;
    }
    result = tvmgen_default_run(&inputs, &outputs);
    if (result != 0 || TVMGEN_DEFAULT_WORKSPACE_SIZE < sizeof input_storage) {
        return 1;
    }
    fwrite(output_storage, 1, sizeof output_storage, stdout);
    outputs.Identity = NULL;
    return tvmgen_default_run(&inputs, &outputs) == -1 ? 0 : 3;
}
"""

GRAPH = small_graph(5, {"input": "input_1", "output": "Identity"})


def build(folder: Path, board: str, prefix: str = "tvmgen", **options: object) -> Module:
    config = driver.configure(load_board(board))
    executor = replace(config.executor, c_prefix=prefix, **options)  # type: ignore[arg-type]
    path = write_model(folder, GRAPH)
    return uhost.build({"default": path}, board=board, config=replace(config, executor=executor))


@pytest.mark.needs("host_cc")
@pytest.mark.parametrize("form", ["folder", "tar"])
def test_a_microtvm_application_runs_unchanged(tmp_path: Path, form: str) -> None:
    module = build(tmp_path, "host")
    out = tmp_path / "out"
    if form == "folder":
        module.export_library(out)
        places = [out]
    else:  # where microTVM's projects look in the Model Library Format
        module.export_library(tmp_path / "model.tar")
        subprocess.run(["mkdir", out], check=True)
        subprocess.run(["tar", "xf", tmp_path / "model.tar", "-C", out], check=True)
        places = [out / "codegen/host/src", out / "codegen/host/include"]
    (tmp_path / "main.c").write_text(APPLICATION)
    sources = [path for place in places for path in place.glob("*.c")]
    flags = ["-std=c11", "-Wall", "-Wextra", "-Werror", *(f"-I{place}" for place in places)]
    subprocess.run(["cc", *flags, "main.c", *sources, "-o", "app"], cwd=tmp_path, check=True)
    given = small_sample(4)
    done = subprocess.run(
        [tmp_path / "app"], input=given.tobytes(), stdout=subprocess.PIPE, check=True
    )
    assert done.stdout == expected_output(GRAPH, given).tobytes()


def test_the_header_has_microtvms_names(tmp_path: Path) -> None:
    build(tmp_path, "host").export_library(tmp_path / "out")
    header = (tmp_path / "out" / "tvmgen_default.h").read_text()
    for line in (
        "#define TVMGEN_DEFAULT_INPUT_1_SIZE 48",
        "#define TVMGEN_DEFAULT_IDENTITY_SIZE 80",
        "struct tvmgen_default_inputs {\n    void *input_1;\n};",
        "struct tvmgen_default_outputs {\n    void *Identity;\n};",
        "int32_t tvmgen_default_run(struct tvmgen_default_inputs *inputs,",
        "#define TVMGEN_DEFAULT_WORKSPACE_SIZE ",
    ):
        assert line in header


@pytest.mark.needs("arm_gcc")
def test_the_firmware_does_not_pay_for_the_interface(tmp_path: Path) -> None:
    plain, prefixed = (build(tmp_path, "mps2_an500", prefix) for prefix in ("", "tvmgen"))
    sizes = []
    for module in (plain, prefixed):
        with module["m_default"](uhost.device("mps2_an500")) as executor:
            executor.set_input(0, small_sample())
            executor.run()
            assert np.array_equal(executor.get_output(0), expected_output(GRAPH, small_sample()))
        library = module._library
        sizes.append(library.steps.link(library.program).ram_bytes)
    assert sizes[0] == sizes[1]


def test_a_prefix_that_makes_another_models_names_is_refused(tmp_path: Path) -> None:
    config = driver.configure(load_board("host"))
    config = replace(config, executor=replace(config.executor, c_prefix="a"))
    path = write_model(tmp_path, GRAPH)
    with pytest.raises(ConfigError) as caught:
        uhost.build({"b": path, "a_b": path}, board="host", config=config)
    assert str(caught.value) == (
        "the C interface of 'b' would have the names of the model 'a_b'\n"
        "  where: executor aot: c_prefix 'a'\n"
        "  fix:   choose another prefix, or give a model another name: name=path"
    )


def test_weights_apart_have_no_place_in_the_interface(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        build(tmp_path, "host", link_params=False)
    assert str(caught.value) == (
        "the C interface of 'tvmgen' needs the weights in the code\n"
        "  where: executor aot: c_prefix with link_params off\n"
        "  fix:   turn link_params on, or leave out c_prefix"
    )
