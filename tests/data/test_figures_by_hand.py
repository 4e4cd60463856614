"""Steps back from a function, rows with gaps, and declared domains: each against what is computed by hand."""

from __future__ import annotations

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import IsolationForest, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    KBinsDiscretizer,
    OneHotEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    StandardScaler,
)

from pytest_draft.artifact import read
from pytest_draft.artifact.encoder import Apply, Bin, Power, Quantiles
from pytest_draft.artifact.rules.rule_list import RuleList
from pytest_draft.data import domain_from, granted_by, narrowed, raw_columns, training_data
from pytest_draft.data.decoding import Indicators
from pytest_draft.data.encoding import _is_missing, curved, straightened
from pytest_draft.data.individuals import hundredths, inliers
from pytest_draft.domain import Attribute, Domain, declared
from pytest_draft.facts.rules import ListedRule, Literal
from pytest_draft.timebox import TimeBox

N_ROWS = 90
RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(
    {
        "age": RNG.integers(18, 80, N_ROWS),
        "fare": np.where(np.arange(N_ROWS) % 7, RNG.gamma(2, 20, N_ROWS).round(2), np.nan),
        "town": RNG.choice(["Oslo", "Rome", "Wien"], N_ROWS),
        "kind": "one",
    }
)
LABELS = np.arange(N_ROWS) % 2


@pytest.fixture
def encoded(tmp_path):
    """Return a function that fits transformers before a forest, and returns the encoder and the training data."""

    def fit(*parts, frame=TABLE, then=()):
        columns = make_column_transformer(*parts, sparse_threshold=0)
        model = make_pipeline(columns, *then, RandomForestClassifier(2, random_state=0)).fit(frame, LABELS)
        joblib.dump(model, tmp_path / "model.joblib")
        artifact = read(tmp_path / "model.joblib")
        return artifact.encoder, training_data((frame, LABELS), artifact.forest, None, artifact.encoder)

    return fit


def raw_of(encoder, data):
    return raw_columns(encoder, domain_from(encoder, data.columns, data.rows))


# Functions


@pytest.mark.parametrize("exponent", [-1.5, 0.0, 0.5, 1.0, 2.0, 3.5])
@pytest.mark.parametrize("method", ["yeo-johnson", "box-cox"])
def test_what_a_power_has_made_of_numbers_is_undone(method, exponent):
    values = np.linspace(0.1, 3, 40) if method == "box-cox" else np.linspace(-3, 3, 41)
    step = Power(method, exponent)
    np.testing.assert_allclose(straightened(curved(values, step), step), values, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("normal", [False, True])
def test_shares_come_back_as_the_quantiles_that_they_are_of(normal):
    step = Quantiles(np.array([1.0, 4.0, 10.0, 11.0]), np.linspace(0, 1, 4), normal)
    values = np.array([2.0, 4.0, 7.0, 10.5])
    np.testing.assert_allclose(straightened(curved(values, step), step), values, rtol=1e-6)


@pytest.mark.parametrize("step", [Bin(np.array([1.0, 2.0])), Apply("floor")])
def test_what_loses_numbers_is_left_as_it_is(step):
    values = np.array([0.0, 1.0, 2.0])
    assert straightened(values, step) is values


def test_powers_come_back_as_the_numbers_that_were_written(encoded):
    found = encoded((PowerTransformer(standardize=False), ["age"]), (PowerTransformer("box-cox"), ["age"]))
    table = raw_of(*found).table(found[1].rows)
    assert list(table) == ["age"]
    np.testing.assert_allclose(table["age"], TABLE["age"], rtol=1e-4)


# What is granted


def test_what_a_file_tells_of_its_raw_columns_is_listed_with_its_number(encoded):
    parts = (
        (QuantileTransformer(n_quantiles=20), ["age"]),
        (make_pipeline(SimpleImputer(), KBinsDiscretizer(4, encode="ordinal", strategy="uniform")), ["fare"]),
    )
    lines = granted_by(encoded(*parts)[0])
    assert "the file tells 20 quantiles of age" in lines
    assert "the file tells 3 edges of bins of fare" in lines
    assert "raw columns in which missing values are compared as the forest saw them, filled in: 1" in lines
    assert "the forest does not see 2 of the 4 raw columns: these are not rebuilt" in lines
    assert not any("scales" in line or "products" in line for line in lines)


def test_products_are_said_to_be_columns_of_their_own_and_all_columns_are_seen(encoded):
    frame = TABLE[["age"]].assign(weight=np.linspace(0, 1, N_ROWS))
    lines = granted_by(encoded((StandardScaler(), ["age", "weight"]), frame=frame, then=(PolynomialFeatures(2),))[0])
    assert "columns that are products of others are treated as columns of their own" in lines
    assert "scales of raw columns in the file: 2" in lines
    assert not any("not rebuilt" in line for line in lines)


def test_a_column_of_one_category_is_one_level(encoded):
    found = encoded((OneHotEncoder(), ["kind", "town"]))
    attributes = {one.name: one for one in raw_of(*found).domain.attributes}
    assert (attributes["kind"].kind, attributes["kind"].n_values) == ("ordinal", 1)
    assert attributes["town"].kind == "one-hot"
    assert list(raw_of(*found).table(found[1].rows)["kind"]) == ["one"] * N_ROWS


GROUP = pd.DataFrame(np.eye(3)[RNG.integers(3, size=N_ROWS)], columns=list("abc")).assign(age=TABLE["age"])


def test_a_group_of_the_raw_table_is_one_attribute(encoded):
    found = encoded(("passthrough", ["a", "b", "c", "age"]), frame=GROUP)
    group, age = raw_of(*found).domain.attributes
    assert (group.kind, group.columns) == ("one-hot", (0, 1, 2))
    assert (age.name, age.columns) == ("age", (3,))


def test_what_is_left_of_a_group_is_taken_column_by_column(encoded):
    """The group is of the first encoding of two columns and of the second of the third, which is not rebuilt from."""
    twice = make_column_transformer(("passthrough", [0, 1]), (OneHotEncoder(), [2]), sparse_threshold=0)
    found = encoded((twice, ["a", "b", "c"]), ("passthrough", ["age"]), frame=GROUP)
    encoder, data = found
    domain = domain_from(encoder, data.columns, data.rows)
    names = data.columns
    group = Attribute("abc", "one-hot", (0, 1, 3))
    others = [one for one in domain.attributes if not {0, 1, 3} & set(one.columns)]
    others += [Attribute(names[2], "binary", (2,))] if not any(2 in one.columns for one in others) else []
    made = Domain(names, tuple(sorted([group, *others], key=lambda one: one.columns)), "by hand")
    raw = raw_columns(encoder, made)
    kinds = {one.name: one.kind for one in raw.domain.attributes}
    assert (kinds["a"], kinds["b"], kinds["c"]) == ("binary", "binary", "one-hot")
    assert not raw.domain.outside(raw.rows(data.rows).astype(np.float64))


# Individuals


@pytest.mark.nightly
def test_a_gap_is_the_median_and_one_more_column():
    rows = RNG.normal(size=(60, 3)).astype(np.float32)
    rows[::9, 1] = np.nan
    rows[:, 2] = np.nan
    filled, gaps = rows.copy(), np.isnan(rows)[:, 1:]
    filled[::9, 1] = np.nanmedian(rows[:, 1])
    filled[:, 2] = 0
    seen = np.hstack([filled, gaps]).astype(np.float32)
    score = IsolationForest(random_state=0).fit(seen).decision_function(seen)
    np.testing.assert_array_equal(inliers(rows, TimeBox(60)), score > 0)


def test_hundredths_are_figures_that_there_are():
    figures = np.arange(1000.0)[::-1]
    found = hundredths(figures)
    assert len(found) == 101
    assert (found[0], found[50], found[100]) == (0.0, 499.0, 999.0)
    assert hundredths(np.array([3.5])) == (3.5,) * 101


# Declared beside inferred


@pytest.mark.parametrize(
    ("entry", "values"),
    [
        ({"kind": "ordinal", "low": 0, "high": 10_000}, None),
        ({"kind": "ordinal", "values": [1, 3, 700, 9999]}, (3, 700)),
    ],
    ids=["range", "book"],
)
def test_declared_codes_of_a_column_that_looks_like_numbers_are_within_what_occurs(entry, values):
    rows = np.tile([3, 700], 40).reshape(-1, 1).astype(np.float32)
    inferred = Domain(("a",), (Attribute("a", "numeric", (0,), 3.0, 700.0),), "inferred")
    (found,) = narrowed(declared(("a",), {"a": entry}, "domain.toml"), inferred, rows).domain.attributes
    assert (found.kind, found.low, found.high, found.values) == ("ordinal", 3, 700, values)


# Indicators and gaps


def test_rules_capture_the_same_rows_by_indicators_as_by_what_is_written():
    written = np.array([[-1, 5, 3], [1, 7, 4], [1, 5, 5], [-1, 7, 6]], np.float32)
    rules = tuple(ListedRule((Literal(column, 0.5, high),), column) for column, high in ((0, 2.0), (1, 6.0), (2, 4.5)))
    model = RuleList("rule list", (*rules, ListedRule((), 0)), ("a", "b", "c"), 3, (0, 1, 2))
    indicators = Indicators.of(written)
    assert indicators.columns.tolist() == [0, 1]
    found = indicators.model(model).captured(indicators.rows(written).astype(np.float64))
    assert found.tolist() == model.captured(written.astype(np.float64)).tolist() == [1, 0, 0, 3]
    assert Indicators.none().model(model) is model


def test_numbers_are_no_gap_that_is_written_as_a_text():
    assert _is_missing(np.array([1.0, np.nan]), "?").tolist() == [False, False]
    assert _is_missing(np.array(["?", "b"], object), "?").tolist() == [True, False]
    assert _is_missing(np.array([1.0, np.nan]), None).tolist() == [False, True]
