"""Rows and columns found in raw tables: those that scikit-learn's own splits and encoders made, for many seeds."""

import time

import joblib
import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMClassifier
from scipy.stats import multivariate_hypergeom
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import LabelEncoder, MinMaxScaler, OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from pytest_draft.artifact import read
from pytest_draft.data import as_table
from pytest_draft.errors import DataError
from pytest_draft.finding import rows_of
from pytest_draft.finding.evidence import bits_of_classes
from pytest_draft.timebox import TimeBox

SECRET = "Wolpertinger"
"""A category that no message may hold."""


def customers(seed, n_rows=400):
    random = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "Customer ID": [f"C{number:04d}" for number in range(n_rows)],
            "Age": random.normal(45, 12, n_rows).round().clip(18),
            "Plan": random.choice(["basic", "plus", "pro"], n_rows),
            "Level": random.choice(["none", "some", SECRET, "all", "more", "most"], n_rows),
            "Monthly": random.gamma(3, 20, n_rows).round(2),
            "Joined": pd.Series(pd.date_range("2015-01-03", periods=n_rows, freq="3D")).dt.strftime("%d/%m/%Y"),
        }
    )
    score = 0.05 * (table.Age - 45) + (table.Plan == "basic") + 0.01 * table.Monthly + random.normal(0, 0.5, n_rows)
    table["Left"] = np.where(score > 1.1, "yes", "no")
    table.loc[random.choice(n_rows, n_rows // 12, replace=False), "Age"] = np.nan
    return table


def numbers(seed, n_rows=300):
    random = np.random.default_rng(seed)
    table = pd.DataFrame(random.normal(size=(n_rows, 5)).round(2), columns=list("abcde"))
    return table.assign(y=(table.a + table.b * table.c + random.normal(0, 0.3, n_rows) > 0).astype(int))


@pytest.fixture
def found(tmp_path):
    def of(model, rows, labels, table, target, seconds=60.0):
        joblib.dump(model.fit(rows, labels), tmp_path / "model.joblib")
        box = TimeBox(seconds, clock=time.process_time)  # whatever else the machine does meanwhile
        return rows_of(read(tmp_path / "model.joblib"), as_table(table), target, box, 0, 40)

    return of


def encoded(table, levels):
    made = table.drop(columns=["Customer ID", "Joined"]).assign(
        Month=pd.to_datetime(table.Joined, dayfirst=True).dt.month
    )
    made["Age"] = made.Age.fillna(made.Age.median())
    made["Level"] = made.Level.map({level: number for number, level in enumerate(levels)})
    made["Left"] = LabelEncoder().fit_transform(made.Left)
    return pd.get_dummies(made, columns=["Plan"])


@pytest.mark.nightly
@pytest.mark.parametrize("seed", [42, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in (0, 77))])
@pytest.mark.parametrize("kind", [RandomForestClassifier, GradientBoostingClassifier, LGBMClassifier])
def test_split_and_encoding_of_a_script_are_found(found, seed, kind):
    table = customers(seed)
    levels = ("none", "some", "more", SECRET, "most", "all")  # an order of their own is found where rows are known
    train, _ = train_test_split(
        encoded(table, levels if kind is RandomForestClassifier else sorted(levels)), test_size=0.25, random_state=seed
    )
    model = kind(random_state=1, **({"verbose": -1} if kind is LGBMClassifier else {}))
    rows = train.drop(columns="Left")
    given = found(model, rows, train.Left, table, "Left")
    assert given.data.columns == tuple(name.replace(" ", "_") if kind is LGBMClassifier else name for name in rows)
    assert np.array_equal(given.data.labels, train.Left)
    same = given.data.rows == rows.to_numpy(np.float32)
    assert same[:, rows.columns != "Level"].all()  # a level that no tree tells apart has no number of its own
    assert given.table.frame["Customer ID"].tolist() == table["Customer ID"].iloc[train.index].tolist()
    assert given.confirmed == (kind is RandomForestClassifier)
    assert SECRET not in given.note and SECRET not in repr(given)


@pytest.mark.nightly
@pytest.mark.parametrize(("scaler", "seed"), [(StandardScaler, 5), (MinMaxScaler, 1)])
def test_scalers_outside_the_file_are_found_without_names(found, scaler, seed):
    table = numbers(seed)
    train, _ = train_test_split(table, test_size=0.2, random_state=seed, stratify=table.y)
    rows = scaler().fit_transform(train.drop(columns="y"))
    given = found(RandomForestClassifier(30, random_state=0), rows, train.y, table, "y")
    assert np.allclose(given.data.rows, rows, rtol=1e-6, atol=1e-7)
    assert scaler.__name__ in given.note


@pytest.mark.nightly
def test_pipelines_take_the_raw_rows_that_were_found(found):
    table = customers(3).drop(columns=["Level", "Joined"]).dropna()
    train, _ = train_test_split(table, test_size=0.3, random_state=7)
    before = make_column_transformer((StandardScaler(), ["Age", "Monthly"]), (OneHotEncoder(), ["Plan"]))
    rows = train.drop(columns=["Left", "Customer ID"])
    given = found(make_pipeline(before, RandomForestClassifier(random_state=0)), rows, train.Left, table, "Left")
    assert given.data.by_encoder and given.confirmed
    assert given.table.frame["Customer ID"].tolist() == train["Customer ID"].tolist()


def test_targets_and_order_of_a_regressor_are_found(found):
    table = numbers(4).assign(y=lambda t: np.exp(t.a).round(3))
    rows = table.sample(frac=0.8, random_state=1)
    model = RandomForestRegressor(20, random_state=0)
    given = found(model, rows.drop(columns="y"), np.log1p(rows.y), table, "y")
    assert given.confirmed and np.allclose(given.data.targets, np.log1p(rows.y))


def test_right_rows_are_taken_as_they_are(found):
    table = numbers(6)
    given = found(RandomForestClassifier(20, random_state=0), table.drop(columns="y"), table.y, table, "y")
    assert given.note is None and given.data.n_rows == 300


@pytest.mark.nightly
@pytest.mark.parametrize("kind", [RandomForestClassifier, GradientBoostingClassifier, DecisionTreeClassifier])
@pytest.mark.parametrize("seed", [11, pytest.param(12, marks=pytest.mark.nightly)])
def test_strangers_tables_explain_nothing(found, kind, seed):
    train, _ = train_test_split(numbers(seed), test_size=0.2, random_state=42)
    with pytest.raises(DataError, match=r"240 rows.*to_csv") as refused:
        found(kind(random_state=0), train.drop(columns="y"), train.y, numbers(seed + 50), "y", seconds=2.0)
    assert "\n" not in str(refused.value)


@pytest.mark.nightly
@pytest.mark.parametrize("change", ["a row of another", "rows swapped", "a label"])
def test_a_changed_table_is_not_confirmed(found, change):
    table = numbers(8)
    train, test = train_test_split(table, test_size=0.2, random_state=42)
    wrong = table.copy()
    if change == "a row of another":
        wrong.iloc[train.index[3]] = test.iloc[5]
    elif change == "rows swapped":
        wrong.iloc[train.index[[3, 8]]] = table.iloc[train.index[[8, 3]]].to_numpy()
    else:
        wrong.loc[train.index[3], "y"] = 1 - wrong.loc[train.index[3], "y"]
    with pytest.raises(DataError):
        found(RandomForestClassifier(random_state=0), train.drop(columns="y"), train.y, wrong, "y", seconds=1.5)


@pytest.mark.nightly
def test_several_splits_that_fit_are_none(found):
    table = numbers(9)
    train, _ = train_test_split(table, test_size=0.2, random_state=42)
    model = DecisionTreeClassifier(max_depth=1, random_state=0)
    with pytest.raises(DataError, match="equally well"):
        found(model, train.drop(columns="y"), train.y, table, "y", seconds=4.0)


@pytest.mark.nightly
def test_rows_whose_columns_are_not_found_are_named(found):
    table = numbers(10)
    train, _ = train_test_split(table, test_size=0.2, random_state=42)
    rows = train.drop(columns="y")
    rows["d"] = np.random.default_rng(1).permutation(rows.d)
    with pytest.raises(
        DataError, match=r"these rows and labels, in this order.*otherwise before fit\(\): d"
    ) as refused:
        found(RandomForestClassifier(random_state=0), rows, train.y, table, "y", seconds=6.0)
    assert "train_test_split(random_state=42)" in str(refused.value)


@pytest.mark.nightly(quick=2)
@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_no_numbers_of_classes_are_likelier_than_said(n_classes):
    rng = np.random.default_rng(n_classes)
    for _ in range(8):
        n_rows, shares = int(rng.integers(20, 400)), rng.dirichlet(np.ones(n_classes))
        counts = np.maximum(1, np.rint(shares * n_rows)).astype(int)
        n_rows, taken = counts.sum(), int(rng.integers(5, counts.sum() - 5))
        seen = np.unique(rng.multivariate_hypergeometric(counts, taken, size=20_000), axis=0)
        likeliest = multivariate_hypergeom.logpmf(seen, counts, taken).max() / np.log(2)
        spread = np.array([taken * (n_rows - taken) / (n_rows - 1)])
        said = bits_of_classes(spread, counts / n_rows)[0]
        assert -likeliest - 2.5 < said < 0.2 - likeliest
