"""The public tables of the papers: in goes a folder's CSV file, out come its features and its label."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

TARGETS = {
    "compas": "recidivate-within-two-years:1",
    "adult": "income",
    "default_credit": "DEFAULT_PAYEMENT",
}
"""Label columns of the binarized tables of DRAFT (ICML 2024), by file name."""


def divided(table: pd.DataFrame, name: str) -> tuple[pd.DataFrame, pd.Series[Any]]:
    """Return the features and the label of a public table.

    Parameters
    ----------
    table : pandas.DataFrame
        As it stands in its file, or some of its rows.
    name : str
        Of `TARGETS`.

    Returns
    -------
    features : pandas.DataFrame
    target : pandas.Series
    """
    return table.drop(columns=TARGETS[name]), table[TARGETS[name]]


def read_divided(path: Path) -> tuple[pd.DataFrame, pd.Series[Any]]:
    """Return the features and the label of a file that is named as in `TARGETS`."""
    return divided(pd.read_csv(path), path.stem)
