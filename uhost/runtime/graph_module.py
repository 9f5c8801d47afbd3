"""GraphModule: the executor of one model on one device. All state lives here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import perf_counter
from types import TracebackType
from typing import TypeVar

import numpy as np

from uhost.codegen.executable import ArenaTensor, Executable
from uhost.codegen.lowered import PARAMS_HEADER_BYTES, PARAMS_MAGIC, params_are_whole
from uhost.errors import ConfigError
from uhost.ir.tensor import Array
from uhost.numerics import affine
from uhost.rpc.session import RunReport
from uhost.runners._runner import RunCounts
from uhost.runtime._blob import Blob, read_blob
from uhost.runtime._connection import Connection, OperatorCost
from uhost.runtime.device import IN_PROCESS, Device
from uhost.runtime.profile import Profile, ProfileRow

# The slowest executor that is waited for: one multiply-accumulate a microsecond, and a
# generous constant for simulators that start cold.
_SECONDS_PER_MAC = 1e-6
_SECONDS_AT_LEAST = 20.0

Self = TypeVar("Self", bound="GraphModule")


class GraphModule:
    """Runs one model: `set_input`, `run`, `get_output`; a context manager that closes.

    Inputs and outputs are addressed by index or by tensor name. The same class serves
    this process, simulators and boards; two executors never share state. What a model keeps
    from run to run begins with its initial values, and again after `reset`.
    """

    def __init__(self, executable: Executable, device: Device, connection: Connection) -> None:
        self.device = device
        self.executable = executable
        self._connection = connection
        self._timeout_s = _SECONDS_AT_LEAST + _SECONDS_PER_MAC * executable.macs
        # An input of None is written by the user, through its view.
        self._inputs: dict[int, Array | None] = {}
        self._has_params = executable.params is None or (
            executable.params.placement == "flash" and device.runner != IN_PROCESS
        )
        self._closed = False

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stops the executor and releases the device; closing twice changes nothing."""
        if not self._closed:
            self._closed = True
            self._connection.close()

    @property
    def inputs(self) -> tuple[ArenaTensor, ...]:
        """The model's inputs, in order."""
        return self.executable.inputs

    @property
    def outputs(self) -> tuple[ArenaTensor, ...]:
        """The model's outputs, in order."""
        return self.executable.outputs

    def get_input_info(self) -> dict[str, tuple[tuple[int, ...], str]]:
        """Returns input name → (shape, element type)."""
        return {t.name: (t.shape, t.dtype) for t in self.inputs}

    def set_params(self, params: Blob) -> None:
        """Gives the model its weights: a blob of `get_params_blob`, or the path of a file of it.

        Raises `ConfigError` for a model that holds its weights already, and for a blob
        that is not this model's, before anything is sent.
        """
        self._check_open()
        name, key = self.executable.name, self.executable.params
        if key is None:
            raise ConfigError(
                f"the code of the model '{name}' holds its weights already",
                fix="leave out the weights, or take them out with module['remove_params']()",
            )
        blob = read_blob(params)
        header = PARAMS_MAGIC + (key.size_bytes - PARAMS_HEADER_BYTES).to_bytes(8, "little")
        if blob[:PARAMS_HEADER_BYTES] != header + bytes.fromhex(key.digest):
            found = f"digest {blob[16:24].hex()}" if blob.startswith(PARAMS_MAGIC) else "no digest"
            raise ConfigError(
                f"the blob does not hold the weights of '{name}' as built for {self.device}",
                where=f"{found}, expected {key.digest[:16]}",
                fix="give what module['get_params_blob'](name, device) returns for this model "
                "and device",
            )
        if len(blob) != key.size_bytes:
            raise ConfigError(
                f"the blob of weights has {len(blob):,} B, its header says {key.size_bytes:,} B",
                fix="the blob was cut or padded: get it again",
            )
        if not params_are_whole(blob):
            raise ConfigError(
                f"the blob of weights of '{name}' is damaged: its arrays do not have its digest",
                fix="get it again",
            )
        self._connection.write_params(blob)
        self._has_params = True

    def set_input(self, key: int | str, value: Array, *, quantize: bool = False) -> None:
        """Keeps a copy of `value` for the next runs.

        With `quantize`, floats for a quantised input become integers by its scale and zero
        point, as the operator QUANTIZE rounds. Raises `ConfigError` unless type and number
        of elements are the input's.
        """
        index = _index(self.inputs, key, "input")
        tensor = self.inputs[index]
        array = np.asarray(value)
        real = array.dtype.kind == "f" and len(tensor.scale) == 1
        if real and quantize:
            scale, zero_point = tensor.scale[0], tensor.zero_point[0]
            array = affine.quantize(array.astype(np.float32), scale, zero_point, tensor.numpy)
        if array.dtype != tensor.numpy or array.size != tensor.elements:
            raise ConfigError(
                f"input {index} '{tensor.name}' is {tensor.dtype} of shape "
                f"{_shape(tensor.shape)}, the value is {array.dtype} of shape "
                f"{_shape(array.shape)}",
                fix="convert and reshape the value"
                + (", or let set_input(…, quantize=True) convert it" if real else ""),
            )
        self._inputs[index] = np.array(array, order="C", copy=True)

    def input_view(self, key: int | str) -> Array:
        """Returns the input's own bytes in the arena, as an array to write into before every run.

        Nothing is copied, and the input counts as set. The run reuses the bytes: write
        them again before the next. Only where the model runs in this process.
        """
        index = _index(self.inputs, key, "input")
        view = self._view(self.inputs[index])
        self._inputs[index] = None
        return view

    def output_view(self, key: int | str = 0) -> Array:
        """Returns the output's own bytes in the arena, read-only; the next run changes them.

        Nothing is copied. Only where the model runs in this process.
        """
        view = self._view(self.outputs[_index(self.outputs, key, "output")])
        view.setflags(write=False)
        return view

    def run(self, **inputs: Array) -> RunReport:
        """Runs one inference; keyword arguments set inputs by name first.

        Every input is sent, because its bytes in the arena are reused. Returns cycles
        and the deepest stack, where the device can tell.
        """
        for name, value in inputs.items():
            self.set_input(name, value)
        self._upload()
        return self._connection.run(self._timeout_s)

    def reset(self) -> None:
        """Puts everything the model keeps from run to run back to its initial values."""
        self._check_open()
        if self.executable.states:
            self._connection.reset()

    def get_states(self) -> dict[str, Array]:
        """Returns the values of everything the model keeps from run to run, by name."""
        return {tensor.name: self._read(tensor) for tensor in self.executable.states}

    def set_states(self, values: Mapping[str, Array]) -> None:
        """Puts what `get_states` returned back, so that the next run goes on from there."""
        self._check_open()
        for tensor in self.executable.states:
            array = np.ascontiguousarray(values[tensor.name])
            if array.dtype != tensor.numpy or array.shape != tensor.shape:
                raise ConfigError(
                    f"the state '{tensor.name}' is {tensor.dtype} of shape "
                    f"{_shape(tensor.shape)}, the value is {array.dtype} of shape "
                    f"{_shape(array.shape)}",
                    fix="give what get_states returned",
                )
            self._connection.write(tensor.offset, array)

    def time_run(self) -> tuple[RunReport, float, float]:
        """Runs one inference; returns its report, and the seconds of sending inputs and of running.

        Both are by this machine's clock: a simulator's seconds are not the board's.
        """
        started_s = perf_counter()
        self._upload()
        uploaded_s = perf_counter()
        report = self._connection.run(self._timeout_s)
        return report, uploaded_s - started_s, perf_counter() - uploaded_s

    def get_output(self, key: int | str = 0, *, dequantize: bool = False) -> Array:
        """Returns an output of the last run, as an array of its own.

        With `dequantize`, a quantised output is returned as the real numbers it stands for,
        in float32; any other as it is.
        """
        tensor = self.outputs[_index(self.outputs, key, "output")]
        array = self._read(tensor)
        if dequantize and len(tensor.scale) == 1:
            return affine.dequantize(array, tensor.scale[0], tensor.zero_point[0])
        return array

    def run_layers(self) -> dict[str, Array]:
        """Runs operator by operator and returns every tensor, read right after it was made.

        It is one run: the next goes on from the states that this one leaves.
        """
        self._upload()
        made: dict[str, Array] = {}
        for index, operator in enumerate(self.executable.operators):
            self._run_operator(index)
            made.update({tensor.name: self._read(tensor) for tensor in operator.outputs})
        return made

    def profile(self) -> Profile:
        """Runs operator by operator and returns what each took, as far as the device measures.

        Cycles on a device with a cycle counter, instructions in a simulator that counts
        them, seconds in this process. The model runs as a whole once more. Its states are
        afterwards what they were before.
        """
        states = self.get_states()
        self._upload()
        operators = self.executable.operators
        costs = [self._run_operator(index) for index in range(len(operators))]
        self.set_states(states)
        counted = self._count_instructions()
        self.set_states(states)
        rows = tuple(
            ProfileRow(
                operator.name,
                operator.kind,
                operator.kernel,
                operator.macs,
                cost.cycles,
                instructions,
                self._seconds(cost),
            )
            for operator, cost, instructions in zip(operators, costs, counted, strict=True)
        )
        return Profile(self.executable.name, str(self.device), self.device.board.clock_hz, rows)

    def watch(self) -> None:
        """Counts the instructions of the next runs, where the runner can."""
        self._connection.watch()

    def counts(self) -> RunCounts | None:
        """Returns the last watched run's instruction counts; None where none were counted."""
        return self._connection.counts()

    @property
    def why_uncounted(self) -> str:
        """Why instructions cannot be counted; "" where they can."""
        return self._connection.why_uncounted

    def _seconds(self, cost: OperatorCost) -> float | None:
        clock_hz = self.device.board.clock_hz
        if cost.cycles is not None and clock_hz:
            return cost.cycles / clock_hz
        return cost.seconds

    def _count_instructions(self) -> list[int | None]:
        """Returns the instructions of every operator in a whole run; None where not counted."""
        operators = self.executable.operators
        self._connection.watch()
        self._upload()
        self._connection.run(self._timeout_s)
        counts = self._connection.counts()
        called = [operator.kernel != "view" for operator in operators]
        if counts is None or len(counts.calls) != sum(called):
            return [None] * len(operators)
        calls = iter(counts.calls)
        return [next(calls) if is_called else 0 for is_called in called]

    def _run_operator(self, index: int) -> OperatorCost:
        return self._connection.run_operator(index, self._timeout_s)

    def _read(self, tensor: ArenaTensor) -> Array:
        self._check_open()
        content = self._connection.read(tensor.offset, tensor.size_bytes)
        return np.frombuffer(content, tensor.numpy).reshape(tensor.shape).copy()

    def _view(self, tensor: ArenaTensor) -> Array:
        self._check_open()
        content = self._connection.view(tensor.offset, tensor.size_bytes)
        if content is None:
            raise ConfigError(
                f"the arena of the model is not in this process but on {self.device}",
                fix="use set_input and get_output, or run on uhost.cpu(0)",
            )
        return content.view(tensor.numpy).reshape(tensor.shape)

    def _upload(self) -> None:
        """Writes the inputs into the arena; raises `ConfigError` for what is missing."""
        self._check_open()
        if not self._has_params:
            raise ConfigError(
                f"the model '{self.executable.name}' has no weights",
                fix="give them: module[name](device, params=blob), or executor.set_params(blob)",
            )
        missing = [t.name for i, t in enumerate(self.inputs) if i not in self._inputs]
        if missing:
            raise ConfigError(
                f"the model has no value for {', '.join(missing)}",
                fix="call set_input for every input before run",
            )
        for index, content in self._inputs.items():
            if content is not None:
                self._connection.write(self.inputs[index].offset, content)

    def _check_open(self) -> None:
        if self._closed:
            raise ConfigError(
                f"the executor of '{self.executable.name}' is closed",
                fix="make another one: module[name](device)",
            )


def _index(tensors: Sequence[ArenaTensor], key: int | str, noun: str) -> int:
    names = [t.name for t in tensors]
    if isinstance(key, str) and key in names:
        return names.index(key)
    if isinstance(key, int) and 0 <= key < len(names):
        return key
    listed = ", ".join(f"{i} '{name}'" for i, name in enumerate(names))
    raise ConfigError(f"the model has no {noun} {key!r}", fix=f"it has: {listed}")


def _shape(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape)) or "scalar"
