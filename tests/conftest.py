"""Fixtures and rules shared by all tests."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared_models() -> Path:
    """The library of public models; a checkout without it runs on the bundled model alone."""
    folder = Path(os.environ.get("UHOST_MODELS", ROOT.parent / "shared" / "models"))
    if not folder.is_dir():
        if "UHOST_MODELS" in os.environ:
            pytest.fail(f"UHOST_MODELS points at {folder}, which is not a folder")
        pytest.skip("the library of shared models is not beside this checkout")
    return folder


@pytest.fixture(autouse=True, scope="session")
def _cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keeps what tests build out of the user's cache, and shares it within one test process."""
    os.environ["UHOST_CACHE"] = str(tmp_path_factory.mktemp("cache"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With CI=true a missing tool fails; elsewhere its tests are skipped with the reason."""
    tools = {
        "arm_gcc": "arm-none-eabi-gcc",
        "qemu": "qemu-system-arm",
        "riscv_gcc": "riscv64-unknown-elf-gcc",
        "qemu_riscv": "qemu-system-riscv32",
        "host_cc": "cc",
        "gdb": "gdb-multiarch",
    }
    for item in items:
        for mark in item.iter_markers("needs"):
            missing = [tools[name] for name in mark.args if shutil.which(tools[name]) is None]
            if missing and os.environ.get("CI") != "true":
                item.add_marker(pytest.mark.skip(reason=f"{', '.join(missing)} not installed"))
