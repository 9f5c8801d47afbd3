"""Answers of slow searches, kept on disk by the digest of what was asked.

A file holds one answer, behind the SHA-256 of its own bytes: one that is cut short or
damaged is no answer, and is made again. Files are put in place whole, so that processes
which solve the same at once do not disturb one another. The digest covers the question and
the source of the solver, so that another solver never meets old answers. The same question
has the same answer with the cache and without: what is generated does not depend on it.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from uhost.resources import cache_folder

T = TypeVar("T")

_DIGEST_BYTES = 32


def remembered(
    solver: Callable[..., Any], question: object, kind: Any, solve: Callable[[], T]
) -> T:
    """Returns `solve()`, or what it gave when the same was asked before.

    `question` holds numbers, text, bytes and sequences of these, and all that the answer
    depends on besides the source file of `solver`. `kind` is the type of the answer, which
    msgspec encodes. A cache that cannot be read or written costs time and nothing else.
    """
    path = cache_folder() / "solutions" / _digest(solver, question)
    stored = _read(path)
    if stored is not None:
        with suppress(msgspec.DecodeError):  # the answer to a question of another shape
            found: T = msgspec.msgpack.decode(stored, type=kind)
            return found
    answer = solve()
    _write(path, msgspec.msgpack.encode(answer))
    return answer


def _digest(solver: Callable[..., Any], question: object) -> str:
    source = Path(str(sys.modules[solver.__module__].__file__)).read_bytes()
    asked = msgspec.msgpack.encode((solver.__qualname__, hashlib.sha256(source).digest(), question))
    return hashlib.sha256(asked).hexdigest()


def _read(path: Path) -> bytes | None:
    """Returns a whole answer; None where there is none."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    digest, payload = content[:_DIGEST_BYTES], content[_DIGEST_BYTES:]
    return payload if hashlib.sha256(payload).digest() == digest else None


def _write(path: Path, payload: bytes) -> None:
    with suppress(OSError):  # a full or read-only disk: the answer is there all the same
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(hashlib.sha256(payload).digest() + payload)
            Path(name).replace(path)
        except OSError:
            Path(name).unlink(missing_ok=True)
            raise
