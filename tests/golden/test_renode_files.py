"""The Renode files against the golden ones, and what Robot makes of the test.

After a change that is meant, write the golden files again:

    python tests/golden/test_renode_files.py
"""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest
from robot.api import TestSuite as RobotSuite

from uhost.codegen.renode import quantum_us, renode_files, robot_argument
from uhost.config.board import Board, board_names, load_board

GOLDEN = Path(__file__).parent / "renode"
BOARDS = (
    "netduinoplus2",
    "nrf52840dk",
    "nucleo_f746zg",
    "nucleo_h743zi2",
    "qemu_riscv32",
    "stm32f746g_disco",
)
DIGEST = "0123456789abcdef" * 4
WITH_RENODE = tuple(name for name in board_names() if load_board(name).renode)


def generated(board: str | Board) -> dict[str, str]:
    loaded = load_board(board) if isinstance(board, str) else board
    files = renode_files(loaded, DIGEST, ("kws", "digits"))
    return {Path(path).name: content.decode() for path, content in files.items()}


@pytest.mark.parametrize("board", BOARDS)
@pytest.mark.parametrize("name", ["uhost.resc", "uhost.repl", "uhost.robot"])
def test_a_generated_file_is_the_golden_one(board: str, name: str) -> None:
    assert generated(board)[name] == (GOLDEN / board / name).read_text()


def test_a_board_without_a_platform_has_no_files() -> None:
    assert renode_files(load_board("mps2_an500"), DIGEST, ()) == {}
    assert renode_files(load_board("host"), DIGEST, ()) == {}


@pytest.mark.parametrize("board", WITH_RENODE)
def test_files_hold_no_path_of_this_machine_and_download_nothing(board: str) -> None:
    for name, text in generated(board).items():
        assert not re.search(r"(?<![\w.$}])/(work|home|tmp|usr|root)\b", text), name
        assert "http" not in text, name


@pytest.mark.parametrize("board", WITH_RENODE)
def test_the_time_of_the_machine_is_the_boards_clock(board: str) -> None:
    loaded = load_board(board)
    assert loaded.renode
    files = generated(board)
    mips = re.search(rf"^{loaded.renode.cpu} PerformanceInMips (\d+)$", files["uhost.resc"], re.M)
    assert mips
    assert abs(int(mips[1]) * 1_000_000 - loaded.clock_hz) <= 500_000
    if loaded.cycle_counter == "dwt":
        found = re.findall(
            r"Miscellaneous\.DWT @ sysbus 0xE0001000\s*{?\s*frequency: (\d+)", files["uhost.repl"]
        )
        assert found == [str(loaded.clock_hz)]


@pytest.mark.parametrize("board", WITH_RENODE)
def test_a_platforms_downloads_are_replaced(board: str) -> None:
    """An `init` of the same peripheral replaces that of the platform it follows."""
    text = generated(board)["uhost.repl"]
    assert re.search(r'^using "platforms/[\w/.-]+\.repl"$', text, re.M)
    if load_board(board).target.kind == "cortex_m":
        assert re.search(r"^sysbus:\n    init:\n        \w", text, re.M)
        assert text.count("sysbus:") == 1


def test_a_boards_own_lines_take_the_place_of_the_general_ones() -> None:
    board = load_board("netduinoplus2")
    assert board.renode
    lines = ("sysbus:", "    init:", '        Tag <0x58024818, 0x58024818> "D3CR" 0x2000')
    own = dataclasses.replace(board, renode=dataclasses.replace(board.renode, overlay=lines))
    text = generated(own)["uhost.repl"]
    assert "ROM_TABLE" not in text
    assert "\n".join(lines) in text
    assert "dwt: Miscellaneous.DWT @ sysbus 0xE0001000\n    frequency: 168000000\n" in text


def test_quantum_is_a_number_of_instructions() -> None:
    assert quantum_us(216_000_000) == 93
    assert quantum_us(16_000_000) == 1250
    assert quantum_us(4_000_000_000) == 10


@pytest.mark.parametrize("board", WITH_RENODE)
def test_robot_reads_the_test(board: str, tmp_path: Path) -> None:
    path = tmp_path / "uhost.robot"
    path.write_text(generated(board)["uhost.robot"])
    suite = RobotSuite.from_file_system(path)
    assert [test.name for test in suite.tests] == [
        "Firmware Tells Its Build",
        "Model kws Runs",
        "Model digits Runs",
    ]
    assert [keyword.name for keyword in suite.resource.keywords] == [
        "Start Firmware",
        "Send",
        "Should Answer",
    ]


@pytest.mark.parametrize(
    ("text", "argument"),
    [
        (".*kws.*", ".*kws.*"),
        ("board=x=y", r"board\=x=y"),
        (r"a\d", r"a\\d"),
        ("${x} @{y}", r"\${x} \@{y}"),
        ("a  b", "a \\ b"),
        ("#no comment", r"\#no comment"),
    ],
)
def test_robot_argument(text: str, argument: str, tmp_path: Path) -> None:
    assert robot_argument(text) == argument
    path = tmp_path / "one.robot"
    path.write_text(f"*** Test Cases ***\nOne\n    Should Be Equal    {argument}    {argument}\n")
    output = tmp_path / "output.xml"
    result = RobotSuite.from_file_system(path).run(output=str(output), stdout=_Silent())
    assert result.return_code == 0
    assert text.replace("&", "&amp;") in output.read_text() or argument in output.read_text()


class _Silent:
    def write(self, text: str) -> None:
        """Drops the text."""

    def flush(self) -> None:
        """Does nothing."""


if __name__ == "__main__":
    for written_board in BOARDS:
        for written_name, content in generated(written_board).items():
            written = GOLDEN / written_board / written_name
            written.parent.mkdir(parents=True, exist_ok=True)
            written.write_text(content)
