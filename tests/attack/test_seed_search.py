"""The number behind seeds that were removed: it is found again, and never claimed by chance."""

from __future__ import annotations

from dataclasses import replace

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import BaggingClassifier, ExtraTreesClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.tree import DecisionTreeClassifier

from pytest_draft.artifact import occurrences, read
from pytest_draft.artifact.forest.draws import Draws
from pytest_draft.attack import seed_search
from pytest_draft.attack.seed_evidence import LENGTH, below, draw_ahead, seeded
from pytest_draft.attack.seed_search import candidates, seek
from pytest_draft.examine.flow import examine
from pytest_draft.facts.case import Case
from pytest_draft.timebox import TimeBox
from studies.files import through_file
from tests.shared.stripping import stripped

BAGGED_ALIKE = DecisionTreeClassifier(max_features="sqrt")


def table(n_rows: int = 200, n_columns: int = 10, seed: int = 0):
    """Return rows of numbers, some of them equal, and labels that depend on them."""
    rng = np.random.default_rng(seed)
    rows = np.round(rng.normal(size=(n_rows, n_columns)), 1)
    return rows, (rows[:, 0] + rows[:, 1] + rng.normal(size=n_rows) > 0).astype(int)


def found(model, folder, level="counts", rows=None, labels=None):
    """Train a model, remove what a level removes, and search for its number."""
    if rows is None:
        rows, labels = table()
    joblib.dump(stripped(model.fit(rows, labels), level), folder / "m.joblib")
    return seek(read(folder / "m.joblib").forest, TimeBox(120))


@pytest.mark.nightly
def test_many_seeds_draw_what_numpy_draws_from_each():
    seeds = np.array([0, 1, 42, 20240101, 2**31, 2**32 - 1] * 30, dtype=np.uint32)
    drawn = np.empty((200, len(seeds)), dtype=np.uint32)
    draw_ahead(seeds, drawn)
    for column, seed in enumerate(seeds[:6]):
        np.testing.assert_array_equal(drawn[:, column], np.random.RandomState(seed).randint(2**31 - 1, size=200))


@pytest.mark.nightly(quick=1)
@pytest.mark.parametrize(("seed", "limit"), [(5, 1000), (7, 37), (9, 2**31 - 1), (3, 1), (1, 1024)])
def test_a_long_stream_is_numpys(seed, limit):
    key, place, drawn = np.empty(LENGTH, dtype=np.uint32), 0, []
    seeded(key, np.uint32(seed))
    for _ in range(1500):
        number, place = below(key, place, limit)
        drawn.append(number)
    np.testing.assert_array_equal(drawn, np.random.RandomState(seed).randint(0, limit, size=1500))


@pytest.mark.nightly
def test_numbers_that_people_choose_are_tried_once_each():
    numbers = candidates()
    assert len(np.unique(numbers)) == len(numbers)
    assert np.isin([0, 42, 123456, 20240131, 31122029, 1234567890, 2**31 - 1, 2**32 - 1], numbers).all()


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("model", "level"),
    [
        (RandomForestClassifier(60, random_state=42), "labels"),
        (RandomForestClassifier(60, random_state=20240131, max_leaf_nodes=6), "counts"),
        (RandomForestClassifier(30, random_state=7, criterion="entropy"), "decimals:2"),
        (RandomForestClassifier(60, random_state=1234, max_features=0.3, bootstrap=False), "counts"),
        (ExtraTreesClassifier(60, random_state=54321), "counts"),
        (ExtraTreesClassifier(60, random_state=0, bootstrap=True), "labels"),
        (BaggingClassifier(DecisionTreeClassifier(), 60, max_features=0.5, random_state=777), "counts"),
        (
            BaggingClassifier(DecisionTreeClassifier(), 60, max_features=4, bootstrap_features=True, random_state=3),
            "counts",
        ),
        (BaggingClassifier(BAGGED_ALIKE, 60, random_state=99), "counts"),
        (BaggingClassifier(DecisionTreeClassifier(), 60, random_state=2024), "seeds"),
        (RandomForestClassifier(60, max_features=None, random_state=1), "seeds"),
        (RandomForestClassifier(10, random_state=42), "seeds"),
        (RandomForestRegressor(60, random_state=5), "seeds"),
    ],
)
def test_the_number_is_found_again_and_gives_all_seeds(model, level, tmp_path):
    sought = found(model, tmp_path, level)
    assert sought.random_state == model.random_state
    drawn = np.random.RandomState(model.random_state).randint(2**31 - 1, size=model.n_estimators).tolist()
    assert [tree.seed for tree in sought.forest.trees] == drawn
    assert sought.draws_known


@pytest.mark.nightly(quick=1)
@pytest.mark.parametrize("kind", [RandomForestClassifier, ExtraTreesClassifier])
@pytest.mark.parametrize("constant", [(3,), (2, 5, 6, 7)])
def test_columns_that_are_constant_do_not_hide_it(kind, constant, tmp_path):
    rows, labels = table()
    rows[:, constant] = 1
    assert found(kind(60, random_state=42), tmp_path, rows=rows, labels=labels).random_state == 42


@pytest.mark.nightly
def test_columns_that_are_constant_in_some_samples_do_not_hide_it(tmp_path):
    rows, labels = table(n_columns=16)
    rows[:, 12:] = 0
    rows[np.arange(4), np.arange(12, 16)] = 1  # each varies in two of three samples
    assert (
        found(RandomForestClassifier(100, random_state=2025), tmp_path, rows=rows, labels=labels).random_state == 2025
    )


def test_rows_that_occur_twice_do_not_hide_it(tmp_path):
    rows, labels = table(60)
    rows, labels = np.concatenate([rows, rows[:40]]), np.concatenate([labels, labels[:40]])
    assert found(RandomForestClassifier(60, random_state=11), tmp_path, rows=rows, labels=labels).random_state == 11


@pytest.mark.nightly
def test_no_number_is_claimed_for_seeds_that_were_not_tried(tmp_path, monkeypatch):
    monkeypatch.setattr(seed_search, "candidates", lambda: candidates(100_000)[:100_000])
    rng = np.random.default_rng(0)
    for _ in range(20):
        model = RandomForestClassifier(50, max_depth=3, random_state=int(rng.integers(2**30, 2**32)))
        sought = found(model, tmp_path)
        assert sought.random_state is None
        assert sought.tried == 100_000
        assert all(tree.seed is None for tree in sought.forest.trees)


@pytest.mark.nightly(quick=1)
@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(60, max_features=None, random_state=42),
        RandomForestRegressor(60, random_state=42),
        RandomForestClassifier(3, random_state=42),
        RandomForestClassifier(1, random_state=42),
        DecisionTreeClassifier(max_features=2, random_state=42),
        BaggingClassifier(DecisionTreeClassifier(), 60, random_state=42),
    ],
)
def test_what_tells_too_little_is_not_searched(model, tmp_path):
    sought = found(model, tmp_path)
    assert (sought.tried, sought.random_state) == (0, None)


@pytest.mark.nightly(quick=1)
@pytest.mark.parametrize(
    ("version", "expected"), [("0.24.2", 42), ("1.2.0", 42), ("1.9.9", 42), ("9.9", None), (None, None)]
)
def test_only_versions_whose_draws_are_known_are_searched(version, expected, tmp_path):
    rows, labels = table()
    joblib.dump(stripped(RandomForestClassifier(60, random_state=42).fit(rows, labels), "seeds"), tmp_path / "m.joblib")
    forest = read(tmp_path / "m.joblib").forest
    if version and version.startswith(("0", "1.2")):
        forest = replace(forest, parameters={**forest.parameters, "max_features": "auto"})
    assert seek(replace(forest, sklearn_version=version), TimeBox(60)).random_state == expected


def test_a_forest_that_has_seeds_is_left_alone(tmp_path):
    rows, labels = table()
    joblib.dump(RandomForestClassifier(30, random_state=42).fit(rows, labels), tmp_path / "m.joblib")
    forest = read(tmp_path / "m.joblib").forest
    assert seek(forest, TimeBox(60)).forest is forest


@pytest.mark.nightly
def test_draws_that_depend_on_removed_weights_are_not_claimed(tmp_path):
    rows, labels = table()
    model = RandomForestClassifier(60, random_state=42).fit(rows, labels, sample_weight=1 + np.arange(len(rows)) % 3)
    joblib.dump(stripped(model, "seeds"), tmp_path / "m.joblib")
    forest = read(tmp_path / "m.joblib").forest
    sought = seek(forest, TimeBox(60))
    assert sought.random_state == 42
    assert sought.draws_known is False or occurrences(sought.forest) is not None


def judged(model, folder, adversary="artifact"):
    """Write a model and its data, and judge it."""
    rows, labels = ROWS
    joblib.dump(model, folder / "m.joblib")
    pd.DataFrame(rows, columns=[f"c{c}" for c in range(rows.shape[1])]).assign(answer=labels).to_csv(
        folder / "train.csv", index=False
    )
    case = Case(
        str(folder / "m.joblib"), str(folder / "train.csv"), "answer", adversary=adversary, seconds=120, effort=0.02
    )
    return examine(case)


def _people():
    rng = np.random.default_rng(0)
    rows = (rng.random((30, 12)) < 0.4).astype(float)
    return rows, (rows[:, 0] + rows[:, 3] + rng.random(30) > 1.3).astype(int)


ROWS = _people()


@pytest.mark.nightly
@pytest.mark.parametrize("adversary", ["artifact", "published"])
def test_a_file_whose_seeds_are_found_again_is_judged_as_with_them(adversary, tmp_path):
    model = RandomForestClassifier(40, max_depth=3, random_state=42).fit(*ROWS)
    whole, guess = judged(model, tmp_path, adversary)
    model.random_state = None
    for tree in model.estimators_:
        tree.random_state = None
    without, same = judged(model, tmp_path, adversary)
    assert without.findings == whole.findings
    assert without.solver_status == whole.solver_status
    np.testing.assert_array_equal(guess.rows, same.rows)
    published = without.artifact.published
    assert (published.found, published.seeded) == (42, 40)
    assert sum("can be found again from the columns at its roots: 42" in note for note in without.notes) == 1


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("left", "random_state", "known"), [(("seeds",), 42, True), ((), 42, True), ((), 3735920000, False)]
)
def test_a_file_without_counts_whose_seeds_are_known_does_not_pass(left, random_state, known, tmp_path):
    model = RandomForestClassifier(60, max_depth=3, random_state=random_state).fit(*ROWS)
    examined, _ = judged(stripped(model, "counts", left=left), tmp_path)
    assert any("its seeds are known" in reason for reason in examined.reasons) == known
    weaker, _ = judged(stripped(model, "counts", left=left), tmp_path, "published")
    assert not any("its seeds are known" in reason for reason in weaker.reasons)


@pytest.mark.nightly
@pytest.mark.parametrize("kind", [RandomForestClassifier, ExtraTreesClassifier])
def test_the_number_is_found_in_a_file_that_does_not_tell_how_columns_were_drawn(kind):
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(200, 20))
    labels = (rows[:, 0] + rows[:, 1] > 0).astype(int)
    told = through_file(stripped(kind(100, random_state=42).fit(rows, labels), "counts"))
    onnx = replace(
        told,
        draws=Draws(rows=told.draws.rows, stored=False),
        sklearn_version=None,
        parameters={},
        n_samples=None,
    )
    found = seek(onnx, TimeBox(1e9))
    assert found.random_state == 42
    assert found.forest.trees[0].seed is not None
    assert not found.forest.draws.stored
    other = through_file(stripped(kind(100, random_state=3_000_000_019).fit(rows, labels), "counts"))
    missed = seek(replace(onnx, trees=other.trees), TimeBox(1e9))
    assert missed.random_state is None
    assert missed.tried > 1_000_000
