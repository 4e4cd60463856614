"""Forests that release labels: the mechanism, the posterior against enumeration, and what is told of the file."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from itertools import permutations, product

import numpy as np
import pytest

from pytest_draft.artifact import Forest, Tree
from pytest_draft.artifact.forest.draws import Draws
from pytest_draft.artifact.forest.observations import ClassCounts, under
from pytest_draft.attack.private import noisy_counts
from pytest_draft.attack.private.labels import (
    LABELS,
    LabelEvidence,
    build_labels,
    likelihood_of_rows,
    reveals,
    seen_by,
)
from pytest_draft.attack.private.noisy_counts import rebuild_from_noise
from pytest_draft.attack.search import Search
from pytest_draft.attack.walk import mixture, posterior
from pytest_draft.attack.walk.chain import RowChain
from pytest_draft.domain import Attribute, Domain
from pytest_draft.errors import NotCoveredError
from pytest_draft.facts.privacy import Privacy
from pytest_draft.timebox import TimeBox

TWO = Domain(("a", "b"), (Attribute("a", "binary", (0,)), Attribute("b", "binary", (1,))), "test")
THREE = Domain(
    ("kind_x", "kind_y", "kind_z", "level", "flag"),
    (
        Attribute("kind", "one-hot", (0, 1, 2)),
        Attribute("level", "ordinal", (3,), 1.0, 2.0),
        Attribute("flag", "binary", (4,)),
    ),
    "test",
)


def tree(nodes, n_classes):
    """Return a tree from (column, threshold) or a label by node, children in the order of a heap."""
    n = len(nodes)
    label = np.array([node if isinstance(node, int) else -1 for node in nodes])
    inner = label < 0
    value = np.zeros((n, n_classes))
    value[~inner, label[~inner]] = 1.0
    place = np.arange(n)
    return Tree(
        left=np.where(inner, 2 * place + 1, -1),
        right=np.where(inner, 2 * place + 2, -1),
        feature=np.array([-1 if isinstance(node, int) else node[0] for node in nodes]),
        threshold=np.array([-2.0 if isinstance(node, int) else node[1] for node in nodes]),
        missing_left=np.zeros(n, dtype=bool),
        value=value,
        weight=np.zeros(n),
        n_distinct=np.zeros(n, dtype=np.int64),
        seed=None,
    )


def forest_of(*trees, epsilon=1.0, n_classes=2, n_features=2, broken_by=(), **parameters):
    """Return a forest of labels as its file would describe it."""
    return Forest(
        kind="RandomForestClassifier",
        trees=trees,
        n_features=n_features,
        feature_names=None,
        classes=tuple(range(n_classes)),
        draws=Draws(),
        n_samples=None,
        sklearn_version=None,
        parameters=parameters,
        observation=under(Privacy("permute-and-flip", epsilon, broken_by=broken_by)),
    )


STUMPS = (tree([(0, 0.5), 1, 0], 2), tree([(1, 0.5), (0, 0.5), 1, 0, 1], 2))
MIXED = (tree([(1, 0.5), (3, 1.5), 2, 1, 0], 3), tree([(4, 0.5), (0, 0.5), 0, 1, 2], 3))
INSTANCES = {
    "two trees, an epsilon of 1": (forest_of(*STUMPS), TWO, 3),
    "two trees, an epsilon of 30": (forest_of(*STUMPS, epsilon=30.0), TWO, 3),
    "one tree": (forest_of(STUMPS[1], epsilon=3.0), TWO, 3),
    "three classes, one-hot and ordinal": (
        forest_of(*MIXED, epsilon=2.0, n_classes=3, n_features=5),
        THREE,
        2,
    ),
}


def log_probability(scores, label, epsilon):
    """Return the engine's log-probability of labels."""
    evidence, rows = LabelEvidence.of(label, epsilon, scores.shape[1]), np.ravel(scores).astype(np.float64)
    return np.array([evidence.score(evidence, rows, leaf, scores.shape[1]) for leaf in range(len(label))])


def by_permutations(scores, epsilon):
    """Return the exact chance of each label: every order of the candidates, each one tossed in turn."""
    chance = np.exp(-epsilon * (max(scores) - np.array(scores)))
    found = np.zeros(len(scores))
    for order in permutations(range(len(scores))):
        left = 1.0
        for candidate in order:
            found[candidate] += left * chance[candidate]
            left *= 1 - chance[candidate]
    return found / math.factorial(len(scores))


@pytest.mark.nightly
@pytest.mark.parametrize("scores", [(0,), (4, 4), (5, 2), (0, 0, 0), (3, 1, 2), (7, 7, 0, 6), (1, 0, 3, 3, 2, 0)])
@pytest.mark.parametrize("epsilon", [0.01, 0.7, 3.0, 20.0])
def test_label_probabilities_are_those_of_all_orders(scores, epsilon):
    every = np.arange(len(scores))
    value = log_probability(np.tile(np.array(scores), (len(scores), 1)), every, epsilon)
    assert np.exp(value) == pytest.approx(by_permutations(scores, epsilon), rel=1e-12, abs=0)
    assert math.fsum(np.exp(value)) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("n_classes", [2, 17, 60])
def test_many_classes_and_large_counts_stay_exact(n_classes):
    scores = np.zeros((n_classes, n_classes), dtype=np.int64)
    even = log_probability(scores, np.arange(n_classes), 1.0)
    assert even == pytest.approx(-math.log(n_classes), rel=1e-12)
    scores[:, 0] = 100_000
    value = log_probability(scores, np.arange(n_classes), 50.0)
    assert value[0] == pytest.approx(0.0, abs=1e-12)
    assert value[1:] == pytest.approx(-5_000_000 - math.log(2), rel=1e-12)


def test_label_probabilities_are_diffprivlibs():
    mechanisms = pytest.importorskip("diffprivlib.mechanisms")
    random, scores, n_draws = np.random.RandomState(0), [3, 1, 2], 20_000
    mechanism = mechanisms.PermuteAndFlip(
        epsilon=0.8, sensitivity=1, monotonic=True, utility=scores, random_state=random
    )
    share = np.bincount([mechanism.randomise() for _ in range(n_draws)], minlength=3) / n_draws
    expected = np.exp(log_probability(np.tile(np.array(scores), (3, 1)), np.arange(3), 0.8))
    assert np.abs(share - expected).max() < 5 * math.sqrt(0.25 / n_draws)


def at_leaf(nodes, row):
    """Return the position of a row's leaf among a tree's leaves."""
    node = 0
    while nodes.left[node] >= 0:
        below = row[nodes.feature[node]] <= nodes.threshold[node]
        node = nodes.left[node] if below else nodes.right[node]
    return int(np.searchsorted(nodes.leaves, node))


def urn(drawn, prior):
    """Return the chance of a sequence of draws from a Polya urn."""
    held, chance = dict(prior), 1.0
    for value in drawn:
        chance *= held[value] / sum(held.values())
        held[value] += 1
    return chance


def prior_of(dataset, domain, n_classes):
    """Return the chance of at most three rows under the mixture, whose components are the urns of its rows."""
    urns = []
    for attribute in domain.attributes:
        odds = [1.0, mixture.INDICATOR_ODDS] if attribute.kind == "binary" else [1.0] * attribute.n_values
        worth = 2 if attribute.kind == "binary" else attribute.n_values
        urns.append({k: worth * o / sum(odds) for k, o in enumerate(odds)})
    urns.append(dict.fromkeys(range(n_classes), 1.0))
    total, components = 0.0, range(mixture.COMPONENTS)
    for component in {(0,) * len(dataset), (0, 0, 1), (0, 1, 0), (0, 1, 1), (0, 1, 2), (0, 1)}:
        if len(component) == len(dataset):
            chance = urn(component, dict.fromkeys(components, mixture.CONCENTRATION / mixture.COMPONENTS))
            chance *= math.perm(mixture.COMPONENTS, len(set(component)))
            for c in set(component):
                mine = [row for row, k in zip(dataset, component, strict=True) if k == c]
                chance *= math.prod(urn([row[a] for row in mine], prior) for a, prior in enumerate(urns))
            total += chance
    return total


def enumerated(forest, domain, n_rows):
    """Yield every dataset, as value and class by row, its rows, its likelihood, and its unnormalised posterior."""
    n_values = [attribute.n_values for attribute in domain.attributes]
    everyone = list(product(*map(range, n_values), range(forest.n_classes)))
    parts = seen_by(n_rows, forest.n_trees).argmax(axis=1)
    for dataset in product(everyone, repeat=n_rows):
        encoded, chance = domain.encoded(np.array([row[:-1] for row in dataset])), 1.0
        for t, nodes in enumerate(forest.trees):
            counts = np.zeros((len(nodes.leaves), forest.n_classes), dtype=int)
            for i in np.flatnonzero(parts == t):
                counts[at_leaf(nodes, encoded[i]), dataset[i][-1]] += 1
            for scores, label in zip(counts, forest.released(t).argmax(axis=1), strict=True):
                chance *= by_permutations(tuple(scores), forest.observation.privacy.epsilon)[label]
        yield dataset, encoded, chance, chance * prior_of(dataset, domain, forest.n_classes)


@pytest.mark.nightly(quick=2)
@pytest.mark.parametrize("name", INSTANCES)
def test_the_log_likelihood_is_that_of_enumeration(name):
    forest, domain, n_rows = INSTANCES[name]
    problem = build_labels(forest, domain, n_rows)
    chosen = np.random.default_rng(0).permutation(list(range((domain.n_vectors * forest.n_classes) ** n_rows)))[:40]
    for i, (dataset, encoded, chance, _) in enumerate(enumerated(forest, domain, n_rows)):
        if i in chosen:
            labels = np.array([row[-1] for row in dataset])
            expected = pytest.approx(math.log(chance), rel=1e-10)
            at_leaves = problem.model.rows_at_leaves(problem.indices(encoded), labels, problem.seen)
            assert problem.model.total(at_leaves) == expected
            assert likelihood_of_rows(forest, problem, encoded, labels) == expected


@pytest.mark.nightly
@pytest.mark.parametrize("name", INSTANCES)
def test_sampled_datasets_are_as_frequent_as_their_posterior(name):
    forest, domain, n_rows = INSTANCES[name]
    exact = {dataset: chance for dataset, _, _, chance in enumerated(forest, domain, n_rows)}
    total = math.fsum(exact.values())
    chain = RowChain(build_labels(forest, domain, n_rows), n_rows, [0])
    found, n_samples = Counter(), 3_000
    for _ in range(n_samples):
        chain.sweep(5, 1.0, 1.0)
        found[tuple(map(tuple, np.column_stack(chain.dataset).tolist()))] += 1
    assert set(found) <= set(exact)
    # Each row's own class and values, which many datasets share, so that chance is small.
    for i in range(n_rows):
        shares, drawn = Counter(), Counter()
        for dataset, chance in exact.items():
            shares[dataset[i]] += chance / total
        for dataset, times in found.items():
            drawn[dataset[i]] += times / n_samples
        assert max(abs(shares[row] - drawn[row]) for row in shares) < 0.03
    # Whole datasets.
    for dataset in sorted(exact, key=exact.get, reverse=True)[:20]:
        share = exact[dataset] / total
        assert abs(found[dataset] / n_samples - share) < 0.003 + 6 * math.sqrt(share / n_samples)


def deep(domain, n_trees, depth, seed):
    """Return a forest of complete trees on random columns, with random labels."""
    rng = np.random.default_rng(seed)
    low, high = np.zeros(domain.n_columns), np.ones(domain.n_columns)
    low[3], high[3] = 1.0, 2.0
    trees = []
    for _ in range(n_trees):
        inner = []
        for column in rng.integers(domain.n_columns, size=2**depth - 1):
            inner.append((int(column), float(rng.uniform(low[column], high[column]))))
        trees.append(tree([*inner, *rng.integers(2, size=2**depth).tolist()], 2))
    return forest_of(*trees, epsilon=5.0, n_features=domain.n_columns)


def same(one, other):
    """Return whether two reconstructions are equal."""
    arrays = all((getattr(one, name) == getattr(other, name)).all() for name in ("rows", "consistent", "labels"))
    return arrays and one.log_posterior == other.log_posterior


def rebuilt(forest, domain, n_rows, effort=0.3, **changes):
    return rebuild_from_noise(
        build_labels(forest, domain, n_rows), Search(TimeBox(600, effort=effort), **changes), LABELS
    )


@pytest.mark.nightly
def test_a_reconstruction_is_complete_and_repeatable_whatever_the_threads():
    forest = deep(THREE, 4, 4, seed=1)
    first, again, elsewhere = (rebuilt(forest, THREE, 22, seed=3, workers=workers) for workers in (1, 1, 2))
    assert same(first, again)
    assert same(first, elsewhere)
    assert first.status == "likeliest"
    assert not first.cut_short
    assert first.rows.shape == first.consistent.shape == (22, 5)
    assert first.labels.shape == (22,)
    assert first.free.all()
    assert first.free.shape == (22, 3)
    assert first.residual is None
    assert not first.ordered
    assert not THREE.outside(first.rows.astype(float))
    own = likelihood_of_rows(forest, build_labels(forest, THREE, 22), first.consistent, first.labels)
    assert own == pytest.approx(first.log_likelihood, rel=1e-10)
    assert not same(first, rebuilt(forest, THREE, 22, seed=4))
    assert "array" not in repr(first)


@pytest.mark.nightly
def test_more_rows_than_a_consensus_takes_still_give_a_dataset(monkeypatch):
    monkeypatch.setattr(posterior, "MOST_ROWS", 10)
    assert rebuilt(deep(THREE, 2, 2, seed=0), THREE, 11).rows.shape == (11, 5)


def test_an_attack_without_time_has_no_rows_and_one_with_little_has_not_converged():
    forest = deep(THREE, 3, 3, seed=2)
    over = Search(TimeBox(1.0, clock=iter([0.0, *[9.0] * 99]).__next__))
    assert rebuild_from_noise(build_labels(forest, THREE, 9), over, LABELS).rows is None
    cut = rebuilt(forest, THREE, 9, effort=1e-4)
    assert cut.cut_short
    assert cut.status == "not converged"
    assert cut.rows.shape == (9, 5)


@pytest.mark.nightly
def test_chains_that_disagree_have_not_converged(monkeypatch):
    def drawn(*given):
        return replace(posterior.sample_posterior(*given), agreeing=(3, 4))

    monkeypatch.setattr(noisy_counts, "sample_posterior", drawn)
    found = rebuilt(deep(THREE, 2, 2, seed=0), THREE, 11)
    assert (found.status, found.cut_short) == ("not converged", True)


def test_rows_are_dealt_out_by_diffprivlibs_rule():
    assert seen_by(10, 3).argmax(axis=1).tolist() == [0, 0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert seen_by(2, 3).tolist() == [[True, False, False], [False, True, False]]


@pytest.mark.nightly
def test_trees_without_rows_and_leaves_without_vectors_are_possible():
    nowhere = tree([(0, 0.5), (0, 0.7), 1, 0, 1], 2)  # nothing below 0.5 is above 0.7
    assert rebuilt(forest_of(nowhere, *STUMPS), TWO, 2).rows.shape == (2, 2)


@pytest.mark.nightly
def test_trees_share_what_their_labels_tell_of_the_population():
    # All trees but the last say that a one in the first column goes with class 0; the last one doesn't test it.
    told = [tree([(0, 0.5), 1, 0], 2) for _ in range(12)]
    problem = build_labels(forest_of(*told, tree([(1, 0.5), 0, 1], 2), epsilon=50.0), TWO, 130)
    chain, of_class = RowChain(problem, 130, [1]), np.zeros((2, 2))
    for i in range(400):
        chain.sweep(1, 1.0, 1.0)
        value, label = chain.dataset
        if i >= 100:
            np.add.at(of_class, (label[problem.seen[:, 12]], value[problem.seen[:, 12], 0]), 1)
    share = of_class[:, 1] / of_class.sum(axis=1)
    assert share[0] > share[1] + 0.1


def test_numeric_attributes_and_unknown_dealing_are_refused():
    numeric = Domain(("a", "b"), (TWO.attributes[0], Attribute("b", "numeric", (1,), 0.0, 9.0)), "test")
    with pytest.raises(NotCoveredError, match="numeric"):
        build_labels(forest_of(*STUMPS), numeric, 3)
    with pytest.raises(NotCoveredError, match="warm_start"):
        build_labels(forest_of(*STUMPS, warm_start=True), TWO, 3)


def test_what_a_file_reveals_is_said_in_aggregates():
    lines = reveals(forest_of(*STUMPS, epsilon=2.5, broken_by=("the seeds replay it",)))
    assert "5 leaves in 2 trees" in lines[0]
    assert "at most 5 bits" in lines[0]
    assert "epsilon of 2.5" in lines[1]
    assert "one in 2" in lines[2]
    assert lines[3:] == ("the seeds replay it",)


def test_a_forest_of_counts_is_never_mistaken_for_one_of_labels():
    counts = Privacy("laplace", 1.0, scale=2.0, rounding="sum")
    exact = Privacy("permute-and-flip", 1.0, exact=True)
    for observation in (under(counts), under(exact), ClassCounts("totals")):
        other = replace(forest_of(*STUMPS), observation=observation)
        with pytest.raises(ValueError, match="does not release labels"):
            build_labels(other, TWO, 3)
