"""Parts of a .skops file that few models have are read as the pickle of the same model has them."""

from __future__ import annotations

from collections import OrderedDict, defaultdict

import numpy as np
import pytest
import scipy.sparse

from attack_corpus.entry import dumped
from attack_corpus.skops_files import archived, honest, node_of, npy, planted, rewritten
from pytest_draft.artifact import read
from pytest_draft.errors import CorruptArtifactError, UnsupportedArtifactError

skops = pytest.importorskip("skops.io", reason="skops is not installed")


class Names(list):
    """A list with a class of its own."""


@pytest.mark.parametrize(
    "left",
    [
        scipy.sparse.csr_matrix(np.eye(50)),
        OrderedDict(a=np.arange(50.0)),
        {None: np.arange(50.0), 1: 2, 2.5: 3, False: 4},
        [np.float64(1.5), np.int64(7), np.bool_(True), slice(1, 3)],
        np.array([np.arange(3), None], object),
        np.array([["a", 1], ["b", 2]], object),
        np.random.default_rng(3),
        b"bytes of a table" * 20,
        np.dtype("f4"),
    ],
    ids=lambda left: type(left).__name__,
)
def test_what_was_left_in_a_file_is_told_as_of_its_pickle(left, forest, dump):
    forest.left = left
    ours, theirs = read(dump(skops.dumps(forest))), read(dump(dumped(forest), "theirs.joblib"))
    assert "left" in "".join(ours.not_read)
    assert [one.shape for one in ours.contents.arrays] == [one.shape for one in theirs.contents.arrays]
    for one, other in zip(ours.contents.arrays, theirs.contents.arrays, strict=True):
        np.testing.assert_array_equal(one.values(), other.values())
    assert bool(ours.contents.opaque) == bool(theirs.contents.opaque)


@pytest.mark.parametrize(
    "left",
    [
        scipy.sparse.coo_matrix(np.eye(50)),
        defaultdict(list, a=np.arange(50.0)),
        np.ma.masked_array(np.arange(50.0), mask=np.arange(50) % 2 == 0),
    ],
    ids=lambda left: type(left).__name__,
)
def test_what_pickles_write_otherwise_is_seen_too(left, forest, dump):
    forest.left = left
    found = read(dump(skops.dumps(forest)))
    assert "left" in "".join(found.not_read)
    assert any(one.path.startswith("left") and one.shape == (50,) for one in found.contents.arrays)


def test_an_object_that_stands_in_two_places_is_one(forest, dump):
    shared = {"rows": np.arange(30.0)}
    forest.one, forest.other = shared, shared
    assert read(dump(skops.dumps(forest))).forest.n_trees == 3


def with_node(node, dump, more=()):
    content = rewritten(honest(), planted(node), lambda held: {**held, **dict(more)})
    return read(dump(content, "model.skops"))


def test_a_function_of_protocol_0_is_a_name(dump):
    content = {"module_path": "numpy", "function": "sqrt"}
    assert "extra" in with_node({**node_of("FunctionNode", "numpy", "ufunc"), "content": content}, dump).not_read


def test_a_list_of_another_class_and_a_cached_object_are_read(dump):
    one = {**node_of("ListNode", "somewhere", "Names"), "content": [], "__id__": 10**15}
    pair = node_of("TupleNode", "builtins", "tuple", [one, {"__loader__": "CachedNode", "__id__": 10**15}])
    assert "extra" in with_node(pair, dump).not_read


def sparse(**members):
    return archived([(f"{name}.npy", content) for name, content in members.items()])


@pytest.mark.parametrize(
    "content",
    [
        sparse(shape=npy("'<i8'", "(2,)", bytes(16))),
        sparse(format=npy("'|S3'", "()", b"csr")),
        sparse(format=npy("'|S3'", "()", b"csr"), shape=npy("'<f8'", "(2,)", bytes(16))),
        sparse(format=npy("'|S3'", "()", b"xyz"), shape=npy("'<i8'", "(2,)", bytes(16))),
        sparse(format=npy("'<U3'", "()", bytes(12)), shape=npy("'<i8'", "(2,)", bytes(16))),
    ],
    ids=range(5),
)
def test_a_sparse_matrix_without_its_parts_is_corrupt(content, dump):
    node = {**node_of("SparseMatrixNode", "scipy.sparse._csr", "csr_matrix"), "type": "scipy", "file": "sparse.npz"}
    with pytest.raises(CorruptArtifactError, match="a sparse matrix is malformed"):
        with_node(node, dump, {"sparse.npz": content}.items())


def test_a_scalar_that_is_a_record_is_unsupported(dump):
    node = {**node_of("NdArrayNode", "numpy", "void"), "type": "numpy", "file": "scalar.npy"}
    with pytest.raises(UnsupportedArtifactError, match="a NumPy scalar that is a record"):
        with_node(node, dump, {"scalar.npy": npy("[('a', '<f8')]", "()")}.items())
