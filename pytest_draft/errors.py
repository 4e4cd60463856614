"""The errors of this package: one line each, saying what is wrong, where, and what to do."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence

from pytest_draft import foreign_text

one_line = foreign_text.one_line


def known_are(name: object, known: Iterable[object], apart: str = ", ") -> str:
    """Return what there is, and which of it somebody probably meant who wrote another name.

    Parameters
    ----------
    name : object
        What was written.
    known : iterable of object
        All that could have been written.
    apart : str
        What stands between two of them.

    Returns
    -------
    str
        Part of a line, behind what is wrong.
    """
    names = [one_line(one) for one in known]
    return f"known are: {apart.join(names)}{nearest_of(name, names)}"


def nearest_of(name: object, known: Iterable[str]) -> str:
    """Return the end of a line that asks whether another name was meant; empty where none is near."""
    spelt = {one.lower(): one for one in known}
    nearest = difflib.get_close_matches(str(name).lower(), spelt, 1, 0.5)
    return "".join(f"; did you mean {one_line(spelt[one])!r}?" for one in nearest)


def no_file(path: object, otherwise: str = "no such file; check the path") -> str:
    """Say why nothing is at a path: it is a URL, whole or behind the folder that it was taken to be in."""
    url = re.search(r"(?:^|[/\\])([a-z][a-z0-9+]+:[/\\].*)", str(path), re.IGNORECASE)
    return otherwise if url is None else f"{one_line(url[1])!r} is a URL, which is not read: download the file first"


class DraftError(Exception):
    """Base of all errors that a user can cause; its text is one line, and harmless."""

    def __init__(self, message: str = "") -> None:
        super().__init__(foreign_text.harmless(message, None))


class UsageError(DraftError):
    """An option, a marker or an ini value is wrong."""


class PolicyError(DraftError):
    """A policy file is wrong."""


class DataError(DraftError):
    """Training data or a domain cannot be used as given."""


class LabelError(DataError):
    """The labels are not where, or not what, they are said to be: a mistake of usage, found before any work."""


class NotCoveredError(DraftError):
    """The attack does not cover this part of a forest or a domain: the verdict is inconclusive."""


class InfeasibleError(Exception):
    """Proved: no dataset of the domain is consistent with the observations. Not the user's error: an answer."""


class OutOfTimeError(Exception):
    """The time box ended before there was a result. Not the user's error: an answer.

    With a text where no time would have been enough.
    """


class ArtifactError(DraftError):
    """A model file was refused. Nothing in it was run.

    Attributes
    ----------
    kind : str
        ``corrupt``, ``too big``, ``not allowed`` or ``unsupported``.
    sha256 : str or None
        Hash of the bytes that were read, where the whole file was read.
    places : tuple of str
        Where the models stand in a file of several.
    beside : object
        What the file holds, as a `pytest_draft.artifact.model.View` without a model; None where that is not known.
    """

    kind = "refused"

    def __init__(
        self, message: str, *, sha256: str | None = None, places: tuple[str, ...] = (), beside: object = None
    ) -> None:
        super().__init__(message)
        self.sha256 = sha256
        self.places = places
        self.beside = beside


class CorruptArtifactError(ArtifactError):
    """The file is damaged or contradicts itself."""

    kind = "corrupt"


class ArtifactTooBigError(ArtifactError):
    """Reading the file would cross a limit."""

    kind = "too big"


class ArtifactNotAllowedError(ArtifactError):
    """The file asks for a call that a model of a supported kind does not need."""

    kind = "not allowed"


class UnsupportedArtifactError(ArtifactError):
    """The file is readable but holds something that is not supported."""

    kind = "unsupported"


class SeveralModelsError(UnsupportedArtifactError):
    """The file holds several models, and which one is meant was not said; `places` says where they are."""

    kind = "several models"


def listed(names: Sequence[str], most: int = 5) -> str:
    """Return names in one line, the first ones and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(one_line(name, 120) for name in names[:most]) + more
