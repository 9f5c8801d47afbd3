"""Names from file stems: what a folder holds is what exists.

A registry lists the modules of one package without importing them, imports one
on use, and never swallows an `ImportError`. A file whose name begins with an
underscore holds the folder's interface and is not an entry. Packages outside
uhost add entries through the entry-point group `uhost.<folder>`; they may not
shadow a built-in.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar, cast

from uhost.errors import ConfigError, InternalError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")


class Registry(Generic[T]):
    """The entries of one package: stem → the object its module defines.

    `package` is a dotted package name, `symbol` the name every module defines,
    `noun` what an entry is called in messages.
    """

    def __init__(self, package: str, symbol: str, noun: str) -> None:
        self._package = package
        self._symbol = symbol
        self._noun = noun

    @cached_property
    def _stems(self) -> tuple[str, ...]:
        if find_spec(self._package) is None:
            return ()  # a folder that only outside packages fill
        root = import_module(self._package).__file__
        if root is None:
            raise InternalError(f"package {self._package} has no file")
        return tuple(
            sorted(p.stem for p in Path(root).parent.glob("*.py") if not p.stem.startswith("_"))
        )

    @cached_property
    def _outside(self) -> dict[str, EntryPoint]:
        from importlib.metadata import entry_points  # slow to import, and seldom needed

        found = {point.name: point for point in entry_points(group=self._package)}
        for name in found:
            if name in self._stems:
                raise ConfigError(
                    f"the {self._noun} '{name}' of an outside package shadows a built-in one",
                    where=f"entry point {self._package}: {found[name].value}",
                    fix="rename the entry point",
                )
        return found

    def names(self) -> tuple[str, ...]:
        """Returns every entry's name, sorted, importing none."""
        return tuple(sorted({*self._stems, *self._outside}))

    def __contains__(self, name: str) -> bool:
        return name in self._stems or name in self._outside

    def __iter__(self) -> Iterator[T]:
        """Yields every entry, importing each."""
        return (self[name] for name in self.names())

    def __getitem__(self, name: str) -> T:
        """Returns the entry, importing its module; raises `ConfigError` for an unknown name."""
        if name in self._stems:
            module = import_module(f"{self._package}.{name}")
            if not hasattr(module, self._symbol):
                raise InternalError(f"{self._package}.{name} does not define {self._symbol}")
            return cast(T, getattr(module, self._symbol))
        if name in self._outside:
            return cast(T, self._outside[name].load())
        close = difflib.get_close_matches(name, self.names(), n=1)
        hint = f"did you mean '{close[0]}'? " if close else ""
        raise ConfigError(
            f"there is no {self._noun} '{name}'",
            fix=f"{hint}known: {', '.join(self.names())}",
        )
