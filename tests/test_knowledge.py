"""Adversaries as they are written, and what each is granted of the training data."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from pytest_draft.attack.groups import KnownRows, group_by_occurrences, split_by_values
from pytest_draft.data import TrainingData
from pytest_draft.domain import Attribute, Domain
from pytest_draft.errors import DataError, UsageError
from pytest_draft.facts.adversary import Adversary, check_adversary
from pytest_draft.knowledge import MOST_INFORMED_ROWS, grant

COLUMNS = ("sex:Male", "job_x", "job_y", "job_z", "age", "rich", "a", "b")
DOMAIN = Domain(
    COLUMNS,
    (
        Attribute("sex:Male", "binary", (0,)),
        Attribute("job", "one-hot", (1, 2, 3)),
        Attribute("age", "ordinal", (4,), 20.0, 24.0),
        Attribute("rich", "binary", (5,)),
        Attribute("a", "binary", (6,)),
        Attribute("b", "binary", (7,)),
    ),
    "by hand",
)


def data_of(n_rows: int) -> TrainingData:
    rng = np.random.default_rng(0)
    return TrainingData(DOMAIN.uniform(n_rows, rng), rng.integers(0, 2, n_rows), COLUMNS, None, "by hand")


def granted(text: str, n_rows: int = 20, seed: int = 0, n_samples: int | None = None):
    n_samples = n_rows if n_samples is None else n_samples
    forest = SimpleNamespace(n_samples=n_samples, trained_on=f"trained on {n_samples} rows")
    return grant(Adversary.parse(text), data_of(n_rows), DOMAIN, forest, seed)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("artifact", Adversary("artifact")),
        ("published+columns:3", Adversary("published", columns=3)),
        ("artifact+columns:sex:Male,job", Adversary("artifact", columns=("sex:Male", "job"))),
        ("artifact+columns:a+b,c+rows:2", Adversary("artifact", columns=("a+b", "c"), rows=2)),
        ("artifact+rows:10", Adversary("artifact", rows=10)),
        ("artifact+rows:12.5%+columns:1", Adversary("artifact", columns=1, percent=12.5)),
        ("artifact+informed", Adversary("artifact", informed=True)),
        ("artifact+informed+columns:job", Adversary("artifact", columns=("job",), informed=True)),
        ("artifact+n-unknown", Adversary("artifact", size_unknown=True)),
        ("served+labels+rows:2", Adversary("served+labels", rows=2)),
        ("served+n-unknown", Adversary("served", size_unknown=True)),
    ],
)
def test_an_adversary_is_understood(text, expected):
    assert Adversary.parse(text) == expected
    assert check_adversary(text) == text
    assert expected.has_side_knowledge == ("+" in text and not expected.size_unknown)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "unknown adversary ''; known are: artifact, published, served, served+labels"),
        ("nobody+rows:3", "unknown adversary 'nobody'; known are: artifact, published, served, served+labels"),
        ("artifact+everything", "unknown side knowledge 'everything'; known are: columns:NAME"),
        ("artifact+", "unknown side knowledge ''"),
        ("artifact+n-unknown+rows:3", "who knows rows or columns knows the number of rows"),
        ("artifact+n-unknown:3", "unknown side knowledge 'n-unknown:3'"),
        ("artifact+informed:3", "unknown side knowledge 'informed:3'"),
        ("artifact+columns:", "'columns' needs names of attributes"),
        ("artifact+columns:a,,b", "'columns' needs names of attributes"),
        ("artifact+columns:a,a", "'columns' names an attribute twice"),
        ("artifact+columns:0", "'columns' needs at least 1 attribute"),
        ("artifact+columns:1+columns:2", "'columns' is given twice"),
        ("artifact+rows:", "'rows' needs a whole number, as in rows:10, or a share, as in rows:25%"),
        ("artifact+rows:-3", "'rows' needs a whole number"),
        ("artifact+rows:2.5", "'rows' needs a whole number"),
        ("artifact+rows:nan%", "'rows' needs a whole number"),
        ("artifact+rows:\u0663", "'rows' needs a whole number"),
        ("artifact+rows:0", "'rows' needs at least 1 row"),
        ("artifact+rows:0%", "more than 0% and less than 100%"),
        ("artifact+rows:100%", "more than 0% and less than 100%"),
        ("artifact+rows:3+informed", "'informed' knows all rows but one already"),
        ("artifact+informed+informed", "'informed' is given twice"),
        ("artifact+rows:3\n::error::", "'rows' needs a whole number"),
    ],
)
def test_a_wrong_adversary_is_refused_in_one_line(text, message):
    with pytest.raises(UsageError) as caught:
        check_adversary(text)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "::error" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("artifact+columns:height", "'height' is no attribute of the domain; known are: sex:Male, job, age"),
        ("artifact+columns:job_x", "'job_x' is a column of attribute 'job'; name the attribute"),
        ("artifact+columns:6", "at least one of the 6 attributes must stay unknown"),
        ("artifact+columns:7", "at least one of the 6 attributes must stay unknown"),
        ("artifact+columns:sex:Male,job,age,rich,a,b", "at least one of the 6 attributes must stay unknown"),
        ("artifact+rows:20", "at least one of the 20 training rows must stay unknown"),
        ("artifact+rows:99%", "at least one of the 20 training rows must stay unknown"),
        ("artifact+rows:1%", "1% of 20 training rows is none"),
    ],
)
def test_side_knowledge_that_does_not_fit_the_data_is_refused_in_one_line(text, message):
    with pytest.raises(UsageError) as caught:
        granted(text)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_one_row_is_too_few_for_an_informed_adversary():
    with pytest.raises(UsageError, match="at least 2"):
        granted("artifact+informed", n_rows=1)


def test_another_number_of_rows_than_the_forest_was_trained_on_is_refused_with_both_numbers():
    with pytest.raises(DataError, match="trained on 21 rows, and the data have 20"):
        granted("artifact+rows:3", n_samples=21)


@pytest.mark.parametrize(("text", "refused"), [("+columns:age", True), ("+informed", True), ("+columns:rich", False)])
def test_a_domain_that_excludes_what_is_known_is_refused(text, refused):
    age = Attribute("age", "ordinal", (4,), 20.0, 21.0)
    narrow = replace(DOMAIN, attributes=tuple(age if a.name == "age" else a for a in DOMAIN.attributes))
    forest = SimpleNamespace(n_samples=20)
    adversary = Adversary.parse("artifact" + text)
    if not refused:
        assert grant(adversary, data_of(20), narrow, forest, 0).attributes == (3,)
        return
    with pytest.raises(DataError, match=r"excludes .* training rows by attribute 'age', which the adversary knows"):
        grant(adversary, data_of(20), narrow, forest, 0)


def test_nothing_is_granted_without_side_knowledge():
    assert granted("artifact") is None


def test_named_attributes_are_known_in_every_row():
    data, knowledge = data_of(20), granted("artifact+columns:age,job")
    assert (knowledge.attributes, knowledge.columns) == ((1, 2), (1, 2, 3, 4))
    assert (knowledge.values == data.rows[:, 1:5]).all()
    assert not len(knowledge.known)
    assert (knowledge.unknown == np.arange(20)).all()


@pytest.mark.parametrize("kind", ["columns", "rows"])
def test_a_seed_draws_more_and_more(kind):
    drawn = []
    for number in range(1, 6):
        knowledge = granted(f"artifact+{kind}:{number}", seed=3)
        drawn.append(set(knowledge.attributes if kind == "columns" else knowledge.known.tolist()))
    assert [len(found) for found in drawn] == [1, 2, 3, 4, 5]
    assert all(less < more for less, more in pairwise(drawn))
    others = [granted(f"artifact+{kind}:2", seed=seed) for seed in range(20)]
    assert len({(knowledge.attributes, knowledge.known.tobytes()) for knowledge in others}) > 5


@pytest.mark.parametrize(("text", "n_known"), [("rows:7", 7), ("rows:25%", 5), ("rows:0.1%", None)])
def test_known_and_unknown_rows_are_all_rows_once(text, n_known):
    if n_known is None:
        with pytest.raises(UsageError, match="is none"):
            granted(f"artifact+{text}")
        return
    data, knowledge = data_of(20), granted(f"artifact+{text}")
    assert len(knowledge.known) == n_known
    assert sorted([*knowledge.known, *knowledge.unknown]) == list(range(20))
    assert (knowledge.rows == data.rows[knowledge.known]).all()
    assert (knowledge.labels == data.labels[knowledge.known]).all()


@pytest.mark.parametrize(("n_rows", "n_taken"), [(20, 20), (MOST_INFORMED_ROWS + 50, MOST_INFORMED_ROWS)])
def test_an_informed_adversary_takes_each_row_of_few_and_a_sample_of_many(n_rows, n_taken):
    knowledge = granted("artifact+informed", n_rows)
    assert len(set(knowledge.unknown.tolist())) == n_taken
    assert len(knowledge.known) == n_rows
    (told,) = knowledge.granted
    assert told == f"all rows but one, with their labels: {n_taken} of {n_rows} rows each taken as the one"


def test_what_is_granted_is_told_in_names_and_numbers():
    assert granted("artifact+columns:sex:Male,job+rows:25%").granted == (
        "values of 2 of 6 attributes in every row: sex:Male, job",
        "5 of 20 rows, with their labels",
    )


def test_no_value_is_in_a_repr():
    knowledge = granted("artifact+columns:age+rows:3")
    groups = split_by_values(
        group_by_occurrences(np.ones((2, 20), np.int64)), knowledge.attributes, knowledge.columns, knowledge.values
    )
    known = KnownRows(knowledge.rows, knowledge.labels, np.ones((2, 3), np.int64))
    for shown in map(repr, (knowledge, groups, groups.values, known)):
        assert "array" not in shown
        assert not re.search(r"\b2[0-4]\b", shown.replace("20 rows", ""))


@pytest.mark.parametrize(
    ("text", "floors"),
    [
        ("artifact", ()),
        ("published", ()),
        ("artifact+n-unknown", ()),
        ("published+columns:a,b", ("published",)),
        ("served", ()),
        ("served+columns:a", ("served",)),
        ("served+labels+columns:a+rows:2", ("served+labels", "served+labels+columns:a", "served+labels+rows:2")),
        ("artifact+columns:1", ("artifact", "published+columns:1")),
        ("artifact+rows:2.5%", ("artifact", "published+rows:2.5%")),
        (
            "artifact+informed+columns:a+b,c",
            (
                "artifact",
                "artifact+columns:a+b,c",
                "published+columns:a+b,c",
                "artifact+informed",
                "published+informed",
                "published+columns:a+b,c+informed",
            ),
        ),
    ],
)
def test_whoever_lacks_seeds_or_some_side_knowledge_gets_no_more(text, floors):
    assert Adversary.parse(text).floors == floors


def test_whoever_knows_less_has_no_floor_that_knows_more():
    for text in "artifact+columns:3+rows:0.000000001%", "artifact+rows:7", "published+columns:a+informed":
        above = set(Adversary.parse(text).floors)
        for floor in above:
            assert set(Adversary.parse(floor).floors) < above | {"published"}
