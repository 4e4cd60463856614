"""What a row can be: inferred from rows, or declared in a file with clear errors."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from profiles import examples
from pytest_draft.domain import MAX_ORDINAL_VALUES, MISSING_SHARE, Attribute, Domain, declared, infer
from pytest_draft.errors import DataError, NotCoveredError

PROPERTY = settings(max_examples=examples(60), deadline=None, derandomize=True)

MIXED = {
    "smokes": {"kind": "binary"},
    "job": {"kind": "one-hot", "columns": ["job_a", "job_b", "job_c"]},
    "age": {"kind": "ordinal", "low": -1, "high": 2},
}
MIXED_COLUMNS = ["job_a", "smokes", "job_b", "age", "job_c"]  # a group's columns need not stand together


def mixed(**more):
    return declared([*MIXED_COLUMNS, *more], MIXED | more, "domain.toml")


def kinds(domain):
    return {attribute.name: (attribute.kind, attribute.columns) for attribute in domain.attributes}


def inferred(columns, *rows):
    return kinds(infer(columns, np.array(rows, float)))


# Inference


def test_a_constant_zero_or_one_has_one_value_as_any_other_constant():
    domain = infer(["none", "all"], np.array([[0.0, 1], [0, 1]]))
    assert [(one.kind, one.low, one.n_values) for one in domain.attributes] == [("ordinal", 0, 1), ("ordinal", 1, 1)]


def test_a_column_that_is_constant_at_another_whole_number_is_ordinal_with_one_value():
    (attribute,) = infer(["age"], np.full((3, 1), 7.0)).attributes
    assert (attribute.kind, attribute.low, attribute.high, attribute.n_values) == ("ordinal", 7, 7, 1)


@pytest.mark.parametrize("separator", list("_:=.- |/[(<>\t"))
def test_columns_with_a_prefix_and_exactly_one_one_in_each_row_are_a_one_hot_group(separator):
    names = [f"race{separator}{value}" for value in ("a", "b", "c")]
    assert inferred(names, [1, 0, 0], [0, 0, 1], [0, 1, 0]) == {"race": ("one-hot", (0, 1, 2))}


@pytest.mark.parametrize("rows", [([1, 0], [0, 1], [0, 0]), ([1, 0], [0, 1], [1, 1]), ([0, 0], [1, 1])])
def test_a_prefix_without_exactly_one_one_in_each_row_is_no_group(rows):
    assert inferred(["x_a", "x_b"], *rows) == {"x_a": ("binary", (0,)), "x_b": ("binary", (1,))}


@pytest.mark.parametrize("names", [("male", "female"), ("_a", "_b"), ("a_", "a_"), ("x1", "x2")])
def test_exactly_one_one_in_few_rows_is_no_group_without_a_prefix(names):
    domain = infer(names, np.array([[1.0, 0], [0, 1]]))
    assert [attribute.kind for attribute in domain.attributes] == ["binary", "binary"]


def test_a_value_that_no_row_has_is_in_no_one_hot_group():
    assert inferred(["x_a", "x_b", "x_c"], [1, 0, 0], [0, 1, 0]) == {
        "x": ("one-hot", (0, 1)),
        "x_c": ("ordinal", (2,)),
    }


def test_the_shortest_prefix_that_holds_makes_the_group():
    names = ["job_old_a", "job_old_b", "job_new"]
    assert inferred(names, [1, 0, 0], [0, 1, 0], [0, 0, 1]) == {"job": ("one-hot", (0, 1, 2))}


def test_a_longer_prefix_makes_the_group_where_the_shorter_one_does_not_hold():
    names = ["x_1_a", "x_1_b", "x_2_a", "x_2_b"]
    assert inferred(names, [1, 0, 0, 1], [0, 1, 1, 0], [1, 0, 1, 0]) == {
        "x_1": ("one-hot", (0, 1)),
        "x_2": ("one-hot", (2, 3)),
    }


def test_other_kinds_with_the_prefix_do_not_break_a_group():
    assert inferred(["x_a", "x_age", "x_b"], [1, 30, 0], [0, 40, 1]) == {
        "x": ("one-hot", (0, 2)),
        "x_age": ("ordinal", (1,)),
    }


def test_whole_numbers_are_ordinal_up_to_the_limit_and_numeric_above():
    low = -5
    for n_values, kind in ((MAX_ORDINAL_VALUES, "ordinal"), (MAX_ORDINAL_VALUES + 1, "numeric")):
        (attribute,) = infer(["age"], np.array([[low], [low + 1.0], [low + n_values - 1.0]])).attributes
        assert (attribute.kind, attribute.low, attribute.high) == (kind, low, low + n_values - 1)


def test_numbers_that_are_not_whole_are_numeric_with_their_bounds():
    (attribute,) = infer(["x"], np.array([[0.5], [1.0], [-2.0]])).attributes
    assert (attribute.kind, attribute.low, attribute.high) == ("numeric", -2.0, 1.0)


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinite_values_are_refused_and_the_column_is_named(value):
    with pytest.raises(DataError, match="column 'b' has 2 infinite values"):
        infer(["a", "b"], np.array([[0.0, value], [np.nan, 1], [0, value]]))


@pytest.mark.parametrize(
    ("present", "kind", "low", "high"),
    [
        ([0.0, 1.0], "binary", 0, 1),
        ([0.0, 0.0], "ordinal", 0, 0),
        ([3.0, 4.0, 5.0], "ordinal", 3.0, 5.0),
        ([0.5, 0.5], "ordinal", 0.5, 0.5),
        ([0.5, 7.0, 8.0], "numeric", 0.5, 8),
        ([], "ordinal", 0, 0),
    ],
    ids=str,
)
def test_missing_values_are_told_and_the_others_make_the_attribute(present, kind, low, high):
    column = np.array([np.nan, *present])[:, None]
    (attribute,) = infer(["a"], column).attributes
    assert attribute == Attribute("a", kind, (0,), low, high, missing=True)
    assert infer(["a"], column).outside(column) == {}
    if present:
        assert infer(["a"], column[1:]).attributes == (Attribute("a", kind, (0,), low, high),)


@pytest.mark.parametrize(
    ("values", "book"),
    [
        ([9, 12, 14, 16, 17, 20], (9, 12, 14, 16, 17, 20)),
        ([0.5, 1.25, 7.0], (0.5, 1.25, 7.0)),
        ([0, 30], (0, 30)),
        ([-100, 0, 100_000], (-100, 0, 100_000)),
    ],
)
def test_a_column_of_few_values_has_a_code_book_of_those_that_occur(values, book):
    column = np.repeat(np.array(values, dtype=float), 3)[:, None]
    (attribute,) = infer(["code"], column).attributes
    assert (attribute.kind, attribute.values, attribute.n_values) == ("ordinal", book, len(book))
    index = attribute.index(column.astype(np.float32))
    assert np.array_equal(attribute.encoded(index), column.astype(np.float32))
    assert not attribute.outside(column).any()
    between = (np.array(book[:-1]) + np.array(book[1:])) / 2
    assert attribute.outside(between[:, None]).all()


def test_as_many_different_values_as_rows_are_no_code_book():
    (attribute,) = infer(["income"], np.arange(20.0)[:, None] * 1_000 + 0.5).attributes
    assert (attribute.kind, attribute.values) == ("numeric", None)


@pytest.mark.parametrize(
    ("values", "low", "high", "problem"),
    [
        ((1.0, 1.0), 1.0, 1.0, "ascending"),
        ((2.0, 1.0), 2.0, 1.0, "in order"),
        ((1.0, 2.0), 1.0, 3.0, "begin and end"),
        ((1.0, 1.0 + 1e-9), 1.0, 1.0 + 1e-9, "float32"),
        ((), 0.0, 1.0, "finite"),
    ],
)
def test_a_code_book_that_trees_cannot_have_seen_is_refused(values, low, high, problem):
    with pytest.raises(DataError, match=problem):
        Attribute("a", "ordinal", (0,), low, high, values=values)


def one_hot(levels, n_levels, rng, n_rows):
    return np.eye(n_levels)[rng.choice(levels, n_rows)]


@pytest.mark.parametrize("n_levels", [2, 3, 5])
def test_exclusive_columns_of_any_names_are_an_inferred_group(n_levels):
    rng = np.random.default_rng(n_levels)
    rows = np.hstack([rng.integers(0, 2, size=(100, 4)), one_hot(n_levels, n_levels, rng, 100)])
    domain = infer([f"c{i}" for i in range(4 + n_levels)], rows)
    (group,) = (attribute for attribute in domain.attributes if attribute.kind == "one-hot")
    assert group.columns == tuple(range(4, 4 + n_levels))
    assert "inferred" in group.name
    assert not group.dropped
    assert any("inferred" in line for line in domain.granted)


def test_a_group_of_which_the_first_level_was_dropped_is_found_and_has_one_more_value():
    rng = np.random.default_rng(3)
    rows = np.hstack([rng.integers(0, 2, size=(150, 3)), one_hot(4, 4, rng, 150)[:, 1:]])
    domain = infer(list("abcdef"), rows)
    (group,) = (attribute for attribute in domain.attributes if attribute.kind == "one-hot")
    assert (group.columns, group.dropped, group.n_values) == ((3, 4, 5), True, 4)
    assert np.array_equal(domain.encoded(domain.indices(rows.astype(np.float32))), rows)
    assert domain.outside(rows) == {}
    both = rows.copy()
    both[0, 3:] = 1
    assert domain.outside(both) == {group.name: 1}


@pytest.mark.parametrize("seed", range(10))
def test_columns_that_are_exclusive_by_chance_are_no_group(seed):
    rng = np.random.default_rng(seed)
    rows = (rng.random((100, 12)) < rng.uniform(0.02, 0.3, 12)).astype(float)
    assert {attribute.kind for attribute in infer([f"c{i}" for i in range(12)], rows).attributes} <= {
        "binary",
        "ordinal",
    }


def test_a_column_with_missing_values_is_in_no_one_hot_group():
    domain = infer(["x_a", "x_b", "x_c"], np.array([[1, 0, np.nan], [0, 1, 0], [0, 1, 1]]))
    assert [(attribute.kind, attribute.missing) for attribute in domain.attributes] == [
        ("one-hot", False),
        ("binary", True),
    ]
    domain = infer(["x_a", "x_b"], np.array([[1, np.nan], [0, 1], [1, 0]]))
    assert [(attribute.kind, attribute.missing) for attribute in domain.attributes] == [
        ("binary", False),
        ("binary", True),
    ]


@pytest.mark.parametrize("kind", ["binary", "ordinal", "numeric"])
def test_an_attribute_that_may_be_missing_is_not_enumerated_and_has_no_indices(kind):
    attribute = Attribute("age", kind, (0,), missing=True)
    domain = Domain(("age",), (attribute,), "here")
    rows = np.array([[0.0], [np.nan]], np.float32)
    for use in (
        lambda: attribute.n_values,
        lambda: attribute.index(rows),
        lambda: domain.n_vectors,
        domain.vectors,
        lambda: domain.indices(rows),
    ):
        with pytest.raises(NotCoveredError, match="column 'age' may have missing values"):
            use()


def test_a_one_hot_group_cannot_be_missing():
    with pytest.raises(DataError, match="attribute 'x': a one-hot group has no missing values"):
        Attribute("x", "one-hot", (0, 1), missing=True)


def test_missing_values_are_granted_by_the_columns_names():
    domain = infer(["a", "b", "c"], np.array([[np.nan, 1, np.nan], [0, 1, 0.5]]))
    assert domain.granted[-1] == "that values may be missing in 2 columns: a, c"
    assert not any("missing" in line for line in infer(["a"], np.ones((2, 1))).granted)


def test_uniform_rows_miss_a_value_as_often_as_they_have_any_other():
    n_rows = 40_000
    attributes = (
        Attribute("a", "binary", (0,), missing=True),
        Attribute("b", "ordinal", (1,), 3.0, 6.0, missing=True),
        Attribute("c", "numeric", (2,), -1, 1, missing=True),
        Attribute("d", "ordinal", (3,), 0.0, 9.0),
    )
    domain = Domain(("a", "b", "c", "d"), attributes, "here")
    rows = domain.uniform(n_rows, np.random.default_rng(0))
    shares = np.isnan(rows).mean(axis=0)
    np.testing.assert_allclose(shares, [1 / 3, 1 / 5, MISSING_SHARE, 0], atol=0.01)
    assert [attribute.n_states for attribute in (*attributes[:2], attributes[3])] == [3, 5, 10]
    for value in range(3, 7):
        assert abs((rows[:, 1] == value).mean() - 1 / 5) < 0.01
    assert domain.outside(rows.astype(float)) == {}


def test_a_missing_value_is_outside_where_it_may_not_be_missing():
    rows = np.array([[np.nan, np.nan], [7.0, 0.0]])
    attributes = (Attribute("a", "ordinal", (0,), 0.0, 6.0, missing=True), Attribute("b", "binary", (1,)))
    assert Domain(("a", "b"), attributes, "here").outside(rows) == {"a": 1, "b": 1}


def test_a_domain_file_says_where_values_may_be_missing():
    spec = {
        "a": {"kind": "binary", "missing": True},
        "b": {"kind": "numeric", "low": 0, "high": 1, "missing": True},
        "c": {"kind": "binary", "missing": False},
    }
    domain = declared(["a", "b", "c"], spec, "domain.toml")
    assert [attribute.missing for attribute in domain.attributes] == [True, True, False]
    for wrong in (1, "yes", None):
        with pytest.raises(DataError, match="attribute 'a': key 'missing' must be true or false"):
            declared(["a"], {"a": {"kind": "binary", "missing": wrong}}, "domain.toml")


def test_no_row_gives_no_domain():
    with pytest.raises(DataError, match="hold no row"):
        infer(["a"], np.empty((0, 1)))


def test_a_group_always_has_a_name():
    assert all(infer(["__a", "__b"], np.array([[1.0, 0], [0, 1]])).attributes[0].name)


@PROPERTY
@given(st.integers(0, 10_000), st.integers(1, 12))
def test_the_rows_that_a_domain_is_inferred_from_are_inside_it(seed, n_rows):
    random = np.random.RandomState(seed)
    parts = [
        random.randint(0, 2, (n_rows, 2)),
        np.eye(3)[random.randint(3, size=n_rows)],
        random.randint(-4, 5, (n_rows, 1)),
        random.randint(-400, 500, (n_rows, 1)),
        random.normal(size=(n_rows, 1)),
    ]
    rows = np.concatenate(parts, axis=1)
    domain = infer(["a", "b", "x_1", "x_2", "x_3", "age", "income", "height"], rows)
    assert domain.outside(rows) == {}
    assert sorted(column for a in domain.attributes for column in a.columns) == list(range(8))
    assert infer(domain.columns, rows[::-1]).attributes == domain.attributes


def test_granted_tells_names_but_no_value():
    lines = mixed(x={"kind": "numeric", "low": 0.5, "high": 9}).granted
    assert lines == (
        "names and order of 6 columns",
        "1 binary columns",
        "one-hot group job: 3 columns",
        "ordinal age: whole numbers from its lowest to its highest",
        "numeric x: its lowest and its highest value",
    )


def test_names_are_shown_as_one_line():
    rows = np.array([[3.0], [9]])
    assert "\n" not in "".join(infer(["evil\n::error::"], rows).granted)
    with pytest.raises(DataError) as refused:
        infer(["evil\n\x1b[31m"], rows * np.inf)
    assert str(refused.value).isprintable()


# Declared


def test_declared_takes_names_indices_and_the_attribute_itself():
    domain = declared(
        ["a", "b", "c", "d"],
        {
            "a": {"kind": "binary"},
            "g": {"kind": "one-hot", "columns": ["d", 1]},
            "c": {"kind": "numeric", "low": 0, "high": 2.5},
        },
        "domain.toml",
    )
    assert kinds(domain) == {"a": ("binary", (0,)), "g": ("one-hot", (3, 1)), "c": ("numeric", (2,))}
    assert domain.ranges.tolist() == [1, 1, 2.5, 1]
    assert domain.source == "domain.toml"


ORDINAL = {"kind": "ordinal", "low": 0, "high": 3}
WRONG = {
    "not a table": ({"a": "binary"}, "domain.toml: attribute 'a': must be a table"),
    "no kind": (
        {"a": {}},
        "domain.toml: attribute 'a': key 'kind' must be binary, one-hot, ordinal or numeric",
    ),
    "unknown kind": ({"a": {"kind": "boolean"}}, "attribute 'a': key 'kind' must be"),
    "kind not a text": ({"a": {"kind": ["binary"]}}, "attribute 'a': key 'kind' must be"),
    "unknown key": ({"a": {"kind": "binary", "hihg": 1}}, "attribute 'a': unknown key 'hihg'"),
    "unknown keys": ({"a": {"kind": "binary", 7: 1, "z": 1}}, "attribute 'a': unknown key '7'"),
    "bounds of a binary": ({"a": {"kind": "binary", "low": 0}}, "attribute 'a': unknown key 'low'"),
    "no bound": ({"a": {"kind": "ordinal", "low": 0}}, "attribute 'a': key 'high' must be a number"),
    "bound not a number": ({"a": ORDINAL | {"low": "0"}}, "attribute 'a': key 'low' must be a number"),
    "bound a truth value": ({"a": ORDINAL | {"low": False}}, "attribute 'a': key 'low' must be a number"),
    "bound too large": ({"a": ORDINAL | {"high": 10**400}}, "attribute 'a': key 'high' is too large"),
    "bound infinite": ({"a": ORDINAL | {"high": float("inf")}}, "attribute 'a': bounds must be finite"),
    "bound missing": ({"a": ORDINAL | {"high": float("nan")}}, "attribute 'a': bounds must be finite"),
    "bounds turned round": ({"a": ORDINAL | {"low": 4}}, "attribute 'a': bounds must be finite and in order"),
    "bound not whole": (
        {"a": ORDINAL | {"high": 2.5}},
        "attribute 'a': an ordinal attribute has whole bounds",
    ),
    "columns not a list": (
        {"a": {"kind": "binary", "columns": "a"}},
        "attribute 'a': key 'columns' must be a list",
    ),
    "unknown column": ({"a": {"kind": "binary", "columns": ["z"]}}, "attribute 'a': no column 'z' among"),
    "attribute without column": ({"z": {"kind": "binary"}}, "attribute 'z': no column 'z' among"),
    "index too large": ({"a": {"kind": "binary", "columns": [2]}}, "attribute 'a': no column '2' among"),
    "index below 0": ({"a": {"kind": "binary", "columns": [-1]}}, "attribute 'a': no column '-1' among"),
    "index not whole": ({"a": {"kind": "binary", "columns": [0.0]}}, "attribute 'a': no column '0.0' among"),
    "index a truth value": (
        {"a": {"kind": "binary", "columns": [True]}},
        "attribute 'a': no column 'True' among",
    ),
    "two columns": (
        {"a": {"kind": "binary", "columns": [0, 1]}},
        "attribute 'a': kind binary takes exactly one",
    ),
    "no columns": ({"a": {"kind": "binary", "columns": []}}, "attribute 'a': kind binary takes exactly one"),
    "one-hot of one": ({"a": {"kind": "one-hot"}}, "attribute 'a': a one-hot group needs at least two"),
    "column left out": ({"a": {"kind": "binary"}}, "domain.toml: column 'b' belongs to no attribute"),
    "column twice": (
        {"a": {"kind": "binary"}, "g": {"kind": "one-hot", "columns": ["a", "b"]}},
        "domain.toml: column 'a' belongs to several attributes; give it exactly one",
    ),
}


@pytest.mark.parametrize(("spec", "message"), WRONG.values(), ids=WRONG)
def test_a_wrong_declaration_names_the_attribute_and_the_key(spec, message):
    with pytest.raises(DataError) as refused:
        declared(["a", "b"], spec, "domain.toml")
    assert message in str(refused.value)
    assert str(refused.value).isprintable()


def test_a_domain_gives_each_column_to_one_attribute():
    with pytest.raises(DataError, match="each column to exactly one attribute"):
        Domain(("a", "b"), (Attribute("a", "binary", (0,)),), "here")


@pytest.mark.parametrize(("kind", "columns"), [("binary", (0,)), ("one-hot", (0, 1))])
def test_binary_values_are_zero_and_one(kind, columns):
    with pytest.raises(DataError, match="has the values 0 and 1"):
        Attribute("a", kind, columns, 0.0, 2.0)


# Values


@pytest.fixture
def interleaved():
    """A domain whose one-hot group lies around other attributes."""
    attributes = (
        Attribute("colour", "one-hot", (0, 2, 4)),
        Attribute("age", "ordinal", (1,), 18.0, 21.0),
        Attribute("member", "binary", (3,)),
    )
    return Domain(("red", "age", "green", "member", "blue"), attributes, "a test")


def test_each_column_tells_its_attribute_and_its_place_there(interleaved):
    assert interleaved.attribute_of_column.tolist() == [0, 1, 0, 2, 0]
    assert interleaved.place_of_column.tolist() == [0, 0, 1, 0, 2]


def test_the_domain_of_some_attributes_keeps_the_order_of_the_columns(interleaved):
    part = interleaved.restricted([2, 0])
    assert interleaved.columns_of([2, 0]) == [0, 2, 3, 4]
    assert part.columns == ("red", "green", "member", "blue")
    assert [(one.name, one.columns) for one in part.attributes] == [("member", (2,)), ("colour", (0, 1, 3))]
    assert part.source == interleaved.source


@pytest.mark.parametrize("attributes", [[0], [1], [0, 2], [2, 1], [0, 1, 2]])
def test_vectors_of_some_attributes_are_those_of_the_whole_without_the_other_columns(interleaved, attributes):
    part = interleaved.restricted(attributes)
    whole = interleaved.vectors()[:, interleaved.columns_of(attributes)]
    assert len(part.vectors()) == part.n_vectors == len(set(map(tuple, whole.tolist())))
    assert set(map(tuple, part.vectors().tolist())) == set(map(tuple, whole.tolist()))


def test_the_domain_of_all_attributes_is_the_domain_and_that_of_none_has_no_column(interleaved):
    assert interleaved.restricted(range(3)) == interleaved
    assert interleaved.restricted([]).n_columns == 0


def test_vectors_are_the_product_of_the_attributes_values():
    domain = mixed()
    jobs = np.eye(3)
    expected = {
        (jobs[job][0], smokes, jobs[job][1], age, jobs[job][2])
        for smokes, job, age in product((0, 1), range(3), (-1, 0, 1, 2))
    }
    vectors = domain.vectors()
    assert vectors.dtype == np.float32
    assert vectors.shape == (domain.n_vectors, domain.n_columns) == (24, 5)
    assert set(map(tuple, vectors.tolist())) == expected
    assert domain.outside(vectors.astype(float)) == {}


@PROPERTY
@given(st.lists(st.tuples(st.integers(-50, 50), st.integers(0, 4)), min_size=1, max_size=4))
def test_vectors_of_ordinals_are_in_the_order_of_their_product(bounds):
    names = [f"x{i}" for i in range(len(bounds))]
    spec = {
        name: {"kind": "ordinal", "low": low, "high": low + more}
        for name, (low, more) in zip(names, bounds, strict=True)
    }
    domain = declared(names, spec, "domain.toml")
    expected = list(product(*(range(low, low + more + 1) for low, more in bounds)))
    assert list(map(tuple, domain.vectors().tolist())) == expected


def test_a_numeric_attribute_has_no_number_of_values():
    domain = mixed(x={"kind": "numeric", "low": 0, "high": 1})
    with pytest.raises(NotCoveredError, match="column 'x' is numeric"):
        _ = domain.n_vectors


def test_the_number_of_vectors_is_exact_where_it_is_huge():
    names = [f"b{i}" for i in range(100)]
    assert declared(names, {name: {"kind": "binary"} for name in names}, "x").n_vectors == 2**100


@PROPERTY
@given(st.integers(0, 1000))
def test_uniform_rows_are_inside_the_domain_and_follow_the_seed(seed):
    domain = mixed(x={"kind": "numeric", "low": -0.25, "high": 8})
    rows = domain.uniform(50, np.random.default_rng(seed))
    assert rows.shape == (50, 6)
    assert domain.outside(rows.astype(float)) == {}
    assert rows.tobytes() == domain.uniform(50, np.random.default_rng(seed)).tobytes()


def test_uniform_rows_reach_every_value_about_equally_often():
    domain = mixed()
    vectors, number = np.unique(domain.uniform(24_000, np.random.default_rng(0)), axis=0, return_counts=True)
    assert len(vectors) == domain.n_vectors
    assert 800 < number.min() <= number.max() < 1200


@pytest.mark.parametrize(
    ("row", "found"),
    [
        ([1, 0, 0, 2, 0], {}),
        ([1, 2, 0, 2, 0], {"smokes": 1}),
        ([1, 0.5, 0, 2, 0], {"smokes": 1}),
        ([1, 0, 1, 2, 0], {"job": 1}),
        ([0, 0, 0, 2, 0], {"job": 1}),
        ([0.5, 0, 0.5, 2, 0], {"job": 1}),
        ([2, 0, -1, 2, 0], {"job": 1}),
        ([1, 0, 0, 3, 0], {"age": 1}),
        ([1, 0, 0, 0.5, 0], {"age": 1}),
        ([1, 0, 0, np.nan, 0], {"age": 1}),
        ([np.nan, np.inf, 0, -np.inf, 0], {"smokes": 1, "job": 1, "age": 1}),
    ],
)
def test_outside_counts_rows_by_attribute(row, found):
    assert mixed().outside(np.array([row], float)) == found


def test_outside_counts_each_row_once_per_attribute():
    rows = np.array([[1, 0, 1, 9, 1], [1, 0, 0, 9, 0], [1, 0, 0, 0, 0]], float)
    assert mixed().outside(rows) == {"job": 1, "age": 2}
    numeric = declared(["x"], {"x": {"kind": "numeric", "low": 0, "high": 1}}, "x")
    assert numeric.outside(np.array([[0.5], [1.5], [np.nan]])) == {"x": 2}


@pytest.mark.parametrize("values", [[], "0, 1", 3, None])
def test_values_that_are_no_list_of_numbers_are_refused(values):
    with pytest.raises(DataError, match="key 'values' must be a list of numbers"):
        declared(("a",), {"a": {"kind": "ordinal", "values": values}}, "domain.toml")
