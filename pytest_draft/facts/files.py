"""What a report says of the files that a judgement has read."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_draft.facts.checks import require_not_negative
from pytest_draft.facts.contents import StoredFacts
from pytest_draft.facts.privacy import Privacy
from pytest_draft.facts.published import Published
from pytest_draft.facts.structure import StructureFacts


@dataclass(frozen=True)
class ArtifactFacts:
    """What a report says of a model file; all but the path is None where it was refused.

    Of `published`, `contents` and `structure`, which tell what stands in it without any attack, the last is also None
    where the file does not tell how many rows a leaf holds. `unjudged` says which fitted trees in it are not the
    model's, so that nothing that is said of the model holds for the file; None where there are none. `place` is that of
    the model in a file of several, and `places` those of all, each of which is judged by itself; both are empty where
    there is but one.
    """

    path: str
    sha256: str | None = None
    size: int | None = None
    holds: str | None = None
    sklearn_version: str | None = None
    n_trees: int | None = None
    bootstrap: bool | None = None
    not_read: tuple[str, ...] = ()
    privacy: Privacy | None = None
    kind: str | None = None
    published: Published | None = None
    contents: StoredFacts | None = None
    structure: StructureFacts | None = None
    unjudged: str | None = None
    place: str | None = None
    places: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        require_not_negative(size=self.size, trees=self.n_trees)

    @property
    def was_read(self) -> bool:
        """Whether the file was read, so that what is said of it stands."""
        return self.holds is not None or self.n_trees is not None

    @property
    def claim(self) -> str | None:
        """The differential privacy that the file declares, as text; None where it declares none."""
        if self.privacy is None:
            return None
        epsilon = f"epsilon {self.privacy.epsilon:g}"
        return f"{epsilon} and delta {self.privacy.delta:g}" if self.privacy.delta else epsilon

    @property
    def contradictions(self) -> tuple[str, ...]:
        """What in the file takes the declared privacy away, a phrase each; empty where nothing was found."""
        if self.privacy is None:
            return ()
        found = []
        if self.privacy.exact:
            found.append("the counts in the file are exact: it is attacked as a forest without privacy")
        if self.privacy.rounding == "noise":
            found.append("its noise was cut to whole numbers before it was added, which this epsilon does not cover")
        return (*found, *self.privacy.broken_by)


@dataclass(frozen=True)
class DataFacts:
    """What a report says of the training data; all but the path is None where they were refused."""

    path: str | None
    sha256: str | None = None
    rows: int | None = None
    columns: int | None = None
    unused_columns: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        require_not_negative(rows=self.rows, columns=self.columns)


@dataclass(frozen=True)
class DomainFacts:
    """Where a domain comes from, and all that the adversary is told of the data: by it, and as side knowledge."""

    source: str
    granted: tuple[str, ...]
