"""A reconstruction whose parts do not belong together cannot be made."""

import numpy as np
import pytest

from pytest_draft.facts.reconstruction import Reconstruction
from pytest_draft.facts.status import RECONSTRUCTION_STATUSES, SOLVER_STATUSES

ROWS = np.full((3, 4), 7, dtype=np.float32)
ONE_EACH = np.zeros(3, dtype=np.int64)
OPEN = np.zeros((3, 2), dtype=bool)


def made(**other):
    """Return a reconstruction of three rows, two attributes in four columns, with something else in it."""
    parts = {"rows": ROWS, "labels": ONE_EACH, "cells": ONE_EACH, "free": OPEN, "ordered": True, "residual": 0}
    return Reconstruction(**{"status": "consistent", **parts, **other})


@pytest.mark.parametrize("status", RECONSTRUCTION_STATUSES)
def test_every_status_of_a_reconstruction_is_taken(status):
    assert made(status=status).status == status


@pytest.mark.parametrize("status", [*sorted(set(SOLVER_STATUSES) - set(RECONSTRUCTION_STATUSES)), "residual", ""])
def test_another_status_is_refused(status):
    with pytest.raises(ValueError, match="no status"):
        made(status=status)


def test_a_reconstruction_can_be_without_anything():
    assert Reconstruction("no solution", None, None, None, None, False, None).rows is None


def test_whole_parts_are_taken():
    more = {"proved": ROWS[:2], "provable": ROWS[:0], "seen": ONE_EACH == 0, "certain": OPEN, "consistent": ROWS}
    assert len(made(**more, proved_values={3: np.zeros(5)}).rows) == 3


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"rows": ROWS[0]}, "rows have shape"),
        ({"rows": ROWS[:2]}, r"labels have shape \(3,\): not 1 dimensions and 2 rows"),
        ({"rows": None}, "without rows"),
        ({"labels": ONE_EACH[:2]}, "labels have shape"),
        ({"labels": ONE_EACH[:, None]}, "labels have shape"),
        ({"cells": ONE_EACH[:1]}, "cells have shape"),
        ({"free": OPEN[:2]}, "free have shape"),
        ({"free": OPEN[:, 0]}, "free have shape"),
        ({"seen": ONE_EACH[:2] == 0}, "seen have shape"),
        ({"certain": OPEN[:2]}, "certain have shape"),
        ({"certain": OPEN[:, :1]}, "free and certain"),
        ({"consistent": ROWS[:2]}, "consistent have shape"),
        ({"consistent": ROWS[:, :3]}, "consistent have 3 columns, not 4"),
        ({"proved": ROWS[:, :3]}, "proved have 3 columns, not 4"),
        ({"provable": ROWS[0]}, "provable have shape"),
        ({"proved_values": {4: np.zeros(1)}}, "column 4"),
        ({"proved_values": {0: np.zeros((1, 1))}}, "column 0"),
        ({"residual": -1}, "below 0"),
    ],
)
def test_parts_that_do_not_fit_are_refused_without_a_value(other, said):
    with pytest.raises(ValueError, match=said) as refused:
        made(**other)
    assert "7" not in str(refused.value)
