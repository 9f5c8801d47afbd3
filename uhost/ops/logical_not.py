"""True where the input is false."""

from __future__ import annotations

import numpy as np

from uhost.ops._logical import logical

OPERATOR = logical("logical_not", 1, np.logical_not)
