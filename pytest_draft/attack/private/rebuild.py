"""The attack on a forest that released noisy counts.

Against DRAFT-DP (SaTML 2026), which takes one optimum of the likelihood, the posterior's consensus has a lower error,
most where the noise is strong.
"""

from __future__ import annotations

import numpy as np

from pytest_draft.attack.private.noisy_problem import NoisyProblem
from pytest_draft.attack.private.optimum import find_optimum
from pytest_draft.attack.rows.posterior import PosteriorParameters, sample_posterior
from pytest_draft.attack.search import Search
from pytest_draft.errors import InfeasibleError, OutOfTimeError
from pytest_draft.facts.reconstruction import Reconstruction
from pytest_draft.facts.status import SolverStatus

PARAMETERS = PosteriorParameters()

SAMPLING_SHARE = 0.7
"""Share of the attack's time that drawing datasets may take; the rest is for the likeliest one and its proof."""


def rebuild_from_noise(problem: NoisyProblem, search: Search, *, prove: bool = True) -> Reconstruction:
    """Rebuild the rows that the adversary does not know.

    Parameters
    ----------
    prove : bool
        Whether to look for the likeliest dataset and its bound.

    Returns
    -------
    Reconstruction
        Its rows are the consensus of the posterior; `consistent` is the likeliest dataset that was found, with its
        log-likelihood and a bound. ``optimal``: proved that no dataset of the domain is likelier. ``not converged``:
        cooling more slowly still led to likelier datasets, or the time box cut a step short.
    """
    figures = search.clock.figures
    box = search.timebox.first(SAMPLING_SHARE)
    try:
        drawn = sample_posterior(problem, Search(box, search.seed, search.workers, search.clock), PARAMETERS)
    except OutOfTimeError:
        return Reconstruction("no solution", None, None, None, None, False, None, statistics=figures)
    except InfeasibleError:
        return Reconstruction("infeasible", None, None, None, None, False, None, statistics=figures)
    known, settled = problem.known, drawn.settled and drawn.complete
    unknown = ~known[: len(drawn.guess)]
    optimum = None
    if prove and not search.timebox.over:
        value, label = drawn.likeliest
        optimum = find_optimum(problem, value[unknown], label[unknown], search)
    if optimum is not None and optimum.log_likelihood > drawn.log_likelihood + drawn.spread:
        # What was drawn may be stuck below. Where it is not, these datasets come down to it.
        value, label, present = problem.value.copy(), problem.label.copy(), known.copy()
        slots = np.flatnonzero(~known)[: len(optimum.label)]
        value[slots], label[slots], present[slots] = optimum.value, optimum.label, True
        start = value[present], label[present]
        again = sample_posterior(problem, search, PARAMETERS, lambda _: start, warm=True)
        if not (again.settled and again.complete):
            settled = False
        elif again.level > drawn.level:
            drawn, settled = again, settled or optimum.proved
    unknown = ~known[: len(drawn.guess)]
    likeliest, value, label = drawn.log_likelihood, drawn.likeliest[0][unknown], drawn.likeliest[1][unknown]
    if optimum is not None:
        likeliest, value, label = optimum.log_likelihood, optimum.value, optimum.label
    figures.update(drawn.figures)
    figures["log-likelihood"] = likeliest
    if optimum is not None:
        figures["bound of the log-likelihood"] = optimum.bound
    status: SolverStatus = "likeliest" if settled else "not converged"
    if settled and optimum is not None and optimum.proved:
        status = "optimal"
    return Reconstruction(
        status=status,
        rows=drawn.guess[unknown],
        consistent=problem.domain.encoded(value),
        labels=label,
        cells=None,
        free=drawn.free[unknown],
        ordered=False,
        residual=None,
        cut_short=not settled,
        log_posterior=drawn.log_likelihood + drawn.spread,
        log_likelihood=likeliest,
        bound=None if optimum is None else optimum.bound,
        statistics=figures,
    )
