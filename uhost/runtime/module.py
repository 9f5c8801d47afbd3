"""Module: a compiled model with one necessary call, the factory."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from uhost.errors import ConfigError
from uhost.rpc.session import Session
from uhost.runners._runner import RUNNERS
from uhost.runtime.compiled import Built, Compile, Compiled, Link
from uhost.runtime.device import Device
from uhost.runtime.graph_module import GraphModule

Factory = Callable[[Device], GraphModule]


class Module:
    """`module["name"](device)` gives an executor; the module itself never changes.

    A module built for a board also runs on `uhost.cpu(0)`: its graph is compiled for
    this machine on first use.
    """

    def __init__(self, models: Mapping[str, Compiled], compile_for: Compile, link: Link) -> None:
        self._models = dict(models)
        self._compile_for = compile_for
        self._link = link

    def __getitem__(self, name: str) -> Factory:
        """Returns the factory of the model `name`."""
        if name not in self._models:
            raise ConfigError(
                f"the module has no model '{name}'", fix=f"it has: {', '.join(self._models)}"
            )
        return lambda device: self._create(self._models[name], device)

    @property
    def names(self) -> tuple[str, ...]:
        """The models in the module."""
        return tuple(self._models)

    def _create(self, compiled: Compiled, device: Device) -> GraphModule:
        wanted = device.board
        if wanted.board != compiled.board.board:
            if wanted.target.kind != compiled.config.host.kind:
                raise ConfigError(
                    f"the module was built for '{compiled.board.name}', the device is "
                    f"'{wanted.name}'",
                    fix=f"build with board='{wanted.name}', or run on uhost.cpu(0)",
                )
            compiled = self._compile_for(compiled, wanted)
        return start(self._link(compiled), device)


def start(built: Built, device: Device) -> GraphModule:
    """Returns an executor: starts the image on the device and shakes hands with it."""
    transport = RUNNERS[device.runner].start(built.image, device.board)
    session = Session(
        transport,
        expected_digest=built.compiled.digest,
        symbolize=built.image.function_at,
    )
    try:
        session.handshake()
    except BaseException:
        transport.close()
        raise
    return GraphModule(built.compiled.lowered, device, transport, session)
