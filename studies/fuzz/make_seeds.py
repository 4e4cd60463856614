"""Write the honest files that mutants are made of: in goes nothing, out come small files of invented rows.

``python -m studies.fuzz.make_seeds``, with the ``formats`` and ``parquet`` extras. What is committed is replayed by its
seed, so whoever writes these files anew loses the mutants that were found with the old ones.
"""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesRegressor,
    IsolationForest,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    KBinsDiscretizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    StandardScaler,
)
from sklearn.tree import DecisionTreeClassifier

from pytest_draft.dp import LaplaceForestClassifier
from studies.optional import optional

SEEDS = Path(__file__).parent / "seeds"
N_ROWS = 24


def table() -> pd.DataFrame:
    """Return invented rows: three binary columns, a category, a number with missing values, and the label."""
    random = np.random.RandomState(20)
    columns = random.randint(0, 2, (N_ROWS, 3))
    number = random.normal(size=N_ROWS).round(2)
    number[::7] = np.nan
    made = pd.DataFrame(columns, columns=["a", "b", "c"])
    made["d"] = np.array(["red", "green", "blue"])[random.randint(0, 3, N_ROWS)]
    made["e"] = number
    made["label"] = np.array(["no", "yes"])[columns[:, 0] ^ (columns[:, 1] & columns[:, 2])]
    return made


def pipeline() -> Pipeline:
    """Return transformers of many kinds before a forest."""
    bins = KBinsDiscretizer(3, encode="onehot", quantile_method="averaged_inverted_cdf")
    columns = ColumnTransformer(
        [
            ("code", OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), ["d"]),
            ("hot", OneHotEncoder(handle_unknown="ignore", min_frequency=2), ["d", "a"]),
            ("bins", make_pipeline(SimpleImputer(strategy="median", add_indicator=True), bins), ["e"]),
            ("number", make_pipeline(SimpleImputer(), StandardScaler(), PolynomialFeatures()), ["e"]),
            ("curve", make_pipeline(SimpleImputer(), PowerTransformer()), ["e"]),
            ("ranks", QuantileTransformer(n_quantiles=5), ["c"]),
        ],
        remainder="passthrough",
    )
    return make_pipeline(columns, RandomForestClassifier(2, max_depth=3, random_state=1))


def private() -> LaplaceForestClassifier:
    """Return a private forest, filled in without diffprivlib."""
    random = np.random.RandomState(3)
    model = LaplaceForestClassifier(2, epsilon=3.0, bounds=(0, 1), classes=[0, 1], max_depth=2, random_state=1)
    model.n_features_in_, model.classes_ = 3, np.array([0, 1])
    model.children_left_ = np.array([1, 2, -1, -1, 5, -1, -1])
    model.children_right_ = np.array([4, 3, -1, -1, 6, -1, -1])
    inner = model.children_left_ >= 0
    model.feature_ = np.where(inner, random.randint(0, 3, (2, 7)), -2)
    model.threshold_ = np.where(inner, random.uniform(size=(2, 7)), -2.0)
    model.counts_ = np.where(inner[:, None], 0, random.randint(-2, 9, (2, 7, 2)))
    model.epsilon_, model.delta_, model.scale_, model.rounding_ = 3.0, 0.0, 2 / 3, "sum"
    return model


def main() -> None:
    """Write all files."""
    skops, onnx = optional("skops.io", ".skops files are written", "formats"), optional("skl2onnx", "ONNX", "formats")
    frame = table()
    named, labels = frame[["a", "b", "c"]], frame["label"].to_numpy(dtype=str)
    rows = named.to_numpy()
    forest = RandomForestClassifier(2, max_depth=3, random_state=1).fit(named, labels)
    tree = DecisionTreeClassifier(max_depth=3, random_state=1)
    small = RandomForestClassifier(1, max_depth=2, random_state=1).fit(rows, labels)
    missing = frame[["a", "e"]].to_numpy()
    models: dict[str, Any] = {
        "forest": forest,
        "tree": tree.fit(rows, labels),
        "regressor": ExtraTreesRegressor(2, max_depth=3, bootstrap=True, random_state=1).fit(rows, rows.sum(axis=1)),
        "missing": RandomForestClassifier(2, max_depth=3, class_weight="balanced").fit(missing, labels),
        "bagging": BaggingClassifier(tree, 2, max_features=0.7, random_state=1).fit(rows, labels),
        "isolation": IsolationForest(n_estimators=2, max_samples=8, random_state=1).fit(rows),
        "private": private(),
        "voting": VotingClassifier([("one", small), ("other", tree)]).fit(rows, labels),
        "search": GridSearchCV(small, {"max_depth": [1, 2]}, cv=2).fit(rows, labels),
        "pipeline": pipeline().fit(frame.drop(columns="label"), labels),
        "few": make_pipeline(StandardScaler(), small).fit(rows, labels),
    }
    SEEDS.mkdir(exist_ok=True)
    for index, (name, model) in enumerate(models.items()):
        protocol = (4, 5, 2)[index % 3]
        (SEEDS / f"{name}.pkl").write_bytes(pickle.dumps(model, protocol=protocol))
    for name in ("forest", "pipeline", "bagging"):
        joblib.dump(models[name], SEEDS / f"{name}.joblib")
    for name, model in {"small": small, "few": models["few"], "code": _coded(frame, labels)}.items():
        skops.dump(model, SEEDS / f"{name}.skops")
    for name in ("forest", "tree", "few"):
        converted = onnx.to_onnx(models[name], rows[:1].astype(np.float32), options={"zipmap": False})
        (SEEDS / f"{name}.onnx").write_bytes(converted.SerializeToString())
    _write_tables(frame)


def _coded(frame: pd.DataFrame, labels: Any) -> Pipeline:
    coded = make_pipeline(OrdinalEncoder(), DecisionTreeClassifier(max_depth=2, random_state=1))
    return coded.fit(frame[["d"]].to_numpy(dtype=object), labels)


def _write_tables(frame: pd.DataFrame) -> None:
    numbers = frame[["a", "b", "c", "label"]]
    numbers.to_csv(SEEDS / "train.csv", index=False)
    numbers.to_csv(SEEDS / "train.csv.gz", index=False, compression={"method": "gzip", "mtime": 0})
    numbers.to_parquet(SEEDS / "train.parquet")
    features = numbers[["a", "b", "c"]].to_numpy()
    names = np.array(["a", "b", "c"])
    np.savez(SEEDS / "train.npz", X=features, y=frame["label"].to_numpy(dtype=str), columns=names)
    np.savez_compressed(SEEDS / "packed.npz", X=features.astype(np.float32), y=frame["label"].to_numpy(dtype="S3"))
    frame.to_csv(SEEDS / "raw.csv", index=False)
    rules = [_saved([1, -2], True, [0, 9]), _saved([3], False, [7, 1]), _saved([0], True, [2, 5])]
    saved = {"f": ["a", "b", "c"], "r": rules, "p": "label"}
    (SEEDS / "corels.pkl").write_bytes(pickle.dumps(saved, protocol=2))


def _saved(antecedents: list[int], prediction: bool, rows: list[int]) -> dict[str, Any]:
    return {"antecedents": antecedents, "prediction": prediction, "train_labels": rows}


if __name__ == "__main__":
    main()
    print(json.dumps({path.name: path.stat().st_size for path in sorted(SEEDS.iterdir())}, indent=1))
