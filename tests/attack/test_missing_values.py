"""Missing values: they go where scikit-learn sends them, and no engine for discrete columns takes them for a value."""

from __future__ import annotations

from dataclasses import replace

import joblib
import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.ensemble import BaggingClassifier, ExtraTreesClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.tree import DecisionTreeClassifier, ExtraTreeRegressor

from pytest_draft.artifact import read
from pytest_draft.artifact.forest.observations import under
from pytest_draft.attack.compiled_trees import Walks
from pytest_draft.attack.descent import leaf_positions
from pytest_draft.attack.enumeration import build
from pytest_draft.attack.evidence.noise import CountNoise
from pytest_draft.attack.groups import KnownRows, group_by_occurrences, split_by_values
from pytest_draft.attack.large_domains.candidates import build_any
from pytest_draft.attack.large_domains.regions import Regions
from pytest_draft.attack.private.informed import KnownPopulation, noisy_score
from pytest_draft.attack.private.labels import build_labels
from pytest_draft.attack.search import Search
from pytest_draft.attack.walk.problem import indices_of
from pytest_draft.data import training_data
from pytest_draft.domain import Attribute, Domain
from pytest_draft.errors import NotCoveredError
from pytest_draft.facts.privacy import Privacy
from pytest_draft.timebox import TimeBox
from studies.paper_models.published import RowModelInput

N_ROWS = 120
TAKES_MISSING = tuple(int(part) for part in sklearn.__version__.split(".")[:2]) >= (1, 6)
COUNTS_MISSING = tuple(int(part) for part in sklearn.__version__.split(".")[:2]) >= (1, 9)

MODELS = {
    "decision tree": DecisionTreeClassifier(random_state=0),
    "random forest": RandomForestClassifier(12, random_state=0),
    "random forest of few columns and leaves": RandomForestClassifier(12, max_features=1, max_depth=4, random_state=0),
    "random forest regressor": RandomForestRegressor(12, random_state=0),
    "extra trees": ExtraTreesClassifier(12, random_state=0),
    "extra tree regressor": ExtraTreeRegressor(random_state=0),
    "bagging of columns": BaggingClassifier(DecisionTreeClassifier(), 12, max_features=3, random_state=0),
}


def people(seed, missing=(0, 1, 2)):
    """Return rows of continuous, binary and ordinal columns with gaps, and labels that depend on them and the gaps."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(N_ROWS, 5))
    rows[:, 1], rows[:, 2] = rng.integers(2, size=N_ROWS), rng.integers(5, size=N_ROWS)
    labels = (rows[:, 0] + rows[:, 1] + rng.normal(size=N_ROWS) > 0.5).astype(int)
    for column in missing:
        rows[rng.random(N_ROWS) < (0.1 + 0.3 * labels), column] = np.nan
    return rows.astype(np.float32), labels


def released(model, tmp_path):
    joblib.dump(model, tmp_path / "model.joblib")
    return read(tmp_path / "model.joblib").forest


def trees_of(model):
    """Return (tree, its columns) of a fitted model."""
    trees = getattr(model, "estimators_", [model])
    return list(zip(trees, getattr(model, "estimators_features_", [slice(None)] * len(trees)), strict=True))


@pytest.mark.nightly(quick=6)
@pytest.mark.skipif(not TAKES_MISSING, reason="extra trees take missing values from scikit-learn 1.6 on")
@pytest.mark.parametrize("trained_on", [(0, 1, 2), (0,), ()], ids=["three gaps", "one gap", "no gap"])
@pytest.mark.parametrize("name", MODELS)
def test_rows_with_missing_values_reach_the_leaves_that_scikit_learn_says(name, trained_on, tmp_path):
    model = sklearn.base.clone(MODELS[name]).fit(*people(0, trained_on))
    forest = released(model, tmp_path)
    rows, _ = people(1, (0, 1, 2, 3, 4))
    rows[::7, :] = np.nan  # rows without any value
    for tree, (grown, columns) in zip(forest.trees, trees_of(model), strict=True):
        reached = tree.leaves[leaf_positions(tree, np.ascontiguousarray(rows.T))]
        # `apply` of the tree itself: the estimator's refuses gaps in columns that had none in training.
        expected = grown.tree_.apply(np.ascontiguousarray(rows[:, columns]))
        assert (reached == expected).all()


@pytest.mark.skipif(not TAKES_MISSING, reason="extra trees take missing values from scikit-learn 1.6 on")
@pytest.mark.parametrize("name", ["random forest", "extra trees"])
def test_some_nodes_send_missing_values_left_and_some_right(name, tmp_path):
    forest = released(sklearn.base.clone(MODELS[name]).fit(*people(0)), tmp_path)
    for side in (True, False):
        assert any((tree.missing_left[tree.left >= 0] == side).any() for tree in forest.trees)


def test_a_missing_value_goes_where_its_node_says_and_present_ones_by_the_threshold(by_hand):
    (tree,) = by_hand(2, (0, [1, 0], (1, [0, 1], [1, 1]))).trees
    rows = np.array([[0, np.nan], [1, np.nan], [np.nan, 0], [np.nan, 1], [np.nan, np.nan], [1, 0]], np.float32)
    columns = np.ascontiguousarray(rows.T)
    assert leaf_positions(tree, columns).tolist() == [0, 2, 1, 2, 2, 1]
    left = replace(tree, missing_left=tree.left >= 0)
    assert leaf_positions(left, columns).tolist() == [0, 1, 0, 0, 0, 1]


# No engine for discrete columns takes a missing value for one of theirs.


def gapped(n_columns, which=0):
    attributes = tuple(Attribute(f"c{i}", "binary", (i,), missing=i == which) for i in range(n_columns))
    return Domain(tuple(f"c{i}" for i in range(n_columns)), attributes, "test")


ROWS = np.array([[np.nan, 1], [0, 1], [0, 0], [1, 1]], np.float32)
LABELS = np.array([0, 0, 1, 1])
SEARCH = Search(TimeBox(5))
LAPLACE = Privacy("laplace", 1.0, 0.0, 1.0, "sum")


def known_values(groups, column):
    return split_by_values(groups, (column,), (column,), ROWS[:, [column]])


ENGINES = {
    "enumerated": lambda forest, domain, groups: build(forest, domain, groups, TimeBox(5)),
    "enumerated, the gaps are known": lambda forest, domain, groups: build(
        forest, domain, known_values(groups, 0), TimeBox(5)
    ),
    "generated": lambda forest, domain, groups: build_any(forest, domain, groups, SEARCH, enumerate_small=False),
    "generated, the gaps are known": lambda forest, domain, groups: build_any(
        forest, domain, known_values(groups, 0), SEARCH, enumerate_small=False
    ),
    "regions": lambda forest, domain, groups: Regions.of(
        forest, domain, tuple(forest.counts(0)[tree.leaves] for tree in forest.trees), None
    ),
    "walks": lambda forest, domain, groups: Walks.of(forest, domain),
    "values": lambda forest, domain, groups: indices_of(domain, None, ROWS),
    "population": lambda forest, domain, groups: KnownPopulation.of(domain, ROWS, LABELS, 2),
    "informed of noise": lambda forest, domain, groups: noisy_score(
        replace(forest, observation=under(LAPLACE)),
        domain,
        CountNoise.of(LAPLACE),
        KnownRows(ROWS, LABELS, np.ones((1, 4), np.int64)),
        np.arange(4),
    ),
    "labels": lambda forest, domain, groups: build_labels(
        replace(forest, observation=under(Privacy("permute-and-flip", 1.0))), domain, 4
    ),
    "papers": lambda forest, domain, groups: RowModelInput.of(forest, domain),
}


@pytest.mark.parametrize("tested", [0, 1], ids=["tested", "not tested"])
@pytest.mark.parametrize("engine", ENGINES)
def test_an_engine_for_discrete_columns_refuses_missing_values(engine, tested, by_hand):
    forest = by_hand(2, (tested, [2, 1], [0, 1]))
    groups = group_by_occurrences(np.ones((1, 4), np.int64))
    with pytest.raises(NotCoveredError, match="column 'c0' may have missing values"):
        ENGINES[engine](forest, gapped(2), groups)


def test_the_papers_models_refuse_missing_values_of_numeric_columns_too(by_hand):
    attributes = (Attribute("c0", "numeric", (0,), 0.0, 9.0, missing=True),)
    with pytest.raises(NotCoveredError, match="column 'c0' may have missing values"):
        RowModelInput.of(by_hand(1, (0, [2, 1], [0, 1])), Domain(("c0",), attributes, "test"))


@pytest.mark.skipif(
    not COUNTS_MISSING, reason="before scikit-learn 1.9 counts need not be those of the rows sent there"
)
@pytest.mark.parametrize("kind", ["decision tree", "random forest", "random forest regressor", "bagging of columns"])
def test_files_of_older_versions_are_judged_where_their_counts_are_those_of_the_rows(kind, tmp_path):
    rows, labels = people(4)
    forest = replace(released(clone(MODELS[kind]).fit(rows, labels), tmp_path), sklearn_version="1.7.2")
    assert training_data((rows, labels), forest).n_rows == N_ROWS
    moved = rows.copy()
    moved[np.flatnonzero(~np.isnan(rows[:, 0]))[:40], 0] = np.nan
    for others in ((moved, labels), (rows[:-1], labels[:-1]), (np.roll(rows, 1, axis=0), labels)):
        with pytest.raises(NotCoveredError, match=r"1\.7 need not count them where it sends them"):
            training_data(others, forest)
