"""uhost: compiles trained models to C, builds firmware, and runs it, proven right.

import uhost

module = uhost.build("model.tflite", board="stm32f746")
with module["model"](uhost.device("stm32f746")) as executor:
    executor.set_input(0, samples)
    executor.run()
    print(executor.get_output(0))
"""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

__version__ = version("uhost")

if TYPE_CHECKING:
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
    """Imports a public name on first use, so that `import uhost` stays quick."""
    if name in _PUBLIC:
        from importlib import import_module

        return getattr(import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module 'uhost' has no attribute '{name}'")
