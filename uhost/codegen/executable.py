"""Executable: what an executor must know of one model, without its graph.

Made from a `Lowered` when a model is compiled, read from a library's manifest when a
module is loaded: so a library runs without the compiler that made it.
"""

from __future__ import annotations

import math

import msgspec
import numpy as np

from uhost.codegen.lowered import Lowered, pack_params
from uhost.config.compilation import Executor
from uhost.errors import ConfigError
from uhost.ir.tensor import Tensor
from uhost.ops._op import OPERATORS
from uhost.planner.plan import MemoryPlan


class ArenaTensor(msgspec.Struct, frozen=True):
    """A tensor in the arena: where it lies, and what its bytes mean.

    `scale` and `zero_point` hold one value, or one for every index of `axis`; both are
    empty where the tensor is not quantised. `layout` is `NHWC` for four dimensions, else
    `row_major`: the last index runs fastest.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    offset: int
    layout: str
    scale: tuple[float, ...] = ()
    zero_point: tuple[int, ...] = ()
    axis: int | None = None

    @property
    def numpy(self) -> np.dtype[np.generic]:
        """The numpy type of an element."""
        return np.dtype(self.dtype)

    @property
    def elements(self) -> int:
        """Number of elements; 1 for a scalar."""
        return math.prod(self.shape)

    @property
    def size_bytes(self) -> int:
        """Bytes the tensor takes, without padding."""
        return self.elements * self.numpy.itemsize


class ExecutableOperator(msgspec.Struct, frozen=True):
    """One operator: `kernel` is `library/kernel`, or `view` where no code is needed."""

    name: str
    kind: str
    kernel: str
    macs: int
    outputs: tuple[ArenaTensor, ...]


class ParamsKey(msgspec.Struct, frozen=True):
    """The weights a model needs where they are not part of its code.

    `size_bytes` is that of the whole blob, `digest` the SHA-256 its header carries.
    `placement` is where a board has them: `ram`, sent by the executor, or `flash`.
    """

    size_bytes: int
    digest: str
    placement: str


class Executable(msgspec.Struct, frozen=True):
    """One model as its executor sees it.

    `name` is its C identifier, `title` its name as the user gave it. `params` is None
    where the code holds the weights. `states` last from one run to the next; the code has a
    function that puts them back to their initial values.
    """

    name: str
    title: str
    arena_bytes: int
    alignment_bytes: int
    constant_bytes: int
    inputs: tuple[ArenaTensor, ...]
    outputs: tuple[ArenaTensor, ...]
    operators: tuple[ExecutableOperator, ...]
    params: ParamsKey | None = None
    states: tuple[ArenaTensor, ...] = ()

    @property
    def macs(self) -> int:
        """Multiply-accumulates of one inference."""
        return sum(operator.macs for operator in self.operators)

    def operator_index(self, key: int | str) -> int:
        """Returns the place of an operator given by name or index; else `ConfigError`."""
        names = [operator.name for operator in self.operators]
        if isinstance(key, str) and key in names:
            return names.index(key)
        if isinstance(key, int) and 0 <= key < len(names):
            return key
        raise ConfigError(
            f"the model has no operator {key!r}",
            where=f"model '{self.title}'",
            fix=f"it has: {', '.join(f'{i} {name}' for i, name in enumerate(names))}",
        )


def executable_of(lowered: Lowered, executor: Executor) -> Executable:
    """Returns what an executor must know of a lowered model."""
    graph, plan = lowered.graph, lowered.plan
    operators = []
    for bound in graph.bound_operators():
        selection = lowered.selections.get(bound.name)
        operators.append(
            ExecutableOperator(
                bound.name,
                bound.kind,
                f"{selection.library}/{selection.name}" if selection else "view",
                OPERATORS[bound.kind].macs(bound),
                tuple(_arena_tensor(tensor, plan) for tensor in bound.outputs),
            )
        )
    params = None
    if not executor.link_params:
        packed = pack_params(lowered)
        params = ParamsKey(len(packed.blob), packed.digest, executor.params_placement)
    return Executable(
        lowered.identifier,
        graph.name,
        plan.arena_bytes,
        plan.alignment_bytes,
        lowered.constant_bytes(),
        tuple(_arena_tensor(graph.tensors[name], plan) for name in graph.inputs),
        tuple(_arena_tensor(graph.tensors[name], plan) for name in graph.outputs),
        tuple(operators),
        params,
        tuple(_arena_tensor(graph.tensors[name], plan) for name in graph.states),
    )


def _arena_tensor(tensor: Tensor, plan: MemoryPlan) -> ArenaTensor:
    quantization = tensor.quantization
    return ArenaTensor(
        tensor.name,
        tensor.shape,
        str(tensor.dtype),
        plan.offset(tensor.name),
        "NHWC" if len(tensor.shape) == 4 else "row_major",
        quantization.scale if quantization else (),
        quantization.zero_point if quantization else (),
        quantization.axis if quantization else None,
    )
