"""The attack on forests that release labels only: rows that explain each leaf's label.

A leaf that holds more rows than another isn't more likely to have a given label, if the classes are equally
frequent: labels reveal attributes only through unequal shares of the classes and through what all trees say
of the one population that their rows come from. So the prior is that of a population with unknown shares, and whole
datasets are drawn from the posterior (`leaf_labels`) row by row (`label_sweeps`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pytest_draft.arrays import IntArray, Rows
from pytest_draft.artifact.forest import Forest
from pytest_draft.attack.consensus import MOST_ROWS, closest_to_all, consensus
from pytest_draft.attack.private.label_sweeps import LabelChain
from pytest_draft.attack.private.leaf_labels import LabelPopulation, LeafLabels, parts_by_size
from pytest_draft.attack.search import Search
from pytest_draft.domain import Domain
from pytest_draft.facts.reconstruction import Reconstruction
from pytest_draft.timebox import TimeBox


@dataclass(frozen=True)
class LabelSamplerParameters:
    """How many datasets are drawn, and how long chains are cooled."""

    chains: int = 4
    """Chains side by side."""
    sweeps: tuple[int, int] = (20, 1_000)
    """Fewest and most sweeps of a chain at the posterior's temperature."""
    effort: float = 10.0
    """Units of work of all chains, within `sweeps`."""
    temperatures: tuple[float, float] = (0.7, 0.1)
    """First and last one of cooling for the likeliest dataset."""
    cooling_sweeps: int = 12
    """Sweeps of cooling."""
    samples: int = 32
    """Datasets of all chains that are kept, from the later half of the sweeps."""
    sampling_share: float = 0.6
    """Share of what is left of the time box that sampling may take."""
    imagined: int = 8
    """Samples that guesses are compared with."""
    part_seconds: float = 0.2
    """About so long a part of a sweep takes, between which the time is looked at."""


_PARAMETERS = LabelSamplerParameters()


def rebuild_from_labels(forest: Forest, domain: Domain, n_rows: int, search: Search) -> Reconstruction:
    """Rebuild the rows of a forest that releases labels only.

    Parameters
    ----------
    forest : Forest
        That releases labels.
    domain : Domain
        Without numeric attributes.
    n_rows : int
        Of all trees together.

    Returns
    -------
    Reconstruction
        Its rows stand tree by tree. Nothing of it is determined: every attribute is free.

    Raises
    ------
    NotCoveredError
        For numeric attributes, and where nobody can tell how the rows were dealt out to the trees.
    """
    figures = search.clock.figures
    published = LeafLabels.of(forest, domain)
    population = LabelPopulation.of(domain, published.n_classes)
    parts = parts_by_size(n_rows, forest.n_trees)
    figures.update(leaves=len(published.label), rows=n_rows)
    if search.timebox.over:
        return Reconstruction("no solution", None, None, None, None, False, None, statistics=figures)
    chains = [
        LabelChain(published, population, forest, domain, parts, [search.seed, 8, c]) for c in range(_PARAMETERS.chains)
    ]
    cost = published.sweep_seconds(parts)
    n_parts = math.ceil(cost / _PARAMETERS.part_seconds)
    box = search.timebox.part(_PARAMETERS.sampling_share)
    n_sweeps = int(np.clip(min(_PARAMETERS.effort, box.effort_left) / _PARAMETERS.chains / cost, *_PARAMETERS.sweeps))
    every = math.ceil(n_sweeps * _PARAMETERS.chains / (2 * _PARAMETERS.samples))
    samples = []
    with search.threads() as each:

        def sweep(temperature: float, timebox: TimeBox) -> None:
            each(lambda chain: chain.sweep(temperature, n_parts, timebox), chains)
            timebox.spend(_PARAMETERS.chains * cost)
            search.clock.note("log-posterior", max(chain.best_log_posterior for chain in chains))

        with search.clock("sample"):
            for number in range(n_sweeps):
                if box.over:
                    break
                sweep(1.0, box)
                if number % every == every - 1:
                    samples += [chain.sample() for chain in chains]
        samples = samples[len(samples) // 2 :] or [chain.sample() for chain in chains]
        spread = _disagreement([chain.trace for chain in chains])
        if spread is not None:
            figures["disagreement of chains"] = spread
        with search.clock("cool"):
            for temperature in np.geomspace(*_PARAMETERS.temperatures, _PARAMETERS.cooling_sweeps).tolist():
                if search.timebox.over:
                    break
                sweep(temperature, search.timebox)
    best = max(chains, key=lambda chain: chain.best_log_posterior)
    with search.clock("agree"):
        guess = _agreed([domain.encoded(value) for value, _ in samples], parts, domain, search.timebox)
    value, label = best.best
    several = np.array([attribute.n_values > 1 for attribute in domain.attributes])
    return Reconstruction(
        status="likeliest",
        rows=guess,
        consistent=domain.encoded(value),
        labels=label,
        cells=None,
        free=np.tile(several, (n_rows, 1)),
        ordered=False,
        residual=None,
        cut_short=search.timebox.over,
        log_posterior=best.best_log_posterior,
        disagreement=spread,
        statistics=figures,
    )


def _agreed(samples: Sequence[Rows], parts: IntArray, domain: Domain, timebox: TimeBox) -> Rows:
    """Return the guess with the least expected error: a sample, or a consensus, within each tree's rows or of all."""
    if len(parts) > MOST_ROWS:
        return samples[0]
    imagined, others = samples[: len(samples) // 2][: _PARAMETERS.imagined], samples[len(samples) // 2 :]
    agreed = [consensus(others[0], others[1:], group, domain, timebox) for group in (parts, np.zeros_like(parts))]
    return closest_to_all([*agreed, others[0]], imagined, domain, timebox)


def _disagreement(traces: Sequence[Sequence[float]]) -> float | None:
    """Return by how much chains differ in their log-posterior: Gelman and Rubin's R-hat, 1 if alike; None for few."""
    length = min(len(trace) for trace in traces)
    kept = np.array([trace[length // 2 : length] for trace in traces])
    if kept.shape[1] < 2 or not kept.var(axis=1).all():
        return None
    return float(np.sqrt(1 + kept.mean(axis=1).var(ddof=1) / kept.var(axis=1, ddof=1).mean()))
