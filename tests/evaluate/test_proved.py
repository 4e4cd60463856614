"""What is proved is held against the training data."""

from __future__ import annotations

from dataclasses import replace

import pytest

from by_hand import array, data_of, flags, rebuilt_as
from pytest_draft.evaluate.proved import contradiction
from pytest_draft.facts.certificate import Bounds, Certificate
from pytest_draft.facts.identity import Identity

DOMAIN = flags("abcd")
TRUTH = [[0, 0, 0, 0], [0, 0, 0, 0], [1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 1]]
REBUILT = [[1, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [1, 1, 1, 0], [1, 1, 0, 1]]


def proved(certain: int, guaranteed: int, n_rows: int = 5) -> Certificate:
    """Return a certificate by hand."""
    labelled, vectors = Bounds(0, n_rows), Bounds(guaranteed, n_rows)
    return Certificate(n_rows, labelled, labelled, labelled, Bounds(certain, n_rows), vectors)


@pytest.mark.parametrize(
    ("certain", "guaranteed", "identity", "contradicted"),
    [
        (2, 3, "confirmed", False),
        (3, 3, "order differs", False),
        (0, 4, "confirmed", True),
        (0, 4, "order differs", True),
        (3, 2, "confirmed", True),
        (0, 4, "unknown", False),
        (0, 4, "mismatch", False),
    ],
)
def test_what_is_proved_holds_for_the_rows_that_trained_the_forest(certain, guaranteed, identity, contradicted):
    far = 1 - array(TRUTH)  # the guess that is measured can be another dataset than the one that is certified
    shared = {"consistent": array(REBUILT), "certificate": proved(certain, guaranteed)}  # three rows are the truth's
    reconstruction, data = rebuilt_as(far, DOMAIN, ordered=True, **shared), data_of(TRUTH, DOMAIN)
    said = contradiction(reconstruction, data, DOMAIN, Identity(identity, "by hand"))
    assert (said is not None) == contradicted
    outside = replace(
        DOMAIN, attributes=(replace(DOMAIN.attributes[0], kind="ordinal", high=0.0), *DOMAIN.attributes[1:])
    )
    assert contradiction(reconstruction, data, outside, Identity(identity, "by hand")) is None
