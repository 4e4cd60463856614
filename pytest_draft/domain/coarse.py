"""Coarse bounds: the powers of ten around the lowest and the highest value of a column.

The lowest and the highest value of a column are the values of two people, so no output may show them.
"""

from __future__ import annotations

import math


def coarsened(low: float, high: float) -> tuple[float, float]:
    """Return bounds that show the signs and the orders of magnitude of two finite values, in order, and no more.

    Returns
    -------
    tuple of float
        0, where no value lies beyond it, or else the next power of ten farther from 0. None but 0 is ever `low` or
        `high` itself.

    Examples
    --------
    >>> coarsened(17.0, 98.7)
    (0.0, 100.0)
    >>> coarsened(-0.02, 100.0)
    (-0.1, 1000.0)
    """
    return 0.0 - _beyond(-low), _beyond(high)


def _beyond(value: float) -> float:
    """Return the next power of ten above a positive value, and 0 for any other; infinity, where float64 holds none."""
    if value <= 0:
        return 0.0
    exponent = int(f"{value:.17e}".partition("e")[2])
    power = float(f"1e{exponent + 1}") if exponent < 308 else math.inf
    return power if power > value else float(f"1e{exponent + 2}")
