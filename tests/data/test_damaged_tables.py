"""Damaged tables end in one line that quotes nothing of them, whatever NumPy, pandas and pyarrow make of the damage."""

from __future__ import annotations

import sys
import traceback

import numpy as np
import pytest

from pytest_draft.data.tables import read_table
from pytest_draft.data.training import training_data
from pytest_draft.errors import DataError


def with_code_point(texts, number):
    """Return texts of which the second has a code point of that number."""
    damaged = np.array(texts)
    damaged.view(np.uint32).reshape(len(texts), -1)[1, 0] = number
    return damaged


@pytest.fixture
def refused(tmp_path, by_hand):
    """Return a function that reads an .npz file of a table, and gives the one line of its refusal."""
    forest = by_hand(2, (0, [3, 0], [0, 3]))

    def refusal(**changes):
        arrays = {"X": np.zeros((6, 2)), "y": np.array(["0", "1"] * 3), **changes}
        np.savez(tmp_path / "train.npz", **arrays)
        with pytest.raises(DataError) as caught:
            training_data(read_table(tmp_path / "train.npz"), forest)
        assert caught.value.__context__ is None
        assert "decode" not in "".join(traceback.format_exception(caught.value))
        return str(caught.value)

    return refusal


@pytest.mark.parametrize("number", [0x110000, 0x3FFFFF, 0xFFFFFFFF, 0xD800])
def test_labels_that_are_no_text_are_refused(number, refused):
    said = refused(y=with_code_point(["zero", "one", "zero", "one", "zero", "one"], number))
    assert ("cannot be read as .npz" if number > sys.maxunicode else "labels are neither numbers nor text") in said


@pytest.mark.parametrize("number", [0x110000, 0xFFFFFFFF])
def test_names_of_columns_that_are_no_text_are_refused(number, refused):
    assert "cannot be read as .npz" in refused(columns=with_code_point(["first", "second"], number))


def test_texts_in_the_other_byte_order_are_read(tmp_path):
    np.savez(tmp_path / "train.npz", X=np.zeros((2, 2)), columns=np.array(["first", "second"], ">U6"))
    assert list(read_table(tmp_path / "train.npz").frame.columns) == ["first", "second"]
