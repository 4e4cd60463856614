"""The trees of a file as arrays, what their leaves say of rows, and which rows each tree was given."""

from pytest_draft.artifact.forest.forest import Forest, Tree, minor_of

__all__ = ["Forest", "Tree", "minor_of"]
