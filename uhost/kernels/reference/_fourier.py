"""Fourier transforms in portable C: one function per radix, one call of it per stage.

The complex transform goes on in the output, whose places take the inputs in the order that
the first stage wants.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from uhost.ir.graph import BoundOperator
from uhost.ir.tensor import Tensor
from uhost.kernels._kernel import Constant, KernelCall
from uhost.kernels.reference._signal import lower_signal
from uhost.numerics.fourier import divisor, half_twiddles, input_order, stages, twiddles
from uhost.ops._signal import rows_of


def lower_transform(bound: BoundOperator[Any], *, inverse: bool) -> KernelCall:
    """Returns the call of a transform of rows of real numbers, or back to them."""
    source: Tensor = bound.input(0)
    dtype = source.dtype.numpy
    count = bound.attributes.fft_length // 2
    order = input_order(count)
    bits = 8 * dtype.itemsize if dtype.kind == "i" else 0
    found = stages(count)
    suffix = str(source.dtype)
    values: dict[str, Any] = {
        "rows": rows_of(source),
        "samples": source.shape[-1],
        "count": count,
        "bits": bits,
        "suffix": suffix,
        "c_type": source.dtype.c_type,
        "half_divisor": divisor(2, dtype) if bits else 0,
        "stages": tuple(
            (f"{stage.radix}{'_inverse' if inverse else ''}", stage.span, stage.blocks)
            for stage in found
        ),
    }
    # A place of the first stage takes which input; on the way back an input goes to which place.
    places = np.argsort(order) if inverse else order
    constants = (
        Constant("roots", twiddles(count, dtype, inverse=inverse)),
        Constant("half_roots", half_twiddles(count, dtype, inverse=inverse)),
        Constant("places", places.astype(np.uint16)),
    )
    includes = {f"fourier_stage:bits={bits},inverse={int(inverse)},radix={s.radix}" for s in found}
    return lower_signal(
        bound,
        values,
        ("input",),
        ("output",),
        constants=constants,
        includes=(f"fourier:bits={bits}", *sorted(includes)),
    )
