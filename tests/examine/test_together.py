"""What several files of some of the same people tell together, and what the gate says of them."""

from __future__ import annotations

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeClassifier

from pytest_draft.artifact import read
from pytest_draft.artifact.forest.together import Part, together
from pytest_draft.attack.differences import told_by_difference
from pytest_draft.examine.alternatives import SideSearches
from pytest_draft.examine.flow import examine
from pytest_draft.examine.record import FlowRecord
from pytest_draft.examine.together import several
from pytest_draft.facts.case import Beside, Case
from pytest_draft.policy.enough import Enough
from pytest_draft.policy.policy import Policy, default_policy
from pytest_draft.policy.verdict import check_rule, judge
from studies.judging import GRAVITY

INFORMED = "given-all-other-rows"
POLICY = Policy("ours", "by hand", {rule: default_policy().rules[rule] for rule in (INFORMED, "label-told")})


def people(seed, n_rows=300, n_columns=9):
    """Return rows of discrete columns, with a label that two of them make likely, and a target."""
    rng = np.random.default_rng(seed)
    rows = pd.DataFrame(rng.integers(0, 3, (n_rows, n_columns)), columns=[f"c{i}" for i in range(n_columns)])
    rows["label"] = (rows.c0 + rows.c1 + rng.integers(0, 3, n_rows) > 3).astype(int)
    return rows


@pytest.fixture
def written(tmp_path):
    """Return a function that fits each model on its table, writes both, and returns the case of the first of them."""

    def write(*files, change=lambda model: model, **more):
        named = []
        for k, (model, rows) in enumerate(files):
            model.fit(rows.drop(columns="label").rename(columns=str), rows["label"])
            named.append((str(tmp_path / f"model{k}.joblib"), str(tmp_path / f"train{k}.csv")))
            joblib.dump(change(model), named[-1][0])
            rows.to_csv(named[-1][1], index=False)
        beside = tuple(Beside(*one) for one in named[1:])
        return Case(*named[0], **{"target": "label", "seconds": 60.0, "effort": 0.3, "beside": beside, **more})

    return write


def told(case):
    """Return what all files of a case tell to who knows all other rows, and whether that fails the rule on it."""
    record = FlowRecord(case)
    inputs = several(case, None, record).inputs
    with SideSearches(inputs, record) as side_searches:
        side_searches.look()
    assert record.facts.informed is not None, record.facts.not_informed
    check = check_rule(record.examination(), POLICY, INFORMED)
    return record.facts.informed, check.result


def with_files(case, *those, first=0):
    """Return the case with some of its files, in an order."""
    files = (Beside(case.artifact, case.data), *case.beside)
    of = {"artifact": files[first].artifact, "data": files[first].data}
    return Case(**{**vars(case), **of, "beside": tuple(files[k] for k in those)})


KINDS = (
    lambda seed: RandomForestClassifier(4, max_depth=3, random_state=seed),
    lambda seed: RandomForestClassifier(3, max_depth=4, bootstrap=False, max_features=2, random_state=seed),
    lambda seed: ExtraTreesClassifier(3, max_depth=3, random_state=seed),
    lambda seed: DecisionTreeClassifier(max_depth=4, max_features=3, random_state=seed),
)


def some_files(seed):
    """Return three models of different kinds: of the first's people others have all, or some."""
    rng = np.random.default_rng(seed)
    rows = people(seed, int(rng.integers(24, 60)), 5)
    parts = [rows, *(rows.sample(frac=share, random_state=seed) for share in rng.choice([0.6, 0.8, 1.0], 2))]
    return [(KINDS[int(rng.integers(len(KINDS)))](int(rng.integers(1000))), own) for own in parts]


@pytest.mark.nightly(quick=1)
@pytest.mark.parametrize("seed", range(100))
def test_more_files_tell_no_less_and_their_order_and_copies_change_nothing(written, seed):
    case = written(*some_files(seed))
    (one, of_one), (two, of_two), (all_three, of_three) = (told(with_files(case, *k)) for k in ((), (1,), (1, 2)))
    assert one.told_values <= two.told_values <= all_three.told_values
    assert one.told_rows <= two.told_rows <= all_three.told_rows
    assert GRAVITY[of_one] <= GRAVITY[of_two] <= GRAVITY[of_three]
    for again in (with_files(case, 2, 1), with_files(case, 2, 0, first=1), with_files(case, 1, 0, 2, 1)):
        assert told(again) == (all_three, of_three)


def two_versions(folder, seed):
    """Return two versions of a model as one forest, all rows, and what the people who are in one version are."""
    rng = np.random.default_rng(seed)
    n, of_classes = int(rng.integers(100, 300)), bool(seed % 2)
    rows = rng.integers(0, int(rng.integers(2, 6)), (n + 5, 6)).astype(np.float32)
    truth = (
        rows[:, 0] + rng.integers(0, 3, n + 5)
        if of_classes
        else np.round(20 * rows[:, 0] + rng.normal(0, 30, n + 5), 1)
    )
    names = tuple(np.unique(truth)) if of_classes else None
    kind = (
        (RandomForestClassifier, ExtraTreesClassifier) if of_classes else (RandomForestRegressor, ExtraTreesRegressor)
    )
    settings = {"bootstrap": False, "max_depth": int(rng.integers(3, 8)), "max_features": rng.choice([0.5, 1.0])}
    parts = []
    for own in (np.arange(n), np.arange(int(rng.integers(0, 3)), n + int(rng.integers(1, 6)))):
        model = kind[seed // 2 % 2](5, random_state=0, **settings).fit(rows[own], truth[own])
        joblib.dump(model, folder / "model.joblib")
        forest = read(folder / "model.joblib").forest
        classes = None if names is None else np.array([names.index(one) for one in forest.classes])
        parts.append(Part(forest, np.ones((5, len(own)), np.int64), own, np.arange(6), classes))
    changed = np.setxor1d(parts[0].rows, parts[1].rows)
    return (
        together(parts, n + 5, list("abcdef"), names),
        rows,
        changed,
        truth if names is None else np.searchsorted(names, truth),
    )


@pytest.mark.nightly(quick=2)
@pytest.mark.parametrize("seed", range(100))
def test_whatever_is_told_by_difference_is_true(tmp_path, seed):
    forest, rows, changed, truth = two_versions(tmp_path, seed)
    found = told_by_difference(forest, rows)
    is_told = np.flatnonzero(~np.isnan(found))
    assert set(is_told) <= set(changed)
    assert found[is_told] == pytest.approx(truth[is_told], abs=1e-6)
    if seed % 2 == 0:
        assert len(is_told)


def verdicts(case, policy=POLICY):
    """Return what each rule says of a case, and the examination."""
    found, _ = examine(case, enough=Enough(policy))
    checks = judge(found, policy)
    return {check.rule: check for check in checks}, found


SHALLOW = {"n_estimators": 5, "max_depth": 3}


@pytest.mark.nightly(quick=1)
@pytest.mark.parametrize("what", ["ten forests", "five folds"])
def test_files_that_pass_alone_fail_together(written, what):
    rows = people(0, 120 if what == "ten forests" else 300, 8)
    if what == "ten forests":
        files = [(RandomForestClassifier(**SHALLOW, random_state=seed), rows) for seed in range(10)]
    else:
        files = [
            (RandomForestClassifier(10, max_depth=4, random_state=k), rows[np.arange(300) % 5 != k]) for k in range(5)
        ]
    case, only = written(*files), Policy("ours", "by hand", {INFORMED: POLICY.rules[INFORMED]})
    checks, found = verdicts(case, only)
    assert checks[INFORMED].result == "failed"
    assert checks[INFORMED].sentence.startswith("together with model1.joblib, model2.joblib")
    assert found.together.informed.told_values > found.informed.told_values
    alone, _ = verdicts(with_files(case), only)
    assert alone[INFORMED].result == "passed"
