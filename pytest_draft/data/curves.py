"""Functions of numbers that a transformer has learned, and their inverses.

The arithmetic is scikit-learn's, of its current version: ``PowerTransformer``, ``QuantileTransformer``,
``KBinsDiscretizer`` and NumPy's own functions, each in the type of the values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special, stats

from pytest_draft.arrays import AnyArray, BoolArray, FloatArray
from pytest_draft.artifact.encoder import Apply, Bin, Curve, Power, Quantiles, Step

_NEARLY = 1e-7
"""As near to the least and the largest quantile values are taken for these (``BOUNDS_THRESHOLD``)."""

_BACK: dict[str, Callable[[FloatArray], FloatArray]] = {
    "log": np.exp,
    "log1p": np.expm1,
    "log2": np.exp2,
    "log10": lambda values: np.power(10.0, values),
    "sqrt": np.square,
    "cbrt": lambda values: np.power(values, 3),
    "exp": np.log,
    "exp2": np.log2,
    "expm1": np.log1p,
    "negative": np.negative,
    "reciprocal": np.reciprocal,
    "arctan": np.tan,
    "sinh": np.arcsinh,
    "tanh": np.arctanh,
    "arcsinh": np.sinh,
    "deg2rad": np.rad2deg,
    "rad2deg": np.deg2rad,
}
"""What undoes each function that loses nothing."""


def curved(values: AnyArray, step: Curve) -> AnyArray:
    """Return numbers behind a step, shape (n_rows,)."""
    if isinstance(step, Apply):
        result: AnyArray = getattr(np, step.function)(values)
        return result
    result = values.copy()
    if isinstance(step, Power):
        power = special.boxcox if step.method == "box-cox" else stats.yeojohnson
        result[:] = power(values, step.exponent)
    elif isinstance(step, Bin):
        result[:] = np.searchsorted(step.edges, values, side="right")
    else:
        result[:] = _shares(result, step)
    return result


def _shares(values: AnyArray, step: Quantiles) -> AnyArray:
    """Return which share of the training data is below each value; the mean of both where quantiles repeat."""
    quantiles, references = step.quantiles, step.references
    first, last = _ends(values, step)
    known = ~np.isnan(values)
    finite = values[known]
    values[known] = 0.5 * (
        np.interp(finite, quantiles, references) - np.interp(-finite, -quantiles[::-1], -references[::-1])
    )
    values[last] = 1
    values[first] = 0
    if not step.normal:
        return values
    ends = stats.norm.ppf(_NEARLY - np.spacing(1)), stats.norm.ppf(1 - (_NEARLY - np.spacing(1)))
    clipped: AnyArray = np.clip(stats.norm.ppf(values), *ends)
    return clipped


def _ends(values: AnyArray, step: Quantiles) -> tuple[BoolArray, BoolArray]:
    """Return which values are taken for the least, and which for the largest."""
    least, largest = step.quantiles[0], step.quantiles[-1]
    if step.normal:
        return np.asarray(values - _NEARLY < least), np.asarray(values + _NEARLY > largest)
    return np.asarray(values == least), np.asarray(values == largest)


def loses(step: Step) -> bool:
    """Return whether a step makes one number of several, so that `straightened` leaves it as it is."""
    return isinstance(step, Bin) or (isinstance(step, Apply) and step.function not in _BACK)


def straightened(values: FloatArray, step: Curve) -> FloatArray:
    """Return numbers before a step, shape (n_rows,); as they are where the step loses what they were."""
    with np.errstate(all="ignore"):
        if isinstance(step, Apply):
            back = _BACK.get(step.function)
            return values if back is None else back(values)
        if isinstance(step, Power):
            return _unpowered(values, step)
        if isinstance(step, Quantiles):
            shares: Any = stats.norm.cdf(values) if step.normal else values
            return np.asarray(np.interp(shares, step.references, step.quantiles), dtype=np.float64)
        return values


def _unpowered(values: FloatArray, step: Power) -> FloatArray:
    if step.method == "box-cox":
        return np.asarray(special.inv_boxcox(values, step.exponent), dtype=np.float64)
    below = values < 0
    up = special.inv_boxcox1p(np.where(below, 0.0, values), step.exponent)
    down = special.inv_boxcox1p(np.where(below, -values, 0.0), 2 - step.exponent)
    return np.asarray(np.where(below, -down, up), dtype=np.float64)
