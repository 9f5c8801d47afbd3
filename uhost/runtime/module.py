"""Module: a compiled model with one necessary call, the factory."""

from __future__ import annotations

from collections.abc import Callable

from uhost.errors import ConfigError
from uhost.rpc.session import Session
from uhost.runners._runner import RUNNERS
from uhost.runtime._connection import RemoteConnection
from uhost.runtime.compiled import Built, Compile, Compiled, Link
from uhost.runtime.device import Device
from uhost.runtime.graph_module import GraphModule

Factory = Callable[[Device], GraphModule]


class Module:
    """`module["name"](device)` gives an executor; the module itself never changes.

    A module built for a board also runs on `uhost.cpu(0)`: its graphs are compiled for
    this machine on first use.
    """

    def __init__(self, compiled: Compiled, compile_for: Compile, link: Link) -> None:
        self._compiled = compiled
        self._compile_for = compile_for
        self._link = link

    def __getitem__(self, name: str) -> Factory:
        """Returns the factory of the model `name`."""
        index = self._compiled.index(name)
        return lambda device: self._create(index, device)

    @property
    def names(self) -> tuple[str, ...]:
        """The models in the module."""
        return self._compiled.names

    def _create(self, index: int, device: Device) -> GraphModule:
        compiled, wanted = self._compiled, device.board
        if wanted.board != compiled.board.board:
            if wanted.target.kind != compiled.config.host.kind:
                raise ConfigError(
                    f"the module was built for '{compiled.board.name}', the device is "
                    f"'{wanted.name}'",
                    fix=f"build with board='{wanted.name}', or run on uhost.cpu(0)",
                )
            compiled = self._compile_for(compiled, wanted)
        return start(self._link(compiled), device, index)


def start(built: Built, device: Device, index: int = 0) -> GraphModule:
    """Returns an executor of model `index`: starts the image and shakes hands with it."""
    model = built.compiled.models[index]
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
    connection = RemoteConnection(transport, session, index, model.name)
    return GraphModule(model.lowered, device, connection)
