"""True where both inputs are, with numpy broadcasting."""

from __future__ import annotations

import numpy as np

from uhost.ops._logical import logical

OPERATOR = logical("logical_and", 2, np.logical_and)
