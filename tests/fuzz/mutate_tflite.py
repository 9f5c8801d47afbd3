"""Loads mutated `.tflite` files: each must give a verified graph or a `ModelError`.

    python tests/fuzz/mutate_tflite.py --count 20000 --seed 1 model.tflite …

Mutations depend on seed and number alone, so that a failure can be repeated with
`--first NUMBER --count 1`. Memory is limited by the operating system and every load is
timed. Prints one JSON object; the exit code is 1 after any other outcome, with the
traceback of the first of each kind on standard error.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import struct
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from unittest.mock import patch

from uhost.errors import MalformedModelError, ModelError, UnsupportedOperatorError
from uhost.frontends._flatbuffer import Flatbuffer
from uhost.frontends._frontend import FRONTENDS

MEMORY_LIMIT_BYTES = 256 * 2**20
"""What loading may take on top of the interpreter and its libraries."""

WORDS = (0, 1, 2, 3, 4, 7, 8, 0x7F, 0xFF, 0xFFFF, 2**30, 2**31 - 1, 2**31, 2**32 - 4, 2**32 - 1)

Mutation = Callable[[bytearray, random.Random, Callable[[], int]], None]
"""Changes the content in place; the last argument draws a position worth changing."""


def flip_bits(content: bytearray, rng: random.Random, position: Callable[[], int]) -> None:
    for _ in range(rng.choice((1, 1, 2, 4, 16))):
        content[position()] ^= 1 << rng.randrange(8)


def set_bytes(content: bytearray, rng: random.Random, position: Callable[[], int]) -> None:
    for _ in range(rng.choice((1, 1, 2, 4, 16))):
        content[position()] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))


def set_word(content: bytearray, rng: random.Random, position: Callable[[], int]) -> None:
    for _ in range(rng.choice((1, 1, 2, 3))):
        size = rng.choice((1, 2, 4, 4, 8))
        at = min(position() & -size, len(content) - size)
        word = rng.choice((*WORDS, len(content), len(content) - at, rng.getrandbits(32)))
        content[at : at + size] = struct.pack("<Q", word)[:size]


def add_to_word(content: bytearray, rng: random.Random, position: Callable[[], int]) -> None:
    for _ in range(rng.choice((1, 1, 2))):
        at = min(position() & -4, len(content) - 4)
        (word,) = struct.unpack_from("<I", content, at)
        changed = word + rng.choice((-64, -8, -4, -2, -1, 1, 2, 4, 8, 64))
        struct.pack_into("<I", content, at, changed % 2**32)


def fill_range(content: bytearray, rng: random.Random, position: Callable[[], int]) -> None:
    at = position()
    size = min(rng.choice((4, 8, 32, 256, 4096)), len(content) - at)
    content[at : at + size] = rng.choice((b"\x00", b"\xff")) * size


def splice(content: bytearray, rng: random.Random, position: Callable[[], int]) -> None:
    source, target = position() & -4, position() & -4
    size = min(rng.choice((4, 4, 8, 32, 256)), len(content) - max(source, target))
    content[target : target + size] = content[source : source + size]


def cut(content: bytearray, rng: random.Random, position: Callable[[], int]) -> None:
    at = position()
    del content[at : at + rng.choice((1, 4, 16, 64))]


def insert(content: bytearray, rng: random.Random, position: Callable[[], int]) -> None:
    at = position()
    content[at:at] = rng.randbytes(rng.choice((1, 4, 16, 64)))


def truncate(content: bytearray, rng: random.Random, position: Callable[[], int]) -> None:
    del content[rng.choice((position(), rng.randrange(len(content)))) :]


MUTATIONS: tuple[Mutation, ...] = (
    flip_bits,
    set_bytes,
    set_word,
    set_word,
    add_to_word,
    add_to_word,
    fill_range,
    splice,
    cut,
    insert,
    truncate,
)


class _Tracing(Flatbuffer):
    """Notes which bytes are read as numbers: everything but the constants."""

    offsets: set[int]

    def check(self, offset: int, size_bytes: int, place: str) -> None:
        super().check(offset, size_bytes, place)
        if size_bytes <= 64:
            self.offsets.update(range(offset, offset + size_bytes))


def structure_of(content: bytes) -> list[int]:
    """Returns the offsets of the bytes that the frontend reads as structure."""
    _Tracing.offsets = set()
    # A model of unsupported operators is worth mutating too.
    with patch("uhost.frontends.tflite.Flatbuffer", _Tracing), suppress(UnsupportedOperatorError):
        load(content)
    return sorted(_Tracing.offsets)


def mutate(content: bytes, structure: list[int], rng: random.Random) -> bytes:
    """Returns `content` after one to three mutations, most of them of its structure."""
    mutated = bytearray(content)

    def position() -> int:
        at = rng.choice(structure) if rng.random() < 0.8 else rng.randrange(len(mutated))
        return min(at, len(mutated) - 1)

    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        rng.choice(MUTATIONS)(mutated, rng, position)
        if len(mutated) < 64:
            break
    return bytes(mutated)


def load(content: bytes) -> None:
    """Loads and verifies `content` as the command line would, by the first frontend that may."""
    for frontend in FRONTENDS:
        if frontend.recognizes(content):
            frontend.load(content, "mutated").verify()
            return
    raise MalformedModelError("no frontend recognises it")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--count", type=int, default=400)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", default="uhost")
    options = parser.parse_args()
    contents = [path.read_bytes() for path in options.models]
    structures = [structure_of(content) for content in contents]
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + MEMORY_LIMIT_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

    outcomes: Counter[str] = Counter()
    failures: dict[str, str] = {}
    slowest_s = 0.0
    for number in range(options.first, options.first + options.count):
        which = number % len(contents)
        rng = random.Random(f"{options.seed} {options.models[which].name} {number}")
        mutated = mutate(contents[which], structures[which], rng)
        start = time.perf_counter()
        try:
            load(mutated)
            outcome = "Graph"
        except ModelError as error:
            outcome = type(error).__name__
        except Exception as error:  # noqa: BLE001
            # Whatever else escapes is what is looked for.
            outcome = f"{type(error).__name__}: {error}"[:120]
            failures.setdefault(
                outcome,
                f"{options.models[which].name}, mutation {number}\n{traceback.format_exc()}",
            )
        outcomes[outcome] += 1
        slowest_s = max(slowest_s, time.perf_counter() - start)
    for text in failures.values():
        print(text, file=sys.stderr)
    print(json.dumps({"outcomes": outcomes, "slowest_s": slowest_s}))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
