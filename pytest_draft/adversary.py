"""What the attacker knows besides the domain: in go a forest and an adversary's name, out come `Groups`."""

from __future__ import annotations

from pytest_draft.artifact.forest import Forest
from pytest_draft.artifact.occurrences import occurrences
from pytest_draft.attack.problem import Groups, group_by_occurrences
from pytest_draft.errors import NotCoveredError, UsageError, one_line

ADVERSARIES = {
    "artifact": "all that is in the file, the stored seeds too",
    "published": "structure and counts, no seeds (the bagging setting of DRAFT, ICML 2024)",
}
"""What each adversary knows, by name."""


def check_adversary(name: str) -> str:
    """Return the name of a known adversary.

    Raises
    ------
    UsageError
        With the list of the known.
    """
    if name not in ADVERSARIES:
        raise UsageError(f"unknown adversary {one_line(name)!r}; known are: {', '.join(ADVERSARIES)}")
    return name


def exchangeable_groups(forest: Forest, adversary: str) -> Groups:
    """Return the sets of rows that the adversary cannot tell apart.

    Parameters
    ----------
    forest : Forest
    adversary : str
        One of `ADVERSARIES`.

    Returns
    -------
    Groups

    Raises
    ------
    NotCoveredError
        Where the file lacks what the replay of its seeds needs, or the occurrences are unknown.
    """
    if check_adversary(adversary) == "published" and forest.bootstrap:
        raise NotCoveredError(
            "the adversary 'published' does not know the bootstrap samples; unknown occurrences are not covered yet"
        )
    return group_by_occurrences(occurrences(forest))
