"""The DP paper's own numbers: in go its published runs, out come those of a setting; and what only its text tells."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.stats import norm

from pytest_draft.arrays import FloatArray

N_SEEDS = 5
"""Runs of each setting; those without an answer are missing in the published files, or UNKNOWN there."""

_N_DRAWN = 100
"""Datasets that the leak p-value is fitted to (appendix D)."""


def runs_of(runs: pd.DataFrame, **values: object) -> pd.DataFrame:
    """Return the runs whose columns have values; numbers are compared as such, ``5.00`` and 5 are the same."""
    chosen = np.ones(len(runs), dtype=bool)
    for column, value in values.items():
        if isinstance(value, (int, float)):
            chosen &= (pd.to_numeric(runs[column]) == value).to_numpy()
        else:
            chosen &= (runs[column] == value).to_numpy()
    return runs[chosen]


def p_values(runs: pd.DataFrame) -> FloatArray:
    """Return the leak p-values of published runs (appendix D): the deviation there divides by the number of draws."""
    figures = runs[["reconstruction_error", "leak_cdf_inputs_mean", "leak_cdf_inputs_std"]]
    error, mean, deviation = (pd.to_numeric(figures[name], errors="coerce").to_numpy(np.float64) for name in figures)
    found: FloatArray = norm.cdf(error, mean, deviation * np.sqrt((_N_DRAWN - 1) / _N_DRAWN))
    return found[~np.isnan(found)]


TABLE_3_PARTS = {
    ("adult", 30.0): (0.071, 17.7, 0.112, 10.0),
    ("adult", 20.0): (0.071, 22.0, 0.119, 7.5),
    ("adult", 10.0): (0.082, 16.0, 0.127, 6.0),
    ("adult", 5.0): (0.099, 9.7, 0.156, 2.0),
    ("adult", 1.0): (0.184, 3.3, 0.222, 0.5),
    ("adult", 0.1): (0.298, 0.0, 0.280, 0.0),
    ("compas", 30.0): (0.016, 83.3, 0.042, 60.0),
    ("compas", 20.0): (0.016, 82.9, 0.049, 57.8),
    ("compas", 10.0): (0.025, 77.1, 0.070, 44.4),
    ("compas", 5.0): (0.031, 70.9, 0.100, 28.0),
    ("compas", 1.0): (0.112, 30.5, 0.157, 11.6),
    ("compas", 0.1): (0.289, 0.4, 0.255, 1.8),
    ("default_credit", 30.0): (0.078, 18.8, 0.154, 1.6),
    ("default_credit", 20.0): (0.084, 19.6, 0.152, 2.4),
    ("default_credit", 10.0): (0.105, 13.1, 0.175, 2.7),
    ("default_credit", 5.0): (0.130, 8.6, 0.189, 0.8),
    ("default_credit", 1.0): (0.241, 0.0, 0.238, 0.4),
    ("default_credit", 0.1): (0.323, 0.0, 0.301, 0.0),
}
"""Table III by data set and epsilon: error and percent of perfect rows of inliers, and of outliers."""

TABLE_7_ACCURACIES = {
    ("adult", 25): (0.888, 0.766),
    ("adult", 50): (0.832, 0.771),
    ("adult", 100): (0.824, 0.766),
    ("adult", 200): (0.770, 0.775),
    ("adult", 300): (0.775, 0.770),
    ("adult", 400): (0.755, 0.774),
    ("adult", 500): (0.758, 0.773),
    ("compas", 25): (0.712, 0.533),
    ("compas", 50): (0.696, 0.564),
    ("compas", 100): (0.720, 0.635),
    ("compas", 200): (0.695, 0.647),
    ("compas", 300): (0.693, 0.652),
    ("compas", 400): (0.706, 0.652),
    ("compas", 500): (0.692, 0.655),
    ("default_credit", 25): (0.920, 0.772),
    ("default_credit", 50): (0.876, 0.780),
    ("default_credit", 100): (0.856, 0.782),
    ("default_credit", 200): (0.828, 0.782),
    ("default_credit", 300): (0.827, 0.782),
    ("default_credit", 400): (0.828, 0.786),
    ("default_credit", 500): (0.814, 0.789),
}
"""Table VII by data set and number of rows: accuracy on the training rows, and on others."""

TABLE_5 = {"adult": (0.84, 0.77), "compas": (0.74, 0.65), "default_credit": (0.87, 0.78)}
"""Table V: the same for 10 trees of depth 5, epsilon 30, 100 rows."""

RANDOM = {"adult": 0.25, "compas": 0.21, "default_credit": 0.26}
"""Table I: error of random guesses."""
