"""The attack on counts: a `Problem` becomes a `Reconstruction` with its status and residual."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from pytest_draft.arrays import BoolArray, FloatArray, IntArray
from pytest_draft.attack.consensus import MOST_ROWS, closest_to_all, consensus, expected_error
from pytest_draft.attack.counts.exact import ExactDatasets, Solution
from pytest_draft.attack.counts.integer import rounded
from pytest_draft.attack.counts.likeliest import Likely
from pytest_draft.attack.counts.prove import prove
from pytest_draft.attack.counts.solve import ByRow, solve
from pytest_draft.attack.filling import Filling
from pytest_draft.attack.problem import Problem
from pytest_draft.attack.refit import Evidence
from pytest_draft.attack.search import Search
from pytest_draft.attack.untested_values import Choices
from pytest_draft.errors import InfeasibleError, OutOfTimeError
from pytest_draft.facts.reconstruction import Reconstruction
from pytest_draft.facts.status import SolverStatus
from pytest_draft.matching import assigned, encoded_weights, matched
from pytest_draft.timebox import TimeBox


@dataclass(frozen=True)
class ReconstructParameters:
    """How many datasets are compared, and how many are refitted."""

    most_tries: int = 200
    """Most single open values that are tried by refitting."""
    most_tried_rows: int = 500_000
    """Most rows times trees that such tries refit: a few seconds for all of them."""
    patience: int = 20
    """Tries in a row without progress before they end."""
    proof_effort: float = 2.0
    """Units of work of the certificate."""
    imagined: int = 5
    """Ways to fill in open values that guesses are compared with."""
    most_assigned: int = 6_000
    """Most rows for which sums over groups are given out to rows: an assignment takes the cube of it."""
    imagined_of_each: int = 6
    """Samples of each search that guesses are compared with, with open values drawn and as likeliest."""
    credible: float = 3.0
    """How many times as far from the samples that ignore the occurrences as they are from each other others may be."""
    credible_by: int = 3
    """Samples of each search that this is measured by."""
    agree_share: float = 0.15
    """Of the attack's time so much more for giving out rows where the search was ended: what was found is worth little
    without that.
    """
    most_refitted_rows: int = 20_000_000
    """Most rows times trees that are refitted in all: an end that does not depend on the clock."""


_PARAMETERS = ReconstructParameters()


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
    figures = search.clock.figures
    figures.update(cells=problem.cells.n_cells, candidates=problem.n_candidates, groups=problem.groups.n_groups)
    ordered = problem.groups.ordered
    try:
        solution, weaker = solve(problem, search, alternatives=evidence is not None)
    except InfeasibleError:
        return Reconstruction("infeasible", None, None, None, None, ordered, None, statistics=figures)
    except OutOfTimeError:
        return Reconstruction("no solution", None, None, None, None, ordered, None, statistics=figures)
    with search.clock("fill"):
        draft = _Draft.of(problem, solution.rows, _filling(problem, solution.expected))
    asked = choices if not solution.residual and problem.groups.n_rows <= MOST_ROWS else None
    if asked is not None and not asked.grown_out:
        asked = None
    draft, score = _filled_in(draft, solution, None if solution.residual else evidence, asked, search)
    reported, guess = draft, draft.rows
    compared = weaker is not None and len(guess) <= MOST_ROWS and bool(solution.samples)
    if solution.residual and ordered and not compared and len(guess) <= _PARAMETERS.most_assigned:
        with search.clock("agree"), suppress(OutOfTimeError):
            reported = _summed(draft, solution.expected, search.timebox)
            guess = reported.rows
    if weaker is not None and compared:
        with search.clock("agree"):
            guess = _least_error(draft, solution, weaker, search)
    elif (
        weaker is None and solution.samples and score != len(problem.counts)
    ):  # else refitting has shown which dataset it is
        with search.clock("agree"):
            rng = np.random.default_rng([search.seed, 7])
            fills = [_Draft.of(problem, sample, draft.filling).ways(asked, rng, search) for sample in solution.samples]
            ways = _Ways([likeliest for likeliest, _ in fills], [drawn for _, drawn in fills])
            likeliest, _ = draft.ways(asked, rng, search)
            together = _in_row_order(problem, problem.pool[np.repeat(np.arange(problem.n_candidates), draft.chosen)])
            guess = _agreed(problem, draft.rows, likeliest, ways, together, search)
    free = ~problem.cells.determined[reported.cells]
    seen = seen_rows(problem)
    known = problem.groups.values.attributes if problem.groups.values is not None else ()
    free[~seen] = [attribute.n_values > 1 and a not in known for a, attribute in enumerate(problem.domain.attributes)]
    cut_short = search.timebox.over
    certificate = proved = provable = None
    listed = bool(solution.parts) or not (solution.lower < solution.upper).any()
    if problem.complete and not solution.residual and listed:
        box = replace(search, timebox=search.timebox.next(_PARAMETERS.proof_effort))
        proof = prove(problem, draft.chosen, solution.lower, solution.upper, solution.parts, box)
        certificate = proof.certificate
        proved, provable = (
            draft.filling.likeliest(np.repeat(np.arange(problem.cells.n_cells), number))
            for number in (proof.least, proof.most)
        )
    unique = solution.unique or (certificate is not None and certificate.unique is True and not ordered)
    status: SolverStatus = "not converged" if solution.residual else "consistent"
    if unique and not free.any():
        status = "unique"
    return Reconstruction(
        status=status,
        rows=guess,
        consistent=draft.rows,
        labels=reported.labels,
        cells=reported.cells,
        free=free,
        ordered=ordered,
        residual=solution.residual,
        reproduced_trees=score,
        cut_short=cut_short,
        certificate=certificate,
        proved=proved,
        provable=provable,
        seen=seen,
        statistics=figures,
    )


def _least_error(draft: _Draft, solution: Solution, weaker: ByRow, search: Search) -> NDArray[np.float32]:
    """Return the guess with the least expected error, among them that of somebody who ignores the occurrences.

    Nothing says which row is which, so rows are matched whatever group they are of. Both searches' samples stand in the
    truth's place, with open values drawn and as they are likeliest: rows that are drawn value by value
    are more spread out than people are, and likeliest ones less. Rows that miss counts and lie far from all that the
    draws allow confirm each other only, and have no vote. The guess's rows stand where those of the draft are nearest.
    """
    problem, filling = draft.problem, draft.filling
    first = _summed(draft, solution.expected).rows if problem.groups.ordered else draft.rows
    anywhere, rng = np.zeros(len(first), dtype=np.int64), np.random.default_rng([search.seed, 7])
    cells = [_placed(problem, sample)[0] for sample in solution.samples]
    ways = _Ways([filling.likeliest(cell) for cell in cells], [filling.drawn(cell, rng) for cell in cells])
    guesses = [first, draft.rows, *ways.agreed(first, first, anywhere, problem, search.timebox)]
    imagined = [ways]
    if weaker.likely is not None and not search.timebox.over:
        loose = _guessed(weaker.loose, weaker.likely, search)
        if solution.residual and not _credible(ways, loose.ways, problem, search):
            guesses, imagined = [], []
        guesses.append(loose.guess)
        imagined.append(loose.ways)
    best = closest_to_all(guesses, _worlds(imagined), problem.domain, search.timebox)
    nearest: NDArray[np.float32] = best[matched(draft.rows, best, encoded_weights(problem.domain))]
    return nearest


def _summed(draft: _Draft, expected: FloatArray, timebox: TimeBox | None = None) -> _Draft:
    """Return the dataset whose rows, summed over groups, are nearest to the expected ones.

    Where the relaxed dataset does not tell rows apart, each row's own likeliest candidate is often wrong; the sums over
    all rows are still sharp. They are rounded, and then given out to the rows that they are likeliest for.

    Raises
    ------
    OutOfTimeError
        Where a time box, and a share of it more, had ended before.
    """
    problem = draft.problem
    kind = problem.cell * problem.n_classes + problem.label
    kinds, of_candidate = np.unique(kind, return_inverse=True)
    everything = np.zeros(len(kinds), dtype=np.int64)
    total = np.bincount(of_candidate, expected).astype(np.float64)
    number = rounded(total, everything, np.array([problem.groups.n_rows]))
    slot = np.repeat(np.arange(len(kinds)), number)
    mass = sparse.csr_array((expected, (problem.group, of_candidate)), shape=(problem.groups.n_groups, len(kinds)))
    within = None
    if timebox is not None:
        within = replace(timebox, seconds=timebox.seconds * (1 + _PARAMETERS.agree_share), effort=math.inf)
        within.require()
    used, slot_of = np.unique(slot, return_inverse=True)
    cost = -mass[:, used].toarray()
    cost = cost[np.ix_(problem.groups.of_row, slot_of.reshape(-1))]
    cells, labels = np.divmod(kinds[slot[assigned(cost, within)]], problem.n_classes)
    return replace(draft, cells=cells, labels=labels, rows=draft.filling.likeliest(cells))


def seen_rows(problem: Problem) -> BoolArray:
    """Return which rows some tree has seen, as far as the adversary knows, shape (n_rows,)."""
    seen: BoolArray = np.any(problem.groups.weight > 0, axis=0)
    return seen[problem.groups.of_row]


@dataclass(frozen=True, eq=False, repr=False)
class _Guessed:
    """What the likeliest datasets make an adversary guess who does not know the occurrences."""

    guess: NDArray[np.float32]
    rows: NDArray[np.float32]
    cells: IntArray
    ways: _Ways


def _guessed(problem: Problem, likely: Likely, search: Search) -> _Guessed:
    """Fill in what cells leave open, and put samples together."""
    filling = _filling(problem, likely.expected)
    cells = _in_row_order(problem, problem.cell[likely.chosen])
    rng = np.random.default_rng([search.seed, 3])
    rows = guess = filling.nearest_to_all(cells, rng, search.timebox)
    ways = _Ways([], [])
    if len(rows) <= MOST_ROWS and len(likely.samples):
        rng = np.random.default_rng([search.seed, 7])
        sampled = [_in_row_order(problem, problem.cell[sample]) for sample in likely.samples]
        ways = _Ways([filling.likeliest(cell) for cell in sampled], [filling.drawn(cell, rng) for cell in sampled])
        guess = _agreed(problem, rows, filling.likeliest(cells), ways, problem.groups.of_row, search)
    return _Guessed(guess, rows, cells, ways)


@dataclass(frozen=True, eq=False, repr=False)
class _Ways:
    """Sampled datasets, with open values as they are likeliest and drawn."""

    likeliest: list[NDArray[np.float32]]
    drawn: list[NDArray[np.float32]]

    def agreed(
        self,
        likeliest: NDArray[np.float32],
        drawn: NDArray[np.float32],
        together: IntArray,
        problem: Problem,
        box: TimeBox,
    ) -> list[NDArray[np.float32]]:
        """Return the consensus of one dataset with the likeliest ones, and of another with the drawn ones."""
        return [
            consensus(first, others, together, problem.domain, box)
            for first, others in ((likeliest, self.likeliest), (drawn, self.drawn))
        ]


def _worlds(imagined: Sequence[_Ways]) -> list[NDArray[np.float32]]:
    """Return what stands in the truth's place: the last samples of each search, likeliest and drawn ones."""
    n_rows = len(imagined[0].drawn[0])
    most = _PARAMETERS.imagined_of_each if 2 * n_rows <= MOST_ROWS else _PARAMETERS.imagined_of_each // 2
    return [world for ways in imagined for each in (ways.likeliest, ways.drawn) for world in each[-most:]]


def _credible(known: _Ways, ignored: _Ways, problem: Problem, search: Search) -> bool:
    """Return whether a search's samples lie where those of the posterior do that ignores the occurrences.

    The truth is about as far from samples of its posterior as these are from each other. True where there are too few
    to tell.
    """
    near, own = known.likeliest[-_PARAMETERS.credible_by :], ignored.likeliest[-_PARAMETERS.credible_by :]
    if len(own) <= 1:
        return True
    away, spread = (
        np.mean([expected_error(rows, own, problem.domain, search.timebox) for rows in each]) for each in (near, own)
    )
    return bool(away <= _PARAMETERS.credible * spread * len(own) / (len(own) - 1))  # each is itself among its own


def _agreed(
    problem: Problem,
    rows: NDArray[np.float32],
    likeliest: NDArray[np.float32],
    ways: _Ways,
    together: IntArray,
    search: Search,
) -> NDArray[np.float32]:
    """Return the guess with the least expected error: the rows, as they are likeliest, or a consensus with samples.

    It is measured with open values as they are likeliest, too. By drawn ones alone, drawn rows are always good guesses;
    but a value often hangs on others, and where a tree does not ask for it, there can be but one.
    """
    guesses = [rows, likeliest, *ways.agreed(likeliest, rows, together, problem, search.timebox)]
    return closest_to_all(guesses, _worlds([ways]), problem.domain, search.timebox)


def _filling(problem: Problem, expected: FloatArray) -> Filling:
    """Return what expected rows of each candidate say of open attributes."""
    of_cell = np.zeros(problem.cells.n_cells)
    np.add.at(of_cell, problem.cell, expected)
    return Filling.of(problem.domain, problem.cells, of_cell)


def _in_row_order(problem: Problem, by_group: IntArray) -> IntArray:
    """Return what is found row by row, group by group, in the order of the rows."""
    result = np.empty_like(by_group)
    result[np.argsort(problem.groups.of_row, kind="stable")] = by_group
    return result


@dataclass(frozen=True, eq=False, repr=False)
class _Draft:
    """A whole dataset, candidate by candidate and row by row."""

    problem: Problem
    chosen: IntArray
    filling: Filling
    cells: IntArray
    labels: IntArray
    rows: NDArray[np.float32]

    @classmethod
    def of(cls, problem: Problem, chosen: IntArray, filling: Filling) -> _Draft:
        cells, labels = _placed(problem, chosen)
        return cls(problem, chosen, filling, cells, labels, filling.likeliest(cells))

    def explaining(
        self, choices: Choices, number: int, rng: np.random.Generator, timebox: TimeBox
    ) -> tuple[NDArray[np.float32], ...]:
        """Return ways to fill in the open values that explain what nodes chose, the likeliest first."""
        likeliest, belief = self.filling.likeliest(self.cells), self.filling.belief
        return choices.filled(self.cells, self.labels, likeliest, belief, number, rng, timebox)

    def ways(
        self, choices: Choices | None, rng: np.random.Generator, search: Search
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the rows with open values as they are likeliest, and drawn."""
        if choices is not None:
            fills = self.explaining(choices, 1, rng, search.timebox)
            if len(fills) > 1:
                return fills[0], fills[1]
        return self.filling.likeliest(self.cells), self.filling.drawn(self.cells, rng)

    def with_part(self, part: ExactDatasets, rows: IntArray) -> _Draft:
        """Return the dataset with one part of its candidates chosen otherwise."""
        chosen = self.chosen.copy()
        chosen[part.columns] = rows
        other = _Draft.of(self.problem, chosen, self.filling)
        same = other.cells == self.cells  # keeps what its open values were filled with
        return replace(other, rows=np.where(same[:, None], self.rows, other.rows))

    def with_value(self, row: int, attribute: int, value: int) -> _Draft:
        """Return the dataset with one open attribute of one row filled otherwise."""
        rows = self.rows.copy()
        encoded = self.problem.domain.attributes[attribute]
        rows[row, list(encoded.columns)] = encoded.encoded(np.array([value]))[0]
        return replace(self, rows=rows)


def _filled_in(
    draft: _Draft, solution: Solution, evidence: Evidence | None, choices: Choices | None, search: Search
) -> tuple[_Draft, int | None]:
    """Fill in what cells leave open, and say how many trees grow again; None where that is not tried.

    The first guess is the simplest, in which a column that no tree tests is constant. Where many trees that were grown
    out all grow again from it, it is confirmed, and nothing else is tried.
    """
    problem, score = draft.problem, None
    if evidence is not None and choices is not None and choices.many_grown_out and not search.timebox.over:
        with search.clock("refit"):
            score = evidence(draft.rows, draft.labels)
        if score == len(problem.counts):
            return draft, score
    with search.clock("fill"):
        rng = np.random.default_rng([search.seed, 3])
        fills = () if choices is None else draft.explaining(choices, _PARAMETERS.imagined, rng, search.timebox)
        if len(fills) > 1:
            guess = closest_to_all(fills, fills[1:], problem.domain, search.timebox)
        else:
            guess = draft.filling.nearest_to_all(draft.cells, rng, search.timebox)
    if evidence is not None and not search.timebox.over:
        fills = (*fills, draft.rows)
        with search.clock("refit"):
            return _best_supported(replace(draft, rows=guess), fills, solution.parts, evidence, search.timebox)
    return replace(draft, rows=guess), score


def _best_supported(
    draft: _Draft,
    fills: tuple[NDArray[np.float32], ...],
    parts: tuple[ExactDatasets, ...],
    evidence: Evidence,
    timebox: TimeBox,
) -> tuple[_Draft, int]:
    """Choose, part by part and then value by value, what the evidence supports most."""
    score = evidence(draft.rows, draft.labels)
    n_trees = len(draft.problem.counts)
    left = _PARAMETERS.most_refitted_rows // (
        n_trees * len(draft.rows)
    )  # tries, not seconds: the same on every machine

    def tried(candidate: _Draft) -> None:
        nonlocal draft, score, left
        left -= 1
        found = evidence(candidate.rows, candidate.labels)
        if found > score:
            draft, score = candidate, found

    def done() -> bool:
        return score == n_trees or left <= 0 or timebox.over

    for fill in fills:
        if done():
            return draft, score
        if (fill != draft.rows).any():
            tried(replace(draft, rows=fill))
    for part in parts:
        for rows in part.rows[1:]:
            if done():
                return draft, score
            tried(draft.with_part(part, rows))
    cells = draft.problem.cells
    openings = [
        (row, a, value)
        for row, a in np.argwhere(~cells.determined[draft.cells]).tolist()
        for value in np.flatnonzero(cells.allowed[draft.cells[row], cells.offsets[a] : cells.offsets[a + 1]]).tolist()
    ]
    if len(openings) <= _PARAMETERS.most_tries:
        left, waited = min(left, _PARAMETERS.most_tried_rows // (n_trees * len(draft.rows))), 0
        for row, a, value in openings:
            if done() or waited >= _PARAMETERS.patience:
                break
            before = score
            tried(draft.with_value(row, a, value))
            waited = 0 if score > before else waited + 1
    return draft, score


def _placed(problem: Problem, chosen: IntArray) -> tuple[IntArray, IntArray]:
    """Return the cell and the class of each row; the rows of a group share its candidates in turn."""
    candidate = np.repeat(np.arange(problem.n_candidates), chosen)  # ascending, so group by group
    return _in_row_order(problem, problem.cell[candidate]), _in_row_order(problem, problem.label[candidate])
