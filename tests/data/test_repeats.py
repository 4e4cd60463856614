"""Columns that repeat others are left out, forests follow, and chance makes no repeat."""

from __future__ import annotations

import joblib
import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from pytest_draft.artifact import read
from pytest_draft.attack.descent import leaf_positions
from pytest_draft.data import Repeats
from pytest_draft.data.repeats import _Coded, _nested
from pytest_draft.domain import infer
from pytest_draft.domain.inference import _is_chance, _share_no_row, _unexplained
from pytest_draft.errors import OutOfTimeError
from pytest_draft.examine.flow import examine
from pytest_draft.facts.case import Case
from pytest_draft.policy.policy import default_policy
from pytest_draft.policy.verdict import judge, verdict_of
from pytest_draft.timebox import TimeBox
from studies.judging import GRAVITY


def repeats_of(names, rows, named=()):
    """Return what repeats others, beside a check of the domain that is left."""
    repeats, left = Repeats.of(infer(names, rows.astype(np.float64)), rows, named)
    assert left == infer([names[column] for column in repeats.kept], rows[:, repeats.kept].astype(np.float64))
    return repeats


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


@pytest.mark.nightly(quick=3)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("what", WRITTEN_AGAIN)
@pytest.mark.parametrize("first", [False, True], ids=["last", "first"])
def test_what_is_written_again_is_left_out_and_a_forest_parts_rows_as_before(tmp_path, what, seed, first):
    rows, labels = table(seed)
    n_more, again = WRITTEN_AGAIN[what]
    more = np.asarray(again(rows), dtype=np.float32).reshape(len(rows), -1)
    wide = np.column_stack([more, rows] if first else [rows, more]).astype(np.float32)
    repeats = repeats_of([str(i) for i in range(wide.shape[1])], wide)
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
    repeats = repeats_of(["a", "b"], wide)
    trees = []
    for path, given in zip(paths, (values, wide[:, 1:]), strict=True):
        joblib.dump(RandomForestClassifier(5, random_state=0, bootstrap=False).fit(given, labels), path)
        trees.append(read(path).forest.trees)
    middles = {a / 2 + b / 2 for a in values[:, 0].astype(float) for b in values[:, 0].astype(float)}
    for plain, scaled in zip(*trees, strict=True):
        found = [repeats.repeats[0].threshold(t)[0] for t in scaled.threshold[scaled.left >= 0]]
        assert np.allclose(found, plain.threshold[plain.left >= 0], rtol=0, atol=1e-5)
        assert set(found) <= middles


@pytest.mark.nightly(quick=1)
@pytest.mark.parametrize("n_rows", [10, 20, 40])
def test_chance_makes_no_repeats(n_rows):
    found = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        share = rng.choice([0.05, 0.2, 0.5], size=30)
        rows = np.column_stack([rng.random((n_rows, 30)) < share, rng.integers(0, 5, (n_rows, 5))])
        found += len(repeats_of([str(i) for i in range(35)], rows.astype(np.float32)).repeats)
    assert found <= 2


def test_named_columns_constants_and_missing_values_stay():
    rows, _ = table(0)
    gaps = np.where(np.arange(60) < 3, np.nan, rows[:, 8])
    wide = np.column_stack([rows, rows[:, 0], np.ones((60, 2)), gaps, gaps]).astype(np.float32)
    names = [*map(str, range(9)), "again", "one", "one more", "gaps", "gaps again"]
    assert [(r.column, r.of) for r in repeats_of(names, wide).repeats] == [(9, 0), (13, 12)]
    assert [(r.column, r.of) for r in repeats_of(names, wide, {"again"}).repeats] == [(0, 9), (13, 12)]
    assert [(r.column, r.of) for r in repeats_of(names, wide, {"0", "again"}).repeats] == [(13, 12)]
    repeats = repeats_of(names, wide)
    assert np.array_equal(repeats.written(repeats.rows(wide)), wide, equal_nan=True)


def mixed(seed):
    """Columns of all kinds, some of which follow others, with ties, constants and missing values."""
    rng = np.random.default_rng(seed)
    n_rows = int(rng.choice([3, 12, 40, 150]))
    columns = [rng.normal(size=n_rows), np.ones(n_rows)]
    for kind in rng.integers(0, 7, 30):
        of = columns[rng.integers(len(columns))]
        columns.append(
            [
                rng.normal(size=n_rows).round(1),
                rng.random(n_rows) < rng.choice([0.5, 0.1, 0.02]),
                -2 * of + 1,
                np.digitize(of, np.sort(rng.choice(of, 2))),
                np.where(rng.random(n_rows) < 0.1, np.nan, of),
                of > np.nanmedian(of),
                rng.integers(0, 4, n_rows),
            ][kind]
        )
    return np.column_stack(columns)[:, rng.permutation(len(columns))].astype(np.float32)


def nested_by_all_pairs(table, candidates, grouped, kept):
    """Return what `_nested` does, by a look at each pair of columns."""
    n_values = [len(counts) for counts in table.counts]
    found, gone = [], set()
    for column in sorted(candidates, key=lambda one: -n_values[one]):
        unlikely = table.surprise(column) <= np.log(1e-3 / len(kept) ** 2)
        if n_values[column] < 2 or column in grouped or not table.complete[column] or not unlikely:
            continue
        for of in sorted(kept, key=lambda one: -n_values[one]):
            opposite = of in grouped and n_values[of] == n_values[column] == 2
            if (
                of in gone
                or not table.complete[of]
                or not (opposite or (n_values[of] > n_values[column] and of not in grouped))
            ):
                continue
            pairs = sorted(set(zip(table.codes[of].tolist(), table.codes[column].tolist(), strict=True)))
            images = [image for _, image in pairs]
            if len({source for source, _ in pairs}) == len(pairs) and images in (sorted(images), sorted(images)[::-1]):
                found.append((column, of))
                gone.add(column)
                break
    return found


@pytest.mark.parametrize("seed", range(20))
def test_nested_columns_are_those_that_all_pairs_show(seed):
    rows = mixed(seed)
    table, everything = _Coded.of(rows), list(range(rows.shape[1]))
    grouped = set(everything[:: 1 + seed % 4]) if seed % 2 else set()
    candidates = everything[seed % 3 :]
    assert _nested(table, candidates, grouped, everything, None) == nested_by_all_pairs(
        table, candidates, grouped, everything
    )


@pytest.mark.parametrize("seed", range(20))
def test_exclusive_columns_lose_those_that_chance_explains_one_after_the_other(seed):
    rng = np.random.default_rng(seed)
    n_rows = int(rng.choice([20, 300, 5_000]))
    number = np.sort(rng.integers(1, max(2, n_rows // 30), 40))[::-1].astype(float)
    number = number[: np.searchsorted(np.cumsum(number), n_rows)]
    left = len(number)
    while left > 1 and _is_chance(number[:left], n_rows):
        left -= 1
    assert _unexplained(number, n_rows) == left


def test_columns_that_share_no_row_are_found_in_blocks(monkeypatch):
    ones = (np.random.default_rng(0).random((50, 20)) < 0.1).astype(np.float32)
    whole = _share_no_row(ones, None)
    assert np.array_equal(whole, ones.T @ ones == 0)
    monkeypatch.setattr("pytest_draft.domain.inference._BLOCK", 60)
    assert np.array_equal(_share_no_row(ones, None), whole)


@pytest.mark.parametrize("kind", [lambda rows: rows > 0, lambda rows: rows])
def test_a_wide_table_is_not_looked_at_after_the_time(kind):
    rows = np.asarray(kind(np.random.default_rng(0).normal(size=(60, 20)).round(1)), dtype=np.float32)
    box = TimeBox(1e-9)
    names = [str(index) for index in range(20)]
    with pytest.raises(OutOfTimeError):
        Repeats.of(infer(names, rows.astype(float), box), rows, (), box)


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
    assert after.findings.whole.columns == 8
    assert rebuilt.rows.shape == (40, 32)
    assert np.array_equal(rebuilt.rows, np.tile(rebuilt.rows[:, :8], 4))
    assert any("columns are told by others" in line for line in after.domain.granted)
