"""What is no file, what crosses a limit, and forests that contradict themselves where that hides nothing.

Files that attack, that are damaged or that hold something else are in `attack_corpus`.
"""

from __future__ import annotations

import errno
import hashlib
import io
import os
import time

import joblib
import pytest
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline

from attack_corpus.forests import with_node, with_tree
from attack_corpus.pickles import NAMES
from pytest_draft.artifact import Limits, container, read
from pytest_draft.errors import (
    ArtifactError,
    ArtifactTooBigError,
    CorruptArtifactError,
    UnsupportedArtifactError,
)


def refused(path, kind, *words, hashed=True, **options):
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
    if hashed and os.path.isfile(path) and kind is not ArtifactTooBigError:
        with open(path, "rb") as file:
            assert caught.value.sha256 == hashlib.sha256(file.read()).hexdigest()
    return message


# Sizes


def test_half_a_file_says_where_it_ends(fitted, dump):
    honest = dump(fitted).read_bytes()
    message = refused(dump(honest[: len(honest) // 2], "half.joblib"), CorruptArtifactError, "copy or train it again")
    assert message.startswith("half.joblib: corrupt: the file ends")
    assert f" of {len(honest) // 2}" in message


def test_more_instructions_than_allowed_are_refused(fitted, dump):
    refused(dump(fitted), ArtifactTooBigError, "instructions", limits=Limits(opcodes=100))


def test_a_file_above_its_limit_is_refused(fitted, dump):
    refused(dump(fitted), ArtifactTooBigError, "more than 100 bytes", limits=Limits(file_bytes=100))


# What is no file


def test_what_is_not_a_regular_file_is_refused_without_waiting(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/dev/zero")
    refused(tmp_path / "pipe", UnsupportedArtifactError, "a FIFO")
    refused(tmp_path / "link", UnsupportedArtifactError, "a device")
    refused(tmp_path, UnsupportedArtifactError, "holds no model")
    refused(tmp_path / "missing.joblib", UnsupportedArtifactError, "no such file")
    refused(str(tmp_path / "a\0b"), UnsupportedArtifactError, "not a path")


@pytest.mark.parametrize(
    ("number", "words"), [(errno.EACCES, "no permission"), (errno.ELOOP, "ELOOP"), (errno.EISDIR, "a directory")]
)
def test_what_cannot_be_opened_is_refused(number, words, fitted, dump, monkeypatch):
    path = dump(fitted)

    def fail(*_):
        raise OSError(number, "secret")

    monkeypatch.setattr(container.os, "open", fail)
    assert "secret" not in refused(os.fspath(path), UnsupportedArtifactError, words, hashed=False)


def test_a_file_that_cannot_be_read_to_its_end_is_refused(fitted, dump, monkeypatch):
    path = dump(fitted)

    def fail(*_):
        raise OSError(errno.EIO, "secret")

    monkeypatch.setattr(container.os, "read", fail)
    refused(path, CorruptArtifactError, "reading it failed at byte 0 (EIO)", hashed=False)


@pytest.mark.parametrize("name", ["a\nb.joblib", "\x1b[31mred.joblib", "::error::x.joblib", "n\u00e4me\udc80.joblib"])
def test_a_files_name_cannot_write_into_a_log(name, tmp_path):
    refused(tmp_path / name, UnsupportedArtifactError)


def test_names_of_attributes_cannot_write_into_a_log(dump, forest):
    forest.__dict__.update({name: [1] for name in NAMES})
    assert all(path.isascii() and path.isprintable() for path in read(dump(forest)).not_read)


def test_a_forest_behind_a_transformer_that_is_not_covered_is_read(columns, classes, dump):
    pipeline = make_pipeline(PCA(2), RandomForestClassifier(2)).fit(columns, classes)
    assert "a PCA before its last step" in read(dump(pipeline)).not_covered


# Forests that contradict themselves


@pytest.mark.parametrize(
    "fields", [{"n_node_samples": -1}, {"n_node_samples": 1000}, {"weighted_n_node_samples": 7.0}], ids=str
)
def test_numbers_of_rows_that_do_not_add_up_are_no_damage_and_never_pass(fields, forest, dump):
    found = read(dump(with_node(forest, **fields))).forest
    assert not found.observation.exact
    assert "n_node_samples are left" in found.observation.also


@pytest.mark.parametrize("value", [-0.1, 7.0])
def test_the_value_of_an_inner_node_that_is_no_share_never_passes(value, forest, dump):
    values = forest.estimators_[0].tree_.value.copy()
    values[0, 0, 1] = value
    found = read(dump(with_tree(forest, values=values))).forest
    assert not found.observation.exact
    assert "the values of inner nodes" in found.observation.also


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
