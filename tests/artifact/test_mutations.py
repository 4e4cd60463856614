"""A mutated honest file is read as a valid forest or refused by one of the four errors, nothing else."""

from __future__ import annotations

import contextlib
import io
import pickle
import zlib

import joblib
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from profiles import examples
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


@pytest.fixture(scope="module")
def honest(fitted):
    file = io.BytesIO()
    joblib.dump(fitted, file)
    return {
        "joblib": file.getvalue(),
        "pickle 2": pickle.dumps(fitted, protocol=2),
        "pickle 5": pickle.dumps(fitted, protocol=5),
    }


def assert_valid(forest):
    for tree in forest.trees:
        inner = tree.left >= 0
        children = np.concatenate((tree.left[inner], tree.right[inner]))
        assert sorted(children.tolist()) == list(range(1, tree.n_nodes))
        assert (tree.left[inner] > np.flatnonzero(inner)).all()
        assert ((tree.feature[inner] >= 0) & (tree.feature[inner] < forest.n_features)).all()
        assert np.isfinite(tree.value).all()
        assert tree.value.shape == (tree.n_nodes, forest.n_classes or 1)


@pytest.mark.parametrize("kind", ["joblib", "pickle 2", "pickle 5"])
@pytest.mark.parametrize("pack", [bytes, zlib.compress], ids=["plain", "zlib"])
@given(mutations=MUTATIONS)
@settings(max_examples=examples(400), deadline=2000, suppress_health_check=list(HealthCheck), database=None)
def test_a_mutated_file_is_read_as_a_valid_forest_or_refused(kind, pack, mutations, honest, tmp_path):
    path = tmp_path / "mutant"
    path.write_bytes(pack(mutated(honest[kind], mutations)))
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
    with contextlib.suppress(NotCoveredError):
        assert occurrences(forest).shape == (forest.n_trees, forest.n_samples)
