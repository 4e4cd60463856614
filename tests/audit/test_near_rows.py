"""Rows that stand in a file nearly are found, and what any model learns of many rows is not taken for them."""

from __future__ import annotations

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.decomposition import NMF, PCA, DictionaryLearning, MiniBatchDictionaryLearning, SparseCoder
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler, normalize

from pytest_draft.artifact import read
from pytest_draft.audit.contents import inspect_contents
from pytest_draft.audit.known_data import NearRows
from pytest_draft.data import training_data
from pytest_draft.facts.contents import StoredFacts
from pytest_draft.policy import verbatim_data
from pytest_draft.timebox import TimeBox


def patients(n_rows: int = 200) -> np.ndarray:
    return load_breast_cancer().data[:n_rows, :8]


TABLES = {
    "patients": patients,
    "wines": lambda: load_wine().data,
    "flowers": lambda: load_iris().data,
    "normal": lambda: np.random.default_rng(0).normal(size=(300, 6)),
    "heavy tails": lambda: np.random.default_rng(1).standard_t(1.2, size=(300, 5)),
    "whole numbers": lambda: np.random.default_rng(2).integers(0, (80, 5, 2, 30, 4, 9), size=(250, 6)).astype(float),
    "zeros and ones": lambda: np.random.default_rng(3).integers(0, 2, (200, 12)).astype(float),
}


def atoms(rows: np.ndarray) -> np.ndarray:
    """Return what dictionaries of scikit-learn put in place of unused atoms: rows with noise, of length 1."""
    noise = 0.01 * rows.std(axis=1, keepdims=True) * np.random.default_rng(4).normal(size=rows.shape)
    return normalize(rows + noise)


COPIES = {
    "atoms": lambda rows: atoms(rows[::5]),
    "atoms among others": lambda rows: np.r_[
        atoms(rows[::9]), np.random.default_rng(5).normal(size=(60, rows.shape[1]))
    ],
    "each of length 1": lambda rows: normalize(rows[::5]).astype(np.float32),
    "each with the other sign": lambda rows: -normalize(rows[::5]),
    "each centred and scaled": lambda rows: StandardScaler().fit_transform(rows[::5].T).T,
    "with noise": lambda rows: rows[::5] + 0.003 * np.random.default_rng(6).normal(size=rows[::5].shape),
    "to three digits": lambda rows: rows[::5].round(2),
}


@pytest.mark.nightly(quick=8)
@pytest.mark.parametrize("form", COPIES)
@pytest.mark.parametrize("name", ["patients", "wines", "normal"])
def test_rows_that_changed_a_little_or_by_a_factor_each_are_found(name, form):
    rows = TABLES[name]()
    standardised = StandardScaler().fit_transform(rows)
    stored = COPIES[form](standardised)
    found = NearRows(list(rows.T)).found_in(stored)
    assert 0.5 * len(rows) / 9 <= found <= len(stored)


def eighths(rows: np.ndarray) -> np.ndarray:
    return pd.qcut(rows[:, 0], 8, labels=False, duplicates="drop")


HONEST = {
    "principal components": lambda rows: PCA().fit(rows).components_,
    "coefficients": lambda rows: LogisticRegression(max_iter=200).fit(rows, eighths(rows)).coef_,
    "five centres": lambda rows: KMeans(5, n_init=1, random_state=0).fit(rows).cluster_centers_,
    "ten centres": lambda rows: KMeans(10, n_init=1, random_state=0).fit(rows).cluster_centers_,
    "factors": lambda rows: NMF(6, max_iter=30, init="random").fit(rows - rows.min(axis=0)).components_,
    "means of five": lambda rows: rows[: len(rows) // 5 * 5].reshape(-1, 5, rows.shape[1]).mean(axis=1),
    "covariances": lambda rows: np.cov(rows.T),
    "an identity matrix": lambda rows: np.eye(rows.shape[1]),
    "quantiles": lambda rows: np.quantile(rows, np.linspace(0, 1, 30), axis=0),
    "draws from each column": lambda rows: np.random.default_rng(7).permuted(rows, axis=0),
}  # fmt: skip


SAID_OTHERWISE = {
    ("heavy tails", "draws from each column"): "one far-out value is nearly the whole row, and stands in the array",
    ("zeros and ones", "coefficients"): "there is one class of eighths only",
}


@pytest.mark.nightly(quick=2)
@pytest.mark.parametrize("kind", HONEST)
@pytest.mark.parametrize("name", TABLES)
def test_what_models_learn_of_many_rows_is_no_row(name, kind):
    if (name, kind) in SAID_OTHERWISE:
        pytest.skip(SAID_OTHERWISE[name, kind])
    rows = TABLES[name]()
    standardised = StandardScaler().fit_transform(rows)
    near = NearRows(list(rows.T))
    assert near.found_in(HONEST[kind](standardised)) == 0


@pytest.mark.parametrize("name", TABLES)
def test_other_people_of_the_same_kind_are_no_copies(name):
    rows = TABLES[name]()
    near = NearRows(list(rows[::2].T))
    for others in (rows[1::2], normalize(rows[1::2])):
        assert near.found_in(others) == 0


@pytest.mark.parametrize("name", ["whole numbers", "zeros and ones"])
def test_rows_of_few_values_are_found_together_though_none_says_much_by_itself(name):
    rows = TABLES[name]()
    assert NearRows(list(rows.T)).found_in(normalize(rows[::3])) >= len(rows) / 6


def test_what_five_people_share_and_tables_without_numbers_say_nothing():
    kinds = np.repeat(np.random.default_rng(8).normal(size=(20, 6)), 6, axis=0)
    assert NearRows(list(kinds.T)).found_in(normalize(kinds[::6])) == 0
    few = np.repeat(kinds[::6], 3, axis=0)
    assert NearRows(list(few.T)).found_in(normalize(kinds[::6])) == 20
    for column in (np.array(["a", "b"] * 60, dtype=object), np.full(120, np.nan)):
        assert NearRows([*kinds.T, column]).found_in(np.ones((9, 7))) == 0


@pytest.fixture
def beside_a_forest(tmp_path):
    """Return a function that says what stands in a file with a forest, a scaler and something else."""

    def of(other, rows: np.ndarray) -> StoredFacts:
        table = pd.DataFrame(rows, columns=[f"c{i}" for i in range(rows.shape[1])])
        table = table.assign(label=np.arange(len(rows)) % 2)
        x = table.drop(columns="label")
        forest = RandomForestClassifier(2, max_depth=2, random_state=0).fit(x, table["label"])
        joblib.dump({"scaler": StandardScaler().fit(x), "other": other, "forest": forest}, tmp_path / "model.joblib")
        artifact = read(tmp_path / "model.joblib")
        return inspect_contents(artifact, table, training_data(table, artifact.model, "label"), TimeBox(60.0))

    return of


@pytest.mark.nightly(quick=1)
@pytest.mark.parametrize("form", ["rows", "one after the other", "column by column", "turned round"])
def test_near_copies_in_a_file_fail_with_what_to_do(form, beside_a_forest):
    rows = patients()
    stored = atoms(StandardScaler().fit_transform(rows)[::5])
    written = {"one after the other": stored.ravel(), "column by column": stored.T.ravel(), "turned round": stored.T}
    if form == "rows":
        found, shape = beside_a_forest(SparseCoder(dictionary=stored), rows), stored.shape
    else:
        found, shape = beside_a_forest(written[form], rows), written[form].shape
    (copy,) = found.copies
    assert (copy.shape, copy.columns, copy.nearly) == (shape, 0, True)
    assert copy.rows >= 25
    outcome = verbatim_data._judge_copies(found)
    assert outcome.result == "failed"
    assert outcome.sentence.endswith(f"holds {copy.rows} training rows but for a factor of each or some noise")
    assert "fewer components" in outcome.remedy


@pytest.mark.nightly
@pytest.mark.parametrize("kind", [MiniBatchDictionaryLearning, DictionaryLearning])
def test_a_dictionary_of_many_atoms_holds_rows_and_one_of_twenty_none(kind, beside_a_forest):
    rows = patients()
    standardised = StandardScaler().fit_transform(rows)
    for n_atoms in (100, 20):
        copies = beside_a_forest(kind(n_atoms, random_state=0, max_iter=20).fit(standardised), rows).copies
        assert bool(copies) == (n_atoms == 100)
        assert all(copy.nearly and copy.rows >= 15 for copy in copies)
