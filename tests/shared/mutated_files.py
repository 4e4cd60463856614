"""Mutated model files: in goes an honest file's content, out comes what has to be read as a valid forest or refused."""

from __future__ import annotations

import contextlib

import numpy as np
from hypothesis import strategies as st

from pytest_draft.artifact import occurrences, read
from pytest_draft.errors import (
    ArtifactNotAllowedError,
    ArtifactTooBigError,
    CorruptArtifactError,
    NotCoveredError,
    UnsupportedArtifactError,
)

FOUR = (ArtifactNotAllowedError, ArtifactTooBigError, CorruptArtifactError, UnsupportedArtifactError)

MUTATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("flip"), st.floats(0, 1), st.integers(1, 255)),
        st.tuples(st.just("cut"), st.floats(0, 1), st.integers(1, 64)),
        st.tuples(st.just("insert"), st.floats(0, 1), st.binary(min_size=1, max_size=16)),
        st.tuples(st.just("copy"), st.floats(0, 1), st.integers(1, 64)),
    ),
    min_size=1,
    max_size=4,
)


def mutated(content: bytes, mutations) -> bytes:
    result = bytearray(content)
    for action, place, what in mutations:
        at = min(int(place * len(result)), max(len(result) - 1, 0))
        if action == "flip" and result:
            result[at] ^= what
        elif action == "cut":
            del result[at : at + what]
        elif action == "insert":
            result[at:at] = what
        else:
            result[at:at] = result[at : at + what]
    return bytes(result)


def assert_valid(forest):
    for tree in forest.trees:
        inner = tree.left >= 0
        children = np.concatenate((tree.left[inner], tree.right[inner]))
        assert sorted(children.tolist()) == list(range(1, tree.n_nodes))
        assert (tree.left[inner] > np.flatnonzero(inner)).all()
        assert ((tree.feature[inner] >= 0) & (tree.feature[inner] < forest.n_features)).all()
        assert np.isfinite(tree.value).all()
        assert tree.value.shape == (tree.n_nodes, forest.n_classes or 1)


def assert_read_or_refused(path) -> None:
    """Assert that a file is read as a valid forest or refused by one of the four errors, nothing else."""
    try:
        forest = read(path).forest
    except FOUR as refusal:
        message = str(refusal)
        assert message.isascii()
        assert message.isprintable()
        assert len(message) < 600
        assert refusal.sha256 is not None
        return
    assert_valid(forest)
    if forest.outputs is None:
        with contextlib.suppress(NotCoveredError):
            assert occurrences(forest).shape == (forest.n_trees, forest.n_samples)
