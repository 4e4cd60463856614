"""The demo: two forests, trained on the spot from data that scikit-learn ships, and judged for real.

The data are the Wisconsin breast cancer measurements. Their numeric columns are binned to one-hot quartiles,
because the attack covers discrete columns; the output says so.
"""

from __future__ import annotations

import math
import tempfile
from pathlib import Path

import pytest

from pytest_draft.policy.remedies import GONE_SOON

N_ROWS = 150
"""Patients: enough for a forest that leaks and one that does not, few enough for an attack of seconds."""

MEASUREMENTS = ["mean radius", "mean texture", "mean smoothness", "mean symmetry", "mean fractal dimension"]
"""Numeric columns that are binned, none nearly another; with quartiles, 4 ** 5 vectors, which the attack enumerates."""

FOLDER = "draft_demo_folder"
"""Under this name, xdist's controller gives its workers the place of the demo's files."""

EXPLANATION = f"""\
What you saw: two random forests, trained a moment ago on {N_ROWS} patients of the
Wisconsin breast cancer data ({len(MEASUREMENTS)} measurements, binned to one-hot quartiles, and
the diagnosis), then attacked as a stranger with only the file would.
  default.joblib is RandomForestClassifier() as scikit-learn ships it: its file
    gives back the patients' rows, so its checks fail, and pytest ends with
    exit status 1. That is right: this file must not be released.
  shallow.joblib has 5 trees of depth 2: our attack gets no closer to these
    patients than other patients are, and no attacker considered gets past a
    limit, so it passes.
Judge your own:
  pytest --draft-forest model.joblib --draft-data train.csv --draft-target LABEL"""


def prepare(config: pytest.Config) -> None:
    """Train the demo's forests and put them in place of ``--draft-forest`` and its companions."""
    shared = getattr(config, "workerinput", {}).get(FOLDER)
    if shared is None:
        names = ("forest", "manifest", "data", "target", "split", "domain")
        if taken := [name for name in names if config.getoption(f"draft_{name}")]:
            raise pytest.UsageError(f"--draft-demo brings its own forests and data: leave out --draft-{taken[0]}")
        try:
            made = tempfile.TemporaryDirectory(prefix=GONE_SOON, ignore_cleanup_errors=True)
            config.add_cleanup(made.cleanup)
            train(Path(made.name))
        except OSError as error:
            raise pytest.UsageError(
                f"--draft-demo: its files cannot be written to a folder for temporary files ({type(error).__name__}): "
                "set TMPDIR to one that has a megabyte of room"
            ) from None
        shared = made.name
    folder = Path(shared)
    config.option.draft_forest = [str(folder / name) for name in ("default.joblib", "shallow.joblib")]
    config.option.draft_data = [str(folder / "patients.csv")]
    config.option.draft_target, config.option.draft_split = "diagnosis", ""  # not the ini file's


def train(folder: Path) -> None:
    """Write ``patients.csv``, ``others.csv``, ``default.joblib`` and ``shallow.joblib`` to a folder."""
    import joblib
    import pandas as pd
    from sklearn.datasets import load_breast_cancer
    from sklearn.ensemble import RandomForestClassifier

    bunch = load_breast_cancer(as_frame=True)
    measured = bunch.data[MEASUREMENTS].sample(N_ROWS, random_state=0)
    others = bunch.data[MEASUREMENTS].drop(measured.index).sample(N_ROWS, random_state=0)
    edges = {name: [-math.inf, *measured[name].quantile([0.25, 0.5, 0.75]), math.inf] for name in measured}

    def binned(rows: pd.DataFrame) -> pd.DataFrame:
        quartiles = [pd.cut(rows[name], edges[name], labels=["q1", "q2", "q3", "q4"]) for name in rows]
        columns = [pd.get_dummies(one, prefix=str(one.name), dtype=int) for one in quartiles]
        return pd.concat(columns, axis=1)

    for name, rows in (("patients", measured), ("others", others)):
        labelled = binned(rows).assign(diagnosis=bunch.target_names[bunch.target[rows.index]])
        labelled.to_csv(folder / f"{name}.csv", index=False)
    columns, diagnosis = binned(measured), bunch.target_names[bunch.target[measured.index]]
    default = RandomForestClassifier(random_state=0).fit(columns, diagnosis)
    shallow = RandomForestClassifier(n_estimators=5, max_depth=2, random_state=0).fit(columns, diagnosis)
    joblib.dump(default, folder / "default.joblib")
    joblib.dump(shallow, folder / "shallow.joblib")
