"""Prints what goes with exported C: a CMakeLists.txt, and the manifest as a C constant."""

from __future__ import annotations

from collections.abc import Sequence

from uhost.codegen.artifact import Artifact
from uhost.codegen.environment import render

_LINE = 90


def cmake_lists(models: Sequence[str], files: Artifact, flags: Sequence[str]) -> str:
    """Returns the CMakeLists.txt of exported C: a static library named after the first model.

    `flags` select the CPU the C is made for; a cross build passes them.
    """
    return render(
        "CMakeLists.txt.j2",
        {
            "models": list(models),
            "sources": [path for path in files.files if path.endswith(".c")],
            "flags": " ".join(flags),
        },
    )


def manifest_source(model: str, manifest: bytes) -> str:
    """Returns C that defines `uhost_manifest_MODEL`, the manifest's ASCII text."""
    lines: list[str] = []
    for text in manifest.decode("ascii").splitlines(keepends=True):
        pieces = [_escaped(text[i : i + _LINE]) for i in range(0, len(text), _LINE)]
        lines += pieces
    return render("manifest.c.j2", {"model": model, "lines": lines})


def _escaped(text: str) -> str:
    for character, replacement in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("?", "\\?")):
        text = text.replace(character, replacement)
    return text
