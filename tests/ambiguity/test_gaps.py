"""Thresholds that tell gaps only are told from midpoints of values."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from pytest_draft.ambiguity.gaps import thresholds_only_mark_gaps
from pytest_draft.domain import Attribute, Domain
from pytest_draft.hardening.model import hardened
from studies.files import through_file

DOMAIN = Domain(("a", "b"), tuple(Attribute(name, "numeric", (c,), 0.0, 99.0) for c, name in enumerate("ab")), "made")


def trained(rows: np.ndarray, depth: int | None = None) -> RandomForestClassifier:
    labels = (rows.sum(axis=1) > np.median(rows.sum(axis=1))).astype(int)
    return RandomForestClassifier(5, max_depth=depth, random_state=0).fit(rows, labels)


@pytest.mark.parametrize("seed", range(3))
def test_midpoints_tell_more_than_gaps_and_the_shortest_decimals_do_not(seed):
    rows = np.random.default_rng(seed).uniform(0, 99, (60, 2)).round(2).astype(np.float32)
    model = trained(rows)
    assert not thresholds_only_mark_gaps(through_file(model), DOMAIN, rows)
    assert thresholds_only_mark_gaps(through_file(hardened(model, "counts", rows)[0]), DOMAIN, rows)


def test_one_midpoint_is_enough():
    rows = np.random.default_rng(0).uniform(0, 99, (60, 2)).round(2).astype(np.float32)
    model = trained(rows)
    written = hardened(model, "counts", rows)[0]
    written.estimators_[2].tree_.threshold[0] = model.estimators_[2].tree_.threshold[0]
    assert not thresholds_only_mark_gaps(through_file(written), DOMAIN, rows)


@pytest.mark.parametrize("n_values", [5, 90])
def test_whole_numbers_close_together_could_be_midpoints_and_do_not_count(n_values):
    rows = np.random.default_rng(0).integers(0, n_values, (400, 2)).astype(np.float32)
    assert not thresholds_only_mark_gaps(through_file(trained(rows, depth=2)), DOMAIN, rows)


def test_other_rows_do_not_have_these_gaps():
    rng = np.random.default_rng(0)
    rows, others = (rng.uniform(0, 99, (60, 2)).round(2).astype(np.float32) for _ in range(2))
    assert not thresholds_only_mark_gaps(through_file(hardened(trained(rows), "counts", rows)[0]), DOMAIN, others)


def test_thresholds_that_are_not_there_tell_nothing():
    rows = np.random.default_rng(0).uniform(0, 99, (60, 2)).round(2).astype(np.float32)
    labels = np.zeros(60, dtype=int)
    labels[0] = 1
    model = RandomForestClassifier(2, max_leaf_nodes=2, min_samples_leaf=40, random_state=0).fit(rows, labels)
    assert thresholds_only_mark_gaps(through_file(model), DOMAIN, rows)
