"""The attack on counts, from a `Problem` to a `Reconstruction`.

1. **Relax**: how many rows of each candidate are expected. Where the draws tell many rows apart, belief propagation
   says what each row may be (`counts/messages`), else groups are raked (`counts/relax`).
2. **Round, walk, repair**: whole rows that meet the counts, or come closest (`counts/exact`).
3. **Fill in** what no tree tells, by what nodes did not choose, and by refitting (`draft`).
4. **Agree**: datasets that are as likely make one guess, which is close to all of them (`consensus`).
5. **Prove** what holds of every dataset that meets the counts (`counts/prove`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pytest_draft.arrays import BoolArray, FloatArray, IntArray
from pytest_draft.attack.consensus import MOST_ROWS, Ways, agreed
from pytest_draft.attack.counts.exact import Solution, solve_exactly
from pytest_draft.attack.counts.integer import anneal
from pytest_draft.attack.counts.messages import Believed, believe
from pytest_draft.attack.counts.prove import Proof, prove
from pytest_draft.attack.draft import Draft, filling_of, in_row_order
from pytest_draft.attack.filling import prior_mass
from pytest_draft.attack.problem import Problem
from pytest_draft.attack.refit import Evidence
from pytest_draft.attack.search import Search
from pytest_draft.attack.untested_values import Choices
from pytest_draft.errors import InfeasibleError, OutOfTimeError
from pytest_draft.facts.reconstruction import Reconstruction
from pytest_draft.facts.status import SolverStatus
from pytest_draft.matching import encoded_weights, matched


@dataclass(frozen=True)
class SolveParameters:
    """Which problems are searched row by row, and what each step may take."""

    fewest_groups: int = 9
    """With fewer groups, occurrences hardly distinguish rows, and integer programs do better."""
    most_coefficients: int = 3_000_000
    """Coefficients of the equations above which only the likeliest candidates of each row are repaired."""
    repair_share: float = 0.4
    """Share of the time that is left for repairs of rows that were believed one by one."""
    samples: int = 8
    """Other datasets that are drawn for the consensus."""
    proof_effort: float = 2.0
    """Units of work of the certificate."""


_PARAMETERS = SolveParameters()


def reconstruct(
    problem: Problem, search: Search, evidence: Evidence | None = None, choices: Choices | None = None
) -> Reconstruction:
    """Rebuild the training data of a problem.

    Parameters
    ----------
    search : Search
        Its time box, seed and threads.
    evidence : callable or None
        Says how well a dataset explains what the counts leave open; chooses among datasets that meet all
        counts.
    choices : Choices or None
        What the forest's nodes chose, which reveals values that no test fixes.
    """
    figures, groups = search.clock.figures, problem.groups
    figures.update(cells=problem.cells.n_cells, candidates=problem.n_candidates, groups=groups.n_groups)
    try:
        solution = _solved(problem, search, alternatives=evidence is not None)
    except InfeasibleError:
        return Reconstruction("infeasible", None, None, None, None, groups.ordered, None, statistics=figures)
    except OutOfTimeError:
        return Reconstruction("no solution", None, None, None, None, groups.ordered, None, statistics=figures)
    with search.clock("fill"):
        draft = Draft.of(problem, solution.rows, filling_of(problem, solution.expected))
    asked = None
    if choices is not None and choices.grown_out and not solution.residual and groups.n_rows <= MOST_ROWS:
        asked = choices
    draft, score = draft.filled_in(asked, None if solution.residual else evidence, solution.parts, search)
    guess = draft.rows
    if solution.samples and score != len(problem.counts):  # else refitting has shown which dataset it is
        with search.clock("agree"):
            guess = _agreed(draft, solution, asked, search)
    cut_short = search.timebox.over
    proof = _proved(draft, solution, search)
    certificate = None if proof is None else proof.certificate
    free = _free(draft)
    unique = solution.unique or (certificate is not None and certificate.unique is True and not groups.ordered)
    status: SolverStatus = "not converged" if solution.residual else "consistent"
    if unique and not free.any():
        status = "unique"
    proved = provable = None
    if proof is not None:
        proved, provable = (
            draft.filling.likeliest(np.repeat(np.arange(problem.cells.n_cells), number))
            for number in (proof.least, proof.most)
        )
    return Reconstruction(
        status=status,
        rows=guess,
        consistent=draft.rows,
        labels=draft.labels,
        cells=draft.cells,
        free=free,
        ordered=groups.ordered,
        residual=solution.residual,
        reproduced_trees=score,
        cut_short=cut_short,
        certificate=certificate,
        proved=proved,
        provable=provable,
        seen=seen_rows(problem),
        statistics=figures,
    )


def _solved(problem: Problem, search: Search, *, alternatives: bool) -> Solution:
    """Return the whole dataset with the smallest residual that was found; of an incomplete problem it is never unique.

    Parameters
    ----------
    alternatives : bool
        Whether other datasets that meet the counts are listed.

    Raises
    ------
    InfeasibleError
        Proved: no dataset meets the counts.
    OutOfTimeError
        The time was out before there was a dataset.
    """
    believed = believe(problem, prior_mass(problem), search) if _tells_rows_apart(problem) else None
    if believed is None:
        found = _by_group(problem, search, alternatives=alternatives)
    else:
        found = _by_row(problem, believed, search, alternatives=alternatives)
    return replace(found, unique=found.unique and problem.complete)


def _tells_rows_apart(problem: Problem) -> bool:
    """Return whether a problem has many rows, and occurrences that tell them apart."""
    groups = problem.groups
    many = problem.distinct is not None and groups.ordered and groups.n_groups >= _PARAMETERS.fewest_groups
    return many and not (problem.cells.signature < 0).any()


def _by_group(
    problem: Problem, search: Search, mass: FloatArray | None = None, *, alternatives: bool = False
) -> Solution:
    """Solve the equations, from expected rows of each candidate where these are known."""
    n_samples = _PARAMETERS.samples if mass is None and problem.groups.n_rows <= MOST_ROWS else 0
    return solve_exactly(
        problem.system,
        problem.pool,
        problem.pool_size,
        prior_mass(problem),
        search,
        alternatives=alternatives,
        n_samples=n_samples,
        mass=mass,
    )


def _by_row(problem: Problem, believed: Believed, search: Search, *, alternatives: bool) -> Solution:
    """Solve the equations from what is believed of each row; of very many, those of the likeliest candidates."""
    box = replace(search, timebox=search.timebox.part(_PARAMETERS.repair_share))
    mass = believed.mass
    if problem.complete and problem.n_coefficients <= _PARAMETERS.most_coefficients:
        found = _by_group(problem, box, mass, alternatives=alternatives)
    else:
        found = _of_likeliest(problem, believed, box)
    samples: tuple[IntArray, ...] = ()
    settled = found.unique or (believed.rich and not found.residual)
    if not settled and problem.groups.n_rows <= MOST_ROWS:
        rng = np.random.default_rng([search.seed, 34])
        samples = tuple(believed.drawn(rng) for _ in range(_PARAMETERS.samples))
    return replace(found, expected=mass if found.residual else found.expected, samples=samples)


def _of_likeliest(problem: Problem, believed: Believed, search: Search) -> Solution:
    """Repair a dataset among the likeliest candidates of each row."""
    mass = believed.mass
    per_candidate = problem.n_coefficients / problem.n_candidates
    most = int(_PARAMETERS.most_coefficients / per_candidate)
    likely = np.argsort(-mass, kind="stable")[:most]
    columns = np.union1d(likely[mass[likely] > 0], np.flatnonzero(believed.likeliest))
    part = replace(problem, group=problem.group[columns], cell=problem.cell[columns], label=problem.label[columns])
    try:
        rows = _by_group(part, search, mass[columns]).rows
    except InfeasibleError:
        start, rng = believed.likeliest[columns], np.random.default_rng([search.seed, 35])
        rows, _ = anneal(part.system, start, mass[columns], part.pool, 10.0, rng, search.timebox)
    whole = np.zeros(problem.n_candidates, dtype=np.int64)
    whole[columns] = rows
    return _plain(problem, whole, mass, part.system.missed(rows))


def _plain(problem: Problem, rows: IntArray, expected: FloatArray, residual: int) -> Solution:
    """Return a dataset of which nothing is proved."""
    most = problem.pool_size[problem.pool]
    return Solution(rows, expected, residual, most * 0, most, (), False)


def _agreed(draft: Draft, solution: Solution, choices: Choices | None, search: Search) -> NDArray[np.float32]:
    """Return one guess that is close to all datasets that are as likely.

    Where draws tell rows apart, they are matched whatever group they are of, as the error is measured; the guess's rows
    then stand where those of the draft are nearest.
    """
    problem, box = draft.problem, search.timebox
    rng = np.random.default_rng([search.seed, 7])
    fills = [Draft.of(problem, sample, draft.filling).ways(choices, rng, box) for sample in solution.samples]
    ways = Ways([likeliest for likeliest, _ in fills], [drawn for _, drawn in fills])
    likeliest, _ = draft.ways(choices, rng, box)
    if not problem.groups.ordered:
        pool = in_row_order(problem, problem.pool[np.repeat(np.arange(problem.n_candidates), draft.chosen)])
        return agreed(draft.rows, likeliest, ways, pool, problem.domain, box)
    best = agreed(draft.rows, likeliest, ways, np.zeros(len(likeliest), dtype=np.int64), problem.domain, box)
    nearest: NDArray[np.float32] = best[matched(draft.rows, best, encoded_weights(problem.domain))]
    return nearest


def _proved(draft: Draft, solution: Solution, search: Search) -> Proof | None:
    """Return what can be proved, where all datasets are known or listed."""
    listed = bool(solution.parts) or not (solution.lower < solution.upper).any()
    if not draft.problem.complete or solution.residual or not listed:
        return None
    box = replace(search, timebox=search.timebox.next(_PARAMETERS.proof_effort))
    return prove(draft.problem, draft.chosen, solution.lower, solution.upper, solution.parts, box)


def _free(draft: Draft) -> BoolArray:
    """Return which values of which rows the counts leave open, shape (n_rows, n_attributes)."""
    problem = draft.problem
    free: BoolArray = ~problem.cells.determined[draft.cells]
    values = problem.groups.values
    known = () if values is None else values.attributes
    free[~seen_rows(problem)] = [
        attribute.n_values > 1 and a not in known for a, attribute in enumerate(problem.domain.attributes)
    ]
    return free


def seen_rows(problem: Problem) -> BoolArray:
    """Return which rows some tree has seen, as far as the adversary knows, shape (n_rows,)."""
    seen: BoolArray = np.any(problem.groups.weight > 0, axis=0)
    return seen[problem.groups.of_row]
