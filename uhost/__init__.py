"""uhost: compiles trained models to C, builds firmware, and runs it, proven right.

import uhost

module = uhost.build("model.tflite", board="stm32f746")
with module["model"](uhost.device("stm32f746")) as executor:
    executor.set_input(0, samples)
    executor.run()
    print(executor.get_output(0))
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    __version__: str

    from uhost.driver import build as build
    from uhost.driver import load_module as load_module
    from uhost.runtime.device import cpu as cpu
    from uhost.runtime.device import device as device

_PUBLIC = {
    "build": "uhost.driver",
    "load_module": "uhost.driver",
    "cpu": "uhost.runtime.device",
    "device": "uhost.runtime.device",
}

__all__ = ["__version__", "build", "cpu", "device", "load_module"]


def __getattr__(name: str) -> Any:
    """Finds a public name on first use, so that `import uhost` stays quick."""
    if name in _PUBLIC:
        from importlib import import_module

        return getattr(import_module(_PUBLIC[name]), name)
    if name == "__version__":
        from importlib.metadata import version

        return version("uhost")
    raise AttributeError(f"module 'uhost' has no attribute '{name}'")


def __dir__() -> list[str]:
    """Returns the public names, found or not, beside what every module has."""
    return sorted({*globals(), *__all__})
