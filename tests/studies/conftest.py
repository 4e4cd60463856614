"""What the tests of studies share."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from studies.cells import running
from studies.cells.computing import computed

COMPAS = [
    "sex:Male",
    *(f"age:{age}" for age in ("18-20", "21-22", "23-25", "26-45", ">45")),
    *(f"juvenile-{kind}:>0" for kind in ("felonies", "misdemeanors", "crimes")),
    *(f"priors:{number}" for number in ("2-3", "=0", "=1", ">3")),
    "current-charge-degree:Misdemeanor",
    "recidivate-within-two-years:1",
]


@pytest.fixture(scope="session")
def datasets(tmp_path_factory):
    """Return a folder with invented people in the columns of COMPAS, by the names of all tables of the papers."""
    rng = np.random.default_rng(5)
    table = pd.DataFrame(rng.integers(0, 2, size=(400, len(COMPAS))), columns=COMPAS)
    for group in (range(1, 6), range(9, 13)):
        table.iloc[:, list(group)] = np.eye(len(group), dtype=int)[rng.integers(0, len(group), size=len(table))]
    folder = tmp_path_factory.mktemp("datasets")
    for name in ("compas", "adult", "default_credit"):
        (folder / f"{name}.csv").write_text(table.to_csv(index=False))
    return folder


@pytest.fixture
def cells_here(monkeypatch):
    """Compute the cells of all studies in this process, where functions can be replaced and counted."""
    monkeypatch.setattr(running, "outcomes", lambda where, calls: (one for one in enumerate(map(computed, calls))))
