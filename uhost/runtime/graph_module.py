"""GraphModule: the executor of one model on one device. All state lives here."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType

import numpy as np

from uhost.codegen.emit import Lowered
from uhost.errors import ConfigError
from uhost.ir.tensor import Array, Tensor
from uhost.ops._op import OPERATORS
from uhost.rpc.session import RunReport, Session
from uhost.runners._runner import CountsInstructions, RunCounts
from uhost.runtime.device import Device
from uhost.transport._transport import Transport

# The slowest executor that is waited for: one multiply-accumulate a microsecond, and a
# generous constant for simulators that start cold.
_SECONDS_PER_MAC = 1e-6
_SECONDS_AT_LEAST = 20.0


class GraphModule:
    """Runs one model: `set_input`, `run`, `get_output`; a context manager that closes.

    Inputs and outputs are addressed by index or by tensor name. The same class serves
    the host, simulators and boards, because all of them speak RPC.
    """

    def __init__(
        self, lowered: Lowered, device: Device, transport: Transport, session: Session
    ) -> None:
        self.device = device
        self.lowered = lowered
        self._transport = transport
        self._session = session
        graph = lowered.graph
        macs = sum(OPERATORS[b.kind].macs(b) for b in graph.bound_operators())
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
        self._session.close()
        self._transport.close()

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
        return self._session.run(0, timeout_s=self._timeout_s)

    def get_output(self, key: int | str = 0) -> Array:
        """Returns an output of the last run."""
        index = _index(self.outputs, key, "output")
        tensor = self.outputs[index]
        return _array(tensor, self._session.read_output(0, index))

    def run_layers(self) -> dict[str, Array]:
        """Runs operator by operator and returns every tensor, read right after it was made."""
        graph, plan = self.lowered.graph, self.lowered.plan
        self._upload()
        made: dict[str, Array] = {}
        for index, operator in enumerate(graph.operators):
            self._session.run_operator(0, index, timeout_s=self._timeout_s)
            for name in operator.outputs:
                tensor = graph.tensors[name]
                content = self._session.read(0, plan.offset(name), tensor.size_bytes)
                made[name] = _array(tensor, content)
        return made

    def profile(self) -> dict[str, int | None]:
        """Returns operator name → device cycles; None where the device has no counter."""
        self._upload()
        return {
            operator.name: self._session.run_operator(0, index, timeout_s=self._timeout_s)
            for index, operator in enumerate(self.lowered.graph.operators)
        }

    def watch(self) -> None:
        """Counts the instructions of the next runs, where the runner can."""
        if isinstance(self._transport, CountsInstructions):
            self._transport.watch(f"{self.lowered.identifier}_run")

    def counts(self) -> RunCounts | None:
        """Returns the last watched run's instruction counts; None where none were counted."""
        if isinstance(self._transport, CountsInstructions):
            return self._transport.counts()
        return None

    def _upload(self) -> None:
        missing = [t.name for i, t in enumerate(self.inputs) if i not in self._inputs]
        if missing:
            raise ConfigError(
                f"the model has no value for {', '.join(missing)}",
                fix="call set_input for every input before run",
            )
        for index, content in self._inputs.items():
            self._session.write_input(0, index, content)


def _index(tensors: Sequence[Tensor], key: int | str, noun: str) -> int:
    names = [t.name for t in tensors]
    if isinstance(key, str) and key in names:
        return names.index(key)
    if isinstance(key, int) and 0 <= key < len(names):
        return key
    listed = ", ".join(f"{i} '{name}'" for i, name in enumerate(names))
    raise ConfigError(f"the model has no {noun} {key!r}", fix=f"it has: {listed}")


def _array(tensor: Tensor, content: bytes) -> Array:
    return np.frombuffer(content, tensor.dtype.numpy).reshape(tensor.shape).copy()


def _shape(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape)) or "scalar"
