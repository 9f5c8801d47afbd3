"""Every element rounded to the nearest whole number, ties to the even one."""

from __future__ import annotations

import numpy as np

from uhost.ops._float_functions import float_function

OPERATOR = float_function("round", np.rint)
