"""Counts executed instructions of one function in a QEMU process, by a plugin in it.

The plugin is C, compiled for this machine on first use and kept in the cache. QEMU is
started with it wherever it can be, because which function to count is known later: until
then it costs a call per executed block that returns at once. It and this process share a
mapped file. Where counting is impossible the reason is kept, and there are no counts.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import mmap
import os
import re
import subprocess
import tempfile
import weakref
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from uhost.errors import RunnerError
from uhost.resources import cache_folder
from uhost.runners._counter import (
    MAX_CALLS,
    MAX_VISITS,
    Visit,
    compilers,
    executed_blocks,
    host_machine,
    too_many_calls,
)
from uhost.runners._runner import RunCounts
from uhost.toolchain._toolchain import Image, Symbol

VECTORS = "uhost_vectors"
_SOURCE = Path(__file__).with_name("_qemu_counter.c")
_FLAGS = ("-std=gnu11", "-O2", "-fPIC", "-shared", "-fno-sanitize=undefined")
_HANDLER_SLOTS = 512
_TIMEOUT_S = 60.0
# The plugin is written for these; a later one may have changed what it calls.
_KNOWN_APIS = range(5)


class _Run(ctypes.Structure):
    _fields_ = [
        ("total", ctypes.c_uint64),
        ("calls", ctypes.c_uint64 * MAX_CALLS),
        ("size", ctypes.c_uint32),
        ("visit_size", ctypes.c_uint32),
        ("visits", Visit * MAX_VISITS),
    ]


class _Shared(ctypes.Structure):
    """`struct shared` of `_qemu_counter.c`."""

    _fields_ = [
        ("handler_count", ctypes.c_uint32),
        ("handlers", ctypes.c_uint32 * _HANDLER_SLOTS),
        ("entry", ctypes.c_uint32),
        ("end", ctypes.c_uint32),
        ("watches", ctypes.c_uint32),
        ("finished_runs", ctypes.c_uint32),
        ("reserved", ctypes.c_uint32),
        ("runs", _Run * 2),
    ]


class QemuCounter:
    """Counts the calls of one function in the QEMU that is started with `options`."""

    def __init__(self, plugin: Path, handlers: frozenset[int]) -> None:
        descriptor, name = tempfile.mkstemp(prefix="uhost-counter-")
        self._remove = weakref.finalize(self, Path(name).unlink, missing_ok=True)
        try:
            os.ftruncate(descriptor, ctypes.sizeof(_Shared))
            self._memory = mmap.mmap(descriptor, ctypes.sizeof(_Shared))
        finally:
            os.close(descriptor)
        self._shared = _Shared.from_buffer(self._memory)
        self._shared.handler_count = len(handlers)
        self._shared.handlers[: len(handlers)] = sorted(handlers)
        self._seen = 0
        # QEMU takes a doubled comma for one.
        self.options = ("-plugin", f"{_quoted(plugin)},state={_quoted(Path(name))}")

    def watch(self, function: Symbol) -> None:
        """Counts the next calls of a function; the device waits for a request meanwhile."""
        self._shared.entry = function.address
        self._shared.end = function.address + function.size
        self._seen = self._shared.finished_runs
        self._shared.watches += 1

    def counts(self) -> RunCounts | None:
        """Returns the counts of the last finished call; None before one."""
        finished = self._shared.finished_runs
        if finished == self._seen:
            return None
        run = self._shared.runs[finished % 2]
        if run.size > MAX_CALLS:
            raise too_many_calls(run.size)
        blocks = None
        if run.visit_size <= MAX_VISITS:
            blocks = executed_blocks(run.visits[: run.visit_size], run.size)
        return RunCounts(run.total, tuple(run.calls[: run.size]), blocks)

    def close(self) -> None:
        """Removes the shared file; counts can still be read."""
        self._remove()


def _quoted(path: Path) -> str:
    return str(path).replace(",", ",,")


def counter_for(qemu: str, image: Image) -> tuple[QemuCounter | None, str]:
    """Returns a counter for an image in the QEMU at path `qemu`, or None and why there is none."""
    try:
        handlers = _handlers(image)
        return QemuCounter(_plugin(qemu), handlers), ""
    except RunnerError as error:
        return None, error.what


def _handlers(image: Image) -> frozenset[int]:
    """Returns the addresses of the image's exception handlers, from its vector table."""
    table = image.symbols.get(VECTORS)
    if table is None or table.size == 0:
        raise RunnerError("instructions are counted in images for Cortex-M alone")
    try:
        with image.elf.open("rb") as stream:
            for segment in ELFFile(stream).iter_segments("PT_LOAD"):
                offset = table.address - segment["p_vaddr"]
                if 0 <= offset < segment["p_filesz"]:
                    words = memoryview(segment.data()[offset : offset + table.size // 4 * 4])
                    # Behind the stack pointer and reset.
                    return frozenset(word & ~1 for word in words.cast("I")[2:] if word)
    except (OSError, ELFError) as cause:
        raise RunnerError(f"the image cannot be read: {cause}") from None
    raise RunnerError("the image holds no vector table")


def _plugin(qemu: str) -> Path:
    """Returns the plugin for a QEMU, built once per source, machine and API version."""
    api = _api(qemu)
    if api not in _KNOWN_APIS:
        raise RunnerError(f"QEMU's plugins have API version {api}, which is not known")
    return _built(f"-DUHOST_PLUGIN_API={api}")


def _api(qemu: str) -> int:
    """Returns the API version of a QEMU's plugins, asked once per file."""
    place = Path(qemu).resolve()
    facts = place.stat()
    key = f"{place}\0{facts.st_mtime_ns}\0{facts.st_size}\0".encode() + host_machine()
    known = _folder() / f"{hashlib.sha256(key).hexdigest()[:32]}.api"
    with contextlib.suppress(OSError, ValueError):
        return int(known.read_text())
    asking = [qemu, "-machine", "none", "-display", "none", "-plugin", _quoted(_built())]
    try:
        said = subprocess.run(
            asking, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=_TIMEOUT_S
        ).stderr.decode(errors="replace")
    except (OSError, subprocess.TimeoutExpired) as cause:
        raise RunnerError(f"QEMU does not tell its plugins' API version: {cause}") from None
    version = re.search(r"supports only up to version (\d+)", said)
    if version is None:
        raise RunnerError(f"this QEMU has no plugins: {said.strip() or 'it said nothing'}")
    _write(known, version[1].encode())
    return int(version[1])


def _folder() -> Path:
    folder = cache_folder() / "qemu_counter"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as cause:
        raise RunnerError(f"the cache cannot be written: {cause.strerror}") from None
    return folder


def _built(*definitions: str) -> Path:
    """Returns the compiled plugin from the cache, or builds it; it appears whole or not at all."""
    flags = (*_FLAGS, *definitions)
    content = (_SOURCE.read_bytes(), " ".join(flags).encode(), host_machine())
    library = _folder() / f"{hashlib.sha256(b'|'.join(content)).hexdigest()[:32]}.so"
    if library.is_file():
        return library
    said = "no compiler is there"
    for compiler in compilers():
        with tempfile.TemporaryDirectory(dir=library.parent) as folder:
            made = Path(folder) / "plugin.so"
            try:
                done = subprocess.run(
                    [*compiler, *flags, "-o", str(made), str(_SOURCE)],
                    capture_output=True,
                    check=False,
                    timeout=_TIMEOUT_S,
                )
            except (OSError, subprocess.TimeoutExpired) as cause:
                said = str(cause)
                continue
            if done.returncode == 0:
                made.replace(library)
                return library
            said = done.stderr.decode(errors="replace").strip().partition("\n")[0]
    raise RunnerError(f"the plugin that counts cannot be compiled: {said}")


def _write(path: Path, content: bytes) -> None:
    """Writes a small file of the cache, whole or not at all; without it, it is made again."""
    with contextlib.suppress(OSError), tempfile.NamedTemporaryFile(dir=path.parent) as stream:
        stream.write(content)
        stream.flush()
        os.link(stream.name, path)
