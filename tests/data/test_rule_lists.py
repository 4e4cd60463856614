"""Tables become the training data of a rule list, or are refused in one line that shows no value of a row."""

from __future__ import annotations

import traceback

import numpy as np
import pandas as pd
import pytest

from pytest_draft.artifact.rules.rule_list import RuleList
from pytest_draft.data import Table, training_data
from pytest_draft.errors import DataError
from pytest_draft.facts.rules import ListedRule, Literal, between

VALUE = 987654.0
ONE = between(1.0, 1.0)


def rules_of(*literals, columns=("age", "male"), n_features=None, inputs="single", classes=("no", "yes")):
    rules = tuple(ListedRule((literal,), classes[1]) for literal in literals)
    return RuleList("rule list", (*rules, ListedRule((), classes[0])), columns, n_features, classes, inputs)


AGE, MALE = Literal(0, 30.0, np.inf), Literal(1, *ONE)


@pytest.fixture
def frame():
    return pd.DataFrame({"city": [3.0, 4, 5], "male": [0, 1, 1], "age": [20.0, 30.1, 40], "label": ["no", "yes", "no"]})


def refusal(*arguments) -> str:
    with pytest.raises(DataError) as caught:
        training_data(*arguments)
    shown = "".join(traceback.format_exception(caught.value))
    assert str(int(VALUE)) not in shown
    message = str(caught.value)
    assert "\n" not in message
    assert "forest" not in message
    return message


def test_without_all_columns_in_the_file_all_of_the_tables_but_the_label_are_features(frame):
    rules = rules_of(AGE, MALE)
    data = training_data(frame, rules, "label")
    assert data.columns == ("city", "male", "age")
    assert (data.rows == frame[["city", "male", "age"]].to_numpy(dtype=np.float32)).all()
    assert data.labels.tolist() == [0, 1, 0]
    assert data.unused == ()
    assert rules.resolved(data.columns).captured(data.rows).tolist() == [2, 0, 0]


def test_with_all_columns_in_the_file_they_are_the_features_and_the_label_is_what_is_left(frame):
    data = training_data(frame, rules_of(AGE, MALE, columns=("age", "male", "city"), n_features=3))
    assert data.columns == ("age", "male", "city")
    assert data.labels.tolist() == [0, 1, 0]


def test_labels_that_are_apart_need_no_name(frame):
    features, labels = frame[["age", "male"]], frame["label"]
    assert training_data((features, labels), rules_of(AGE, MALE)).columns == ("age", "male")
    table = Table(features, None, "x.npz", {"y": labels.to_numpy()})
    assert training_data(table, rules_of(AGE, MALE)).labels.tolist() == [0, 1, 0]


def test_columns_without_names_are_taken_by_position(frame):
    array = frame[["age", "male"]].to_numpy()
    rules = rules_of(AGE, MALE, columns=None, n_features=2)
    assert training_data((array, frame["label"]), rules).columns == ("x0", "x1")
    assert "3 feature columns, but the rule list takes 2" in refusal((np.ones((3, 3)), frame["label"]), rules)
    unknown = rules_of(AGE, MALE, columns=None)
    assert training_data((array, frame["label"]), unknown).columns == ("x0", "x1")
    assert "1 columns are given, but the rule list tests column 1" in refusal((array[:, :1], frame["label"]), unknown)


@pytest.mark.parametrize("labels", [[0, 1, 0], ["0", "1", "0"], [0.0, 1.0, 0.0], [False, True, False]])
def test_labels_are_matched_by_value(frame, labels):
    data = training_data(frame.assign(label=labels), rules_of(AGE, MALE, classes=(False, True)), "label")
    assert data.labels.tolist() == [0, 1, 0]


def test_training_data_that_fit_are_returned_as_they_are_and_others_are_refused(frame):
    data = training_data(frame, rules_of(AGE, MALE), "label")
    assert training_data(data, rules_of(AGE, MALE)) is data
    assert "tests column 'height'" in refusal(data, rules_of(AGE, columns=("height",)))
    assert "3 columns, but the rule list takes 2" in refusal(data, rules_of(AGE, MALE, n_features=2))


def test_what_cannot_be_told_for_sure_is_asked_for(frame):
    message = refusal(frame, rules_of(AGE, MALE))
    assert "which column holds the labels is not clear (the rule list does not name all features)" in message
    assert "--draft-target" in message


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"age": [20.0, np.nan, VALUE]}, "'age' has 1 missing values, which rule lists do not take"),
        ({"city": [20.0, np.nan, VALUE]}, "'city' has 1 missing values, which rule lists do not take"),
        (
            {"age": ["x", "987654", "y"]},
            "'age' holds text in 2 of 3 cells; give the data encoded as the model was trained",
        ),
        ({"label": ["no", "yes", "987654"]}, "1 of 3 rows have a label that the rule list does not know"),
        ({"label": ["no", "yes", None]}, "give the rows that the rule list was trained on"),
        ({"city": ["x", "987654", "y"]}, "'city' holds text"),
    ],
)
def test_data_that_the_list_cannot_have_seen_are_refused(frame, changed, said):
    assert said in refusal(frame.assign(**changed), rules_of(AGE, MALE), "label")


def test_a_table_without_a_tested_column_is_refused_by_its_name(frame):
    message = refusal(frame.drop(columns="male"), rules_of(AGE, MALE), "label")
    assert message.endswith(
        "the rule list tests column 'male', which is not among those given; "
        "give the data encoded as the rule list was trained"
    )
    assert "tests column 'age'" in refusal(frame, rules_of(AGE, MALE), "age")


def test_corels_takes_zeros_and_ones_where_it_tests(frame):
    rules = rules_of(MALE, inputs="binary")
    assert training_data(frame, rules, "label").n_rows == 3
    message = refusal(frame.assign(male=[0, VALUE, 0.5]), rules, "label")
    assert "column 'male' has 2 values that are neither 0 nor 1; CORELS takes no others" in message


def test_values_that_rounding_puts_on_another_side_are_refused_where_a_list_compares_in_double_precision(frame):
    close = frame.assign(age=[20.0, np.nextafter(30.0, 40), 40])
    rules = rules_of(AGE, MALE, inputs="double")
    assert "column 'age' has 1 values too close to where a rule splits" in refusal(close, rules, "label")
    assert training_data(frame, rules, "label").n_rows == 3
    assert training_data(close, rules_of(AGE, MALE), "label").n_rows == 3
