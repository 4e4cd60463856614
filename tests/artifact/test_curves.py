"""Transformers that put numbers through a function contradict themselves, or hold what is not covered."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    OneHotEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
)

from pytest_draft.artifact import read
from pytest_draft.errors import CorruptArtifactError

N_ROWS = 40


@pytest.fixture(scope="module")
def table():
    random = np.random.RandomState(0)
    return pd.DataFrame({"age": random.randint(18, 80, N_ROWS), "fare": random.gamma(2, 20, N_ROWS).round(2)})


def fitted(table, *steps):
    return make_pipeline(*map(clone, steps), RandomForestClassifier(2, random_state=0)).fit(
        table, np.arange(N_ROWS) % 2
    )


def edges(*columns):
    array = np.empty(len(columns), dtype=object)
    array[:] = [np.array(column) for column in columns]
    return array


POWER, QUANTILES, BINS = PowerTransformer(), QuantileTransformer(n_quantiles=3), KBinsDiscretizer(2, encode="ordinal")
CORRUPT = {
    "a power of another method": (POWER, "method", "cube-root", "method is not one of"),
    "a power without its scaler": (POWER, "_scaler", None, "_scaler is missing"),
    "another scaler": (POWER, "_scaler", MaxAbsScaler(), "_scaler is missing"),
    "another distribution": (QUANTILES, "output_distribution", "cauchy", "output_distribution is not one of"),
    "a quantile more": (QUANTILES, "quantiles_", np.zeros((4, 2)), "a number for each reference and column"),
    "whole quantiles": (QUANTILES, "quantiles_", np.zeros((3, 2), int), "a number for each reference and column"),
    "no references": (QUANTILES, "references_", np.zeros(0), "a number for each reference and column"),
    "another encoding": (BINS, "encode", "hash", "encode is not one of"),
    "edges of one column": (BINS, "bin_edges_", edges([0.0, 1.0, 2.0], [0.0])[:1], "the edges of each column"),
    "edges that are no array": (BINS, "bin_edges_", [[0.0, 1.0, 2.0]] * 2, "the edges of each column"),
    "falling edges": (BINS, "bin_edges_", edges([2.0, 1.0, 0.0], [0.0, 1.0]), "bin_edges_[0] are not the edges"),
    "an edge too few": (BINS, "bin_edges_", edges([0.0, 1.0, 2.0], [0.0, 1.0]), "bin_edges_[1] are not the edges"),
    "an edge that is no number": (BINS, "bin_edges_", edges([0.0, np.nan, 2.0], [0.0]), "bin_edges_[0] are not"),
    "a largest of 0": (MaxAbsScaler(), "scale_", np.array([1.0, 0.0]), "scale_ has a 0"),
}


@pytest.mark.parametrize(("step", "attribute", "value", "words"), CORRUPT.values(), ids=CORRUPT)
def test_a_function_that_contradicts_itself_is_corrupt(step, attribute, value, words, table, dump):
    model = fitted(table, step)
    assert read(dump(model)).not_covered is None
    vars(model[0])[attribute] = value
    with pytest.raises(CorruptArtifactError) as caught:
        read(dump(model))
    message = str(caught.value)
    assert words in message
    assert message.isascii()
    assert message.isprintable()


@pytest.mark.parametrize(
    ("steps", "change", "words"),
    [
        ([FunctionTransformer(np.log1p, kw_args={"casting": "same_kind"})], None, "FunctionTransformer with kw_args"),
        ([QUANTILES], lambda model: model[0].quantiles_.fill(np.nan), "quantiles_ are not finite"),
        ([OneHotEncoder(), QuantileTransformer(n_quantiles=3, ignore_implicit_zeros=True)], None, "of a sparse matrix"),
        ([OneHotEncoder(), PolynomialFeatures(1)], None, "PolynomialFeatures of a sparse matrix"),
    ],
    ids=["arguments", "no quantiles", "sparse quantiles", "sparse products"],
)
def test_what_is_not_covered_is_named(steps, change, words, table, dump):
    model = fitted(table[["age"]], *steps)
    if change:
        change(model)
    assert words in read(dump(model)).not_covered


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_type_that_bins_are_given_is_theirs(dtype, table, dump):
    model = fitted(table, KBinsDiscretizer(2, encode="ordinal", dtype=dtype, quantile_method="linear"))
    (together, *_), *_ = (column.steps for column in read(dump(model)).encoder.columns)
    assert together.types == (np.dtype(dtype).name,)


def test_a_scale_by_the_largest_value_can_be_clipped(table, dump):
    model = fitted(table, MaxAbsScaler())
    assert [column.steps[-1].clip for column in read(dump(model)).encoder.columns] == [None, None]
    model[0].clip = True
    assert [column.steps[-1].clip for column in read(dump(model)).encoder.columns] == [(-1.0, 1.0)] * 2
