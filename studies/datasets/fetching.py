"""Where the public tables stand: in goes ``--datasets`` or nothing, out comes a folder that holds what is asked for.

What is fetched and made is kept in scikit-learn's own cache folder alone (``sklearn.datasets.get_data_home``).
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pandas as pd
from sklearn.datasets import fetch_openml, get_data_home

from pytest_draft.errors import DataError, UsageError, one_line
from pytest_draft.output import replacing
from studies.datasets.recipes import RECIPES, Recipe, binarized, check


def folder_of(datasets: Path | None, names: Iterable[str]) -> Path:
    """Return a folder that holds tables as ``NAME.csv``.

    Parameters
    ----------
    datasets : Path or None
        A folder, which is returned as it is; None to fetch the tables from OpenML, once.
    names : iterable of str
        Tables that are asked for.

    Raises
    ------
    DraftError
        Where a table is asked for that has no recipe, cannot be fetched, or is not as large as the published one.
    """
    if datasets is not None:
        return datasets
    names = list(dict.fromkeys(names))
    for name in names:
        if name not in RECIPES:
            raise UsageError(
                f"{one_line(name)} is not on OpenML as it was published: give --datasets FOLDER of "
                f"{one_line(name)}.csv, such as the folder data of github.com/vidalt/DRAFT"
            )
    folder = Path(get_data_home()) / "pytest_draft"
    folder.mkdir(exist_ok=True)
    for name in names:
        path = folder / f"{name}.csv"
        if not path.exists():
            table = binarized(_fetched(RECIPES[name], name), RECIPES[name])
            check(table, RECIPES[name], name)
            with replacing(path) as file:
                file.write(table.to_csv(index=False).encode())
        else:
            check(pd.read_csv(path), RECIPES[name], name)
    return folder


def _fetched(recipe: Recipe, name: str) -> pd.DataFrame:
    """Return a raw table with its target."""
    try:
        frame: pd.DataFrame = fetch_openml(data_id=recipe.data_id, as_frame=True, parser="auto").frame
    except (OSError, ValueError) as error:  # no network, no such table, or another content than OpenML's own hash
        raise DataError(
            f"{name} cannot be fetched from OpenML ({type(error).__name__}): give --datasets FOLDER of {name}.csv"
        ) from None
    return frame
