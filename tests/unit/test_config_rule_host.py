"""Rule: no host given is this machine; nothing else can be one."""

from __future__ import annotations

from pathlib import Path

from config_files import refusal, resolved

from uhost.config.board import load_board


def test_without_a_host_it_is_this_machine(tmp_path: Path) -> None:
    found = resolved(tmp_path, "board: stm32f746\n")
    assert found.config.host == load_board("host").target
    assert found.origins["host"] == ("host", "this machine")


def test_this_machine_may_be_given(tmp_path: Path) -> None:
    found = resolved(tmp_path, "board: stm32f746\nhost: host\n")
    assert found.config.host == load_board("host").target
    assert found.origins["host"] == ("host", "uhost.yaml:2")


def test_another_host_is_refused(tmp_path: Path) -> None:
    assert refusal(tmp_path, "board: stm32f746\nhost: cortex_m\n") == (
        "the host is 'cortex_m', but devices are driven by this machine",
        "uhost.yaml:2, key host",
        "give 'host', or leave it out",
    )
