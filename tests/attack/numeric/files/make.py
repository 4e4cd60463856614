"""Write the fixtures of one scikit-learn version: ``python make.py FOLDER``, in its environment.

Two models on generated rows with continuous, binary, coarse and constant columns, and the number behind each threshold.
"""

import sys
from pathlib import Path

import joblib
import numpy as np
import sklearn
from sklearn.ensemble import ExtraTreesClassifier

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from splitter import grown

MODELS = {
    "extra": ExtraTreesClassifier(2, max_features=3, random_state=4),
    "best-first": ExtraTreesClassifier(2, max_features=3, max_leaf_nodes=14, random_state=5),
}


def table():
    random = np.random.RandomState(20)
    rows = random.normal(size=(40, 6))
    rows[:, 1] = rows[:, 1] > 0.5
    rows[:, 2] = rows[:, 2].round()
    rows[:, 3] = 7.0
    return rows, (rows[:, 0] + rows[:, 1] + random.normal(size=40) > 0).astype(int)


if __name__ == "__main__":
    rows, classes = table()
    for name, model in MODELS.items():
        target = Path(sys.argv[1]) / f"{name}-{sklearn.__version__}"
        joblib.dump(model.fit(rows, classes), target.with_name(target.name + ".joblib"), compress=9)
        drawn = {"number": np.concatenate([tree.winners() for tree in grown(model, rows)]).astype(np.int32)}
        kept = target.with_name(f"{name}.npz")
        if kept.exists():
            before = np.load(kept)
            if not np.array_equal(before["number"], drawn["number"]):
                sys.exit(f"scikit-learn {sklearn.__version__} drew otherwise than the version that wrote {kept.name}")
        np.savez_compressed(kept, **drawn)
