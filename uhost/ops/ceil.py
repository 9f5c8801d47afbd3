"""Every element rounded up."""

from __future__ import annotations

import numpy as np

from uhost.ops._float_functions import float_function

OPERATOR = float_function("ceil", np.ceil)
