"""Indices that are computed at run time: their types, and what stands for one out of range.

TFLite Micro does not look; LiteRT ends the run with an error. Code on a device has no one to
tell, and must not read outside a tensor: it takes the nearest index there is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.ir.tensor import Array, Tensor
from uhost.ops._checks import require_dtype
from uhost.ops._movement import misfit

INDEX_TYPES = (DType.INT32, DType.INT64, DType.INT16)


def require_indices(bound: BoundOperator[Any], indices: Tensor, size: int) -> None:
    """Requires the type of an index, and constant ones to lie in [0, `size`)."""
    require_dtype(indices, *INDEX_TYPES)
    values = indices.values
    if values is not None and not ((values >= 0) & (values < size)).all():
        raise misfit(bound, f"the indices '{indices.name}' are not all within {size}")


def within(indices: Array, size: int) -> NDArray[np.int64]:
    """Returns the indices, each moved to the nearest in [0, `size`)."""
    return np.clip(indices.astype(np.int64), 0, size - 1)
