"""What the paper says of greedy and optimal models, checked: in go measured models, out come lines with numbers.

The claims are those of Ferry et al. (SaTML 2024), section V-B, for trees and for rule lists:

1. *For a given size* an optimal model has a lower ``Dist_G``.
2. *For a given accuracy* on the training rows an optimal model has a higher ``Dist_G``: it gives away less.
3. The entropy ratios of single rows differ strongly.

Curves are means over seeds by limit of size, one for each least support, as in the paper's figures; they begin with the
model of no split, whose ``Dist_G`` is 1. Claim 1 is judged at each optimal point, against the greedy curve between its
points; claim 2 at each greedy point, whose accuracy is always in reach of the optimal curve. Points that repeat another
of their curve count once. Claim 2 is judged without curves as well: for how many greedy models is there an optimal one
of the same seed and support that is at least as accurate and gives away no more, and the other way round.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

FAMILIES = {
    "trees": ("optimal trees", "CART"),
    "rule lists": ("optimal rules", "greedy rules"),
}
"""Optimal and greedy learner of each kind of model."""

MEASURES = {"dist_g": "each column a Boolean", "dist_g_one_hot": "one-hot groups known"}
"""Columns with ``Dist_G``, and what the adversary knows there."""

_SAME = 1e-9
"""Ratios and accuracies that are closer are the same: more than rounding, and less than one row of any table."""


def curve(models: pd.DataFrame, axis: str, measure: str) -> tuple[FloatArray, FloatArray]:
    """Return one learner's curve for one support: means over seeds, ascending on the axis.

    Parameters
    ----------
    models : DataFrame
        Of one data set, learner and support.
    axis : {"size", "train_accuracy"}
    measure : str
        One of `MEASURES`.

    Returns
    -------
    x, y : ndarray of float64, shape (n_points,)
        Each `x` once, with its highest `y`: of equally large or accurate models the one that gives away least.
    """
    means = models.groupby("depth")[[axis, measure]].mean().round(12)
    highest = means.groupby(axis)[measure].max()
    return highest.index.to_numpy(dtype=np.float64), highest.to_numpy(dtype=np.float64)


def points(models: pd.DataFrame, axis: str, measure: str) -> tuple[FloatArray, FloatArray]:
    """Return all different points of one learner's curve for one support, by limit of size; as `curve` else."""
    means = models.groupby("depth")[[axis, measure]].mean().round(12).drop_duplicates()
    return means[axis].to_numpy(dtype=np.float64), means[measure].to_numpy(dtype=np.float64)


def summary(models: pd.DataFrame) -> Iterator[str]:
    """Yield the lines that say how far the claims hold."""
    for (data, family), (optimal, greedy) in _pairs(models):
        yield f"{data}, {family}: {_certified(optimal)}"
        for measure, known in MEASURES.items():
            yield f"  {known}"
            yield f"    1. same size: optimal lower {_compared(optimal, greedy, 'size', measure)}"
            yield f"    2. same accuracy: optimal higher {_compared(greedy, optimal, 'train_accuracy', measure)}"
            yield (
                f"       greedy models with an optimal one as accurate that gives away no more: "
                f"{_matched(greedy, optimal, measure)}; the other way round: {_matched(optimal, greedy, measure)}"
            )
        for learner in (optimal, greedy):
            yield f"    3. rows, largest {learner['learner'].iloc[0]} models: {_spread(learner)}"


def _pairs(models: pd.DataFrame) -> Iterator[tuple[tuple[str, str], tuple[pd.DataFrame, pd.DataFrame]]]:
    """Yield (data, family) and its optimal and greedy models."""
    for data, ours in models.groupby("data", sort=False):
        for family, learners in FAMILIES.items():
            optimal, greedy = (ours[ours["learner"] == learner] for learner in learners)
            if len(optimal) and len(greedy):
                yield (str(data), family), (optimal, greedy)


def _certified(optimal: pd.DataFrame) -> str:
    missed = optimal[~optimal["certified"]]
    text = f"{optimal['certified'].sum()} of {len(optimal)} optimal models certified"
    if len(missed):
        settings = missed.groupby(["support", "depth"]).size()
        text += "; not: " + ", ".join(
            f"{n} of support {support:g}, depth {depth}"
            for (support, depth), n in zip(settings.index.to_list(), settings, strict=True)
        )
    return text


def _compared(judged: pd.DataFrame, other: pd.DataFrame, axis: str, measure: str) -> str:
    """Return at how many points of the judged models they are below the other's curve, and by how much."""
    gaps: list[float] = []
    outside = 0
    for support, part in judged.groupby("support"):
        x, y = points(part, axis, measure)
        across = _from_nothing(other[other["support"] == support], axis, measure)
        inside = (x >= across[0][0]) & (x <= across[0][-1])
        outside += int((~inside).sum())
        gaps += (np.interp(x[inside], *across) - y[inside]).tolist()
    gap = np.array(gaps)
    if not len(gap):
        return f"at 0 of 0 points ({outside} out of the other's range)"
    return (
        f"at {(gap > _SAME).sum()} of {len(gap)} points, equal at {(np.abs(gap) <= _SAME).sum()}, mean difference "
        f"{gap.mean():.4f} (from {gap.min():.4f} to {gap.max():.4f}); {outside} out of the other's range"
    )


def _from_nothing(models: pd.DataFrame, axis: str, measure: str) -> tuple[FloatArray, FloatArray]:
    """Return a curve that begins with the model of no split, which predicts the more frequent class."""
    x, y = curve(models, axis, measure)
    begin = 0.0 if axis == "size" else models.groupby("depth")["majority"].mean().round(12).iloc[0]
    return np.concatenate([[begin], x[x > begin]]), np.concatenate([[1.0], y[x > begin]])


def _matched(judged: pd.DataFrame, other: pd.DataFrame, measure: str) -> str:
    """Return how many judged models have one of the others that is as accurate and gives away no more."""
    n_matched = 0
    for (seed, support), part in judged.groupby(["seed", "support"]):
        rivals = other[(other["seed"] == seed) & (other["support"] == support)]
        accurate = rivals["train_accuracy"].to_numpy() >= part["train_accuracy"].to_numpy()[:, None] - _SAME
        discreet = rivals[measure].to_numpy() >= part[measure].to_numpy()[:, None] - _SAME
        n_matched += int((accurate & discreet).any(axis=1).sum())
    return f"{n_matched} of {len(judged)}"


def _spread(models: pd.DataFrame) -> str:
    largest = models[(models["depth"] == models["depth"].max()) & (models["support"] == models["support"].min())]
    low, middle, high = (largest[name].mean() for name in ("lowest", "median", "highest"))
    return f"ratio from {low:.3f}, median {middle:.3f}, to {high:.3f} (means over {len(largest)} seeds)"
