"""Each question about a reader of boosted trees, asked of each library.

The true rows explain all that a file says, and others do not; trees add up to the library's own scores; what changes
the equations is read, named and not judged; the number of rows is right or not known.
"""

from __future__ import annotations

import importlib
import pickle
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

from pytest_draft.artifact import read
from pytest_draft.artifact.forest.observations import DRAWS
from pytest_draft.artifact.forest.observations import WEIGHTS as OF_ROWS
from pytest_draft.artifact.forest.round_masks import of_scikit_learn
from pytest_draft.attack.boosted.staged import missed, stages, with_amounts
from pytest_draft.errors import UnsupportedArtifactError

N_ROWS = 200
RANDOM = np.random.RandomState(3)
PLAIN = np.hstack((RANDOM.randint(0, 3, (N_ROWS, 3)), RANDOM.normal(size=(N_ROWS, 2)).round(1))).astype(np.float32)
SCORE = PLAIN[:, 0] + PLAIN[:, 3] - PLAIN[:, 1] * PLAIN[:, 4] + RANDOM.normal(size=N_ROWS)
HOLES = np.where(RANDOM.rand(*PLAIN.shape) < 0.1, np.nan, PLAIN).astype(np.float32)
TARGETS = {
    "two": np.where(SCORE > 0.5, "yes", "no"),
    "three": np.array(["a", "b", "c"])[np.digitize(SCORE, [-0.5, 1.5])],
    "number": SCORE.astype(np.float32).astype(np.float64),
    "count": RANDOM.poisson(np.exp(0.4 * SCORE)).astype(np.float64),
}


class Library(NamedTuple):
    """How a library is asked to train, and what for."""

    module: str
    classifier: str
    regressor: str
    quick: dict[str, Any]
    of_target: dict[str, dict[str, Any]]
    """What each target needs besides."""
    holes: bool = True
    """Whether it takes missing values."""


LIBRARIES = {
    "xgboost": Library(
        *("xgboost", "XGBClassifier", "XGBRegressor"),
        {"n_estimators": 12, "n_jobs": 1},
        {"count": {"objective": "count:poisson"}},
    ),
    "lightgbm": Library(
        *("lightgbm", "LGBMClassifier", "LGBMRegressor"),
        {"n_estimators": 12, "min_child_samples": 5, "verbose": -1, "n_jobs": 1},
        {"count": {"objective": "poisson"}},
    ),
    "catboost": Library(
        *("catboost", "CatBoostClassifier", "CatBoostRegressor"),
        {"iterations": 12, "depth": 3, "verbose": 0, "allow_writing_files": False, "thread_count": 1},
        {"count": {"loss_function": "Poisson"}},
    ),
    "gradient": Library(
        *("sklearn.ensemble", "GradientBoostingClassifier", "GradientBoostingRegressor"),
        {"n_estimators": 6},
        {},
        holes=False,
    ),
    "histogram": Library(
        *("sklearn.ensemble", "HistGradientBoostingClassifier", "HistGradientBoostingRegressor"),
        {"max_iter": 8, "min_samples_leaf": 5},
        {"count": {"loss": "poisson"}},
    ),
}
ONE_STEP = {"leaf_estimation_iterations": 1}
CASES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "xgboost, two": ("xgboost", "two", {}),
    "xgboost, three": ("xgboost", "three", {"n_estimators": 6}),
    "xgboost, number": ("xgboost", "number", {}),
    "xgboost, count": ("xgboost", "count", {}),
    "xgboost, exact": ("xgboost", "two", {"tree_method": "exact"}),
    "xgboost, approx": ("xgboost", "two", {"tree_method": "approx"}),
    "xgboost, pruned": ("xgboost", "two", {"tree_method": "exact", "gamma": 1.0}),
    "xgboost, by leaves": ("xgboost", "two", {"grow_policy": "lossguide", "max_leaves": 9}),
    "xgboost, rates": ("xgboost", "two", {"reg_lambda": 2.5, "learning_rate": 0.07}),
    "xgboost, odd rates": ("xgboost", "two", {"reg_lambda": 0.7342391, "learning_rate": 0.0718283}),
    "xgboost, no lambda": ("xgboost", "two", {"reg_lambda": 0}),
    "xgboost, stumps": ("xgboost", "two", {"max_depth": 1}),
    "xgboost, columns": ("xgboost", "two", {"colsample_bytree": 0.5}),
    "xgboost, raw": ("xgboost", "two", {"objective": "binary:logitraw"}),
    "xgboost, labels": ("xgboost", "three", {"objective": "multi:softmax", "n_estimators": 4}),
    "xgboost, deep": ("xgboost", "number", {"min_child_weight": 0, "max_depth": 9}),
    "lightgbm, two": ("lightgbm", "two", {}),
    "lightgbm, three": ("lightgbm", "three", {"n_estimators": 6}),
    "lightgbm, number": ("lightgbm", "number", {}),
    "lightgbm, count": ("lightgbm", "count", {}),
    "lightgbm, rates": ("lightgbm", "two", {"reg_lambda": 1.5, "learning_rate": 1 / 3}),
    "lightgbm, rates of three": ("lightgbm", "three", {"reg_lambda": 1.5, "learning_rate": 1 / 3, "n_estimators": 6}),
    "lightgbm, rates of counts": ("lightgbm", "count", {"reg_lambda": 1.5, "learning_rate": 1 / 3}),
    **{
        f"lightgbm, one leaf, {target}, {from_average}": (
            *("lightgbm", target),
            {"min_child_samples": N_ROWS, "boost_from_average": from_average},
        )
        for target in ("two", "three", "number")
        for from_average in (True, False)
    },
    "catboost, two": ("catboost", "two", ONE_STEP),
    "catboost, three": ("catboost", "three", ONE_STEP),
    "catboost, number": ("catboost", "number", ONE_STEP),
    "catboost, count": ("catboost", "count", ONE_STEP),
    "catboost, gradient": ("catboost", "two", {**ONE_STEP, "leaf_estimation_method": "Gradient"}),
    "catboost, gradient of counts": ("catboost", "count", {**ONE_STEP, "leaf_estimation_method": "Gradient"}),
    "catboost, not symmetric": ("catboost", "two", {**ONE_STEP, "grow_policy": "Lossguide"}),
    "catboost, three, not symmetric": ("catboost", "three", {**ONE_STEP, "grow_policy": "Lossguide"}),
    "gradient, two": ("gradient", "two", {"n_estimators": 12}),
    "gradient, three": ("gradient", "three", {"max_leaf_nodes": 6, "max_features": 0.5}),
    "gradient, deep": ("gradient", "two", {"n_estimators": 25, "max_depth": 8, "learning_rate": 1, "ccp_alpha": 1e-4}),
    "gradient, zero": ("gradient", "three", {"init": "zero"}),
    "gradient, number": ("gradient", "number", {"n_estimators": 20}),
    "gradient, number, zero": ("gradient", "number", {"init": "zero"}),
    "histogram, two": ("histogram", "two", {}),
    "histogram, three": ("histogram", "three", {}),
    "histogram, number": ("histogram", "number", {"l2_regularization": 0.5}),
    "histogram, count": ("histogram", "count", {}),
    "histogram, l2": ("histogram", "two", {"l2_regularization": 1.5, "max_features": 0.5}),
    "histogram, saturated": (
        *("histogram", "two"),
        {"max_iter": 40, "min_samples_leaf": 1, "max_leaf_nodes": None, "learning_rate": 0.8},
    ),
    "histogram, stumps": ("histogram", "two", {"max_leaf_nodes": 2}),
    "histogram, stopped": ("histogram", "two", {"early_stopping": True, "validation_fraction": None}),
    "histogram, no split": ("histogram", "two", {"max_iter": 2, "min_samples_leaf": N_ROWS}),
}
NOTHING_SAID = ("one leaf", "no split")
"""Cases whose trees have no split."""


@pytest.fixture(scope="module", autouse=True)
def _one_thread():
    with threadpool_limits(1, "openmp"):  # many threads take longer for so few rows
        yield


def table_of(library):
    return HOLES if LIBRARIES[library].holes else PLAIN


def labels_of(library, target):
    """Return labels as the library takes them: XGBoost takes numbers alone."""
    labels = TARGETS[target]
    return np.unique(labels, return_inverse=True)[1] if library == "xgboost" and labels.dtype.kind == "U" else labels


def trained(library, target="two", fit=None, **parameters):
    made = LIBRARIES[library]
    module = pytest.importorskip(made.module)
    labels = labels_of(library, target)
    kind = getattr(module, made.regressor if target in ("number", "count") else made.classifier)
    model = kind(**{**made.quick, **made.of_target.get(target, {}), **parameters})
    return model.fit(table_of(library), labels, **(fit or {}))


@cache
def model_of(case):
    library, target, parameters = CASES[case]
    return trained(library, target, **parameters)


def files_of(library, model, folder, dump):
    """Return all files in which a model can stand, by kind."""
    found = {"joblib": dump(model)}
    if library == "xgboost":
        found["pickle"] = dump(model, "model.pkl", protocol=2)
        found["booster"] = dump(model.get_booster(), "booster.joblib")
        for ending in ("json", "ubj"):
            found[ending] = folder / f"model.{ending}"
            model.get_booster().save_model(found[ending])
    elif library == "lightgbm":
        found["booster"] = dump(model.booster_, "booster.pkl")
        found["text"] = folder / "model.txt"
        model.booster_.save_model(found["text"])
    elif library == "catboost":
        for ending in ("json", "cbm"):
            found[ending] = folder / f"model.{ending}"
            model.save_model(str(found[ending]), format=ending)
    else:
        found["skops"] = folder / "model.skops"
        pytest.importorskip("skops.io").dump(model, found["skops"])
    return found


def own_scores(library, model):
    """Return what the library itself says, shape (n_rows, n_scores)."""
    rows = table_of(library)
    if library == "xgboost":
        found = model.get_booster().predict(importlib.import_module("xgboost").DMatrix(rows), output_margin=True)
    elif library == "lightgbm":
        found = model.predict(rows, raw_score=True)
    elif library == "catboost":
        found = model.predict(rows, prediction_type="RawFormulaVal")
    else:
        found = model._raw_predict(rows)
    return found.reshape(N_ROWS, -1)


def scores_of(forest, columns):
    kind = np.float32 if forest.observation.single else np.float64
    score = np.tile(forest.observation.base.astype(kind)[:, None], (1, columns.shape[1]))
    for stage in stages(forest, columns):
        tree = forest.trees[stage.tree]
        score[forest.observation.score_of(stage.tree)] += tree.value[tree.leaves, 0].astype(kind)[stage.leaf]
    return score.T


def numbered(labels, target):
    """Return classes by their numbers, and targets, for `missed`."""
    if target in ("number", "count"):
        return np.zeros(N_ROWS, np.int64), np.asarray(labels, np.float64)
    return np.unique(labels, return_inverse=True)[1], None


@pytest.mark.nightly(quick=8)
@pytest.mark.parametrize("case", CASES)
def test_the_true_rows_explain_all_that_a_file_says_and_others_do_not(case, dump, tmp_path):
    library, target, parameters = CASES[case]
    model, columns = model_of(case), table_of(library).T.astype(float)
    label, targets = numbered(labels_of(library, target), target)
    files = files_of(library, model, tmp_path, dump)
    if parameters.get("grow_policy") == "Lossguide" and library == "catboost":
        for form in ("joblib", "cbm"):
            with pytest.raises(UnsupportedArtifactError, match="JSON"):
                read(files.pop(form))
    if parameters not in ({}, ONE_STEP):
        files = dict([files.popitem()])
    first, rates = None, 1e-6 if library == "xgboost" else 1e-12
    for form, path in files.items():
        artifact = read(path)
        forest = artifact.forest
        assert artifact.not_covered is None
        assert artifact.unjudged.why is None
        alone = form in ("booster", "json", "ubj", "cbm", "text")
        assert forest.kind.endswith(" booster") if alone else forest.kind == type(model).__name__
        assert forest.n_samples == N_ROWS
        if targets is not None:
            assert forest.classes is None
        elif library == "catboost" or not alone:
            assert list(forest.classes) == model.classes_.tolist()
        else:
            assert forest.classes == tuple(range(label.max() + 1))
        if library == "xgboost":
            assert artifact.not_read == ()
            # What pruning has left of nodes tells more of the rows than is used here.
            assert bool(artifact.account.unexplained) == (case == "xgboost, pruned")
        if first is not None:
            assert_same(first, forest)
            continue
        first = forest
        np.testing.assert_allclose(scores_of(forest, columns), own_scores(library, model), rtol=rates, atol=rates)
        assert missed(forest, columns, label, targets) == 0
        if any(word in case for word in NOTHING_SAID):
            continue
        others = columns.copy()
        others[3] = np.random.RandomState(0).permutation(others[3])
        assert missed(forest, others, label, targets) > forest.n_trees / 2
        if targets is None and any(own.weight[:, 1].any() for own in forest.observation.statements):
            label[0] = (label[0] + 1) % forest.n_classes
            assert missed(forest, columns, label) >= forest.n_trees // (2 * len(forest.observation.base))


def assert_same(one, other):
    """Check that two files say the same of their rows."""
    for mine, its in zip(one.trees, other.trees, strict=True):
        for name in ("left", "right", "feature", "threshold", "missing_left", "value", "n_distinct"):
            np.testing.assert_array_equal(getattr(mine, name), getattr(its, name))
    for mine, its in zip(one.observation.statements, other.observation.statements, strict=True):
        np.testing.assert_array_equal(mine.node, its.node)
        np.testing.assert_allclose(mine.total, its.total, rtol=1e-6)


WEIGHTS = 1 + np.arange(N_ROWS) % 2
BAGGED = {"subsample": 0.6, "subsample_freq": 1}
ELSEWHERE: list[tuple[str, str, dict[str, Any], dict[str, Any], str, bool | None]] = [
    ("xgboost", "two", {"reg_alpha": 1.0}, {}, "alpha", True),
    ("xgboost", "two", {"max_delta_step": 0.5}, {}, "max_delta_step", None),
    ("xgboost", "two", {"monotone_constraints": (1, 0, 0, 0, 0)}, {}, "monotone_constraints", None),
    ("xgboost", "two", {"booster": "dart"}, {}, "dart", None),
    ("xgboost", "two", {"missing": 0.0}, {}, "missing", None),
    ("xgboost", "two", {"objective": "binary:hinge"}, {}, "binary:hinge", False),
    ("lightgbm", "two", {"reg_alpha": 0.5}, {}, "lambda_l1", None),
    ("lightgbm", "two", {"path_smooth": 2.0}, {}, "path_smooth", None),
    ("lightgbm", "two", {"max_delta_step": 0.3}, {}, "max_delta_step", None),
    ("lightgbm", "two", {"monotone_constraints": [1, 0, 0, 0, 0]}, {}, "monotone_constraints", None),
    ("lightgbm", "two", {"boosting_type": "dart"}, {}, "dart", None),
    ("lightgbm", "two", {"boosting_type": "rf", **BAGGED}, {}, "averaged", False),
    ("lightgbm", "two", {"data_sample_strategy": "goss", "learning_rate": 1.0}, {}, "goss", False),
    ("lightgbm", "two", {"linear_tree": True}, {}, "linear_tree", None),
    ("lightgbm", "two", {"use_quantized_grad": True}, {}, "use_quantized_grad", None),
    ("lightgbm", "two", {"sigmoid": 2.0}, {}, "sigmoid", None),
    ("lightgbm", "two", {"zero_as_missing": True}, {}, "zero_as_missing", None),
    ("lightgbm", "number", {"objective": "huber"}, {}, "huber", None),
    ("lightgbm", "two", {"min_data_per_group": 5}, {"categorical_feature": [0, 1]}, "categories", None),
    ("catboost", "two", {"boosting_type": "Ordered"}, {}, "Ordered", None),
    ("catboost", "two", {"class_weights": [1, 2]}, {}, "class_weights", False),
    ("catboost", "two", {"scale_pos_weight": 3}, {}, "class_weights", False),
    ("catboost", "two", {"auto_class_weights": "Balanced"}, {}, "auto_class_weights", False),
    (
        *("catboost", "two", {"monotone_constraints": [1, 0, 0, 0, 0], "model_shrink_rate": 0}),
        *({}, "monotone_constraints", None),
    ),
    ("catboost", "two", {"model_shrink_rate": 0.1}, {}, "model_shrink_rate", None),
    ("catboost", "two", {"langevin": True}, {}, "langevin", None),
    ("catboost", "two", {"eval_fraction": 0.2}, {}, "eval_fraction", False),
    ("catboost", "number", {"loss_function": "MAE"}, {}, "MAE", None),
    ("catboost", "two", ONE_STEP, {"sample_weight": np.linspace(0.5, 2, N_ROWS)}, "train without", False),
    ("catboost", "two", ONE_STEP, {"sample_weight": WEIGHTS}, "train without", False),
    ("catboost", "two", ONE_STEP, {"baseline": np.linspace(-1, 1, N_ROWS)}, "train without", None),
    ("catboost", "two", {"leaf_estimation_iterations": 10}, {"sample_weight": WEIGHTS}, "train without", False),
    ("gradient", "two", {"loss": "exponential"}, {}, "loss exponential", False),
    ("gradient", "number", {"loss": "huber"}, {}, "loss huber", False),
    ("gradient", "number", {"loss": "absolute_error"}, {}, "loss absolute_error", False),
    ("gradient", "number", {"loss": "quantile"}, {}, "loss quantile", False),
    ("gradient", "two", {"init": LogisticRegression()}, {}, "parameter init", None),
    ("gradient", "two", {"n_iter_no_change": 1}, {}, "parameter n_iter_no_change", False),
    ("gradient", "two", {"warm_start": True}, {}, "parameter warm_start", False),
    ("histogram", "two", {"warm_start": True}, {}, "parameter warm_start", False),
    ("histogram", "two", {"monotonic_cst": [1, 0, 0, 0, 0]}, {}, "parameter monotonic_cst", False),
    ("histogram", "two", {"categorical_features": [0]}, {}, "categorical_features", False),
    ("histogram", "number", {"loss": "absolute_error"}, {}, "loss absolute_error", False),
    ("histogram", "count", {"loss": "quantile", "quantile": 0.3}, {}, "loss quantile", False),
]
"""Parameters, what is given to fit(), words of the reason, and whether the number of rows is known (None: either)."""


@pytest.mark.nightly(quick=6)
@pytest.mark.parametrize(
    ("library", "target", "parameters", "fit", "words", "rows_known"),
    ELSEWHERE,
    ids=[f"{one[0]}-{one[4]}-{index}" for index, one in enumerate(ELSEWHERE)],
)
def test_what_changes_the_equations_is_read_and_not_judged(
    library, target, parameters, fit, words, rows_known, dump, tmp_path
):
    if "categorical_feature" in fit:
        columns, labels = np.nan_to_num(HOLES[:, :3]), TARGETS["two"]
        model = pytest.importorskip("lightgbm").LGBMClassifier(**LIBRARIES[library].quick, **parameters)
        model.fit(columns, labels, **fit)
    else:
        model = trained(library, target, fit, **parameters)
    alone = LIBRARIES[library].module != "sklearn.ensemble"
    files = files_of(library, model, tmp_path, dump) if alone else {"joblib": dump(model)}
    for form in dict.fromkeys(("joblib", list(files)[-1])):
        artifact = read(files[form])
        if artifact.not_covered is None:  # what the booster alone does not tell
            assert (form, words) == ("ubj", "missing")
            continue
        assert form == "ubj" or words in artifact.not_covered
        assert "\n" not in artifact.not_covered
        assert artifact.forest.n_trees == len(artifact.forest.observation.statements)
        if rows_known is not None and form == "joblib":
            assert artifact.forest.n_samples == (N_ROWS if rows_known else None)


@pytest.mark.parametrize(
    ("library", "parameters"),
    [
        ("lightgbm", {"subsample": 0.8}),  # without a frequency
        ("catboost", {"subsample": 0.5, "bootstrap_type": "Bernoulli"}),  # for splits alone
    ],
)
def test_draws_that_change_no_sum_leave_the_number_of_rows_known(library, parameters, dump):
    artifact = read(dump(trained(library, **parameters)))
    assert artifact.not_covered is None
    assert artifact.forest.n_samples == N_ROWS


UNEVEN = 0.5 + RANDOM.rand(N_ROWS)
HALF = {"subsample": 0.5, "random_state": 7}
XGBRF = {"num_parallel_tree": 4, "learning_rate": 1.0, "colsample_bynode": 0.8, "n_estimators": 2}
TUNED: list[tuple[str, str, dict[str, Any], dict[str, Any], str | None]] = [
    ("gradient", "two", HALF, {}, None),
    ("gradient", "three", HALF, {}, None),
    ("gradient", "number", HALF, {}, None),
    ("gradient", "two", {"subsample": 0.5}, {}, DRAWS),
    ("gradient", "two", {}, {"sample_weight": UNEVEN}, OF_ROWS),
    ("gradient", "number", {}, {"sample_weight": UNEVEN}, OF_ROWS),
    ("gradient", "two", HALF, {"sample_weight": UNEVEN}, OF_ROWS),
    ("histogram", "two", {"class_weight": "balanced"}, {}, None),
    ("histogram", "three", {"class_weight": "balanced"}, {}, None),
    ("histogram", "two", {"class_weight": {0: 0.5, 1: 2.3}}, {}, None),
    ("histogram", "two", {"class_weight": "balanced"}, {"sample_weight": UNEVEN}, OF_ROWS),
    ("histogram", "number", {}, {"sample_weight": UNEVEN}, OF_ROWS),
    ("xgboost", "two", {"subsample": 0.8}, {}, None),
    ("xgboost", "two", {**HALF, "colsample_bytree": 0.6}, {}, None),
    ("xgboost", "three", HALF, {}, None),
    ("xgboost", "number", HALF, {}, None),
    ("xgboost", "two", {**HALF, "tree_method": "exact"}, {}, None),
    ("xgboost", "two", {**HALF, "tree_method": "approx"}, {}, None),
    ("xgboost", "two", {**XGBRF, **HALF}, {}, None),
    ("xgboost", "three", {**XGBRF, **HALF}, {}, None),
    ("xgboost", "two", {"num_parallel_tree": 2}, {}, None),
    ("xgboost", "two", {"scale_pos_weight": 3.0}, {}, None),
    ("xgboost", "two", {"scale_pos_weight": 2.7, **HALF}, {}, None),
    ("xgboost", "two", {}, {"sample_weight": UNEVEN}, OF_ROWS),
    ("xgboost", "three", {}, {"sample_weight": UNEVEN}, OF_ROWS),
    ("xgboost", "number", {}, {"sample_weight": UNEVEN}, OF_ROWS),
    ("lightgbm", "two", BAGGED, {}, None),
    ("lightgbm", "three", {**BAGGED, "random_state": 5}, {}, None),
    ("lightgbm", "number", {**BAGGED, "reg_lambda": 2.0}, {}, None),
    ("lightgbm", "count", BAGGED, {}, None),
    ("lightgbm", "two", {"subsample": 0.4, "subsample_freq": 3, "reg_lambda": 1.5}, {}, None),
    ("lightgbm", "two", {**BAGGED, "boost_from_average": False}, {}, None),
    ("lightgbm", "two", {"pos_bagging_fraction": 0.5, "bagging_freq": 1}, {}, None),
    ("lightgbm", "two", {"scale_pos_weight": 2.7}, {}, None),
    ("lightgbm", "two", {"is_unbalance": True}, {}, None),
    ("lightgbm", "two", {"class_weight": "balanced"}, {}, None),
    ("lightgbm", "three", {"class_weight": "balanced"}, {}, None),
    ("lightgbm", "three", {"class_weight": {"a": 1.0, "b": 2.5, "c": 4.0}}, {}, None),
    ("lightgbm", "two", {"scale_pos_weight": 3.0, **BAGGED}, {}, OF_ROWS),
    ("lightgbm", "two", {}, {"sample_weight": UNEVEN}, OF_ROWS),
    ("lightgbm", "two", {}, {"init_score": UNEVEN}, OF_ROWS),
    ("lightgbm", "number", {}, {"sample_weight": UNEVEN}, OF_ROWS),
]
"""As `ELSEWHERE`, and what is not known of how much each row adds to the sums, once all rows are."""


@pytest.mark.parametrize(
    ("library", "target", "parameters", "fit", "unknown"),
    TUNED,
    ids=[f"{one[0]}-{one[1]}-{'-'.join([*one[2], *one[3]])}-{index}" for index, one in enumerate(TUNED)],
)
def test_draws_and_weights_explain_what_a_file_says_and_others_rows_do_not(
    library, target, parameters, fit, unknown, dump
):
    model, columns = trained(library, target, fit, **parameters), table_of(library).T.astype(float)
    label, targets = numbered(labels_of(library, target), target)
    artifact = read(dump(model))
    assert artifact.not_covered is None
    assert artifact.unjudged.why is None
    forest = with_amounts(artifact.forest, columns, label)
    assert forest.observation.unknown == unknown
    assert forest.n_samples in (None, N_ROWS)
    assert missed(forest, columns, label) == 0
    if unknown is None:
        assert missed(forest, columns, label, None if library == "gradient" else targets) == 0
    if "init_score" not in fit:
        single = 1e-6 if library == "xgboost" else 1e-12
        np.testing.assert_allclose(scores_of(forest, columns), own_scores(library, model), rtol=single, atol=single)
    others = columns.copy()
    others[3] = np.random.RandomState(0).permutation(others[3])
    misses = missed(with_amounts(artifact.forest, others, label), others, label)
    assert misses > 0 or (unknown == OF_ROWS and not forest.observation.counted)


@pytest.mark.parametrize("way", [1, 7])
def test_replayed_masks_of_scikit_learn_are_its_own(way):
    from sklearn.ensemble._gradient_boosting import _random_sample_mask

    random, found = np.random.RandomState(way), of_scikit_learn(way, 0.37, 6, 2, np.zeros(N_ROWS, np.int64))
    for tree in range(0, 6, 2):
        own = _random_sample_mask(N_ROWS, int(0.37 * N_ROWS), random)
        np.testing.assert_array_equal(found[tree], own)
        np.testing.assert_array_equal(found[tree + 1], own)
        random.randint(0, 2**31 - 1, size=2)


@pytest.mark.nightly
@pytest.mark.parametrize(("library", "parameters"), [("xgboost", {"n_jobs": 2, **HALF}), ("lightgbm", BAGGED)])
def test_draws_of_several_blocks_and_threads_are_replayed(library, parameters, dump):
    made = LIBRARIES[library]
    rows = RANDOM.normal(size=(5_000, 4)).astype(np.float32)
    labels = (rows[:, 0] + RANDOM.normal(size=5_000) > 0).astype(np.int64)
    model = getattr(pytest.importorskip(made.module), made.classifier)(**{**made.quick, **parameters}).fit(rows, labels)
    columns = rows.T.astype(float)
    forest = with_amounts(read(dump(model)).forest, columns, labels)
    assert forest.observation.unknown is None
    assert missed(forest, columns, labels) == 0


@pytest.mark.parametrize("library", LIBRARIES)
def test_one_that_was_not_fitted_is_refused(library, dump):
    made = LIBRARIES[library]
    for name in (made.classifier, made.regressor):
        with pytest.raises(UnsupportedArtifactError, match=r"not fitted|fit it before"):
            read(dump(getattr(pytest.importorskip(made.module), name)()))


@pytest.mark.parametrize("library", ["xgboost", "lightgbm", "catboost"])
def test_a_model_that_was_trained_on_is_noticed(library, dump):
    first = trained(library)
    given = {"xgb_model": first.get_booster()} if library == "xgboost" else {"init_model": first}
    again = trained(library, fit=given, **({"learning_rate": 0.05} if library == "xgboost" else {}))
    assert ("learning rate" if library == "xgboost" else "init_model") in read(dump(again)).not_covered


@pytest.mark.nightly(quick=2)
@pytest.mark.parametrize("library", LIBRARIES)
def test_models_inside_others_are_found(library, dump):
    columns, labels = table_of(library), labels_of(library, "two")
    model = type(trained(library))(**LIBRARIES[library].quick)
    artifact = read(dump(GridSearchCV(make_pipeline(model), {}, cv=2).fit(columns, labels)))
    assert artifact.forest.kind == type(model).__name__
    assert artifact.holds.endswith("in a Pipeline, in a GridSearchCV")
    assert artifact.unjudged.why is None
    assert artifact.forest.n_samples == N_ROWS
    held = dump({"model": trained(library), "other": pickle.loads(pickle.dumps(trained(library)))})
    assert missed(read(held, place="['other']").forest, columns.T.astype(float), numbered(labels, "two")[0]) == 0
