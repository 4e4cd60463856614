"""Whether a forest's counts can be held against rows with missing values: in goes a `Forest`, out comes a refusal.

Since 1.3 scikit-learn's trees take missing values (NaN), and each node stores where it sends them. Before 1.9, though,
the rows that a node counted in training need not be those that the nodes above send to it: up to 1.7 in most trees of
some data sets, in 1.8 in some 2 of 1,000 trees, and the file does not tell which. Whatever is concluded from such
counts can be wrong. In 1.9 there was none among 16,000 trees.
"""

from __future__ import annotations

from pytest_draft.artifact.forest import Forest
from pytest_draft.errors import DataError, NotCoveredError

_SINCE = {
    "DecisionTree": (1, 3),
    "Bagging": (1, 3),
    "RandomForest": (1, 4),
    "ExtraTree": (1, 6),
    "ExtraTrees": (1, 6),
}
"""The first version of each kind's own that takes missing values."""

_COUNTED_SINCE = (1, 9)
"""From this version on rows with missing values are counted where they are sent."""


def require_missing_covered(forest: Forest, found: str) -> None:
    """Refuse training rows with missing values that a forest cannot have seen, or does not count as it splits them.

    Parameters
    ----------
    forest : Forest
    found : str
        Where there are how many missing values; for the message.

    Raises
    ------
    DataError
        Where the forest is private, or of a version that takes no missing values.
    NotCoveredError
        Where the version counts them wrongly, or the file does not tell it.
    """
    if forest.privacy is not None:
        raise DataError(f"{found}, which private forests do not take; give the data as it was trained on")
    version = forest.sklearn_minor
    if version is None:
        raise NotCoveredError(
            f"{found}, and the model file does not tell which scikit-learn counted them: save it from its estimator"
        )
    release = f"scikit-learn {version[0]}.{version[1]}"
    since = _SINCE.get(forest.kind.removesuffix("Classifier").removesuffix("Regressor"))
    if since is None:
        raise NotCoveredError(f"{found}, which are not covered with {forest.kind}")
    if version < since:
        raise DataError(
            f"{found}, which {forest.kind} of {release} does not take; give the data encoded as it was trained"
        )
    if version < _COUNTED_SINCE:
        raise NotCoveredError(
            f"{found}, and {release} need not count them where it sends them: train with 1.9 or later"
        )
