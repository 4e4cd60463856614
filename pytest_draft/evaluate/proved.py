"""Compares what a reconstruction proves with the truth: counts, or a contradiction.

A reconstruction can hold values and rows that are in every dataset which is consistent with the artifact. If the
training data are such a dataset, all of these are theirs; anything else is a bug (`contradiction`).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from pytest_draft.arrays import BoolArray, FloatArray, Rows
from pytest_draft.data import TrainingData
from pytest_draft.domain import Domain
from pytest_draft.evaluate.compared import Compared
from pytest_draft.evaluate.comparison import Comparison
from pytest_draft.facts.certificate import Bounds
from pytest_draft.facts.findings import ProvedValues
from pytest_draft.facts.identity import Identity
from pytest_draft.facts.reconstruction import Reconstruction
from pytest_draft.knowledge import Knowledge
from pytest_draft.matching import row_identities, unmatched


def certain_unique_rows(
    reconstruction: Reconstruction, identity: Identity, overall: Compared, certain: BoolArray | None
) -> Bounds | None:
    """Return how many unique rows are proved; None where nothing is proved of single rows."""
    if identity.status not in ("confirmed", "order differs"):  # what is proved is of other people
        return None
    truth, unique = overall.rows[overall.unknown], overall.unique
    if reconstruction.proved is not None and reconstruction.provable is not None:
        least, most = (
            int(np.isin(mine[unique], theirs).sum())
            for mine, theirs in (
                row_identities(truth, rows) for rows in (reconstruction.proved, reconstruction.provable)
            )
        )
        return Bounds(least, max(least, most))
    if certain is None:
        return None
    mine, theirs = row_identities(truth, overall.rebuilt[certain[:, overall.unknown_attributes].all(axis=1)])
    found = int(np.isin(mine[unique], theirs).sum())
    return Bounds(found, found)


def proved_values_of(values: Mapping[int, FloatArray] | None, truth: Rows, counted: BoolArray) -> ProvedValues | None:
    """Return how many values are proved of unknown columns, and what share of the true values is among them."""
    if values is None:
        return None
    proved = {column: distinct for column, distinct in values.items() if counted[column] and len(distinct)}
    held = sum(int(np.isin(truth[:, column], distinct).sum()) for column, distinct in proved.items())
    number = sum(len(distinct) for distinct in proved.values())
    return ProvedValues(number, len(proved), held / (len(truth) * int(counted.sum())))


def contradiction(
    reconstruction: Reconstruction,
    data: TrainingData,
    domain: Domain,
    identity: Identity,
    knowledge: Knowledge | None = None,
) -> str | None:
    """Say how the training data contradict what is proved of all datasets that are consistent with the artifact.

    They are one of these datasets, if they trained the forest and the domain holds them. Then ``certain rows <=
    guaranteed overlap <= rows that the consistent dataset shares with them``, each certain value is theirs, and each
    value that is proved stands in its column; anything else is a bug.

    Parameters
    ----------
    knowledge : Knowledge or None
        Rows that are known whole have no part in a certificate.

    Returns
    -------
    str or None
        None where there is no contradiction, or nothing to contradict.
    """
    if identity.status not in ("confirmed", "order differs"):
        return None
    truth = data.rows if knowledge is None else data.rows[knowledge.unknown]
    if domain.outside(truth.astype(np.float64)):
        return None
    if identity.to_the_digit:
        if wrong := _wrong_values(reconstruction, truth, domain, identity):
            return f"internal error: {wrong:,} values were proved that the training data do not hold; please report it"
        if wrong := sum(
            int((~np.isin(distinct, data.rows[:, column])).sum())
            for column, distinct in (reconstruction.proved_values or {}).items()
        ):
            return f"internal error: {wrong:,} values were proved that no training row holds; please report it"
    certificate, consistent = reconstruction.certificate, reconstruction.consistent
    if certificate is None or consistent is None:
        return None
    certain, guaranteed = certificate.certain_vectors.lower, certificate.guaranteed_vectors.lower
    shared = len(Comparison().perfect(truth, consistent))
    if certain <= guaranteed <= shared:
        return None
    return (
        f"internal error: {certain:,} rows were proved to be certain and {guaranteed:,} to be shared with the training "
        f"data, and {shared:,} are shared; please report it"
    )


def _wrong_values(reconstruction: Reconstruction, truth: Rows, domain: Domain, identity: Identity) -> int:
    """Return how many certain values are not in the training data: row by row, or in the column as often."""
    rows, certain = reconstruction.rows, reconstruction.certain
    if rows is None or certain is None or len(rows) != len(truth):
        return 0
    in_order = reconstruction.ordered and identity.status == "confirmed"
    wrong = 0
    for a, attribute in enumerate(domain.attributes):
        mine, theirs = row_identities(truth[:, list(attribute.columns)], rows[:, list(attribute.columns)])
        proved = certain[:, a]
        missed = (mine != theirs)[proved].sum() if in_order else len(unmatched(mine, theirs[proved])[1])
        wrong += int(missed)
    return wrong
