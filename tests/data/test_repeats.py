"""Columns that repeat others are left out, forests follow, and chance makes no repeat."""

from __future__ import annotations

import joblib
import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from pytest_draft.artifact import read
from pytest_draft.attack.descent import leaf_positions
from pytest_draft.data import Repeats
from pytest_draft.examine.flow import examine
from pytest_draft.facts.case import Case
from pytest_draft.policy.policy import default_policy
from pytest_draft.policy.verdict import judge, verdict_of
from studies.judging import GRAVITY


def table(seed, n_rows=60):
    """Binary columns, a group of three, an ordinal one and a numeric one."""
    rng = np.random.default_rng(seed)
    level = np.eye(3)[rng.integers(0, 3, n_rows)]
    rows = [rng.integers(0, 2, (n_rows, 4)), level, rng.integers(0, 9, (n_rows, 1)), rng.normal(size=(n_rows, 1))]
    return np.column_stack(rows).astype(np.float32), rng.integers(0, 2, n_rows)


WRITTEN_AGAIN = {
    "a copy of a binary column": (1, lambda rows: rows[:, 0]),
    "the opposite of a level": (1, lambda rows: 1 - rows[:, 5]),
    "a copy of a level": (1, lambda rows: rows[:, 5]),
    "an ordinal column in other codes": (1, lambda rows: rows[:, 7] ** 2 + 3),
    "an ordinal column in opposite order": (1, lambda rows: 8 - rows[:, 7]),
    "a bin of an ordinal column": (1, lambda rows: rows[:, 7] > 3),
    "bins of an ordinal column": (1, lambda rows: rows[:, 7] // 3),
    "a numeric column on another scale": (1, lambda rows: 32 - 1.8 * rows[:, 8]),
    "a numeric column in three bins": (1, lambda rows: np.digitize(rows[:, 8], [-0.5, 0.5])),
    "all columns twice": (9, lambda rows: rows),
    "all columns six times": (45, lambda rows: np.tile(rows, 5)),
}


@pytest.mark.nightly(quick=22)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("what", WRITTEN_AGAIN)
@pytest.mark.parametrize("first", [False, True], ids=["last", "first"])
def test_what_is_written_again_is_left_out_and_a_forest_parts_rows_as_before(tmp_path, what, seed, first):
    rows, labels = table(seed)
    n_more, again = WRITTEN_AGAIN[what]
    more = np.asarray(again(rows), dtype=np.float32).reshape(len(rows), -1)
    wide = np.column_stack([more, rows] if first else [rows, more]).astype(np.float32)
    repeats = Repeats.of([str(i) for i in range(wide.shape[1])], wide)
    assert len(repeats.repeats) == n_more
    path = tmp_path / "model.joblib"
    joblib.dump(RandomForestClassifier(10, random_state=seed, max_features=None).fit(wide, labels), path)
    forest = read(path).forest
    narrow = repeats.model(forest)
    assert narrow.n_features == 9
    for before, after in zip(forest.trees, narrow.trees, strict=True):
        assert np.array_equal(leaf_positions(before, wide.T), leaf_positions(after, repeats.rows(wide).T))
    assert np.allclose(repeats.written(repeats.rows(wide)), wide, atol=1e-6)
    assert "values not shown" in repr(repeats)


def test_midpoints_stay_midpoints_on_another_scale(tmp_path):
    rows, labels = table(0)
    paths = [tmp_path / "narrow.joblib", tmp_path / "wide.joblib"]
    values = rows[:, 8:]
    wide = np.column_stack([values, np.float32(1.8) * values + np.float32(32)])
    repeats = Repeats.of(["a", "b"], wide)
    trees = []
    for path, given in zip(paths, (values, wide[:, 1:]), strict=True):
        joblib.dump(RandomForestClassifier(5, random_state=0, bootstrap=False).fit(given, labels), path)
        trees.append(read(path).forest.trees)
    middles = {a / 2 + b / 2 for a in values[:, 0].astype(float) for b in values[:, 0].astype(float)}
    for plain, scaled in zip(*trees, strict=True):
        found = [repeats.repeats[0].threshold(t)[0] for t in scaled.threshold[scaled.left >= 0]]
        assert np.allclose(found, plain.threshold[plain.left >= 0], rtol=0, atol=1e-5)
        assert set(found) <= middles


@pytest.mark.parametrize("n_rows", [10, 20, 40])
def test_chance_makes_no_repeats(n_rows):
    found = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        share = rng.choice([0.05, 0.2, 0.5], size=30)
        rows = np.column_stack([rng.random((n_rows, 30)) < share, rng.integers(0, 5, (n_rows, 5))])
        found += len(Repeats.of([str(i) for i in range(35)], rows.astype(np.float32)).repeats)
    assert found <= 2


def test_named_columns_constants_and_missing_values_stay():
    rows, _ = table(0)
    gaps = np.where(np.arange(60) < 3, np.nan, rows[:, 8])
    wide = np.column_stack([rows, rows[:, 0], np.ones((60, 2)), gaps, gaps]).astype(np.float32)
    names = [*map(str, range(9)), "again", "one", "one more", "gaps", "gaps again"]
    assert [(r.column, r.of) for r in Repeats.of(names, wide).repeats] == [(9, 0), (13, 12)]
    assert [(r.column, r.of) for r in Repeats.of(names, wide, {"again"}).repeats] == [(0, 9), (13, 12)]
    assert [(r.column, r.of) for r in Repeats.of(names, wide, {"0", "again"}).repeats] == [(13, 12)]
    repeats = Repeats.of(names, wide)
    assert np.array_equal(repeats.written(repeats.rows(wide)), wide, equal_nan=True)


def judged(path, rows, labels):
    found, rebuilt = examine(Case(artifact=str(path), seconds=20, effort=1.0), (rows, labels))
    checks = judge(found, default_policy())
    return verdict_of((check.result, check.counts) for check in checks), found, rebuilt


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("bootstrap", [False, True])
def test_a_table_of_copies_is_judged_no_more_mildly(tmp_path, seed, bootstrap):
    rng = np.random.default_rng(seed)
    rows = (rng.random((40, 8)) < 0.4).astype(np.float32)
    labels = rng.integers(0, 2, 40)
    wide = np.tile(rows, 4)
    results = []
    for given in (rows, wide):
        path = tmp_path / f"{given.shape[1]}.joblib"
        # All columns are looked at, so a tree parts rows as before; which of the copies it tests is drawn.
        model = RandomForestClassifier(
            20, random_state=seed, max_features=None, bootstrap=bootstrap, min_samples_leaf=2
        )
        joblib.dump(model.fit(given, labels), path)
        results.append(judged(path, given, labels))
    (once, before, _), (often, after, rebuilt) = results
    assert GRAVITY[often] >= GRAVITY[once]
    assert after.findings.original_error.upper <= before.findings.original_error.upper + 0.02
    assert after.findings.n_columns == 8
    assert rebuilt.rows.shape == (40, 32)
    assert np.array_equal(rebuilt.rows, np.tile(rebuilt.rows[:, :8], 4))
    assert any("columns are told by others" in line for line in after.domain.granted)
