"""The equation of a random threshold: in go a threshold and its draw, out come the node extremes that explain it.

scikit-learn draws ``threshold = (high - low) * r / RAND_R_MAX + low`` in double precision, from the single-precision
minimum and maximum of the column among the node's rows, and takes the minimum where the result is the maximum
(``rand_uniform`` and ``node_split_random``, the same from 1.3 to 1.9).
"""

from __future__ import annotations

import numpy as np

from pytest_draft.compiling import compiled, inlined

RAND_R_MAX = 2147483647
"""The largest number that scikit-learn's generator gives."""

MOST_TRIED = 1_000_000
"""Most places of a grid that are tried as one node's extreme."""


@inlined
def drawn_threshold(low: float, high: float, raw: int) -> float:
    """Return the threshold that is drawn between a minimum and a maximum."""
    threshold = (high - low) * float(raw) / float(RAND_R_MAX) + low
    return low if threshold == high else threshold


@inlined
def maximum_of(threshold: float, low: float, raw: int) -> float:
    """Return about which maximum a threshold has, given the minimum and a draw above 0."""
    return low + (threshold - low) * (float(RAND_R_MAX) / float(raw))


@inlined
def minimum_of(threshold: float, high: float, raw: int) -> float:
    """Return about which minimum a threshold has, given the maximum and a draw below the largest."""
    return high - (high - threshold) * (float(RAND_R_MAX) / float(RAND_R_MAX - raw))


@inlined
def window(threshold: float, least: float, most: float) -> float:
    """Return about how wide an interval of real numbers gives the same threshold."""
    return 2.0 * (abs(threshold) + most - least) * 2.0**-52


@compiled
def on_grid(threshold, raw, least, most, scale):  # type: ignore[no-untyped-def]
    """Look for a minimum and a maximum on a decimal grid that explain a threshold.

    Parameters
    ----------
    raw : int
        The draw behind it.
    least, most : float
        What the node's values cannot leave.
    scale : float
        Places of the grid in one unit: a power of ten.

    Returns
    -------
    found : int
        How many pairs explain it; counting ends at two. -1 where it cannot be told.
    low, high : float
        The last pair that does.
    chance : float
        About how many pairs do by coincidence.
    """
    low, high = np.nan, np.nan
    below, above = (threshold - least) * scale, (most - threshold) * scale
    if raw <= 0 or raw >= RAND_R_MAX or not min(below, above) <= MOST_TRIED:
        return -1, low, high, 1.0
    by_low = below <= above
    stretch = float(RAND_R_MAX) / float(raw if by_low else RAND_R_MAX - raw)
    chance = (min(below, above) + 1.0) * min(1.0, window(threshold, least, most) * stretch * scale)
    if by_low:
        first, last = int(np.floor(least * scale)), int(np.ceil(threshold * scale))
    else:
        first, last = int(np.floor(threshold * scale)), int(np.ceil(most * scale))
    found = 0
    for place in range(first, last + 1):
        given = np.float64(np.float32(place / scale))
        other = maximum_of(threshold, given, raw) if by_low else minimum_of(threshold, given, raw)
        other = np.float64(np.float32(np.rint(other * scale) / scale))
        a, b = (given, other) if by_low else (other, given)
        if least <= a < b <= most and drawn_threshold(a, b, raw) == threshold:
            found, low, high = found + 1, a, b
            if found == 2:
                break
    return found, low, high, chance


@compiled
def among_known(threshold, raw, least, most, known):  # type: ignore[no-untyped-def]
    """Look for a minimum and a maximum among known values that explain a threshold.

    Parameters
    ----------
    threshold, raw, least, most
        As for `on_grid`.
    known : ndarray of float64, shape (n_known,)
        Ascending.

    Returns
    -------
    found, low, high, chance
        As for `on_grid`.
    """
    found, low, high = 0, np.nan, np.nan
    if raw <= 0 or raw >= RAND_R_MAX:
        return -1, low, high, 1.0
    begin, end = np.searchsorted(known, least), np.searchsorted(known, most, side="right")
    middle = np.searchsorted(known, threshold, side="right")
    density = (end - middle) / max(most - threshold, 1e-300)
    stretch = float(RAND_R_MAX) / float(raw)
    chance = (middle - begin) * min(1.0, window(threshold, least, most) * stretch * density)
    for place in range(begin, middle):
        a = known[place]
        nearest = np.searchsorted(known, maximum_of(threshold, a, raw))
        for other in range(max(nearest - 1, middle), min(nearest + 1, end)):
            if drawn_threshold(a, known[other], raw) == threshold:
                found, low, high = found + 1, a, known[other]
    return found, low, high, chance


@compiled
def evidence(threshold, raw, least, most, finest, known):  # type: ignore[no-untyped-def]
    """Return how much better a threshold is explained by a draw than by coincidence.

    Parameters
    ----------
    threshold, raw, least, most, known
        As for `among_known`.
    finest : float
        The finest grid of the column, in places per unit; 0 where none is known.

    Returns
    -------
    float
        Logarithm; 0 where the draw does not explain it.
    """
    scale = 1.0
    while scale <= finest:
        found, _, _, chance = on_grid(threshold, raw, least, most, scale)
        if found > 0:
            return max(0.0, -np.log(chance))
        scale *= 10.0
    if len(known):
        found, _, _, chance = among_known(threshold, raw, least, most, known)
        if found > 0:
            return max(0.0, -np.log(chance))
    return 0.0
