"""Files that attack, that are damaged or that hold something else are refused in one line, and never run."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import lzma
import os
import pickle
import shlex
import struct
import time
import zlib
from collections import OrderedDict

import joblib
import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.ensemble import BaggingClassifier, GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from pytest_draft.artifact import Limits, read
from pytest_draft.errors import (
    ArtifactError,
    ArtifactNotAllowedError,
    ArtifactTooBigError,
    CorruptArtifactError,
    UnsupportedArtifactError,
)


def refused(path, kind, *words, **options):
    """Assert that a file is refused with one kind, in one printable line that has the words."""
    start = time.perf_counter()
    with pytest.raises(ArtifactError) as caught:
        read(path, **options)
    assert time.perf_counter() - start < 60
    message = str(caught.value)
    assert type(caught.value) is kind, message
    assert message.isascii()
    assert message.isprintable()
    assert "::" not in message
    assert f": {kind.kind}: " in message
    for word in words:
        assert word in message
    if os.path.isfile(path) and kind is not ArtifactTooBigError:
        with open(path, "rb") as file:
            assert caught.value.sha256 == hashlib.sha256(file.read()).hexdigest()
    return message


# Calls


class Payload:
    """Would make a marker file if anybody unpickled it."""

    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return os.system, (f"touch {shlex.quote(str(self.marker))}",)


@pytest.fixture
def marker(tmp_path):
    """A file that must not appear."""
    path = tmp_path / "ran"
    yield path
    assert not path.exists(), "the payload was run"


def test_the_payload_of_these_tests_works(tmp_path):
    pickle.loads(pickle.dumps(Payload(tmp_path / "it runs")))
    assert (tmp_path / "it runs").exists()


@pytest.mark.parametrize("name", ["model.joblib", "model.pkl"])
@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_a_call_of_os_system_is_refused_with_its_name_and_place(name, protocol, marker, dump):
    path = dump(Payload(marker), name, protocol=protocol)
    refused(path, ArtifactNotAllowedError, f"{os.name}.system", "byte ", "nothing was run")


@pytest.mark.parametrize("compress", [0, "zlib", "xz"])
def test_a_payload_behind_an_honest_forest_is_refused(compress, marker, forest, dump):
    forest.zzz = Payload(marker)
    path = dump(forest, compress=compress)
    refused(path, ArtifactNotAllowedError, "system", "inside a sklearn.ensemble._forest.RandomForestClassifier")


def test_a_payload_in_a_nested_array_of_objects_is_refused(marker, forest, dump):
    forest.notes = np.array([[1, Payload(marker)]], object)
    for name in ("model.joblib", "model.pkl"):
        refused(dump(forest, name), ArtifactNotAllowedError, "system")


def test_a_payload_as_a_trees_nodes_is_refused(marker, forest, dump):
    forest.estimators_[1].__dict__["tree_"] = Payload(marker)
    refused(dump(forest), ArtifactNotAllowedError, "system")


def text(value: str) -> bytes:
    return b"\x8c" + bytes([len(value)]) + value.encode()


def call(module: str, name: str, argument: str = "x") -> bytes:
    return b"\x80\x04" + text(module) + text(name) + b"\x93" + text(argument) + b"\x85R."


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("os", "system"),
        ("builtins", "eval"),
        ("builtins", "getattr"),
        ("builtins", "__import__"),
        ("numpy.testing._private.utils", "runstring"),
        ("numpy", "dtype.__class__"),
        ("numpy", "f2py.capi_maps.os.system"),
        ("numpy.dtype", ""),
        ("sklearn.tree._tree", "Tree.__new__"),
        ("joblib.numpy_pickle", "os.system"),
        ("numpy.core.multiarray", "fromfile"),
        ("functools", "partial"),
    ],
)
def test_only_exact_names_of_the_list_may_be_called(module, name, dump):
    refused(dump(call(module, name)), ArtifactNotAllowedError, f"{module}.{name}")


@pytest.mark.parametrize(
    "instructions",
    [
        b"(S'touch ran'\nios\nsystem\n.",  # INST
        b"(cos\nsystem\nS'touch ran'\no.",  # OBJ
        b"Pname\n.",  # PERSID
        b"N\x51.",  # BINPERSID
        b"\x82\x01.",  # EXT1
        b"\x83\x01\x00.",  # EXT2
        b"\x84\x01\x00\x00\x00.",  # EXT4
        b"\x97.",  # NEXT_BUFFER
        b"N\x98.",  # READONLY_BUFFER
        b"N)\x81.",  # NEWOBJ of None
        b"(lNR.",  # REDUCE with a stack that is too short
        b"N)R.",  # REDUCE of None
    ],
    ids=repr,
)
def test_an_instruction_that_reaches_outside_is_refused(instructions, dump):
    with pytest.raises((ArtifactNotAllowedError, CorruptArtifactError)):
        read(dump(b"\x80\x04" + instructions))


def test_an_object_of_an_unknown_class_is_described_and_never_made(marker, dump):
    made = b"\x80\x04" + text("subprocess") + text("Popen") + b"\x93)\x81}" + text("args") + text("x") + b"sb."
    refused(dump(made), UnsupportedArtifactError, "it holds a subprocess.Popen")


def test_a_numpy_scalar_with_a_raw_pointer_is_refused(dump):
    fake = (
        b"\x80\x04"
        + (text("numpy.core.multiarray") + text("scalar") + b"\x93")
        + (text("numpy") + text("dtype") + b"\x93" + text("O8") + b"\x89\x88\x87R")
        + (b"C\x08" + b"A" * 8 + b"\x86R.")
    )
    refused(dump(fake), ArtifactNotAllowedError, "a raw pointer")


def dtype_with(offset: int, size: int) -> bytes:
    number = text("numpy") + text("dtype") + b"\x93" + text("f8") + b"\x89\x88\x87R"
    record = text("numpy") + text("dtype") + b"\x93" + text("V8") + b"\x89\x88\x87R"
    fields = b"}" + text("a") + number + b"J" + struct.pack("<i", offset) + b"\x86s"
    state = b"(K\x03" + text("|") + b"N" + text("a") + b"\x85" + fields
    return b"\x80\x04" + record + state + b"J" + struct.pack("<i", size) + b"K\x01K\x10tb."


@pytest.mark.parametrize(("offset", "size"), [(8, 8), (2**30, 8), (-8, 8), (0, -8), (1, 8), (0, 2**30)])
def test_a_field_outside_its_record_is_refused(offset, size, dump):
    refused(dump(dtype_with(offset, size)), CorruptArtifactError)


# Sizes


def test_bytes_with_a_false_length_are_refused(dump):
    for length in (2**62, 2**63, 2**64 - 1, 100):
        refused(dump(b"\x80\x04\x8e" + struct.pack("<Q", length) + b"abc."), CorruptArtifactError)
        refused(dump(b"\x80\x05\x96" + struct.pack("<Q", length) + b"abc."), CorruptArtifactError)


def test_a_forest_whose_array_is_said_to_be_huge_is_refused(fitted, dump):
    honest = dump(fitted).read_bytes()
    shape = honest.index(b"\x8c\x05shape\x94K") + len(b"\x8c\x05shape\x94")
    huge = b"\x8a\x06" + (2**39).to_bytes(6, "little")
    path = dump(honest[:shape] + huge + honest[shape + 2 :])
    refused(path, CorruptArtifactError, "the file ends inside an array of", "MB (byte")


def test_half_a_file_says_where_it_ends(fitted, dump):
    honest = dump(fitted).read_bytes()
    message = refused(dump(honest[: len(honest) // 2], "half.joblib"), CorruptArtifactError, "copy or train it again")
    assert message.startswith("half.joblib: corrupt: the file ends")
    assert f" of {len(honest) // 2}" in message


PACKERS = {
    "zlib": lambda content: zlib.compress(content, 1),
    "gzip": lambda content: gzip.compress(content, 1),
    "bz2": lambda content: bz2.compress(content, 1),
    "xz": lambda content: lzma.compress(content, preset=0),
    "lzma": lambda content: lzma.compress(content, format=lzma.FORMAT_ALONE, preset=0),
}


@pytest.mark.parametrize("pack", PACKERS.values(), ids=PACKERS)
def test_a_compression_bomb_is_refused(pack, dump):
    bomb = pack(b"\x80\x04" + bytes(2**26))
    refused(dump(bomb), ArtifactTooBigError, "unpack to more than 67108864 bytes")


def test_a_dictionary_of_three_gigabytes_is_refused(dump):
    header = b"]" + struct.pack("<IQ", 3 * 2**30, 100)
    refused(dump(header + b"\x00" * 100), ArtifactTooBigError, "memory")


def test_more_instructions_than_allowed_are_refused(fitted, dump):
    refused(dump(fitted), ArtifactTooBigError, "instructions", limits=Limits(opcodes=100))


def test_a_file_above_its_limit_is_refused(fitted, dump):
    refused(dump(fitted), ArtifactTooBigError, "more than 100 bytes", limits=Limits(file_bytes=100))


def test_a_huge_integer_is_refused(dump):
    refused(dump(b"\x80\x02\x8b" + struct.pack("<i", 10**6) + b"\x01" * 10**6 + b"."), ArtifactTooBigError)
    refused(dump(b"\x80\x02L" + b"9" * 10**6 + b"L\n."), ArtifactTooBigError)


def test_one_text_encoded_again_and_again_is_refused(dump):
    encode = b"\x80\x02X" + struct.pack("<I", 2**16) + b"a" * 2**16 + b"q\x010"
    again = b"c_codecs\nencode\nh\x01X\x06\x00\x00\x00latin1\x86R0"
    refused(dump(encode + again * 100 + b"N."), ArtifactTooBigError, "again and again")


def test_deep_keys_and_colliding_keys_are_never_hashed(dump):
    refused(dump(b"\x80\x02})" + b"\x85" * 200_000 + b"Ns."), UnsupportedArtifactError, "a dict")
    doubled = b")q\x000" + b"".join(b"h%ch%c\x86q%c0" % (i, i, i + 1) for i in range(100))
    refused(dump(b"\x80\x02" + doubled + b"}h\x64Ns."), UnsupportedArtifactError, "a dict")
    colliding = b"".join(b"\x8a\x14" + (i * (2**61 - 1)).to_bytes(20, "little") + b"N" for i in range(50_000))
    refused(dump(b"\x80\x02}(" + colliding + b"u."), UnsupportedArtifactError, "a dict")


def test_a_very_deep_list_is_refused_without_a_crash(dump):
    refused(dump(b"\x80\x04" + b"]" * 500_000 + b"a" * 499_999 + b"."), UnsupportedArtifactError, "a list")


# Damaged and foreign files


@pytest.mark.parametrize(
    ("content", "kind", "words"),
    [
        (b"", CorruptArtifactError, "empty"),
        (b"abc", UnsupportedArtifactError, "does not begin"),
        (b"\x80", CorruptArtifactError, "ends too early"),
        (b"\x80\x04", CorruptArtifactError, "ends too early"),
        (b"\x80\x09N.", UnsupportedArtifactError, "protocol 9"),
        (b"\x80\x01N.", UnsupportedArtifactError, "protocol 1"),
        (b"\x80\x04.", CorruptArtifactError, "damaged"),
        (b"\x80\x04N\x80\x04.", CorruptArtifactError, "damaged"),
        (b"\x80\x04N.N.", CorruptArtifactError, "2 bytes follow"),
        (b"\x80\x04NN.", CorruptArtifactError, "damaged"),
        (b"\x80\x04(N.", CorruptArtifactError, "damaged"),
        (b"\x80\x04h\x07.", CorruptArtifactError, "damaged"),
        (b"\x80\x04\xff.", CorruptArtifactError, "damaged"),
        (b"\x80\x04cno\xe9\nx\n.", CorruptArtifactError, "damaged"),
        (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:1\n",
            UnsupportedArtifactError,
            "git lfs pull",
        ),
        (b"<!DOCTYPE html><html></html>", UnsupportedArtifactError, "web page"),
        (b"PK\x03\x04", CorruptArtifactError, "zip directory"),
        (b"\x04\x22\x4d\x18", UnsupportedArtifactError, "lz4"),
        (b"ZF0x10", UnsupportedArtifactError, "joblib before 0.10"),
        (
            b"\x80\x02cjoblib.numpy_pickle\nNDArrayWrapper\n)\x81.",
            UnsupportedArtifactError,
            "joblib before 0.10",
        ),
        (b"x\x9c", CorruptArtifactError, "zlib"),
        (b"\x1f\x8b\x00", CorruptArtifactError, "gzip"),
        (b"]\x00", CorruptArtifactError, "lzma"),
    ],
    ids=lambda value: repr(value) if isinstance(value, bytes) else "",
)
def test_what_is_not_a_model_file_is_named(content, kind, words, dump):
    refused(dump(content), kind, words)


@pytest.mark.parametrize("method", ["zlib", "gzip", "bz2", "xz", "lzma"])
def test_a_cut_packed_file_is_corrupt(method, fitted, dump):
    packed = dump(fitted, compress=method).read_bytes()
    for end in (6, len(packed) // 2, len(packed) - 1):
        refused(dump(packed[:end]), CorruptArtifactError, method)


@pytest.mark.parametrize("method", ["gzip", "zlib", "bz2", "xz"])
def test_a_wrong_checksum_is_corrupt(method, fitted, dump):
    packed = bytearray(dump(fitted, compress=method).read_bytes())
    packed[-6 if method == "gzip" else -2] ^= 255
    refused(dump(bytes(packed)), CorruptArtifactError, method)


@pytest.mark.parametrize("method", [0, "zlib", "gzip", "bz2", "xz"])
def test_bytes_after_the_end_are_refused(method, fitted, dump):
    content = dump(fitted, compress=method).read_bytes()
    refused(dump(content + b"more"), CorruptArtifactError, "4 bytes follow")


def test_what_is_not_a_regular_file_is_refused_without_waiting(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/dev/zero")
    refused(tmp_path / "pipe", UnsupportedArtifactError, "a FIFO")
    refused(tmp_path / "link", UnsupportedArtifactError, "a device")
    refused(tmp_path, UnsupportedArtifactError, "a directory")
    refused(tmp_path / "missing.joblib", UnsupportedArtifactError, "no such file")
    refused(str(tmp_path / "a\0b"), UnsupportedArtifactError, "not a path")


@pytest.mark.parametrize("name", ["a\nb.joblib", "\x1b[31mred.joblib", "::error::x.joblib", "n\u00e4me\udc80.joblib"])
def test_a_files_name_cannot_write_into_a_log(name, tmp_path):
    refused(tmp_path / name, UnsupportedArtifactError)


@pytest.mark.parametrize("name", ["a\nb", "\x1b[31mred", "::error::x", "\u202e", "x" * 200])
def test_a_name_in_a_file_cannot_write_into_a_log(name, dump, forest):
    raw = name.encode()
    called = b"\x80\x04" + text("os") + b"\x8c" + bytes([len(raw)]) + raw + b"\x93)R."
    refused(dump(called), ArtifactNotAllowedError)
    forest.__dict__[name] = [1]
    assert all(path.isascii() and path.isprintable() for path in read(dump(forest)).not_read)


# Other models


def test_other_things_are_named_with_what_is_supported(columns, classes, dump):
    model = LogisticRegression().fit(columns, classes)
    message = refused(dump(model), UnsupportedArtifactError, "supported are RandomForest")
    assert message.startswith("model.joblib: unsupported: it holds a LogisticRegression; supported are RandomForest, ")
    refused(dump({"model": 1}), UnsupportedArtifactError, "a dict")
    refused(dump([model]), UnsupportedArtifactError, "a list")
    refused(dump(np.zeros(3)), UnsupportedArtifactError, "an array")
    refused(dump(OrderedDict(a=1)), UnsupportedArtifactError, "OrderedDict")
    boosted = GradientBoostingClassifier(n_estimators=2).fit(columns, classes == "yes")
    refused(dump(boosted), ArtifactNotAllowedError, "inside a sklearn.ensemble._gb.GradientBoostingClassifier")


def test_unfitted_estimators_are_unsupported(dump):
    for model in (RandomForestClassifier(), DecisionTreeClassifier(), BaggingClassifier()):
        refused(dump(model), UnsupportedArtifactError, "not fitted")
    search = GridSearchCV(DecisionTreeClassifier(), {"max_depth": [1]})
    refused(dump(search), UnsupportedArtifactError, "GridSearchCV that was not fitted")


def test_forests_of_other_kinds_are_unsupported(columns, classes, dump):
    monotonic = RandomForestClassifier(2, monotonic_cst=[1, 0, 0, 0, 0, 0]).fit(columns, classes == "yes")
    refused(dump(monotonic), UnsupportedArtifactError, "monotonic")
    nested = BaggingClassifier(LogisticRegression(), 2).fit(columns, classes)
    refused(dump(nested), UnsupportedArtifactError, "a LogisticRegression; supported")
    pipeline = make_pipeline(PCA(2), RandomForestClassifier(2)).fit(columns, classes)
    assert "a PCA before its last step" in read(dump(pipeline)).not_covered
    private = b"\x80\x04" + text("diffprivlib.models.linear_model") + text("LogisticRegression") + b"\x93)\x81."
    refused(dump(private), UnsupportedArtifactError, "a diffprivlib.models.linear_model.LogisticRegression; supported")


# Forests that contradict themselves


def with_tree(forest, index=0, **changes):
    """Replace a tree's stored state, as no honest writer would."""
    tree = forest.estimators_[index].tree_
    state = {**tree.__getstate__(), **changes}

    class Tree:
        def __reduce__(self):
            return type(tree), (tree.n_features, np.array([3]), 1), state

    forest.estimators_[index].__dict__["tree_"] = Tree()
    return forest


def with_node(forest, node=0, **fields):
    nodes = forest.estimators_[0].tree_.__getstate__()["nodes"].copy()
    for name, value in fields.items():
        nodes[name][node] = value
    return with_tree(forest, nodes=nodes)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"left_child": 10**9}, "a child's index"),
        ({"left_child": 0}, "a child's index"),
        ({"left_child": -7}, "a child's index"),
        ({"left_child": -1}, "one child only"),
        ({"feature": 999}, "none of the 6 columns"),
        ({"feature": -1}, "none of the 6 columns"),
        ({"threshold": np.nan}, "threshold"),
        ({"threshold": -np.inf}, "threshold"),
        ({"missing_go_to_left": 2}, "missing values"),
        ({"weighted_n_node_samples": np.inf}, "weight is not a number"),
        ({"impurity": np.nan}, "impurity"),
        ({"impurity": -1.0}, "impurity"),
    ],
    ids=str,
)
def test_a_node_that_contradicts_its_tree_is_corrupt(fields, words, forest, dump):
    refused(dump(with_node(forest, **fields)), CorruptArtifactError, "tree 0, node 0", words)


def test_two_parents_a_cycle_and_an_island_are_corrupt(forest, dump, fitted):
    left = fitted.estimators_[0].tree_.children_left
    right = fitted.estimators_[0].tree_.children_right
    refused(dump(with_node(forest, 0, right_child=left[0])), CorruptArtifactError, "two parents")
    inner = int(np.flatnonzero(left > 0)[-1])
    again = pickle.loads(pickle.dumps(fitted))
    refused(dump(with_node(again, inner, left_child=0)), CorruptArtifactError, "a child's index")
    island = pickle.loads(pickle.dumps(fitted))
    leaf = int(right[inner])
    refused(dump(with_node(island, inner, left_child=-1, right_child=-1)), CorruptArtifactError, "root")
    assert left[leaf] == -1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"node_count": 1}, "it says that it has 1 nodes"),
        ({"max_depth": 3}, "depth is 3"),
        ({"max_depth": 2**40}, "depth is"),
        ({"max_depth": "4"}, "max_depth is not a whole number"),
        ({"values": np.zeros((1, 1, 3))}, "a number for each node and class"),
        ({"nodes": np.zeros(3)}, "the fields of scikit-learn's"),
        ({"nodes": None}, "is not an array"),
    ],
    ids=str,
)
def test_a_tree_that_lies_about_itself_is_corrupt(change, words, forest, dump):
    refused(dump(with_tree(forest, **change)), CorruptArtifactError, words)


def test_a_tree_without_nodes_is_corrupt(forest, dump):
    nodes = forest.estimators_[0].tree_.__getstate__()["nodes"][:0]
    path = dump(with_tree(forest, nodes=nodes, values=np.zeros((0, 1, 3)), node_count=0))
    refused(path, CorruptArtifactError, "tree 0: it has no nodes")


@pytest.mark.parametrize(("value", "words"), [(np.nan, "not a number"), (-0.1, "negative"), (7.5, "add up")])
def test_values_of_leaves_that_are_no_classes_shares_are_corrupt(value, words, forest, dump):
    tree = forest.estimators_[0].tree_
    values, leaf = tree.value.copy(), int(np.flatnonzero(tree.children_left < 0)[1])
    values[leaf, 0, 1] = value
    refused(dump(with_tree(forest, values=values)), CorruptArtifactError, f"tree 0, node {leaf}:", words)


@pytest.mark.parametrize(
    "fields", [{"n_node_samples": -1}, {"n_node_samples": 1000}, {"weighted_n_node_samples": 7.0}], ids=str
)
def test_numbers_of_rows_that_do_not_add_up_are_no_damage_and_hide_nothing(fields, fitted, forest, dump):
    found = read(dump(with_node(forest, **fields))).forest
    true = read(dump(fitted, "true.joblib")).forest
    assert found.restored is not None
    for index in range(3):
        assert found.counts(index).tolist() == true.counts(index).tolist()


@pytest.mark.parametrize("value", [-0.1, 7.0])
def test_the_value_of_an_inner_node_that_is_no_share_hides_nothing(value, fitted, forest, dump):
    values = forest.estimators_[0].tree_.value.copy()
    values[0, 0, 1] = value
    found = read(dump(with_tree(forest, values=values))).forest
    assert found.restored is not None
    assert found.counts(0).tolist() == read(dump(fitted, "true.joblib")).forest.counts(0).tolist()


@pytest.mark.parametrize(
    ("name", "value", "kind", "words"),
    [
        ("estimators_", [], CorruptArtifactError, "not a list of trees"),
        ("estimators_", None, CorruptArtifactError, "not a list of trees"),
        ("n_features_in_", 7, CorruptArtifactError, "forest's columns"),
        ("n_features_in_", -1, CorruptArtifactError, "n_features_in_"),
        ("n_classes_", 2, CorruptArtifactError, "n_classes_"),
        ("classes_", np.array(["no", "no", "yes"]), CorruptArtifactError, "twice"),
        ("classes_", np.array([b"a", b"b", b"c"]), UnsupportedArtifactError, "neither numbers nor texts"),
        ("classes_", np.array([{}, (), 1], object), UnsupportedArtifactError, "neither numbers nor texts"),
        ("bootstrap", 1, CorruptArtifactError, "bootstrap"),
        ("_n_samples", 2, CorruptArtifactError, "only 2 were drawn"),
        ("_n_samples", 1.5, CorruptArtifactError, "_n_samples"),
        ("_sample_weight", np.ones(3), CorruptArtifactError, "_sample_weight"),
        ("_sample_weight", np.full(60, np.nan), CorruptArtifactError, "_sample_weight"),
        ("feature_names_in_", np.array(["a"], object), CorruptArtifactError, "feature_names_in_"),
    ],
    ids=str,
)
def test_a_forest_that_contradicts_its_trees_is_refused(name, value, kind, words, forest, dump):
    forest.__dict__[name] = value
    refused(dump(forest), kind, words)


def test_the_same_tree_twice_is_corrupt(forest, dump):
    forest.estimators_.append(forest.estimators_[0])
    refused(dump(forest), CorruptArtifactError, "same tree twice")


def test_a_seed_out_of_range_is_corrupt(forest, dump):
    forest.estimators_[0].random_state = 2**32
    refused(dump(forest), CorruptArtifactError, "seed")


def test_one_large_array_shared_by_many_trees_is_refused(dump, columns):
    random = np.random.RandomState(0)
    rows = random.normal(size=(20_000, 2))
    model = RandomForestClassifier(1, random_state=0).fit(rows, random.randint(0, 2, 20_000))
    tree = model.estimators_[0]
    state = tree.tree_.__getstate__()

    class Tree:
        def __reduce__(self):
            return type(tree.tree_), (2, np.array([2]), 1), state

    copies = []
    for _ in range(50):
        copy = DecisionTreeClassifier()
        copy.__dict__.update(tree.__dict__)
        copy.__dict__["tree_"] = Tree()
        copies.append(copy)
    model.estimators_ = copies
    refused(dump(model, "model.pkl"), ArtifactTooBigError, "again and again")


def test_an_error_inside_the_reader_becomes_a_refusal(fitted, dump, monkeypatch):
    from pytest_draft.artifact import reader as pickles

    for raised, kind in ((MemoryError, ArtifactTooBigError), (RecursionError, ArtifactTooBigError)):
        monkeypatch.setattr(pickles, "interpret", lambda *_, raised=raised: (_ for _ in ()).throw(raised()))
        refused(dump(fitted), kind)
    monkeypatch.setattr(pickles, "interpret", lambda *_: (_ for _ in ()).throw(UserWarning("secret")))
    assert "secret" not in refused(dump(fitted), CorruptArtifactError, "UserWarning")


def test_joblib_itself_reads_what_the_helpers_write(fitted):
    file = io.BytesIO()
    joblib.dump(fitted, file)
    file.seek(0)
    assert joblib.load(file).n_features_in_ == 6
