"""Files of old scikit-learn are judged where that was verified, else refused by version, never as damaged."""

from __future__ import annotations

import copyreg
from pathlib import Path

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from pytest_draft.artifact import read
from pytest_draft.errors import UnsupportedArtifactError

FILES = Path(__file__).parent / "files"


@pytest.mark.parametrize("path", sorted((FILES / "too_old").glob("*.joblib")), ids=lambda path: path.stem)
def test_a_forest_from_before_0_24_is_refused_by_its_version(path):
    major, minor = path.stem.split("-")[1].split(".")[:2]
    with pytest.raises(UnsupportedArtifactError, match=rf"learn {major}\.{minor} wrote it, and files from 0\.24"):
        read(path)


@pytest.mark.parametrize("version", ["0.24.2", "1.0.2", "1.1.3"])
def test_transformers_from_before_1_2_are_not_covered_and_never_called_corrupt(version):
    found = read(FILES / "pipelines" / f"pipeline-{version}.joblib")
    assert f"scikit-learn {version[:-2]} wrote its OneHotEncoder" in found.not_covered
    assert "transformers from 1.2 on are covered" in found.not_covered
    assert "save the forest alone" in found.not_covered
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


@pytest.mark.parametrize("version", ["0.24.1", "1.0", "1.1.0", "1.1.dev0"])
def test_a_pipeline_is_refused_by_the_version_of_its_transformers(version, columns, classes, forest, dump):
    encoder = OneHotEncoder(sparse_output=False).fit(columns[:, :3])
    pipeline = make_pipeline(StandardScaler(), forest)
    pipeline.fit(columns, classes)
    for step in (Aged(encoder, version, "sparse_output"), Aged(pipeline[0], version, "n_features_in_")):
        pipeline.steps[0] = ("first", step)
        assert "on are covered" in read(dump(pipeline)).not_covered


@pytest.mark.parametrize("version", ["0.23.2", "0.22.dev0", "0.9"])
def test_a_forest_is_refused_by_its_own_version(version, forest, dump):
    with pytest.raises(UnsupportedArtifactError, match=r"wrote it, and files from 0\.24 on are covered"):
        read(dump(Aged(forest, version, "n_features_in_")))


@pytest.mark.parametrize("version", [None, 3, "unknown", ""])
def test_a_forest_that_does_not_tell_its_version_is_read(version, fitted, forest, dump):
    found = read(dump(Aged(forest, version))).forest
    assert found.n_trees == 3
    np.testing.assert_array_equal(found.counts(1), read(dump(fitted, "true.joblib")).forest.counts(1))
