"""The wheel, installed outside the checkout, is whole: it builds and runs the demo."""

from __future__ import annotations

import json
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", folder, ROOT],
        check=True,
    )
    return next(folder.glob("uhost-*.whl"))


def test_the_wheel_carries_templates_boards_firmware_and_the_model(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    for path in (
        "uhost/_data/templates/model.c.j2",
        "uhost/_data/templates/kernels/reference/conv_2d.c.j2",
        "uhost/_data/boards/stm32f746g_disco.yaml",
        "uhost/_data/boards/chips/stm32f746.yaml",
        "uhost/_data/firmware/startup/cortex_m.c",
        "uhost/models/digits.tflite",
        "uhost/models/digits.npz",
        "uhost/config/uhost.schema.json",
    ):
        assert path in names, path
    assert not [n for n in names if n.startswith(("tests/", "templates/", "boards/"))]
    assert any(n.endswith("licenses/LICENSE") for n in names)


def test_the_installed_wheel_runs_the_demo(wheel: Path, tmp_path: Path) -> None:
    environment = tmp_path / "venv"
    venv.create(environment, with_pip=True)
    python = environment / "bin" / "python"
    subprocess.run(
        [python, "-m", "pip", "install", "--quiet", f"{wheel}[demo]"], check=True, cwd=tmp_path
    )
    # Only pip's packages: no compiler of the machine is on this PATH.
    clean = {"PATH": str(environment / "bin"), "HOME": str(tmp_path)}
    result = subprocess.run(
        [environment / "bin" / "uhost", "run", "--board", "stm32f746", "--json"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=clean,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    [record] = json.loads(result.stdout)["results"]
    assert (record["runner"], record["toolchain"]) == ("unicorn", "zig")
    assert record["exact"] is True
    assert record["instructions"] > 0
