"""Files as people save them: in go models of many kinds around a forest, out comes what each file is told to hold.

Sixty files that hold no row of the training data, or hold them as models of their kind do, and files in which rows were
hidden: the table says which are stopped, by what, and whether that was right. No attack is run.
"""

from __future__ import annotations

import argparse
import base64
import datetime
import tempfile
import warnings
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.cluster import KMeans
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.feature_selection import RFE, SelectFromModel, SelectKBest, VarianceThreshold
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.isotonic import IsotonicRegression
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV, RidgeClassifier, SGDClassifier
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV, StratifiedKFold, TunedThresholdClassifierCV
from sklearn.naive_bayes import BernoulliNB, GaussianNB
from sklearn.neighbors import KNeighborsClassifier, LocalOutlierFactor
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    LabelEncoder,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
)
from sklearn.svm import SVC, LinearSVC, OneClassSVM
from sklearn.tree import DecisionTreeClassifier

from pytest_draft.artifact import read
from pytest_draft.audit.contents import inspect_contents
from pytest_draft.data import training_data
from pytest_draft.errors import DraftError
from pytest_draft.facts.files import ArtifactFacts
from pytest_draft.policy import per_row_vectors, verbatim_data
from pytest_draft.policy.policy import default_policy
from pytest_draft.policy.rule import combined
from pytest_draft.timebox import TimeBox

Made = Callable[[pd.DataFrame, "pd.Series[Any]"], Any]
NUMBERS = ["age", "hours", "wage", "distance"]
GROUPS = ["town", "shift"]
LABEL = "left"


def staff(n_rows: int, seed: int) -> pd.DataFrame:
    """Return a made-up table of numbers, categories and a label."""
    random = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": random.integers(18, 66, n_rows).astype(float),
            "hours": random.normal(36, 5, n_rows).round(1),
            "wage": random.gamma(4, 800, n_rows).round(2),
            "distance": random.gamma(2, 7, n_rows).round(3),
            "town": random.choice(["Oslo", "Rome", "Wien"], n_rows),
            "shift": random.choice(["day", "night"], n_rows, p=[0.7, 0.3]),
        }
    )
    left = frame["wage"] / 3000 + frame["age"] / 40 + random.normal(size=n_rows) > 2.3
    return frame.assign(left=np.where(left, "yes", "no"))


def forest(**changes: Any) -> RandomForestClassifier:
    """Return a small forest."""
    return RandomForestClassifier(**{"n_estimators": 5, "max_depth": 3, "random_state": 0, **changes})


def _encoder() -> ColumnTransformer:
    return make_column_transformer((OneHotEncoder(), GROUPS), (StandardScaler(), NUMBERS))


def _on_numbers(model: Any) -> Made:
    return lambda x, y: model().fit(x[NUMBERS], y)


def _on_all(*steps: Callable[[], Any]) -> Made:
    return lambda x, y: make_pipeline(_encoder(), *(step() for step in steps), forest()).fit(x, y)


def _voting(other: Callable[[], Any]) -> Made:
    return lambda x, y: VotingClassifier([("forest", forest()), ("other", other())], voting="hard").fit(x[NUMBERS], y)


def _beside(**others: Callable[[pd.DataFrame, pd.Series[Any]], Any]) -> Made:
    return lambda x, y: {
        "model": forest().fit(x[NUMBERS], y),
        **{name: other(x[NUMBERS], y) for name, other in others.items()},
    }


def _card(x: pd.DataFrame, y: pd.Series[Any]) -> Any:
    return {
        "model": forest().fit(x[NUMBERS], y),
        "name": "attrition",
        "version": "1.4.2",
        "trained": datetime.datetime(2026, 3, 1, 12, 30),
        "author": "people analytics",
        "features": list(NUMBERS),
        "target": LABEL,
        "metrics": {"auc": 0.8123456789, "accuracy": 0.7345, "f1": 0.61, "brier": 0.1872},
        "threshold": 0.42,
        "description": "Random forest for attrition, trained on the records of 2025; see the model card in the wiki.",
        "parameters": {"n_estimators": 5, "max_depth": 3},
        "libraries": {"scikit-learn": "1.9.1", "pandas": "2.3.0", "numpy": "2.3.1"},
        "git": "3f1c0de9f0a4b8d7c6e5f4a3b2c1d0e9f8a7b6c5",
    }


def _tagged(x: pd.DataFrame, y: pd.Series[Any]) -> Any:
    model = forest().fit(x[NUMBERS], y)
    model.version_, model.trained_on, model.threshold_ = "2.0", datetime.date(2026, 1, 5), 0.35
    model.feature_list = list(NUMBERS)
    return model


def _importances(x: pd.DataFrame, y: pd.Series[Any]) -> Any:
    model = forest().fit(x[NUMBERS], y)
    return {"model": model, "importances": model.feature_importances_, "columns": x[NUMBERS].columns}


def ordinary() -> dict[str, tuple[Made, bool]]:
    """Return the files, and of each whether it holds rows as models of its kind do."""
    files: dict[str, tuple[Made, bool]] = {
        "forest": (_on_numbers(forest), False),
        "extra trees": (_on_numbers(lambda: ExtraTreesClassifier(5, max_depth=3)), False),
        "one tree": (_on_numbers(lambda: DecisionTreeClassifier(max_depth=3)), False),
        "regressor": (lambda x, y: RandomForestRegressor(5, max_depth=3).fit(x[NUMBERS[:3]], x["distance"]), False),
        "bagging": (_on_numbers(lambda: BaggingClassifier(DecisionTreeClassifier(max_depth=3), 5)), False),
        "adaboost": (_on_numbers(lambda: AdaBoostClassifier(n_estimators=5)), False),
        "scaler, forest": (_on_numbers(lambda: make_pipeline(StandardScaler(), forest())), False),
        "minmax, forest": (_on_numbers(lambda: make_pipeline(MinMaxScaler(), forest())), False),
        "maxabs, forest": (_on_numbers(lambda: make_pipeline(MaxAbsScaler(), forest())), False),
        "robust, forest": (_on_numbers(lambda: make_pipeline(RobustScaler(), forest())), False),
        "power, forest": (_on_numbers(lambda: make_pipeline(PowerTransformer(), forest())), False),
        "bins, forest": (_on_numbers(lambda: make_pipeline(KBinsDiscretizer(5), forest())), False),
        "splines, forest": (_on_numbers(lambda: make_pipeline(SplineTransformer(), forest())), False),
        "products, forest": (_on_numbers(lambda: make_pipeline(PolynomialFeatures(2), forest())), False),
        "normalizer, forest": (_on_numbers(lambda: make_pipeline(Normalizer(), forest())), False),
        "pca, forest": (_on_numbers(lambda: make_pipeline(StandardScaler(), PCA(2), forest())), False),
        "svd, forest": (_on_numbers(lambda: make_pipeline(TruncatedSVD(2), forest())), False),
        "random features, forest": (_on_numbers(lambda: make_pipeline(RBFSampler(n_components=20), forest())), False),
        "means, forest": (_on_numbers(lambda: make_pipeline(SimpleImputer(), forest())), False),
        "medians, forest": (_on_numbers(lambda: make_pipeline(SimpleImputer(strategy="median"), forest())), False),
        "columns, forest": (_on_all(), False),
        "columns, imputer, forest": (_on_all(SimpleImputer), False),
        "ordinal codes, forest": (
            lambda x, y: make_pipeline(
                make_column_transformer((OrdinalEncoder(), GROUPS), remainder="passthrough"), forest()
            ).fit(x, y),
            False,
        ),
        "nested columns, forest": (
            lambda x, y: make_pipeline(
                ColumnTransformer(
                    [
                        ("n", make_pipeline(SimpleImputer(), StandardScaler()), NUMBERS),
                        ("c", make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder()), GROUPS),
                    ]
                ),
                forest(),
            ).fit(x, y),
            False,
        ),
        "best columns, forest": (_on_numbers(lambda: make_pipeline(SelectKBest(k=2), forest())), False),
        "varying columns, forest": (_on_numbers(lambda: make_pipeline(VarianceThreshold(), forest())), False),
        "important columns, forest": (
            _on_numbers(lambda: make_pipeline(SelectFromModel(LogisticRegression()), forest())),
            False,
        ),
        "eliminated columns": (_on_numbers(lambda: RFE(forest(), n_features_to_select=2)), False),
        "a function, forest": (_on_numbers(lambda: make_pipeline(FunctionTransformer(np.log1p), forest())), False),
        "a union, forest": (
            _on_numbers(lambda: make_pipeline(FeatureUnion([("a", StandardScaler()), ("b", PCA(2))]), forest())),
            False,
        ),
        "grid search": (_on_numbers(lambda: GridSearchCV(forest(), {"max_depth": [2, 3]}, cv=3)), False),
        "search of a pipeline": (
            lambda x, y: GridSearchCV(
                make_pipeline(_encoder(), forest()), {"randomforestclassifier__max_depth": [2, 3]}, cv=3
            ).fit(x, y),
            False,
        ),
        "random search": (
            _on_numbers(lambda: RandomizedSearchCV(forest(), {"max_depth": [2, 3, 4]}, n_iter=2, cv=3, random_state=0)),
            False,
        ),
        "search by folds": (
            _on_numbers(lambda: GridSearchCV(forest(), {"max_depth": [2, 3]}, cv=StratifiedKFold(3))),
            False,
        ),
        "calibrated": (_on_numbers(lambda: CalibratedClassifierCV(forest(), cv=3, ensemble=False)), False),
        "tuned threshold": (
            lambda x, y: TunedThresholdClassifierCV(forest(), cv=3).fit(x[NUMBERS], (y == "yes").astype(int)),
            False,
        ),
        "voting, logistic": (_voting(lambda: make_pipeline(StandardScaler(), LogisticRegression())), False),
        "voting, ridge": (_voting(RidgeClassifier), False),
        "voting, tree": (_voting(lambda: DecisionTreeClassifier(max_depth=2)), False),
        "voting, naive Bayes": (_voting(GaussianNB), False),
        "voting, Bernoulli": (_voting(BernoulliNB), False),
        "voting, MLP": (_voting(lambda: make_pipeline(StandardScaler(), MLPClassifier((20,), max_iter=50))), False),
        "voting, early MLP": (
            _voting(lambda: make_pipeline(StandardScaler(), MLPClassifier((50, 20), early_stopping=True))),
            False,
        ),
        "voting, SGD": (_voting(lambda: make_pipeline(StandardScaler(), SGDClassifier())), False),
        "voting, linear SVM": (_voting(lambda: make_pipeline(StandardScaler(), LinearSVC())), False),
        "voting, LDA": (_voting(LinearDiscriminantAnalysis), False),
        "voting, QDA": (_voting(QuadraticDiscriminantAnalysis), False),
        "voting, SVC": (_voting(lambda: make_pipeline(StandardScaler(), SVC())), True),
        "voting, KNN": (_voting(lambda: make_pipeline(StandardScaler(), KNeighborsClassifier())), True),
        "stacking, logistic": (
            _on_numbers(
                lambda: StackingClassifier(
                    [("f", forest()), ("l", make_pipeline(StandardScaler(), LogisticRegression()))],
                    LogisticRegressionCV(),
                    cv=3,
                )
            ),
            False,
        ),
        "dict with a scaler": (_beside(scaler=lambda x, _: StandardScaler().fit(x)), False),
        "dict with an encoder": (
            lambda x, y: {"model": forest().fit(x[NUMBERS], y), "encoder": OneHotEncoder().fit(x[GROUPS])},
            False,
        ),
        "dict with labels": (_beside(labels=lambda _, y: LabelEncoder().fit(y)), False),
        "dict with a PCA": (_beside(pca=lambda x, _: PCA(2).fit(x)), False),
        "dict with clusters": (_beside(clusters=lambda x, _: KMeans(4, n_init=1).fit(x)), True),
        "dict with a mixture": (_beside(mixture=lambda x, _: GaussianMixture(3).fit(x)), False),
        "model card": (_card, False),
        "attributes added": (_tagged, False),
        "importances beside": (_importances, False),
        "several models in a list": (
            lambda x, y: [forest(random_state=seed).fit(x[NUMBERS], y) for seed in range(2)],
            False,
        ),
        "columns, forest, metrics": (
            lambda x, y: {
                "pipeline": make_pipeline(_encoder(), forest()).fit(x, y),
                "cv": np.array([0.71, 0.74, 0.69, 0.75, 0.70]),
                "confusion": np.array([[40, 8], [9, 43]]),
            },
            False,
        ),
    }
    return files


def _texts(x: pd.DataFrame) -> list[str]:
    bits = np.hstack([(x[NUMBERS] > x[NUMBERS].quantile(q)).astype(int).to_numpy() for q in (0.25, 0.5, 0.75)])
    return ["".join(map(str, row)) for row in bits]


def _attribute(made: Callable[[pd.DataFrame], Any]) -> Made:
    def with_attribute(x: pd.DataFrame, y: pd.Series[Any]) -> Any:
        model = forest().fit(x[NUMBERS], y)
        model.note_ = made(x)
        return model

    return with_attribute


def _bytes(x: pd.DataFrame) -> bytes:
    return x[NUMBERS].to_numpy().tobytes()


def hidden() -> dict[str, Made]:
    """Return files in which rows stand."""
    return {
        "SVC": _voting(lambda: make_pipeline(StandardScaler(), SVC())),
        "SVC behind PCA": _voting(lambda: make_pipeline(StandardScaler(), PCA(3), SVC())),
        "one-class SVM, a subset": _beside(
            novelty=lambda x, y: OneClassSVM().fit(StandardScaler().fit_transform(x[y == "no"]))
        ),
        "KNN, calibrated": _voting(
            lambda: CalibratedClassifierCV(make_pipeline(StandardScaler(), KNeighborsClassifier()), cv=3)
        ),
        "bagged KNN behind a scaler": _voting(
            lambda: make_pipeline(StandardScaler(), BaggingClassifier(KNeighborsClassifier(), 5, max_samples=0.4))
        ),
        "a scaler and Nystroem": _beside(
            scaler=lambda x, _: StandardScaler().fit(x),
            kernel=lambda x, _: Nystroem(n_components=80).fit(StandardScaler().fit_transform(x)),
        ),
        "LOF of one class": _beside(outliers=lambda x, y: LocalOutlierFactor(novelty=True).fit(x[y == "yes"])),
        "KNNImputer": lambda x, y: make_pipeline(KNNImputer(), forest()).fit(x[NUMBERS], y),
        "a scaled background": _attribute(lambda x: StandardScaler().fit_transform(x[NUMBERS])[:100]),
        "rows minus the means": _attribute(lambda x: (x[NUMBERS] - x[NUMBERS].mean()).to_numpy()),
        "some rows minus their means": _attribute(lambda x: (x[NUMBERS][20:90] - x[NUMBERS][20:90].mean()).to_numpy()),
        "names of columns that are 1": _attribute(
            lambda x: [[n for n in NUMBERS if row[n] > x[n].median()] for _, row in x.iterrows()]
        ),
        "CSR as plain arrays": _attribute(
            lambda x: {
                "indices": sparse.csr_matrix(pd.get_dummies(x[GROUPS]).astype(int)).indices,
                "indptr": sparse.csr_matrix(pd.get_dummies(x[GROUPS]).astype(int)).indptr,
            }
        ),
        "a set of texts": _attribute(lambda x: set(_texts(x))),
        "a list of texts": _attribute(_texts),
        "texts as bytes": _attribute(lambda x: np.array(_texts(x), dtype="S")),
        "a nested dict": _attribute(lambda x: {f"p{i}": row for i, row in enumerate(x.to_dict("records"))}),
        "compressed": _attribute(lambda x: zlib.compress(_bytes(x))),
        "compressed pieces": _attribute(lambda x: [zlib.compress(_bytes(x[i : i + 2])) for i in range(0, len(x), 2)]),
        "short texts of compressed pieces": _attribute(
            lambda x: [base64.b64encode(_bytes(x[i : i + 1])).decode() for i in range(len(x))]
        ),
        "packed bits": _attribute(lambda x: np.packbits((x[NUMBERS] > x[NUMBERS].median()).to_numpy())),
        "a row as a number": _attribute(lambda x: {int(text + "1", 2) * 10**9 + i for i, text in enumerate(_texts(x))}),
        "all rows as one number": _attribute(lambda x: int("".join(_texts(x)), 2)),
        "a scaler of one row": _beside(scaler=lambda x, _: StandardScaler().fit(x[7:8])),
        "scalers of one row": _beside(
            scalers=lambda x, _: [MinMaxScaler().fit(x[i : i + 1]) for i in range(0, len(x), 3)]
        ),
        "quantiles": lambda x, y: make_pipeline(QuantileTransformer(), forest()).fit(x[NUMBERS], y),
        "a hundred bins": lambda x, y: make_pipeline(
            KBinsDiscretizer(100, quantile_method="averaged_inverted_cdf"), forest()
        ).fit(x[NUMBERS], y),
        "isotonic": _beside(curve=lambda x, y: IsotonicRegression().fit(x["wage"], (y == "yes").astype(int))),
        "a frame": _attribute(lambda x: x.iloc[:40]),
        "a column of a frame": _attribute(lambda x: x["wage"].iloc[:40]),
        "a tuple of tuples": _attribute(lambda x: tuple(map(tuple, x[NUMBERS].to_numpy().tolist()))),
        "one parameter": _on_numbers_with_init,
    }


def _on_numbers_with_init(x: pd.DataFrame, y: pd.Series[Any]) -> Any:
    start = StandardScaler().fit_transform(x[NUMBERS])[:60]
    return {"model": forest().fit(x[NUMBERS], y), "k": KMeans(60, init=start, n_init=1, max_iter=1)}


@dataclass(frozen=True)
class Told:
    """What is told of one file."""

    name: str
    result: str
    """Of the rule ``verbatim-data``, or ``refused``."""
    sentence: str


def told_of(name: str, made: Made, table: pd.DataFrame) -> Told:
    """Save a model, read it, and return what the default policy says of what stands in it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = made(table.drop(columns=LABEL), table[LABEL])
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "model.joblib"
        joblib.dump(model, path)
        return _judged(name, path, table)


def _judged(name: str, path: Path, table: pd.DataFrame, place: str | None = None) -> Told:
    try:
        artifact = read(path, place=place)
    except DraftError as error:
        places = getattr(error, "places", ())
        if places:
            told = [_judged(name, path, table, one) for one in places]
            worst = [
                one
                for result in ("failed", "refused", "inconclusive", "passed")
                for one in told
                if one.result == result
            ]
            return worst[0]
        return Told(name, "refused", str(error))
    try:
        data = training_data(table, artifact.model, LABEL, artifact.encoder)
    except DraftError:
        data = None
    facts = ArtifactFacts(str(path), contents=inspect_contents(artifact, table, data, TimeBox(60.0)))
    rules = default_policy().rules
    outcomes = [rule.check(facts, rule.in_force(rules[rule.id])) for rule in (verbatim_data.RULE, per_row_vectors.RULE)]
    outcome = combined(outcomes)
    return Told(name, outcome.result, outcome.sentence)


def run(n_rows: int, seed: int) -> Iterator[tuple[str, bool, Told]]:
    """Return what is told of each file: its kind, whether rows stand in it, and what is told."""
    table = staff(n_rows, seed)
    for name, (made, holds) in ordinary().items():
        yield "ordinary", holds, told_of(name, made, table)
    for name, made in hidden().items():
        yield "hidden", True, told_of(name, made, table)


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the options of this study."""
    command.add_argument("--rows", type=int, default=300, help="of the made-up table (300)")
    command.add_argument("--seed", type=int, default=0, help="of the table (0)")


def command(a: argparse.Namespace) -> int:
    """Print the table; return how many files were told wrong."""
    wrong = 0
    for kind, holds, told in run(a.rows, a.seed):
        right = holds == (told.result != "passed")
        wrong += not right
        kept, mark = "holds rows" if holds else "", "" if right else "WRONG "
        print(f"{kind:9} {kept:10} {told.name:34} {told.result:13} {mark}{told.sentence[:170]}")
    print(f"{wrong} wrong")
    return wrong
