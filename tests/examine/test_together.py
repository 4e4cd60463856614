"""What several files of some of the same people tell together, and what the gate says of them."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
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
from pytest_draft.hardening.model import hardened
from pytest_draft.policy.enough import Enough
from pytest_draft.policy.policy import Policy, default_policy
from pytest_draft.policy.verdict import check_rule, judge
from pytest_draft.timebox import TimeBox
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
        return Case(*named[0], **{"target": "label", "seconds": 600.0, "effort": 0.1, "beside": beside, **more})

    return write


def told(case):
    """Return what all files of a case tell to who knows all other rows, and whether that fails the rule on it."""
    record = FlowRecord(case)
    inputs = several(case, None, record).inputs
    side_searches = SideSearches(inputs, record)
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
    found = told_by_difference(forest, rows, TimeBox(60.0))
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


FINDINGS = {
    "ten forests": lambda: [
        (RandomForestClassifier(5, max_depth=3, random_state=k), rows) for rows in [people(0)] for k in range(10)
    ],
    "five folds": lambda: [
        (RandomForestClassifier(8, max_depth=3, random_state=k), rows[np.arange(300) % 5 != k])
        for rows in [people(0)]
        for k in range(5)
    ],
}


@pytest.mark.nightly(quick=1)
@pytest.mark.parametrize("what", FINDINGS)
def test_files_tell_together_what_none_tells_alone(written, what):
    case = written(*FINDINGS[what]())
    alone, _ = told(with_files(case))
    assert alone.told_rows < 0.05
    found, fails = told(case)
    assert found.told_values > 1.4 * alone.told_values
    assert fails == "failed" or what == "five folds"


@pytest.mark.nightly
def test_files_that_pass_alone_fail_together(written):
    case = written(*FINDINGS["ten forests"]())
    checks, found = verdicts(case)
    assert checks[INFORMED].result == "failed"
    assert checks[INFORMED].sentence.startswith("together with model1.joblib, model2.joblib")
    assert found.together.informed.told_values > 2 * found.informed.told_values
    assert verdicts(with_files(case))[0][INFORMED].result == "passed"


ADULT = Path("/work/shared/datasets")


@pytest.mark.nightly
def test_ten_forests_of_adult_fail_together_only(written):
    found = sorted(ADULT.rglob("*dult*.csv")) if ADULT.exists() else []
    if not found:
        pytest.skip("the Adult table is not there")
    table = pd.read_csv(found[0])
    target = next(name for name in table if "income" in name.lower() or name == table.columns[-1])
    numbers = table.drop(columns=target).select_dtypes("number").iloc[:, :10]
    rows = numbers.assign(label=pd.factorize(table[target])[0]).sample(300, random_state=0).reset_index(drop=True)
    case = written(*[(RandomForestClassifier(5, max_depth=3, random_state=k), rows) for k in range(10)])
    (alone, _), (together, _) = told(with_files(case)), told(case)
    assert together.told_values > 1.4 * alone.told_values


@pytest.mark.nightly(quick=1)
@pytest.mark.parametrize("added", [5, 1])
def test_targets_of_few_people_who_were_added_are_told_exactly(written, added):
    rows = people(1, 120, 5)
    rows["label"] = np.round(10 * rows.c0 + np.random.default_rng(1).normal(0, 30, 120), 1)
    settings = {"n_estimators": 5, "max_depth": 5, "bootstrap": False, "max_features": 2, "random_state": 0}
    new, old = (RandomForestRegressor(**settings) for _ in range(2))
    case = written((new, rows), (old, rows.iloc[:-added]), attack=False)
    found, _ = examine(case)
    (whose, apart) = next(iter(found.together.apart.items()))
    assert whose == "not in model1.joblib"
    assert apart.label_told.of_rows == added
    assert apart.label_told.exact.told > 0
    assert apart.label_told.guess == "the difference of the files"
    assert apart.label_told.exact.gained > 0
    if added == 5:
        check = judge(found, POLICY)[1]
        assert (check.rule, check.result) == ("label-told", "failed")
        assert "of the people not in model1.joblib" in check.sentence
    who = "1 person is" if added == 1 else f"{added} people are"
    assert any(note.startswith(f"{who} not in model1.joblib") for note in found.notes)


def small(seed=0):
    return RandomForestClassifier(2, max_depth=1, bootstrap=False, random_state=seed)


def boosted():
    return GradientBoostingClassifier(n_estimators=2, max_depth=1, random_state=0)


def xgboosted():
    return pytest.importorskip("xgboost").XGBClassifier(n_estimators=2, max_depth=1, random_state=0)


def changed(number, write):
    """Return what changes a companion's model or table once all are written."""

    def change(case):
        write(Path((case.beside[0].artifact, case.beside[0].data)[number]))

    return change


RULE_LISTS = Path(__file__).parents[1] / "artifact" / "files" / "rule_lists"

NEVER = {
    "no model file": (small, small, {}, changed(0, lambda path: path.write_text("no model")), "left out"),
    "a missing file": (small, small, {}, changed(0, Path.unlink), "left out|no such file"),
    "a missing table": (small, small, {}, changed(1, Path.unlink), "no such file|cannot be read"),
    "another table": (
        small,
        small,
        {},
        changed(1, lambda path: people(9, 31, 5).to_csv(path, index=False)),
        "left out|rows",
    ),
    "a stripped file": (
        small,
        small,
        {},
        changed(0, lambda path: joblib.dump(hardened(joblib.load(path))[0], path)),
        "left out",
    ),
    "a rule list": (
        small,
        small,
        {},
        changed(0, lambda path: shutil.copy(next(RULE_LISTS.glob("*.joblib")), path)),
        "columns of the rule list are missing",
    ),
    "who only asks": (small, small, {"adversary": "served"}, None, "how many rows"),
    "draws that nobody knows": (
        lambda: RandomForestClassifier(2, max_depth=1, random_state=0),
        lambda: RandomForestClassifier(2, max_depth=1, random_state=1),
        {"adversary": "published"},
        None,
        "how many rows",
    ),
}


@pytest.mark.nightly(quick=1)
@pytest.mark.parametrize("what", NEVER)
def test_what_cannot_all_be_put_together_never_passes_and_says_why_in_one_line(written, what):
    first, second, more, change, why = NEVER[what]
    rows = people(3, 60, 5)
    case = written((first(), rows), (second(), rows.iloc[:-1]), **more)
    if change is not None:
        change(case)
    checks, found = verdicts(case, default_policy())
    by_attack = ("reconstruction-error", "perfect-rows", "label-told", INFORMED)
    assert not {checks[rule].result for rule in by_attack} & {"passed"}
    assert re.search(why, "; ".join(found.together.reasons))
    assert "internal error" not in " ".join((*found.together.reasons, *found.reasons))
    assert not any("\n" in reason for reason in found.together.reasons)


@pytest.mark.nightly
@pytest.mark.parametrize("model", [boosted, xgboosted])
def test_boosted_trees_pass_together_only_what_nobody_crosses_who_knows_all_other_rows(written, model):
    rows = people(3, 60, 5)
    checks, found = verdicts(written((model(), rows), (small(), rows.iloc[:-1])), default_policy())
    assert found.together.solver_status == "no solution"
    assert len(found.together.files) == 2
    assert checks[INFORMED].result == "passed"
    assert checks["membership"].result == "inconclusive"
    grown = [(model().set_params(n_estimators=20, max_depth=4, random_state=k), rows) for k in range(3)]
    assert verdicts(written(*grown))[0][INFORMED].result == "failed"


@pytest.mark.nightly
def test_other_people_are_no_reason_to_pass(written):
    case = written((small(), people(3, 60, 5)), (small(1), people(4, 60, 5).rename(columns={"c0": "age"})))
    checks, _ = verdicts(case)
    assert checks[INFORMED].result != "passed"
    assert "\n" not in checks[INFORMED].sentence


@pytest.mark.nightly
def test_a_copy_of_the_file_changes_no_verdict(written):
    case = written((small(), people(3, 60, 5)))
    twice = Case(**{**vars(case), "beside": (Beside(case.artifact, case.data),)})
    alone, again = (verdicts(one)[0] for one in (case, twice))
    assert [check.result for check in alone.values()] == [check.result for check in again.values()]


@pytest.mark.parametrize("odd_one", ["added", "removed"])
def test_many_versions_hide_nobody(written, odd_one):
    """Each of fourteen versions has two ordinary people more; one has somebody whose label only the file tells."""
    values = np.random.default_rng(7).integers(0, 8, (200, 6))
    rows = pd.DataFrame(values, columns=[f"c{i}" for i in range(6)])
    rows["label"] = (rows.c0 + rows.c1 > 7).astype(int)
    odd = rows[(rows.c0 < 3) & (rows.c1 < 3)].iloc[:1].assign(label=1)
    tables = [rows.iloc[: 150 + 2 * k] for k in range(14)]
    with_odd = pd.concat([tables[-1], odd])
    first = [with_odd, tables[-1]]
    tables = [*(first if odd_one == "added" else first[::-1]), *tables[:-1]]
    files = [(DecisionTreeClassifier(max_depth=3, random_state=0), table) for table in tables]
    for few in (2, len(files)):
        found, _ = examine(written(*files[:few], attack=False))
        assert judge(found, POLICY)[1].result == "failed"
    sizes = [one.data.rows for one in found.together.apart.values()]
    assert sum(sizes) == found.together.data.rows - 150
    assert sizes.count(1) == 1
