"""What of a file belongs to training rows is told by paths and numbers, and chance is not taken for it."""

from __future__ import annotations

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.impute import KNNImputer
from sklearn.neighbors import KDTree
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder, StandardScaler

from pytest_draft.artifact import read
from pytest_draft.audit.contents import inspect_contents
from pytest_draft.data import training_data
from pytest_draft.errors import DataError
from pytest_draft.facts.contents import CLASSES, Copy, Rarest, StoredFacts, Vector
from pytest_draft.timebox import TimeBox

N_ROWS = 60


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    random = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "age": random.integers(18, 80, N_ROWS),
            "fare": random.gamma(2, 20, N_ROWS).round(2),
            "gap": np.where(random.random(N_ROWS) < 0.2, np.nan, random.normal(size=N_ROWS)),
            "town": random.choice(["Oslo", "Rome", "Wien"], N_ROWS),
            "member": random.integers(0, 2, N_ROWS),
        }
    )
    frame.loc[7, "town"] = "Nome"
    return frame.assign(label=np.where(frame["age"] + random.integers(0, 30, N_ROWS) > 60, "yes", "no"))


NUMBERS = ["age", "fare", "gap", "member"]


@pytest.fixture
def inspected(tmp_path, table):
    """Return a function that says what stands in a model's file, with the training data or others."""

    def of(model, data=table, seconds: float = 60.0) -> StoredFacts:
        joblib.dump(model, tmp_path / "model.joblib")
        artifact = read(tmp_path / "model.joblib")
        seen = None
        if data is not None and artifact.not_covered is None:
            seen = training_data(data, artifact.model, "label", artifact.encoder)
        return inspect_contents(artifact, data, seen, TimeBox(seconds))

    return of


@pytest.fixture
def model(table):
    """Return a forest of a test's own."""
    return RandomForestClassifier(3, random_state=0).fit(table[NUMBERS], table["label"])


def test_a_forest_alone_holds_nothing(inspected, model):
    for data in ("given", None):
        rarest = (Rarest(CLASSES, 28, 28),) if data else ()
        assert (inspected(model) if data else inspected(model, None)) == StoredFacts(0, (N_ROWS,), rarest=rarest)


def test_weights_by_class_are_the_label_column(inspected, model, table):
    model.set_params(class_weight="balanced").fit(table[NUMBERS], table["label"])
    found = inspected(model)
    assert found.by_row == (Vector("_sample_weight", (N_ROWS,)),)
    assert found.copies == (Copy("_sample_weight", (N_ROWS,), 0, 1),)


@pytest.mark.nightly
def test_votes_have_an_entry_for_each_row_and_are_no_copy(inspected, model, table):
    model.set_params(oob_score=True, n_estimators=20).fit(table[NUMBERS], table["label"])
    for found in (inspected(model), inspected(model, None)):
        assert found.by_row == (Vector("oob_decision_function_", (N_ROWS, 2)),)
        assert found.copies == ()


@pytest.mark.parametrize("scaled", [False, True])
def test_an_imputer_that_keeps_its_rows_is_found_with_missing_values_and_scaled_too(scaled, inspected, table):
    steps = [StandardScaler()] if scaled else []
    model = make_pipeline(*steps, KNNImputer(), RandomForestClassifier(2)).fit(table[NUMBERS], table["label"])
    for data in (table, (table[NUMBERS], table["label"])):
        (copy,) = inspected(model, data).copies
        assert (copy.path, copy.columns) == (f"steps[{len(steps)}][1]._fit_X", 4)
        assert copy.rows == N_ROWS


FORMS = {
    "all": lambda rows: rows,
    "in another order": lambda rows: rows.sample(frac=1, random_state=1),
    "some": lambda rows: rows.iloc[5:20],
    "among others": lambda rows: pd.concat([rows.iloc[5:20], rows + 1]),
    "in single precision": lambda rows: rows.astype(np.float32),
    "turned round": lambda rows: rows.T,
}


@pytest.mark.nightly(quick=2)
@pytest.mark.parametrize("form", FORMS)
def test_training_rows_are_found_in_every_order_and_number(form, inspected, model, table):
    model.kept = FORMS[form](table[NUMBERS]).to_numpy()
    (copy,) = inspected(model).copies
    assert copy.rows == (15 if form in ("some", "among others") else N_ROWS)


def pieces(rows):
    return np.array_split(rows, 7)


def shuffled(rows):
    return np.random.default_rng(1).permutation(rows)


def standardised(rows):
    return (rows - np.nanmean(rows, axis=0)) / np.nanstd(rows, axis=0)


WRITTEN = {
    "row by row": lambda rows: rows.ravel(),
    "column by column": lambda rows: rows.ravel(order="F"),
    "row by row, in another order": lambda rows: shuffled(rows).ravel(),
    "column by column, in another order": lambda rows: shuffled(rows).ravel(order="F"),
    "row by row, behind a header": lambda rows: np.r_[3.0, rows.ravel()],
    "among more columns, in another order": lambda rows: shuffled(np.c_[np.arange(len(rows)), rows]),
    "in numbered rows of a list": lambda rows: [[i, *row] for i, row in enumerate(rows.tolist())],
    "a list of numbers": lambda rows: rows.ravel().tolist(),
    "a list of numbers, column by column": lambda rows: rows.ravel(order="F").tolist(),
    "pieces": pieces,
    "pieces of one length": lambda rows: np.split(rows, 6),
    "pieces turned round": lambda rows: [piece.T.copy() for piece in pieces(rows)],
    "pieces of one length turned round": lambda rows: [piece.T.copy() for piece in np.split(rows, 6)],
    "pieces, cut anywhere": lambda rows: pieces(rows.ravel()),
    "pieces of columns": lambda rows: pieces(rows.ravel(order="F")),
    "lists of pieces": lambda rows: [piece.tolist() for piece in pieces(rows)],
    "an array of each row": list,
    "a tuple of each row": lambda rows: list(map(tuple, rows.tolist())),
    "a dict of rows": lambda rows: dict(enumerate(rows)),
    "three dimensions": lambda rows: rows.reshape(10, -1, rows.shape[1]),
    "three dimensions turned round": lambda rows: rows.reshape(10, -1, rows.shape[1]).swapaxes(1, 2).copy(),
    "complex numbers": lambda rows: np.ascontiguousarray(rows).view(complex),
    "half precision": lambda rows: rows.astype(np.float16),
    "half precision, row by row": lambda rows: shuffled(rows).astype(np.float16).ravel(),
    "half precision and back": lambda rows: shuffled(rows).astype(np.float16).astype(float),
    "single precision, column by column": lambda rows: rows.astype(np.float32).ravel(order="F"),
    "standardised": standardised,
    "standardised in half precision": lambda rows: standardised(rows).astype(np.float16),
    "standardised, row by row": lambda rows: standardised(rows).ravel(),
    "standardised, column by column": lambda rows: standardised(rows).ravel(order="F"),
    "standardised, in another order": lambda rows: shuffled(standardised(rows)).astype(np.float32),
    "standardised, in pieces": lambda rows: pieces(standardised(rows).astype(np.float32).ravel()),
    "between 0 and 1": lambda rows: (
        (rows - np.nanmin(rows, axis=0)) / np.nanmax(rows - np.nanmin(rows, axis=0), axis=0)
    ),
    "each column times a number": lambda rows: (rows * np.resize([2.0, -3.0, 0.1, 7.0], rows.shape[1])).tolist(),
    "masked, behind masked arrays": lambda rows: list(
        map(np.ma.array, (np.arange(3.0), np.arange(4.0), np.arange(5.0), rows))
    ),
}


@pytest.fixture(scope="module")
def of_zeros_and_ones():
    random = np.random.default_rng(4)
    rows = pd.DataFrame(random.integers(0, 2, (N_ROWS, 10)), columns=list("abcdefghij")).astype(float)
    return rows.assign(label=random.choice(["no", "yes"], N_ROWS))


@pytest.mark.nightly(quick=4)
@pytest.mark.parametrize("form", WRITTEN)
@pytest.mark.parametrize("kind", ["numbers", "zeros and ones"])
def test_rows_and_columns_are_found_however_they_are_written(kind, form, inspected, table, of_zeros_and_ones):
    data = table[[*NUMBERS, "label"]] if kind == "numbers" else of_zeros_and_ones
    rows = data.drop(columns="label")
    model = RandomForestClassifier(2, max_depth=2, random_state=0).fit(rows, data["label"])
    model.kept = WRITTEN[form](rows.to_numpy())
    found = inspected(model, data)
    assert found.copies[0].path.startswith("kept")
    assert max(found.copies[0].rows, 15 * found.copies[0].columns) >= 30
    assert found.doubts == ()


def test_rows_in_an_attribute_each_are_found_together(inspected, of_zeros_and_ones):
    rows = of_zeros_and_ones.drop(columns="label")
    model = RandomForestClassifier(2, max_depth=2, random_state=0).fit(rows, of_zeros_and_ones["label"])
    for index, row in enumerate(rows.to_numpy()[:25]):
        setattr(model, f"row_{index}", row)
    (copy,) = inspected(model, of_zeros_and_ones).copies
    assert (copy.path, copy.rows) == ("row_0 and 24 more arrays", 25)


def test_one_scaled_column_of_two_values_is_found_and_a_nearly_constant_one_is_not(inspected, of_zeros_and_ones):
    data = of_zeros_and_ones[:24].assign(rare=np.eye(24)[5])
    model = RandomForestClassifier(2, max_depth=2, random_state=0).fit(data.drop(columns="label"), data["label"])
    model.kept = 9.0 - 4.0 * data["b"].to_numpy()
    assert inspected(model, data).copies == (Copy("kept", (24,), 0, 1),)
    model.kept = 9.0 - 4.0 * data["rare"].to_numpy()
    assert inspected(model, data).copies == ()


def test_close_values_that_single_precision_makes_one_are_found_in_a_scaled_column(inspected, table):
    values = 1e6 + np.random.default_rng(2).permutation(N_ROWS) + np.r_[np.zeros(N_ROWS - 2), 1e-5, 2e-5]
    data = table[["age", "label"]].assign(income=values)
    model = RandomForestClassifier(2, max_depth=2, random_state=0).fit(data[["age", "income"]], data["label"])
    model.kept = ((values - values.mean()) / values.std()).astype(np.float16)
    assert inspected(model, data).copies == (Copy("kept", (N_ROWS,), 0, 1),)


def test_an_outlier_alone_makes_no_column(inspected, table):
    data = table[["fare", "label"]].assign(income=np.where(table.index == 9, 5e7, table["fare"]), age=table["age"])
    model = RandomForestClassifier(2, max_depth=2, random_state=0).fit(data.drop(columns="label"), data["label"])
    model.kept = np.random.default_rng(0).normal(size=N_ROWS)
    model.kept[9] = 1e9
    assert inspected(model, data).copies == ()


COMMON = {
    "thresholds": lambda rows, random: np.median(rows, axis=0) + random.random((40, rows.shape[1])),
    "quantiles": lambda rows, _: np.nanquantile(rows, np.linspace(0, 1, 20), axis=0),
    "quantiles as lists": lambda rows, _: np.nanquantile(rows, np.linspace(0, 1, 10), axis=0).tolist(),
    "means and spreads": lambda rows, _: [np.nanmean(rows, axis=0), np.nanstd(rows, axis=0)],
    "different values": lambda rows, _: [np.unique(column) for column in rows.T if len(np.unique(column)) < 30],
    "importances": lambda _, random: list(random.dirichlet(np.ones(4), size=20)),
    "zeros": lambda rows, _: np.zeros_like(rows),
    "ones": lambda rows, _: np.ones(rows.size),
    "identity": lambda rows, _: np.eye(len(rows)),
    "numbers in order": lambda rows, _: np.arange(rows.size).reshape(rows.shape),
    "an even grid": lambda rows, _: np.linspace(-1, 1, len(rows)),
    "draws": lambda rows, random: [random.integers(0, len(rows), len(rows)) for _ in range(20)],
    "zeros and ones": lambda rows, random: random.integers(0, 2, 4_000),
    "few values": lambda rows, random: random.integers(0, 3, rows.shape),
    "normal values": lambda rows, random: random.normal(size=rows.shape),
    "sorted ages": lambda rows, random: np.sort(random.integers(18, 80, len(rows))),
    "other people": lambda rows, random: np.c_[random.integers(18, 80, 60), random.gamma(2, 20, 60).round(2)],
}


@pytest.mark.nightly(quick=1)
@pytest.mark.parametrize("form", COMMON)
@pytest.mark.parametrize("kind", ["numbers", "zeros and ones"])
def test_what_any_file_can_hold_is_not_taken_for_training_data(kind, form, inspected, table, of_zeros_and_ones):
    data = table[[*NUMBERS, "label"]] if kind == "numbers" else of_zeros_and_ones
    rows = data.drop(columns="label")
    model = RandomForestClassifier(2, max_depth=2, random_state=0).fit(rows, data["label"])
    for seed in range(3):
        model.kept = COMMON[form](rows.to_numpy(), np.random.default_rng(seed))
        found = inspected(model, data)
        assert (found.copies, found.doubts) == ((), ())


def test_raw_bytes_are_said_not_to_be_compared(inspected, model, table):
    model.kept = np.ascontiguousarray(table[["fare"]].to_numpy()).view("V8")
    assert inspected(model).doubts == ("kept is an array of raw bytes, which was not compared",)


@pytest.mark.parametrize("name", ["random_state", "max_samples", "feature_names_in_", "estimator_params"])
def test_an_attribute_that_is_needed_for_something_else_hides_no_rows(name, inspected, model, table):
    owner = model.estimators_[0] if name in ("feature_names_in_", "estimator_params") else model
    setattr(owner, name, table[NUMBERS].to_numpy())
    assert inspected(model).copies[0].path.endswith(name)


def test_a_frame_and_a_tree_of_neighbours_are_found(inspected, model, table):
    model.frame = table
    assert sum(copy.columns for copy in inspected(model).copies) == table.shape[1]
    del model.frame
    model.near = KDTree(table[NUMBERS].fillna(0))
    (copy,) = inspected(model).copies
    assert copy.columns == 3  # the one with missing values was filled


def test_one_row_kept_as_an_example_is_found_where_it_tells_one_apart(inspected, table):
    more = table[["fare", "age"]].add_prefix("other ").sample(frac=1, random_state=0, ignore_index=True)
    wide = pd.concat([table.drop(columns="town"), more], axis=1)
    features = wide.drop(columns="label")
    model = RandomForestClassifier(2, random_state=0).fit(features, wide["label"])
    model.example = features.iloc[3].tolist()
    assert inspected(model, wide).copies == (Copy("example", (6,), 1, 0),)
    model.example = features.median().tolist()
    assert inspected(model, wide).copies == ()


@pytest.mark.nightly(quick=1)
@pytest.mark.parametrize("column", ["age", "fare", "town", "label"])
def test_a_column_is_found_also_recoded_in_the_rows_order(column, inspected, model, table):
    codes = pd.factorize(table[column], sort=True)[0]
    for kept in (table[column].tolist(), codes, 100 - 3 * codes, 2.0 ** -codes.astype(float)):
        model.kept = kept
        found = inspected(model)
        assert found.copies == (Copy("kept", (N_ROWS,), 0, 1),)
        assert found.by_row == (Vector("kept", (N_ROWS,)),)


def test_a_column_of_many_values_is_found_in_another_order_and_one_of_two_values_is_not(inspected, model, table):
    model.kept = np.sort(table["fare"])
    assert inspected(model).copies == (Copy("kept", (N_ROWS,), 0, 1),)
    model.kept = np.sort(table["member"])
    assert inspected(model).copies == ()


def test_chance_is_not_taken_for_a_copy(inspected, model, table):
    random = np.random.default_rng(0)
    binary = pd.DataFrame(random.integers(0, 2, (N_ROWS, 4)), columns=list("abcd")).assign(label=table["label"])
    few = RandomForestClassifier(2, random_state=0).fit(binary[list("abcd")], binary["label"])
    few.noise = random.integers(0, 2, (500, 4))
    few.other = random.integers(0, 2, (N_ROWS, 4))
    few.numbers = np.arange(N_ROWS)
    few.constant = np.ones(N_ROWS)
    few.halves = np.repeat([0, 1], N_ROWS // 2)
    assert inspected(few, binary).copies == ()
    ordered = table.sort_values("fare", ignore_index=True)
    model.fit(ordered[NUMBERS], ordered["label"])
    model.numbers = np.arange(N_ROWS)  # in the order of any column that is sorted
    assert inspected(model, ordered).copies == ()


def test_a_length_that_the_model_explains_is_only_perhaps_by_row(inspected, model, table):
    model.importances, model.few = np.arange(4.0), [1, 2, 3, 4]
    four = table.iloc[:4].assign(label=list("abab"))
    model.fit(four[NUMBERS], four["label"])
    found = inspected(model, four)
    assert found.by_row == ()
    assert found.perhaps_by_row == (Vector("importances", (4,)), Vector("few", (4,)))
    model._sample_weight = np.ones(4)
    assert inspected(model, four).by_row == (Vector("_sample_weight", (4,)),)


@pytest.mark.parametrize("covered", [True, False])
def test_the_rarest_value_that_an_encoder_knows_is_counted(covered, inspected, table):
    columns = [OneHotEncoder(min_frequency=5), ["town"]], ["drop" if covered else KNNImputer(), ["age"]]
    model = make_pipeline(make_column_transformer(*columns, remainder="passthrough"), ExtraTreesClassifier(2))
    given = table[["age", "fare", "town", "label"]]
    model.fit(given.drop(columns="label"), given["label"])
    found = inspected(model, given)
    assert found.rarest[-1 if covered else 0] == Rarest("steps[0][1].transformers_[0][1].categories_[0]", 1, 1)


def test_columns_of_the_same_values_leave_bounds_where_the_encoded_one_is_not_known(inspected, table):
    twice = table[["town", "age", "label"]].assign(other=table["town"].replace("Nome", "Oslo"))
    twice.loc[:3, "other"] = "Nome"
    for imputer, bounds in ((KNNImputer(), (1, 4)), (StandardScaler(), (4, 4))):
        columns = make_column_transformer((OneHotEncoder(), ["other"]), (imputer, ["age"]))
        model = make_pipeline(columns, ExtraTreesClassifier(2)).fit(twice.drop(columns="label"), twice["label"])
        (rarest,) = (found for found in inspected(model, twice).rarest if found.path != CLASSES)
        assert (rarest.at_least, rarest.at_most) == bounds


def test_codes_of_another_step_are_not_taken_for_values_and_values_are_looked_for_in_the_raw_table(inspected, table):
    given = table[["age", "member", "label"]].assign(kids=[4, *([0, 1, 2, 3] * 15)[1:]])
    bins = make_column_transformer((KBinsDiscretizer(5), ["age"]), remainder="passthrough")
    model = make_pipeline(bins, ExtraTreesClassifier(2)).fit(given.drop(columns="label"), given["label"])
    assert inspected(model, given).rarest == (Rarest(CLASSES, 28, 28),)
    columns = make_column_transformer((OneHotEncoder(), ["town"]))
    model = make_pipeline(columns, ExtraTreesClassifier(2)).fit(table[["town"]], table["label"])
    encoded = pd.DataFrame(model[0].transform(table[["town"]]).toarray()).assign(label=table["label"])
    found = inspected(model, encoded)
    assert found.rarest == (Rarest(CLASSES, 28, 28),)
    assert found.doubts[-1].endswith("categories_[0] are in no column of the data: give the raw table")


def test_what_was_not_compared_is_said(inspected, model, table):
    model.kept, model.text = table["fare"].tolist(), "x" * 500
    assert len(inspected(model, None).doubts) == 2
    assert inspected(model).doubts == ("text is a long text or bytes, which are not looked into",)
    late = inspected(model, seconds=1e-9)
    assert late.copies == ()
    assert "the time box ended before 1 arrays" in late.doubts[1]
    assert "the data have 50 rows" in inspected(model, table.iloc[:50]).doubts[1]


@pytest.mark.parametrize("task", ["Classifier", "Regressor"])
def test_values_that_a_reader_has_looked_at_are_not_said_to_be_compared_without_data(task, inspected, table):
    kind = getattr(pytest.importorskip("xgboost"), f"XGB{task}")
    table["label"] = table["age"] if task == "Regressor" else (table["label"] == "yes").astype(int)
    boosted = kind(n_estimators=2, max_depth=2, n_jobs=1).fit(table[NUMBERS], table["label"])
    assert "in the file could not be compared with the training data" in inspected(boosted, None).doubts[0]
    assert not any("could not be compared" in doubt for doubt in inspected(boosted).doubts)


def test_data_that_are_no_table_are_refused_in_one_line(inspected, table):
    model = make_pipeline(KNNImputer(), RandomForestClassifier(2)).fit(table[NUMBERS], table["label"])
    with pytest.raises(DataError, match="X cannot be made a table"):
        inspected(model, (np.zeros((2, 2, 2)), [0, 1]))


@pytest.mark.parametrize("values", [[[1], [2]] * 30, [{"a": 1}, None] * 30, [b"a", 2**200] * 30])
def test_a_column_of_anything_is_taken_as_it_is(values, inspected, model, table):
    model.kept = table["fare"].to_numpy()
    assert inspected(model, table.assign(odd=values)).copies == (Copy("kept", (N_ROWS,), 0, 1),)


def test_only_paths_and_numbers_are_told(inspected, model, table):
    model.kept = {"Nome": table["fare"].tolist(), "fare": table["town"].tolist()}
    found = inspected(model)
    assert len(found.copies) == 1
    assert "Nome" not in repr(found)
