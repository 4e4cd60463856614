"""The settings to begin with: ever smaller, for each kind that is judged, and told where a model of it failed."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from pytest_draft.facts.entropy import Between
from pytest_draft.facts.files import ArtifactFacts
from pytest_draft.facts.structure import StructureFacts
from pytest_draft.policy.remedies import smaller
from pytest_draft.policy.starting_settings import SETTINGS, settings_of

STARTS = {
    "RandomForestClassifier": "n_estimators=30, max_leaf_nodes=4",
    "ExtraTreesRegressor": "n_estimators=30, max_leaf_nodes=4",
    "DecisionTreeClassifier": "max_leaf_nodes=8",
    "ExtraTreeRegressor": "max_leaf_nodes=8",
    "BaggingClassifier": "n_estimators=30, estimator__max_leaf_nodes=4",
    "GradientBoostingRegressor": "n_estimators=10, max_depth=2",
    "HistGradientBoostingClassifier": "max_iter=10, max_leaf_nodes=4",
    "XGBClassifier": "n_estimators=10, max_depth=2",
    "LGBMRegressor": "n_estimators=10, num_leaves=4",
    "CatBoostClassifier": "iterations=10, depth=2",
}


@pytest.mark.parametrize("kind", STARTS)
def test_a_remedy_names_the_setting_to_start_with(kind):
    said = smaller(ArtifactFacts("model", n_trees=100, kind=kind))
    assert said == f"retrain with fewer and smaller trees: start with {STARTS[kind]}"


def test_a_kind_without_settings_has_a_remedy_without_numbers():
    assert settings_of("IsolationForest") is None
    assert (
        smaller(ArtifactFacts("model", n_trees=100, kind="IsolationForest")) == "retrain with fewer and smaller trees"
    )


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda one: one.kinds[0])
def test_what_is_left_to_try_has_fewer_leaves(settings):
    later = settings.settings[settings.settings.index(settings.start) :]
    assert all(one.leaves >= other.leaves for one, other in itertools.pairwise(later))


@pytest.mark.parametrize(
    ("leaves", "start"),
    [(3_000, (30, 4)), (121, (30, 4)), (120, (10, 4)), (60, (10, 4)), (35, (10, 3)), (11, (5, 2)), (4, (5, 2))],
)
def test_no_remedy_names_more_leaves_than_the_file_has_that_failed(leaves, start):
    structure = StructureFacts(
        "leaf", leaves, 5, 5.0, (0, 0, 0, leaves, 0, 0, 0, 0), Between(0, 0), (0, 0), Between(0, 0)
    )
    facts = replace(ArtifactFacts("model", n_trees=30, kind="RandomForestClassifier"), structure=structure)
    assert smaller(facts).endswith("start with n_estimators={}, max_leaf_nodes={}".format(*start))
