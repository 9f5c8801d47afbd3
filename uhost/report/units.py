"""Numbers with units, for people."""

from __future__ import annotations


def kib(size_bytes: int | None) -> str:
    """Returns bytes as KiB with one decimal; a dash for unknown."""
    return "-" if size_bytes is None else f"{size_bytes / 1024:.1f} KiB"


def count(number: int | None) -> str:
    """Returns a whole number with thousands separators; a dash for unknown."""
    return "-" if number is None else f"{number:,}"


def duration(seconds: float | None) -> str:
    """Returns a time in the unit that reads best; a dash for unknown."""
    if seconds is None:
        return "-"
    for limit, factor, unit in ((1e-3, 1e6, "µs"), (1.0, 1e3, "ms")):
        if seconds < limit:
            return f"{seconds * factor:.2f} {unit}"
    return f"{seconds:.2f} s"


def frequency(clock_hz: int) -> str:
    """Returns a clock in MHz."""
    return f"{clock_hz / 1e6:g} MHz"


def share(part: int | None, whole: int | None) -> str:
    """Returns a percentage; a dash where either is unknown."""
    return "-" if part is None or not whole else f"{100 * part / whole:.1f} %"


def signed(number: int | None) -> str:
    """Returns a difference with its sign; 0 for none, a dash for unknown."""
    return "-" if number is None else f"{number:+,}" if number else "0"


def size(size_bytes: int | None) -> str:
    """Returns bytes in the unit that reads best: B below 1 KiB, else KiB; a dash for unknown."""
    return f"{size_bytes} B" if size_bytes is not None and size_bytes < 1024 else kib(size_bytes)


def percent(change: float | None) -> str:
    """Returns a change in percent with its sign; a dash for unknown."""
    if change is None:
        return "-"
    if abs(change) < 0.05:
        return "≈ 0 %" if change else "0 %"
    return f"{change:+.1f} %"
