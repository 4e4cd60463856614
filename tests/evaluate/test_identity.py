"""Whether the given rows trained a forest, on forests that were really trained."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import SimpleNamespace

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import BaggingClassifier, ExtraTreesClassifier, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from pytest_draft.artifact import Forest, read
from pytest_draft.artifact.forest.observations import under
from pytest_draft.attack.descent import leaf_positions
from pytest_draft.attack.enumeration import build
from pytest_draft.attack.evidence.noise import CountNoise
from pytest_draft.attack.problem import Problem
from pytest_draft.attack.search import Search
from pytest_draft.attack.solve import reconstruct
from pytest_draft.data import TrainingData
from pytest_draft.domain import infer
from pytest_draft.evaluate.identity import entries_of, identify, identify_noisy, unlike
from pytest_draft.examine.private import NoisyCounts
from pytest_draft.facts.privacy import Privacy
from pytest_draft.facts.reconstruction import Reconstruction
from pytest_draft.knowledge import exchangeable_groups
from pytest_draft.timebox import TimeBox

pytestmark = pytest.mark.nightly

COLUMNS = tuple(f"c{index}" for index in range(7))
N_ROWS = 40


@dataclass(frozen=True)
class Attacked:
    """A forest's file after the attack."""

    forest: Forest
    problem: Problem
    rebuilt: Reconstruction
    rows: np.ndarray
    labels: np.ndarray

    def identity(self, rows, labels, rebuilt=None):
        """Return what is found out about rows and labels."""
        data = TrainingData(
            np.ascontiguousarray(rows, np.float32), np.asarray(labels, np.int64), COLUMNS, None, "by hand"
        )
        return identify(self.forest, self.problem, data, rebuilt or self.rebuilt, Search(TimeBox(60), 0, 1))


NOTHING = Reconstruction("no solution", None, None, None, None, True, None)

MODELS = {
    "whole": RandomForestClassifier(15, bootstrap=False, random_state=1),
    "extra": ExtraTreesClassifier(15, random_state=1),
    "tree": DecisionTreeClassifier(random_state=1),
    "bagged": RandomForestClassifier(25, random_state=1),
    "bagging": BaggingClassifier(n_estimators=25, random_state=1),
    "bagged shallow": RandomForestClassifier(8, max_depth=3, random_state=1),
    "few draws": RandomForestClassifier(25, max_samples=0.5, random_state=1),
}
whose_seeds_tell_the_order = pytest.mark.parametrize(
    "attacked", [name for name in MODELS if name not in ("whole", "extra", "tree")], indirect=True
)


@pytest.fixture(scope="module", params=MODELS)
def attacked(request, tmp_path_factory):
    """Return each model after the attack on its file."""
    rng = np.random.default_rng(3)
    rows = rng.integers(0, 2, (N_ROWS, len(COLUMNS))).astype(np.float32)
    labels = (rows[:, 0] + rows[:, 1] + rng.integers(0, 2, N_ROWS) > 1).astype(np.int64)
    path = tmp_path_factory.mktemp("identity") / "model.joblib"
    joblib.dump(MODELS[request.param].fit(rows, labels), path)
    forest = read(path).forest
    domain = infer(COLUMNS, rows.astype(float))
    problem = build(forest, domain, exchangeable_groups(forest, "artifact"), TimeBox(60))
    return Attacked(forest, problem, reconstruct(problem, Search(TimeBox(60), 0, 1)), rows, labels)


@pytest.mark.nightly(quick=1)
def test_the_right_rows_are_confirmed(attacked):
    assert attacked.identity(attacked.rows, attacked.labels).status == "confirmed"
    assert attacked.identity(attacked.rows, attacked.labels, NOTHING).status == "confirmed"


@pytest.mark.nightly(quick=2)
def test_another_order_is_confirmed_when_the_order_is_unknown_and_told_when_it_is_known(attacked):
    order = np.random.default_rng(0).permutation(N_ROWS)
    identity = attacked.identity(attacked.rows[order], attacked.labels[order])
    assert identity.status == ("order differs" if attacked.problem.groups.ordered else "confirmed")
    if identity.status == "order differs":
        assert "only the order differs" in identity.why


@pytest.mark.nightly
@whose_seeds_tell_the_order
def test_another_order_is_found_when_there_is_no_reconstruction_to_spare_the_search(attacked):
    order = np.random.default_rng(1).permutation(N_ROWS)
    assert attacked.identity(attacked.rows[order], attacked.labels[order], NOTHING).status == "order differs"


@pytest.mark.parametrize("rebuilt", [None, NOTHING], ids=["rebuilt", "nothing"])
def test_other_rows_of_the_same_population_are_a_mismatch(attacked, rebuilt):
    rng = np.random.default_rng(4)
    rows = rng.integers(0, 2, attacked.rows.shape).astype(np.float32)
    identity = attacked.identity(rows, attacked.labels, rebuilt)
    assert identity.status == "mismatch"
    assert "not trained on these rows" in identity.why


def test_swapped_labels_are_a_mismatch(attacked):
    identity = attacked.identity(attacked.rows, 1 - attacked.labels)
    assert identity.status == "mismatch"


@pytest.mark.parametrize("change", [-1, 1])
def test_another_number_of_rows_is_a_mismatch_with_both_numbers(attacked, change):
    rows, labels = (np.concatenate([part, part])[: N_ROWS + change] for part in (attacked.rows, attacked.labels))
    identity = attacked.identity(rows, labels)
    assert identity.status == "mismatch"
    assert f"{N_ROWS} rows" in identity.why
    assert f"{N_ROWS + change}" in identity.why


@whose_seeds_tell_the_order
def test_one_wrong_label_in_another_order_is_never_taken_for_the_right_rows(attacked):
    order = np.random.default_rng(2).permutation(N_ROWS)
    labels = attacked.labels[order]
    labels[0] = 1 - labels[0]
    assert attacked.identity(attacked.rows[order], labels).status in ("mismatch", "unknown")
    assert attacked.identity(attacked.rows[order], labels, NOTHING).status in ("mismatch", "unknown")


@whose_seeds_tell_the_order
def test_nothing_is_claimed_when_the_time_is_out(attacked):
    now = [0.0]
    timebox = TimeBox(1.0, clock=lambda: now[0])
    now[0] = 2.0
    order = np.random.default_rng(0).permutation(N_ROWS)
    data = TrainingData(attacked.rows[order], attacked.labels[order], COLUMNS, None, "by hand")
    identity = identify(attacked.forest, attacked.problem, data, NOTHING, Search(timebox, 0, 1))
    assert identity.status in ("unknown", "order differs")


# Noisy counts


def noisy_forest(by_hand, rows, labels, scale, seed=0):
    """Return a forest of 20 small trees that releases noisy counts of some rows."""
    rng = np.random.default_rng(seed)

    def tree(depth):
        return [0, 0] if not depth else (int(rng.integers(rows.shape[1])), 0.5, tree(depth - 1), tree(depth - 1))

    bare = by_hand(rows.shape[1], *(tree(3) for _ in range(20)))
    trees = []
    for one in bare.trees:
        counts = np.zeros((len(one.leaves), 2))
        np.add.at(counts, (leaf_positions(one, np.ascontiguousarray(rows.T)), labels), 1)
        value = np.zeros((one.n_nodes, 2))
        value[one.leaves] = np.trunc(counts + rng.laplace(scale=scale, size=counts.shape))
        trees.append(replace(one, value=value))
    return replace(
        bare,
        trees=tuple(trees),
        n_samples=None,
        observation=under(Privacy("laplace", 20 / scale, 0.0, scale, "sum")),
    )


@pytest.mark.parametrize("scale", [0.1, 1.0, 20.0])
def test_the_right_rows_need_noise_that_is_as_likely_as_any(by_hand, scale):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        rows, labels = rng.integers(0, 2, (60, 6)).astype(np.float32), rng.integers(0, 2, 60)
        forest = noisy_forest(by_hand, rows, labels, scale, seed)
        order = rng.permutation(60)  # counts do not know it
        assert (
            identify_noisy(forest, CountNoise.of(forest.observation.privacy), rows[order], labels[order]).status
            == "confirmed"
        )


def test_other_rows_need_noise_that_is_less_likely_and_prove_nothing(by_hand):
    rng = np.random.default_rng(0)
    rows, labels = rng.integers(0, 2, (60, 6)).astype(np.float32), rng.integers(0, 2, 60)
    forest = noisy_forest(by_hand, rows, labels, 1.0)
    noise = CountNoise.of(forest.observation.privacy)
    others = rng.integers(0, 2, (60, 6)).astype(np.float32)
    for identity in (
        identify_noisy(forest, noise, others, labels),
        identify_noisy(forest, noise, rows, 1 - labels),
        identify_noisy(forest, noise, rows[:20], labels[:20]),
    ):
        assert identity.status == "unknown"
        assert "hardly trained on these rows" in identity.why


def test_the_entries_of_rows_are_what_a_release_without_noise_would_hold(by_hand):
    rng = np.random.default_rng(1)
    rows, labels = rng.integers(0, 2, (30, 6)).astype(np.float32), rng.integers(0, 2, 30)
    released, true = entries_of(noisy_forest(by_hand, rows, labels, 1e-3), rows, labels)
    # int(n + Y) is n or, half the time, n - 1; at 0 always 0
    assert ((released == true) | (released == true - 1)).all()
    assert (released[true == 0] == 0).all()
    assert true.sum() == 20 * 30


def test_exact_counts_in_some_trees_are_far_less_noise_than_is_declared(by_hand):
    rng = np.random.default_rng(2)
    rows, labels = rng.integers(0, 2, (60, 6)).astype(np.float32), rng.integers(0, 2, 60)
    forest = noisy_forest(by_hand, rows, labels, 20.0)
    noise = CountNoise.of(forest.observation.privacy)
    trees = list(forest.trees)
    for t in (3, 8):
        value = np.zeros_like(trees[t].value)
        counts = np.zeros((len(trees[t].leaves), 2))
        np.add.at(counts, (leaf_positions(trees[t], np.ascontiguousarray(rows.T)), labels), 1)
        value[trees[t].leaves] = counts
        trees[t] = replace(trees[t], value=value)
    assert identify_noisy(forest, noise, rows, labels).status == "confirmed"
    identity = identify_noisy(replace(forest, trees=tuple(trees)), noise, rows, labels)
    assert identity.status == "unknown"
    assert "less noise in" in identity.why


class OfSomeForest(NoisyCounts):
    """What a forest has released, where the right rows' own likelihood is given."""

    def __init__(self, forest, problem, truth):
        self._forest, self._problem, self._likelihood, self.granted = forest, problem, truth, ("number of rows",)

    def _truth(self, data):
        return self._likelihood


@pytest.mark.parametrize("scale", [0.1, 1.0, 20.0])
def test_what_an_attack_reaches_never_says_whose_rows_trained_a_forest(by_hand, scale):
    rng = np.random.default_rng(0)
    rows, labels = rng.integers(0, 2, (60, 6)).astype(np.float32), rng.integers(0, 2, 60)
    forest = noisy_forest(by_hand, rows, labels, scale)
    problem = SimpleNamespace(noise=CountNoise.of(forest.observation.privacy))
    data = SimpleNamespace(rows=rows, labels=labels, n_rows=60)
    for reached, status in ((-500.0, "confirmed"), (-100.0, "unknown")):  # the attack has fitted the noise
        found = OfSomeForest(forest, problem, -500.0).identity(data, SimpleNamespace(log_posterior=reached), None)
        assert found.status == status
        assert "hardly trained" not in found.why
    assert "is not known" in found.why
    assert "by 400 in log-likelihood" in found.why


def test_right_rows_under_more_noise_than_is_declared_are_not_only_called_others(by_hand):
    rng = np.random.default_rng(0)
    rows, labels = rng.integers(0, 2, (60, 6)).astype(np.float32), rng.integers(0, 2, 60)
    forest = noisy_forest(by_hand, rows, labels, 20.0)
    declared = replace(forest, observation=under(Privacy("laplace", 20.0, 0.0, 1.0, "sum")))
    found = identify_noisy(declared, CountNoise.of(declared.observation.privacy), rows, labels)
    assert found.status == "unknown"
    assert "or with other noise than it declares" in found.why


def test_rows_that_are_no_training_rows_are_told_in_words_of_the_table(attacked):
    forest, rows = attacked.forest, attacked.rows.astype(np.float32)
    assert unlike(forest, rows) is None
    assert unlike(forest, rows[::-1]) is None
    tested = int(forest.trees[0].feature[0])
    scaled, empty = rows.copy(), rows.copy()
    scaled[:, tested] = 10 * rows[:, tested] + 5
    empty[:3, tested] = np.nan
    named = f"column {tested}" if forest.feature_names is None else repr(forest.feature_names[tested])
    of_all = len({int(column) for tree in forest.trees for column in tree.feature if column >= 0})
    outside = f"lies among the values there (1 of {of_all} tested columns): was the table scaled or encoded differently"
    assert unlike(forest, scaled) == f"no threshold on {named} {outside} before fit()?"
    assert unlike(replace(forest, scaled=" Look."), scaled).endswith("fit()? Look.")
    assert unlike(forest, empty) == f"{named} is empty in 3 rows: was it filled before fit()?"
    if forest.n_samples is not None:
        assert unlike(forest, rows[1:]).endswith("and the data have 39: give the rows it was trained on")
        assert "give the rows it was trained on; no threshold on" in unlike(forest, scaled[1:])


@pytest.fixture
def read_of(tmp_path):
    """Return a function that saves what it is given and returns the forest that is read of it."""

    def of(saved):
        joblib.dump(saved, tmp_path / "model.joblib")
        return read(tmp_path / "model.joblib").forest

    return of


def made_up_people(seed: int) -> tuple[pd.DataFrame, pd.Series]:
    random = np.random.default_rng(seed)
    people = pd.DataFrame(
        {
            "age": random.integers(20, 60, 150),
            "pay": random.gamma(2, 900, 150).round(),
            "visits": random.integers(0, 9, 150),
        }
    )
    return people, ((people["age"] > 40) ^ (people["pay"] > 1500)).astype(int)


@pytest.mark.nightly(quick=1)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "scaler", [StandardScaler(), MinMaxScaler(), RobustScaler()], ids=lambda one: type(one).__name__
)
def test_a_table_that_was_scaled_outside_is_told_by_what_the_file_has_of_it(scaler, seed, read_of):
    raw, labels = made_up_people(seed)
    scaled = pd.DataFrame(scaler.fit_transform(raw), columns=raw.columns)
    trees = RandomForestClassifier(10, max_depth=4, random_state=0).fit(scaled, labels)
    rows = raw.to_numpy().astype(np.float32)
    before, kind = "scaled or encoded differently before fit()?", type(scaler).__name__
    alone, beside = read_of(trees), read_of({"model": trees, "scaler": scaler})
    assert unlike(alone, rows).startswith("no threshold on 'age', 'pay")
    assert unlike(alone, rows).endswith(before)
    said = f"{before} There is a {kind} beside the forest: give the table as transform() returns it"
    assert unlike(beside, rows).endswith(said)
    assert unlike(beside, scaled.to_numpy().astype(np.float32)) is None
    assert not any(
        character.isdigit() for character in unlike(alone, rows).replace("of 3", "").replace("(2", "").replace("(3", "")
    )
    again = make_pipeline(type(scaler)(), RandomForestClassifier(10, max_depth=4, random_state=0)).fit(scaled, labels)
    twice = " Its scaler changes nothing (it has learned 0 and 1): fit() was given a table that was scaled already"
    assert unlike(read_of(again), again[0].transform(raw).astype(np.float32)).endswith(before + twice)
    once = make_pipeline(type(scaler)(), RandomForestClassifier(10, max_depth=4, random_state=0)).fit(raw, labels)
    assert unlike(read_of(once), rows).endswith(before)


@pytest.mark.nightly(quick=2)
@pytest.mark.parametrize("order", [[2, 1, 0], [1, 2, 0], [0, 2, 1]])
@pytest.mark.parametrize("seed", range(3))
def test_columns_in_another_order_are_told_as_such_where_the_file_has_no_names(order, seed, read_of):
    raw, labels = made_up_people(seed)
    raw["visits"] += 100_000  # no two columns overlap
    rows, said = raw.to_numpy().astype(np.float32), "is the order of the columns that of fit()?"
    unnamed = read_of(RandomForestClassifier(10, max_depth=4, random_state=0).fit(rows, labels))
    named = read_of(RandomForestClassifier(10, max_depth=4, random_state=0).fit(raw, labels))
    assert unlike(unnamed, rows) is None
    assert unlike(unnamed, rows[:, order]).endswith(said)
    assert "order of the columns" not in unlike(named, rows[:, order])
    assert "order of the columns" not in unlike(unnamed, rows / 1000)
