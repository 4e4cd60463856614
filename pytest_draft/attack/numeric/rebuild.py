"""The attack on numeric and mixed data: in goes a `NumericProblem`, out comes a `Reconstruction`.

Several chains anneal from random starts (`chain`), each with a prior that it learns on the way (`prior`); what they
visit when they are cold are samples, and the guess is the dataset that is closest to all of them. How
strong the prior is, is chosen by the file itself: by how well short runs foresee the counts of trees that they were not
shown. Where a regressor's targets tell which row is in which leaf, there is nothing to search: the guess follows from
`ValueBounds`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from pytest_draft.arrays import BoolArray, FloatArray, Int32Array
from pytest_draft.attack.compiled_trees import NONE
from pytest_draft.attack.moves import attributes_tested
from pytest_draft.attack.numeric.beliefs import Beliefs
from pytest_draft.attack.numeric.chain import AnnealingChain, Window, best_of, random_start, units_of_a_sweep
from pytest_draft.attack.numeric.dataset import Dataset, fill
from pytest_draft.attack.numeric.energy import NodeArrays, missed
from pytest_draft.attack.numeric.midpoints import ValueBounds
from pytest_draft.attack.numeric.parameters import AGREEMENT, ANNEALING, BELIEFS, PILOT
from pytest_draft.attack.numeric.prior import Prior
from pytest_draft.attack.numeric.problem import NumericProblem
from pytest_draft.attack.search import Search
from pytest_draft.facts.reconstruction import Reconstruction
from pytest_draft.matching import assigned, distances_of


def rebuild_numeric(problem: NumericProblem, search: Search) -> Reconstruction:
    """Rebuild the training data of numeric and mixed columns, anytime.

    Returns
    -------
    Reconstruction
        ``consistent`` where nothing is missed: no count, no midpoint, no extreme; else ``not converged``. Of a
        regressor whose rows are identified, the residual is that of the counts alone. Random rows where there was no
        time to search.
    """
    figures = search.clock.figures
    figures.update(nodes=len(problem.nodes.weight), states=int(problem.states.n_states.sum()))
    if problem.extremes is not None:
        figures["nodes decodable"] = problem.extremes.decodable
        figures["nodes decoded"] = problem.extremes.decoded
    seen = np.any(problem.times[:, : problem.n_unknown] > 0, axis=0)
    if problem.bounds is not None:
        figures["leaves identified"] = float(problem.leaves_known)
        if problem.rows_identified:
            return _from_bounds(problem, problem.bounds, seen, figures)
    prior = uninformed_prior(problem)
    beliefs: list[Beliefs] = []
    if Beliefs.apply(problem, _units_left(search) * BELIEFS.share):
        strength = PILOT.strengths[1]
        prior = replace(prior, strength=strength)
        with search.clock("believe"):
            beliefs = _believed(problem, prior, search)
        n_chains = _n_chains(_units_left(search) / units_of_a_sweep(problem))
        figures["rounds"] = float(sum(one.rounds for one in beliefs))
    else:
        with search.clock("pilot"):
            strength, n_chains = _pilot(problem, prior, search)
        prior = replace(prior, strength=strength)
    figures["prior strength"] = strength
    rng = np.random.default_rng([search.seed, 24])
    starts = [beliefs[c % len(beliefs)].draw(rng) if beliefs else None for c in range(n_chains)]
    chains = [
        AnnealingChain(problem, problem.nodes, prior, [search.seed, 21, c], start) for c, start in enumerate(starts)
    ]
    with search.clock("anneal"):
        box = search.timebox
        _run(chains, search, box.remaining * ANNEALING.share, box.effort_left)
    chains = [chain for chain in chains if chain.best is not None] or chains[:1]
    chains[0].finish()
    best = min(chains, key=lambda chain: best_of(chain)[0])
    residual, state, label = best_of(best)
    search.clock.note("residual", residual)
    figures["sweeps"] = float(sum(chain.sweeps for chain in chains))
    with search.clock("agree"):
        guess, n_samples = _agreed(problem, best, chains, beliefs, np.random.default_rng([search.seed, 23]))
    figures["samples"] = float(n_samples)
    n = problem.n_unknown
    free = ~attributes_tested(problem.nodes.walks, state, problem.times)[:n]
    free &= (problem.state[:n] < 0) & (problem.states.n_states > 1)
    certain = None
    if problem.bounds is not None:
        guess = np.clip(guess, problem.bounds.lower, problem.bounds.upper).astype(np.float32)
        certain = _by_attribute(problem, problem.bounds.certain)
    return Reconstruction(
        status="consistent" if residual == 0 else "not converged",
        rows=guess,
        consistent=_encoded_rows(problem, _guessed(problem, state[:n])),
        labels=label[:n].astype(np.int64),
        cells=None,
        free=free,
        ordered=problem.ordered,
        residual=residual,
        cut_short=sum(best_of(chain)[0] == 0 for chain in chains) < min(ANNEALING.enough_met, len(chains)),
        seen=seen,
        certain=certain,
        proved_values=problem.proved_values or None,
        statistics=figures,
    )


def _from_bounds(
    problem: NumericProblem, bounds: ValueBounds, seen: BoolArray, figures: dict[str, float]
) -> Reconstruction:
    """Return rows whose leaves are known everywhere, so that there is nothing to search."""
    middle = np.empty(problem.state.shape)
    for a, attribute in enumerate(problem.domain.attributes):
        columns = list(attribute.columns)
        support = (bounds.lower + bounds.upper)[:, columns]
        middle[:, a] = support.argmax(axis=1)
        if attribute.dropped:
            middle[support.max(axis=1) <= 0, a] = len(columns)
        if attribute.kind != "one-hot":
            low, high = bounds.lower[:, columns[0]], bounds.upper[:, columns[0]]
            middle[:, a] = np.clip(problem.states.rounded(a, (low + high) / 2), low, high)
    rows = _encoded_rows(problem, middle)
    unbounded = np.ptp(np.stack([bounds.lower, bounds.upper]), axis=0) == problem.domain.ranges
    residual = _missed_counts(problem, rows)
    return Reconstruction(
        status="not converged" if residual else "consistent",
        rows=rows,
        consistent=rows,
        labels=problem.label.astype(np.int64),
        cells=None,
        free=_by_attribute(problem, unbounded) & (problem.states.n_states > 1),
        ordered=problem.ordered,
        residual=residual,
        cut_short=not bounds.complete,
        seen=seen,
        certain=_by_attribute(problem, bounds.certain),
        proved_values=problem.proved_values or None,
        statistics=figures,
    )


def _missed_counts(problem: NumericProblem, rows: NDArray[np.float32]) -> int:
    """Return how far rows are from the counts at the leaves."""
    data = random_start(problem, uninformed_prior(problem), np.random.default_rng(0))
    data.state[:] = np.maximum(problem.states.of_rows(rows), 0)
    fill(problem.nodes, data)
    return int(missed(problem.nodes, data)[0])


def _by_attribute(problem: NumericProblem, of_column: BoolArray) -> BoolArray:
    """Return what holds of all columns of each attribute, shape (n_rows, n_attributes)."""
    attributes = problem.domain.attributes
    return np.stack([of_column[:, list(attribute.columns)].all(axis=1) for attribute in attributes], axis=1)


def _run(chains: Sequence[AnnealingChain], search: Search, seconds: float, units: float) -> None:
    """Anneal chains, as many at a time as there are threads; each has its part of the time."""
    side_by_side = min(search.workers, len(chains))
    rounds = -(-len(chains) // side_by_side)

    def cool(chain: AnnealingChain) -> None:
        chain.cool(Window.of(search.timebox, seconds / rounds, units / len(chains)))
        if chain.sweeps:
            chain.finish()

    with search.threads() as each:
        each(cool, chains)
    search.timebox.spend(sum(chain.spent for chain in chains))


def _believed(problem: NumericProblem, prior: Prior, search: Search) -> list[Beliefs]:
    """Return what is believed of the rows, by one search after the other from nothing, while there is time."""
    box = search.timebox
    until, units = box.elapsed + box.remaining * BELIEFS.share, box.effort_left * BELIEFS.share
    found: list[Beliefs] = []
    while not found or (box.elapsed < until and units > 0):
        beliefs = Beliefs(problem, prior, [search.seed, 25, len(found)])
        beliefs.improve(Window.of(box, until - box.elapsed, units), search)
        box.spend(beliefs.spent)
        units -= beliefs.spent
        if found and beliefs.rounds < BELIEFS.fewest_rounds:
            break
        found.append(beliefs)
    return found


def _units_left(search: Search) -> float:
    """Return about how many units of work there is time for."""
    return min(search.timebox.remaining * search.workers, search.timebox.effort_left)


def _n_chains(sweeps: float) -> int:
    """Return over how many chains so many sweeps are spread."""
    return int(np.clip(sweeps / PILOT.sweeps_a_chain, PILOT.fewest_chains, PILOT.most_chains))


def _pilot(problem: NumericProblem, prior: Prior, search: Search) -> tuple[float, int]:
    """Return the strength with which short runs best foresee the counts of hidden trees, and how many chains to run."""
    n_trees = problem.nodes.walks.n_trees
    box = search.timebox
    seconds, units = box.remaining * PILOT.share, box.effort_left * PILOT.share
    sweep_units = units_of_a_sweep(problem)
    if sweep_units * PILOT.least_sweeps * len(PILOT.strengths) > min(seconds * search.workers, units):
        return PILOT.strengths[1], PILOT.fewest_chains
    hidden = np.zeros(n_trees, dtype=bool)
    if n_trees >= PILOT.least_trees:
        hidden[PILOT.every_hidden - 1 :: PILOT.every_hidden] = True
    nodes, of_hidden = _without(problem.nodes, hidden)
    chains = [AnnealingChain(problem, nodes, replace(prior, strength=s), [search.seed, 22]) for s in PILOT.strengths]
    _run(chains, replace(search, timebox=box.part(2 * PILOT.share)), seconds, units)
    sweeps = sum(chain.sweeps for chain in chains) * (1 / PILOT.share - 1)
    n_chains = PILOT.fewest_chains if problem.extremes is not None else _n_chains(sweeps)
    if not hidden.any() or box.over or any(chain.best is None for chain in chains):
        return PILOT.strengths[1], n_chains
    surprise = [_surprise(problem, chain, of_hidden) for chain in chains]
    return PILOT.strengths[int(np.argmin(surprise))], n_chains


def _without(nodes: NodeArrays, hidden: BoolArray) -> tuple[NodeArrays, BoolArray]:
    """Return nodes of which those of some trees weigh nothing, and which they are."""
    of_tree = np.repeat(np.arange(nodes.walks.n_trees), np.diff(nodes.walks.root))
    gone = hidden[of_tree]
    return nodes._replace(
        weight=np.where(gone, 0.0, nodes.weight),
        twice=np.where(gone, np.nan, nodes.twice),
        lowest=np.where(gone, NONE, nodes.lowest).astype(np.int32),
        highest=np.where(gone, NONE, nodes.highest).astype(np.int32),
    ), gone


def _surprise(problem: NumericProblem, chain: AnnealingChain, hidden: BoolArray) -> float:
    """Return how far the mean of a chain's samples is from the counts at the leaves of hidden trees."""
    leaves = hidden & problem.nodes.walks.leaves
    total = np.zeros((int(leaves.sum()), problem.n_classes))
    for sample in chain.samples:
        state = np.concatenate([sample, chain.data.state[problem.n_unknown :]])
        data = Dataset.of(chain.nodes, problem.times, state, chain.data.label, 0)
        fill(chain.nodes, data)
        total += data.draws[leaves]
    return float(np.abs(total / len(chain.samples) - problem.nodes.count[leaves]).sum())


def uninformed_prior(problem: NumericProblem) -> Prior:
    """Return what is likely before anything is learnt: each interval between thresholds as any other."""
    base, smooth = [], []
    for a, attribute in enumerate(problem.domain.attributes):
        share = np.ones(problem.states.n_states[a])
        if attribute.kind == "numeric":
            low, high = problem.states.low[a], problem.states.high[a]
            point = low == high
            if attribute.columns[0] not in problem.proved_values:
                inside = np.searchsorted(problem.states.cuts[a], high, side="left")
                share /= np.bincount(inside, point if point.any() else None, len(inside) + 1)[inside].clip(1)
            if point.any():
                share[~point & ~np.isnan(low)] = ANNEALING.between_known
        base.append(share / share.sum())
        smooth.append(attribute.kind == "numeric" and not attribute.missing)
    return Prior(0.0, tuple(base), tuple(smooth))


def _agreed(
    problem: NumericProblem,
    best: AnnealingChain,
    chains: Sequence[AnnealingChain],
    beliefs: Sequence[Beliefs],
    rng: np.random.Generator,
) -> tuple[NDArray[np.float32], int]:
    """Return the dataset that is closest to all samples, after matching rows to rows, and how many samples that were.

    The error is measured after a matching, so that the median of what each row was is not the best guess: it draws
    rows together. Each round matches every sample to the guess, and takes the median of what was matched to each row.
    Of very many rows, or such that the adversary knows something of, each is taken for itself; where nothing tells them
    apart, of the best chain only. Where rows were placed by a beam, a part of the samples is drawn from that: chains
    that begin there are surer of themselves than they are right. Where several rows are in one interval, they are
    spread over it: all in its middle would be farther away.
    """
    n = problem.n_unknown
    together = n <= AGREEMENT.most_rows and not (problem.state[:n] >= 0).any()
    n_samples = int(np.clip(AGREEMENT.cubes / n**3, *AGREEMENT.n_samples))
    drawn = []
    for chain in chains:
        if chain is best or problem.ordered or together:
            kept = np.unique(np.linspace(0, len(chain.samples) - 1, max(1, n_samples // len(chains))).round())
            drawn += [_spread(problem, chain.samples[int(i)], rng) for i in kept]
    if beliefs:
        n_drawn = max(1, round(len(drawn) * AGREEMENT.of_beliefs / (1 - AGREEMENT.of_beliefs)))
        drawn += [_spread(problem, beliefs[i % len(beliefs)].draw(rng)[0][:n], rng) for i in range(n_drawn)]
    guess = _median(problem, drawn) if problem.ordered or not together else _middle(problem, best_of(best)[1][:n])
    for _ in range(AGREEMENT.rounds if together else 0):
        place = _scaled(problem, guess)
        partner = [assigned(distances_of(place, _scaled(problem, one))) for one in drawn]
        guess = _median(problem, [one[of_row] for one, of_row in zip(drawn, partner, strict=True)])
    for a, attribute in enumerate(problem.domain.attributes):
        if attribute.kind != "one-hot":
            guess[:, a] = problem.states.rounded(a, guess[:, a])
    return _encoded_rows(problem, guess), len(drawn)


def _median(problem: NumericProblem, drawn: Sequence[FloatArray]) -> FloatArray:
    """Return the median of each attribute of each row, missing where it mostly is; without an order the commonest."""
    middle = np.empty_like(drawn[0])
    for a, attribute in enumerate(problem.domain.attributes):
        of_attribute = np.stack([values[:, a] for values in drawn])
        if attribute.kind not in ("numeric", "ordinal"):
            middle[:, a] = _commonest(of_attribute)
            continue
        if not attribute.missing:
            middle[:, a] = np.median(of_attribute, axis=0)
            continue
        missing = np.isnan(of_attribute).mean(axis=0) > 0.5
        middle[~missing, a] = np.nanmedian(of_attribute[:, ~missing], axis=0)
        middle[missing, a] = np.nan
    return middle


def _scaled(problem: NumericProblem, middle: FloatArray) -> FloatArray:
    """Return encoded rows in units of the ranges; what is missing lies outside."""
    ranges = problem.domain.ranges
    rows: FloatArray = _encoded_rows(problem, middle) / np.where(ranges > 0, ranges, 1.0)
    return np.where(np.isnan(rows), np.nanmin(rows, axis=0, initial=0.0) - 1, rows)


def _commonest(values: FloatArray) -> FloatArray:
    """Return the commonest value of each row, shape (n_rows,), of samples of shape (n_samples, n_rows)."""
    ordered = np.sort(values, axis=0)
    result: FloatArray = ordered[0].copy()
    most = times = np.ones(values.shape[1], dtype=np.int64)
    for before, here in pairwise(ordered):
        times = np.where((here == before) | (np.isnan(here) & np.isnan(before)), times + 1, 1)
        result, most = np.where(times > most, here, result), np.maximum(times, most)
    return result


def _middle(problem: NumericProblem, state: Int32Array) -> FloatArray:
    """Return the middle of each state, shape (n_rows, n_attributes)."""
    return np.stack([middle[state[:, a]] for a, middle in enumerate(problem.states.middle)], axis=1)


def _spread(problem: NumericProblem, state: Int32Array, rng: np.random.Generator) -> FloatArray:
    """Return a value of each state, evenly spread over the interval where several rows are in one."""
    values = _middle(problem, state)
    for a, attribute in enumerate(problem.domain.attributes):
        if attribute.kind != "numeric":
            continue
        here = state[:, a]
        order = rng.permutation(len(here))
        order = order[np.argsort(here[order], kind="stable")]
        first = np.searchsorted(here[order], here[order])
        share = (np.arange(len(here)) - first + 0.5) / np.bincount(here)[here[order]]
        low, high = problem.states.low[a][here[order]], problem.states.high[a][here[order]]
        values[order, a] = low + (high - low) * share
    return values


def _guessed(problem: NumericProblem, state: Int32Array) -> FloatArray:
    """Return a value that each state holds, shape (n_rows, n_attributes)."""
    values = _middle(problem, state)
    for a, attribute in enumerate(problem.domain.attributes):
        if attribute.kind == "numeric":
            values[:, a] = problem.states.guess(a, state[:, a].astype(np.int64))
    return values


def _encoded_rows(problem: NumericProblem, values: FloatArray) -> NDArray[np.float32]:
    """Return encoded rows, known values as they are; of a one-hot group, the value is the column's position."""
    rows = np.zeros((len(values), problem.domain.n_columns), dtype=np.float32)
    for a, attribute in enumerate(problem.domain.attributes):
        if attribute.kind == "one-hot":
            rows[:, list(attribute.columns)] = attribute.encoded(values[:, a].astype(np.int64))
        else:
            rows[:, attribute.columns[0]] = values[:, a]
    return np.where(np.isnan(problem.given), rows, problem.given)
