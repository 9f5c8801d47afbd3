"""Follows docs/bring-up.md: a board that is not in the list, from the files on the page."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

from uhost.config.board import board_names

PAGE = Path(__file__).resolve().parents[2] / "docs" / "bring-up.md"


def test_the_page_brings_up_a_board_that_is_not_in_the_list(tmp_path: Path) -> None:
    text = PAGE.read_text()
    files = re.findall(r"```yaml\n# (\S+)\n(.*?)```", text, re.DOTALL)
    assert [name for name, _ in files] == [
        "boards/chips/stm32f411.yaml",
        "boards/nucleo_f411re.yaml",
    ]
    for name, content in files:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
        assert path.stem not in board_names()
    (command,) = re.findall(r"```sh\nuhost (.*)\n```", text)
    result = subprocess.run(
        [sys.executable, "-m", "uhost", *shlex.split(command), "--json"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    (run,) = json.loads(result.stdout)["results"]
    assert (run["board"], run["runner"], run["exact"]) == ("nucleo_f411re", "unicorn", True)
