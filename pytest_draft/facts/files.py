"""What a report says of the files that a judgement has read."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_draft.facts.checks import require_not_negative, require_rising, require_shares
from pytest_draft.facts.contents import StoredFacts
from pytest_draft.facts.privacy import Privacy
from pytest_draft.facts.published import Published
from pytest_draft.facts.structure import StructureFacts


@dataclass(frozen=True)
class Capacity:
    """How much the trees of a model can hold."""

    nodes: int
    """Of all trees."""
    leaves: int
    """Of all trees."""
    deepest: int
    """Tests from the root of a tree to its deepest leaf, at most."""
    numbers: int
    """That the trees store: a column and a threshold for each split, and what each node says of its rows."""
    parameters: int
    """As SACRO-ML counts them: two for each split, and for each leaf the number of classes less one, at least one."""

    def __post_init__(self) -> None:
        require_rising(leaves=self.leaves, nodes=self.nodes)
        require_not_negative(deepest=self.deepest, numbers=self.numbers, parameters=self.parameters)


@dataclass(frozen=True)
class ArtifactFacts:
    """What a report says of a model file; all but the path is None where it was refused."""

    path: str
    """Of the file."""
    sha256: str | None = None
    """Of its bytes."""
    size: int | None = None
    """In bytes."""
    holds: str | None = None
    """What the file holds, in words."""
    sklearn_version: str | None = None
    """Version that wrote the file, as the file says."""
    n_trees: int | None = None
    """Of the model; None for a rule list."""
    bootstrap: bool | None = None
    """Whether each tree was trained on rows drawn with replacement."""
    not_read: tuple[str, ...] = ()
    """Paths of what was passed over in the file: nothing is known of it."""
    privacy: Privacy | None = None
    """What the file declares of differential privacy; None where it declares none."""
    kind: str | None = None
    """The class of the model."""
    published: Published | None = None
    """What the leaves publish of their rows."""
    contents: StoredFacts | None = None
    """What stands in the file besides its trees."""
    structure: StructureFacts | None = None
    """How few rows its leaves hold; also None where the file does not say how many rows a leaf holds."""
    unjudged: str | None = None
    """Which fitted trees in the file are not the model's, so that nothing that is said of the model holds for the file;
    None where there are none.
    """
    place: str | None = None
    """That of the model in a file of several; None where there is but one."""
    places: tuple[str, ...] = ()
    """Those of all models in a file of several, each of which is judged by itself; empty where there is but one."""
    beyond: str | None = None
    """What was judged that the adversary does not have, who gets no further for that; None for nothing."""
    regressor: bool = False
    """Whether the model answers numbers and has no classes."""
    capacity: Capacity | None = None
    """How much its trees can hold; None for a rule list."""

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
    """Where they come from; None where none were given."""
    sha256: str | None = None
    """Of the data."""
    rows: int | None = None
    """How many there are."""
    columns: int | None = None
    """Encoded columns."""
    unused_columns: tuple[str, ...] = ()
    """Columns of the table that the model does not use."""
    record_share: float = 1.0
    """Share of the rows that are somebody's record; nearly none are of a table of frequencies."""

    def __post_init__(self) -> None:
        require_not_negative(rows=self.rows, columns=self.columns)
        require_shares(record_share=self.record_share)


@dataclass(frozen=True)
class DomainFacts:
    """Where a domain comes from, and all that the adversary is told of the data: by it, and as side knowledge."""

    source: str
    """``inferred from the training data`` or the name of a domain file."""
    granted: tuple[str, ...]
    """What the adversary knows by it, a phrase each."""
