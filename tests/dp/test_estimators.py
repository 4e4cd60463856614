"""Private forests follow scikit-learn's and diffprivlib's rules, and keep to themselves what is private."""

from __future__ import annotations

import pickle
import secrets
import subprocess
import sys
import warnings

import joblib
import numpy as np
import pytest
from scipy.stats import kstest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import check_estimator

pytest.importorskip("diffprivlib", reason="private forests are trained with pytest-draft[dp]")

from diffprivlib import BudgetAccountant, mechanisms
from diffprivlib.models import RandomForestClassifier
from diffprivlib.utils import BudgetError, PrivacyLeakWarning

from pytest_draft.artifact import read
from pytest_draft.dp import GaussianForestClassifier, LaplaceForestClassifier, secure_noise

KINDS = [LaplaceForestClassifier, GaussianForestClassifier]
# They compare two fits, and no two have the same noise.
TWO_FITS = {"check_classifier_data_not_an_array", "check_supervised_y_2d", "check_fit_idempotent"}
PARAMETERS = {"bounds": (0, 1), "classes": [0, 1], "random_state": 3}


@pytest.fixture(scope="module")
def data():
    random = np.random.default_rng(5)
    return random.integers(0, 2, (60, 6)), random.integers(0, 2, 60)


def constant(value):
    """Return a source of noise that is always the same."""
    return lambda mechanism, shape: np.full(shape, value)


class Seeded(LaplaceForestClassifier):
    """Would be no good to release."""

    def fit(self, X, y):
        return self._fit(X, y, lambda _, shape: np.random.default_rng(0).laplace(size=shape), "sum")


# scikit-learn's rules


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learns_checks_pass_but_for_those_that_compare_two_fits(kind):
    results = check_estimator(kind(), on_skip=None, on_fail=None)
    failed = {result["check_name"] for result in results if result["status"] == "failed"}
    assert failed <= TWO_FITS
    assert len(results) > 40


@pytest.mark.filterwarnings("ignore")
def test_with_noise_that_repeats_all_of_scikit_learns_checks_pass():
    results = check_estimator(Seeded(), on_skip=None, on_fail=None)
    assert not [result["check_name"] for result in results if result["status"] == "failed"]


@pytest.mark.parametrize("kind", KINDS)
def test_labels_can_be_texts_and_columns_can_have_names(kind, data):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(data[0], columns=list("abcdef"))
    labels = np.array(["no", "yes"])[data[0][:, 0]]
    model = kind(20, epsilon=200, bounds=(0, 1), classes=["yes", "no"], random_state=1).fit(frame, labels)
    assert model.feature_names_in_.tolist() == list("abcdef")
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.score(frame, labels) > 0.9


def test_a_tree_votes_with_clipped_counts_and_with_all_classes_where_none_is_left(data):
    model = LaplaceForestClassifier(2, max_depth=1, **PARAMETERS).fit(*data)
    leaf = model.children_left_ < 0
    model.counts_[0][leaf], model.counts_[1][leaf] = [3, -5], [-1, -2]
    assert (model.predict_proba(data[0]) == [0.75, 0.25]).all()
    assert (model.predict(data[0]) == 0).all()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"epsilon": 0}, "epsilon == 0"),
        ({"epsilon": np.inf}, "epsilon == inf"),
        ({"epsilon": np.nan}, "epsilon == nan"),
        ({"epsilon": 1e-15}, "epsilon == 1e-15"),
        ({"n_estimators": 0}, "n_estimators == 0"),
        ({"max_depth": 0}, "max_depth == 0"),
        ({"bounds": (1, 0)}, "bound"),
        ({"classes": [0, 2]}, "labels that are not in classes"),
    ],
    ids=str,
)
def test_parameters_that_make_no_sense_are_refused(changes, message, data):
    with pytest.raises(ValueError, match=message):
        LaplaceForestClassifier(**{**PARAMETERS, **changes}).fit(*data)


# The mechanism


def test_the_structure_is_that_of_diffprivlibs_forest_and_never_depends_on_the_rows(data):
    ours = LaplaceForestClassifier(4, **PARAMETERS).fit(data[0][:10], data[1][:10])
    theirs = RandomForestClassifier(4, **PARAMETERS).fit(*data)
    for t, tree in enumerate(theirs.estimators_):
        assert (ours.children_left_ == tree.tree_.children_left).all()
        assert (ours.children_right_ == tree.tree_.children_right).all()
        assert (ours.feature_[t] == tree.tree_.feature).all()
        assert (ours.threshold_[t] == tree.tree_.threshold).all()


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_random_state_gives_the_same_structure_and_other_noise(kind, data):
    first, second = (kind(5, **PARAMETERS).fit(*data) for _ in range(2))
    assert (first.threshold_ == second.threshold_).all()
    leaf = first.children_left_ < 0
    assert ((first.counts_ != second.counts_)[:, leaf]).mean() > 0.5


@pytest.mark.parametrize("kind", KINDS)
def test_the_noise_comes_from_the_operating_system_whatever_is_seeded(kind, data):
    mechanism, _ = kind(random_state=3)._mechanism()
    assert isinstance(mechanism._rng, secrets.SystemRandom)
    counts = []
    for _ in range(2):
        np.random.seed(0)  # noqa: NPY002
        counts.append(kind(3, bounds=(0, 1), classes=[0, 1]).fit(*data).counts_)
    assert (counts[0] != counts[1]).any()


def test_every_tree_counts_all_rows_by_leaf_and_class(data):
    model = LaplaceForestClassifier(4, max_depth=3, **PARAMETERS)._fit(*data, constant(0.0), "sum")
    theirs = RandomForestClassifier(4, max_depth=3, **PARAMETERS).fit(*data)
    for counts, tree in zip(model.counts_, theirs.estimators_, strict=True):
        leaf = tree.apply(data[0].astype(np.float32))
        expected = [[((leaf == node) & (data[1] == c)).sum() for c in (0, 1)] for node in range(len(counts))]
        assert (counts == expected).all()


def test_noise_is_added_to_every_leaf_and_the_sum_is_cut_towards_0(data):
    true = LaplaceForestClassifier(4, **PARAMETERS)._fit(*data, constant(0.0), "sum")
    leaf = true.children_left_ < 0
    for noise in (0.75, -0.75, 7.5, -7.5):
        summed = LaplaceForestClassifier(4, **PARAMETERS)._fit(*data, constant(noise), "sum")
        papers = LaplaceForestClassifier(4, **PARAMETERS)._fit(*data, constant(noise), "noise")
        assert (summed.counts_[:, leaf] == np.trunc(true.counts_[:, leaf] + noise)).all()
        assert (papers.counts_[:, leaf] == true.counts_[:, leaf] + int(noise)).all()
        assert not summed.counts_[:, ~leaf].any()
        assert (summed.rounding_, papers.rounding_) == ("sum", "noise")


@pytest.mark.parametrize(
    ("model", "distribution"),
    [
        (LaplaceForestClassifier(8, epsilon=4), "laplace"),
        (GaussianForestClassifier(8, epsilon=4, delta=1e-3), "norm"),
        (GaussianForestClassifier(2, epsilon=6, delta=1e-3), "norm"),
    ],
    ids=["laplace", "classic", "analytic"],
)
def test_the_noise_has_the_distribution_and_the_scale_that_the_file_tells(model, distribution, data):
    mechanism, scale = model._mechanism()
    model.set_params(**PARAMETERS).fit(*data)
    assert model.scale_ == scale
    assert kstest(secure_noise(mechanism, (4000,)) / scale, distribution).pvalue > 1e-6


def test_the_scales_are_the_papers(data):
    assert LaplaceForestClassifier(10, epsilon=5)._mechanism()[1] == 2.0
    classic = GaussianForestClassifier(10, epsilon=5, delta=1e-4)._mechanism()[1]
    assert classic == pytest.approx(np.sqrt(2 * np.log(1.25 / 1e-5)) / 0.5)
    analytic = GaussianForestClassifier(1, epsilon=5, delta=1e-4)._mechanism()[1]
    assert analytic == pytest.approx(mechanisms.GaussianAnalytic(epsilon=5, delta=1e-4, sensitivity=1)._scale)


def test_gaussian_noise_that_does_not_give_the_declared_delta_is_refused():
    # diffprivlib 0.6.6 gives noise of delta 9.4e-9 here.
    with pytest.raises(ValueError, match="finds no noise for epsilon == 20"):
        GaussianForestClassifier(1, epsilon=20, delta=1e-9)._mechanism()


# The budget


@pytest.mark.parametrize(("kind", "delta"), [(LaplaceForestClassifier, 0), (GaussianForestClassifier, 1e-6)])
def test_a_fit_spends_its_budget_and_is_refused_without(kind, delta, data):
    accountant = BudgetAccountant(1.5, 0.5)
    model = kind(epsilon=1.0, accountant=accountant, **PARAMETERS).fit(*data)
    assert accountant.spent_budget == [(1.0, delta)]
    before = model.counts_.copy()
    with pytest.raises(BudgetError):
        model.fit(*data)
    assert (model.counts_ == before).all()
    assert len(accountant) == 1


def test_without_an_accountant_the_default_one_is_spent_on(data):
    with BudgetAccountant() as accountant:
        LaplaceForestClassifier(epsilon=2.0, **PARAMETERS).fit(*data)
    assert accountant.spent_budget == [(2.0, 0)]


def test_clones_spend_on_the_same_accountant(data):
    accountant = BudgetAccountant()
    model = LaplaceForestClassifier(epsilon=0.5, accountant=accountant, **PARAMETERS)
    assert clone(model).accountant is accountant
    assert clone(model).get_params() == model.get_params()
    cross_val_score(model, *data, cv=3)
    assert accountant.spent_budget == [(0.5, 0)] * 3


@pytest.mark.parametrize("missing", ["bounds", "classes"])
def test_what_is_read_from_the_data_is_warned_of_as_by_diffprivlib(missing, data):
    given = {name: value for name, value in PARAMETERS.items() if name != missing}
    with pytest.warns(PrivacyLeakWarning, match=f"{missing} are not given"):
        LaplaceForestClassifier(**given).fit(*data)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LaplaceForestClassifier(**PARAMETERS).fit(*data)


# The file


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_in_the_file_but_the_noisy_counts_depends_on_the_rows(kind, data):
    def stored(rows, labels):
        model = kind(4, **PARAMETERS)._fit(rows, labels, constant(1e6), "sum")
        return pickle.loads(pickle.dumps(model)).__dict__

    one, other = stored(*data), stored(data[0][:25], data[1][:25])
    noisy, other_noisy = one.pop("counts_"), other.pop("counts_")
    assert pickle.dumps(one) == pickle.dumps(other)
    leaf = one["children_left_"] < 0
    assert (noisy[:, leaf] >= 10**6).all()
    assert not noisy[:, ~leaf].any()
    assert (noisy != other_noisy).any()


def test_the_accountant_stays_out_of_the_file(data):
    accountant = BudgetAccountant()
    model = LaplaceForestClassifier(accountant=accountant, **PARAMETERS).fit(*data)
    assert b"diffprivlib" not in pickle.dumps(model)
    assert model.accountant is accountant


def test_a_released_file_is_loaded_and_predicts_without_diffprivlib(data, tmp_path):
    model = LaplaceForestClassifier(**PARAMETERS).fit(*data)
    joblib.dump(model, tmp_path / "model.joblib")
    np.save(tmp_path / "rows.npy", data[0])
    script = (
        "import sys; sys.modules['diffprivlib'] = None; import joblib, numpy\n"
        "model = joblib.load('model.joblib'); numpy.save('shares.npy', model.predict_proba(numpy.load('rows.npy')))"
    )
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=True, timeout=120)
    assert (np.load(tmp_path / "shares.npy") == model.predict_proba(data[0])).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("random_state", [3, None, np.random.RandomState(3)], ids=["number", "none", "generator"])
def test_a_file_is_read_as_it_was_fitted(kind, random_state, data, tmp_path):
    model = kind(4, epsilon=2, max_depth=3, bounds=(0, 1), classes=[0, 1], random_state=random_state).fit(*data)
    joblib.dump(model, tmp_path / "model.joblib")
    artifact = read(tmp_path / "model.joblib")
    forest = artifact.forest
    assert artifact.holds.startswith(f"{kind.__name__}, 4 trees, 6 columns, 2 classes, epsilon 2")
    assert (forest.observation.privacy.epsilon, forest.observation.privacy.delta) == (2.0, model.delta_)
    assert (forest.observation.privacy.scale, forest.observation.privacy.rounding) == (model.scale_, "sum")
    assert not forest.observation.privacy.exact
    assert forest.n_samples is None
    for t, tree in enumerate(forest.trees):
        assert (tree.left == model.children_left_).all()
        assert (tree.threshold == model.threshold_[t]).all()
        assert (forest.released(t) == model.counts_[t][tree.leaves]).all()
