"""Words and checksums of boot blocks, as filters for `templates/boot_<kind>.c.j2`."""

from __future__ import annotations

import struct
from collections.abc import Sequence


def words16(halfwords: Sequence[int]) -> list[int]:
    """Returns the halfwords two by two as words, the first one low."""
    pairs = zip(halfwords[::2], halfwords[1::2], strict=True)
    return [low | high << 16 for low, high in pairs]


def crc32_mpeg2(words: Sequence[int], size_bytes: int) -> int:
    """Returns the CRC-32/MPEG-2 of the words, little-endian, zero-padded to `size_bytes`.

    Polynomial 0x04C11DB7, start value 0xFFFFFFFF, nothing reflected, no final XOR.
    """
    crc = 0xFFFFFFFF
    for byte in struct.pack(f"<{len(words)}I", *words).ljust(size_bytes, b"\0"):
        crc ^= byte << 24
        for _ in range(8):
            crc = (crc << 1 ^ (0x04C11DB7 if crc & 1 << 31 else 0)) & 0xFFFFFFFF
    return crc
