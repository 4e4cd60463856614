"""What figures are held against: in goes one result of a report, out come figures' bounds and strictest thresholds."""

from __future__ import annotations

import math

from pytest_draft.policy import perfect_rows, reconstruction_error
from pytest_draft.report.result import Result

Bounds = list[float]
"""The lower and the upper bound of a figure, equal where it is exact."""


def bounds_of(result: Result, name: str = "reconstruction_error") -> Bounds | None:
    """Return between what a metric of a result lies; None where nothing is known of it."""
    exact, bounds = result["metrics"].get(name), result["baselines"].get(f"{name}_bounds")
    if bounds is not None and None not in bounds:
        return list(bounds)
    return None if exact is None else [exact, exact]


def span(bounds: Bounds | None, form: str, joined: str = "{} to {}") -> str | None:
    """Return a figure as the cell of a table, or its bounds; other words join these in a sentence."""
    if bounds is None:
        return None
    lower, upper = (format(bound, form) for bound in bounds)
    return lower if lower == upper else joined.format(lower, upper)


def error_bar(result: Result) -> float | None:
    """Return the error at which the check fails on the whole data, the strictest threshold; None for no threshold."""
    rule, metrics = result["policy"]["rules"].get(reconstruction_error.RULE.id, {}), result["metrics"]
    baselines = metrics["split_half_error"], metrics["random_error"], metrics.get("error_without_file")
    bars = reconstruction_error.limits(rule, *baselines).values()
    return max((at for at, _ in bars if at is not None), default=None)


def perfect_bar(result: Result) -> float | None:
    """Return the number of rows above which the check fails on the whole data; None for no threshold."""
    rule, metrics = result["policy"]["rules"].get(perfect_rows.RULE.id, {}), result["metrics"]
    bars = [rule["max_perfect_rows"]] if "max_perfect_rows" in rule else []
    baseline = metrics["split_half_perfect_rows"]
    if "max_share_beyond_split_half" in rule and baseline is not None:
        baseline = max(baseline, metrics.get("rows_without_file") or 0.0)
        bars.append(baseline + rule["max_share_beyond_split_half"] * (metrics["n_rows"] - baseline))
    return min(bars, default=None)


def whole(rows: float) -> int:
    """Return a limit of a number of rows as the whole number that keeps it."""
    return math.floor(rows + 1e-9)
