"""What the reader of a format makes of a file: a forest, and what else stands there."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_draft.artifact.forest import Forest
from pytest_draft.artifact.origin import HeldBack
from pytest_draft.artifact.world.contents import NOTHING, Contents


@dataclass(frozen=True, eq=False)
class ReadForest:
    """A forest, and what else is in its file or in its bytes inside a pickle; as in `Artifact`."""

    forest: Forest
    not_covered: str | None = None
    """Why its trees do not follow from the rows alone by what is known here; None where they do."""
    not_read: tuple[str, ...] = ()
    contents: Contents = NOTHING
    held_back: HeldBack | None = None
    """Which rows none of its trees saw; None where all saw all."""
