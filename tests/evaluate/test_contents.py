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
from pytest_draft.data import training_data
from pytest_draft.errors import DataError
from pytest_draft.evaluate.contents import Copy, Rarest, StoredFacts, Vector, inspect_contents
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
        assert (inspected(model) if data else inspected(model, None)) == StoredFacts(0, (N_ROWS,))


def test_weights_by_class_are_the_label_column(inspected, model, table):
    model.set_params(class_weight="balanced").fit(table[NUMBERS], table["label"])
    found = inspected(model)
    assert found.by_row == (Vector("_sample_weight", (N_ROWS,)),)
    assert found.copies == (Copy("_sample_weight", (N_ROWS,), 0, 1),)


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
    assert copy.rows == (0 if scaled else N_ROWS)


FORMS = {
    "all": lambda rows: rows,
    "in another order": lambda rows: rows.sample(frac=1, random_state=1),
    "some": lambda rows: rows.iloc[5:20],
    "among others": lambda rows: pd.concat([rows.iloc[5:20], rows + 1]),
    "in single precision": lambda rows: rows.astype(np.float32),
    "turned round": lambda rows: rows.T,
}


@pytest.mark.parametrize("form", FORMS)
def test_training_rows_are_found_in_every_order_and_number(form, inspected, model, table):
    model.kept = FORMS[form](table[NUMBERS]).to_numpy()
    (copy,) = inspected(model).copies
    assert copy.rows == (15 if form in ("some", "among others") else N_ROWS)


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
    assert found.rarest == (Rarest("steps[0][1].transformers_[0][1].categories_[0]", 1, 1),)


def test_columns_of_the_same_values_leave_bounds_where_the_encoded_one_is_not_known(inspected, table):
    twice = table[["town", "age", "label"]].assign(other=table["town"].replace("Nome", "Oslo"))
    twice.loc[:3, "other"] = "Nome"
    for imputer, bounds in ((KNNImputer(), (1, 4)), (StandardScaler(), (4, 4))):
        columns = make_column_transformer((OneHotEncoder(), ["other"]), (imputer, ["age"]))
        model = make_pipeline(columns, ExtraTreesClassifier(2)).fit(twice.drop(columns="label"), twice["label"])
        (rarest,) = inspected(model, twice).rarest
        assert (rarest.at_least, rarest.at_most) == bounds


def test_codes_of_another_step_are_not_taken_for_values_and_values_are_looked_for_in_the_raw_table(inspected, table):
    given = table[["age", "member", "label"]].assign(kids=[4, *([0, 1, 2, 3] * 15)[1:]])
    bins = make_column_transformer((KBinsDiscretizer(5), ["age"]), remainder="passthrough")
    model = make_pipeline(bins, ExtraTreesClassifier(2)).fit(given.drop(columns="label"), given["label"])
    assert inspected(model, given).rarest == ()
    columns = make_column_transformer((OneHotEncoder(), ["town"]))
    model = make_pipeline(columns, ExtraTreesClassifier(2)).fit(table[["town"]], table["label"])
    encoded = pd.DataFrame(model[0].transform(table[["town"]]).toarray()).assign(label=table["label"])
    found = inspected(model, encoded)
    assert found.rarest == ()
    assert found.doubts[-1].endswith("categories_[0] are in no column of the data: give the raw table")


def test_what_was_not_compared_is_said(inspected, model, table):
    model.kept, model.text = table["fare"].tolist(), "x" * 500
    assert len(inspected(model, None).doubts) == 2
    assert inspected(model).doubts == ("text is a long text or bytes, which are not looked into",)
    late = inspected(model, seconds=1e-9)
    assert late.copies == ()
    assert "the time box ended before 1 arrays" in late.doubts[1]
    assert "50 training rows are given" in inspected(model, table.iloc[:50]).doubts[1]


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
