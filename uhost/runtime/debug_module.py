"""DebugModule: an executor with hooks at every operator, on any device."""

from __future__ import annotations

from uhost.codegen.executable import Executable
from uhost.ir.tensor import Array
from uhost.rpc.session import RunReport
from uhost.runtime._connection import Connection, OperatorCost
from uhost.runtime.device import Device
from uhost.runtime.graph_module import GraphModule
from uhost.runtime.profile import Profile


class DebugModule(GraphModule):
    """A `GraphModule` that stops where it is told and shows what every operator made.

    Operators are named, or counted from 0. A tensor is read right after its operator ran,
    because the arena's bytes are reused later.
    """

    def __init__(self, executable: Executable, device: Device, connection: Connection) -> None:
        super().__init__(executable, device, connection)
        # The last operator of an unfinished inference; None where the next one begins anew.
        self._position: int | None = None
        self._costs: dict[int, OperatorCost] = {}
        # The states at the start of the inference that run_until works on.
        self._before: dict[str, Array] | None = None

    def run(self, **inputs: Array) -> RunReport:
        """Runs one inference, as `GraphModule.run`; a later `run_until` begins anew."""
        self._begin_anew()
        return super().run(**inputs)

    def set_input(self, key: int | str, value: Array, *, quantize: bool = False) -> None:
        """Keeps `value` for the next runs, as `GraphModule.set_input`; `run_until` begins anew."""
        self._begin_anew()
        super().set_input(key, value, quantize=quantize)

    def input_view(self, key: int | str) -> Array:
        """Returns the input's own bytes, as `GraphModule.input_view`; `run_until` begins anew."""
        self._begin_anew()
        return super().input_view(key)

    def reset(self) -> None:
        """Puts the states back, as `GraphModule.reset`; `run_until` begins anew."""
        self._position = self._before = None
        super().reset()

    def run_until(self, operator: int | str) -> Array:
        """Runs up to and including `operator` and returns its first output.

        Goes on from where the last call stopped; begins with the inputs where that is
        later in the model, or where the inputs were set again. An inference that begins
        anew before its end was reached has changed no state.
        """
        self._advance(self.executable.operator_index(operator))
        return self.get_node_output(operator)

    def get_node_output(self, operator: int | str, output: int = 0) -> Array:
        """Returns an output of `operator`, running the model up to it where that is needed."""
        index = self.executable.operator_index(operator)
        if self._position != index:
            self._advance(index)
        return self._read(self.executable.operators[index].outputs[output])

    @property
    def costs(self) -> dict[str, OperatorCost]:
        """Operator → cycles or seconds of its last run by `run_until`, where they are measured."""
        operators = self.executable.operators
        return {operators[i].name: cost for i, cost in sorted(self._costs.items())}

    def run_layers(self) -> dict[str, Array]:
        """Runs operator by operator, as `GraphModule.run_layers`; `run_until` begins anew."""
        self._begin_anew()
        return super().run_layers()

    def profile(self) -> Profile:
        """Returns what every operator took, as `GraphModule.profile`; `run_until` begins anew."""
        self._begin_anew()
        return super().profile()

    def _advance(self, index: int) -> None:
        """Runs the operators up to `index` that did not run since the inputs were written."""
        begin = 0
        if self._position is not None and self._position <= index:
            begin = self._position + 1
        else:
            if self._before is None:
                self._before = self.get_states()
            else:
                self.set_states(self._before)
            self._upload()
        for step in range(begin, index + 1):
            self._position = None  # an operator that fails leaves nothing to go on from
            self._costs[step] = self._run_operator(step)
            self._position = step

    def _begin_anew(self) -> None:
        """Ends the inference of `run_until`; takes back what it did if its end was not reached."""
        if self._before is not None and self._position != len(self.executable.operators) - 1:
            self.set_states(self._before)
        self._position = self._before = None
