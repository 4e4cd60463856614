"""Two forests for trying the release gate: in goes a folder, out come models that must fail and pass there.

``python tests/ci/models.py FOLDER`` writes ``leaking.joblib`` (a random forest as scikit-learn ships it),
``harmless.joblib`` (three stumps) and ``train.csv``, the rows of both.
"""

from __future__ import annotations

import sys
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier

N_ROWS = 100
N_COLUMNS = 12


def write(folder: Path) -> None:
    """Train both forests on the same made-up rows, and write all to a folder."""
    random = np.random.default_rng(0)
    rows = random.random((N_ROWS, N_COLUMNS)) < np.linspace(0.2, 0.6, N_COLUMNS)
    table = pd.DataFrame(rows.astype(int), columns=[f"answer_{index}" for index in range(N_COLUMNS)])
    label = np.where(rows.sum(axis=1) + random.integers(0, 3, N_ROWS) > 5, "granted", "refused")
    for name, forest in {
        "leaking": RandomForestClassifier(random_state=0),
        "harmless": RandomForestClassifier(3, max_depth=1, random_state=0),
    }.items():
        joblib.dump(forest.fit(table, label), folder / f"{name}.joblib")
    table.assign(decision=label).to_csv(folder / "train.csv", index=False)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
