"""Write the rule lists of the installed imodels beside this script; see README.md one folder up."""

from importlib.metadata import version
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
from imodels import GreedyRuleListClassifier, OneRClassifier

HERE = Path(__file__).parent
VERSION = version("imodels")


def write(name, model, X, y):
    model.fit(X, y)
    random = np.random.RandomState(3)
    low, high = np.asarray(X).min(), np.asarray(X).max()
    others = random.uniform(low - 1, high + 1, (200, np.asarray(X).shape[1]))
    others[::2] = others[::2].round()
    rows = np.vstack((np.asarray(X), others))
    seen = pd.DataFrame(rows, columns=X.columns) if isinstance(X, pd.DataFrame) else rows
    path = HERE / f"{name}-{VERSION}"
    joblib.dump(model, f"{path}.joblib")
    np.savez_compressed(
        f"{path}.npz",
        X=np.asarray(X),
        y=y,
        rows=rows,
        share=model.predict_proba(seen)[:, 1],
        predicted=model.predict(seen),
    )


if __name__ == "__main__":
    random = np.random.RandomState(5)
    X = random.uniform(-2, 2, (120, 4))
    X[:, :2] = X[:, :2].round()
    y = X[:, 0] - X[:, 1] + X[:, 2] + random.normal(size=120) > 0.5
    named = pd.DataFrame(X, columns=["first", "second", "third", "fourth"])
    write("named", GreedyRuleListClassifier(max_depth=5), named, np.where(y, "yes", "no"))
    write("plain", GreedyRuleListClassifier(max_depth=3, criterion="entropy"), X, y.astype(int))
    write("one", OneRClassifier(max_depth=3), named, y.astype(int))
    # Soon there is nothing left to split by.
    write("few", GreedyRuleListClassifier(max_depth=5), (X[:, :2] > 0).astype(float), y.astype(int))
