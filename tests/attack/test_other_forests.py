"""Forests of every kind: judged with exact numbers, or refused with the reason; never misread."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn
from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st
from sklearn.base import is_regressor
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)

from profiles import examples
from pytest_draft.artifact import read
from pytest_draft.artifact.forest.weights import (
    balanced_weights,
    named_weights,
    repeated_rows,
    subsample_weights,
)
from pytest_draft.attack.descent import leaf_positions
from pytest_draft.attack.refit import evidence_by_refitting
from pytest_draft.domain import infer
from pytest_draft.errors import ArtifactError, NotCoveredError
from pytest_draft.examine.flow import examine
from pytest_draft.facts.case import Case
from pytest_draft.policy.policy import Policy
from pytest_draft.policy.verdict import judge

pytestmark = [
    pytest.mark.filterwarnings("ignore:Using the fractional value max_samples"),
    pytest.mark.filterwarnings("ignore:class_weight presets"),
    pytest.mark.filterwarnings("ignore:When fitting Bagging"),
    pytest.mark.filterwarnings("ignore:Warm-start fitting"),
]

STORES_WEIGHTS = tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 9)
"""Whether this scikit-learn stores a forest's weights, and draws by them."""

FORESTS = {False: (RandomForestClassifier, ExtraTreesClassifier), True: (RandomForestRegressor, ExtraTreesRegressor)}
TREES = {False: (DecisionTreeClassifier, ExtraTreeClassifier), True: (DecisionTreeRegressor, ExtraTreeRegressor)}
BAGGINGS = {False: BaggingClassifier, True: BaggingRegressor}

PROPERTY = settings(
    max_examples=examples(60),
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@st.composite
def estimators(draw, classes, *, is_regressor, kinds=("forest", "bagging", "tree"), weighted=None):
    """An unfitted estimator of any supported kind, with any of its options."""
    kind, random = draw(st.sampled_from(kinds)), draw(st.integers(0, 99), label="seed")
    limits = st.sampled_from(
        [{}, {"max_depth": 1}, {"max_depth": 3}, {"max_leaf_nodes": 4}, {"min_samples_leaf": 2}, {"ccp_alpha": 0.01}]
    )
    tree = draw(limits, label="limits")
    if is_regressor:
        tree["criterion"] = draw(st.sampled_from(["squared_error", "absolute_error"]))
    else:
        tree["criterion"] = draw(st.sampled_from(["gini", "entropy", "log_loss"]))
        # A bagging ensemble's trees know the classes by their numbers.
        names = range(len(classes)) if kind == "bagging" else classes.tolist()
        weights = st.fixed_dictionaries({name: st.sampled_from([1, 2, 0.5, 0.3, 7.7, 1e-3]) for name in names})
        options = [st.just("balanced"), weights]
        if kind == "forest":
            options.append(st.just("balanced_subsample"))
        if weighted or (weighted is None and draw(st.booleans(), label="weighted")):
            tree["class_weight"] = draw(st.one_of(options), label="class weights")
    which = draw(st.integers(0, 1), label="best or random splits")
    if kind == "tree":
        return TREES[is_regressor][which](random_state=random, **tree)
    bootstrap = draw(st.booleans(), label="bootstrap")
    n_trees = draw(st.sampled_from([1, 4, 10]), label="trees")
    share = draw(st.sampled_from([None, 0.5, 5]), label="share")
    if kind == "forest":
        share = share if bootstrap else None
        return FORESTS[is_regressor][which](
            n_trees, bootstrap=bootstrap, max_samples=share, random_state=random, **tree
        )
    return BAGGINGS[is_regressor](
        TREES[is_regressor][which](**tree),
        n_trees,
        bootstrap=bootstrap,
        max_samples=1.0 if share is None else share,
        max_features=draw(st.sampled_from([1.0, 0.5, 1]), label="columns"),
        bootstrap_features=draw(st.booleans(), label="columns with replacement"),
        random_state=random,
    )


@st.composite
def trained(draw, *, is_regressor=None, weighted=None, kinds=("forest", "bagging", "tree")):
    """A fitted estimator, its rows and class indices, and their domain."""
    random = np.random.RandomState(draw(st.integers(0, 10_000), label="data"))
    n_rows, n_columns = draw(st.integers(5, 24), label="rows"), draw(st.integers(2, 4), label="columns")
    rows = random.randint(0, draw(st.integers(2, 3), label="values"), (n_rows, n_columns)).astype(float)
    regressor = draw(st.booleans(), label="regressor") if is_regressor is None else is_regressor
    classes = np.array(draw(st.sampled_from([["no", "perhaps", "yes"], [0, 1], [-1, 4, 9], [False, True]])))
    labels = np.minimum(random.geometric(0.6, n_rows) - 1, len(classes) - 1)
    present, labels = np.unique(labels, return_inverse=True)
    classes = classes[present]
    model = draw(estimators(classes, is_regressor=regressor, weighted=weighted, kinds=kinds), label="model")
    answers = random.normal(size=n_rows) if regressor else classes[labels]
    try:
        model.fit(rows, answers)
    except (ValueError, ZeroDivisionError):  # some draws are too small for some versions
        assume(False)
    if regressor:
        labels = np.zeros(n_rows, int)
    names = [f"c{column}" for column in range(n_columns)]
    return SimpleNamespace(model=model, rows=rows, labels=labels.astype(int), domain=infer(names, rows))


def published_or_refused(publish, case):
    """Return what is published; None, and an event, where it is refused with a reason."""
    try:
        return publish(case.model, case.domain)
    except (ArtifactError, NotCoveredError) as refusal:
        event(f"refused: {str(refusal).split(': ', 2)[-1][:40]}")
        return None


def truth_in(problem, forest, rows, labels):
    """Return how many true rows each candidate holds; every row must be one."""
    columns = np.ascontiguousarray(rows.T.astype(np.float32))
    signature = np.stack([leaf_positions(tree, columns) for tree in forest.trees])
    counted = np.zeros(problem.n_candidates, int)
    values = problem.cells.offsets[:-1] + problem.domain.indices(rows.astype(np.float32))
    for row, label in enumerate(labels):
        fits = (problem.cells.signature[:, problem.cell] == signature[:, [row]]).all(axis=0)
        fits &= problem.cells.allowed[problem.cell][:, values[row]].all(axis=1)
        fits &= (problem.group == problem.groups.of_row[row]) & (problem.label == label)
        assert fits.sum() == 1
        counted += fits
    return counted


@pytest.mark.nightly
@PROPERTY
@given(trained())
def test_a_forest_of_any_kind_is_refused_or_its_truth_has_no_residual(publish, case):
    published = published_or_refused(publish, case)
    if published is None:
        assert "class_weight" in str(case.model.get_params())
        return
    problem = published.problem
    assert problem.system.missed(truth_in(problem, published.forest, case.rows, case.labels)) == 0


@pytest.mark.nightly
@settings(PROPERTY, max_examples=examples(40))
@given(trained())
def test_the_attack_on_a_forest_of_any_kind_meets_every_count(publish, case):
    published = published_or_refused(publish, case)
    if published is None:
        return
    problem, found = published.problem, published.attack()
    assert found.status in ("unique", "consistent")
    assert problem.system.missed(truth_in(problem, published.forest, found.consistent, found.labels)) == 0
    if found.status == "unique":
        group = published.groups.of_row
        rebuilt = np.column_stack([group, found.labels, found.consistent]).tolist()
        truth = np.column_stack([group, case.labels, case.rows]).tolist()
        assert (Counter(map(tuple, rebuilt)) == Counter(map(tuple, truth))) is True


@pytest.mark.nightly
@settings(PROPERTY, max_examples=examples(60))
@given(trained(is_regressor=False))
def test_every_tree_grows_again_from_the_true_rows(publish, case):
    published = published_or_refused(publish, case)
    if published is None:
        return
    evidence = evidence_by_refitting(published.forest, published.groups)
    assert evidence(case.rows.astype(np.float32), case.labels) == published.forest.n_trees


def test_a_regressor_gives_no_evidence_by_refitting(publish):
    rows = np.array([[0.0, 1], [1, 0], [1, 1]])
    published = publish(RandomForestRegressor(3, random_state=0).fit(rows, [1.0, 2, 3]), infer(["a", "b"], rows))
    assert evidence_by_refitting(published.forest, published.groups) is None


def test_columns_that_the_seeds_do_not_explain_give_no_evidence_and_no_refusal(publish):
    random = np.random.RandomState(0)
    rows, labels = random.randint(0, 2, (20, 6)).astype(float), random.randint(0, 2, 20)
    model = BaggingClassifier(DecisionTreeClassifier(), 4, bootstrap=False, max_features=0.5, random_state=0)
    published = publish(model.fit(rows, labels), infer(list("abcdef"), rows))
    assert evidence_by_refitting(published.forest, published.groups) is not None
    others = replace(published.forest, draws=replace(published.forest.draws, max_features=1))
    assert evidence_by_refitting(others, published.groups) is None


# Class weights


WEIGHTS = {"balanced": "balanced", "subsample": "balanced_subsample", "dict": {0: 0.3, 1: 1, 2: 7.7}}


@pytest.mark.nightly(quick=3)
@pytest.mark.parametrize("bootstrap", [True, False], ids=["bootstrap", "all rows"])
@pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS)
@pytest.mark.parametrize("forest", [RandomForestClassifier, ExtraTreesClassifier])
def test_class_weights_are_undone_to_the_draws_of_each_class(forest, weights, bootstrap, tmp_path):
    random = np.random.RandomState(0)
    rows, labels = random.randint(0, 2, (60, 5)), random.choice(3, 60, p=[0.6, 0.3, 0.1])
    model = forest(8, class_weight=weights, bootstrap=bootstrap, random_state=0).fit(rows, labels)
    joblib.dump(model, tmp_path / "model.joblib")
    read_back = read(tmp_path / "model.joblib").forest
    draws = model.estimators_samples_ if bootstrap else [np.arange(60)] * 8
    for index, drawn in enumerate(draws):
        assert read_back.counts(index)[0].tolist() == np.bincount(labels[drawn], minlength=3).tolist()


def test_a_class_that_a_dict_leaves_out_has_weight_one_and_texts_are_looked_up_as_scikit_learn_does():
    assert named_weights({"a": 2}, ("a", "b")).tolist() == [2, 1]
    assert named_weights({1: 2, 0: 3.0}, (0.5, True)).tolist() == [3, 2]


@pytest.mark.parametrize("weight", [0, -1, float("nan"), float("inf"), "2", None])
def test_a_class_weight_that_leaves_no_count_is_refused(weight):
    with pytest.raises(NotCoveredError, match="not a positive number"):
        named_weights({0: weight}, (0, 1))


def test_balanced_weights_that_several_class_frequencies_explain_are_refused():
    # Each draw holds both classes alike, by weight: 4 and 8 of 12 rows, or 2 and 10, give the same totals.
    with pytest.raises(NotCoveredError, match="several class frequencies"):
        balanced_weights([np.array([[6.0, 6.0]])] * 3, [np.array([12.0])] * 3, 12)


def test_balanced_weights_that_no_class_frequencies_explain_are_refused():
    with pytest.raises(NotCoveredError, match="no class frequencies"):
        balanced_weights([np.array([[3.0, 4.0], [1.0, 5.5]])], [np.array([5.0, 7.0])], 12)


def test_the_draws_of_a_balanced_subsample_are_the_common_denominators_of_its_shares():
    counts = np.array([[4.0, 6], [1, 5], [3, 1]])
    weights = subsample_weights(counts * (5 / np.array([4, 6])), 10)
    np.testing.assert_allclose(counts[0] * weights, [5, 5])


def test_shares_in_lowest_terms_are_scaled_where_only_one_scale_adds_up():
    counts = np.array([[9.0, 14], [3, 0], [6, 14]])  # thirds, and all: 3 a + b = 23
    with pytest.raises(NotCoveredError, match="not just one number of draws"):
        subsample_weights(counts * (23 / 2 / counts[0]), 23)
    counts = np.array([[9.0, 10], [3, 5], [6, 5]])  # thirds and halves: 3 a + 2 b = 19 for (1, 8), (3, 5), (5, 2)
    with pytest.raises(NotCoveredError, match="not just one number of draws"):
        subsample_weights(counts * (19 / 2 / counts[0]), 19)
    counts = np.array([[8.0, 10], [2, 3], [6, 7]])  # quarters and tenths: 4 a + 10 b = 18 for (2, 1) only
    np.testing.assert_allclose(subsample_weights(counts * (9 / counts[0]), 18), 9 / counts[0])


def test_a_balanced_subsample_whose_totals_are_scaled_otherwise_too_is_refused():
    for totals in ([[5.0, 6], [5, 0], [0, 6]], [[5.0, 5], [1.234, 5], [3.766, 0]]):
        with pytest.raises(NotCoveredError, match="other weights"):
            subsample_weights(np.array(totals), 10)


# Sample weights


def test_rows_that_stand_for_several_are_whole_multiples_of_one_weight():
    times, unit = repeated_rows(np.array([0.5, 0.75, 0, 1.5]))
    assert (times.tolist(), unit) == ([2, 3, 0, 6], 0.25)
    times, unit = repeated_rows(np.array([0.1, 0.3], np.float32))
    assert times.tolist() == [1, 3]


@pytest.mark.parametrize("weights", [[1, 2**0.5], [1, 1e-9], np.random.RandomState(0).rand(2_000)], ids=len)
def test_sample_weights_that_are_no_multiples_of_one_are_refused(weights):
    with pytest.raises(NotCoveredError, match="cannot be undone"):
        repeated_rows(np.array(weights, float))


@pytest.mark.nightly
@settings(PROPERTY, max_examples=examples(60))
@given(
    trained(kinds=("forest", "bagging")),
    st.sampled_from([[0, 1], [1, 2], [2], [0.5, 0, 1.5], None]),
    st.sampled_from([np.float64, np.float32]),
)
def test_sample_weights_are_undone_or_refused_and_never_misread(publish, case, choices, dtype):
    random = np.random.RandomState(len(case.rows))
    weights = random.rand(len(case.rows)) if choices is None else random.choice(choices, len(case.rows))
    is_regressor = not hasattr(case.model, "classes_")
    answers = random.normal(size=len(case.rows)) if is_regressor else case.model.classes_[case.labels]
    try:
        case.model.fit(case.rows, answers, weights.astype(dtype))
    except (ValueError, ZeroDivisionError):  # more draws without replacement than rows of positive weight
        assume(False)
    published = published_or_refused(publish, case)
    if published is None or published.groups.n_rows != len(case.rows):
        return  # in a file that doesn't tell of rows of weight 0, they are no rows: the data are told to have more
    event("judged")
    problem = published.problem
    assert problem.system.missed(truth_in(problem, published.forest, case.rows, case.labels)) == 0


@pytest.mark.nightly
@pytest.mark.skipif(not STORES_WEIGHTS, reason="before scikit-learn 1.9 a forest does not store its weights")
@pytest.mark.parametrize("bootstrap", [True, False], ids=["bootstrap", "all rows"])
def test_rows_of_weight_zero_are_seen_by_no_tree_and_the_others_are_rebuilt(bootstrap, publish):
    random = np.random.RandomState(0)
    rows, labels = random.randint(0, 2, (40, 7)).astype(float), random.randint(0, 2, 40)
    weights = np.repeat([1.0, 2.0, 0.0], [10, 15, 15])
    model = RandomForestClassifier(40, bootstrap=bootstrap, random_state=0).fit(rows, labels, weights)
    published = publish(model, infer([f"c{column}" for column in range(7)], rows))
    found = published.attack()
    unseen = (published.groups.weight == 0).all(axis=0)[published.groups.of_row]
    assert unseen[25:].all()
    assert found.free[unseen].all()
    seen = np.flatnonzero(~unseen)
    rebuilt, truth = (Counter(map(tuple, table[seen].tolist())) for table in (found.consistent, rows))
    assert (rebuilt & truth).total() == len(seen)


# Through the gate


N_ROWS = 40
LABELLED = {
    "three classes": (RandomForestClassifier(40, random_state=0), 3),
    "balanced": (RandomForestClassifier(40, class_weight="balanced", random_state=0), 3),
    "balanced, all rows": (ExtraTreesClassifier(40, class_weight="balanced", random_state=0), 3),
    "balanced subsample": (RandomForestClassifier(40, class_weight="balanced_subsample", random_state=0), 2),
    "dict": (ExtraTreesClassifier(40, class_weight={"a": 0.3, "b": 2, "c": 1}, bootstrap=True, random_state=0), 3),
    "bagging": (BaggingClassifier(DecisionTreeClassifier(), 40, max_features=0.9, random_state=0), 2),
    "bagging, weighted": (BaggingClassifier(DecisionTreeClassifier(class_weight="balanced"), 40, random_state=0), 2),
    "pasting": (BaggingClassifier(ExtraTreeClassifier(), 40, bootstrap=False, max_samples=0.6, random_state=0), 2),
    "some draws": (ExtraTreesClassifier(60, bootstrap=True, max_samples=0.7, oob_score=True, random_state=0), 2),
    "pruned": (RandomForestClassifier(60, ccp_alpha=0.001, criterion="entropy", random_state=0), 2),
}
# A regressor, and how many of its 40 rows are rebuilt at least: without seeds its counts tell little.
NUMBERED = {
    "forest": (RandomForestRegressor(40, random_state=0), 36),
    "bagging": (BaggingRegressor(ExtraTreeRegressor(), 40, max_features=0.9, random_state=0), 36),
    "extra trees": (ExtraTreesRegressor(40, random_state=0), 10),
    "tree": (DecisionTreeRegressor(random_state=0), 10),
}


@pytest.fixture
def judged(tmp_path):
    """Return a function that trains on a table whose last column is the target, and judges the file."""

    def judge(model, frame, fit_to=None):
        features = frame.iloc[:, :-1]
        fit_to = frame.iloc[:, -1] if fit_to is None else fit_to
        joblib.dump(model.fit(features, fit_to), tmp_path / "model.joblib")
        frame.to_csv(tmp_path / "train.csv", index=False)
        return examine(Case(str(tmp_path / "model.joblib"), str(tmp_path / "train.csv")))[0]

    return judge


def people(n_classes=2):
    """Return rows of one population, with their label."""
    random = np.random.RandomState(3)
    frame = pd.DataFrame(random.randint(0, 2, (N_ROWS, 7)), columns=[f"c{index}" for index in range(7)])
    frame["label"] = np.array(list("abc"))[(frame.sum(axis=1) + random.randint(0, 2, N_ROWS)) % n_classes]
    return frame


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
@pytest.mark.parametrize("kind", LABELLED)
def test_every_kind_of_classifier_is_judged_and_gives_its_rows_away(kind, judged):
    model, n_classes = LABELLED[kind]
    found = judged(model, people(n_classes))
    assert found.reasons == ()
    assert found.residual == 0
    assert found.findings.identity.status == "confirmed"
    assert found.findings.whole.perfect.lower >= 0.9 * N_ROWS


@pytest.mark.nightly
@pytest.mark.parametrize("kind", NUMBERED)
def test_every_kind_of_regressor_is_judged_by_its_rows_alone(kind, judged):
    model, rebuilt = NUMBERED[kind]
    frame = people().drop(columns="label")
    frame["income"] = np.random.RandomState(4).normal(size=N_ROWS).round(3)
    found = judged(model, frame)
    assert found.residual == 0
    assert found.findings.identity.status == "confirmed"
    assert found.findings.whole.perfect.lower >= rebuilt
    assert found.data.unused_columns == ()


@pytest.mark.nightly
@pytest.mark.parametrize("kind", ["forest", "extra trees"])
def test_targets_that_repeat_are_used_wherever_leaves_tell_how_many_there_are_of_each(kind, judged):
    frame = people().drop(columns="label")
    frame["income"] = frame.iloc[:, 0] + (np.random.RandomState(5).uniform(size=N_ROWS) < 0.5)
    found = judged(NUMBERED[kind][0], frame)
    assert found.residual == 0
    assert found.findings.identity.status == "confirmed"
    assert not any("mean targets" in reason for reason in found.reasons)
    assert set(frame["income"]) <= {0, 1, 2}


@pytest.mark.nightly
def test_a_regressor_never_passes_while_its_means_are_not_used(judged):
    found = judged(ExtraTreesRegressor(40, random_state=0), people().assign(label=np.arange(N_ROWS)))
    assert found.findings.whole.perfect.lower < N_ROWS
    assert any("mean targets" in reason for reason in found.reasons)


@pytest.mark.nightly
def test_another_table_is_no_match_for_a_regressor_either(judged, tmp_path):
    frame = people().drop(columns="label")
    frame["income"] = np.arange(N_ROWS)
    judged(RandomForestRegressor(10, random_state=0), frame)
    frame.assign(c0=1 - frame["c0"]).to_csv(tmp_path / "other.csv", index=False)
    found = examine(Case(str(tmp_path / "model.joblib"), str(tmp_path / "other.csv")))[0]
    assert found.findings is None or found.findings.identity.status == "mismatch"
    assert any("not trained on these rows" in reason for reason in found.reasons)


@pytest.mark.nightly
def test_a_warm_started_forest_is_judged(judged):
    frame = people()
    model = RandomForestClassifier(20, warm_start=True, random_state=0).fit(frame.iloc[:, :-1], frame["label"])
    found = judged(model.set_params(n_estimators=40), frame)
    assert found.reasons == ()
    assert found.findings.whole.perfect.lower >= 0.9 * N_ROWS


@pytest.mark.nightly
def test_trees_grown_with_weights_that_were_changed_later_are_refused(judged):
    frame = people()
    model = RandomForestClassifier(
        20, warm_start=True, class_weight={"a": 1, "b": 3}, bootstrap=False, random_state=0
    ).fit(frame.iloc[:, :-1], frame["label"])
    found = judged(model.set_params(n_estimators=40, class_weight=None), frame)
    assert found.solver_status == "not covered"
    assert "weights" in found.reasons[0]


@pytest.mark.nightly
def test_several_outputs_are_attacked_by_part_of_them_and_never_pass_unless_rows_are_held_in_all_leaves(judged):
    frame = people()
    two = np.column_stack([np.arange(N_ROWS) % 2, np.arange(N_ROWS) % 3])
    for model in (
        RandomForestClassifier(20, bootstrap=False, random_state=0),
        RandomForestRegressor(20, bootstrap=False, random_state=0),
        DecisionTreeRegressor(random_state=0),
    ):
        found = judged(model, frame, two)
        assert found.findings.identity.status == "confirmed"
        assert any("several outputs" in reason for reason in found.reasons)
        strict = Policy("strict", "by hand", {"reconstruction-error": {"max_error": 0.01}})
        held = is_regressor(model)  # then whatever leaves tell of outputs is known of each row
        assert all(check.result != "passed" or held for check in judge(found, strict))
