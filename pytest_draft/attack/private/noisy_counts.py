"""The attack on a forest that released noisy counts: from what was released to the consensus of the posterior.

Against DRAFT-DP (SaTML 2026), which takes one optimum of the likelihood, the posterior's consensus has a lower error,
most where the noise is strong.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from scipy import stats

from pytest_draft.arrays import FloatArray, Int32Array, IntArray
from pytest_draft.artifact.forest import Forest
from pytest_draft.attack.evidence.evidence import LeafModel, scored_by
from pytest_draft.attack.evidence.noise import CountNoise
from pytest_draft.attack.redacted import redacted
from pytest_draft.attack.search import Search
from pytest_draft.attack.walk.posterior import PosteriorParameters, sample_posterior
from pytest_draft.attack.walk.problem import RowProblem
from pytest_draft.compiling import compiled
from pytest_draft.domain import Domain
from pytest_draft.errors import InfeasibleError, NotCoveredError, OutOfTimeError
from pytest_draft.facts.reconstruction import Reconstruction

MOST_SLOTS = 400
"""Most rows that are looked for where their number is unknown, as in the paper's experiments."""

MOST_APART = 10_000_000
"""Most that released counts may lie apart: a table holds the probability of each difference to a true count."""

PARAMETERS = PosteriorParameters()

CONFIDENCE = 0.95
"""Of the interval that an unknown number of rows is looked for in (DRAFT-DP, appendix A)."""


@compiled
def _score(evidence, rows, leaf, n_kinds):  # type: ignore[no-untyped-def]
    """Return the log-probability of a leaf's released counts."""
    total = 0.0
    for entry in range(leaf * n_kinds, (leaf + 1) * n_kinds):
        difference = evidence.released[entry] - int(rows[entry])
        total += evidence.table[evidence.sign[entry], difference - evidence.least]
    return total


@scored_by(_score, exact=False, by_class=True)
@redacted
class NoisyEvidence(NamedTuple):
    """What was released, and how probable it is."""

    released: IntArray
    """Shape (n_leaves * n_classes,). The entries: leaf by leaf, all trees, class by class."""
    sign: IntArray
    """Shape (n_leaves * n_classes,). 0, 1 or 2 where `released` is below, at or above 0."""
    table: FloatArray
    """Shape (3, n_differences). ``log P(released | true)`` by sign and difference ``released - true``
    (`CountNoise.table`).
    """
    least: int
    """The difference of the table's first column."""

    @classmethod
    def of(cls, released: IntArray, noise: CountNoise, most_rows: int) -> NoisyEvidence:
        """Return what entries say of no more than so many rows."""
        least = int(released.min()) - most_rows - 2
        table = noise.table(least, int(released.max()) + 2)
        return cls(released, (np.sign(released) + 1).astype(np.int64), table, least)

    def lacking(self, rows: FloatArray) -> int:
        """Return 0: noise can make any count of any other."""
        return 0


@dataclass(frozen=True, eq=False, repr=False)
class NoisyProblem(RowProblem):
    """Released counts, and what the adversary knows of the rows behind them. Its repr shows no row."""

    prior_rows: ClassVar[float] = np.inf

    noise: CountNoise
    released: IntArray
    """Shape (n_leaves, n_classes). All trees' leaves, tree by tree."""


def build_noisy(
    forest: Forest,
    domain: Domain,
    value: Int32Array,
    label: IntArray,
    *,
    size_known: bool = True,
) -> NoisyProblem:
    """Return the problem of a forest that released noisy counts.

    Parameters
    ----------
    domain : Domain
        Without numeric attributes.
    value, label : ndarray
        What is known of each row, as in `NoisyProblem`; a slot for each row.
    size_known : bool
        Whether there are as many rows as slots. Else the slots are those rows that are known, and the number of the
        others is looked for in its confidence interval.

    Raises
    ------
    NotCoveredError
        Where an attribute is numeric, or released counts lie too far apart.
    """
    noise = CountNoise.of(forest.observation.privacy)
    released = np.concatenate([forest.released(t) for t in range(forest.n_trees)])
    if int(released.max()) - int(released.min()) > MOST_APART:
        raise NotCoveredError(
            f"its released counts lie up to {int(released.max()) - int(released.min()):,} apart, more than the "
            f"{MOST_APART:,} that are covered"
        )
    n_rows = (len(value), len(value))
    if not size_known:
        least, most = size_interval(forest, noise)
        least, most = max(least, len(value), 1), max(most, len(value) + 1)
        n_rows = (min(least, MOST_SLOTS), min(most, max(MOST_SLOTS, len(value) + 1)))
        room = n_rows[1] - len(value)
        value = np.concatenate([value, np.full((room, len(domain.attributes)), -1, dtype=np.int32)])
        label = np.concatenate([label, np.full(room, -1, dtype=np.int64)])
    evidence = NoisyEvidence.of(released.ravel().astype(np.int64), noise, n_rows[1])
    model = LeafModel.of(forest, domain, evidence)
    return NoisyProblem(domain, None, model, value, label, n_rows, noise, released)


def size_interval(forest: Forest, noise: CountNoise) -> tuple[int, int]:
    """Return the confidence interval of the number of rows (DRAFT-DP, SaTML 2026, appendix A-A).

    Each tree's released counts add up to the number of rows and the noise of its entries, whose deviation is known: so
    the mean over trees is nearly normal. (The paper takes Student's coefficient, as if the deviation were estimated.)
    Cutting the sum takes up to half a row off each entry, on average, so the interval reaches as much higher.
    """
    totals = np.array([forest.released(t).sum() for t in range(forest.n_trees)], dtype=np.float64)
    entries = sum(forest.released(t).size for t in range(forest.n_trees))
    deviation = noise.deviation * np.sqrt(entries) / forest.n_trees
    half = float(stats.norm.ppf(0.5 + CONFIDENCE / 2)) * deviation
    cut = 0.5 * entries / forest.n_trees if noise.rounding == "sum" else 0.0
    return int(np.floor(totals.mean() - half)), int(np.ceil(totals.mean() + half + cut))


def rebuild_from_noise(
    problem: RowProblem, search: Search, parameters: PosteriorParameters = PARAMETERS
) -> Reconstruction:
    """Rebuild the rows that the adversary does not know, behind noisy counts or labels.

    Returns
    -------
    Reconstruction
        Its rows are the consensus of the posterior; `consistent` is the likeliest dataset that was drawn, with its
        log-likelihood. ``not converged``: cooling more slowly still led to likelier datasets, chains disagree, or the
        time box cut a step short.
    """
    figures = search.clock.figures
    try:
        drawn = sample_posterior(problem, search, parameters)
    except OutOfTimeError:
        return Reconstruction("no solution", None, None, None, None, False, None, statistics=figures)
    except InfeasibleError:
        return Reconstruction("infeasible", None, None, None, None, False, None, statistics=figures)
    agreeing, n_chains = drawn.agreeing
    settled = drawn.settled and drawn.complete and agreeing == n_chains
    unknown = ~problem.known[: len(drawn.guess)]
    value, label = drawn.likeliest
    figures.update(drawn.figures)
    figures["log-likelihood"] = drawn.log_likelihood
    return Reconstruction(
        status="likeliest" if settled else "not converged",
        rows=drawn.guess[unknown],
        consistent=problem.domain.encoded(value[unknown]),
        labels=label[unknown],
        cells=None,
        free=drawn.free[unknown],
        ordered=False,
        residual=None,
        cut_short=not settled,
        log_posterior=drawn.log_likelihood + drawn.spread,
        log_likelihood=drawn.log_likelihood,
        statistics=figures,
    )
