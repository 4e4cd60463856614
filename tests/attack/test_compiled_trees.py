"""Trees over the ordered values of attributes: each node parts them as it parts the encoded rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_draft.artifact.forest.nodes import ForestNodes
from pytest_draft.attack.compiled_trees import binned, cuts_of, ends_of
from pytest_draft.domain import Attribute
from tests.shared.small_models import domain_of, random_domain, random_tree, tree_of


def drawn(seed):
    """Return a domain, some trees and their cuts; thresholds also beside all values."""
    rng = np.random.default_rng(seed)
    domain = random_domain(rng)
    rows = domain.vectors()
    trees = [random_tree(domain, rows[rng.integers(0, len(rows), 20)], rng) for _ in range(3)]
    columns = rng.integers(0, domain.n_columns, 4).tolist()
    trees += [tree_of([(c, float(rng.choice([-9.5, -0.5, 0.5, 1.0, 9.5])), 1, 2), None, None]) for c in columns]
    nodes = ForestNodes.of(trees)
    return domain, nodes, *cuts_of(nodes, domain, ends_of(domain))


def sides(cut, n_values):
    values = np.arange(n_values)
    return values < cut if cut >= 0 else values != -1 - cut


@given(st.integers(0, 10_000))
def test_a_value_goes_where_its_encoded_column_goes(seed):
    domain, nodes, attribute, cut = drawn(seed)
    for node in range(len(cut)):
        if nodes.left[node] < 0:
            assert (attribute[node], cut[node]) == (-1, 0)
            continue
        made = domain.attributes[attribute[node]]
        column = made.encoded(np.arange(made.n_values))[:, domain.place_of_column[nodes.feature[node]]]
        assert (sides(cut[node], made.n_values) == (column <= nodes.threshold[node])).all()


@given(st.integers(0, 10_000))
def test_bins_hold_the_values_that_every_node_sends_to_the_same_side(seed):
    domain, _, attribute, cut = drawn(seed)
    sizes = np.array([made.n_values for made in domain.attributes])
    bin_of, coarser = binned(attribute, cut, sizes)
    for a, (bins, size) in enumerate(zip(bin_of, sizes, strict=True)):
        tests = np.flatnonzero(attribute == a)
        way = np.array([sides(cut[node], size) for node in tests]).reshape(len(tests), size)
        assert sorted(set(bins)) == list(range(bins.max() + 1))
        for v in range(size):
            for w in range(size):
                assert (bins[v] == bins[w]) == (way[:, v] == way[:, w]).all()
        for node, left in zip(tests, way, strict=True):
            assert (sides(coarser[node], bins.max() + 1)[bins] == left).all()


def test_a_threshold_in_single_precision_parts_values_as_the_forest_does():
    domain = domain_of(Attribute("a", "ordinal", (0,), 0.1, 0.3, False, (0.1, 0.2, 0.3)))
    at = float(np.float32(0.2))
    trees = [tree_of([(0, threshold, 1, 2), None, None]) for threshold in (at, np.nextafter(at, 0), np.inf)]
    _, cut = cuts_of(ForestNodes.of(trees), domain, ends_of(domain))
    assert cut[[0, 3, 6]].tolist() == [2, 1, 3]


@pytest.mark.parametrize("cut", [-4, -1, 0, 2, 5])
def test_a_cut_is_how_many_go_left_or_who_does_not(cut):
    assert sides(cut, 5).tolist() == [value < cut if cut >= 0 else value != -1 - cut for value in range(5)]
