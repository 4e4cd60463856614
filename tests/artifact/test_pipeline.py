"""What stands before a forest is read from its file, or refused in one line."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)

from pytest_draft.artifact import read
from pytest_draft.errors import ArtifactError, ArtifactTooBigError, CorruptArtifactError, UnsupportedArtifactError

N_ROWS = 40


@pytest.fixture(scope="module")
def table():
    random = np.random.RandomState(0)
    return pd.DataFrame(
        {
            "age": random.randint(18, 80, N_ROWS),
            "fare": random.gamma(2, 20, N_ROWS).round(2),
            "town": random.choice(["Oslo", "Rome", "Wien"], N_ROWS),
            "grade": random.choice(["low", "mid", "high"], N_ROWS),
            "id": np.arange(N_ROWS),
        }
    )


@pytest.fixture(scope="module")
def labels():
    return np.arange(N_ROWS) % 2


def transformers():
    return ColumnTransformer(
        [
            ("numbers", make_pipeline(SimpleImputer(), StandardScaler()), ["age", "fare"]),
            ("town", OneHotEncoder(), ["town"]),
            ("grade", OrdinalEncoder(categories=[["low", "mid", "high"]]), ["grade"]),
        ]
    )


@pytest.fixture
def fit(table, labels):
    def fitted(*steps):
        return make_pipeline(*steps, RandomForestClassifier(2, random_state=0)).fit(table, labels)

    return fitted


def test_each_column_of_the_forest_is_traced_to_its_raw_column(fit, dump, table):
    artifact = read(dump(fit(transformers())))
    encoder = artifact.encoder
    assert artifact.holds.endswith(
        "behind ColumnTransformer + SimpleImputer + StandardScaler + OneHotEncoder + OrdinalEncoder, in a Pipeline"
    )
    assert encoder.names == tuple(table.columns)
    assert encoder.n_inputs == 5
    assert [encoder.name(column.source) for column in encoder.columns] == ["age", "fare", *["town"] * 3, "grade"]
    assert encoder.sources == (0, 1, 2, 3)
    assert not encoder.sparse
    assert artifact.forest.n_features == len(encoder.columns)


def test_nothing_before_the_forest_is_no_encoder(fitted, columns, classes, dump):
    assert read(dump(fitted)).encoder is None
    idle = Pipeline([("skip", "passthrough"), ("forest", RandomForestClassifier(2))]).fit(columns, classes)
    assert read(dump(idle)).encoder is None


@pytest.mark.parametrize(
    "steps",
    [
        [make_column_transformer((StandardScaler(), [0, 1]), ("passthrough", slice(4, 5)))],
        [
            make_column_transformer(
                (StandardScaler(), ["age", "fare"]), ("drop", ["town", "grade"]), remainder="passthrough"
            )
        ],
        [make_column_transformer((StandardScaler(), make_column_selector("age|fare")), (FunctionTransformer(), [4]))],
        [
            make_column_transformer(("passthrough", [True, True, False, False, True])),
            "passthrough",
            make_column_transformer((StandardScaler(), [0, 1]), remainder="passthrough"),
        ],
        [make_column_transformer((make_pipeline(make_pipeline(StandardScaler())), [0, 1]), (RobustScaler(), [4]))],
        [make_column_transformer(("passthrough", [0, 1, 4]), (OneHotEncoder(), []))],
    ],
    ids=["positions", "remainder", "selector", "mask", "nested", "none selected"],
)
def test_columns_are_selected_in_every_way(steps, fit, dump):
    encoder = read(dump(fit(*steps))).encoder
    assert [encoder.name(column.source) for column in encoder.columns] == ["age", "fare", "id"]


def test_pipelines_and_searches_around_each_other_are_one_encoder(table, labels, dump):
    inner = Pipeline([("scale", MinMaxScaler()), ("forest", RandomForestClassifier(2))])
    search = GridSearchCV(inner, {"forest__max_depth": [2]}, cv=2)
    outer = make_pipeline(transformers(), search).fit(table, labels)
    encoder = read(dump(outer)).encoder
    assert encoder.transformers[-2:] == ("OrdinalEncoder", "MinMaxScaler")
    assert encoder.names == tuple(table.columns)


def test_what_the_encoders_know_is_hidden_in_their_repr(fit, dump):
    assert "Oslo" not in repr(read(dump(fit(transformers()))).encoder)


def refused(path, kind, *words):
    """Assert that a file is refused with one kind, in one printable line that has the words."""
    with pytest.raises(ArtifactError) as caught:
        read(path)
    message = str(caught.value)
    assert type(caught.value) is kind, message
    said_of_it(message, words)


def not_covered(path, *words):
    """Assert that only the forest of a file is known, and why not its rows, in one printable line with the words."""
    artifact = read(path)
    assert artifact.encoder is None
    assert artifact.forest.n_trees == 2
    said_of_it(artifact.not_covered, words)
    return artifact


def said_of_it(message, words):
    assert message.isascii()
    assert message.isprintable()
    assert "Oslo" not in message
    for word in words:
        assert word in message


@pytest.mark.parametrize(
    "step",
    [
        PCA(2),
        KNNImputer(),
        SplineTransformer(),
        FunctionTransformer(np.cumsum),
        FunctionTransformer(np.clip, kw_args={"a_min": 0, "a_max": 1}),
        TargetEncoder(cv=2),
        FeatureUnion([("scale", StandardScaler())]),
        make_pipeline(StandardScaler(), PCA(2)),
    ],
    ids=lambda step: type(step).__name__,
)
def test_any_other_step_is_named_with_the_remedy(step, table, labels, dump):
    numbers = table[["age", "fare"]]
    model = make_pipeline(step, RandomForestClassifier(2)).fit(numbers, labels)
    name = "PCA" if isinstance(step, Pipeline) else type(step).__name__
    not_covered(dump(model), f"a {name}", "save the forest alone", "pipelines.md, any other step")
    inside = make_column_transformer((step, ["age", "fare"]))
    model = make_pipeline(inside, RandomForestClassifier(2)).fit(table, labels)
    not_covered(dump(model), f"a {name}", "save the forest alone")


def test_transformer_weights_are_not_covered(table, labels, dump):
    weighted = ColumnTransformer([("numbers", StandardScaler(), ["age"])], transformer_weights={"numbers": 2})
    model = make_pipeline(weighted, RandomForestClassifier(2)).fit(table, labels)
    not_covered(dump(model), "transformer weights")


def test_a_transformer_that_was_not_fitted_is_not_covered(fit, dump):
    model = fit(transformers())
    model.steps[0] = ("columns", transformers())
    not_covered(dump(model), "a ColumnTransformer that was not fitted")


def objects(*values):
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


# By name: the path to a transformer, its attribute, and what somebody put there.
CORRUPT = {
    "no categories": ("town", "categories_", [objects()], CorruptArtifactError),
    "too few lists": ("town", "categories_", [], CorruptArtifactError),
    "a category more": ("town", "categories_", [objects("a", "b", "c", "d")], CorruptArtifactError),
    "a category twice": ("town", "categories_", [objects("a", "b", "b")], CorruptArtifactError),
    "a truth value and its number": ("town", "categories_", [objects("a", 1, True)], CorruptArtifactError),
    "objects": ("town", "categories_", [objects("a", "b", {"a": 1})], UnsupportedArtifactError),
    "bytes": ("town", "categories_", [np.array([b"a", b"b", b"c"])], UnsupportedArtifactError),
    "colliding integers": ("town", "categories_", [objects(0, 2**61 - 1, 2**122)], UnsupportedArtifactError),
    "two kinds of missing": ("town", "categories_", [objects("a", None, np.nan)], UnsupportedArtifactError),
    "a table": ("town", "categories_", [np.zeros((3, 1))], CorruptArtifactError),
    "not an array": ("town", "categories_", ["abc"], CorruptArtifactError),
    "widths": ("town", "_n_features_outs", [2], CorruptArtifactError),
    "dropped": ("town", "_drop_idx_after_grouping", objects(3), CorruptArtifactError),
    "dropped text": ("town", "_drop_idx_after_grouping", objects("a"), CorruptArtifactError),
    "unknown": ("town", "handle_unknown", "guess", CorruptArtifactError),
    "type": ("town", "dtype", "float64", UnsupportedArtifactError),
    "a code without categories": ("grade", "categories_", [objects()], CorruptArtifactError),
    "short scale": ("scaler", "scale_", np.ones(1), CorruptArtifactError),
    "zero scale": ("scaler", "scale_", np.zeros(2), CorruptArtifactError),
    "infinite mean": ("scaler", "mean_", np.array([0.0, np.inf]), UnsupportedArtifactError),
    "text mean": ("scaler", "mean_", np.array(["a", "b"]), CorruptArtifactError),
    "other columns": ("scaler", "n_features_in_", 3, CorruptArtifactError),
    "no number of columns": ("scaler", "n_features_in_", "two", CorruptArtifactError),
    "statistics": ("imputer", "statistics_", np.ones(3), CorruptArtifactError),
    "object statistics": ("imputer", "statistics_", objects(1.0, []), UnsupportedArtifactError),
    "missing value": ("imputer", "missing_values", [1], UnsupportedArtifactError),
    "one statistic away": ("imputer", "statistics_", np.array([1.0, np.nan]), CorruptArtifactError),
    "input out of range": ("columns", "_transformer_to_input_indices", {"town": [99]}, CorruptArtifactError),
    "no inputs": ("columns", "_transformer_to_input_indices", None, CorruptArtifactError),
    "outputs": ("columns", "output_indices_", {}, CorruptArtifactError),
    "a name twice": ("columns", "feature_names_in_", objects(*"aabcd"), CorruptArtifactError),
    "too few names": ("columns", "feature_names_in_", objects("a"), CorruptArtifactError),
    "no transformers": ("columns", "transformers_", 5, CorruptArtifactError),
    "malformed": ("columns", "transformers_", [("town", "drop")], CorruptArtifactError),
}


def part(model, name):
    columns = model[0]
    numbers = columns.named_transformers_["numbers"]
    found = {"columns": columns, "imputer": numbers[0], "scaler": numbers[1]}
    return found.get(name) or columns.named_transformers_[name]


@pytest.mark.nightly(quick=8)
@pytest.mark.parametrize(("name", "attribute", "value", "kind"), CORRUPT.values(), ids=CORRUPT)
def test_a_transformer_that_contradicts_itself_is_not_relied_on(name, attribute, value, kind, fit, dump):
    model = fit(transformers())
    vars(part(model, name))[attribute] = value
    if kind is UnsupportedArtifactError:
        not_covered(dump(model))
    else:
        refused(dump(model), kind)


def test_groups_of_infrequent_categories_must_be_groups(fit, dump):
    model = fit(make_column_transformer((OneHotEncoder(max_categories=2), ["town"])))
    encoder = model[0].named_transformers_["onehotencoder"]
    assert len(read(dump(model)).encoder.columns) == 2
    for groups in ([np.array([0, 2, 2])], [np.array([0, 1])], [np.array([-1, 0, 1])], [np.array([0, 1, 2**62])], []):
        encoder._default_to_infrequent_mappings = groups
        refused(dump(model), CorruptArtifactError)


def test_transformers_that_do_not_make_the_forests_columns_are_refused(fit, dump):
    model = fit(transformers())
    model.steps.insert(1, ("twice", fit(make_column_transformer((StandardScaler(), ["age"])))[0]))
    refused(dump(model), CorruptArtifactError)
    model.steps[:2] = [("one", StandardScaler().fit(np.arange(6.0).reshape(2, 3)))]
    refused(dump(model), CorruptArtifactError, "make 3 columns, but its forest takes 6")


def test_a_pipeline_inside_itself_is_not_covered(fit, dump):
    model = fit(transformers())
    inner = Pipeline([("again", StandardScaler())])
    inner.steps[0] = ("again", inner)
    model.steps[0] = ("inner", inner)
    not_covered(dump(model), "transformers inside each other")


@pytest.mark.nightly
def test_a_long_chain_of_transformers_is_not_covered(fit, dump):
    model = fit(transformers())
    scaler = StandardScaler().fit(np.arange(12.0).reshape(2, 6))
    model.steps[1:1] = [(f"scale {index}", scaler) for index in range(3)]
    assert len(read(dump(model)).encoder.columns) == 6
    model.steps[1:1] = [(f"again {index}", scaler) for index in range(20_000)]
    not_covered(dump(model), "a column with more than 64 steps")


def test_columns_that_are_multiplied_again_and_again_are_refused(fit, dump):
    model = fit(make_column_transformer(("passthrough", [0])))
    names, every = [f"part {index}" for index in range(1_000)], list(range(5)) * 5_000
    ends = range(0, 25_000 * 1_001, 25_000)
    vars(model[0]).update(
        transformers_=[(name, "passthrough", None) for name in names],
        _transformer_to_input_indices=dict.fromkeys(names, every),
        output_indices_={name: slice(*pair) for name, pair in zip(names, itertools.pairwise(ends), strict=True)},
    )
    refused(dump(model), ArtifactTooBigError)
