"""Factors of requantisation in the precision in which LiteRT forms them."""

from __future__ import annotations

import numpy as np


def in_float32(first: float, second: float, output: float) -> float:
    """Returns first · second / output, every step rounded to float32."""
    with np.errstate(over="ignore", under="ignore", divide="ignore"):
        return float(np.float32(first) * np.float32(second) / np.float32(output))
