"""Module: compiled models with one necessary call, the factory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, TypeVar, overload

from uhost.codegen.executable import Executable
from uhost.config.board import Board
from uhost.errors import ConfigError
from uhost.ir.tensor import Array
from uhost.resources import cache_folder
from uhost.rpc.session import LOCAL, SERIAL, Session, Timing
from uhost.runners._runner import RUNNERS, HardwareRunner, Runner
from uhost.runtime._blob import Blob, read_blob
from uhost.runtime._connection import Connection, RemoteConnection
from uhost.runtime._in_process import InProcessConnection
from uhost.runtime.compiled import Built
from uhost.runtime.debug_module import DebugModule
from uhost.runtime.device import IN_PROCESS, Device
from uhost.runtime.export import export_library
from uhost.runtime.graph_module import GraphModule
from uhost.runtime.library import Library
from uhost.runtime.program import FUNCTIONS, Program, index_of
from uhost.toolchain._library import build_shared_library
from uhost.toolchain._toolchain import Image

E = TypeVar("E", bound=GraphModule)

Factory = Callable[..., GraphModule]
"""Takes the device, and as `params` the weights where they are apart from the code."""


class Module:
    """`module["name"](device)` gives an executor; the module itself never changes.

    A module built for a board also runs on `uhost.cpu(0)`: its graphs are compiled for
    this machine on first use.
    """

    def __init__(self, library: Library) -> None:
        self._library = library

    @overload
    def __getitem__(self, name: Literal["get_params"]) -> Callable[..., dict[str, Array]]: ...  # type: ignore[overload-overlap]
    @overload
    def __getitem__(self, name: Literal["get_params_blob"]) -> Callable[..., bytes]: ...  # type: ignore[overload-overlap]
    @overload
    def __getitem__(self, name: Literal["remove_params"]) -> Callable[[], Module]: ...  # type: ignore[overload-overlap]
    @overload
    def __getitem__(self, name: Literal["debug_create"]) -> Callable[..., DebugModule]: ...
    @overload
    def __getitem__(self, name: str) -> Factory: ...

    def __getitem__(self, name: str) -> Callable[..., Any]:
        """Returns the factory of the model `name`, or one of the functions of every module.

        These are `get_params`, `get_params_blob`, `remove_params` and `debug_create`, which
        are methods as well.
        """
        if name in FUNCTIONS:
            function: Callable[..., Any] = getattr(self, name)
            return function
        index = index_of(self.names, name, FUNCTIONS)

        def create(device: Device, params: Blob | None = None) -> GraphModule:
            return self._create(index, device, params, GraphModule)

        return create

    @property
    def names(self) -> tuple[str, ...]:
        """The models in the module."""
        return self._library.program.names

    def get_params(self, model: str | None = None) -> dict[str, Array]:
        """Returns tensor name → array: the model's own weights, as its file has them.

        Constants of every kind are among them, such as biases and shapes. Of a module of
        several models, `model` chooses one; without it, names are `model/tensor`. Empty
        where the weights were removed. These are not the arrays of the generated code:
        kernels pack those, and `get_params_blob` has them. Raises `ConfigError` for a module
        read from C or objects, whose weights are there only so.
        """
        params = self._library.params
        chosen = self.names if model is None else (self.names[index_of(self.names, model)],)
        for name in chosen:
            if name not in params:
                self._check_removed(name)
        if len(chosen) == 1:
            return dict(params.get(chosen[0], {}))
        return {f"{name}/{key}": value for name in params for key, value in params[name].items()}

    def get_params_blob(self, model: str, device: Device | None = None) -> bytes:
        """Returns the weights of `model` as `remove_params` leaves them to be supplied.

        They are packed for the kernels of the module's board, or of `device`, and begin
        with their own digest: an executor takes no others.
        """
        index_of(self.names, model)
        library = self._library
        board = library.program.board if device is None else self._program_for(device).board
        blob = library.blob(model, board)
        if blob is None:
            raise _no_weights(model)
        return blob

    def remove_params(self) -> Module:
        """Returns a new module without weights; this one stays as it is.

        Its executors get them as `module[name](device, params=blob)` or by `set_params`.
        """
        return Module(self._library.without_params())

    def debug_create(self, name: str, device: Device, params: Blob | None = None) -> DebugModule:
        """Returns an executor of the model `name` with hooks at every operator."""
        return self._create(index_of(self.names, name), device, params, DebugModule)

    def export_library(self, path: str | Path) -> tuple[Path, ...]:
        """Writes the module to `path`, and returns the files written.

        By suffix: `.tar` in the Model Library Format, `.c`, `.a` for the module's board,
        `.so` for this machine; a path without suffix is a folder of C. Same module, same
        bytes. `uhost.load_module` reads each.
        """
        return export_library(self._library, Path(path))

    def _check_removed(self, name: str) -> None:
        """Raises `ConfigError` unless the weights of a model are nowhere in the module."""
        program = self._library.program
        if program.models[index_of(self.names, name)].params is None:
            raise _no_weights(name)
        if self._library.blob(name, program.board) is not None:
            raise ConfigError(
                f"the module holds the weights of '{name}' only as its kernels pack them",
                fix="take them by get_params_blob, or ask the module that was built from the model",
            )

    def _program_for(self, device: Device) -> Program:
        """Returns the program that runs on `device`; raises `ConfigError` where none does."""
        if not isinstance(device, Device):
            raise ConfigError(
                f"a device is needed, not {device!r}",
                fix="give uhost.cpu(0), or uhost.device(BOARD)",
            )
        library, wanted = self._library, device.board
        program = library.program
        if wanted.target.kind == library.config.host.kind:
            return library.native
        if wanted.board == program.board.board:
            return program
        raise ConfigError(
            f"the module was built for '{program.board.name}', the device is '{wanted.name}'",
            fix=f"build with board='{wanted.name}', or run on uhost.cpu(0)",
        )

    def _create(self, index: int, device: Device, params: Blob | None, kind: type[E]) -> E:
        library, program = self._library, self._program_for(device)
        model = program.models[index]
        blob = None if params is None else read_blob(params)
        if model.params is not None and (blob is None or _in_flash(model, device)):
            own = library.blob(model.name, program.board)
            if blob is not None and blob != own:
                raise _fixed_in_flash(model.name)
            blob = own

        def image() -> Image:
            made = library.image() if program is library.program else None
            return made or library.steps.link(program)

        return _open(program, image, device, index, blob, kind)


def start(built: Built, device: Device, index: int = 0) -> GraphModule:
    """Returns an executor of model `index` of a built image, or of its C in this process."""
    program = built.compiled.program()
    blob = built.compiled.params_blob(index) if program.models[index].params else None
    return _open(program, lambda: built.image, device, index, blob, GraphModule)


def _open(
    program: Program,
    image: Callable[[], Image],
    device: Device,
    index: int,
    blob: bytes | None,
    kind: type[E],
) -> E:
    """Returns the executor of model `index`, with its weights where it is given them."""
    model = program.models[index]
    if device.runner == IN_PROCESS:
        connection: Connection = InProcessConnection(_shared_library(program), model)
    elif not program.has_firmware:
        raise ConfigError(
            f"the module holds no firmware for '{device.board.name}', only its models' code",
            fix="build with the runtime's system_lib, or run on uhost.cpu(0)",
        )
    else:
        connection = _connect(program, image(), device, index)
    executor = kind(model, device, connection)
    if blob is None or _in_flash(model, device):
        return executor
    try:
        executor.set_params(blob)
    except BaseException:
        executor.close()
        raise
    return executor


def _in_flash(model: Executable, device: Device) -> bool:
    """True where the device reads the model's weights from flash: they cannot be sent to it."""
    is_placed = model.params is not None and model.params.placement == "flash"
    return is_placed and device.runner != IN_PROCESS


def _fixed_in_flash(name: str) -> ConfigError:
    return ConfigError(
        f"the weights of '{name}' lie in flash: an executor cannot be given others",
        where="params",
        fix=f"leave out params, and flash params_{name}.bin of a build that has these weights",
    )


def _no_weights(name: str) -> ConfigError:
    return ConfigError(
        f"the module does not hold the weights of '{name}' apart from its code",
        fix="ask the module that was built from the model, before remove_params",
    )


def _connect(program: Program, image: Image, device: Device, index: int) -> RemoteConnection:
    """Returns the line to model `index`: starts the image and shakes hands with it."""
    runner: Runner = RUNNERS[device.runner]
    timing = LOCAL
    if isinstance(runner, HardwareRunner):
        runner, timing = runner.at(device.port, device.probe), _line_timing(device.board)
    transport = runner.start(image, device.board)
    session = Session(
        transport, expected_digest=program.digest, timing=timing, symbolize=image.function_at
    )
    try:
        session.handshake()
    except BaseException:
        transport.close()
        raise
    return RemoteConnection(transport, session, index, program.models[index].name)


def _line_timing(board: Board) -> Timing:
    """Returns the deadlines for the board's serial line."""
    baud = board.console.baud if board.console else 115200
    return replace(SERIAL, bytes_per_second=SERIAL.bytes_per_second * baud / 115200)


def _shared_library(program: Program) -> Path:
    """Returns the shared library of a program for this machine, built where it is not yet."""
    if program.library is not None:
        return program.library
    return build_shared_library(program.model_files, cache_folder() / "libraries")
