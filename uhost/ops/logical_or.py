"""True where either input is, with numpy broadcasting."""

from __future__ import annotations

import numpy as np

from uhost.ops._logical import logical

OPERATOR = logical("logical_or", 2, np.logical_or)
