"""What somebody gets who knows all other rows: figures by hand, and of forests what must not change them."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeClassifier

from pytest_draft.ambiguity.counted import counted_by
from pytest_draft.artifact.forest.occurrences import occurrences
from pytest_draft.attack.groups import KnownRows
from pytest_draft.attack.informed.boxes import Held
from pytest_draft.attack.informed.guesses import Guesser
from pytest_draft.attack.numeric.extremes import replay_and_decode
from pytest_draft.data import TrainingData
from pytest_draft.domain import Attribute, Domain
from pytest_draft.errors import OutOfTimeError
from pytest_draft.evaluate import informed
from pytest_draft.evaluate.informed import Half, KnownOthers, informed_figures, known_others, with_what_passes_need
from pytest_draft.examine.alternatives import SideSearches
from pytest_draft.examine.inputs import Inputs, complete, open_files
from pytest_draft.examine.record import FlowRecord
from pytest_draft.facts.case import Case
from pytest_draft.facts.examination import EVERY_RULE
from pytest_draft.facts.informed import Informed, InformedColumn, InformedSlice
from pytest_draft.facts.rules import Literal
from pytest_draft.facts.slices import Slice
from pytest_draft.matching import encoded_weights
from pytest_draft.timebox import TimeBox


def table(seed: int = 0, n_rows: int = 120) -> tuple[pd.DataFrame, np.ndarray]:
    """Return rows with columns of every kind, some values missing, and targets."""
    rng = np.random.default_rng(seed)
    region = rng.integers(0, 3, n_rows)
    made = pd.DataFrame(
        {
            "size": np.round(rng.normal(50, 15, n_rows), 1),
            "flag": rng.integers(0, 2, n_rows),
            "rank": rng.integers(0, 5, n_rows),
            **{f"region_{name}": (region == code).astype(int) for code, name in enumerate("ABC")},
        }
    )
    made["weight"] = np.round(0.8 * made["size"] + rng.normal(0, 4, n_rows), 1)
    return made, (made["size"] + 10 * made["flag"] + rng.normal(0, 10, n_rows)).to_numpy()


def read(folder, model, features: pd.DataFrame, target, missing: bool = False) -> Inputs:
    """Fit a model, save it, and read it as the gate does."""
    features = features.copy()
    if missing:
        features.loc[np.random.default_rng(1).random(len(features)) < 0.2, "size"] = np.nan
    joblib.dump(model.fit(features, target), folder / "model.joblib")
    features.assign(target=target).to_csv(folder / "train.csv", index=False)
    case = Case(str(folder / "model.joblib"), str(folder / "train.csv"), "target")
    record = FlowRecord(case)
    return complete(open_files(case, None, record), case, record)


def guessed(inputs: Inputs, seed: int = 0, **changes) -> KnownOthers:
    forest, data = inputs.forest, inputs.data
    extremes = None
    if forest.splitter != "best":
        extremes = replay_and_decode(forest, inputs.domain, TimeBox(60))
    everyone = KnownRows(data.rows, data.labels, occurrences(forest))
    found = known_others(
        forest, inputs.domain, everyone, np.arange(data.n_rows), seed, TimeBox(60), extremes=extremes, **changes
    )
    assert found is not None
    return found


def figures(inputs: Inputs, seed: int = 0, slices=()) -> Informed:
    found = informed_figures(guessed(inputs, seed), inputs.domain, inputs.data, (), slices, TimeBox(60))
    assert found is not None
    return found


def classes(target: np.ndarray) -> np.ndarray:
    return (target > np.median(target)).astype(int)


MODELS = {
    "forest": (RandomForestClassifier(20, random_state=0), True),
    "missing values": (RandomForestClassifier(20, random_state=0), True),
    "small forest": (RandomForestClassifier(5, max_depth=2, random_state=0), True),
    "regression": (RandomForestRegressor(10, max_depth=4, random_state=0), False),
    "extra trees": (ExtraTreesClassifier(10, max_depth=5, random_state=0), True),
    "tree": (DecisionTreeClassifier(random_state=0), True),
}


def of(folder, name: str, seed: int = 0) -> Inputs:
    features, target = table(seed)
    model, of_classes = MODELS[name]
    target = classes(target) if of_classes else np.round(target)
    return read(folder, model, features, target, missing=name == "missing values")


@pytest.mark.nightly
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("seed", range(2))
def test_what_is_told_is_guessed_right_and_nothing_is_told_without_the_file(tmp_path, name, seed):
    inputs = of(tmp_path, name, seed)
    found, rows = guessed(inputs), inputs.data.rows
    assert found.determined.any()
    assert (found.rows == np.arange(len(rows))).all()
    for a, attribute in enumerate(inputs.domain.attributes):
        columns = list(attribute.columns)
        right = np.isclose(found.guess[:, columns], rows[:, columns], rtol=1e-5, equal_nan=True).all(axis=1)
        assert right[found.determined[:, a]].all(), attribute.name
    told = figures(inputs)
    assert told.near_values >= told.told_values
    assert told.near_rows >= told.told_rows
    assert told.error <= told.error_without_file


@pytest.mark.nightly
@pytest.mark.parametrize("name", MODELS)
def test_nobody_stands_in_a_guess_that_is_matched(tmp_path, name):
    inputs = of(tmp_path, name)
    found, rows = guessed(inputs), inputs.data.rows
    one, other = found.halves
    assert not set(one.rows) & set(other.rows)
    assert len(one.rows) == len(other.rows) == 60
    for half, others in ((one, other), (other, one)):
        assert np.array_equal(half.others, rows[others.rows], equal_nan=True)
        assert all(guess.shape == half.others.shape for guess in half.guesses)


COLUMNS = ("x", "flag")
DOMAIN = Domain(COLUMNS, (Attribute("x", "numeric", (0,), 0.0, 10.0), Attribute("flag", "binary", (1,))), "by hand")
TRUTH = np.array([[0, 0], [10, 1], [4, 1], [5, 0]], dtype=np.float32)
BY_HAND = KnownOthers(
    rows=np.arange(4),
    of_rows=8,
    guess=np.array([[0, 0], [9, 1], [4.05, 0], [5, 0]], dtype=np.float32),
    without_file=np.array([[5, 0], [5, 1], [5, 1], [5, 1]], dtype=np.float32),
    determined=np.array([[True, True], [False, True], [False, False], [True, False]]),
    exact=np.array([[True, True], [False, True], [False, False], [True, True]]),
    exact_without_file=np.array([[False, True], [False, True], [False, True], [True, False]]),
    is_numeric=np.array([True, False]),
    halves=(
        Half(np.array([0, 1]), (TRUTH[[1, 0]], TRUTH[[0, 0]]), (TRUTH[[0, 0]],), TRUTH[[2, 3]]),
        Half(np.array([2, 3]), (TRUTH[[2, 2]],), (TRUTH[[0, 0]],), TRUTH[[0, 1]]),
    ),
    proved=True,
    of_halves=Held(DOMAIN, np.arange(0), np.empty((0, 2)), np.empty((0, 2)), np.empty((0, 2), dtype=bool)),
    bits=70.0,
)


def test_figures_are_as_by_hand():
    found = BY_HAND.figures(TRUTH, encoded_weights(DOMAIN), (0, 1), TimeBox(60))
    # in tenths: 0 + 0, 1 + 0, .05 + 10, 0 + 0 of 20 each
    assert found.error == pytest.approx((0 + 1 + 10.05 + 0) / 20 / 4)
    assert found.error_without_file == pytest.approx((5 + 5 + 1 + 10) / 20 / 4)
    assert found.matched_error == pytest.approx((0 + 11 / 20 / 2) / 2)  # of several guesses the nearest
    assert found.matched_error_without_file == pytest.approx(11 / 40)  # other rows like these are nearer than 0,0
    # 0,0 and 10,1 to 5,0 and 4,1: 5 + 6 of 40; the other way round the same
    assert found.split_half_error == pytest.approx(11 / 40)
    assert (found.told_values, found.told_rows) == (0.5, 0.25)
    assert (found.near_values, found.near_rows) == (6 / 8, 0.5)  # .05 of 10 is within 1 %
    assert (found.near_values_without_file, found.near_rows_without_file) == (4 / 8, 0.0)
    assert (found.exact_numeric, found.exact_numeric_without_file) == (0.5, 0.25)
    assert (found.rows, found.of_rows, found.half_rows, found.bits, found.proved) == (4, 8, 2, 70.0, True)
    assert (found.row_errors[0], found.row_errors[-1]) == (0.0, pytest.approx(10.05 / 20))


def test_known_attributes_are_no_part_of_any_figure():
    found = BY_HAND.figures(TRUTH, encoded_weights(DOMAIN, (1,)), (0,), TimeBox(60))
    assert found.error == pytest.approx(1.05 / 10 / 4)
    assert (found.told_values, found.told_rows) == (0.5, 0.5)
    assert (found.near_values, found.near_rows) == (0.75, 0.75)
    (column,) = BY_HAND.columns(TRUTH, encoded_weights(DOMAIN, (1,)), DOMAIN, (0,))
    assert column == InformedColumn("x", 0.5, 0.75, 0.25)


def test_columns_are_as_by_hand():
    assert BY_HAND.columns(TRUTH, encoded_weights(DOMAIN), DOMAIN, (0, 1)) == (
        InformedColumn("x", 0.5, 0.75, 0.25),
        InformedColumn("flag", 0.5, 0.75, 0.75),
    )


def test_slices_are_as_by_hand_and_small_ones_are_left_out(monkeypatch):
    data = TrainingData(TRUTH, np.array([0, 1, 1, 0]), COLUMNS, None, "by hand")
    slices = (
        Slice("low", ("x",), (Literal(0, -np.inf, 4.5),)),
        Slice("class", label=0),
        Slice("nobody", ("x",), (Literal(0, 20.0, np.inf),)),
    )
    assert BY_HAND.slices(data, encoded_weights(DOMAIN), (0, 1), slices) == ()
    monkeypatch.setattr(informed, "LEAST_ROWS", 2)
    low, of_class = BY_HAND.slices(data, encoded_weights(DOMAIN), (0, 1), slices)
    assert low == InformedSlice("low", 2, low.error, low.error_without_file, 0.5, 0.5, 0.5, 0.0)
    assert (low.error, low.error_without_file) == pytest.approx((6 / 40, 6 / 40))  # no farther than without the file
    assert of_class == InformedSlice("class", 2, 0.0, 15 / 40, 0.75, 0.5, 1.0, 0.0)


def test_without_rows_without_halves_and_without_columns_there_are_no_figures():
    weights = encoded_weights(DOMAIN)
    assert BY_HAND.only(np.array([7])).figures(TRUTH, weights, (0, 1), TimeBox(60)) is None
    assert replace(BY_HAND, halves=()).figures(TRUTH, weights, (0, 1), TimeBox(60)) is None
    assert BY_HAND.figures(TRUTH, weights, (), TimeBox(60)) is None


def test_some_rows_are_those_of_the_training_data():
    some = BY_HAND.only(np.array([1, 3, 6]))
    assert (some.rows.tolist(), some.of_rows) == ([1, 3], 3)
    assert [half.rows.tolist() for half in some.halves] == [[1], [3]]
    assert some.halves[0].guesses[0].tolist() == [[0, 0]]
    found = some.figures(TRUTH, encoded_weights(DOMAIN), (0, 1), TimeBox(60))
    assert found.error == pytest.approx(1 / 20 / 2)
    assert (found.told_values, found.told_rows) == (0.5, 0.0)


def test_a_part_of_the_columns_is_measured_as_if_there_were_no_others():
    part = BY_HAND.mapped(lambda rows: rows[:, [1]], (1,))
    found = part.figures(TRUTH[:, [1]], encoded_weights(DOMAIN.restricted([1])), (0,), TimeBox(60))
    assert (found.error, found.told_values, found.near_rows) == (0.25, 0.5, 0.75)
    assert (found.matched_error, found.split_half_error) == (0.0, 0.0)  # other rows like these need no file
    doubled = BY_HAND.mapped(lambda rows: rows * np.float32(1))
    assert doubled.figures(TRUTH, encoded_weights(DOMAIN), (0, 1), TimeBox(60)) == BY_HAND.figures(
        TRUTH, encoded_weights(DOMAIN), (0, 1), TimeBox(60)
    )


def test_no_row_is_shown():
    assert repr(BY_HAND) == "KnownOthers(4 rows, not shown)"
    assert "10" not in repr(BY_HAND.halves[0]).replace("object at 0x", "")[:20]


def in_order(found: Informed) -> tuple[float, ...]:
    """Return the figures of rows in order, but for those without a file: no other half is drawn for them."""
    return (found.error, found.told_values, found.told_rows, found.near_values, found.near_rows)


def shuffled(inputs: Inputs, order: np.ndarray) -> Inputs:
    data = inputs.data
    return replace(inputs, data=replace(data, rows=data.rows[order], labels=data.labels[order]))


def without_bootstrap(folder, **changes) -> Inputs:
    features, target = table(3)
    return read(
        folder, RandomForestClassifier(15, bootstrap=False, random_state=0, **changes), features, classes(target)
    )


@pytest.mark.nightly
def test_another_order_of_the_rows_changes_nothing_but_ties(tmp_path):
    inputs = without_bootstrap(tmp_path)
    found = figures(inputs)
    again = figures(shuffled(inputs, np.random.default_rng(0).permutation(inputs.data.n_rows)))
    assert again.told_values == found.told_values
    assert again.told_rows == found.told_rows
    assert in_order(again) == pytest.approx(in_order(found), abs=0.01)
    assert again.matched_error == pytest.approx(found.matched_error, abs=0.02)
    assert again.split_half_error == pytest.approx(found.split_half_error, abs=0.02)


@pytest.mark.nightly
def test_another_order_of_the_columns_changes_nothing_but_ties(tmp_path):
    inputs = without_bootstrap(tmp_path)
    domain, data = inputs.domain, inputs.data
    old = np.random.default_rng(1).permutation(domain.n_columns)
    new = np.argsort(old)
    attributes = tuple(replace(one, columns=tuple(int(new[c]) for c in one.columns)) for one in domain.attributes)
    names = tuple(domain.columns[c] for c in old)
    trees = tuple(
        replace(tree, feature=np.where(tree.feature >= 0, new[tree.feature], tree.feature))
        for tree in inputs.forest.trees
    )
    other = SimpleNamespace(
        domain=Domain(names, attributes, "by hand"),
        data=replace(data, rows=data.rows[:, old], columns=names),
        forest=replace(inputs.forest, trees=trees),
    )
    assert in_order(figures(other)) == pytest.approx(in_order(figures(inputs)), abs=0.01)
    by_name = {one.name: one for one in figures(other).columns}
    assert all(by_name[one.name].told == one.told for one in figures(inputs).columns)


@pytest.mark.nightly
@pytest.mark.parametrize("names", [("a", "b"), ("z", "b")])
def test_other_names_of_the_labels_change_nothing(tmp_path, names):
    features, target = table(3)
    found = []
    for place, labels in enumerate((classes(target), np.array(names)[classes(target)])):
        folder = tmp_path / str(place)
        folder.mkdir()
        found.append(figures(read(folder, RandomForestClassifier(15, random_state=0), features, labels)))
    assert in_order(found[1]) == in_order(found[0])
    assert found[1].columns == found[0].columns


@pytest.mark.nightly
def test_a_column_that_is_written_twice_changes_nothing(tmp_path):
    features, target = table(3)
    found = []
    for place, columns in enumerate((features, features.assign(again=features["size"]))):
        folder = tmp_path / str(place)
        folder.mkdir()
        found.append(figures(read(folder, DecisionTreeClassifier(random_state=0), columns, classes(target))))
    assert [one.name for one in found[1].columns] == [one.name for one in found[0].columns]
    assert found[1].told_values == pytest.approx(found[0].told_values, abs=0.02)
    assert found[1].error == pytest.approx(found[0].error, rel=0.1)


@pytest.mark.nightly
def test_another_sample_of_the_rows_says_about_the_same(tmp_path, monkeypatch):
    features, target = table(4, 600)
    inputs = read(tmp_path, RandomForestClassifier(20, random_state=0), features, classes(target))
    everyone = figures(inputs)
    assert everyone.rows == everyone.of_rows == 600
    monkeypatch.setattr(informed, "MOST_ROWS", 200)
    monkeypatch.setattr(informed, "MOST_DONORS", 300)
    for seed in range(3):
        some = figures(inputs, seed)
        assert (some.rows, some.of_rows, some.half_rows) == (200, 600, 100)
        assert some.told_values == pytest.approx(everyone.told_values, abs=0.05)
        assert some.error == pytest.approx(everyone.error, abs=0.15 * everyone.error_without_file)
        assert some.of_split_half == pytest.approx(everyone.of_split_half, abs=0.15)
    assert in_order(figures(inputs, 1)) == in_order(figures(inputs, 1))
    assert in_order(figures(inputs, 1)) != in_order(figures(inputs, 2))


@pytest.mark.nightly
@pytest.mark.parametrize("known", [(0,), (1, 2), (0, 1, 3)])
def test_whoever_knows_more_columns_gets_no_less_of_the_others(tmp_path, known):
    inputs = of(tmp_path, "small forest")
    domain, rows = inputs.domain, inputs.data.rows
    unknown = [a for a in range(len(domain.attributes)) if a not in known]
    weights = encoded_weights(domain, known)
    less, more = guessed(inputs), guessed(inputs, known=known)
    assert more.determined[:, list(known)].all()
    assert (more.determined >= less.determined).all()
    before, after = (found.figures(rows, weights, unknown, TimeBox(60)) for found in (less, more))
    assert after.error <= 1.05 * before.error  # guessers are several, and not the best
    assert after.told_values >= before.told_values


@pytest.mark.nightly
def test_stumps_tell_next_to_nothing_and_a_deep_forest_nearly_all(tmp_path):
    features, target = table(5, 300)
    found = []
    for place, model in enumerate(
        (RandomForestClassifier(3, max_depth=1, random_state=0), RandomForestClassifier(100, random_state=0))
    ):
        folder = tmp_path / str(place)
        folder.mkdir()
        found.append(figures(read(folder, model, features, classes(target))))
    stumps, deep = found
    assert stumps.told_rows == 0
    assert stumps.told_values < 0.05
    assert stumps.error > 0.8 * stumps.error_without_file
    assert stumps.of_split_half > 0.5
    assert deep.told_values > 0.5
    assert deep.of_split_half < 0.3
    assert deep.error < 0.3 * deep.error_without_file


def test_rows_that_do_not_explain_the_file_and_single_rows_tell_nothing(tmp_path):
    inputs = of(tmp_path, "forest")
    everyone = KnownRows(inputs.data.rows, inputs.data.labels, occurrences(inputs.forest))
    everybody = np.arange(inputs.data.n_rows)
    wrong = replace(everyone, rows=everyone.rows[::-1].copy())
    assert known_others(inputs.forest, inputs.domain, wrong, everybody, 0, TimeBox(60)) is None
    single = KnownRows(everyone.rows[:1], everyone.labels[:1], everyone.weight[:, :1])
    assert known_others(inputs.forest, inputs.domain, single, everybody[:1], 0, TimeBox(60)) is None


class Ending(TimeBox):
    """A time box that ends while compiled code runs."""

    @contextmanager
    def flag(self, flag=None):
        yield np.ones(1, dtype=np.uint8)


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["small forest", "missing values", "regression"])
def test_that_the_time_ended_the_count_of_datasets_is_known(name, tmp_path):
    inputs = of(tmp_path, name)
    everyone = KnownRows(inputs.data.rows, inputs.data.labels, occurrences(inputs.forest))
    given = inputs.forest, inputs.domain, everyone, np.arange(inputs.data.n_rows), 0
    told = known_others(*given, TimeBox(60))
    rest = inputs.forest, everyone, np.arange(inputs.data.n_rows)
    counted, cut = (with_what_passes_need(told, *rest, box) for box in (TimeBox(60), Ending(60)))
    assert counted.bits_ended
    assert (cut.bits, cut.bits_ended) == (None, False)
    assert informed_figures(counted, inputs.domain, inputs.data, (), (), TimeBox(60)).bits_ended
    assert not informed_figures(cut, inputs.domain, inputs.data, (), (), TimeBox(60)).bits_ended


@pytest.mark.nightly(quick=1)
@pytest.mark.parametrize("name", ["small forest", "missing values", "regression"])
def test_of_a_sample_the_rows_that_are_told_whole_are_counted_over_all(name, tmp_path, monkeypatch):
    inputs = of(tmp_path, name)
    everyone = KnownRows(inputs.data.rows, inputs.data.labels, occurrences(inputs.forest))
    everybody, attributes = np.arange(inputs.data.n_rows), range(len(inputs.domain.attributes))
    given = inputs.forest, inputs.domain, everyone, everybody, 0, TimeBox(60)
    of_all = known_others(*given)
    assert with_what_passes_need(of_all, inputs.forest, everyone, everybody, TimeBox(60)).told is None
    monkeypatch.setattr(informed, "MOST_ROWS", 10)
    sampled = known_others(*given)
    assert len(sampled.rows) == 10
    assert sampled.told_of_all(attributes) is None
    found = with_what_passes_need(sampled, inputs.forest, everyone, everybody, TimeBox(60))
    assert (found.told == of_all.determined).all()
    assert found.told_of_all(attributes) == of_all.determined.all(axis=1).sum()
    monkeypatch.setattr(informed, "_FEW_TOLD", -1)
    assert with_what_passes_need(sampled, inputs.forest, everyone, everybody, TimeBox(60)).told is None


class Decided:
    """Says that a rule has decided, or that every rule has passed, or nothing."""

    def __init__(self, rule):
        self.rule = rule

    def decided(self, examination):
        return self.rule

    def promises(self, examination):
        return False


@pytest.mark.nightly(quick=1)
@pytest.mark.parametrize(("rule", "is_counted"), [("given-all-other-rows", False), (EVERY_RULE, True), (None, True)])
def test_datasets_are_counted_only_where_no_rule_has_failed_without(tmp_path, rule, is_counted):
    inputs = of(tmp_path, "small forest")
    record = FlowRecord(inputs.case)
    side_searches = SideSearches(inputs, record, Decided(rule))
    side_searches.look()
    assert (record.facts.informed.bits is not None) == is_counted
    assert record.facts.informed.bits_ended
    assert side_searches.known_others.bits == record.facts.informed.bits


@pytest.mark.parametrize("n_rounds", [1, 6])
def test_boosted_trees_are_counted_once_for_the_same_rows_and_never_after_the_time(tmp_path, n_rounds):
    features, target = table(3)
    inputs = read(tmp_path, GradientBoostingClassifier(n_estimators=n_rounds), features, classes(target))
    forest, rows, labels = inputs.forest, inputs.data.rows, inputs.data.labels
    with pytest.raises(OutOfTimeError):
        counted_by(forest, rows, labels, TimeBox(1e-9))
    found = counted_by(forest, rows, labels, TimeBox(60))
    assert found is not None
    assert counted_by(forest, rows, labels) is found
    assert counted_by(forest, rows[::-1].copy(), labels) is None  # other labels on the same rows


@pytest.mark.nightly
def test_only_rows_that_are_to_be_rebuilt_are_looked_at(tmp_path):
    inputs = of(tmp_path, "forest")
    everyone = KnownRows(inputs.data.rows, inputs.data.labels, occurrences(inputs.forest))
    some = np.arange(10, 50)
    found = known_others(inputs.forest, inputs.domain, everyone, some, 0, TimeBox(60))
    assert (found.rows == some).all()
    whole = guessed(inputs)
    assert (found.determined == whole.determined[some]).all()


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(6))
def test_no_other_value_inside_a_box_is_exact_more_often(seed):
    rng = np.random.default_rng(seed)
    rows = rng.choice([0.0, 1.5, 2.5, 4.0, 7.0], size=(40, 1), p=[0.4, 0.1, 0.1, 0.3, 0.1]).astype(np.float32)
    domain = Domain(("x",), (Attribute("x", "numeric", (0,), 0.0, 10.0),), "by hand")
    asked = rng.choice(40, 12, replace=False)
    low, high = np.minimum(rows[asked], rng.uniform(0, 8, (12, 1))), np.maximum(rows[asked], rng.uniform(0, 8, (12, 1)))
    held = Held(domain, asked, low.astype(float), high.astype(float), np.zeros((12, 1), dtype=bool))
    guesser = Guesser(held, rows, np.arange(40), encoded_weights(domain))
    found = guesser.commonest(guesser.inside())[:, 0]
    for place, row in enumerate(asked):
        others = np.delete(rows[:, 0], row)
        others = others[(low[place] <= others) & (others <= high[place])]
        values, times = np.unique(others, return_counts=True)
        assert not len(others) or times[values == found[place]] == times.max()
