"""Write the fixture dumps of one scikit-learn version: ``python make.py FOLDER``, in its environment."""

import sys
from pathlib import Path

import joblib
import numpy as np
import sklearn
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier, _forest
from sklearn.tree import DecisionTreeClassifier

N_ROWS, N_COLUMNS = 40, 6


def main(folder: Path) -> None:
    random = np.random.RandomState(20)
    columns = random.randint(0, 2, (N_ROWS, N_COLUMNS))
    classes = np.array(["no", "yes"])[(columns[:, 0] + random.randint(0, 2, N_ROWS)) // 2]
    tree = DecisionTreeClassifier(max_depth=4)
    models = {
        "forest": RandomForestClassifier(5, max_depth=4, random_state=1),
        "half": RandomForestClassifier(5, max_depth=4, max_samples=0.5, random_state=1),
        "bagging": BaggingClassifier(tree, 5, max_features=0.5, random_state=1),
        "pasting": BaggingClassifier(tree, 5, max_samples=0.7, bootstrap=False, random_state=1),
    }
    for name, model in models.items():
        model.fit(columns, classes)
        target = folder / f"{name}-{sklearn.__version__}"
        joblib.dump(model, target.with_name(target.name + ".joblib"), compress=3)
        np.savez_compressed(target.with_name(target.name + ".npz"), **truth(model))


def truth(model) -> dict:
    drawn = [np.bincount(rows, minlength=N_ROWS) for rows in drawn_rows(model)]
    arrays = {"occurrences": np.array(drawn, np.int64)}
    for index, estimator in enumerate(model.estimators_):
        nodes = estimator.tree_
        subset = getattr(model, "estimators_features_", [np.arange(N_COLUMNS)] * len(model.estimators_))[index]
        arrays[f"left{index}"] = nodes.children_left
        arrays[f"feature{index}"] = np.where(nodes.children_left < 0, -1, subset[nodes.feature])
        arrays[f"threshold{index}"] = nodes.threshold
        arrays[f"value{index}"] = nodes.value[:, 0, :]
        arrays[f"weight{index}"] = nodes.weighted_n_node_samples
    return arrays


def drawn_rows(model) -> list:
    if hasattr(model, "estimators_samples_"):
        return model.estimators_samples_
    # Forests have had `estimators_samples_` since 1.4.
    size = _forest._get_n_samples_bootstrap(N_ROWS, model.max_samples)
    return [_forest._generate_sample_indices(tree.random_state, N_ROWS, size) for tree in model.estimators_]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
