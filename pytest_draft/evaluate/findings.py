"""The figures of a judgement: in go a reconstruction and the truth, out come `Findings`, aggregates only."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pytest_draft.attack.reconstruct import Reconstruction
from pytest_draft.data import TrainingData
from pytest_draft.domain import Domain
from pytest_draft.evaluate.baselines import Baseline, random_baseline, split_half_baseline
from pytest_draft.evaluate.identity import Identity
from pytest_draft.matching import (
    Distance,
    Rows,
    encoded_weights,
    matched_distance,
    original_weights,
    row_identities,
    unmatched,
)
from pytest_draft.timebox import TimeBox

NEARLY_CONSTANT = 0.95
"""A column in which the commonest value has at least this share says nothing of nearly everybody."""


@dataclass(frozen=True)
class Told:
    """The same figures without (nearly) constant attributes that the forest never tests.

    Such an attribute can only be guessed, and says nothing of anybody; but a wrong guess is wrong in every row,
    and would hide that all the rest is right.

    Attributes
    ----------
    columns : int
        Encoded columns that are left.
    error : Distance
    perfect_rows : int
    split_half : Baseline
    """

    columns: int
    error: Distance
    perfect_rows: int
    split_half: Baseline


@dataclass(frozen=True)
class Findings:
    """How close a reconstruction comes to the training data. All errors are the attacker's: low is bad.

    Attributes
    ----------
    n_rows : int
        Training rows.
    error : Distance
        Reconstruction error on encoded columns, the papers' number.
    original_error : Distance
        The same on original attributes: a one-hot group counts once.
    perfect_rows : int
        Size of the multiset intersection of reconstructed and true feature vectors.
    singled_out_rows : int
        Perfect rows that are unique in the training data.
    unique_rows : int
        Rows that are unique in the training data.
    rows_in_order : int or None
        Rows rebuilt at their own position, where the adversary knows the order and so do the data.
    free_share : float
        Share of reconstructed attribute values that the forest leaves open.
    random : Baseline
        Guesses drawn uniformly from the domain.
    split_half : Baseline
        One half of the training data against the other.
    identity : Identity
        Whether these rows trained the forest.
    told : Told or None
        None where there are no such attributes, or no others.
    """

    n_rows: int
    error: Distance
    original_error: Distance
    perfect_rows: int
    singled_out_rows: int
    unique_rows: int
    rows_in_order: int | None
    free_share: float
    random: Baseline
    split_half: Baseline
    identity: Identity
    told: Told | None = None


def evaluate(
    reconstruction: Reconstruction,
    data: TrainingData,
    domain: Domain,
    identity: Identity,
    *,
    seed: int,
    timebox: TimeBox,
) -> Findings:
    """Measure a reconstruction against the training data.

    Parameters
    ----------
    reconstruction : Reconstruction
        With rows.
    data : TrainingData
        As many rows as the reconstruction.
    domain : Domain
    identity : Identity
    seed : int
        Of the baselines' draws.
    timebox : TimeBox

    Returns
    -------
    Findings
    """
    if reconstruction.rows is None or reconstruction.free is None:
        raise ValueError("there is no reconstruction to evaluate")
    truth, rebuilt = data.rows, reconstruction.rows
    weights = encoded_weights(domain)
    error = matched_distance(truth, rebuilt, weights, timebox)
    original = matched_distance(truth, rebuilt, original_weights(domain), timebox)
    mine, theirs = row_identities(truth, rebuilt)
    unique = np.bincount(mine, minlength=int(theirs.max()) + 1)[mine] == 1
    in_order = None
    if reconstruction.ordered and identity.status == "confirmed":
        in_order = int((mine == theirs).sum())
    return Findings(
        n_rows=len(truth),
        error=error,
        original_error=original,
        perfect_rows=len(truth) - len(unmatched(mine, theirs)[0]),
        singled_out_rows=int(np.isin(mine[unique], theirs).sum()),
        unique_rows=int(unique.sum()),
        rows_in_order=in_order,
        free_share=float(reconstruction.free.mean()),
        told=_told(reconstruction, truth, domain, seed, timebox),
        split_half=split_half_baseline(truth, weights, seed, timebox),
        random=random_baseline(truth, domain, weights, seed, timebox),
        identity=identity,
    )


def _told(reconstruction: Reconstruction, truth: Rows, domain: Domain, seed: int, timebox: TimeBox) -> Told | None:
    """Return the figures without (nearly) constant attributes that are open in every row."""
    if reconstruction.rows is None or reconstruction.free is None:
        return None
    kept: list[int] = []
    for a, attribute in enumerate(domain.attributes):
        columns = list(attribute.columns)
        commonest = np.bincount(row_identities(truth[:, columns])[0]).max() / len(truth)
        if not reconstruction.free[:, a].all() or commonest < NEARLY_CONSTANT:
            kept += columns
    if not kept or len(kept) == domain.n_columns:
        return None
    columns = sorted(kept)
    mine, theirs = truth[:, columns], reconstruction.rows[:, columns]
    weights = encoded_weights(domain).only(np.array(columns))
    return Told(
        columns=len(columns),
        error=matched_distance(mine, theirs, weights, timebox),
        perfect_rows=len(mine) - len(unmatched(*row_identities(mine, theirs))[0]),
        split_half=split_half_baseline(mine, weights, seed, timebox),
    )
