"""Whatever in a file has the form of a fitted tree and is not the model's is found, wherever it stands."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
)
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from pytest_draft.artifact import read
from pytest_draft.artifact.world.contents import Contents
from pytest_draft.artifact.world.unjudged import Unjudged, unjudged_trees
from pytest_draft.dp import LaplaceForestClassifier
from pytest_draft.errors import SeveralModelsError


@pytest.fixture(scope="module")
def other(columns, classes):
    """Return another forest, which a file may hold as well."""
    return RandomForestClassifier(4, random_state=8).fit(columns, classes)


@pytest.fixture
def places(dump):
    """Return a function that says where a model's file holds fitted trees besides the model."""

    def of(model, name: str = "model.joblib") -> dict[str, int]:
        found = read(dump(model, name)).unjudged
        assert found.complete
        assert (found.why is None) == (not found.places)
        return dict(found.places)

    return of


def objects(*items):
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array


def as_lists(tree):
    return {name: part.tolist() if isinstance(part, np.ndarray) else part for name, part in tree.__getstate__().items()}


def private() -> LaplaceForestClassifier:
    """Return a private forest of two stumps, with what a fit would have left that is needed here."""
    forest = LaplaceForestClassifier(2)
    forest.children_left_, forest.children_right_ = np.array([1, -1, -1]), np.array([2, -1, -1])
    forest.counts_ = np.zeros((2, 3, 2), int)
    return forest


HELD = {
    "its trees": (lambda other, _: other.estimators_, 4),
    "itself, in a dict in a list": (lambda other, _: [{"a": (0, {"b": other})}], 4),
    "in an array of objects": (lambda other, _: objects(None, other), 4),
    "a tree's state": (lambda other, _: other[0].tree_.__getstate__(), 1),
    "a tree's nodes": (lambda other, _: other[0].tree_.__getstate__()["nodes"], 1),
    "a tree itself, as a dictionary's key": (lambda other, _: {(other[0].tree_,): 1}, 1),
    "numbers of children": (lambda other, _: other[0].tree_.children_left, 1),
    "a table of nodes": (
        lambda other, _: np.c_[other[0].tree_.threshold, other[0].tree_.children_right, other[0].tree_.feature],
        1,
    ),
    "lists of numbers": (lambda other, _: [other[0].tree_.feature.tolist(), other[0].tree_.children_left.tolist()], 1),
    "nodes in each other": (
        lambda *_: {"feature": 1, "threshold": 0.5, "left": {"value": [3, 0]}, "right": {"value": [0, 4]}},
        1,
    ),
    "an isolation forest": (lambda _, rows: IsolationForest(n_estimators=3).fit(rows[0]), 3),
    "AdaBoost": (lambda _, rows: AdaBoostClassifier(n_estimators=2, random_state=0).fit(*rows), 2),
    "trees of gradient boosting": (
        lambda _, rows: GradientBoostingClassifier(n_estimators=2).fit(*rows).estimators_,
        6,
    ),
    "trees of histograms": (
        lambda _, rows: HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=3).fit(*rows)._predictors,
        6,
    ),
    "a private forest": (lambda *_: private(), 2),
}


@pytest.mark.nightly(quick=15)
@pytest.mark.parametrize("name", ["model.joblib", "model.pkl"])
@pytest.mark.parametrize("kind", HELD)
def test_fitted_trees_are_found_in_every_form(kind, name, forest, other, columns, classes, places):
    hold, number = HELD[kind]
    forest.kept = hold(other, (columns, np.unique(classes, return_inverse=True)[1]))
    assert places(forest, name) == {"kept": number}


def test_a_trees_state_as_lists_is_found_by_its_nodes(forest, other, places):
    """So sklearn-json writes a tree; a small one has no more numbers than people save beside a model."""
    forest.kept = as_lists(other[0].tree_)
    assert sum(places(forest).values()) == 1


def test_a_search_that_was_given_a_fitted_forest_keeps_it(forest, columns, classes, places):
    search = GridSearchCV(forest, {"max_depth": [2]}, cv=2).fit(columns, classes)
    with pytest.raises(SeveralModelsError, match=r"2 models.*: best_estimator_, estimator$"):
        places(search)  # which is judged, too
    search.estimator = clone(forest)
    assert places(search) == {"scorer_": 3}  # which asks the estimator for its score
    assert places(search.best_estimator_) == {}


@pytest.mark.parametrize("tree", [DecisionTreeClassifier, ExtraTreeClassifier])
def test_bagging_that_was_given_a_fitted_tree_keeps_it(tree, columns, classes, places):
    bagged = BaggingClassifier(tree().fit(columns, classes), 3).fit(columns, classes)
    assert places(bagged) == {"estimator": 1}
    bagged.estimator = bagged.estimator_ = clone(bagged.estimator)
    assert places(bagged) == {}


def test_what_stands_in_pipelines_searches_and_steps_is_found_by_the_attribute_that_holds_it(
    forest, other, columns, classes, places
):
    search = GridSearchCV(make_pipeline(StandardScaler(), clone(forest)), {"steps": [None]}, cv=2)
    search.set_params(param_grid={"randomforestclassifier__max_depth": [2]}).fit(columns, classes)
    search.best_estimator_.note_ = other
    search.best_estimator_[0].near = {"Ann": [copy.deepcopy(other[0])]}
    search.best_estimator_[1].estimators_[1].backup = make_pipeline(StandardScaler(), copy.deepcopy(other))
    search.best_estimator_.second = make_pipeline(StandardScaler(), ExtraTreesRegressor(2)).fit(columns, columns[:, 0])
    assert places(search) == {
        "best_estimator_.steps[0][1].near": 1,
        "best_estimator_.steps[1][1].estimators_[1].backup": 4,
        "best_estimator_.note_": 4,
        "best_estimator_.second": 2,
    }


def test_a_seed_in_another_copy_of_a_judged_tree_is_not_hidden_by_it(forest, places):
    forest.again = [copy.copy(forest[0])]
    assert places(forest) == {"again": 1}


@pytest.mark.parametrize("name", ["criterion", "random_state", "max_samples", "feature_names_in_"])
def test_an_attribute_that_a_reader_needs_hides_nothing(name, forest, other, places):
    setattr(forest, name, [other] if name != "random_state" else other)
    if name == "feature_names_in_":
        del forest.feature_names_in_
        forest[0].feature_names_in_ = [other]
    assert sum(places(forest).values()) == 4


def test_the_models_own_trees_may_be_referred_to_again(forest, places):
    forest.me, forest.best, forest.nodes = forest, forest[1], [tree.tree_ for tree in forest]
    assert places(forest) == {}


HONEST = {
    "forest": lambda rows: RandomForestClassifier(3, random_state=np.random.RandomState(1)).fit(*rows),
    "stump": lambda rows: DecisionTreeClassifier(max_depth=1).fit(*rows),
    "search": lambda rows: GridSearchCV(ExtraTreeClassifier(), {"max_depth": [1, 2]}, cv=2).fit(*rows),
    "bagging": lambda rows: BaggingClassifier(DecisionTreeClassifier(max_depth=2), 3).fit(*rows),
    "pipeline": lambda rows: make_pipeline(
        make_column_transformer((OneHotEncoder(), [0]), (StandardScaler(), [4]), remainder="passthrough"),
        RandomForestClassifier(3, class_weight="balanced", oob_score=True),
    ).fit(*rows),
}


@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
@pytest.mark.parametrize("name", ["model.joblib", "model.pkl"])
@pytest.mark.parametrize("kind", HONEST)
def test_an_honest_file_holds_none(kind, name, columns, classes, places):
    assert places(HONEST[kind]((columns, np.unique(classes, return_inverse=True)[1])), name) == {}


def test_short_and_other_arrays_are_no_children(forest, places):
    forest.signs = [1, -1, -1]
    forest.codes = np.array([-1, -1, -1, 4, -1, 4, 6])
    forest.missing = np.array([1.0, -1.0, np.nan, -1.0, -1.0])
    forest.constraints = [1, -1, 0, -1, -1]
    assert places(forest) == {}


def test_only_the_first_places_are_named_each_in_one_line(forest, other, dump):
    for index in range(5):
        setattr(forest, f"kept\n{index}", other[0])
        setattr(forest, f"more{index}", clone(other[1]).fit(np.eye(6), np.eye(6)[0]))
    why = read(dump(forest)).unjudged.why
    assert why.startswith("the file holds 6 fitted trees that are no part of the model and were not judged (1 in kept")
    assert "and 3 more places): save the model without them" in why
    assert why.isprintable()


class Endless:
    """A clock that is always too late."""

    def __call__(self) -> float:
        self.now = getattr(self, "now", 0.0) + 1e9
        return self.now


def test_a_search_that_was_cut_short_says_so(other):
    root = [[index] for index in range(10_000)]
    for limit in ({"most_steps": 100}, {"clock": Endless()}):
        found = unjudged_trees(root, (), (), Contents(), **limit)
        assert found == Unjudged(complete=False)
        assert "not searched to its end for further fitted trees" in found.why
    assert unjudged_trees(root, (), (), Contents()) == Unjudged()


@pytest.mark.nightly
def test_cycles_shared_parts_and_deep_nests_cost_little(forest, dump):
    cycle: list = [{}]
    cycle[0]["me"] = cycle
    forest.cycle = cycle
    shared = [0]
    for _ in range(60):
        shared = [shared, shared]
    forest.shared = shared
    assert read(dump(forest)).unjudged == Unjudged()
    deep: list = []
    for _ in range(200_000):
        deep = [deep]
    assert unjudged_trees(deep, (), (), Contents()) == Unjudged()
