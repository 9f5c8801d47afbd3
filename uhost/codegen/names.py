"""Legal, stable, unique C identifiers from the names in models."""

from __future__ import annotations

import re

_KEYWORDS = frozenset(
    """auto break case char const continue default do double else enum extern float for goto if
    inline int long register restrict return short signed sizeof static struct switch typedef
    union unsigned void volatile while bool true false main asm""".split()
)
_LONGEST = 48


def identifier(text: str) -> str:
    """Returns `text` as a C identifier in lower snake case, at most 48 characters long."""
    name = re.sub(r"[^0-9A-Za-z]+", "_", text).strip("_").lower()[:_LONGEST].rstrip("_")
    if not name:
        return "unnamed"
    if name[0].isdigit() or name in _KEYWORDS:
        return f"m_{name}"
    return name


class Names:
    """Hands out identifiers, each once: a name that is taken gets a number."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def unique(self, text: str) -> str:
        """Returns an identifier made of `text` that was not handed out before."""
        base = identifier(text)
        name, number = base, 2
        while name in self._taken:
            name, number = f"{base}_{number}", number + 1
        self._taken.add(name)
        return name
