"""Read a model file: in goes a path, out comes an `Artifact`. Nothing that the file says is run."""

from __future__ import annotations

import hashlib
import os
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

from pytest_draft.artifact.boosters import booster_in
from pytest_draft.artifact.budget import DEFAULT_LIMITS, Budget, Limits
from pytest_draft.artifact.container import load, unpack
from pytest_draft.artifact.model import Artifact, view, view_of_forest, view_of_rules
from pytest_draft.artifact.onnx.graph import is_onnx
from pytest_draft.artifact.onnx.model import read_onnx
from pytest_draft.artifact.pickle.interpreter import interpret
from pytest_draft.artifact.rules.texts import rule_list_in, text_of
from pytest_draft.artifact.skops.archive import is_archive, read_skops
from pytest_draft.errors import ArtifactError, ArtifactTooBigError, CorruptArtifactError, one_line

_LONG = 2**22
"""Bytes from which on a file is hashed beside its reading."""


def read(path: str | os.PathLike[str], *, place: str | None = None, limits: Limits = DEFAULT_LIMITS) -> Artifact:
    """Read a tree ensemble or a rule list, and run nothing: files of joblib, pickle, skops, skl2onnx, and texts.

    Parameters
    ----------
    path : path-like
        A ``.joblib`` or ``.pkl`` file, plain or packed with zlib, gzip, bz2, xz or lzma; a ``.skops`` file; an ONNX
        file of skl2onnx; a booster as XGBoost saves it (JSON or UBJSON); or a rule list as text: TOML, JSON
        (``rules/rule-list.schema.json``), or what CORELS prints or writes. The format is recognised by the content.
    place : str or None
        Which of several models in the file, as `SeveralModelsError.places` lists them, such as ``estimators_[2]``.
    limits : Limits
        What reading may cost.

    Returns
    -------
    Artifact
        With a model whose structure and sums have been checked. Where it is not known what the transformers before a
        forest do, `Artifact.not_covered` says so, and the forest is read all the same.

    Raises
    ------
    SeveralModelsError
        If it holds several models, and no place is given.
    UnsupportedArtifactError
        If there is no such file, or it holds something that is not supported.
    CorruptArtifactError
        If the file is damaged or contradicts itself.
    ArtifactTooBigError
        If reading it would cross a limit.
    ArtifactNotAllowedError
        If it asks for a call that a forest does not need. The call is not made.
    """
    given = os.fsdecode(path)
    with _refusals(given) as source, warnings.catch_warnings(), np.errstate(all="ignore"):
        # pytest may turn warnings into errors; a file must not be able to use that.
        warnings.simplefilter("ignore")
        packed = load(given, limits)
        source.begin(packed)
        size = len(packed)
        budget = Budget(limits, size)
        if is_archive(packed):
            root, budget = read_skops(packed, limits)
            found = view(root, budget, place)
        elif is_onnx(packed):
            found = view_of_forest(*read_onnx(packed, budget))
        elif (booster := booster_in(packed, budget)) is not None:
            found = view_of_forest(booster)
        elif (text := text_of(packed, limits)) is not None:
            found = view_of_rules(*rule_list_in(text))
        else:
            stream = unpack(packed, limits)
            del packed
            budget = Budget(limits, stream.size, size)
            found = view(interpret(stream, budget), budget, place)
        account = replace(found.account, unexplained=(*budget.unused, *found.account.unexplained))
        sha256 = source.sha256
        assert sha256 is not None
        not_covered = None if found.not_covered is None else f"{_shown(given)}: {found.not_covered}"
        found = replace(found, not_covered=not_covered, account=account)
        return Artifact(path=given, sha256=sha256, size=size, **vars(found))


class _Source:
    """What is known of the file while it is read: its hash, which a thread of its own computes meanwhile."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._sha256: str | None = None

    def begin(self, content: bytes) -> None:
        """Begin to hash what was read; a short file at once."""

        def run() -> None:
            self._sha256 = hashlib.sha256(content).hexdigest()

        if len(content) >= _LONG:
            self._thread = threading.Thread(target=run, daemon=True)
            try:
                self._thread.start()
            except RuntimeError:  # there are no threads left
                self._thread = None
        if self._thread is None:
            run()

    @property
    def sha256(self) -> str | None:
        """The hash; None where nothing was read."""
        if self._thread is not None:
            self._thread.join()
        return self._sha256


@contextmanager
def _refusals(path: str) -> Iterator[_Source]:
    """Turn whatever goes wrong into one of the four kinds, in one line that begins with the file's name."""
    source = _Source()
    try:
        yield source
    except ArtifactError as error:
        refusal = error
    except MemoryError:
        refusal = ArtifactTooBigError("reading it takes more memory than there is, or than --draft-memory allows")
    except RecursionError:
        refusal = ArtifactTooBigError("its objects stand too deep in each other: save the model alone")
    except Exception as error:
        # The last net: a file must never end the program in another way. The error's text can quote
        # the file, so only its type is shown.
        refusal = CorruptArtifactError(f"its content makes no sense ({type(error).__name__})")
    else:
        return
    said = f"{_shown(path)}: {refusal.kind}: {refusal}"
    raise type(refusal)(said, sha256=source.sha256, places=refusal.places) from None


def _shown(path: str) -> str:
    """Return the file's name, for messages."""
    return one_line(Path(path).name or path, 120)
