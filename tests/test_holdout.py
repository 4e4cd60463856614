"""Holdouts are read in the columns of the training data."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from pytest_draft.data import Holdout, TrainingData, holdout_of, read_table
from pytest_draft.data.tables import Table
from pytest_draft.errors import DataError

NAMES = ("age", "female", "owner")
ROWS = np.array([[3, 0, 1], [4, 1, 0], [5, 1, 1]], dtype=np.float32)


def trained(columns=NAMES) -> TrainingData:
    return TrainingData(ROWS, np.zeros(3, np.int64), columns, None, "train.csv")


def table(rows, columns=NAMES) -> Table:
    return Table(pd.DataFrame(rows, columns=columns), "0" * 64, "others.csv", None)


def test_columns_are_taken_by_name_and_the_others_are_listed():
    frame = pd.DataFrame(ROWS, columns=NAMES)
    frame.insert(1, "label", ["a", "b", None])
    frame = frame[["owner", "label", "female", "age"]]
    holdout = holdout_of(Table(frame, "0" * 64, "others.csv"), trained())
    assert (holdout.rows == ROWS).all()
    assert holdout.rows.dtype == np.float32
    assert (holdout.unused, holdout.sha256, holdout.source) == (("label",), "0" * 64, "others.csv")


@pytest.mark.parametrize("label", [False, True])
def test_columns_are_taken_by_position_where_the_training_data_have_no_names(label):
    frame = pd.DataFrame(ROWS, columns=["a", "b", "c"])
    if label:
        frame.insert(0, "y", 1)
    holdout = holdout_of(Table(frame, None, "others.csv"), trained(("x0", "x1", "x2")), "y")
    assert (holdout.rows == ROWS).all()
    assert holdout.unused == (("y",) if label else ())


def test_columns_are_taken_by_position_where_the_holdout_has_no_names(tmp_path):
    np.savez(tmp_path / "others.npz", X=ROWS, y=[0, 1, 0])
    assert (holdout_of(read_table(tmp_path / "others.npz"), trained()).rows == ROWS).all()


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            ("age", "female", "tenant"),
            "1 of the 3 columns of the training data are missing: 'owner' (the table has 'tenant' besides); encode",
        ),
        (("a", "b", "c"), "3 of the 3 columns of the training data are missing: 'age', 'female', 'owner'; encode"),
    ],
)
def test_a_missing_column_is_named(columns, message):
    with pytest.raises(DataError) as caught:
        holdout_of(table(ROWS, columns), trained())
    assert str(caught.value).startswith(f"holdout others.csv: {message}")


def test_another_number_of_columns_is_refused_where_there_are_no_names():
    with pytest.raises(DataError, match="2 of the 3 columns of the training data are missing"):
        holdout_of(table(ROWS[:, :2], ["x0", "b"]), trained(("x0", "x1", "x2")))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("Quokka", "holdout others.csv: column 'female' holds text"),
        (np.nan, "holdout others.csv: 1 of 3 rows have missing values where no training row has any; leave these"),
        (np.inf, "holdout others.csv: column 'female' has 1 values that are infinite"),
    ],
)
def test_a_value_that_no_tree_was_trained_on_is_refused_and_not_shown(value, message):
    frame = pd.DataFrame(ROWS, columns=NAMES).astype(object)
    frame.loc[1, "female"] = value
    with pytest.raises(DataError) as caught:
        holdout_of(Table(frame, None, "others.csv"), trained())
    assert str(caught.value).startswith(message)
    assert "Quokka" not in str(caught.value)


def test_values_are_missing_only_where_those_of_training_rows_are():
    rows = np.where(ROWS == 4, np.float32(np.nan), ROWS)
    data = TrainingData(rows, np.zeros(3, np.int64), NAMES, None, "train.csv")
    holdout = holdout_of(table([[None, 0, 1], [4, 1, 1]]), data)
    assert np.isnan(holdout.rows).tolist() == [[True, False, False], [False, False, False]]
    with pytest.raises(DataError, match="1 of 2 rows have missing values where no training row has any"):
        holdout_of(table([[None, 0, 1], [4, None, 1]]), data)


def test_two_columns_of_one_name_are_refused():
    with pytest.raises(DataError, match="1 of its 4 column names appear more than once"):
        holdout_of(table(ROWS[:, [0, 1, 2, 2]], [*NAMES, "owner"]), trained())


def test_no_row_is_shown_or_can_be_changed():
    holdout = holdout_of(table(ROWS), trained())
    assert repr(holdout) == "Holdout(3 rows, others.csv, values not shown)"
    assert isinstance(holdout, Holdout)
    assert not holdout.rows.flags.writeable
