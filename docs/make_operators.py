"""Writes docs/operators.md, the table of operators: run it with `./dev docs`."""

from __future__ import annotations

from pathlib import Path

from uhost.report.operators import document

DOCUMENT = Path(__file__).resolve().parent / "operators.md"

if __name__ == "__main__":
    DOCUMENT.write_text(document(), encoding="utf-8")
