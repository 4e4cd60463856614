"""What a file tells of columns that a policy names, to somebody who knows all others and the label."""

from __future__ import annotations

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier, IsolationForest, RandomForestClassifier, RandomForestRegressor
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from pytest_draft.errors import NotCoveredError
from pytest_draft.evaluate import outsiders
from pytest_draft.evaluate.sensitive import _values
from pytest_draft.examine.flow import examine
from pytest_draft.facts.case import Case
from stripping import stripped


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    monkeypatch.setattr(outsiders, "MOST_TREES", 7)


@pytest.fixture
def found(tmp_path):
    """Return a function that returns what the file of a fitted model tells of columns, without any attack."""

    def of(model, rows, labels, *sensitive, holdout=None, **case):
        joblib.dump(model, tmp_path / "model.joblib")
        if holdout is not None:
            holdout.to_csv(tmp_path / "others.csv", index=False)
            case["holdout"] = str(tmp_path / "others.csv")
        case = {"seconds": 300, "attack": False, **case}
        examined, _ = examine(Case(str(tmp_path / "model.joblib"), sensitive=sensitive, **case), (rows, labels))
        return examined

    return of


def people(n_rows: int = 240, seed: int = 0):
    """Return rows, and labels that none of their columns tells."""
    rng = np.random.default_rng(seed)
    rows = pd.DataFrame(rng.normal(size=(n_rows, 4)), columns=list("abcd"))
    rows["ill"], rows["town"] = rng.integers(0, 2, n_rows), rng.integers(0, 5, n_rows)
    return rows, np.where(rng.random(n_rows) < 0.5, "yes", "no")


def test_a_value_is_certain_where_no_leaf_of_another_one_holds_the_label(found):
    """The label says whether both columns differ, but for five people with ones: their zeros have the same label."""
    cells = [(a, b, a != b) for a in (0, 1) for b in (0, 1) for _ in range(10)] + [(1, 1, True)] * 5
    rows, labels = pd.DataFrame([cell[:2] for cell in cells], columns=["a", "b"]), np.array([one[2] for one in cells])
    model = DecisionTreeClassifier(random_state=0).fit(rows, labels)
    (one,) = found(model, rows, labels, "b").sensitive
    assert (one.name, one.attributes) == ("b", ("b",))
    assert (one.told.rows, one.told.certain) == (45, 20 + 10)  # both cells of a = 0, and ones whose label is False
    assert one.told.told == 45 - 5  # of people with a = 1 and label True, ten of fifteen have b = 0
    assert one.others is None


def test_what_only_members_give_away_is_told_of_them_and_not_of_others(found):
    rows, labels = people(480)
    mine, others = slice(0, 240), slice(240, 480)
    model = RandomForestClassifier(60, random_state=0).fit(rows[mine], labels[mine])
    holdout = rows[others].assign(y=labels[others])
    ill, town = found(model, rows[mine], labels[mine], "ill", "town", holdout=holdout, target="y").sensitive
    for one in (ill, town):
        assert one.told.share > one.told.share_without + 0.15
        assert one.others.rows == 240
        assert one.others.share < one.others.share_without + 0.08
    assert town.told.certain > 50
    assert one.told.told >= one.told.without
    assert one.others.told >= one.others.without


@pytest.mark.nightly(quick=1)
@pytest.mark.parametrize("seed", [0, 1])
def test_large_leaves_add_nothing(seed, found):
    rows, labels = people(seed=seed)
    model = RandomForestClassifier(10, max_depth=2, min_samples_leaf=30, random_state=0).fit(rows, labels)
    for one in found(model, rows, labels, "ill", "town", "a").sensitive:
        assert one.told.share <= one.told.share_without + 0.06
        assert one.told.certain in (0, None)


@pytest.mark.nightly(quick=1)
def test_numbers_count_where_they_are_near_and_no_seeds_are_needed(found):
    rows, labels = people()
    targets = np.random.default_rng(1).normal(size=240).round(3)
    model = RandomForestRegressor(40, random_state=0).fit(rows, targets)
    (one,) = found(model, rows, targets, "a").sensitive
    assert one.told.share > one.told.share_without + 0.1
    (one,) = found(
        stripped(RandomForestClassifier(40, random_state=0).fit(rows, labels), "counts"), rows, labels, "ill"
    ).sensitive
    assert one.told.share > one.told.share_without + 0.05
    assert one.told.certain is None


@pytest.mark.nightly
def test_a_raw_column_is_one_whatever_transformers_make_of_it(found):
    rows, labels = people()
    rows["town"] = rows.town.map(dict(enumerate(["Bern", "Rome", "Oslo", "Kiel", "Lyon"])))
    rows.loc[::7, "a"] = np.nan
    columns = make_column_transformer(
        (OneHotEncoder(), ["town"]),
        (make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), ["a", "b"]),
        remainder="passthrough",
    )
    model = make_pipeline(columns, RandomForestClassifier(40, random_state=0)).fit(rows, labels)
    examined = found(model, rows, labels, "town", "a", attack=True, effort=0.01)
    town, number = examined.sensitive
    assert len(town.attributes) == 1
    assert len(number.attributes) == 2
    assert town.told.share > town.told.share_without + 0.2
    assert number.told.share > number.told.share_without + 0.05
    assert {one.name for one in examined.informed.columns} > {*town.attributes, *number.attributes}
    assert examined.informed.column(town.attributes).name == town.attributes[0]


@pytest.mark.nightly
def test_the_label_is_told_as_it_is_without_a_name(found):
    rows, labels = people(90)
    model = RandomForestClassifier(5, random_state=0).fit(rows, labels)
    frame = rows.assign(diagnosis=labels)
    examined = found(model, rows, labels, "y")
    (one,) = examined.sensitive
    assert (one.attributes, one.told) == ((), examined.label_told.told)
    assert found(model, rows, labels).sensitive == ()
    path = "train.csv"
    frame.to_csv(path_of := f"{examined.case.artifact}.{path}", index=False)
    by_name, _ = examine(
        Case(examined.case.artifact, path_of, attack=False, seconds=300, sensitive=("diagnosis", "ill"))
    )
    assert [one.attributes for one in by_name.sensitive] == [(), ("ill",)]


@pytest.mark.parametrize("wrong", ["heigth", "income"])
def test_a_column_that_the_model_does_not_see_is_refused_in_one_line(wrong, found):
    rows, labels = people(60)
    rows = rows.rename(columns={"a": "height"})
    model = RandomForestClassifier(3, random_state=0).fit(rows, labels)
    examined = found(model, rows.assign(income=1.0), labels, wrong)
    assert (examined.solver_status, examined.sensitive) == ("refused", ())
    (reason,) = examined.reasons
    assert reason.startswith(
        f"the policy's sensitive column {wrong!r} is none that the model sees, nor its label: write "
    )
    assert reason.endswith("leave it out" + "; did you mean 'height'?" * (wrong == "heigth"))


def test_a_column_that_only_repeats_it_is_not_known_either(found):
    rows, labels = people(90)
    rows["again"] = 3 * rows.town
    model = RandomForestClassifier(5, random_state=0).fit(rows, labels)
    (one,) = found(model, rows, labels, "again").sensitive
    assert one.told.share_without < 0.4


@pytest.mark.nightly(quick=1)
def test_names_and_the_order_of_columns_change_no_figure(found):
    rows, labels = people(120)
    one = found(RandomForestClassifier(9, max_features=None, random_state=0).fit(rows, labels), rows, labels, "town")
    renamed = rows.rename(columns=lambda name: f"column {name}")
    model = RandomForestClassifier(9, max_features=None, random_state=0).fit(renamed, labels)
    (other,) = found(model, renamed, labels, "column town").sensitive
    assert other.told == one.sensitive[0].told


def test_other_kinds_of_models_are_measured_or_say_why_not(found):
    rows, labels = people(90)
    boosted = GradientBoostingClassifier(n_estimators=20, max_depth=6, random_state=0).fit(rows, labels)
    (one,) = found(boosted, rows, labels, "ill").sensitive
    assert one.told.told >= one.told.without
    unsupervised = IsolationForest(n_estimators=5, random_state=0).fit(rows)
    (one,) = found(unsupervised, rows, labels, "ill").sensitive
    assert (one.told, one.not_told) == (None, "no labels are given to compare with")


def test_too_many_values_that_are_no_numbers_are_not_known():
    rows = np.arange(201, dtype=np.float32)[:, None]
    with pytest.raises(NotCoveredError, match="more than 200 different values that are no numbers"):
        _values(rows, np.zeros(1))
    values, tried, numbers = _values(np.vstack([rows, [[np.nan]]]), np.full(1, 2.0))
    assert len(tried) == len(numbers) == 102
    assert np.abs(np.diff(numbers[:101])).max() <= 2.0
    assert np.isnan(tried[-1])
    assert values[-1] == numbers[-1]
    values, tried, numbers = _values(np.array([[0, 1], [1, 0], [0, 1], [0, 0]], np.float32), np.zeros(2))
    assert values.tolist() == [1, 2, 1, 0]
    assert tried[numbers.astype(int)].tolist() == [[0, 0], [0, 1], [1, 0]]


def test_what_is_not_known_in_time_is_said(found, monkeypatch):
    monkeypatch.setattr("pytest_draft.examine.evaluation.SENSITIVE_SHARE", 1e-9)
    rows, labels = people(60)
    (one,) = found(RandomForestClassifier(3, random_state=0).fit(rows, labels), rows, labels, "ill").sensitive
    assert one.told is None
    assert one.not_told.startswith("the time ran out: --draft-budget ")
