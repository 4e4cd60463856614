"""Files of libraries of boosted trees in formats of their own, recognised by their content."""

from __future__ import annotations

from collections.abc import Callable

from pytest_draft.artifact.booster_model import BoosterModel
from pytest_draft.artifact.budget import Budget
from pytest_draft.artifact.catboost.model import read_catboost
from pytest_draft.artifact.lightgbm.model import read_lightgbm
from pytest_draft.artifact.xgboost.files import read_xgboost

Recogniser = Callable[[bytes, Budget], BoosterModel | None]
"""Takes a file's bytes; returns None, quickly, where they are of another format. Raises an `ArtifactError` where they
are of this one and damaged, too big or not supported.
"""

RECOGNISERS: tuple[Recogniser, ...] = (read_xgboost, read_lightgbm, read_catboost)
"""One for each format; at most one of them returns anything of a file."""


def booster_in(packed: bytes, budget: Budget) -> BoosterModel | None:
    """Return the booster that a file holds; None where it is of none of the formats.

    Raises
    ------
    ArtifactError
        Of the format's reader.
    """
    for recognise in RECOGNISERS:
        if (found := recognise(packed, budget)) is not None:
            return found
    return None
