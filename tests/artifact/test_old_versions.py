"""Files of old scikit-learn are judged where that was verified, else refused by version, never as damaged."""

from __future__ import annotations

import copyreg
import pickle
from pathlib import Path

import numpy as np
import pytest
from sklearn.ensemble import BaggingClassifier, GradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, RobustScaler, StandardScaler

from pytest_draft.artifact import occurrences, read
from pytest_draft.errors import NotCoveredError, UnsupportedArtifactError

FILES = Path(__file__).parent / "files"


@pytest.mark.parametrize("path", sorted((FILES / "old").glob("*.joblib")), ids=lambda path: path.stem)
def test_a_forest_from_before_0_24_has_the_counts_of_its_rows(path):
    random = np.random.RandomState(20)  # as make.py
    rows = random.randint(0, 2, (40, 6))
    labels = (rows[:, 0] + random.randint(0, 2, 40)) // 2
    found = read(path)
    assert (found.not_covered, found.account.unexplained, found.account.plain) == (None, (), 0)
    drawn = occurrences(found.forest)
    for index, tree in enumerate(found.forest.trees):
        expected = np.zeros((tree.n_nodes, 2))
        for row, label, times in zip(rows, labels, drawn[index], strict=True):
            node = 0
            while tree.left[node] >= 0:
                expected[node, label] += times
                left = row[tree.feature[node]] <= tree.threshold[node]
                node = tree.left[node] if left else tree.right[node]
            expected[node, label] += times
        np.testing.assert_array_equal(found.forest.counts(index), expected)


@pytest.mark.parametrize("version", ["0.24.2", "1.0.2", "1.1.3"])
def test_an_encoder_from_before_1_2_is_read_as_todays(version):
    found = read(FILES / "pipelines" / f"pipeline-{version}.joblib")
    today = read(FILES / "pipelines" / "pipeline-1.2.2.joblib")
    assert (found.not_covered, found.account.unexplained) == (None, ())
    assert repr(found.encoder) == repr(today.encoder)
    assert found.forest.n_trees == 3
    assert found.forest.counts(0)[0].sum() == 40


def test_transformers_of_1_2_are_read():
    found = read(FILES / "pipelines" / "pipeline-1.2.2.joblib")
    assert found.not_covered is None
    assert found.encoder is not None
    assert found.encoder.transformers == ("OneHotEncoder",)
    assert found.forest.n_features == 6


class Aged:
    """Pickles as an estimator of a version."""

    def __init__(self, model, version, *without):
        self.model, self.state = model, {**model.__getstate__(), "_sklearn_version": version}
        for name in without:
            self.state.pop(name, None)

    def __reduce__(self):
        return copyreg._reconstructor, (type(self.model), object, None), self.state


@pytest.mark.parametrize("version", ["0.20.4", "0.24.1", "1.1.dev0"])
def test_old_scalers_and_encoders_are_read_as_todays(version, columns, classes, forest, dump):
    encoder = OneHotEncoder(drop="if_binary").fit(columns[:, :3])
    encoder.sparse = encoder.sparse_output
    new = ("n_features_in_", "sparse_output", "_n_features_outs", "_drop_idx_after_grouping", "_infrequent_enabled")
    for step in (encoder, StandardScaler(), MinMaxScaler(), RobustScaler()):
        pipeline = make_pipeline(step, RandomForestClassifier(2, max_depth=2, random_state=1))
        pipeline.fit(columns[:, :3], classes)
        expected = read(dump(pipeline)).encoder
        pipeline[0].sparse = True
        pipeline.steps[0] = ("first", Aged(pipeline[0], version, *new))
        found = read(dump(pipeline))
        assert found.not_covered is None
        then = repr(expected).replace("cast=True", "cast=False")  # newer ones compute in double precision
        assert repr(found.encoder) == then


@pytest.mark.parametrize("version", ["0.24.1", "1.0", "1.1.0", "1.1.dev0"])
def test_other_old_transformers_are_refused_by_their_version(version, columns, classes, forest, dump):
    pipeline = make_pipeline(SimpleImputer(), forest).fit(columns, classes)
    pipeline.steps[0] = ("first", Aged(pipeline[0], version, "n_features_in_"))
    assert "transformers from 1.2 on are covered" in read(dump(pipeline)).not_covered


@pytest.mark.parametrize("version", ["0.17.1", "0.9"])
def test_a_forest_is_refused_by_its_own_version(version, forest, dump):
    with pytest.raises(UnsupportedArtifactError, match=r"wrote it, and files from 0\.18 on are covered"):
        read(dump(Aged(forest, version, "n_features_in_")))


_OLD_NAMES = {
    b"sklearn.ensemble._forest": b"sklearn.ensemble.forest",
    b"sklearn.tree._classes": b"sklearn.tree.tree",
    b"numpy._core.multiarray": b"numpy.core.multiarray",
}


def test_a_forest_as_0_18_wrote_it_is_the_same(columns, classes, dump):
    model = RandomForestClassifier(100, max_depth=2, random_state=5).fit(columns, classes)
    same = read(dump(model, "today.pkl"))
    for part in (model, *model.estimators_):
        part.__dict__.update(n_features_=part.__dict__.pop("n_features_in_"), min_impurity_split=1e-7, presort=False)
        part.__dict__.pop("_n_samples", None)
        part.__dict__.pop("_n_samples_bootstrap", None)
    content = pickle.dumps(Aged(model, "0.18.2"), protocol=2)
    for today, then in _OLD_NAMES.items():
        assert b"c" + today + b"\n" in content
        content = content.replace(b"c" + today + b"\n", b"c" + then + b"\n")
    found = read(dump(content, "old.pkl"))
    assert (found.holds, found.account.unexplained) == (same.holds, ())
    assert found.forest.n_samples == 60
    np.testing.assert_array_equal(occurrences(found.forest), occurrences(same.forest))
    np.testing.assert_array_equal(found.forest.counts(99), same.forest.counts(99))


def test_the_draws_of_a_bagging_before_0_22_are_not_known(columns, classes, dump):
    model = BaggingClassifier(n_estimators=2, random_state=5).fit(columns, classes)
    with pytest.raises(NotCoveredError, match=r"how scikit-learn 0\.21 draws rows is not known"):
        occurrences(read(dump(Aged(model, "0.21.3"))).forest)


def test_old_boosting_is_not_covered_by_its_version_and_never_called_corrupt(columns, classes, dump):
    model = GradientBoostingClassifier(n_estimators=2, max_depth=2).fit(columns, classes)
    model.n_features_ = model.n_features_in_
    found = read(dump(Aged(model, "0.22.1", "n_features_in_")))
    assert "scikit-learn 0.22 wrote its GradientBoostingClassifier" in found.not_covered


@pytest.mark.parametrize("version", [None, 3, "unknown", ""])
def test_a_forest_that_does_not_tell_its_version_is_read(version, fitted, forest, dump):
    found = read(dump(Aged(forest, version))).forest
    assert found.n_trees == 3
    np.testing.assert_array_equal(found.counts(1), read(dump(fitted, "true.joblib")).forest.counts(1))
