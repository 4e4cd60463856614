"""Raw tables are encoded as the file's own transformers do, bit by bit, and encoded rows are decoded."""

from __future__ import annotations

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import ExtraTreesRegressor, RandomForestClassifier
from sklearn.feature_selection import (
    RFE,
    GenericUnivariateSelect,
    SelectFdr,
    SelectFpr,
    SelectFromModel,
    SelectFwe,
    SelectKBest,
    SelectPercentile,
    SequentialFeatureSelector,
    VarianceThreshold,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from pytest_draft.artifact import read
from pytest_draft.data import (
    Table,
    domain_from,
    granted_by,
    holdout_of,
    raw_columns,
    read_table,
    training_data,
)
from pytest_draft.errors import DataError, SeveralModelsError
from pytest_draft.matching import matched_distance, original_weights, paired_distance
from pytest_draft.timebox import TimeBox

pytestmark = pytest.mark.filterwarnings("ignore:Skipping features")

N_ROWS = 120
NUMBERS = ["age", "fare", "weight"]
TEXTS = ["sex", "town"]


@pytest.fixture(scope="module")
def table():
    random = np.random.RandomState(3)
    frame = pd.DataFrame(
        {
            "age": random.randint(18, 80, N_ROWS),
            "fare": random.gamma(2, 20, N_ROWS).round(2),
            "weight": random.normal(size=N_ROWS),
            "sex": random.choice(["f", "m"], N_ROWS),
            "town": random.choice(list("abcdefg"), N_ROWS, p=[0.3, 0.3, 0.1, 0.1, 0.1, 0.06, 0.04]),
            "grade": random.choice(["low", "mid", "high"], N_ROWS),
            "flag": random.random(N_ROWS) < 0.4,
            "code": random.choice([1, 2, 30], N_ROWS),
            "empty": np.full(N_ROWS, np.nan),
        }
    )
    frame.loc[::7, "fare"] = np.nan
    frame.loc[::9, "town"] = np.nan
    return frame


@pytest.fixture(scope="module")
def labels():
    return np.arange(N_ROWS) % 2


def dense(*parts, **options):
    return make_column_transformer(*parts, sparse_threshold=0, **options)


def imputed(*steps, **options):
    return make_pipeline(SimpleImputer(**options), *steps)


ENCODERS = {
    "standard, one-hot": dense(
        (imputed(StandardScaler(), add_indicator=True), NUMBERS),
        (OneHotEncoder(handle_unknown="ignore"), [*TEXTS, "flag", "code"]),
    ),
    "robust, first dropped": dense(
        (imputed(RobustScaler(), strategy="median"), NUMBERS), (OneHotEncoder(drop="first"), TEXTS)
    ),
    "clipped, infrequent": dense(
        (imputed(MinMaxScaler((-1, 0.5), clip=True), strategy="most_frequent"), NUMBERS),
        (OneHotEncoder(drop="if_binary", min_frequency=15), [*TEXTS, "grade"]),
        (OrdinalEncoder(), ["town", "grade", "code", "flag"]),
    ),
    "sparse, scaled": make_pipeline(
        make_column_transformer((OneHotEncoder(), TEXTS), (OneHotEncoder(max_categories=2), ["grade", "code"])),
        StandardScaler(with_mean=False),
        RobustScaler(with_centering=False),
    ),
    "unknown, missing": dense(
        (OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2), TEXTS),
        (OneHotEncoder(categories=[["a", "b"]], handle_unknown="infrequent_if_exist"), ["town"]),
        (StandardScaler(with_std=False), ["age", "weight"]),
        (StandardScaler(with_mean=False), ["weight"]),
        remainder="drop",
    ),
    "empty columns": dense(
        (imputed(keep_empty_features=True), ["fare", "empty"]),
        (imputed(add_indicator=True), ["empty", "fare", "age"]),
        (imputed(OneHotEncoder(dtype=np.float32), strategy="constant", fill_value="?"), TEXTS),
        (SimpleImputer(missing_values=30, strategy="constant", fill_value=7), ["code"]),
    ),
    "selected": make_pipeline(
        dense((SimpleImputer(), NUMBERS), (OneHotEncoder(), TEXTS)), VarianceThreshold(0.08), MinMaxScaler()
    ),
    "functions, bins": make_pipeline(
        dense(
            (make_pipeline(SimpleImputer(), FunctionTransformer(np.log1p), StandardScaler()), ["age", "fare"]),
            (FunctionTransformer(np.sqrt, validate=True), ["age", "code"]),
            (FunctionTransformer(np.square), ["age", "weight", "flag"]),
            (imputed(KBinsDiscretizer(4, encode="ordinal", quantile_method="averaged_inverted_cdf")), NUMBERS),
            (KBinsDiscretizer(3, encode="onehot-dense", strategy="uniform"), ["weight", "code"]),
            (imputed(Binarizer(threshold=30.0)), ["age", "fare"]),
            (FunctionTransformer(), ["weight"]),
        ),
        RobustScaler(),
    ),
    "curves": dense(
        (imputed(PowerTransformer()), NUMBERS),
        (PowerTransformer("box-cox", standardize=False), ["age", "code"]),
        (QuantileTransformer(n_quantiles=20), NUMBERS),
        (QuantileTransformer(n_quantiles=30, output_distribution="normal"), ["fare", "age"]),
        (MaxAbsScaler(), ["weight", "code"]),
    ),
    "products": make_pipeline(
        dense((imputed(StandardScaler()), NUMBERS), (OneHotEncoder(drop="if_binary"), ["sex"])),
        PolynomialFeatures(3),
    ),
    "products of two": dense(
        (imputed(PolynomialFeatures((2, 2), interaction_only=True, include_bias=False)), NUMBERS),
        (PolynomialFeatures(2, interaction_only=True), ["age", "code"]),
    ),
    "best": make_pipeline(
        dense((SimpleImputer(), NUMBERS), (OneHotEncoder(), TEXTS)),
        SelectPercentile(percentile=70),
        GenericUnivariateSelect(mode="k_best", param=5),
        SelectFpr(alpha=0.999),
        StandardScaler(),
        SelectKBest(k=3),
    ),
    "by rate": make_pipeline(
        dense((SimpleImputer(), NUMBERS), (OneHotEncoder(), TEXTS)),
        SelectFdr(alpha=0.9999),
        GenericUnivariateSelect(mode="fwe", param=400.0),
        SelectFwe(alpha=1),
    ),
    "by a model": make_pipeline(
        dense((SimpleImputer(), NUMBERS), (OneHotEncoder(), TEXTS)),
        SelectFromModel(RandomForestClassifier(5, random_state=0), threshold="0.2*mean"),
        SelectFromModel(LogisticRegression(), threshold=-np.inf, max_features=6),
        SelectFromModel(ExtraTreeClassifier(random_state=0), threshold="median"),
        RFE(LogisticRegression(), n_features_to_select=2),
        SequentialFeatureSelector(DecisionTreeClassifier(random_state=0), n_features_to_select=1, cv=2),
    ),
    "frames": make_pipeline(
        make_column_transformer(
            (StandardScaler(), NUMBERS), ("passthrough", ["code", "flag"]), verbose_feature_names_out=False
        ).set_output(transform="pandas"),
        dense((RobustScaler(), ["code", "weight"]), remainder="passthrough"),
    ),
}


@pytest.fixture
def saved(tmp_path):
    """Return a function that fits an encoder and a forest, and returns what was read of them and the model."""

    def save(encoder, frame, labels, forest=None):
        model = make_pipeline(encoder, RandomForestClassifier(2, random_state=0) if forest is None else forest).fit(
            frame, labels
        )
        joblib.dump(model, tmp_path / "model.joblib")
        last = f"steps[{len(model) - 1}]"  # a selection can hold forests, too
        try:
            return read(tmp_path / "model.joblib"), model
        except SeveralModelsError:
            return read(tmp_path / "model.joblib", place=last), model

    return save


def transformed(model, frame):
    encoded = model[:-1].transform(frame)
    return (encoded.toarray() if hasattr(encoded, "toarray") else np.asarray(encoded)).astype(np.float32)


@pytest.mark.nightly(quick=2)
@pytest.mark.parametrize("single", [[], ["fare", "weight"], ["weight", "empty"]], ids=["double", "single", "mixed"])
@pytest.mark.parametrize("encoder", ENCODERS.values(), ids=ENCODERS)
def test_rows_are_encoded_bit_by_bit(encoder, single, table, labels, saved):
    frame = table.astype(dict.fromkeys(single, np.float32))
    artifact, model = saved(encoder, frame, labels)
    data = training_data((frame, labels), artifact.forest, None, artifact.encoder)
    assert np.array_equal(data.rows, transformed(model, frame), equal_nan=True)
    assert data.by_encoder


@pytest.mark.nightly(quick=2)
@pytest.mark.parametrize("encoder", ENCODERS.values(), ids=ENCODERS)
def test_a_csv_gives_the_same_rows(encoder, table, labels, saved, tmp_path):
    artifact, model = saved(encoder, table, labels)
    path = tmp_path / "raw.csv"
    table[table.columns[::-1]].assign(label=labels, more=1).to_csv(path, index=False)
    data = training_data(read_table(path), artifact.forest, "label", artifact.encoder)
    assert np.array_equal(data.rows, transformed(model, table), equal_nan=True)
    assert (data.labels == labels).all()
    needed = {artifact.encoder.name(source) for source in artifact.encoder.sources}
    assert set(data.unused) == {"more", *table.columns} - needed


@pytest.mark.nightly(quick=3)
@pytest.mark.parametrize("encoder", ENCODERS.values(), ids=ENCODERS)
def test_domains_hold_the_rows_and_their_raw_columns(encoder, table, labels, saved):
    artifact, _ = saved(encoder, table, labels)
    data = training_data((table, labels), artifact.forest, None, artifact.encoder)
    domain = domain_from(artifact.encoder, data.columns, data.rows)
    raw = raw_columns(artifact.encoder, domain)
    assert not domain.outside(data.rows.astype(np.float64))
    assert not raw.domain.outside(raw.rows(data.rows).astype(np.float64))
    assert len(raw.domain.attributes) == len(raw.table(data.rows).columns)


@pytest.mark.nightly(quick=2)
@pytest.mark.parametrize("encoder", ENCODERS.values(), ids=ENCODERS)
def test_decoding_undoes_encoding(encoder, table, labels, saved):
    artifact, _ = saved(encoder, table, labels)
    data = training_data((table, labels), artifact.forest, None, artifact.encoder)
    decoded = raw_columns(artifact.encoder, domain_from(artifact.encoder, data.columns, data.rows)).table(data.rows)
    for name in decoded:
        # What was filled in stays so.
        kept = table[name].notna().to_numpy() & (table[name] != 30).to_numpy()
        found, true = decoded[name][kept], table[name][kept]
        if found.dtype.kind == "f":
            assert (np.abs(found - true.astype(float)) < 1e-4).all()
        else:
            assert ((found == true) | found.isna()).to_numpy().all()
    assert len(decoded) == N_ROWS


def test_groups_and_codes_are_the_files(table, labels, saved):
    frame = table.drop(columns=["empty"])
    encoder = dense(
        (OneHotEncoder(), ["sex", "grade"]),
        (OneHotEncoder(drop="first"), ["code"]),
        (OrdinalEncoder(categories=[["low", "mid", "high", "top"]]), ["grade"]),
        (OneHotEncoder(categories=[["a", "b"]], handle_unknown="ignore"), ["town"]),
    )
    artifact, _ = saved(encoder, frame, labels)
    data = training_data((frame, labels), artifact.forest, None, artifact.encoder)
    domain = domain_from(artifact.encoder, data.columns, data.rows)
    kinds = [(attribute.name, attribute.kind, len(attribute.columns)) for attribute in domain.attributes]
    assert kinds[:2] == [("sex", "one-hot", 2), ("grade", "one-hot", 3)]
    assert [kind for _, kind, _ in kinds[2:]] == ["one-hot", "ordinal", "one-hot"]
    assert [attribute.dropped for attribute in domain.attributes] == [False, False, True, False, True]
    assert (domain.attributes[3].low, domain.attributes[3].high) == (0, 3)
    raw = raw_columns(artifact.encoder, domain).domain
    # Of `code` the dropped one is a category too, and a town can be none of the two.
    widths = [(attribute.name, attribute.kind, len(attribute.columns)) for attribute in raw.attributes]
    assert widths == [("sex", "one-hot", 2), ("town", "one-hot", 3), ("grade", "one-hot", 4), ("code", "one-hot", 3)]


def test_groups_that_the_rows_break_are_not_granted(table, labels, saved):
    encoder = dense((OneHotEncoder(handle_unknown="ignore"), ["grade"]), ("passthrough", ["code"]))
    artifact, _ = saved(encoder, table, labels)
    others = table.assign(grade=np.where(np.arange(N_ROWS) == 5, "top", table["grade"]))
    data = training_data((others, labels), artifact.forest, None, artifact.encoder)
    domain = domain_from(artifact.encoder, data.columns, data.rows)
    assert [(attribute.kind, attribute.dropped) for attribute in domain.attributes] == [
        ("one-hot", True),
        ("ordinal", False),
    ]


def test_the_error_on_raw_columns_counts_a_category_once(table, labels, saved):
    encoder = dense((OrdinalEncoder(), ["code"]), (StandardScaler(), ["age"]))
    artifact, _ = saved(encoder, table, labels)
    data = training_data((table, labels), artifact.forest, None, artifact.encoder)
    raw = raw_columns(artifact.encoder, domain_from(artifact.encoder, data.columns, data.rows))
    one, other = data.rows[:1].copy(), data.rows[:1].copy()
    one[0, 0], other[0, 0] = 0, 1
    distance = matched_distance(raw.rows(one), raw.rows(other), original_weights(raw.domain), TimeBox(5))
    assert distance.exact == 0.5


def test_a_raw_column_is_known_where_all_columns_that_it_is_rebuilt_from_are(table, labels, saved):
    encoder = dense((OneHotEncoder(), ["grade"]), (OneHotEncoder(drop="first"), ["code"]), (StandardScaler(), ["age"]))
    artifact, _ = saved(encoder, table, labels)
    data = training_data((table, labels), artifact.forest, None, artifact.encoder)
    raw = raw_columns(artifact.encoder, domain_from(artifact.encoder, data.columns, data.rows))
    names = [attribute.name for attribute in raw.domain.attributes]
    assert [column.source for column in artifact.encoder.columns] == [5, 5, 5, 7, 7, 0]
    for columns, known in (
        ({}, []),
        ({0, 1, 2}, ["grade"]),
        ({0, 1, 5}, ["age"]),
        ({3, 4}, ["code"]),
        ({3}, []),
        (set(range(6)), names),
    ):
        assert [names[a] for a in raw.known(columns)] == known


def test_large_numbers_are_compared_with_all_their_digits(table, labels, saved):
    frame = table.assign(age=1.6e9 + np.arange(N_ROWS), weight=1e100 * (1 + np.arange(N_ROWS)))
    artifact, _ = saved(dense((StandardScaler(), ["age", "weight"])), frame, labels)
    data = training_data((frame, labels), artifact.forest, None, artifact.encoder)
    raw = raw_columns(artifact.encoder, domain_from(artifact.encoder, data.columns, data.rows))
    shifted = raw.rows(np.roll(data.rows, 1, axis=0)[1:])
    assert paired_distance(raw.rows(data.rows)[1:], shifted, original_weights(raw.domain)).exact == pytest.approx(
        1 / (N_ROWS - 1), rel=1e-5
    )


def test_encoded_data_are_taken_as_they_are(table, labels, saved):
    artifact, model = saved(ENCODERS["standard, one-hot"], table, labels)
    encoded = transformed(model, table)
    data = training_data((encoded, labels), artifact.forest, None, artifact.encoder)
    assert not data.by_encoder
    assert (data.rows == encoded).all()
    named = pd.DataFrame(encoded).rename(columns="column {}".format).assign(label=labels)
    assert not training_data(named, artifact.forest, "label", artifact.encoder).by_encoder


def test_arrays_are_matched_by_number(labels, saved):
    rows = np.random.RandomState(0).normal(size=(N_ROWS, 3))
    artifact, model = saved(make_pipeline(StandardScaler()), rows, labels)
    data = training_data((rows, labels), artifact.forest, None, artifact.encoder)
    assert (data.rows == transformed(model, rows)).all()
    assert data.columns == ("x0", "x1", "x2")
    frame = pd.DataFrame(rows, columns=list("abc")).assign(label=labels)
    assert (training_data(frame, artifact.forest, "label", artifact.encoder).rows == data.rows).all()


def test_a_regressor_needs_no_target(table, labels, saved):
    artifact, model = saved(dense((StandardScaler(), ["age", "weight"])), table, labels, ExtraTreesRegressor(2))
    data = training_data(table, artifact.forest, None, artifact.encoder)
    assert (data.rows == transformed(model, table)).all()


def test_a_label_column_that_the_pipeline_dropped_is_the_label(table, labels, saved):
    frame = table.assign(label=labels)
    artifact, model = saved(dense((StandardScaler(), ["age"])), frame, labels)
    data = training_data(frame, artifact.forest, "label", artifact.encoder)
    assert (data.labels == labels).all()
    assert (data.rows == transformed(model, frame)).all()


def test_a_holdout_is_encoded_as_the_training_data(table, labels, saved):
    artifact, model = saved(ENCODERS["standard, one-hot"], table, labels)
    data = training_data((table, labels), artifact.forest, None, artifact.encoder)
    holdout = holdout_of(Table(table[::-1].assign(label=0), None, "others.csv"), data, "label", artifact.encoder)
    assert (holdout.rows == transformed(model, table[::-1])).all()


def test_texts_numbers_and_truth_values_are_one_category(table, labels, saved):
    artifact, model = saved(dense((OneHotEncoder(), ["code", "flag"])), table, labels)
    typed = table.assign(code=table["code"].astype(str), flag=table["flag"].astype(float))
    data = training_data((typed, labels), artifact.forest, None, artifact.encoder)
    assert (data.rows == transformed(model, table)).all()
    by_category = training_data((table.astype({"code": "category"}), labels), artifact.forest, None, artifact.encoder)
    assert (by_category.rows == data.rows).all()


SECRET = "Timbuktu"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda frame: frame.assign(sex=[SECRET, *frame["sex"][1:]]), "column 'sex' has 1 rows with a category"),
        (lambda frame: frame.assign(sex=[None, *frame["sex"][1:]]), "column 'sex' has 1 rows with a category"),
        (lambda frame: frame.assign(age=[SECRET, *frame["age"][1:]]), "column 'age': it holds text"),
        (lambda frame: frame.assign(age=1e300), "column 'age' has 120 values that are infinite"),
        (lambda frame: frame.assign(age=pd.Timestamp("2020-01-01")), "column 'age' holds dates"),
        (lambda frame: frame.drop(columns="sex"), "are missing: 'sex' (the table has"),
    ],
    ids=["unknown", "missing", "text", "infinite", "dates", "no column"],
)
def test_what_cannot_be_encoded_is_told_by_its_column(change, words, table, labels, saved):
    artifact, _ = saved(dense((StandardScaler(), ["age"]), (OneHotEncoder(), ["sex"])), table, labels)
    with pytest.raises(DataError) as caught:
        training_data((change(table), labels), artifact.forest, None, artifact.encoder)
    message = str(caught.value)
    assert words in message
    assert SECRET not in message
    assert "\n" not in message


def test_no_category_is_in_a_name_or_in_what_is_granted(table, labels, saved):
    frame = table.assign(sex=np.where(table["sex"] == "f", SECRET, "elsewhere"))
    artifact, _ = saved(dense((OneHotEncoder(), ["sex"]), (StandardScaler(), ["age"])), frame, labels)
    data = training_data((frame, labels), artifact.forest, None, artifact.encoder)
    domain = domain_from(artifact.encoder, data.columns, data.rows)
    raw = raw_columns(artifact.encoder, domain)
    shown = (data.columns, domain, domain.granted, granted_by(artifact.encoder), raw, raw.domain)
    assert SECRET not in repr(shown)
    assert "the file tells the 2 categories of sex, values of its training data" in granted_by(artifact.encoder)
    assert "the forest does not see 7 of the 9 raw columns: these are not rebuilt" in granted_by(artifact.encoder)
