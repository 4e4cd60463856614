"""Checks of figures: raise with one line about the first number that cannot be right."""

from __future__ import annotations

import math

_ROUNDING = 1e-9
"""A share may lie so far outside 0 and 1: means of shares are sums of fractions."""


def require_not_negative(**figures: float | None) -> None:
    """Refuse a number below 0, or none at all (NaN); None is a figure that is not known.

    Raises
    ------
    ValueError
    """
    for name, value in figures.items():
        if value is not None and not value >= 0:
            raise ValueError(f"{name.replace('_', ' ')} of {value}: less than 0")


def require_shares(**figures: float | None) -> None:
    """Refuse a number that is not between 0 and 1, but for rounding; None is a figure that is not known.

    Raises
    ------
    ValueError
    """
    for name, value in figures.items():
        if value is not None and not -_ROUNDING <= value <= 1 + _ROUNDING:
            raise ValueError(f"{name.replace('_', ' ')} of {value}: not between 0 and 1")


def require_rising(**figures: float | None) -> None:
    """Refuse numbers that do not rise from 0 in the order given, equal ones allowed; those not known are left out.

    Raises
    ------
    ValueError
    """
    last_name, last = "nothing", 0.0
    for name, value in figures.items():
        if value is None:
            continue
        if not value >= last - _ROUNDING or math.isnan(value):
            raise ValueError(f"{name.replace('_', ' ')} of {value}: less than {last_name.replace('_', ' ')} of {last}")
        last_name, last = name, value
