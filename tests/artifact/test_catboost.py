"""Models of CatBoost: what is read agrees with predictions and with the rows, and what is not judged."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

from pytest_draft.artifact import read
from pytest_draft.artifact.budget import DEFAULT_LIMITS, Budget
from pytest_draft.artifact.catboost.model import read_catboost
from pytest_draft.attack.boosted.staged import at_nodes, missed, stages
from pytest_draft.attack.descent import leaf_positions
from pytest_draft.errors import ArtifactError, CorruptArtifactError, UnsupportedArtifactError

catboost = pytest.importorskip("catboost")

N_ROWS = 200
QUICK = {"iterations": 12, "depth": 3, "verbose": 0, "allow_writing_files": False, "thread_count": 1}
LOSSES = {"two": "Logloss", "three": "MultiClass", "number": "RMSE", "count": "Poisson"}


@pytest.fixture(scope="module")
def rows():
    random = np.random.RandomState(3)
    columns = np.column_stack(
        (random.randint(0, 2, N_ROWS), random.randint(0, 4, (N_ROWS, 2)), random.randn(N_ROWS, 2))
    )
    columns = columns.astype(np.float32)
    columns[random.rand(N_ROWS) < 0.2, 3] = np.nan
    return columns


@pytest.fixture(scope="module")
def targets(rows):
    score = rows[:, 0] + np.nan_to_num(rows[:, 3]) + np.random.RandomState(4).randn(N_ROWS)
    return {
        "two": np.where(score > 0.6, "yes", "no"),
        "three": np.array(["a", "b", "c"])[np.digitize(score, [0, 1.2])],
        "number": score.astype(np.float32).astype(np.float64),
        "count": np.random.RandomState(5).poisson(np.exp(score / 3)).astype(np.float64),
    }


def trained(rows, labels, **parameters):
    kind = catboost.CatBoostClassifier if labels.dtype.kind in "iU" else catboost.CatBoostRegressor
    return kind(**{**QUICK, **parameters}).fit(rows, labels)


def saved(model, tmp_path, form):
    path = tmp_path / f"model.{form}"
    model.save_model(str(path), format=form)
    return path


def raw_scores(forest, columns):
    score = np.tile(forest.observation.base[:, None], (1, columns.shape[1]))
    for t, tree in enumerate(forest.trees):
        score[t % len(score)] += tree.value[tree.leaves, 0][leaf_positions(tree, columns)]
    return score.T.squeeze()


def label_of(model, labels):
    is_classifier = labels.dtype.kind in "iU"
    return np.searchsorted(model.classes_, labels) if is_classifier else np.zeros(len(labels), np.int64)


def furthest(forest, columns, target):
    """Return how far the targets of a regressor miss its statements, of their tolerance."""
    worst = 0.0
    for stage in stages(forest, columns):
        tree, own = forest.trees[stage.tree], forest.observation.statements[stage.tree]
        gradient = stage.gradient[:, 0] - target
        of_row = np.stack((np.ones(len(target)), gradient, stage.hessian, gradient**2))
        sums = np.stack([at_nodes(tree.left, tree.right, stage.leaf, one) for one in of_row])
        found = np.einsum("sk,ks->s", own.weight, sums[:, own.node])
        worst = max(worst, float((np.abs(found - own.total) / own.tolerance).max(initial=0)))
    return worst


@pytest.mark.parametrize("form", ["json", "cbm", "joblib"])
@pytest.mark.parametrize("policy", ["SymmetricTree", "Lossguide"])
@pytest.mark.parametrize("target", LOSSES)
def test_a_model_agrees_with_its_predictions_and_with_its_rows_alone(
    target, policy, form, rows, targets, dump, tmp_path
):
    labels = targets[target]
    model = trained(rows, labels, loss_function=LOSSES[target], grow_policy=policy, leaf_estimation_iterations=1)
    path = dump(model) if form == "joblib" else saved(model, tmp_path, form)
    if policy == "Lossguide" and form != "json":
        with pytest.raises(UnsupportedArtifactError, match="JSON"):
            read(path)
        return
    artifact = read(path)
    forest = artifact.forest
    assert artifact.not_covered is None
    assert forest.kind == (type(model).__name__ if form == "joblib" else "CatBoost booster")
    assert forest.n_samples == N_ROWS
    assert (forest.classes is None) == (target in ("number", "count"))
    if forest.classes is not None:
        assert list(forest.classes) == model.classes_.tolist()
    expected = model.predict(rows, prediction_type="RawFormulaVal")
    np.testing.assert_allclose(raw_scores(forest, rows.T), expected, rtol=0, atol=1e-12)
    label = label_of(model, labels)
    assert missed(forest, rows.T, label) == 0
    assert missed(forest, rows.T[[1, 0, 4, 2, 3]], label) > 10
    if target == "two":
        label[0] = 1 - label[0]
        assert missed(forest, rows.T, label) >= forest.n_trees
    if forest.classes is None:
        assert furthest(forest, rows.T, labels) < 1 < furthest(forest, rows.T, labels[::-1])


@pytest.mark.parametrize(
    "labels", [[False, True], [0, 7], [-2.0, 1.5], ["a", "b"]], ids=["bool", "int", "float", "str"]
)
def test_classes_are_those_of_the_labels(labels, rows, targets, tmp_path):
    own = np.array(labels)[(targets["two"] == "yes").astype(int)]
    model = catboost.CatBoostClassifier(**QUICK).fit(rows, own)
    for form in ("json", "cbm"):
        found = read(saved(model, tmp_path, form)).forest.classes
        assert list(found) == labels
        assert [type(one) for one in found] == [type(one) for one in labels]


@pytest.mark.parametrize("target", ["two", "count"])
def test_gradient_steps_are_stated(target, rows, targets, tmp_path):
    labels = targets[target]
    model = trained(
        rows, labels, loss_function=LOSSES[target], leaf_estimation_method="Gradient", leaf_estimation_iterations=1
    )
    found = read(saved(model, tmp_path, "cbm"))
    assert found.not_covered is None
    assert missed(found.forest, rows.T, label_of(model, labels)) == 0
    assert sum(len(own.node) for own in found.forest.observation.statements) > 50
    if target == "count":
        assert furthest(found.forest, rows.T, labels) < 1


@pytest.mark.parametrize("from_average", [True, False])
def test_several_newton_steps_lead_to_the_values_of_leaves(from_average, rows, targets, tmp_path):
    model = trained(
        rows,
        targets["two"],
        leaf_estimation_iterations=5,
        leaf_estimation_backtracking="No",
        boost_from_average=from_average,
    )
    forest = read(saved(model, tmp_path, "json")).forest
    how, label = forest.observation.steps, label_of(model, targets["two"])
    assert (how.steps, how.l2) == (5, 3.0)
    score = np.full(N_ROWS, forest.observation.base[0])
    for tree in forest.trees:
        leaf, n_leaves = leaf_positions(tree, rows.T), len(tree.leaves)
        total = np.zeros(n_leaves)
        for _ in range(how.steps):
            p = 1 / (1 + np.exp(-score - total[leaf]))
            gradient, hessian = (np.bincount(leaf, one, minlength=n_leaves) for one in (p - label, p * (1 - p)))
            total = total - gradient / (hessian + how.l2)
        np.testing.assert_allclose(total * how.learning_rate, tree.value[tree.leaves, 0], rtol=0, atol=1e-12)
        score += tree.value[tree.leaves, 0][leaf]


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ({"boosting_type": "Ordered"}, "Ordered"),
        ({"class_weights": [1, 2]}, "class_weights"),
        ({"auto_class_weights": "Balanced"}, "auto_class_weights"),
        ({"monotone_constraints": [1, 0, 0, 0, 0], "model_shrink_rate": 0}, "monotone_constraints"),
        ({"model_shrink_rate": 0.1}, "model_shrink_rate"),
        ({"langevin": True}, "langevin"),
        ({"eval_fraction": 0.2}, "eval_fraction"),
        ({"loss_function": "CrossEntropy"}, "CrossEntropy"),
    ],
)
@pytest.mark.parametrize("form", ["json", "cbm"])
def test_what_changes_the_equations_is_read_and_not_judged(parameters, named, form, rows, targets, tmp_path):
    labels = (targets["two"] == "yes").astype(int)
    model = catboost.CatBoost({"loss_function": "Logloss", **QUICK, **parameters}).fit(rows, labels)
    artifact = read(saved(model, tmp_path, form))
    assert named in artifact.not_covered
    assert "\n" not in artifact.not_covered


@pytest.mark.parametrize("steps", [1, 10])
@pytest.mark.parametrize(
    "given",
    [
        {"weight": np.linspace(0.5, 2, N_ROWS)},
        {"weight": np.arange(N_ROWS) % 3 + 1},
        {"baseline": np.linspace(-1, 1, N_ROWS)},
    ],
    ids=["weights", "whole weights", "baseline"],
)
def test_weights_and_scores_that_are_not_in_the_file_are_noticed(given, steps, rows, targets, tmp_path):
    pool = catboost.Pool(rows, (targets["two"] == "yes").astype(int), **given)
    model = catboost.CatBoost({"loss_function": "Logloss", "leaf_estimation_iterations": steps, **QUICK}).fit(pool)
    assert "train without" in read(saved(model, tmp_path, "cbm")).not_covered


def test_a_model_that_was_trained_on_is_noticed(rows, targets, tmp_path):
    labels = targets["two"]
    model = catboost.CatBoostClassifier(**QUICK).fit(rows, labels, init_model=trained(rows, labels))
    assert "init_model" in read(saved(model, tmp_path, "json")).not_covered


def test_categories_are_refused(rows, targets, tmp_path):
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(rows).assign(kind=np.where(rows[:, 0] > 0, "x", "y"))
    model = catboost.CatBoostClassifier(**QUICK, cat_features=["kind"]).fit(table, targets["two"])
    with pytest.raises(UnsupportedArtifactError, match="categories"):
        read(saved(model, tmp_path, "cbm"))


def test_a_model_that_was_not_fitted_is_refused_in_one_line(dump):
    with pytest.raises(ArtifactError, match="fit it before"):
        read(dump(catboost.CatBoostClassifier()))


@pytest.fixture(scope="module")
def content(rows, targets, tmp_path_factory):
    model = trained(rows, targets["two"])
    return {form: saved(model, tmp_path_factory.mktemp("models"), form).read_bytes() for form in ("json", "cbm")}


def changed(content, place, value):
    """Return a JSON file with another value at a place."""
    model = json.loads(content["json"])
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
def test_damaged_json_is_refused_in_one_line(place, value, content):
    with pytest.raises(ArtifactError) as refusal:
        read_catboost(changed(content, place, value), Budget(DEFAULT_LIMITS, 10**6))
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
def test_json_that_does_not_say_what_its_rows_would_is_not_judged(place, value, content):
    assert read_catboost(changed(content, place, value), Budget(DEFAULT_LIMITS, 10**6)).not_covered is not None


def test_changed_bytes_of_cbm_are_read_or_refused_in_one_line(content, dump):
    random = np.random.RandomState(1)
    ended = set()
    for _ in range(300):
        mutant = bytearray(content["cbm"])
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
def test_entries_of_other_names_are_listed(place, content):
    assert read_catboost(changed(content, place, "somebody"), Budget(DEFAULT_LIMITS, 10**6)).contents.opaque
    assert not read_catboost(content["json"], Budget(DEFAULT_LIMITS, 10**6)).contents.opaque
    assert not read_catboost(content["cbm"], Budget(DEFAULT_LIMITS, 10**6)).contents.opaque


def test_bytes_behind_a_cbm_are_refused(content):
    with pytest.raises(CorruptArtifactError, match="stand behind"):
        read_catboost(content["cbm"] + b"somebody", Budget(DEFAULT_LIMITS, 10**6))


def test_a_pickle_with_something_else_for_its_model_is_refused(rows, targets, dump):
    path = dump(b"", "model.pkl")
    path.write_bytes(pickle.dumps(trained(rows, targets["two"])).replace(b"CBM1", b"CBM2"))
    with pytest.raises(CorruptArtifactError, match="no model of CatBoost"):
        read(path)
