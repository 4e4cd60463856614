"""The shortest decimal between two numbers."""

from __future__ import annotations

import math

_LEAST_POWER = -300
"""Far below the exponent of any single."""


def shortest_decimal(low: float, high: float) -> float:
    """Return the decimal with the fewest digits strictly between two numbers; of several, the one nearest the middle.

    It depends on the two numbers alone.

    Parameters
    ----------
    low, high : float
        Finite, ``low < high``, with another double between them.

    Returns
    -------
    float
        Above `low` and below `high`.
    """
    if low < 0 < high:
        return 0.0
    middle = low / 2 + high / 2
    power = math.floor(math.log10(high - low)) + 1 if math.isfinite(high - low) else 308
    while power > _LEAST_POWER:
        unit = 10.0 ** abs(power)
        scaled = middle / unit if power > 0 else middle * unit
        if not math.isfinite(scaled):
            break
        nearest = math.floor(scaled)
        found = [
            number
            for number in (float(f"{count}e{power}") for count in range(nearest - 1, nearest + 3))
            if low < number < high
        ]
        if found:
            return min(found, key=lambda number: (abs(number - middle), number))
        power -= 1
    return middle
