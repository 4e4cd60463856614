"""Ways to take training rows: each gives as many as are asked for, and scikit-learn's and pandas' own rows."""

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import KFold, StratifiedKFold, train_test_split
from sklearn.utils import resample, shuffle

from pytest_draft.finding.orders import cleanings, folds, orders


@pytest.mark.parametrize(("n_rows", "size", "n_classes"), [(120, 96, 2), (97, 97, 3), (300, 225, 16), (61, 30, 2)])
def test_each_way_takes_so_many_rows_of_those_that_there_are(n_rows, size, n_classes):
    random = np.random.default_rng(n_rows)
    codes = np.minimum(random.geometric(0.4, n_rows) - 1, n_classes - 1)
    ways = [*orders(n_rows, size, [codes], (42, 3), first=True), *folds(n_rows, size, [codes])]
    assert ways
    for words, taken in ways:
        assert len(taken) == size, words
        assert taken.min() >= 0 and taken.max() < n_rows, words


def taken(n_rows, size, codes, seed, first=False):
    return [rows.tolist() for _, rows in orders(n_rows, size, codes, (seed,), first=first)]


@pytest.mark.parametrize("seed", [0, 42, 1234])
def test_splits_are_those_of_the_libraries(seed):
    n_rows, every = 200, np.arange(200)
    codes = np.random.default_rng(seed).choice(3, n_rows, p=[0.6, 0.3, 0.1])
    plain, _ = train_test_split(every, test_size=0.25, random_state=seed)
    fair, _ = train_test_split(every, test_size=0.25, random_state=seed, stratify=codes)
    sampled = pd.Series(every).sample(frac=0.75, random_state=seed)
    twice, _ = train_test_split(
        train_test_split(every, test_size=0.2, random_state=seed)[0], test_size=0.25, random_state=42
    )
    np.random.seed(seed)  # noqa: NPY002  (as scripts do)
    chosen = every[np.random.rand(n_rows) < 0.75]  # noqa: NPY002
    ways = taken(n_rows, 150, [codes], seed)
    assert plain.tolist() in ways and fair.tolist() in ways and sampled.tolist() in ways
    assert twice.tolist() in taken(n_rows, len(twice), [codes], seed)
    assert chosen.tolist() in taken(n_rows, len(chosen), [codes], seed)
    assert shuffle(every, random_state=seed).tolist() in taken(n_rows, n_rows, [codes], seed)


def test_classes_are_made_equal_as_the_libraries_do():
    codes = np.r_[np.zeros(70, int), np.ones(30, int)]
    frame = pd.DataFrame({"y": codes})
    few = pd.concat([frame[frame.y == 1], frame[frame.y == 0].sample(n=30, random_state=42)]).index.tolist()
    many = pd.concat([frame[frame.y == 0], resample(frame[frame.y == 1], n_samples=70, random_state=42)]).index.tolist()
    assert few in taken(100, 60, [codes], 42)
    assert many in taken(100, 140, [codes], 42)


@pytest.mark.parametrize("kind", [KFold, StratifiedKFold])
def test_folds_are_those_of_the_library(kind):
    codes = np.random.default_rng(5).choice(2, 150)
    parts = [part.tolist() for part, _ in kind(5, shuffle=True, random_state=42).split(np.zeros(150), codes)]
    ways = [rows.tolist() for _, rows in folds(150, len(parts[-1]), [codes])]
    assert parts[-1] in ways and parts[0] in ways


def test_cleanings_keep_what_scripts_keep():
    random = np.random.default_rng(2)
    frame = pd.DataFrame({"id": range(80), "a": random.normal(size=80).round(1), "b": random.integers(0, 3, 80) * 1.0})
    frame["when"] = (
        pd.Series(pd.date_range("2020-01-01", periods=80))
        .sample(frac=1, random_state=1)
        .dt.strftime("%d-%m-%Y")
        .to_numpy()
    )
    frame.loc[random.choice(80, 9), "a"] = np.nan
    frame["y"] = random.integers(0, 2, 80)
    kept = [rows.tolist() for rows in cleanings(frame, "y", ["b"]).values()]
    assert frame.dropna().index.tolist() in kept
    assert frame.drop(columns="id").drop_duplicates().index.tolist() in kept
    assert frame[frame.b != 0].index.tolist() in kept
    by_date = frame.assign(when=pd.to_datetime(frame.when, format="%d-%m-%Y")).sort_values("when").index.tolist()
    assert by_date in kept
