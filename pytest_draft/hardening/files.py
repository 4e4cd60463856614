"""Hardens a model's file: writes another file, and checks it.

The model is loaded, which runs whatever is in its file: this is for the owner's own. (Judging never loads one.)
"""

from __future__ import annotations

import os
import pickle
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

from pytest_draft.data.files import parsed
from pytest_draft.data.tables import Table, read_table
from pytest_draft.errors import DataError, UsageError, known_are, no_file, one_line
from pytest_draft.hardening.level import DEFAULT, level_of
from pytest_draft.hardening.model import NO_BOOSTER, hardened_through
from pytest_draft.hardening.result import Hardened
from pytest_draft.output import replacing

SUFFIXES = (".joblib", ".pkl", ".pickle")
"""Of files that are written."""


def harden(
    model: Any,
    output: str | os.PathLike[str],
    *,
    level: str = DEFAULT,
    data: Any = None,
    target: str | None = None,
    force: bool = False,
) -> Hardened:
    """Write a model without what its predictions do not need: seeds, counts, impurities, middles of training values.

    The result still reveals something of its training data: judge the file that was written before it is released.

    Parameters
    ----------
    model : path-like or estimator
        A file of your own (``.joblib``, ``.pkl``, ``.skops``), which is loaded and so can run anything; or a fitted
        model, or a dict, list or tuple of some, which is left as it is.
    output : path-like
        The file to write, ``.joblib``, ``.pkl`` or ``.pickle``.
    level : str
        ``none``, which only clears bytes that nothing uses (data may be hidden there); ``seeds``; ``counts``, which
        leaves all predictions as they are; ``decimals:N``, which also rounds leaves' class fractions, N from 1 to 6;
        ``labels``, which leaves each leaf its label alone. Each includes those before it.
    data : path-like, data frame, array-like or tuple (X, y), optional
        The training data, as the model was fitted on them. Without them thresholds stay as they are, and predictions
        are compared on rows that are drawn.
    target : str, optional
        The label column of `data`, where the model does not know its features' names.
    force : bool
        Whether a file at `output` may be replaced. The model's own file never is.

    Returns
    -------
    Hardened
        What was changed, how far predictions are from the model's, what no longer works, what is still revealed.

    Raises
    ------
    UsageError
        Where an argument is wrong.
    DataError
        Where the model or the data cannot be used, or its predictions would change at a level at which they must not.
        Nothing is written then.

    Examples
    --------
    >>> import pytest_draft
    >>> result = pytest_draft.harden(forest, "hardened.joblib", data=X)  # doctest: +SKIP
    >>> print(result)  # doctest: +SKIP
    """
    wanted = level_of(level)
    place = Path(output)
    source = Path(model) if isinstance(model, str | os.PathLike) else None
    if source is not None:
        require_no_booster_file(source)
    _require_writable(place, source, force)
    if isinstance(data, str | os.PathLike) and place.exists() and Path(data).exists() and place.samefile(data):
        raise UsageError(f"{one_line(place)}: this is the data's file; give another name")
    rows = rows_of(data, target)
    notes: tuple[str, ...] = ()
    if source is not None:
        model, notes = load(source)
    with _written(place) as draft:

        def saved(new: Any) -> Any:
            _write(new, draft, place)
            return _loaded(_joblib, draft, place)[0]

        _, result = hardened_through(model, wanted, rows, target, saved)
        _require_writable(place, source, force)
    return replace(result, path=os.fspath(output), notes=notes)


def require_no_booster_file(path: Path) -> None:
    """Refuse a file that a booster has written itself, before it is read.

    Raises
    ------
    DataError
    """
    if path.suffix.lower() in (".json", ".ubj", ".txt", ".cbm"):
        raise DataError(f"{one_line(path)}: a file of boosted trees {NO_BOOSTER}")


def load(path: Path) -> tuple[Any, tuple[str, ...]]:
    """Load a model file, which runs what is in it.

    Returns
    -------
    model : object
    notes : tuple of str
        Such as which version of scikit-learn wrote it, where that is not the one here.

    Raises
    ------
    DataError
        Where that fails.
    """
    return _loaded(_skops if path.suffix == ".skops" else _joblib, path, path)


def _loaded(reader: Callable[[Any], Any], file: Path | BinaryIO, path: Path) -> tuple[Any, tuple[str, ...]]:
    """Load a model from a file, or from an open one that is named by its path."""

    def problem(error: Exception) -> str:
        if isinstance(error, FileNotFoundError):
            return no_file(path)
        if isinstance(error, ModuleNotFoundError):
            missing = one_line((error.name or "a module").partition(".")[0], 60)
            return f"loading it needs {missing}, which is not installed: install it, or do this where it was trained"
        return f"cannot be loaded ({type(error).__name__}): give a file that joblib, pickle or skops wrote"

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = parsed(lambda: reader(file), one_line(path), problem)
    versions = {
        (str(one.message.original_sklearn_version), str(one.message.current_sklearn_version))  # type: ignore[union-attr]
        for one in caught
        if type(one.message).__name__ == "InconsistentVersionWarning"
    }
    notes = tuple(
        f"scikit-learn {one_line(old, 20)} wrote the model, {one_line(new, 20)} loaded it and writes the new file: "
        "rather harden it with the version that trained it"
        for old, new in sorted(versions)
    )
    return model, notes


def _joblib(file: Path | BinaryIO) -> Any:
    import joblib

    return joblib.load(file)


def _skops(path: Any) -> Any:
    import skops.io

    return skops.io.load(path, trusted=skops.io.get_untrusted_types(file=path))


def _require_writable(place: Path, source: Path | None, force: bool) -> None:
    """Refuse an output that is no model file, is the input, is there already or cannot be made."""
    where = one_line(place)
    if place.suffix not in SUFFIXES:
        raise UsageError(f"{where}: {known_are(place.suffix or place.name, SUFFIXES)}")
    if source is not None and not source.exists():
        raise DataError(f"{one_line(source)}: {no_file(source)}")
    if source is not None and not source.is_file():
        raise DataError(f"{one_line(source)}: not a regular file")
    if not place.parent.is_dir():
        raise UsageError(f"{one_line(place.parent)}: no such folder; make it first")
    if place.exists() or place.is_symlink():
        if source is not None and place.exists() and place.samefile(source):
            raise UsageError(f"{where}: this is the model's own file, which is never overwritten; give another name")
        if not force:
            raise UsageError(f"{where}: is there already; give another name, or --force (force=True) to replace it")
        if not place.is_file():
            raise UsageError(f"{where}: not a regular file; give another name")


def rows_of(data: Any, target: str | None) -> Any:
    """Return what was given as training data as features, and labels where they are a column."""
    if data is None:
        if target is not None:
            raise UsageError("a target without data says nothing: give the training data (--data)")
        return None
    if isinstance(data, tuple) and len(data) == 2:
        return data[0]
    if isinstance(data, str | os.PathLike):
        data = read_table(data)
    if isinstance(data, Table):
        if target is not None and target not in data.frame.columns and target not in (data.targets or {}):
            columns = [str(column) for column in data.frame.columns]
            raise DataError(
                f"{one_line(data.source)}: no column {one_line(target, 60)!r}: {known_are(target, columns)}"
            )
        return data.as_written
    return data


@contextmanager
def _written(place: Path) -> Iterator[BinaryIO]:
    """Give a file that takes a place when all is done."""
    try:
        with replacing(place) as draft:
            yield draft
    except OSError as error:
        raise DataError(f"{one_line(place)}: cannot be written ({error.strerror or error})") from None


def _write(model: Any, draft: BinaryIO, place: Path) -> None:
    """Write a model as its suffix says."""
    import joblib

    dump: Callable[..., Any] = joblib.dump if place.suffix == ".joblib" else pickle.dump
    problem = ""
    try:
        dump(model, draft)
        draft.flush()
        draft.seek(0)
    except OSError as error:
        problem = f"cannot be written ({os.strerror(error.errno or 0)})"
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        problem = f"the model cannot be pickled ({type(error).__name__})"
    if problem:
        raise DataError(f"{one_line(place)}: {problem}")
