"""Several tables of some of the same people are made one: each person has one place, and what is unknown is doubted."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

from pytest_draft.data.training import TrainingData
from pytest_draft.data.united import Known, united
from pytest_draft.errors import DataError

NAN = float("nan")


def known(name, rows, labels, *, columns="abc", classes=("no", "yes"), who=None, targets=None):
    """Return a table: of classes where there are some, else of targets."""
    held = np.array(rows, np.float32).reshape(len(rows), -1)
    said = np.array(labels, np.int64) if classes is not None else np.zeros(len(rows), np.int64)
    numbers = np.array(labels, np.float64) if classes is None else targets
    data = TrainingData(held, said, tuple(columns[: held.shape[1]]), None, name, targets=numbers)
    raw = pd.DataFrame(held, columns=list(data.columns))
    return Known(name, data, classes, raw, None, None if who is None else np.array(list(who), object))


ROWS = [[1, 10, 0], [2, 20, 0], [3, 30, 1]]
LABELS = [0, 1, 0]

MATCHED = {
    "the same table": ((ROWS, LABELS, None), (ROWS, LABELS, None), [[0, 1, 2], [0, 1, 2]]),
    "in another order": ((ROWS, LABELS, None), (ROWS[::-1], LABELS[::-1], None), [[0, 1, 2], [2, 1, 0]]),
    "one was added": ((ROWS[:2], LABELS[:2], None), (ROWS, LABELS, None), [[0, 1], [0, 1, 2]]),
    "one was removed": ((ROWS, LABELS, None), (ROWS[1:], LABELS[1:], None), [[0, 1, 2], [1, 2]]),
    "a value was changed: one removed, one added": (
        (ROWS, LABELS, None),
        ([[1, 11, 0], *ROWS[1:]], LABELS, None),
        [[0, 1, 2], [3, 1, 2]],
    ),
    "a label was changed": ((ROWS, LABELS, None), (ROWS, [1, 1, 0], None), [[0, 1, 2], [3, 1, 2]]),
    "equal rows are as many people as in the table that has most": (
        ([ROWS[0]] * 2, [0, 0], None),
        ([ROWS[0]] * 3, [0, 0, 0], None),
        [[0, 1], [0, 1, 2]],
    ),
    "-0.0 is 0.0": (([[0, 1, -0.0], *ROWS], [0, *LABELS], None), ([[-0.0, 1, 0]], [0], None), [[0, 1, 2, 3], [0]]),
    "a missing value equals another": (([[NAN, 1, 1], *ROWS], [0, *LABELS], None), ([[NAN, 1, 1]], [0], None)),
    "by identifier": ((ROWS, LABELS, "xyz"), (ROWS, LABELS, "xyz"), [[0, 1, 2], [0, 1, 2]]),
    "by identifier, equal rows of two people": (
        ([ROWS[0]] * 2, [0, 0], "xy"),
        ([ROWS[0]] * 2, [0, 0], "yz"),
        [[0, 1], [1, 2]],
    ),
    "by identifier, one was changed": (
        (ROWS, LABELS, [1, 2, 3]),
        ([[1, 11, 0], *ROWS[1:]], LABELS, [1, 2, 3]),
        [[0, 1, 2], [3, 1, 2]],
    ),
    "by identifier, nobody is in both": ((ROWS, LABELS, "xyz"), (ROWS, LABELS, "uvw"), [[0, 1, 2], [3, 4, 5]]),
    "by identifier, twice the same person": (([ROWS[0]] * 2, [0, 0], "xx"), ([ROWS[0]], [0], "x"), [[0, 1], [0]]),
}


@pytest.mark.parametrize("what", MATCHED)
def test_each_person_has_one_place(what):
    (*first, who), (*second, its), *places = MATCHED[what]
    found = united([known("first", *first, who=who), known("second", *second, who=its)])
    assert [own.tolist() for own in found.rows] == (places or [[[0, 1, 2, 3], [0]]])[0]
    strangers = "nobody is in both" in what  # whose rows are equal
    assert [("--draft-id says" in doubt) for doubt in found.doubts] == [True] * strangers
    for given, own in zip((first, second), found.rows, strict=True):
        assert np.array_equal(found.data.rows[own], np.array(given[0], np.float32), equal_nan=True)
        assert found.data.labels[own].tolist() == given[1]
    in_both = len(set(found.rows[0].tolist()) & set(found.rows[1].tolist()))
    assert any(note.endswith(f"{in_both:,} in all 2") for note in found.notes) == (in_both > 0)


def test_people_who_are_in_no_other_table_are_doubted_unless_an_identifier_says_so():
    others = [[1, 20, 0], [2, 30, 1]]
    tables = [known("first", ROWS, LABELS), known("second", others, [0, 1]), known("third", ROWS, LABELS)]
    (doubt,) = united(tables).doubts
    assert "most rows of second are in no other table" in doubt
    assert "--draft-id" in doubt


def test_an_identifier_in_only_some_tables_is_refused_in_one_line():
    with pytest.raises(DataError, match="only some of the tables") as refusal:
        united([known("first", ROWS, LABELS, who="xyz"), known("second", ROWS, LABELS)])
    assert "\n" not in str(refusal.value)


COLUMNS = {
    "another was added for all": (([[1, 5], [2, 6]], "ab"), ([[1, 5, 9], [2, 6, 9]], "abc"), "abc", None),
    "another was added, and somebody never had it": (([[1, 5], [2, 6]], "ab"), ([[1, 5, 9]], "abc"), "abc", "c: *1 "),
    "one was left out": (([[1, 5, 9], [2, 6, 9]], "abc"), ([[1, 5], [2, 6]], "ab"), "abc", None),
    "in another order": (([[1, 5], [2, 6]], "ab"), ([[5, 1], [6, 2]], "ba"), "ab", None),
    "one was scaled, of the same people": (
        ([[1, 5], [2, 6], [3, 5]], "ab"),
        ([[1, -1], [2, 1], [3, -1]], "ab"),
        ("a", "b", "b (of second)"),
        None,
    ),
    "one was scaled, and somebody is new": (
        ([[1, 5], [2, 6]], "ab"),
        ([[1, -1], [3, 1]], "ab"),
        ("a", "b", "b (of second)"),
        r"b \(of second\): not known of 2 ",
    ),
}


@pytest.mark.parametrize("what", COLUMNS)
def test_a_column_that_only_some_tables_have_is_known_of_these_people_alone(what):
    (rows, its), (others, theirs), names, doubt = COLUMNS[what]
    first, second = known("first", rows, [0] * len(rows), columns=its), known("second", others, [0] * len(others))
    second = known("second", others, [0] * len(others), columns=theirs)
    found = united([first, second])
    assert found.data.columns == tuple(names)
    for table, own, mine in zip((first, second), found.rows, found.columns, strict=True):
        assert np.array_equal(found.data.rows[np.ix_(own, mine)], table.data.rows)
    if doubt is None:
        assert not found.doubts
        assert not np.isnan(found.data.rows).any()
    else:
        with pytest.raises(AssertionError, match=doubt.replace("*", ".*")):
            raise AssertionError(found.doubts)


SCALED = [[-1, -1, -1], [0, 0, -1], [1, 1, 1]]


@pytest.mark.parametrize(
    ("labels", "who", "is_doubted"),
    [([0, 1, 0], None, True), ([0, 1, 0], "xyz", False), ([0, 1, 2], None, True)],
    ids=["alike", "identified", "told apart by their labels"],
)
def test_people_who_are_alike_in_what_all_tables_hold_are_not_matched_at_will(labels, who, is_doubted):
    classes = ("a", "b", "c")
    tables = [
        known("raw", [[5, 50, 7], [6, 60, 7], [7, 70, 8]], labels, classes=classes, who=who),
        known("scaled", SCALED[::-1], labels[::-1], classes=classes, who=who and who[::-1]),
    ]
    found = united(tables)
    assert any("do not tell people apart" in doubt and "--draft-id" in doubt for doubt in found.doubts) == is_doubted
    if not is_doubted:
        assert [own.tolist() for own in found.rows] == [[0, 1, 2], [2, 1, 0]]
        assert not found.doubts


CLASSES = {
    "the same": (("no", "yes"), ("no", "yes"), [[0, 1], [0, 1]]),
    "a new one": (("no", "yes"), ("maybe", "no", "yes"), [[0, 1], [2, 0, 1]]),
    "numbers of two kinds": ((0, 1), (0.0, 1.0), [[0, 1], [0, 1]]),
}


@pytest.mark.parametrize("what", CLASSES)
def test_classes_are_those_of_all_tables(what):
    first, second, codes = CLASSES[what]
    shift = len(second) - len(first)
    tables = (
        known("first", ROWS, LABELS, classes=first),
        known("second", ROWS, [label + shift for label in LABELS], classes=second),
    )
    found = united(tables)
    assert [one.tolist() for one in found.codes] == codes
    assert found.data.n_rows == 3
    assert len(found.classes) == max(len(first), len(second))
    assert not found.doubts


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ((LABELS, ("no", "yes")), ([1, 0, 1], ("no", "yes"))),
        ((LABELS, ("no", "yes")), (LABELS, ("left", "right"))),
        ((LABELS, ("no", "yes")), (LABELS, ("0", "1"))),
        ((LABELS, ("no", "yes")), ([0.5, 1.5, 2.5], None)),
        (([1.0, 2.0, 3.0], None), ([0.5, 1.5, 2.5], None)),
    ],
    ids=["opposite", "other classes", "strings of numbers", "a regressor's", "two regressors'"],
)
def test_different_labels_of_the_same_people_make_nobody_two(first, second):
    tables = [known(name, ROWS, said, classes=of) for name, (said, of) in (("first", first), ("second", second))]
    found = united(tables)
    assert found.data.n_rows == 3
    assert found.classes is None
    assert found.codes == (None, None)
    assert found.data.targets is None
    assert not found.data.labels.any()
    assert any("different labels of the same people" in note for note in found.notes)


def test_targets_are_kept_and_a_corrected_one_is_another_person():
    first = known("first", ROWS, [1.5, 2.5, -0.0], classes=None)
    second = known("second", ROWS, [1.5, 9.0, 0.0], classes=None)
    found = united([first, second])
    assert [own.tolist() for own in found.rows] == [[0, 1, 2], [0, 3, 2]]
    assert found.data.targets.tolist() == [1.5, 2.5, 0.0, 9.0]
    assert found.classes is None


def people(found, tables):
    """Return what each person is: their row by columns' names, label, and the tables that they are in."""
    inside = [set(own.tolist()) for own in found.rows]
    order = np.argsort(found.data.columns)
    return sorted(
        (
            tuple(found.data.rows[i, order].tolist()),
            found.classes[found.data.labels[i]],
            tuple(sorted(one.name for one, own in zip(tables, inside, strict=True) if i in own)),
        )
        for i in range(found.data.n_rows)
    )


@pytest.mark.parametrize("seed", range(5))
def test_people_are_the_same_in_whichever_order_tables_are_given(seed):
    rng = np.random.default_rng(seed)
    rows, labels = rng.integers(0, 3, (20, 3)), rng.integers(0, 2, 20)
    tables = [
        known(f"file {k}", rows[own], labels[own]) for k in range(3) for own in [rng.choice(20, 14, replace=False)]
    ]
    found = [people(united(order), order) for order in itertools.permutations(tables)]
    assert all(one == found[0] for one in found)


def test_no_row_is_shown():
    tables = [known("first", [[123, 456, 789]], [0], who=["somebody"]), known("second", ROWS, LABELS, who="xyz")]
    found = united(tables)
    shown = " ".join([repr(found), repr(tables), *found.notes, *found.doubts])
    assert not any(value in shown for value in ("123", "456", "789", "somebody"))
