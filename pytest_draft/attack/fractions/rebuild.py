"""The attack on a file without counts: in goes a `RowProblem`, out comes a `Reconstruction`.

Where the domain can be enumerated, expectation maximisation over vectors x class gives the start (`expectation`); else
it is drawn evenly.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pytest_draft.attack.evidence.answers import OutputEvidence
from pytest_draft.attack.search import Search
from pytest_draft.attack.walk.chain import Dataset
from pytest_draft.attack.walk.expected import Expected, expected_rows
from pytest_draft.attack.walk.posterior import PosteriorParameters, sample_posterior
from pytest_draft.attack.walk.problem import RowProblem
from pytest_draft.attack.walk.sweeps import JumpCandidates
from pytest_draft.errors import InfeasibleError, OutOfTimeError
from pytest_draft.facts.reconstruction import Reconstruction

PARAMETERS = PosteriorParameters(
    hot=3.0, first_sweeps=16, most_rounds=7, steps=None, resized_sweeps=16, samples=8, sample_every=2, enough=3.0,
    chance=0.0, apart=4.0, cooling_share=0.5, value_seconds=0.0, attribute_seconds=5e-7, consensus_rounds=3,
)  # fmt: skip

OF_COUNTS = replace(PARAMETERS, hot=30.0, first_sweeps=32, most_rounds=5, cooling_share=0.7, attribute_seconds=6e-8)
"""Where leaves tell the draws themselves: chains that begin anywhere soon find what explains them."""

HOT_ALONE = 30.0
"""First temperature without a start by expectation maximisation."""

MOST_CANDIDATES = 1000
"""Most vectors that rows jump to."""


def rebuild_from_outputs(problem: RowProblem, search: Search) -> Reconstruction:
    """Rebuild the rows that the adversary does not know, anytime.

    Returns
    -------
    Reconstruction
        Its rows are the consensus of the samples; `consistent` is the likeliest dataset that was met, `log_posterior`
        its log-likelihood with one deviation of the samples'. ``not converged``: chains disagree and cooling more
        slowly still led to likelier datasets, or the likeliest one lacks rows at leaves that had draws.
    """
    figures, evidence = search.clock.figures, problem.model.evidence
    counted = isinstance(evidence, OutputEvidence) and evidence.counts_told
    try:
        with search.clock("expect"):
            size, expected = _expected(problem, search)
        parameters = PARAMETERS if expected is not None else replace(PARAMETERS, hot=HOT_ALONE)
        if counted:
            parameters = OF_COUNTS
        drawn = sample_posterior(
            problem, search, parameters, lambda rng: _start(problem, size, expected, rng), _candidates(expected)
        )
    except OutOfTimeError:
        return Reconstruction("no solution", None, None, None, None, False, None, statistics=figures)
    except InfeasibleError:
        return Reconstruction("infeasible", None, None, None, None, False, None, statistics=figures)
    exact, (agreeing, n_chains) = problem.model.evidence.exact, drawn.agreeing
    settled = drawn.settled or agreeing == n_chains > 1  # each from a start of its own
    lacking = problem.model.lacking(problem.model.rows_at_leaves(*drawn.likeliest))
    unknown = ~problem.known[: len(drawn.guess)]
    figures.update(drawn.figures)
    figures.update(
        {
            "chains that agree": float(agreeing),
            "log-likelihood": drawn.log_likelihood,
            "rows": float(len(drawn.guess)),
        }
    )
    return Reconstruction(
        status="not converged" if lacking or not settled else "consistent" if exact else "likeliest",
        rows=drawn.guess[unknown],
        consistent=problem.written(drawn.likeliest[0])[unknown],
        labels=drawn.guessed_label[unknown],
        cells=None,
        free=(drawn.open if counted and problem.states is None else drawn.free)[unknown],
        ordered=False,
        residual=lacking,
        cut_short=not settled,
        log_posterior=drawn.log_likelihood + max(1.0, drawn.spread),
        log_likelihood=drawn.log_likelihood,
        statistics=figures,
    )


def _expected(problem: RowProblem, search: Search) -> tuple[int, Expected | None]:
    """Return the number of rows to begin with, and what is expected of each vector where they can be enumerated."""
    (least, most), expected, evidence = problem.n_rows, None, problem.model.evidence
    if isinstance(evidence, OutputEvidence):
        if evidence.counts_told:
            return (least + most) // 2, None
        free = least < most and not evidence.exact
        expected = expected_rows(problem.model, (least + most) // 2, search, size_free=free)
    if least == most:
        return least, expected
    if expected is None:
        return (2 * least + most) // 3, None
    return int(np.clip(round(float(expected.rows.sum())), least, most)), expected


def _start(problem: RowProblem, size: int, expected: Expected | None, rng: np.random.Generator) -> Dataset | int:
    """Return a dataset to begin with: rounded from what is expected, in slots whose known values they have."""
    if expected is None:
        return size
    n_classes = problem.model.n_classes
    given = problem.value[:size] >= 0
    partly = given.any(axis=1) | (problem.label[:size] >= 0)
    vectors, labels = expected.drawn(size, rng)
    order = rng.permutation(size)
    value, label = expected.value[vectors][order], labels[order].astype(np.int64)
    for slot in np.flatnonzero(partly & ~problem.known[:size]):
        fits = (expected.value[:, given[slot]] == problem.value[slot, given[slot]]).all(axis=1)
        chance = (expected.rows * fits[:, None]).ravel() + 1e-12 * np.repeat(fits, n_classes)
        if (known := problem.label[slot]) >= 0:
            chance = (chance.reshape(-1, n_classes) * (np.arange(n_classes) == known)).ravel()
        if chance.sum() > 0:
            chosen = int(rng.choice(len(chance), p=chance / chance.sum()))
            value[slot], label[slot] = expected.value[chosen // n_classes], chosen % n_classes
    return value, label


def _candidates(expected: Expected | None) -> JumpCandidates | None:
    """Return the vectors that rows may jump to; None where nothing is known of them."""
    if expected is None:
        return None
    top = expected.likeliest(MOST_CANDIDATES)
    return JumpCandidates(np.ascontiguousarray(expected.value[top]), np.ascontiguousarray(expected.leaf[top]))
