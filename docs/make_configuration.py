"""Writes docs/configuration.md and the JSON Schema of project files from the one schema.

Run it with `./dev docs`. A test compares both with what this makes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from uhost.cli._settings import Configured, SettingOption
from uhost.cli.bench import COMMAND as BENCH
from uhost.cli.build import COMMAND as BUILD
from uhost.cli.run import COMMAND as RUN
from uhost.cli.verify import COMMAND as VERIFY
from uhost.config.compilation import EXECUTORS, RUNTIMES, CompilationConfig, Pool
from uhost.config.pass_context import PassContext
from uhost.config.project import Project, TargetOptions, described_fields, json_schema
from uhost.inputs._input import INPUTS

ROOT = Path(__file__).resolve().parent.parent
DOCUMENT = ROOT / "docs" / "configuration.md"
SCHEMA = ROOT / "uhost" / "config" / "uhost.schema.json"

LIVES = {
    "C0": ("passes",),
    "C1": (
        *("host", "targets", "executor", "runtime", "pools", "numerics", "kernels"),
        *("optimize", "flash_limit", "ram_limit"),
    ),
}
DEFAULTS = {
    "models": "the bundled model",
    "input_shapes": "the model's own, the batch 1",
    "board": "must be given",
    "host": "this machine",
    "targets": "the board's",
    "targets.KIND.cpu": "the board's, else the kind's only one",
    "targets.KIND.features": "the board's, else the kind's for the CPU",
    "targets.KIND.libraries": "all that the features make usable",
    "pools.workspace": "the board's RAM without the stack",
    "pools.constants": "the board's flash",
    "pools.POOL.name": "must be given",
    "flash_limit": "the board's flash",
    "ram_limit": "the board's RAM",
    "kernels": "by what they cost",
    "passes.options": "each pass's own",
    "passes.dump": "none",
    "toolchain": "the first that is installed",
    "output": "`build/<models>-<board>`",
    "run.on": "the first that has the board's core",
    "run.input": "seeded random values",
    "run.preprocess": "what the kind of file needs",
    "run.labels": "those of the input file",
    "run.preprocess.MODEL (image).channels": "the input's",
    "run.preprocess.MODEL (image).mean": "see the meaning",
    "run.preprocess.MODEL (image).std": "see the meaning",
    "run.preprocess.MODEL (audio).model": "none",
    "run.output": "none",
    "verify.on": "the first that has the board's core",
    "verify.golden": "one seeded random sample",
    "bench.on": "the first that has the board's core",
    "bench.samples": "all",
}
NAMED = {"executor": EXECUTORS, "runtime": RUNTIMES}

PROSE = """\
# Configuration

Written by `./dev docs` from the schema in `uhost/config/project.py`; do not edit it.

## Three things kept apart

| | what it is | where it lives |
|---|---|---|
| **C1** `CompilationConfig` | what the *result* must satisfy: host and device targets, executor, \
runtime, memory pools, numerics, what kernels are chosen for, limits of flash and RAM, kernels \
chosen by hand | `uhost/config/compilation.py`; attached \
to the models, written with what is built |
| **C0** `PassContext` | how passes do their work: level, required and disabled passes, options, \
instruments | `uhost/config/pass_context.py`; an argument, never global, never needed to load \
what was built |
| **C2** `uhost.yaml` | what one project wrote down, C0 and C1 included | \
`uhost/config/project.py`; resolved once, by `uhost/config/resolve.py`, into C0 and C1 |

`uhost new DIR --board B` writes a project to begin with. The verbs `build`, `run`, `verify`,
`bench` and `compile` use the `uhost.yaml` of the folder they are called in, or that of
`--project`. Paths in it are relative to it, and `boards/NAME.yaml` beside it is a board of
that name, even where uhost has one of that name too.

## What goes before what

The command line goes before the project file, that before the board, that before the
built-in defaults. A key replaces a key, a list replaces a list. `uhost config show --explain`
prints every value and who set it, `uhost config show --resolved` a project file with every
value spelt out, which resolves to the same.

* No host given: this machine.
* A board gives its device target. The first device target is the board's CPU; operators are
  offered to the others first, in their order. The others are accelerators.
* A CPU of the target must be one whose code the board's core runs: its own, or a smaller one
  of the family.
* A device target without CPU features takes its kind's. Kernel libraries follow from the
  features.
* A target kind given twice is refused, and so is an option for a target, an executor or a
  runtime that is not selected.
* A pool is a memory region of the board. Of those that all device targets may use, the
  fastest with room enough is taken; the linker puts the arena there. A region at address 0
  is none for the arena.
* `flash_limit` is of the models' code and constants, `ram_limit` of their arenas; the firmware
  around them and the stack come on top. Sizes are bytes, or have a unit: `64k` and `64KiB` are
  65536 bytes, `1M` and `1MiB` 1024 times 1024. Where kernels cannot meet a limit, the error says
  how many bytes are missing.
* Nothing is dropped silently: an unknown key, a wrong type or an unknown name is an error
  that says file, line, key, expected type and the nearest right spelling. All mistakes of
  a file are told at once.

`on`, `off`, `yes` and `no` are text, as in YAML 1.2; only `true` and `false` are truth values.

## Every key

The JSON Schema for editors is `uhost/config/uhost.schema.json`; `uhost config schema` prints
it.

"""


def rows() -> Iterator[tuple[str, str, str, str, str, str]]:
    """Yields (key, type, default, where it lives, option, meaning) of every key."""
    options = command_line()
    for key, kind, default, meaning in keys(Project):
        lives = next((c for c, tops in LIVES.items() if key.split(".")[0] in tops), "C2")
        yield key, kind, default, lives, options.get(key, ""), meaning


def keys(struct: type, prefix: str = "", made: Any = None) -> Iterator[tuple[str, str, str, str]]:
    """Yields (key, type, default, meaning) of a section and those below it."""
    for field in described_fields(struct):
        key = f"{prefix}{field.name}"
        if field.section is not None:
            selected = NAMED.get(prefix.rstrip("."), {}).get(field.name)
            yield from keys(field.section, f"{key}.", selected() if selected else None)
            continue
        default = DEFAULTS.get(key) or spelt(getattr(made, field.name, None))
        yield key, field.type_text, default or fallback(key), field.description
        if key == "targets":
            yield from keys(TargetOptions, "targets.KIND.")
        elif key == "run.preprocess":
            for name in INPUTS.names():
                if (options := INPUTS[name].options) is not None:
                    yield from keys(options, f"run.preprocess.MODEL ({name}).", options())
        elif key == "pools.constants":
            yield from keys(Pool, "pools.POOL.", Pool("ram"))


def fallback(key: str) -> str:
    """Returns the default of a key that stands for itself."""
    context, config = PassContext(), CompilationConfig.__dataclass_fields__
    known = {
        "numerics": config["numerics"].default,
        "optimize": config["optimize"].default,
        "passes.opt_level": context.opt_level,
        "passes.required": "none",
        "passes.disabled": "none",
        "passes.check": False,
        "passes.time": False,
        "run.verify": False,
        "run.quantize_input": False,
        "verify.quantize_input": False,
        "bench.quantize_input": False,
        "run.reset_each": False,
        "verify.reset_each": False,
        "pools.POOL.size_bytes": "the region's",
        "pools.POOL.targets": "all",
        "executor.aot.c_prefix": "none",
    }
    return spelt(known[key])


def spelt(value: object) -> str:
    """Returns a value as it is written in a project file; "" for none."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value in (None, "", ()) else str(value)


def command_line() -> dict[str, str]:
    """Returns key → the option that sets it."""
    found: dict[str, str] = {}
    for verb in (BUILD, RUN, VERIFY, BENCH):
        assert isinstance(verb, Configured)
        for parameter in verb.get_params(_context(verb)):
            if isinstance(parameter, SettingOption):
                key = ".".join(parameter.keys)
                name = max(parameter.opts, key=len)
                found.setdefault(key.replace("targets.cortex_m.", "targets.KIND."), name)
    generic = {k: v.replace("cortex-m", "KIND") for k, v in found.items() if "KIND" in k}
    return {**found, **generic}


def _context(verb: Configured) -> Any:
    import click

    return click.Context(verb)


def document() -> str:
    """Returns docs/configuration.md."""
    lines = ["| key | type | default | where | option | meaning |", "|---|---|---|---|---|---|"]
    for key, kind, default, lives, option, meaning in rows():
        shown = f"`{option}`" if option else ""
        cells = (f"`{key}`", kind, default, lives, shown, meaning)
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return PROSE + "\n".join(lines) + "\n"


def main() -> int:
    """Writes the document and the schema."""
    DOCUMENT.write_text(document(), encoding="utf-8")
    SCHEMA.write_text(json_schema(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
