"""Legal, stable, unique C identifiers from the names in models."""

from __future__ import annotations

import re

_KEYWORDS = frozenset(
    """auto break case char const continue default do double else enum extern float for goto if
    inline int long register restrict return short signed sizeof static struct switch typedef
    union unsigned void volatile while bool true false main asm""".split()
)
# The headers are for C++ as well.
_CPP_KEYWORDS = frozenset(
    """alignas alignof and and_eq bitand bitor catch class compl concept consteval constexpr
    constinit const_cast co_await co_return co_yield decltype delete dynamic_cast explicit export
    friend mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected
    public reinterpret_cast requires static_assert static_cast template this thread_local throw
    try typeid typename using virtual wchar_t xor xor_eq char8_t char16_t char32_t typeof
    typeof_unqual""".split()
)
_LONGEST = 48


def is_reserved(name: str) -> bool:
    """True for a word that C or C++ keeps for itself."""
    return name in _KEYWORDS or name in _CPP_KEYWORDS


def identifier(text: str) -> str:
    """Returns `text` as a C identifier in lower snake case, at most 48 characters long.

    It never holds two underscores in a row, nor one at an end.
    """
    name = re.sub(r"[^0-9A-Za-z]+", "_", text).strip("_").lower()[:_LONGEST].rstrip("_")
    if not name:
        return "unnamed"
    if name[0].isdigit() or is_reserved(name):
        return f"m_{name}"
    return name


def comment(text: str, longest: int | None = None) -> str:
    """Returns `text` as one that may stand in a C comment: printable ASCII that does not end it.

    Of a text that is too long, the end is kept.
    """
    plain = "".join(c if 32 <= ord(c) < 127 else "_" for c in text)
    plain = plain.replace("*/", "* /").replace("/*", "/ *").replace("\\", "_").replace("??", "? ?")
    return plain if longest is None or len(plain) <= longest else f"...{plain[-longest:]}"


class Names:
    """Hands out identifiers, each once: a name that is taken gets a number."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def reserve(self, name: str) -> None:
        """Keeps an identifier that is used elsewhere from being handed out."""
        self._taken.add(name)

    def unique(self, text: str) -> str:
        """Returns an identifier made of `text` that was not handed out before."""
        base = identifier(text)
        name, number = base, 2
        while name in self._taken:
            name, number = f"{base}_{number}", number + 1
        self._taken.add(name)
        return name
