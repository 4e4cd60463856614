"""Boosters of LightGBM: what is read agrees with predictions and with the rows, and what is not judged."""

from __future__ import annotations

import pickle
import re

import numpy as np
import pytest

from pytest_draft.artifact import read
from pytest_draft.artifact.budget import DEFAULT_LIMITS, Budget
from pytest_draft.artifact.lightgbm.model import read_lightgbm
from pytest_draft.attack.boosted.staged import missed
from pytest_draft.attack.descent import leaf_positions
from pytest_draft.errors import ArtifactError, CorruptArtifactError

lightgbm = pytest.importorskip("lightgbm")

N_ROWS = 200
QUICK = {"n_estimators": 12, "min_child_samples": 5, "verbose": -1, "n_jobs": 1}


@pytest.fixture(scope="module")
def rows():
    random = np.random.RandomState(3)
    columns = np.column_stack(
        (random.randint(0, 2, N_ROWS), random.randint(0, 4, (N_ROWS, 2)), random.randn(N_ROWS, 2))
    )
    columns = columns.astype(np.float32).astype(np.float64)
    columns[random.rand(N_ROWS) < 0.2, 3] = np.nan
    return columns


@pytest.fixture(scope="module")
def score(rows):
    return rows[:, 0] + np.nan_to_num(rows[:, 3]) + np.random.RandomState(4).randn(N_ROWS)


@pytest.fixture(scope="module")
def targets(score):
    return {
        "two": np.where(score > 0.6, "yes", "no"),
        "three": np.array(["a", "b", "c"])[np.digitize(score, [0, 1.2])],
        "number": score,
        "count": np.random.RandomState(5).poisson(np.exp(score / 3)),
    }


def raw_scores(forest, columns):
    score = np.tile(forest.observation.base[:, None], (1, columns.shape[1]))
    for t, tree in enumerate(forest.trees):
        score[t % len(score)] += tree.value[tree.leaves, 0][leaf_positions(tree, columns)]
    return score.T.squeeze()


def labels_of(classes, labels):
    return np.zeros(len(labels), np.int64) if classes is None else np.searchsorted(np.array(classes), labels)


def trained(rows, labels, **parameters):
    """Return a classifier or, for numbers, a regressor."""
    kind = lightgbm.LGBMClassifier if labels.dtype.kind == "U" else lightgbm.LGBMRegressor
    return kind(**{**QUICK, **parameters}).fit(rows, labels)


def stored(model):
    return read_lightgbm(model.booster_.model_to_string().encode(), Budget(DEFAULT_LIMITS, 10**6))


@pytest.mark.parametrize("target", ["two", "three", "number", "count"])
@pytest.mark.parametrize("parameters", [{}, {"reg_lambda": 1.5, "learning_rate": 1 / 3}], ids=["default", "other"])
@pytest.mark.parametrize("pickled", [True, False])
def test_a_booster_agrees_with_its_predictions_and_with_its_rows_alone(
    target, parameters, pickled, rows, targets, dump, tmp_path
):
    labels = targets[target]
    if target == "count":
        parameters = {**parameters, "objective": "poisson"}
    model = trained(rows, labels, **parameters)
    path = dump(model)
    if not pickled:
        path = tmp_path / "model.txt"
        model.booster_.save_model(path)
    artifact = read(path)
    forest = artifact.forest
    assert artifact.not_covered is None
    assert forest.kind == (type(model).__name__ if pickled else "LightGBM booster")
    assert forest.n_samples == N_ROWS
    is_classifier = target in ("two", "three")
    names = model.classes_.tolist() if is_classifier else None
    if is_classifier:
        assert list(forest.classes) == (names if pickled else list(range(len(names))))
    else:
        assert forest.classes is None
    np.testing.assert_allclose(raw_scores(forest, rows.T), model.predict(rows, raw_score=True), rtol=0, atol=1e-12)
    label = labels_of(names, labels)
    assert missed(forest, rows.T, label) == 0
    shuffled = rows.T[np.random.RandomState(0).permutation(5)]
    assert missed(forest, shuffled, label) > 10
    if is_classifier:
        label[0] = (label[0] + 1) % len(names)
        assert missed(forest, rows.T, label) >= forest.n_trees // len(forest.observation.base)


def test_a_pickled_booster_is_read_like_its_text(rows, targets, dump):
    model = trained(rows, targets["two"])
    one, other = read(dump(model.booster_, "booster.pkl")).forest, stored(model).forest
    assert one.classes == other.classes == (0, 1)
    for tree, same in zip(one.trees, other.trees, strict=True):
        np.testing.assert_array_equal(tree.value, same.value)


def test_names_that_lightgbm_made_up_are_none(rows, targets):
    assert stored(trained(rows, targets["two"])).forest.feature_names is None
    pandas = pytest.importorskip("pandas")
    named = trained(pandas.DataFrame(rows, columns=list("abcde")), targets["two"])
    assert stored(named).forest.feature_names == tuple("abcde")


@pytest.mark.parametrize("from_average", [True, False])
@pytest.mark.parametrize("target", ["two", "three", "number"])
def test_trees_of_one_leaf_are_read(target, from_average, rows, targets):
    model = trained(rows, targets[target], min_child_samples=N_ROWS, boost_from_average=from_average)
    found = stored(model)
    label = labels_of(None if target == "number" else model.classes_, targets[target])
    assert found.not_covered is None
    assert missed(found.forest, rows.T, label) == 0
    np.testing.assert_allclose(raw_scores(found.forest, rows.T), model.predict(rows, raw_score=True), atol=1e-12)


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ({"reg_alpha": 0.5}, "lambda_l1"),
        ({"path_smooth": 2.0}, "path_smooth"),
        ({"max_delta_step": 0.3}, "max_delta_step"),
        ({"monotone_constraints": [1, 0, 0, 0, 0]}, "monotone_constraints"),
        ({"boosting_type": "dart"}, "dart"),
        ({"boosting_type": "rf", "subsample": 0.6, "subsample_freq": 1}, "averaged"),
        ({"data_sample_strategy": "goss"}, "goss"),
        ({"subsample": 0.7, "subsample_freq": 1}, "bagging"),
        ({"linear_tree": True}, "linear_tree"),
        ({"use_quantized_grad": True}, "use_quantized_grad"),
        ({"scale_pos_weight": 2.0}, "scale_pos_weight"),
        ({"is_unbalance": True}, "is_unbalance"),
        ({"class_weight": "balanced"}, "hessians"),
        ({"sigmoid": 2.0}, "sigmoid"),
        ({"zero_as_missing": True}, "zero_as_missing"),
        ({"objective": "cross_entropy"}, "cross_entropy"),
    ],
)
def test_what_changes_the_equations_is_read_and_not_judged(parameters, named, rows, score):
    labels = np.where(score > 0.9, "yes", "no")
    found = stored(trained(rows, labels, **parameters))
    assert named in found.not_covered
    assert "\n" not in found.not_covered
    assert found.forest.n_trees > 0


def test_weights_and_scores_that_are_not_in_the_file_are_noticed(rows, targets):
    labels = (targets["two"] == "yes").astype(int)
    for given in ({"sample_weight": np.full(N_ROWS, 2.0)}, {"init_score": np.full(N_ROWS, 0.5)}):
        model = lightgbm.LGBMClassifier(**QUICK).fit(rows, labels, **given)
        assert "hessians" in stored(model).not_covered


def test_trees_that_were_not_grown_in_one_go_are_noticed(rows, targets):
    labels = (targets["two"] == "yes").astype(int)
    model = lightgbm.LGBMClassifier(**QUICK).fit(rows, labels)
    longer = lightgbm.LGBMClassifier(**QUICK).fit(rows, labels, init_model=model)
    assert "init_model" in stored(longer).not_covered
    again = model.booster_.refit(rows, labels).model_to_string()
    assert read_lightgbm(again.encode(), Budget(DEFAULT_LIMITS, 10**6)).not_covered is not None
    slower = lightgbm.reset_parameter(learning_rate=lambda index: 0.1 * 0.9**index)
    assert "learning rate" in stored(lightgbm.LGBMClassifier(**QUICK).fit(rows, labels, callbacks=[slower])).not_covered


def test_splits_on_categories_are_read_and_not_judged(rows, targets):
    model = lightgbm.LGBMClassifier(**QUICK, min_data_per_group=5)
    model.fit(rows[:, :3], targets["two"], categorical_feature=[0, 1])
    assert "categories" in stored(model).not_covered


def test_a_model_that_was_not_fitted_is_refused_in_one_line(dump):
    with pytest.raises(ArtifactError, match="fit it before"):
        read(dump(lightgbm.LGBMClassifier()))


def test_classes_of_a_pickle_that_contradict_each_other_are_refused(rows, targets, dump):
    model = pickle.loads(pickle.dumps(trained(rows, targets["two"])))
    model._classes = np.array(["yes", "no"])
    with pytest.raises(CorruptArtifactError, match="not in order"):
        read(dump(model))


@pytest.fixture(scope="module")
def text(rows, targets):
    return trained(rows, targets["two"]).booster_.model_to_string()


@pytest.mark.parametrize(
    ("pattern", "becomes"),
    [
        (r"(left_child)=\S+", r"\1=9999"),
        (r"(left_child)=\S+", r"\1=0"),
        (r"(right_child)=\S+", r"\1=-9999"),
        (r"(split_feature)=\S+", r"\1=77"),
        (r"(split_feature)=\S+", r"\1=-1"),
        (r"(threshold)=\S+", r"\1=nan"),
        (r"(leaf_value)=\S+", r"\1=inf"),
        (r"(leaf_value)=\S+ ", r"\1="),
        (r"(leaf_weight)=\S+", r"\1=-1"),
        (r"(leaf_count)=\S+", r"\1=7.5"),
        (r"(leaf_count)=\S+", r"\1=99999999999999999999999"),
        (r"(internal_count)=\S+", r"\1=199"),
        (r"(num_leaves)=\S+", r"\1=99999999999"),
        (r"(decision_type)=\S+", r"\1=255"),
        (r"(max_feature_idx)=\S+", r"\1=1000000000000"),
        (r"(num_tree_per_iteration)=\S+", r"\1=5"),
        (r"Tree=1\n", "Tree=7\n"),
        (r"num_cat=0\n", "num_cat=0\nnum_cat=0\n"),
        (r"end of trees", "end"),
        (r"\[learning_rate: \S+\]", "[learning_rate: much]"),
    ],
)
def test_a_damaged_text_is_refused_in_one_line(pattern, becomes, text):
    changed = re.sub(pattern, becomes, text, count=1)
    assert changed != text
    with pytest.raises(ArtifactError) as refusal:
        read_lightgbm(changed.encode(), Budget(DEFAULT_LIMITS, 10**6))
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("pattern", "becomes"),
    [
        (r"(leaf_value=)(\S+)", r"\g<1>0.7"),
        (r"(leaf_weight=)(\S+)", r"\g<1>3.0"),
        (r"is_linear=0\n", "is_linear=0\nspare=1\n"),
        (r"\[lambda_l1: 0\]", "[lambda_l1: 0]\n[lambda_l3: 1]"),
        (r"parameters:\n(.*\n)*end of parameters\n", ""),
        (r"objective=\S+ \S+\n", ""),
    ],
)
def test_a_text_that_does_not_say_what_its_rows_would_is_not_judged(pattern, becomes, text):
    changed = re.sub(pattern, becomes, text, count=1)
    assert changed != text
    assert read_lightgbm(changed.encode(), Budget(DEFAULT_LIMITS, 10**6)).not_covered is not None


def test_text_between_the_fields_is_listed(text):
    found = read_lightgbm((text + "\na line about somebody\n").encode(), Budget(DEFAULT_LIMITS, 10**6))
    assert found.contents.opaque


def test_every_cut_is_refused(text, dump):
    content = text.encode()
    end = content.index(b"end of trees")
    for cut in np.linspace(20, end, 40).astype(int):
        with pytest.raises(ArtifactError) as refusal:
            read(dump(content[:cut], "cut.txt"))
        assert "\n" not in str(refusal.value)
