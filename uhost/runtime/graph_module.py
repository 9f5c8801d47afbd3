"""GraphModule: the executor of one model on one device. All state lives here."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType

import numpy as np

from uhost.codegen.lowered import Lowered
from uhost.errors import ConfigError
from uhost.ir.tensor import Array, Tensor
from uhost.ops._op import OPERATORS
from uhost.rpc.session import RunReport
from uhost.runners._runner import RunCounts
from uhost.runtime._connection import Connection
from uhost.runtime.device import Device

# The slowest executor that is waited for: one multiply-accumulate a microsecond, and a
# generous constant for simulators that start cold.
_SECONDS_PER_MAC = 1e-6
_SECONDS_AT_LEAST = 20.0


class GraphModule:
    """Runs one model: `set_input`, `run`, `get_output`; a context manager that closes.

    Inputs and outputs are addressed by index or by tensor name. The same class serves
    the host, simulators and boards, because all of them speak RPC.
    """

    def __init__(self, lowered: Lowered, device: Device, connection: Connection) -> None:
        self.device = device
        self.lowered = lowered
        self._connection = connection
        macs = sum(OPERATORS[b.kind].macs(b) for b in lowered.graph.bound_operators())
        self._timeout_s = _SECONDS_AT_LEAST + _SECONDS_PER_MAC * macs
        self._inputs: dict[int, bytes] = {}

    def __enter__(self) -> GraphModule:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stops the executor and releases the device."""
        self._connection.close()

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """The model's inputs, in order."""
        graph = self.lowered.graph
        return tuple(graph.tensors[name] for name in graph.inputs)

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        """The model's outputs, in order."""
        graph = self.lowered.graph
        return tuple(graph.tensors[name] for name in graph.outputs)

    def get_input_info(self) -> dict[str, tuple[tuple[int, ...], str]]:
        """Returns input name → (shape, element type)."""
        return {t.name: (t.shape, str(t.dtype)) for t in self.inputs}

    def set_input(self, key: int | str, value: Array) -> None:
        """Keeps `value` for the next runs; its type and number of elements must be the input's."""
        index = _index(self.inputs, key, "input")
        tensor = self.inputs[index]
        array = np.asarray(value)
        if array.dtype != tensor.dtype.numpy or array.size != tensor.elements:
            raise ConfigError(
                f"input {index} '{tensor.name}' is {tensor.dtype} of shape "
                f"{_shape(tensor.shape)}, the value is {array.dtype} of shape "
                f"{_shape(array.shape)}",
                fix="convert and reshape the value",
            )
        self._inputs[index] = np.ascontiguousarray(array).tobytes()

    def run(self, **inputs: Array) -> RunReport:
        """Runs one inference; keyword arguments set inputs by name first.

        Every input is sent, because its bytes in the arena are reused. Returns cycles
        and the deepest stack, where the device can tell.
        """
        for name, value in inputs.items():
            self.set_input(name, value)
        self._upload()
        return self._connection.run(self._timeout_s)

    def get_output(self, key: int | str = 0) -> Array:
        """Returns an output of the last run."""
        index = _index(self.outputs, key, "output")
        tensor = self.outputs[index]
        return self._read(tensor)

    def run_layers(self) -> dict[str, Array]:
        """Runs operator by operator and returns every tensor, read right after it was made."""
        graph = self.lowered.graph
        self._upload()
        made: dict[str, Array] = {}
        for index, operator in enumerate(graph.operators):
            self._connection.run_operator(index, self._timeout_s)
            made.update({name: self._read(graph.tensors[name]) for name in operator.outputs})
        return made

    def profile(self) -> dict[str, int | None]:
        """Returns operator name → device cycles; None where the device has no counter."""
        self._upload()
        return {
            operator.name: self._connection.run_operator(index, self._timeout_s)
            for index, operator in enumerate(self.lowered.graph.operators)
        }

    def watch(self) -> None:
        """Counts the instructions of the next runs, where the runner can."""
        self._connection.watch()

    def counts(self) -> RunCounts | None:
        """Returns the last watched run's instruction counts; None where none were counted."""
        return self._connection.counts()

    def _read(self, tensor: Tensor) -> Array:
        content = self._connection.read(self.lowered.plan.offset(tensor.name), tensor.size_bytes)
        return np.frombuffer(content, tensor.dtype.numpy).reshape(tensor.shape).copy()

    def _upload(self) -> None:
        missing = [t.name for i, t in enumerate(self.inputs) if i not in self._inputs]
        if missing:
            raise ConfigError(
                f"the model has no value for {', '.join(missing)}",
                fix="call set_input for every input before run",
            )
        for index, content in self._inputs.items():
            offset = self.lowered.plan.offset(self.inputs[index].name)
            self._connection.write(offset, content)


def _index(tensors: Sequence[Tensor], key: int | str, noun: str) -> int:
    names = [t.name for t in tensors]
    if isinstance(key, str) and key in names:
        return names.index(key)
    if isinstance(key, int) and 0 <= key < len(names):
        return key
    listed = ", ".join(f"{i} '{name}'" for i, name in enumerate(names))
    raise ConfigError(f"the model has no {noun} {key!r}", fix=f"it has: {listed}")


def _shape(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape)) or "scalar"
