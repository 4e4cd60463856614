"""What a model file holds beside its trees: vectors by row, copies of training data, rare values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from pytest_draft.facts.checks import require_not_negative, require_shares


@dataclass(frozen=True)
class Vector:
    """An array with as many entries along one axis as there are training rows."""

    path: str
    """Where it is in the file."""
    shape: tuple[int, ...]
    """Of the array."""


@dataclass(frozen=True)
class Copy:
    """An array that holds training data."""

    path: str
    """Where it is in the file."""
    shape: tuple[int, ...]
    """Of the array."""
    rows: int
    """Training rows that stand in it, in any form or order: as they are, in half precision, or, where no column by
    itself says more, all of them with their columns' values in the same ranks.
    """
    columns: int
    """Columns of it that are a training column: the same values in any order, scaled ones, or in the rows' order values
    that are equal, or greater, where the column's are.
    """
    nearly: bool = False
    """Whether the rows stand in it but for a factor of each, a number added to it, or some noise."""

    def __post_init__(self) -> None:
        if min(self.rows, self.columns) < 0 or not (self.rows or self.columns):
            raise ValueError(f"{self.rows} rows and {self.columns} columns are no copy")


CLASSES, COLUMN_NAMES = "its list of classes", "its list of column names"
"""Places of a `Rarest` that are no encoder's."""

SPLIT_POINTS = "split_conditions of "
"""How the places of a `SingleValues` begin that are what trees compare a column with, before its name."""


@dataclass(frozen=True)
class Rarest:
    """The rarest value among those that an encoder knows, that are classes, or that columns are named after."""

    path: str
    """Where the values stand in the file."""
    at_least: int
    at_most: int
    """`at_least` and `at_most`: training rows that have it; different where several columns can be the encoded one."""

    def __post_init__(self) -> None:
        if not 0 < self.at_least <= self.at_most:
            raise ValueError(f"bounds out of order: {self.at_least} and {self.at_most}")


RELEASE = "the release"
"""The owner of a `Place` that is a file beside the model's."""


@dataclass(frozen=True)
class Place:
    """Something in a file, and where."""

    path: str
    """Empty for the file as a whole."""
    owner: str
    """The class of the object that it stands in."""
    what: str
    """Its type and size."""
    anew: bool = False
    """Whether it is gone where the model is loaded and written anew, byte by byte as a writer would."""


@dataclass(frozen=True)
class SingleValues:
    """How many values of the training data stand in a file that are each some person's, or quantiles next to them."""

    places: tuple[str, ...]
    """The arrays that hold them, those with the most first."""
    share: float
    """Of all numbers in the table."""
    others: float
    """The share that is met by the values of as many other rows like these (split-half)."""

    def __post_init__(self) -> None:
        require_shares(share=self.share, others=self.others)


@dataclass(frozen=True)
class StoredFacts:
    """What stands in a file besides its trees: paths and numbers, no value."""

    arrays: int
    """Arrays and lists that were looked at."""
    n_rows: tuple[int, ...]
    """Numbers of training rows that were looked for: the file's and the data's."""
    by_row: tuple[Vector, ...] = ()
    """Arrays that have an entry for each training row."""
    perhaps_by_row: tuple[Vector, ...] = ()
    """As long, for which there can be another reason, such as a number of columns."""
    copies: tuple[Copy, ...] = ()
    """Arrays that hold training data."""
    rarest: tuple[Rarest, ...] = ()
    """By encoder and column; of classes; of names of columns."""
    doubts: tuple[str, ...] = ()
    """Why a copy may have been missed; empty where all was compared."""
    unexplained: tuple[Place, ...] = ()
    """What nothing explains: neither a reader, nor its class, nor a small number of plain values."""
    kept: tuple[Place, ...] = ()
    """What holds training rows by its nature, such as support vectors."""
    plain: int = 0
    """Plain values beside the models, such as a date or a metric."""
    single_values: SingleValues | None = None
    """None where no value of a single person was found."""

    def __post_init__(self) -> None:
        require_not_negative(arrays=self.arrays, plain=self.plain)
        if any(number < 1 for number in self.n_rows):
            raise ValueError(f"numbers of training rows: {self.n_rows}")

    def without_files(self, known: Sequence[str]) -> StoredFacts:
        """Return it without files of a release that may be of an unknown kind, by patterns of their paths."""
        kept = tuple(
            place
            for place in self.unexplained
            if place.owner != RELEASE or not any(fnmatchcase(place.path, pattern) for pattern in known)
        )
        return replace(self, unexplained=kept)

    @property
    def why_not_judged(self) -> str | None:
        """Why nothing is decided by the forest alone, and what to do; None where all of the file is accounted for."""
        if self.kept:
            named = _named(self.kept)
            return (
                f"the file keeps training rows, as such objects do: {named}; replace it by one that keeps none (a "
                f"linear model, a forest), or {ALONE}"
            )
        if self.unexplained:
            if all(place.owner == RELEASE for place in self.unexplained):
                return f"what is in {_named(self.unexplained)} is not known; {_LISTED}"
            remedy = _ANEW if all(place.anew for place in self.unexplained) else _DELETED
            return f"nothing explains {_named(self.unexplained)}; {remedy}"
        return None


ALONE = "save the forest alone (docs/how-to/pipelines.md, what stands beside a forest)"
_LISTED = "release the model without it, or let the policy list it (known_files)"
_DELETED = f"delete it, or {ALONE}"
_ANEW = (
    "anything could be hidden there: write the model anew (python -m pytest_draft harden MODEL NEW.joblib --level "
    "none, or a library's own format by that library)"
)
_MOST_NAMED = 3


def _named(places: tuple[Place, ...]) -> str:
    """Return the first few places, with their class and type."""
    named = [f"{place.path or 'the file'} ({place.what}, in {place.owner})" for place in places[:_MOST_NAMED]]
    more = f" and {len(places) - _MOST_NAMED:,} more" if len(places) > _MOST_NAMED else ""
    return ", ".join(named) + more
