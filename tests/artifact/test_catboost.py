"""Files of CatBoost that were changed, classes of all types, and leaves of several steps."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np
import pytest

from profiles import examples
from pytest_draft.artifact import read
from pytest_draft.artifact.budget import DEFAULT_LIMITS, Budget
from pytest_draft.artifact.catboost.model import read_catboost
from pytest_draft.attack.descent import leaf_positions
from pytest_draft.errors import ArtifactError, CorruptArtifactError, UnsupportedArtifactError

FOLDER = Path(__file__).parent / "files" / "boosters"
STORED = {form: (FOLDER / f"catboost-1.2.10-two.{form}").read_bytes() for form in ("json", "cbm")}
QUICK = {"iterations": 6, "depth": 3, "verbose": 0, "allow_writing_files": False, "thread_count": 1}
ROWS = np.random.RandomState(3).normal(size=(200, 3)).round(1).astype(np.float32)
LABEL = (ROWS[:, 0] + np.random.RandomState(4).normal(size=200) > 0.3).astype(int)


def trained(rows=ROWS, labels=LABEL, **parameters):
    return pytest.importorskip("catboost").CatBoostClassifier(**QUICK, **parameters).fit(rows, labels)


def saved(model, tmp_path, form):
    path = tmp_path / f"model.{form}"
    model.save_model(str(path), format=form)
    return path


def booster_in(content):
    return read_catboost(content, Budget(DEFAULT_LIMITS, 10**6))


@pytest.mark.parametrize(
    "labels", [[False, True], [0, 7], [-2.0, 1.5], ["a", "b"]], ids=["bool", "int", "float", "str"]
)
def test_classes_are_those_of_the_labels(labels, tmp_path):
    model = trained(labels=np.array(labels)[LABEL])
    for form in ("json", "cbm"):
        found = read(saved(model, tmp_path, form)).forest.classes
        assert list(found) == labels
        assert [type(one) for one in found] == [type(one) for one in labels]


@pytest.mark.parametrize("from_average", [True, False])
def test_several_newton_steps_lead_to_the_values_of_leaves(from_average, tmp_path):
    model = trained(leaf_estimation_iterations=5, leaf_estimation_backtracking="No", boost_from_average=from_average)
    forest = read(saved(model, tmp_path, "json")).forest
    how = forest.observation.steps
    assert (how.steps, how.l2) == (5, 3.0)
    score = np.full(len(LABEL), forest.observation.base[0])
    for tree in forest.trees:
        leaf, n_leaves = leaf_positions(tree, ROWS.T), len(tree.leaves)
        total = np.zeros(n_leaves)
        for _ in range(how.steps):
            p = 1 / (1 + np.exp(-score - total[leaf]))
            gradient, hessian = (np.bincount(leaf, one, minlength=n_leaves) for one in (p - LABEL, p * (1 - p)))
            total = total - gradient / (hessian + how.l2)
        np.testing.assert_allclose(total * how.learning_rate, tree.value[tree.leaves, 0], rtol=0, atol=1e-12)
        score += tree.value[tree.leaves, 0][leaf]


def test_categories_are_refused(tmp_path):
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(ROWS).assign(kind=np.where(ROWS[:, 0] > 0, "x", "y"))
    model = trained(table, cat_features=["kind"])
    with pytest.raises(UnsupportedArtifactError, match="categories"):
        read(saved(model, tmp_path, "cbm"))


def changed(place, value):
    """Return a JSON file with another value at a place."""
    model = json.loads(STORED["json"])
    inner = model
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    return json.dumps(model).encode()


TREE = ("oblivious_trees", 0)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ((*TREE, "leaf_values"), []),
        ((*TREE, "leaf_values", 0), "much"),
        ((*TREE, "leaf_values", 0), True),
        ((*TREE, "leaf_weights"), [1]),
        ((*TREE, "splits", 0, "float_feature_index"), 99),
        ((*TREE, "splits", 0, "float_feature_index"), -1),
        ((*TREE, "splits", 0, "border"), None),
        ((*TREE, "splits"), [{}] * 40),
        (("oblivious_trees",), []),
        (("oblivious_trees",), {}),
        (("scale_and_bias",), [1]),
        (("scale_and_bias",), [1, [0, 0]]),
        (("features_info", "float_features", 0, "flat_feature_index"), 7),
        (("features_info", "float_features", 0, "borders"), [2, 1]),
        (("features_info", "float_features"), []),
        (("model_info", "class_params", "class_names"), [1]),
        (("model_info", "params", "boosting_options", "learning_rate"), 0),
        (("model_info", "params", "tree_learner_options"), None),
    ],
)
def test_damaged_json_is_refused_in_one_line(place, value):
    with pytest.raises(ArtifactError) as refusal:
        booster_in(changed(place, value))
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ((*TREE, "leaf_values", 0), 0.5),
        ((*TREE, "leaf_weights", 0), 1.5),
        (("scale_and_bias",), [2, [0]]),
        (("model_info",), {}),
        (("model_info", "params", "task_type"), "GPU"),
        (("model_info", "params", "new_option"), 1),
        (("model_info", "params", "tree_learner_options", "new_option"), 1),
        (("model_info", "params", "loss_function", "params"), {"border": "0.3"}),
        (("model_info", "params", "system_options", "node_type"), "Master"),
    ],
)
def test_json_that_does_not_say_what_its_rows_would_is_not_judged(place, value):
    assert booster_in(changed(place, value)).not_covered is not None


def test_changed_bytes_of_cbm_are_read_or_refused_in_one_line(dump):
    random = np.random.RandomState(1)
    ended = set()
    for _ in range(examples(60)):
        mutant = bytearray(STORED["cbm"])
        for _ in range(random.randint(1, 4)):
            mutant[random.randint(len(mutant))] = random.randint(256)
        if random.rand() < 0.2:
            del mutant[random.randint(8, len(mutant)) :]
        try:
            read(dump(bytes(mutant), "mutant.cbm"))
            ended.add("read")
        except ArtifactError as refusal:
            assert "\n" not in str(refusal)
            assert "makes no sense" not in str(refusal), refusal
            ended.add(refusal.kind)
    assert {"read", "corrupt"} <= ended


@pytest.mark.parametrize("place", [("model_info", "note"), ("note",)])
def test_entries_of_other_names_are_listed(place):
    assert booster_in(changed(place, "somebody")).contents.opaque
    assert not booster_in(STORED["json"]).contents.opaque
    assert not booster_in(STORED["cbm"]).contents.opaque


def test_bytes_behind_a_cbm_are_refused():
    with pytest.raises(CorruptArtifactError, match="stand behind"):
        booster_in(STORED["cbm"] + b"somebody")


def test_a_pickle_with_something_else_for_its_model_is_refused(dump):
    path = dump(b"", "model.pkl")
    path.write_bytes(pickle.dumps(trained()).replace(b"CBM1", b"CBM2"))
    with pytest.raises(CorruptArtifactError, match="no model of CatBoost"):
        read(path)
