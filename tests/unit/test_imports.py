"""What `import uhost` and `uhost --help` load: nothing that takes long to import."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

HEAVY = {"numpy", "rich", "jinja2", "unicorn", "elftools", "serial"}
# A verb's help reads the options of targets and executors out of files and structs.
SLOW = HEAVY | {"msgspec", "yaml"}
# `uhost --help` asks outside packages for verbs, and click for words; `import uhost` nobody.
SLOW_TO_A_LIBRARY = SLOW | {"click", "importlib.metadata", "email"}


def loaded_by(code: str, *arguments: str) -> set[str]:
    """Returns the modules that `code` leaves loaded in a Python of its own."""
    program = f"{code}\nimport json, sys\nprint('\\n' + json.dumps(sorted(sys.modules)))"
    result = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return set(json.loads(result.stdout.splitlines()[-1]))


HELP = """
import contextlib
from uhost.cli import main
with contextlib.suppress(SystemExit):
    main()
"""


def test_import_uhost_loads_nothing_slow() -> None:
    loaded = loaded_by("import uhost")
    assert "uhost" in loaded
    assert loaded & SLOW_TO_A_LIBRARY == set()


@pytest.mark.parametrize("argument", ["--help", "--version"])
def test_help_loads_nothing_slow(argument: str) -> None:
    loaded = loaded_by(HELP, argument)
    assert "uhost.cli" in loaded
    assert loaded & SLOW == set()


@pytest.mark.parametrize("verb", ["build", "compile", "run", "verify", "bench", "boards", "ops"])
def test_help_of_a_verb_loads_nothing_heavy(verb: str) -> None:
    loaded = loaded_by(HELP, verb, "--help")
    assert f"uhost.cli.{verb}" in loaded
    assert loaded & HEAVY == set()


def test_every_verb_is_in_the_help_without_its_work() -> None:
    loaded = loaded_by(HELP, "--help")
    assert {"uhost.cli.build", "uhost.cli.run"} <= loaded
    assert not {name for name in loaded if name.startswith(("uhost.driver", "uhost.ir"))}


def test_public_names_come_on_first_use() -> None:
    loaded = loaded_by("import uhost\nassert uhost.__version__\nassert callable(uhost.build)")
    assert {"numpy", "uhost.driver"} <= loaded
