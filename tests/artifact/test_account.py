"""Whatever stands in a file has a reason, or is told as unexplained, by place, class and size."""

from __future__ import annotations

import datetime
import pickle
import zlib

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier, VotingClassifier
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.kernel_approximation import Nystroem
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import ElasticNet, LogisticRegression, LogisticRegressionCV
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KDTree, KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, SplineTransformer, StandardScaler
from sklearn.svm import SVC, OneClassSVM
from sklearn.utils import all_estimators

from pytest_draft.artifact import read
from pytest_draft.artifact.world.account import MOST_IN_ONE
from pytest_draft.artifact.world.known_classes import known_class

N_ROWS = 80


@pytest.fixture(scope="module")
def table():
    random = np.random.default_rng(5)
    rows = pd.DataFrame(random.normal(size=(N_ROWS, 8)).round(3), columns=list("abcdefgh"))
    return rows, np.where(rows["a"] + random.normal(size=N_ROWS) > 0, "yes", "no")


@pytest.fixture
def account(tmp_path):
    def of(model):
        joblib.dump(model, tmp_path / "model.joblib")
        return read(tmp_path / "model.joblib").account

    return of


def forest(table, **attributes):
    model = RandomForestClassifier(3, max_depth=2, random_state=0).fit(*table)
    for name, value in attributes.items():
        setattr(model, name, value)
    return model


def bits_of(table):
    return (table[0].to_numpy() > 0).astype(int)


HIDDEN = {
    "names of the columns that are 1": lambda t: [
        [n for n, v in zip("abcdefgh", row, strict=True) if v] for row in bits_of(t)
    ],
    "names of columns, in one text each": lambda t: {
        f"p{i}": "abcdefgh"[: 1 + sum(row)] for i, row in enumerate(bits_of(t))
    },
    "a set of texts": lambda t: {"".join(map(str, row)) for row in bits_of(t)},
    "texts as bytes": lambda t: np.array(["".join(map(str, row)) for row in bits_of(t)], dtype="S"),
    "a nested dict": lambda t: {f"p{i}": dict(enumerate(row)) for i, row in enumerate(t[0].to_numpy().tolist())},
    "dicts in lists in dicts": lambda t: {"a": [{"b": [row[:4], row[4:]]} for row in t[0].to_numpy().tolist()]},
    "packed bits": lambda t: np.packbits(bits_of(t)),
    "packed bits as bytes": lambda t: np.packbits(bits_of(t)).tobytes(),
    "compressed pieces": lambda t: [zlib.compress(row.tobytes()) for row in t[0].to_numpy()],
    "a row as a number": lambda t: {
        int("1" + "".join(map(str, row)), 2) * 1000 + i for i, row in enumerate(bits_of(t))
    },
    "numbers by a date": lambda t: {datetime.date(2000, 1, 1) + datetime.timedelta(i): 1 for i in range(N_ROWS)},
    "the positions of ones": lambda t: sparse.csr_matrix(bits_of(t)).indices,
    "a sparse matrix": lambda t: sparse.csr_matrix(bits_of(t)),
    "a frame": lambda t: t[0].iloc[:20],
    "a search tree": lambda t: KDTree(t[0]),
}


@pytest.mark.parametrize("form", HIDDEN)
def test_rows_in_a_form_that_nobody_thought_of_are_unexplained(form, account, table):
    found = account(forest(table, note_=HIDDEN[form](table)))
    told = [place.path for place in (*found.unexplained, *found.kept)]
    assert told
    assert all(path.startswith("note_") for path in told)


def test_a_name_of_an_attribute_that_is_a_row_is_not_shown(account, table):
    some = {"|".join(map(str, row)): None for row in table[0].to_numpy().tolist()}
    (place, *_) = account(forest(table, **some)).unexplained
    assert place.path == "(attribute)"


def test_an_attribute_for_each_row_is_unexplained(account, table):
    some = {f"row_{i}": int("".join(map(str, row)), 2) for i, row in enumerate(bits_of(table))}
    (place, *_) = account(forest(table, **some)).unexplained
    assert (place.path[:4], place.owner) == ("row_", "sklearn.ensemble._forest.RandomForestClassifier")


@pytest.mark.parametrize("name", ["coef_", "components_", "estimators_features_", "support_vectors_"])
def test_a_name_that_is_known_of_another_class_explains_nothing(name, account, table):
    (place,) = account(forest(table, **{name: table[0].to_numpy()[:50]})).unexplained
    assert (place.path, place.what) == (name, "an array of float64, 50 x 8")


@pytest.mark.parametrize(
    ("other", "name"),
    [
        (LogisticRegression(), "coef_"),
        (StandardScaler(), "mean_"),
        (GaussianNB(), "theta_"),
        (MLPClassifier((3,)), "coefs_"),
    ],
)
def test_an_aggregate_that_is_longer_than_it_can_be_is_unexplained(other, name, account, table):
    fitted = clone(other).fit(*table)
    assert account([forest(table), fitted]).unexplained == ()
    setattr(fitted, name, table[0].to_numpy()[:50])
    (place,) = account([forest(table), fitted]).unexplained
    assert place.path == f"[1].{name}"


KEEPING = {
    "SVC": (SVC(), "support_vectors_"),
    "one-class SVM": (OneClassSVM(), "support_vectors_"),
    "neighbours": (KNeighborsClassifier(), "_fit_X"),
    "Nystroem": (Nystroem(n_components=30), "components_"),
    "Gaussian process": (GaussianProcessClassifier(), "base_estimator_"),
    "kernel ridge": (KernelRidge(), "X_fit_"),
    "clusters": (KMeans(3, n_init=1), "labels_"),
}


@pytest.mark.nightly(quick=5)
@pytest.mark.parametrize("kind", KEEPING)
@pytest.mark.parametrize("around", [False, True])
def test_a_model_that_keeps_rows_by_its_nature_is_told(kind, around, account, table):
    rows, labels = table
    other, name = KEEPING[kind]
    y = (labels == "yes").astype(float) if kind == "kernel ridge" else labels
    fitted = clone(other).fit(rows, y)
    model = {"model": forest(table), "other": make_pipeline(StandardScaler(), fitted) if around else fitted}
    found = account(model)
    assert found.unexplained == ()
    assert any(place.path.endswith(name) for place in found.kept)


@pytest.mark.parametrize("number", [1, 4])
@pytest.mark.parametrize("scaler", [StandardScaler(), MinMaxScaler()])
def test_an_aggregate_of_few_rows_holds_them(number, scaler, account, table):
    (place,) = account([forest(table), clone(scaler).fit(table[0][:number])]).kept
    assert place.what == f"an aggregate of {number} row{'s' * (number != 1)}"
    assert account([forest(table), clone(scaler).fit(table[0][:5])]).kept == ()


def test_what_people_save_beside_a_model_is_explained(account, table):
    model = forest(table)
    card = {
        "model": model,
        "trained": datetime.datetime(2026, 1, 1),
        "features": list("abcdefgh"),
        "categorical": ["a", "c"],
        "classes": ["no", "yes"],
        "metrics": {"auc": 0.8, "accuracy": 0.7, "folds": [0.7, 0.75, 0.72]},
        "importances": dict(zip("abcdefgh", model.feature_importances_.tolist(), strict=True)),
        "columns": table[0].columns,
        "confusion": np.array([[30, 10], [8, 32]]),
        "notes": "trained on the records of 2025",
    }
    found = account(card)
    assert (found.unexplained, found.kept) == ((), ())
    assert 0 < found.plain <= MOST_IN_ONE


def test_names_and_types_of_many_columns_are_explained_and_held_against_the_table(account):
    random = np.random.default_rng(0)
    names = [f"a_column_of_the_kind_{i}" for i in range(150)]
    rows, labels = random.integers(0, 2, (60, 150)), random.integers(0, 2, 60)
    model = RandomForestClassifier(2, max_depth=2).fit(rows, labels)
    kinds = dict.fromkeys(names, "int64")
    found = account({"model": model, "features": names, "kinds": kinds, "weights": dict.fromkeys(names, 0.25)})
    assert (found.unexplained, found.kept) == ((), ())
    assert set(found.names) == {tuple(names)}


def test_long_names_of_classes_are_explained(account):
    random = np.random.default_rng(0)
    labels = np.array([f"a class with a rather long name, number {i}" for i in range(12)])[np.arange(60) % 12]
    found = account(RandomForestClassifier(2, max_depth=2).fit(random.normal(size=(60, 3)), labels))
    assert (found.unexplained, found.kept) == ((), ())


@pytest.mark.parametrize("name", ["random_state", "class_weight", "max_leaf_nodes", "criterion"])
def test_a_parameter_of_a_tree_that_holds_a_table_is_unexplained(name, account, table):
    model = forest(table)
    setattr(model.estimators_[0], name, table[0].to_numpy()[:60].tolist())
    assert account(model).unexplained


def test_many_models_of_one_person_each_are_unexplained(account, table):
    people = [ElasticNet(alpha=a, l1_ratio=b, tol=c) for a, b, c in table[0].to_numpy()[:, :3].tolist()]
    assert account({"model": forest(table), "grid": people * 2}).unexplained
    assert account({"model": forest(table), "grid": {f"p{i}": [one] for i, one in enumerate(people)}}).unexplained


@pytest.mark.nightly(quick=1)
@pytest.mark.parametrize(
    "model",
    [
        GridSearchCV(RandomForestClassifier(2), {"max_depth": [1, 2], "max_features": [1, 2, 3]}, cv=3),
        VotingClassifier([("a", RandomForestClassifier(2)), ("b", LogisticRegressionCV(cv=3))]),
        make_pipeline(SplineTransformer(), RandomForestClassifier(2)),
    ],
)
def test_models_around_a_forest_are_explained(model, account, table):
    found = account(clone(model).fit(*table))
    assert (found.unexplained, found.kept) == ((), ())


def test_every_estimator_of_scikit_learn_is_known():
    """A new version has new ones: add them with ``python -m studies known-classes``."""
    missing = [cls.__name__ for _, cls in all_estimators() if known_class(cls.__module__, cls.__name__) is None]
    assert missing == []


@pytest.mark.parametrize("value", [b"gini", bytearray(b"gini"), [bytearray(b"gini")]])
def test_a_parameter_of_few_bytes_is_read_as_any_other(value, table, tmp_path):
    def written(penalty):
        content = pickle.dumps([forest(table), LogisticRegression(penalty=penalty)], protocol=5)
        (tmp_path / "model.pkl").write_bytes(content)
        return read(tmp_path / "model.pkl").account

    assert written(value).unexplained == ()
    assert written(bytearray(100)).unexplained


class Stated:
    """What is pickled as a generator with a state of its own."""

    def __init__(self, **more):
        generator = np.random.RandomState(0)
        self.made = (*generator.__reduce__()[:2], {**generator.get_state(legacy=False), **more})

    def __reduce__(self):
        return self.made


@pytest.mark.parametrize(
    "more", [{"note": "41,2300\n" * 40}, {"gauss": [0.5] * 70}, {"bit_generator": "41,2300\n" * 40}]
)
def test_a_generator_that_holds_more_than_its_state_is_unexplained(more, account, table):
    assert account(forest(table, generator_=np.random.RandomState(0))).unexplained == ()
    assert account(forest(table, generator_=Stated(**more))).unexplained


@pytest.mark.parametrize("bit", [[], int, np.dtype("f8")])
def test_bits_as_values_that_hold_nothing_are_counted(bit, account, table):
    some = {f"p{i}": [[bit, None], [bit, bit]][i % 2] for i in range(40)}
    kept = {"a": some, "b": dict(some), "c": dict(some), "d": dict(some)}
    assert account({"model": forest(table), "kept": kept}).unexplained


@pytest.mark.nightly
def test_the_scores_of_each_round_of_histogram_based_boosting_are_explained(account, table):
    model = HistGradientBoostingClassifier(
        max_iter=60, early_stopping=True, validation_fraction=None, n_iter_no_change=60, min_samples_leaf=5, max_depth=1
    ).fit(*table)
    assert len(model.train_score_) == 61
    assert account(model).unexplained == ()
    model.train_score_ = np.random.default_rng(0).random(70)
    assert account(model).unexplained


@pytest.mark.parametrize("name", ["LaplaceForestClassifier", "GaussianForestClassifier"])
def test_all_that_private_forests_keep_of_their_trees_is_known(name):
    kept = {"children_left_", "children_right_", "feature_", "threshold_", "counts_", "epsilon_", "delta_", "scale_"}
    assert kept <= known_class("pytest_draft.dp", name).bounded
