"""Read a model file: in goes a path, out comes an `Artifact`. Nothing that the file says is run."""

from __future__ import annotations

import hashlib
import os
import threading
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import numpy as np

from pytest_draft.artifact.boosters import booster_in
from pytest_draft.artifact.budget import DEFAULT_LIMITS, Budget, Limits
from pytest_draft.artifact.container import beginning, load, unpack
from pytest_draft.artifact.forest import Forest
from pytest_draft.artifact.model import Artifact, View, read_estimator, view, view_beside, view_of_forest, view_of_rules
from pytest_draft.artifact.objects import Object
from pytest_draft.artifact.onnx.graph import is_onnx
from pytest_draft.artifact.onnx.model import read_onnx
from pytest_draft.artifact.pickle.interpreter import interpret
from pytest_draft.artifact.read_forest import ReadForest
from pytest_draft.artifact.records import Record
from pytest_draft.artifact.release import PICKLE, Member, members_of
from pytest_draft.artifact.rules.texts import rule_list_in, text_of
from pytest_draft.artifact.sklearn.estimators import SUPPORTED
from pytest_draft.artifact.skops.archive import is_archive, read_skops
from pytest_draft.errors import (
    ArtifactError,
    ArtifactNotAllowedError,
    ArtifactTooBigError,
    CorruptArtifactError,
    SeveralModelsError,
    UnsupportedArtifactError,
    listed,
    one_line,
)

_LONG = 2**22
"""Bytes from which on a file is hashed beside its reading."""

_TIMES_AS_LONG = 3
"""All files of a release may take so many times as long to read as one."""


def read(path: str | os.PathLike[str], *, place: str | None = None, limits: Limits = DEFAULT_LIMITS) -> Artifact:
    """Read a tree ensemble or a rule list, and run nothing: files of joblib, pickle, skops, skl2onnx, and texts.

    Parameters
    ----------
    path : path-like
        A ``.joblib`` or ``.pkl`` file, plain or packed with zlib, gzip, bz2, xz or lzma; a ``.skops`` file; an ONNX
        file of skl2onnx; a booster as XGBoost saves it (JSON or UBJSON); or a rule list as text: TOML, JSON
        (``rules/rule-list.schema.json``), or what CORELS prints or writes. Or a release of several files, with one
        model in it: a folder, or a tar or zip archive. The format is recognised by the content.
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
        members = members_of(packed, limits)
        if members is None:
            found = _view(packed, limits, place)
        else:
            del packed
            found = _released(members, limits, place)
        sha256 = source.sha256
        assert sha256 is not None
        not_covered = None if found.not_covered is None else f"{_shown(given)}: {found.not_covered}"
        found = replace(found, not_covered=not_covered)
        return Artifact(path=given, sha256=sha256, size=size, **vars(found))


def read_forest(packed: bytes) -> Forest:
    """Return the forest in a pickle that was written here, of which nothing else is asked.

    Raises
    ------
    ArtifactError
    """
    root, budget = _objects(packed, DEFAULT_LIMITS)
    if not isinstance(root, Record):
        raise UnsupportedArtifactError("it holds no estimator")
    return read_estimator(Object(root), budget)[0].forest


def _view(packed: bytes, limits: Limits, place: str | None) -> View:
    """Return what is in a file that holds one model, or objects among which there are models."""
    budget = Budget(limits, len(packed))
    if is_archive(packed):
        root, budget = read_skops(packed, limits)
        found = _viewed(root, budget, place)
    elif is_onnx(packed):
        found = view_of_forest(*read_onnx(packed, budget))
    elif (booster := _booster(packed, budget)) is not None:
        found = view_of_forest(booster)
    elif (text := text_of(packed, limits)) is not None:
        found = view_of_rules(*rule_list_in(text))
    else:
        root, budget = _objects(packed, limits)
        found = _viewed(root, budget, place)
    return replace(found, account=replace(found.account, unexplained=(*budget.unused, *found.account.unexplained)))


def _booster(packed: bytes, budget: Budget) -> ReadForest | None:
    """Return the booster in a format of its own; a refusal takes with it what the reader found."""
    try:
        return booster_in(packed, budget)
    except UnsupportedArtifactError as refusal:
        refusal.beside = view_beside(None, budget, refusal.beside)
        raise


def _viewed(root: object, budget: Budget, place: str | None) -> View:
    """Find the model; a refusal takes with it what the file holds beside it, and says which call was not run."""
    try:
        return view(root, budget, place)
    except SeveralModelsError:
        raise
    except (UnsupportedArtifactError, CorruptArtifactError) as error:
        refusal: ArtifactError = error
        if budget.not_run is not None:
            holds = "" if SUPPORTED in str(error) else f"{error}; "
            refusal = ArtifactNotAllowedError(f"{holds}{budget.not_run}")
        with suppress(ArtifactError):
            refusal.beside = view_beside(root, budget, error.beside)
        raise refusal from None


def _objects(packed: bytes, limits: Limits) -> tuple[object, Budget]:
    """Return what the interpreter makes of a pickle, and what is left to look at it with."""
    stream = unpack(packed, limits)
    budget = Budget(limits, stream.size, len(packed))
    return interpret(stream, budget), budget


def _released(members: Sequence[Member], limits: Limits, place: str | None) -> View:
    """Return the one model of a release of several files, with all that stands in the others."""
    models: dict[str, View | SeveralModelsError] = {}
    without_model: dict[str, View] = {}
    beside: list[Member] = []
    why = None
    ends = time.thread_time() + _TIMES_AS_LONG * limits.seconds
    for member in members:
        if time.thread_time() > ends:
            raise ArtifactTooBigError("its files take too long to read: release the model with less beside it")
        try:
            models[member.name] = _view(member.content, limits, _place_in(member, place))
        except SeveralModelsError as error:
            models[member.name] = error
        except ArtifactError as error:
            is_pickled = is_archive(member.content) or beginning(member.content, 1, limits) == PICKLE
            if isinstance(error.beside, View):
                without_model[one_line(member.name)] = error.beside
            if is_pickled and isinstance(error.beside, View):
                why = why or f"{one_line(member.name, 80)}: {error}"
            elif member.why is None and (is_pickled or _is_model(member.content)):
                beside.append(replace(member, content=b"", why=str(error)))
                why = f"{one_line(member.name, 80)}: {error}"
            else:
                beside.append(member)
    name, found = _chosen(models, place, why)
    for file, view_of_it in without_model.items():
        found = found.with_file(file, view_of_it)
    others = len(members) - 1
    files = f", and its other files ({others:,}) are searched for training rows" if others else ""
    said = f"unpacked: the model file in it ({one_line(name, 80)}) is judged{files}"
    return replace(found, released=said, beside=tuple(beside))


def _chosen(models: Mapping[str, View | SeveralModelsError], place: str | None, why: str | None) -> tuple[str, View]:
    """Return the model at a place, or the only one, and the file that it is in."""
    places = [
        at
        for name, found in models.items()
        for at in ([f"{name}: {inner}" for inner in found.places] if not isinstance(found, View) else [name])
    ]
    if not models:
        raise UnsupportedArtifactError(
            f"it holds no model that is read{'' if why is None else f' ({why})'}: give the model's own file"
        )
    if place is None and len(places) > 1:
        raise SeveralModelsError(
            f"it holds {len(places)} models, and an attacker can combine them: {listed(places)}; release one",
            places=tuple(places),
        )
    for name, found in models.items():
        if isinstance(found, View) and (place is None or place == name or place.startswith(f"{name}: ")):
            return name, replace(found, places=tuple(places) if len(places) > 1 else ())
    raise UnsupportedArtifactError(f"it holds no model at {one_line(str(place))}, but at {listed(places)}")


def _place_in(member: Member, place: str | None) -> str | None:
    """Return which of a member's own models is meant."""
    inside = f"{member.name}: "
    return place[len(inside) :] if place is not None and place.startswith(inside) else None


def _is_model(content: bytes) -> bool:
    """Return whether a file is of a booster's own format, and damaged or not supported."""
    try:
        return booster_in(content, Budget(DEFAULT_LIMITS, len(content))) is not None
    except ArtifactError:
        return True


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
    raise type(refusal)(said, sha256=source.sha256, places=refusal.places, beside=refusal.beside) from None


def _shown(path: str) -> str:
    """Return the file's name, for messages."""
    return one_line(Path(path).name or path, 120)
