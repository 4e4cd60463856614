"""A file of skops.io is read as the joblib file of the same model is, and a hostile one is refused."""

from __future__ import annotations

import zipfile

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    AdaBoostRegressor,
    BaggingClassifier,
    ExtraTreesRegressor,
    IsolationForest,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, KBinsDiscretizer, OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from attack_corpus.skops_files import planted, rewritten
from pytest_draft.artifact import Limits, read
from pytest_draft.errors import (
    ArtifactTooBigError,
    SeveralModelsError,
    UnsupportedArtifactError,
)
from pytest_draft.examine.flow import examine
from pytest_draft.facts.case import Case

skops = pytest.importorskip("skops.io", reason="skops is not installed")

SMALL = RandomForestClassifier(2, max_depth=3, random_state=1)
BINS = KBinsDiscretizer(3, encode="ordinal", quantile_method="averaged_inverted_cdf")
MODELS = {
    "forest": RandomForestClassifier(20, oob_score=True, random_state=1),
    "weights by class": RandomForestClassifier(2, class_weight={"no": 1, "yes": 2.5, "perhaps": 1}, random_state=1),
    "balanced": RandomForestClassifier(2, class_weight="balanced_subsample", bootstrap=False, random_state=1),
    "generator": RandomForestClassifier(2, random_state=np.random.RandomState(3)),
    "regressor": ExtraTreesRegressor(2, random_state=1),
    "tree": DecisionTreeClassifier(random_state=1),
    "bagging": BaggingClassifier(n_estimators=3, max_features=0.5, random_state=1),
    "isolation": IsolationForest(n_estimators=3, random_state=1),
    "sparse": make_pipeline(OneHotEncoder(handle_unknown="ignore"), SMALL),
    "encoders": make_pipeline(
        ColumnTransformer(
            [
                ("code", OrdinalEncoder(dtype=np.float32), [0]),
                ("number", make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), [4]),
                ("bin", BINS, [5]),
                ("same", FunctionTransformer(np.sqrt), slice(1, 3)),
            ]
        ),
        SMALL,
    ),
}


@pytest.fixture
def both(dump, tmp_path):
    """Return a function that reads a model's joblib file and its .skops file."""

    def read_both(model, **options):
        path = tmp_path / "model.skops"
        skops.dump(model, path)
        return read(dump(model), **options), read(path, **options)

    return read_both


@pytest.fixture(scope="module")
def honest(fitted):
    return skops.dumps(fitted)


def assert_equal(theirs, ours):
    """Assert that nothing was read of one file that was not of the other, where neither writes an array twice."""
    assert ours.holds == theirs.holds
    assert ours.not_read == theirs.not_read
    assert ours.unjudged == theirs.unjudged
    assert ours.places == theirs.places
    assert ours.origin == theirs.origin
    assert ours.contents.sizes == theirs.contents.sizes
    for name in theirs.model.__dataclass_fields__:
        one, other = getattr(theirs.model, name), getattr(ours.model, name)
        if name == "trees":
            for left, right in zip(one, other, strict=True):
                for part in left.__dataclass_fields__:
                    np.testing.assert_array_equal(getattr(left, part), getattr(right, part))
        elif isinstance(one, np.ndarray):
            np.testing.assert_array_equal(one, other)
        else:
            assert repr(one) == repr(other)  # with their types


@pytest.mark.nightly(quick=2)
@pytest.mark.parametrize("name", MODELS)
def test_a_skops_file_is_read_as_the_joblib_file_of_the_same_model(name, columns, classes, numbers, both):
    model = MODELS[name]
    rows = np.column_stack((columns[:, :4], np.abs(columns[:, 4:])))
    theirs, ours = both(model.fit(rows, numbers if name == "regressor" else classes))
    assert_equal(theirs, ours)
    stored = [[(one.path, one.shape) for one in artifact.contents.arrays] for artifact in (theirs, ours)]
    assert stored[0] == stored[1]
    for one, other in zip(theirs.contents.arrays, ours.contents.arrays, strict=True):
        np.testing.assert_array_equal(one.values(), other.values())


@pytest.mark.parametrize("labels", [[False, True], [-1, 1], [0.0, 2.0], ["a", "b"]], ids=str)
def test_classes_and_the_keys_of_class_weights_keep_their_types(labels, columns, both):
    target = np.array(labels)[columns[:, 0].astype(int)]
    theirs, ours = both(
        RandomForestClassifier(2, class_weight=dict(zip(labels, (1, 3), strict=True))).fit(columns, target)
    )
    assert_equal(theirs, ours)
    assert list(ours.forest.parameters["class_weight"]) == labels


def test_names_of_columns_are_read(columns, classes, both):
    frame = pd.DataFrame(columns, columns=list("abcdef"))
    assert both(SMALL.fit(frame, classes))[1].forest.feature_names == tuple("abcdef")


@pytest.mark.nightly
@pytest.mark.parametrize(
    "model",
    [
        GridSearchCV(make_pipeline(StandardScaler(), SMALL), {"randomforestclassifier__max_depth": [2, 3]}, cv=2),
        CalibratedClassifierCV(SMALL, cv=2),
        VotingClassifier([("one", SMALL), ("other", DecisionTreeClassifier(max_depth=2))]),
    ],
    ids=["search", "calibrated", "voting"],
)
def test_models_inside_others_stand_at_the_same_places(model, columns, classes, both, tmp_path):
    model.fit(columns, classes)
    try:
        both(model)
    except SeveralModelsError as several:
        places = several.places
    else:
        places = (None,)
    for place in places:
        assert_equal(*both(model, place=place))


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2])
def test_packed_files_are_read(method, fitted, dump):
    path = dump(skops.dumps(fitted, compression=method), "model.skops")
    assert read(path).forest.n_trees == 3
    assert read(dump(path.read_bytes(), "model.joblib")).forest.n_trees == 3  # the name says nothing


def test_an_array_that_somebody_left_in_the_file_is_seen(forest, columns, both):
    forest.notes = columns.copy()
    theirs, ours = both(forest)
    stored = {one.path: one for one in ours.contents.arrays}
    np.testing.assert_array_equal(stored["notes"].values(), columns)
    assert "notes" in ours.not_read
    assert_equal(theirs, ours)


def test_another_model_is_named(columns, classes, dump):
    model = AdaBoostRegressor(n_estimators=2).fit(columns, classes == classes[0])
    with pytest.raises(UnsupportedArtifactError, match="it holds an AdaBoostRegressor"):
        read(dump(skops.dumps(model)))


# Hostile files


def test_more_values_than_the_limit_are_refused(honest, dump):
    with pytest.raises(ArtifactTooBigError, match="values"):
        read(dump(honest), limits=Limits(opcodes=100))
    with pytest.raises(ArtifactTooBigError, match="members"):
        read(dump(honest), limits=Limits(members=3))


def test_another_object_under_an_id_that_was_used_is_not_hidden_by_the_first(honest, dump):
    def change(schema):
        first = schema["content"]["content"]["estimators_"]
        planted({**first, "content": first["content"][:1]})(schema)

    assert read(dump(honest)).unjudged.why is None
    assert "extra" in read(dump(rewritten(honest, change))).not_read


@pytest.mark.nightly
def test_a_skops_file_gets_the_answer_of_the_joblib_file(tmp_path):
    random = np.random.RandomState(0)
    frame = pd.DataFrame(
        {name: random.randint(0, size, 40) for name, size in zip("abcde", (2, 2, 3, 4, 2), strict=True)}
    )
    frame["label"] = (frame["a"] + frame["c"] + random.randint(0, 2, 40) > 2).astype(int)
    frame.to_csv(tmp_path / "train.csv", index=False)
    model = RandomForestClassifier(20, random_state=1).fit(frame.iloc[:, :-1], frame["label"])
    joblib.dump(model, tmp_path / "model.joblib")
    skops.dump(model, tmp_path / "model.skops")
    found = [
        examine(Case(str(tmp_path / f"model.{suffix}"), str(tmp_path / "train.csv"), effort=0.2))[0]
        for suffix in ("joblib", "skops")
    ]
    assert found[0].findings is not None
    assert found[1].findings == found[0].findings
    assert (found[1].solver_status, found[1].reasons) == (found[0].solver_status, found[0].reasons)
    assert found[1].artifact.published == found[0].artifact.published
    assert found[1].artifact.contents == found[0].artifact.contents
