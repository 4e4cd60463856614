"""Searches for a forest's removed random_state, from which all its seeds follow.

Most forests are trained with a small number as their ``random_state``. Each tree's seed follows from it, and from that
what the tree drew: the columns that its root may test, for bagging ensembles the columns of the tree, and how many
different rows it saw. Numbers are tried one after the other, and dropped at the first trees that contradict them. One
is claimed only if chance alone would bring about less than `MOST_BY_CHANCE` claims among all that were tried.

The rules are those of ``sklearn.ensemble`` and ``sklearn.tree._splitter``, of the versions that
`pytest_draft.artifact.forest.occurrences` knows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from pytest_draft.arrays import BoolArray, IntArray
from pytest_draft.artifact.forest import Forest
from pytest_draft.artifact.forest.draws import BaggingDraws, ForestDraws
from pytest_draft.artifact.forest.occurrences import NEWEST, draws_are_known, occurrences
from pytest_draft.attack.numeric.growth import columns_drawn
from pytest_draft.attack.seed_evidence import AHEAD, draw_ahead, explain_columns, explain_roots, explain_sizes, seeds_of
from pytest_draft.errors import NotCoveredError
from pytest_draft.timebox import TimeBox

Numbers = NDArray[np.uint32]

MOST_BY_CHANCE = 1e-6
"""Most claims that chance alone would bring about, in expectation."""

_KINDS = 3
"""How many kinds of evidence there can be of one forest."""


@dataclass(frozen=True)
class _Parameters:
    most: int = 2_000_000
    """Numbers that are tried, from 0 on."""
    common: int = 10_000
    """How many of them share half of `MOST_BY_CHANCE`."""
    chunk: int = 1 << 15
    """Numbers that are tried at once."""
    first_trees: int = 12
    """Trees by which numbers are dropped first."""
    explained: float = 0.85
    """Least share of the roots that the right number explains: columns that are constant in some samples let some of
    them appear contradicted.
    """
    dropped: float = -5.0
    """The log-likelihood ratio at which a number is dropped."""
    most_draws: float = 1e9
    """Rows that may be drawn."""
    most_subsets: int = 1_000_000
    """Numbers for which columns may be drawn."""


_PARAMETERS = _Parameters()


@dataclass(frozen=True)
class Sought:
    """What came of the search."""

    tried: int
    """How many numbers were tried; 0 where the file does not reveal enough to find any."""
    random_state: int | None
    """The number; None where none of them was it."""
    forest: Forest
    """With the seeds that follow from it, as if they were in the file; as it was where there is none."""
    source: str = ""
    """Which part of the file it was found from, in words."""
    draws_known: bool = True
    """Whether these seeds reveal all that seeds in the file would; False where draws depended on what was removed, too.
    """


@cache
def candidates(most: int = _PARAMETERS.most) -> Numbers:
    """Return the numbers that are tried: all below `most`, then those above that people choose, in this order.

    Dates from 1950 to 2030 as YYYYMMDD, DDMMYYYY and MMDDYYYY, powers of 2 and 10 and the numbers beside them, repeated
    digits and digits in a row, and some that are well known.
    """
    first = date(1950, 1, 1)
    days = [first + timedelta(days=day) for day in range((date(2031, 1, 1) - first).days)]
    others = {10_000 * day.year + 100 * day.month + day.day for day in days}
    others |= {1_000_000 * day.day + 10_000 * day.month + day.year for day in days}
    others |= {1_000_000 * day.month + 10_000 * day.day + day.year for day in days}
    others |= {base**power + step for base in (2, 10) for power in range(1, 33) for step in (-1, 0, 1)}
    others |= {int(str(digit) * times) for digit in range(1, 10) for times in range(1, 11)}
    others |= {int("12345678901"[:length]) for length in range(1, 11)} | {int("9876543210"[:n]) for n in range(1, 11)}
    others |= {
        0xDEADBEEF,
        0xCAFEBABE,
        0xC0FFEE,
        0xBADC0DE,
        0x5EED,
        31415926,
        314159265,
        3141592653,
        27182818,
        271828182,
    }
    others |= {16180339, 161803398, 14142135, 8675309, 42424242, 4242424242, 13371337, 19283746, 123123123, 69696969}
    above = np.array(sorted(number for number in others if most <= number < 2**32), dtype=np.uint32)
    return np.concatenate([np.arange(most, dtype=np.uint32), above])


def seek(forest: Forest, timebox: TimeBox) -> Sought:
    """Search for the number that a forest was trained with, where its file holds none of the trees' seeds.

    Parameters
    ----------
    timebox : TimeBox
        Numbers are tried until it ends.
    """
    nothing = Sought(0, None, forest)
    if not forest.draws.stored:
        return _sought_as_usual(forest, timebox)
    if (
        forest.observation.released
        or any(tree.seed is not None for tree in forest.trees)
        or not draws_are_known(forest)
    ):
        return nothing
    tried = 0
    for evidence in _evidence(forest):
        n_tried, found = _among(evidence, timebox)
        tried = max(tried, n_tried)
        if found is not None:
            return _with_seeds(Sought(tried, found, forest, evidence.source))
        if n_tried and evidence.ample:
            break
    return Sought(tried, None, forest)


def _sought_as_usual(forest: Forest, timebox: TimeBox) -> Sought:
    """Search where the file does not say how columns were drawn: by scikit-learn's default, and its newest rules."""
    draws = ForestDraws(rows=forest.draws.rows)
    usual = replace(
        forest,
        draws=draws,
        sklearn_version=f"{NEWEST[0]}.{NEWEST[1]}.0",
        parameters={"max_features": "sqrt"},
    )
    found = seek(usual, timebox)
    if found.random_state is None:
        return replace(found, forest=forest)
    seeded = replace(forest, trees=found.forest.trees, draws=replace(draws, stored=False))
    return replace(found, forest=seeded)


def _with_seeds(sought: Sought) -> Sought:
    """Return the forest with its seeds, unless the draws that follow contradict its roots."""
    forest = sought.forest
    seeds = seeds_of(sought.random_state or 0, forest.n_trees)
    trees = tuple(replace(tree, seed=seed) for tree, seed in zip(forest.trees, seeds, strict=True))
    seeded = replace(forest, trees=trees)
    if forest.draws.drawn and forest.n_samples is not None:
        try:
            occurrences(seeded)
        except NotCoveredError:
            return replace(sought, draws_known=False)
    return replace(sought, forest=seeded)


def _among(evidence: _SeedEvidence, timebox: TimeBox) -> tuple[int, int | None]:
    """Return how many numbers were tried, and the one that explains the trees where chance would not.

    What chance may bring about is shared by the best known numbers, common ones and all, so that few trees are enough
    to find a common one.
    """
    numbers, most = candidates(), MOST_BY_CHANCE / _KINDS / 3
    numbers = np.concatenate([numbers[: evidence.most], numbers[_PARAMETERS.most :]])
    common = _PARAMETERS.common
    if evidence.least * len(numbers) >= most:
        numbers = numbers[:common] if evidence.least * common < most else best_known()
    if evidence.least * len(best_known()) >= most:
        return 0, None
    known = set(best_known().tolist())
    for start in range(0, len(numbers), _PARAMETERS.chunk):
        chunk, found = numbers[start : start + _PARAMETERS.chunk], None
        if timebox.over:
            return start, None
        for number in evidence.left(chunk).tolist():
            among = len(known) if number in known else common if number < common else len(numbers)
            chance = evidence.chance(number) * among
            if chance < most and (found is None or chance < found[0]):
                found = chance, number
        if found is not None:
            return start + len(chunk), found[1]
    return len(numbers), None


@cache
def best_known() -> Numbers:
    """Return the numbers that most people choose: small ones, years, and a few more."""
    others = {1000, 1111, 1234, 1337, 2222, 3141, 3407, 4242, 4321, 5555, 7777, 8888, 9999, 12345, 123456, 1234567}
    others |= {300, 314, 321, 333, 400, 404, 420, 444, 456, 500, 512, 555, 600, 666, 700, 777, 800, 888, 900, 911, 999}
    return np.array(sorted({*range(256), *range(1950, 2031), *others}), dtype=np.uint32)


def _evidence(forest: Forest) -> Iterator[_SeedEvidence]:
    """Go through all that the file reveals of its trees' draws."""
    draws = forest.draws
    if isinstance(draws, BaggingDraws) and draws.draws_columns(forest.n_features):
        yield from _subsets(forest, draws)
        return
    if not draws.seeded:
        return
    nested, random, first = isinstance(draws, BaggingDraws), False, None
    m = _columns_at_root(forest)
    if 0 < m < forest.n_features and any(tree.left[0] >= 0 for tree in forest.trees):
        with suppress(NotCoveredError):
            random = forest.splitter == "random"
        tested = np.zeros(forest.n_features, dtype=np.bool_)
        for tree in forest.trees:
            tested[tree.feature[tree.left >= 0]] = True
        where = np.array([t for t, tree in enumerate(forest.trees) if tree.left[0] >= 0], dtype=np.int64)
        columns = np.array([forest.trees[t].feature[0] for t in where], dtype=np.int64)
        # Columns that no tree tests are constant in all samples, or were never the best.
        for constant in (~tested, np.zeros_like(tested)):
            roots = _Roots(columns, where, forest.n_features, m, constant, random, nested, bool(tested.all()))
            first = roots if first is None else first
            yield roots
            if tested.all():
                break
    yield from _sizes(forest, first)


def _columns_at_root(forest: Forest) -> int:
    """Return how many columns a root draws; all where the file does not say."""
    if forest.tree_parameters.get("max_features") == "auto":  # of versions before 1.3
        return max(1, math.isqrt(forest.n_features)) if forest.classes is not None else forest.n_features
    try:
        return columns_drawn(forest, forest.n_features)
    except NotCoveredError:
        return forest.n_features


@dataclass(frozen=True, eq=False, repr=False)
class _Roots:
    """The columns that the roots test must be among those that were drawn first."""

    roots: IntArray
    where: IntArray
    n_columns: int
    drawn: int
    constant: BoolArray
    random: bool
    nested: bool
    all_vary: bool
    most: int = _PARAMETERS.most
    source: str = "the columns at its roots"

    @property
    def n_trees(self) -> int:
        """How many trees say something."""
        return len(self.roots)

    @property
    def each(self) -> float:
        """How likely a wrong number explains a root: its column is drawn, or the first after constant ones alone."""
        p, m, c = self.n_columns, self.drawn, int(self.constant.sum())
        return m / p + (math.comb(c, m) / math.comb(p, m) / (p - c) if c >= m else 0.0)

    @property
    def least(self) -> float:
        """How likely a wrong number explains all roots."""
        return self._by_chance(self.n_trees)

    def chance(self, number: int) -> float:
        """Return how likely a wrong number explains as many roots."""
        return self._by_chance(self._n_explained(number))

    def _by_chance(self, explained: int) -> float:
        return float(binom.sf(explained - 1, self.n_trees, min(1.0, self.each)))

    @property
    def ample(self) -> bool:
        """Whether it would have found the number; only with columns that are constant there can be doubt."""
        least = self._by_chance(math.ceil(_PARAMETERS.explained * self.n_trees))
        return least * _PARAMETERS.most < MOST_BY_CHANCE and (bool(self.constant.any()) or self.all_vary)

    def left(self, numbers: Numbers) -> Numbers:
        """Return the numbers whose likelihood, relative to a wrong number's, never falls too far."""
        score = np.zeros(len(numbers))
        first = min(self.n_trees, _PARAMETERS.first_trees)
        numbers, score = self._left(numbers, score, 0, first)
        return self._left(numbers, score, first, min(self.n_trees, int((self.where < AHEAD).sum())))[0]

    def _left(
        self, numbers: Numbers, score: NDArray[np.float64], first: int, end: int
    ) -> tuple[Numbers, NDArray[np.float64]]:
        if first >= end or not len(numbers):
            return numbers, score
        chance = self.each
        right = max(_PARAMETERS.explained, (1 + chance) / 2)
        hit, miss = math.log(right / chance), math.log((1 - right) / (1 - chance))
        seeds = np.empty((int(self.where[end - 1]) + 1, len(numbers)), dtype=np.uint32)
        draw_ahead(numbers, seeds)
        kept = np.arange(len(numbers))
        for tree in range(first, end):
            explained = self._explained(seeds[self.where[tree]][kept], int(self.roots[tree]))
            score = score + np.where(explained, hit, miss)
            remain = score > _PARAMETERS.dropped
            kept, score = kept[remain], score[remain]
            if not len(kept):
                break
        return numbers[kept], score

    def _explained(self, seeds: Numbers, root: int) -> BoolArray:
        """Return which seeds of a tree explain the column that its root tests."""
        states = np.empty((1, len(seeds)), dtype=np.uint32)
        if self.nested:
            draw_ahead(seeds, states)
            seeds = states[0].copy()
        draw_ahead(seeds, states)
        found: BoolArray = explain_roots(states[0], root, self.n_columns, self.drawn, self.constant, self.random)
        return found

    def _n_explained(self, number: int) -> int:
        """Return how many roots a number explains."""
        seeds = np.array(seeds_of(number, int(self.where[-1]) + 1), dtype=np.uint32)[self.where]
        return sum(bool(self._explained(seeds[[t]], int(root))[0]) for t, root in enumerate(self.roots))


def _subsets(forest: Forest, draws: BaggingDraws) -> Iterator[_SeedEvidence]:
    """The columns that the trees of a bagging ensemble test must be among those that were drawn for them."""
    p, m = forest.n_features, draws.max_features
    if not (draws.bootstrap_features or 0.01 < m / p < 0.99):
        return  # drawn in another way
    tested = np.zeros((forest.n_trees, p), dtype=np.bool_)
    log_chance = 0.0
    for t, tree in enumerate(forest.trees):
        tested[t, tree.feature[tree.left >= 0]] = True
        s = int(tested[t].sum())
        if draws.bootstrap_features:
            held = sum((-1) ** k * math.comb(s, k) * (1 - k / p) ** m for k in range(s + 1)) if s <= 20 else 0.0
            # Sums of alternating signs are only as exact as their largest part; one column alone bounds it too.
            held = min(max(held, 0.0) + 1e-9, 1 - (1 - 1 / p) ** m) if s else 1.0
        else:
            held = math.comb(p - s, m - s) / math.comb(p, m) if s <= m else 0.0
        log_chance += math.log(max(held, 1e-300))
    yield _Draws(
        forest.n_trees,
        lambda seeds: explain_columns(seeds, tested, m, draws.bootstrap_features),
        log_chance,
        _PARAMETERS.most_subsets,
        "the columns that its trees test",
    )


def _sizes(forest: Forest, roots: _Roots | None) -> Iterator[_SeedEvidence]:
    """The numbers of different rows at the roots must be those of the draws."""
    draws, n_rows, n_draws = forest.draws, forest.n_samples, forest.draws.per_tree
    sizes = np.array([tree.n_distinct[0] for tree in forest.trees], dtype=np.int64)
    if not draws.uniform or draws.class_weight is not None or n_rows is None or n_draws is None:
        return
    if not sizes.all() or n_rows < 2:
        return
    gone = (1 - 1 / n_rows) ** n_draws
    spread = n_rows * gone + n_rows * (n_rows - 1) * (1 - 2 / n_rows) ** n_draws - (n_rows * gone) ** 2
    each = min(1.0, 1.2 / math.sqrt(2 * math.pi * spread)) if spread > 1 else 1.0
    most = int(min(_PARAMETERS.most, _PARAMETERS.most_draws / (2_000 + 1.5 * n_draws)))
    yield _Draws(
        forest.n_trees,
        lambda seeds: explain_sizes(seeds, sizes, n_rows, n_draws),
        forest.n_trees * math.log(each),
        most,
        "the numbers of different rows at its roots",
        roots,
    )


@dataclass(frozen=True, eq=False, repr=False)
class _Draws:
    """What each tree drew must explain all that the file shows of it."""

    n_trees: int
    explain: Callable[[Numbers], BoolArray]
    """Which numbers explain the first trees, by the seeds of these, shape (n_trees, n_numbers)."""
    log_chance: float
    """Logarithm of the chance that a wrong number explains all trees."""
    most: int
    source: str
    roots: _Roots | None = None
    """What the roots say besides."""

    @property
    def least(self) -> float:
        """How likely a wrong number explains all trees, and all roots."""
        return math.exp(self.log_chance) * (1.0 if self.roots is None else self.roots.least)

    def chance(self, number: int) -> float:
        """Return how likely a wrong number explains all trees and as many roots; 1 where it doesn't explain a tree."""
        seeds = np.array(seeds_of(number, self.n_trees), dtype=np.uint32)[:, None]
        if not self.explain(seeds)[0]:
            return 1.0
        return math.exp(self.log_chance) * (1.0 if self.roots is None else self.roots.chance(number))

    @property
    def ample(self) -> bool:
        """Always true: no other evidence comes after this one."""
        return True

    def left(self, numbers: Numbers) -> Numbers:
        """Return the numbers that are not contradicted by the first trees."""
        seeds = np.empty((min(self.n_trees, _PARAMETERS.first_trees), len(numbers)), dtype=np.uint32)
        draw_ahead(numbers, seeds)
        left: Numbers = numbers[self.explain(seeds)]
        return left


_SeedEvidence = _Roots | _Draws
"""What the file reveals of the trees' draws, and which numbers could have brought it about.

Of both: `source`, the part of the file in words; `most`, how many numbers may be tried from 0 on; `least`, how likely a
wrong number explains all trees; `ample`, whether it would have found the number among all that are tried, so that
nothing else needs to be asked; `left`, the numbers that the first trees do not contradict; and `chance`, how likely a
wrong number explains as much as one.
"""
