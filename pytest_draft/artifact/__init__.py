"""The model file: read without running it, checked, and its draws replayed."""

from __future__ import annotations

from pytest_draft.artifact.container import Limits
from pytest_draft.artifact.forest import Artifact, Forest, Tree
from pytest_draft.artifact.occurrences import occurrences
from pytest_draft.artifact.pickles import read

__all__ = ["Artifact", "Forest", "Limits", "Tree", "occurrences", "read"]
