"""Splits that somebody says outright: read as a script has them, and taken as scikit-learn and pandas take them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.model_selection import train_test_split

from pytest_draft.data.source import Split
from pytest_draft.errors import DataError, UsageError

SEEDS = (0, 1, 42, 123, 2**32 - 1)


@pytest.fixture(params=[load_iris, load_wine, None])
def table(request) -> pd.DataFrame:
    """Return a table with a column ``target``: numbers in two of them, texts in the last."""
    if request.param is not None:
        return request.param(as_frame=True).frame
    random = np.random.default_rng(7)
    return pd.DataFrame({"x": random.normal(size=731), "target": random.choice(["no", "yes", "maybe"], 731)})


@pytest.mark.nightly(quick=32)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    "sizes", [{}, {"test_size": 0.2}, {"test_size": 30}, {"train_size": 0.7}, {"train_size": 60, "test_size": 40}]
)
@pytest.mark.parametrize("stratify", [False, True])
def test_rows_are_those_of_train_test_split_in_its_order(table, seed, sizes, stratify):
    given = ", ".join(f"{name}={size}" for name, size in (sizes | {"random_state": seed}).items())
    split = Split.parse(given + ", stratify" * stratify)
    expected, _ = train_test_split(table, **sizes, random_state=seed, stratify=table["target"] if stratify else None)
    taken = table.iloc[split.positions(len(table), table["target"])]
    pd.testing.assert_frame_equal(taken, expected)


def test_the_first_rows_are_taken_without_shuffling(table):
    split = Split.parse("test_size=.25, shuffle=False")
    pd.testing.assert_frame_equal(
        table.iloc[split.positions(len(table))], train_test_split(table, test_size=0.25, shuffle=False)[0]
    )


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("size", [{"frac": 0.8}, {"n": 50}, {"frac": 1}, {"frac": 1.5, "replace": True}])
def test_rows_are_those_of_sample_in_its_order(table, seed, size):
    given = ", ".join(f"{name}={value}" for name, value in size.items())
    split = Split.parse(f"df.sample({given}, random_state={seed})")
    expected = table.sample(**size, random_state=seed)
    pd.testing.assert_frame_equal(table.iloc[split.positions(len(table))], expected)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("test_size=1/3, random_state=42", Split(test_size=1 / 3, random_state=42)),
        ("stratify, test_size=.2, random_state=0", Split(test_size=0.2, random_state=0, stratify=True)),
        ("random_state=0, stratify=None, shuffle=True", Split(random_state=0)),
        (
            "train_test_split(X, y, test_size=60, random_state=0, stratify=y)",
            Split(test_size=60, random_state=0, stratify=True),
        ),
        (
            " X_a, X_b, y_a, y_b = train_test_split(X, y, test_size=60, random_state=0)",
            Split("train_test_split", None, 60, 0),
        ),
        ("model_selection.train_test_split(df, random_state=0)", Split(random_state=0)),
        ("X, y, test_size=0.2, random_state=42", Split(test_size=0.2, random_state=42)),
        ("df.sample(100, None, True, random_state=5)", Split("sample", 100, random_state=5, replace=True)),
        ("df = df.sample(frac=1, random_state=5).reset_index(drop=True)", Split("sample", 1.0, random_state=5)),
        ("train = df.sample(100, random_state=5)", Split("sample", 100, random_state=5)),
        ("data.sample(None, .5, random_state=5)", Split("sample", 0.5, random_state=5)),
        ("df[df.age > 3].sample(frac=.8, random_state=1)", Split("sample", 0.8, random_state=1)),
    ],
)
def test_a_split_is_read_as_scripts_have_it(text, same):
    assert Split.parse(text) == same
    assert Split.parse(same.in_words) == same


@pytest.mark.parametrize(
    "text",
    [
        "",
        "0.2",
        "test_size=0.2",
        "test_size=0.2, random_state=None",
        "test_size=0.2, random_state=SEED",
        "test_size=0.2, random_state=4.5",
        "test_size=0.2, random_state=True",
        "test_size=0.2, random_state=-1",
        "test_size=0.2, random_state=4294967296",
        "test_size=0.2, random_state=42, shuffle=False, stratify",
        "test_size=0.2, random_state=42, stratify=df['group']",
        "test_size=0, random_state=42",
        "test_size=1.0, random_state=42",
        "test_size=1/0, random_state=42",
        "test_size='0.2', random_state=42",
        "testsize=0.2, random_state=42",
        "test_size=0.2, test_size=0.3, random_state=42",
        "0.2, random_state=42",
        "train_test_split(0.2, random_state=42)",
        "df.sample(3, None, random_state=1, frac=0.5)",
        "**options",
        "df.sample(random_state=1)",
        "df.sample(frac=.8)",
        "df.sample(n=3, frac=.8, random_state=1)",
        "df.sample(n=3.5, random_state=1)",
        "df.sample(n=3, weights='age', random_state=1)",
        "df.groupby('a').head(3)",
        "KFold(5, random_state=3)",
        "__import__('os').abort()",
        "test_size=__import__('os').abort(), random_state=1",
        "test_size=0.2, random_state=42) or (1",
        "test_size=0.2, random_state=42, shuffle=SHUFFLED",
        "test_size='a' * 10**9, random_state=42",
        "test_size=-'a', random_state=42",
        "split()",
        "test_size=1 - 0.8, random_state=42",
        "test_size='a' / 2, random_state=42",
        "test_size=0.2, random_state=42, groups=None",
        "a; b",
        "test_size=0.2\0",
        "(" * 5000,
    ],
)
def test_what_is_no_split_is_refused_in_one_line(text):
    with pytest.raises(UsageError) as found:
        Split.parse(text)
    assert str(found.value).startswith("--draft-split: ")
    assert "\n" not in str(found.value)


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("test_size=400, random_state=0", None),
        ("df.sample(n=301, random_state=0)", None),
        ("test_size=.2, random_state=0, stratify", None),
        ("test_size=.2, random_state=0, stratify", ["quokka", *["no"] * 299]),
        ("test_size=.2, random_state=0, stratify", [3, *["quokka"] * 299]),
    ],
)
def test_a_table_that_cannot_be_split_so_is_refused_without_a_label(text, labels):
    labels = None if labels is None else np.array(labels, dtype=object)
    with pytest.raises(DataError, match="300 rows cannot be split by") as found:
        Split.parse(text).positions(300, labels)
    assert "quokka" not in str(found.value)
    assert found.value.__context__ is None
