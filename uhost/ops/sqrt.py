"""The square root of every element."""

from __future__ import annotations

import numpy as np

from uhost.ops._float_functions import float_function

OPERATOR = float_function("sqrt", np.sqrt)
