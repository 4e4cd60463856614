"""The model file: read without running it, checked, and its draws replayed.

Whatever a reader refuses is an `ArtifactError` of one of the four kinds that `read` lists.
"""

from __future__ import annotations

from pytest_draft.artifact.budget import Limits
from pytest_draft.artifact.encoder import Encoder
from pytest_draft.artifact.forest import Forest, Tree
from pytest_draft.artifact.forest.missing import require_missing_covered
from pytest_draft.artifact.forest.occurrences import occurrences
from pytest_draft.artifact.model import Artifact
from pytest_draft.artifact.reader import read
from pytest_draft.artifact.rules.rule_list import RuleList

__all__ = [
    "Artifact",
    "Encoder",
    "Forest",
    "Limits",
    "RuleList",
    "Tree",
    "occurrences",
    "read",
    "require_missing_covered",
]
