"""What all trees reveal together: narrower bounds of an `Entropy`, from the attack's problem.

A world is a consistent dataset: how many rows each cell holds, and a vector of the cell for each of them. Where it is
proved how many rows each cell holds (`Reconstruction.status` ``unique``), no more is left than the vectors of these
cells; without bagging the worlds are just these, and their entropy is known exactly.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pytest_draft.attack.problem import Problem
from pytest_draft.data.individuals import hundredths
from pytest_draft.facts.entropy import Between, Entropy
from pytest_draft.facts.reconstruction import Reconstruction


def together(entropy: Entropy, problem: Problem, reconstruction: Reconstruction | None = None) -> Entropy:
    """Narrow what is left under all trees together by what the attack knows.

    Parameters
    ----------
    entropy : Entropy
        Of a forest of several trees.
    problem : Problem
        With exact noise, and all rows unknown.
    reconstruction : Reconstruction or None
        Where it is ``unique`` and each tree saw all rows, the entropy is known exactly, but for what thresholds reveal.
    """
    upper = min(entropy.ratio.upper, most_left(problem) / (problem.groups.n_rows * entropy.bits))
    if reconstruction is not None and reconstruction.status == "unique" and reconstruction.cells is not None:
        ratios = np.minimum(1.0, np.log2(problem.cells.n_vectors[reconstruction.cells]) / entropy.bits)
        exact = float(ratios.mean())
        if not _each_saw_all(problem):
            upper = min(upper, exact)
            return replace(entropy, ratio=Between(min(entropy.ratio.lower, upper), upper))
        row = float(ratios.min())
        return replace(
            entropy,
            ratio=Between(min(entropy.ratio.lower, exact) if entropy.telling else exact, exact),
            lowest_row=Between(min(entropy.lowest_row.lower, row) if entropy.telling else row, row),
            measured_on="all trees together",
            dist=None,
            quantiles=hundredths(ratios),
            groups=(),
            most_exposed=(),
        )
    return replace(entropy, ratio=Between(min(entropy.ratio.lower, upper), upper))


def most_left(problem: Problem) -> float:
    """Return an upper bound of the joint entropy, in bits, by what each row can be after domain reduction.

    Without bagging a row is of a known class, and in a known leaf of one tree: the tree that leaves least is taken.
    With known occurrences, a row is known by the trees that have drawn it.

    Parameters
    ----------
    problem : Problem
        With exact noise and all candidates.
    """
    vectors = problem.cells.n_vectors[problem.cell].astype(np.float64)
    groups = problem.groups
    if _each_saw_all(problem):
        bits = []
        for t, counts in enumerate(problem.counts):
            held = np.zeros(counts.shape)
            np.add.at(held, (problem.cells.signature[t, problem.cell], problem.label), vectors)
            some = counts > 0
            bits.append(float(counts[some] @ np.log2(held[some])))
        return min(bits)
    group, cell = np.divmod(
        np.unique(problem.group.astype(np.int64) * problem.cells.n_cells + problem.cell), problem.cells.n_cells
    )
    of_group = np.bincount(group, problem.cells.n_vectors[cell].astype(np.float64), minlength=groups.n_groups)
    return float(groups.size @ np.log2(of_group))


def _each_saw_all(problem: Problem) -> bool:
    """Return whether each tree saw each row once."""
    return problem.groups.n_groups == 1 and bool((problem.groups.weight == 1).all())
