"""How likely counts and distinct rows are, against enumeration of every bootstrap sample and exact whole numbers."""

from __future__ import annotations

import math
from collections import Counter
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import gammaln

from leaf_ways import left_out, stirling, ways
from profiles import examples
from pytest_draft.attack.counts import occupancy
from pytest_draft.attack.counts.occupancy import MISSING, MOST_DRAWS, LeafDraws, log_stirling, pull, push, sweep_rows


def multinomial(counts):
    """Return in how many orders the draws can have come."""
    return math.factorial(int(counts.sum())) // math.prod(math.factorial(n) for n in counts.ravel().tolist())


def samples(place, n_draws, shape, *, replacement=True):
    """Return how many ordered samples give each pair of counts and distinct rows, as nested tuples."""
    found = Counter()
    orders = product(range(len(place)), repeat=n_draws) if replacement else permutations(range(len(place)), n_draws)
    for order in orders:
        counts, distinct = np.zeros(shape, int), np.zeros(shape[0], int)
        for row in order:
            counts[place[row]] += 1
        for row in set(order):
            distinct[place[row][0]] += 1
        found[tuple(map(tuple, counts.tolist())), tuple(distinct.tolist())] += 1
    return found


def thinkable(n_draws, shape):
    """Return all counts and distinct rows that so many draws give on some dataset, however large."""
    size = shape[0] * shape[1]
    for cut in product(range(n_draws + 1), repeat=size - 1):
        if sum(cut) <= n_draws:
            counts = np.array([*cut, n_draws - sum(cut)]).reshape(shape)
            ranges = [range(int((n > 0).sum()), int(n.sum()) + 1) for n in counts]
            for distinct in product(*ranges):
                yield tuple(map(tuple, counts.tolist())), distinct


def drawn(counts, distinct, n_rows):
    """Return the draws of one tree."""
    used = None if distinct is None else (np.array(distinct, dtype=np.int64),)
    return LeafDraws.of((np.array(counts, dtype=np.int64),), used, n_rows)


PLACES = {
    "one class": [(0, 0), (0, 0), (0, 0), (1, 0), (1, 0)],
    "two classes at a leaf": [(0, 0), (0, 0), (0, 1), (0, 1), (1, 0)],
    "two classes at both leaves": [(0, 0), (0, 1), (0, 1), (1, 0), (1, 1)],
    "three classes": [(0, 0), (0, 0), (0, 1), (0, 2), (1, 2)],
    "three classes at a root": [(0, 0), (0, 1), (0, 1), (0, 2), (0, 2)],
    "one row": [(0, 1)],
}


@pytest.mark.parametrize("name", PLACES)
@pytest.mark.parametrize("n_draws", [1, 3, 4])
def test_probabilities_are_the_shares_of_all_bootstrap_samples(name, n_draws):
    place = PLACES[name]
    shape = (1 + max(leaf for leaf, _ in place), 1 + max(c for _, c in place))
    rows = np.zeros(shape, dtype=np.int64)
    np.add.at(rows, tuple(np.transpose(place)), 1)
    found = samples(place, n_draws, shape)
    assert sum(found.values()) == len(place) ** n_draws
    empty_leaves = 0
    for counts, distinct in thinkable(n_draws, shape):
        draws = drawn(counts, distinct, len(place))
        times = found[counts, distinct]
        table = np.array(counts)
        empty_leaves += int((table.sum(axis=1) == 0).any() and times > 0)
        assert (draws.missing(rows) == 0) == (times > 0)
        if not times:
            assert draws.log_likelihood(rows) == -math.inf
            continue
        constant = math.log(multinomial(table) * left_out(table, np.array(distinct)))
        assert draws.log_likelihood(rows) + constant == pytest.approx(math.log(times), abs=1e-9)
    assert empty_leaves or shape[0] == 1


@pytest.mark.parametrize("name", PLACES)
def test_without_distinct_rows_it_is_the_multinomial(name):
    place, n_draws = PLACES[name], 4
    shape = (1 + max(leaf for leaf, _ in place), 1 + max(c for _, c in place))
    rows = np.zeros(shape, dtype=np.int64)
    np.add.at(rows, tuple(np.transpose(place)), 1)
    found = Counter()
    for (counts, _), times in samples(place, n_draws, shape).items():
        found[counts] += times
    for counts in {counts for counts, _ in thinkable(n_draws, shape)}:
        draws = drawn(counts, None, len(place))
        assert (draws.missing(rows) == 0) == (found[counts] > 0)
        if found[counts]:
            expected = math.log(found[counts]) - math.log(multinomial(np.array(counts)))
            assert draws.log_likelihood(rows) == pytest.approx(expected, abs=1e-9)
        else:
            assert draws.log_likelihood(rows) == -math.inf


@pytest.mark.parametrize("name", PLACES)
def test_samples_without_replacement_are_covered_by_the_distinct_rows(name):
    place = PLACES[name]
    n_draws = min(3, len(place))
    shape = (1 + max(leaf for leaf, _ in place), 1 + max(c for _, c in place))
    rows = np.zeros(shape, dtype=np.int64)
    np.add.at(rows, tuple(np.transpose(place)), 1)
    found = samples(place, n_draws, shape, replacement=False)
    for counts, distinct in thinkable(n_draws, shape):
        table = np.array(counts)
        if not np.array_equal(table.sum(axis=1), distinct):
            continue
        value = drawn(counts, distinct, len(place)).log_likelihood(rows)
        hypergeometric = math.prod(math.comb(s, n) for s, n in zip(rows.ravel().tolist(), table.ravel(), strict=True))
        assert found[counts, distinct] == hypergeometric * math.factorial(n_draws)
        if hypergeometric:
            assert value + math.log(multinomial(table)) == pytest.approx(math.log(found[counts, distinct]), abs=1e-9)
        else:
            assert value == -math.inf


@st.composite
def leaves(draw, most=25):
    """A leaf's rows, draws of them, and distinct rows, as tuples; impossible ones among them."""
    n_classes = draw(st.integers(1, 4))
    rows = draw(st.tuples(*[st.integers(0, most)] * n_classes))
    counts = draw(st.tuples(*[st.integers(0, most // n_classes)] * n_classes))
    distinct = draw(st.integers(sum(n > 0 for n in counts), sum(counts)))
    return rows, counts, distinct


@settings(max_examples=examples(200), deadline=None, derandomize=True)
@given(leaf=leaves())
def test_large_leaves_agree_with_exact_whole_numbers(leaf):
    rows, counts, distinct = leaf
    draws = drawn([counts], [distinct], max(sum(rows), 1))
    number = ways(*leaf)
    value = draws.log_likelihood(np.array([rows], dtype=np.int64))
    assert (draws.missing(np.array([rows])) == 0) == (number > 0)
    if not number:
        assert value == -math.inf
        return
    constant = left_out(np.array([counts]), [distinct])
    assert value == pytest.approx(math.log(number) - math.log(constant), rel=1e-11, abs=1e-9)


def test_trees_and_leaves_add_up():
    first, second = np.array([[3, 1], [0, 4]]), np.array([[3, 5]])
    rows = [np.array([[4, 2], [1, 3]]), np.array([[5, 5]])]
    whole = LeafDraws.of((first, second), (np.array([3, 2]), np.array([6])), 10)
    parts = [drawn(first, [3, 2], 10), drawn(second, [6], 10)]
    assert whole.start.tolist() == [0, 2, 3]
    assert whole.n_classes == 2
    total = sum(part.log_likelihood(table) for part, table in zip(parts, rows, strict=True))
    assert whole.log_likelihood(np.concatenate(rows)) == pytest.approx(total, rel=1e-12)


def test_the_terms_of_a_row_are_those_of_its_leaves_in_all_trees():
    few, many = [[200, 0, 0], [0, 200, 200]], [[200, 200, 200]]
    first, second = drawn(few, [120, 300], 900), drawn(many, [400], 900)
    whole = LeafDraws.of((*map(np.array, (few, many)),), (np.array([120, 300]), np.array([400])), 900)
    assert whole.terms == pytest.approx(first.terms + second.terms)
    assert second.terms > 20 * first.terms > 20 * drawn(few, None, 900).terms > 0


def test_the_rows_that_a_leaf_lacks_are_counted():
    draws = drawn([[3, 2], [4, 0], [0, 0]], [4, 3, 0], 20)
    assert draws.missing(np.array([[2, 2], [3, 0], [0, 0]])) == 0
    assert draws.missing(np.array([[0, 5], [3, 0], [0, 0]])) == 2  # two of the second class make 2 of 4
    assert draws.missing(np.array([[3, 0], [1, 9], [0, 0]])) == 1 + 2
    assert draws.missing(np.zeros((3, 2), np.int64)) == 4 + 3


def test_a_leaf_of_several_classes_and_too_many_draws_keeps_its_counts_only():
    half = MOST_DRAWS // 2
    counts = [[half, MOST_DRAWS - half + 1], [MOST_DRAWS + 1, 0], [2, 1]]
    draws = drawn(counts, [MOST_DRAWS, MOST_DRAWS, 2], 9 * MOST_DRAWS)
    assert draws.distinct.tolist() == [-1, MOST_DRAWS, 2]
    assert draws.log_stirling.shape == (3, 3)
    rows = np.array([[half, half], [2 * MOST_DRAWS, 0], [4, 2]], dtype=np.int64)
    multinomial_part = sum(counts[0]) * math.log(half)
    falling = float(gammaln(2 * MOST_DRAWS + 1) - gammaln(MOST_DRAWS + 1))
    expected = multinomial_part + falling + math.log(ways((4, 2), (2, 1), 2))
    assert draws.log_likelihood(rows) == pytest.approx(expected, rel=1e-12)


def test_stirling_numbers_are_exact_to_rounding():
    table = log_stirling(120)
    for n in range(121):
        for d in range(n + 1):
            exact = stirling(n, d)
            if exact:
                assert table[n, d] == pytest.approx(math.log(exact), rel=1e-12, abs=1e-12)
            else:
                assert table[n, d] < -1e200
    assert (table[np.triu_indices(121, 1)] < -1e200).all()
    assert np.isfinite(log_stirling(0)).all()


def log_ways(rows, draws):
    """Return the log-likelihood with one class drawn at each leaf, rows being any real numbers."""
    alone = draws.counts > 0
    s = rows[alone]
    used = draws.distinct[alone.any(axis=1)]
    fall = gammaln(s + 1) - gammaln(s - np.maximum(used, 0) + 1)
    return np.where(used >= 0, fall, draws.counts[alone] * np.log(s)).sum()


@settings(max_examples=examples(100), deadline=None, derandomize=True)
@given(
    sizes=st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30), st.floats(0.0, 20.0)), min_size=1, max_size=5),
    use_distinct=st.booleans(),
)
def test_the_slope_is_the_derivative_where_one_class_is_drawn(sizes, use_distinct):
    counts = np.array([[0, max(n, d)] for n, d, _ in sizes])
    distinct = np.array([d for _, d, _ in sizes])
    draws = drawn(counts, distinct if use_distinct else None, 200)
    rows = np.array([[2.5, d + spare] for _, d, spare in sizes])
    slope = draws.slope(rows)
    step = 1e-5
    for v in range(len(sizes)):
        more, less = rows.copy(), rows.copy()
        more[v, 1] += step
        less[v, 1] -= step
        finite = (log_ways(more, draws) - log_ways(less, draws)) / (2 * step)
        assert slope[v, 1] == pytest.approx(finite, rel=1e-4, abs=1e-6)
    assert not slope[:, 0].any()


@settings(max_examples=examples(100), deadline=None, derandomize=True)
@given(leaf=leaves(), rows=st.lists(st.floats(0.0, 30.0), min_size=4, max_size=4))
def test_slopes_are_finite_and_rise_with_what_a_leaf_lacks(leaf, rows):
    _, counts, distinct = leaf
    for used in ([distinct], None):
        draws = drawn([counts], used, 120)
        here = np.array([rows[: len(counts)]])
        slope = draws.slope(here)
        assert np.isfinite(slope).all()
        assert (slope[0, np.array(counts) > 0] > 0).all()
        assert not slope[0, np.array(counts) == 0].any()
        if sum(n > 0 for n in counts) == 1:
            assert (draws.slope(here / 2) >= slope - 1e-9).all()


@settings(max_examples=examples(50), deadline=None, derandomize=True)
@given(seed=st.integers(0, 10_000), n_candidates=st.integers(0, 30), n_trees=st.integers(1, 5))
def test_pull_and_push_are_sums_over_leaves(seed, n_candidates, n_trees):
    rng = np.random.default_rng(seed)
    entries = rng.integers(0, 12, (n_candidates, n_trees)).astype(np.int32)
    table, mass = rng.normal(size=12), rng.choice([0.0, 1.5, 2.0], n_candidates)
    total = np.full(n_candidates, np.nan)
    pull(entries, table, total)
    assert np.allclose(total, table[entries].sum(axis=1))
    pushed = table.copy()
    push(entries, mass, pushed)
    assert np.allclose(pushed, table + np.bincount(entries.ravel(), np.repeat(mass, n_trees), minlength=12))


class Toy:
    """A dataset of few candidates in two groups, with known rows, and the counts of bootstrap samples of it."""

    def __init__(self, seed, *, n_rows=4, n_known=1, n_leaves=3, n_classes=2, n_trees=3, n_candidates=5, used=True):
        rng = self.rng = np.random.default_rng(seed)
        self.shape = (n_trees * n_leaves, n_classes)
        self.label = rng.integers(0, n_classes, 2 * n_candidates)
        leaf = rng.integers(0, n_leaves, (2 * n_candidates, n_trees)) + np.arange(n_trees) * n_leaves
        self.leaves = np.ascontiguousarray(leaf * n_classes + self.label[:, None], dtype=np.int32)
        self.bias = np.log(rng.uniform(0.2, 1.0, 2 * n_candidates))
        group = np.sort(rng.integers(0, 2, n_rows))
        self.first = n_candidates * group
        self.last = self.first + n_candidates
        known = rng.integers(0, 2 * n_candidates, n_known)
        self.known = self.recount(known, np.ones(n_known, int))
        everyone = np.concatenate([self.drawn_rows(), known])
        counts, distinct = np.zeros(self.shape, np.int64), np.zeros(self.shape[0], np.int64)
        for t in range(n_trees):
            times = np.bincount(rng.integers(0, len(everyone), len(everyone)), minlength=len(everyone))
            np.add.at(counts.reshape(-1), self.leaves[everyone, t], times)
            np.add.at(distinct, self.leaves[everyone, t] // n_classes, times > 0)
        tables = tuple(np.split(counts, n_trees)), tuple(np.split(distinct, n_trees)) if used else None
        self.draws = LeafDraws.of(*tables, len(everyone))

    def drawn_rows(self):
        """Return a dataset drawn uniformly from the candidates of each row."""
        return self.rng.integers(self.first, self.last)

    def recount(self, chosen, times=None):
        """Return rows at leaves by class, of the given candidates alone."""
        weights = None if times is None else np.repeat(times, self.leaves.shape[1])
        entries = self.leaves[chosen].ravel()
        return np.bincount(entries, weights, minlength=math.prod(self.shape)).astype(np.int64).reshape(self.shape)

    def posterior(self, chosen):
        """Return what `sweep_rows` should return for a dataset, from exact whole numbers."""
        rows = (self.recount(chosen) + self.known).tolist()
        total = float(self.bias[chosen].sum())
        for s, n, d in zip(rows, self.draws.counts.tolist(), self.draws.distinct.tolist(), strict=True):
            most = sum(min(x, y) for x, y in zip(s, n, strict=True))
            lacking = max(sum(y > 0 and x == 0 for x, y in zip(s, n, strict=True)), d - most)
            if lacking > 0:
                total -= MISSING * lacking
            else:
                total += math.log(ways(tuple(s), tuple(n), d) / left_out(np.array([n]), [d]))
        return total

    def sweep(self, chosen, rows, temperature):
        """Sweep in random order, in place."""
        draws, n_rows = self.draws, len(chosen)
        tables = draws.counts, draws.distinct, draws.log_factorial, draws.log_stirling
        order, level = self.rng.permutation(n_rows), self.rng.random(n_rows)
        return sweep_rows(
            self.leaves,
            self.bias,
            self.first,
            self.last,
            chosen,
            rows,
            *tables,
            order,
            level,
            float(temperature),
            GO_ON,
        )


GO_ON = np.zeros(1, dtype=np.uint8)

TOYS = {
    "seed": st.integers(0, 100_000),
    "n_rows": st.integers(1, 7),
    "n_known": st.integers(0, 3),
    "n_leaves": st.integers(1, 4),
    "n_classes": st.integers(1, 4),
    "n_trees": st.integers(1, 4),
    "n_candidates": st.integers(1, 6),
    "used": st.booleans(),
}


@settings(max_examples=examples(150), deadline=None, derandomize=True)
@given(temperature=st.sampled_from([0.0, 0.3, 1.0, 4.0]), **TOYS)
def test_a_sweep_keeps_the_books_and_returns_the_posterior_of_the_new_dataset(temperature, **sizes):
    toy = Toy(**sizes)
    chosen = toy.drawn_rows()
    rows = toy.recount(chosen) + toy.known
    for _ in range(3):
        value = toy.sweep(chosen, rows, temperature)
        assert ((chosen >= toy.first) & (chosen < toy.last)).all()
        assert (rows == toy.recount(chosen) + toy.known).all()
        assert value == pytest.approx(toy.posterior(chosen), rel=1e-10, abs=1e-8)


@settings(max_examples=examples(150), deadline=None, derandomize=True)
@given(**TOYS)
def test_a_sweep_at_temperature_0_never_lowers_the_posterior(**sizes):
    toy = Toy(**sizes)
    chosen = toy.drawn_rows()
    rows = toy.recount(chosen) + toy.known
    value = toy.posterior(chosen)
    for _ in range(len(chosen) + 2):
        before = chosen.copy()
        lower, value = value, toy.sweep(chosen, rows, 0.0)
        assert value >= lower - 1e-9
    if (before == chosen).all():  # then no change of a single row is better
        for row in range(len(chosen)):
            for other in range(toy.first[row], toy.last[row]):
                changed = chosen.copy()
                changed[row] = other
                assert toy.posterior(changed) <= value + 1e-9


def test_a_sweep_at_temperature_0_leaves_rows_where_no_candidate_is_better():
    toy = Toy(0, n_rows=6)
    toy.leaves[:], toy.bias[:] = toy.leaves[0], -1.0
    chosen = toy.last - 1
    rows = toy.recount(chosen) + toy.known
    toy.sweep(chosen, rows, 0.0)
    assert (chosen == toy.last - 1).all()


@pytest.mark.nightly
@pytest.mark.parametrize("temperature", [1.0, 2.5])
@pytest.mark.parametrize("used", [True, False])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_sweeps_visit_datasets_as_often_as_their_posterior_says(seed, used, temperature):
    toy = Toy(seed, n_rows=3, n_candidates=4, n_trees=2, n_leaves=2, n_classes=3, used=used)
    chance = Counter()
    for chosen in product(*(range(a, b) for a, b in zip(toy.first, toy.last, strict=True))):
        chance[tuple(sorted(chosen))] += math.exp(toy.posterior(np.array(chosen)) / temperature)
    whole = sum(chance.values())
    assert max(chance.values()) < 0.7 * whole  # else there is little to tell apart
    chosen = toy.drawn_rows()
    rows = toy.recount(chosen) + toy.known
    visits = Counter()
    n_sweeps = 30_000
    for _ in range(n_sweeps):
        toy.sweep(chosen, rows, temperature)
        visits[tuple(sorted(chosen.tolist()))] += 1
    distance = 0.5 * sum(abs(visits[rows] / n_sweeps - mass / whole) for rows, mass in chance.items())
    assert distance < 0.025


def test_a_sweep_stays_inside_its_buffers_at_the_largest_leaves(monkeypatch):
    """Every draw at one leaf of each tree, every row drawn: the longest tables there can be."""
    monkeypatch.setattr(occupancy, "MOST_DRAWS", 10_000)
    n_rows, n_classes = 12, 3
    leaves = np.array([[0, 3], [1, 4], [2, 5]], dtype=np.int32)
    counts = np.array([[4, 5, 40], [4, 5, 40]])
    draws = LeafDraws.of((counts[:1], counts[1:]), (np.array([n_rows]), np.array([n_rows])), n_rows)
    chosen = np.zeros(n_rows, dtype=np.int64)
    rows = np.array([[n_rows, 0, 0], [n_rows, 0, 0]])
    first, last = np.zeros(n_rows, np.int64), np.full(n_rows, n_classes)
    order, level = np.arange(n_rows), np.full(n_rows, 0.5)
    tables = draws.counts, draws.distinct, draws.log_factorial, draws.log_stirling
    for temperature in (0.0, 4.0, 0.0):
        value = sweep_rows(leaves, np.zeros(3), first, last, chosen, rows, *tables, order, level, temperature, GO_ON)
    assert draws.missing(rows) == 0
    exact = 2 * math.log(ways(tuple(rows[0].tolist()), (4, 5, 40), n_rows))
    assert value == pytest.approx(exact, rel=1e-11)


def test_no_row_is_drawn_anew_after_a_stop():
    counts = np.array([[4, 5, 40]])
    draws = LeafDraws.of((counts,), (np.array([6]),), 6)
    chosen, rows = np.zeros(6, dtype=np.int64), np.array([[6, 0, 0]])
    tables = draws.counts, draws.distinct, draws.log_factorial, draws.log_stirling
    given = np.arange(3, dtype=np.int32)[:, None], np.zeros(3), np.zeros(6, np.int64), np.full(6, 3)
    order, level = np.arange(6), np.full(6, 0.5)

    sweep_rows(*given, chosen, rows, *tables, order, level, 1.0, np.ones(1, dtype=np.uint8))

    assert not chosen.any()
    assert rows.tolist() == [[6, 0, 0]]
