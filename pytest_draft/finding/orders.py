"""The rows that a script may have handed to fit, in their order: cleanings of a table, and splits of what they leave.

Both are lists of a few lines each, so that one more costs a line. Whatever they propose, the file has to confirm.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from numpy.random import RandomState

from pytest_draft.arrays import AnyArray, BoolArray, IntArray

__tracebackhide__ = True  # frames here hold rows

USUAL = (42, 0, 1, 2, 7, 10, 21, 100, 101, 123, 1234, 2023, 2024, 2025)
"""Seeds that people use; 42 stood in 17 of 28 public files."""

SORTED = "sort_values() by"
"""What is split in order, and by no seed."""

MOST_SEEDS = 10_000
"""All from 0 up to this are tried, where there is time."""

_SHARES = (0.2, 0.25, 0.3, 0.1, 0.15, 0.33, 1 / 3, 0.35, 0.4, 0.5)
"""Of test rows, as people set them."""

_FOLDS = (5, 10, 3, 4)

Order = tuple[str, IntArray]
"""In words, and positions of the rows in their order."""


def sizes_of(n_rows: int) -> tuple[int, ...]:
    """Return the numbers of training rows that people take of so many."""
    return (n_rows, *(n_rows - math.ceil(share * n_rows) for share in _SHARES))


def cleanings(
    frame: pd.DataFrame, target: str | None, used: Iterable[str], in_time: Callable[[], None] = lambda: None
) -> dict[str, IntArray]:
    """Return what scripts keep of a table before they split it: positions, by what was done.

    Parameters
    ----------
    frame : pandas.DataFrame
        With NaN for whatever is missing.
    target : str or None
        The label column, which has a value in each row that is kept.
    used : iterable of str
        Columns that the model has by name.
    in_time : callable
        Called at each of them; it can raise `OutOfTimeError`.
    """
    found: dict[str, IntArray] = {}
    seen: set[bytes] = set()
    labelled = np.ones(len(frame), dtype=np.bool_) if target is None else frame[target].notna().to_numpy()

    def add(words: str, kept: AnyArray) -> None:
        in_time()
        positions = np.flatnonzero(kept & labelled) if kept.dtype == np.bool_ else kept[labelled[kept]]
        if len(positions) and (key := positions.tobytes()) not in seen:
            seen.add(key)
            found[words] = positions.astype(np.int64)

    features = [column for column in frame.columns if column != target]
    present: BoolArray = frame.notna().to_numpy()
    with_target = [column for column in frame.columns if column == target or column in set(used)]
    ids = [column for column in features if frame[column].nunique(dropna=False) == len(frame)]
    few = [column for column in frame.columns if column not in ids]
    first = ~frame.duplicated().to_numpy()
    add("all rows", labelled)
    add("dropna()", np.asarray(present.all(axis=1)))
    if 1 < len(with_target) < frame.shape[1]:
        add("dropna() of the columns used", np.asarray(frame[with_target].notna().to_numpy().all(axis=1)))
        add("drop_duplicates() of the columns used", ~frame.duplicated(with_target).to_numpy())
    add("drop_duplicates()", first)
    add("drop_duplicates() and dropna()", np.asarray(first & present.all(axis=1)))
    if ids:
        add("drop_duplicates() without ids", ~frame.duplicated(few).to_numpy())
    asked = frame.select_dtypes(object).isin(["?", " ?"]).to_numpy().any(axis=1)
    add("rows without '?'", np.asarray(~asked & present.all(axis=1)))
    gaps = (~present).mean(axis=0)
    most = [int(position) for position in np.argsort(-gaps, kind="stable") if gaps[position] > 0]
    for number in range(1, len(most) + 1):
        others = np.setdiff1d(np.arange(len(gaps)), most[:number])
        add(f"dropna() without {number} columns", np.asarray(present[:, others].all(axis=1)))
    for position in most:
        add(f"dropna() of column {position + 1}", present[:, position])
    numbers = [column for column in features if pd.api.types.is_numeric_dtype(frame[column])]
    inside = np.ones(len(frame), dtype=np.bool_)
    for column in numbers:
        values = frame[column].to_numpy(dtype=np.float64, na_value=np.nan)
        zero = values == 0
        if 0 < zero.sum() < len(frame):
            add(f"rows without a 0 in {column!r}", ~zero)
        low, high = np.nanpercentile(values, [25, 75]) if np.isfinite(values).any() else (0.0, 0.0)
        within = (values >= low - 1.5 * (high - low)) & (values <= high + 1.5 * (high - low))
        add(f"outliers of {column!r} removed (1.5 IQR)", within)
        inside &= within
    add("outliers removed (1.5 IQR)", inside)
    for column in features[:40]:
        for way, order in enumerate(_sorted(frame[column])):
            add(f"{SORTED} {column!r}" + f", {way}" * (way > 0), order)
    return found


def _sorted(column: pd.Series[Any]) -> Iterator[IntArray]:
    """Yield the order of a column's values, and of the dates that they are."""
    for values in (column, *dates_in(column)):
        table = values.reset_index(drop=True).to_frame("by")
        try:
            for kind in ("quicksort", "stable"):  # the first is what pandas does by itself, also with ties
                yield table.sort_values("by", kind=kind).index.to_numpy(dtype=np.int64)
        except TypeError:  # texts and numbers
            continue


def dates_in(column: pd.Series[Any]) -> Iterator[pd.Series[Any]]:
    """Yield a column of texts as the dates that they are, if any: months first, or days."""
    if pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column):
        return
    texts = column.dropna().astype(str)
    if not len(texts) or texts.str.contains(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}").mean() < 0.9:
        return
    for kind in (None, "mixed"):
        readings = [
            pd.to_datetime(column, errors="coerce", dayfirst=day_first, format=kind) for day_first in (False, True)
        ]
        good = [dates for dates in readings if dates.notna().sum() > 0.9 * len(texts)]
        yield from good[: 1 if len(good) == 2 and good[0].equals(good[1]) else 2]
        if good:
            return


def orders(
    n_rows: int, size: int, codings: Sequence[IntArray], seeds: Iterable[int], *, first: bool
) -> Iterator[Order]:
    """Yield ways to take some of so many rows.

    Parameters
    ----------
    size : int
        Rows that are taken.
    codings : sequence of ndarray of int64, each of shape (n_rows,)
        What each row's class can be, for splits by class; none of a regressor's.
    seeds : iterable of int
    first : bool
        Whether to begin with what needs no seed.
    """
    if first:
        if size == n_rows:
            yield "", np.arange(n_rows)
        elif size < n_rows:
            yield "the first rows", np.arange(size)
            yield "the last rows", np.arange(n_rows - size, n_rows)
    steps = [n_rows - math.ceil(share * n_rows) for share in _SHARES]
    twice = [one for one in steps if any(one - math.ceil(share * one) == size for share in _SHARES)]
    for seed in seeds:
        yield from _of_seed(n_rows, size, seed, twice)
        for codes in codings:
            yield from _by_class(n_rows, size, codes, seed, twice)


def _of_seed(n_rows: int, size: int, seed: int, twice: list[int]) -> Iterator[Order]:
    """Yield ways that draw rows whatever their class."""
    if size > n_rows:
        return
    order = RandomState(seed).permutation(n_rows)
    if size == n_rows:
        yield f"shuffled by random_state={seed}", order
        return
    taken = order[n_rows - size :]
    yield f"train_test_split(random_state={seed})", taken
    yield f"df.sample(random_state={seed})", order[:size]
    yield f"shuffled, then train_test_split, both by random_state={seed}", order[taken]
    for one in twice:
        part = order[n_rows - one :]
        for other in dict.fromkeys((seed, 42)):
            again = part[RandomState(other).permutation(one)[one - size :]]
            yield f"train_test_split(random_state={seed}), and again ({other})", again
    chosen = np.flatnonzero(RandomState(seed).rand(n_rows) < size / n_rows)
    if len(chosen) != size:
        for share in _SHARES[:4]:
            chosen = np.flatnonzero(RandomState(seed).rand(n_rows) < 1 - share)
            if len(chosen) == size:
                break
    if len(chosen) == size:
        yield f"rows with np.random.rand below a share, seed {seed}", chosen


def _by_class(n_rows: int, size: int, codes: IntArray, seed: int, twice: list[int]) -> Iterator[Order]:
    """Yield splits that keep the shares of classes, and ways to make classes equal."""
    counts = np.bincount(codes)
    counts = counts[counts > 0]
    if len(counts) < 2 or len(counts) > 50:
        return
    if size < n_rows and counts.min() > 1:
        yield from _keeping_shares(n_rows, size, codes, seed, twice)
    if counts.min() < counts.max():
        yield from _made_equal(n_rows, size, codes, seed)


def _keeping_shares(n_rows: int, size: int, codes: IntArray, seed: int, twice: list[int]) -> Iterator[Order]:
    if (taken := _stratified(codes, size, seed)) is not None:
        yield f"train_test_split(stratify, random_state={seed})", taken
    for one in twice:
        if (part := _stratified(codes, one, seed)) is not None:
            if (again := _stratified(codes[part], size, seed)) is not None:
                yield f"train_test_split(stratify, random_state={seed}), twice", part[again]
            plain = RandomState(seed).permutation(one)[one - size :]
            yield f"train_test_split(stratify, random_state={seed}), and again without", part[plain]


def _made_equal(n_rows: int, size: int, codes: IntArray, seed: int) -> Iterator[Order]:
    counts = np.bincount(codes)
    counts = counts[counts > 0]
    for make, made in ((_fewer, counts.min()), (_more, counts.max())):
        if size <= len(counts) * made <= 2 * size:
            for words, part in make(codes, seed):
                for then, rest in _once(part, size, seed):
                    yield f"{words}, {then}" if then else words, part[rest]
    for share in _SHARES[:6] if size % len(counts) == 0 else ():
        trained = RandomState(seed).permutation(n_rows)[math.ceil(share * n_rows) :]
        of_class = np.bincount(codes[trained])
        for make, made in ((_fewer, of_class[of_class > 0].min()), (_more, of_class.max())):
            if len(counts) * made == size:
                for words, part in make(codes[trained], seed):
                    yield f"train_test_split(random_state={seed}), then {words}", trained[part]


def _once(part: IntArray, size: int, seed: int) -> Iterator[Order]:
    if len(part) == size:
        yield "", np.arange(size)
        yield f"shuffled by random_state={seed}", RandomState(seed).permutation(size)
    elif len(part) > size:
        for one in dict.fromkeys((seed, 42, 0)):
            yield f"train_test_split(random_state={one})", RandomState(one).permutation(len(part))[len(part) - size :]


def _stratified(codes: IntArray, size: int, seed: int) -> IntArray | None:
    """Return what ``train_test_split`` with ``stratify`` takes; None where it refuses."""
    from sklearn.model_selection import StratifiedShuffleSplit

    split = StratifiedShuffleSplit(1, test_size=len(codes) - size, train_size=size, random_state=seed)
    try:
        taken, _ = next(split.split(np.zeros((len(codes), 1)), codes))
    except ValueError:
        return None
    return np.asarray(taken, dtype=np.int64)


def _fewer(codes: IntArray, seed: int) -> Iterator[Order]:
    """Yield rows with as many of each class as there are of the rarest: by ``df.sample`` and ``RandomUnderSampler``."""
    classes, counts = np.unique(codes, return_counts=True)
    least, members = int(counts.min()), [np.flatnonzero(codes == one) for one in classes]
    sampled = [own[RandomState(seed).permutation(len(own))[:least]] for own in members]
    kept = [own if len(own) == least else one for own, one in zip(members, sampled, strict=True)]
    for by_size in (np.argsort(counts, kind="stable"), np.argsort(-counts, kind="stable")):
        yield f"undersampled by df.sample(random_state={seed})", np.concatenate([kept[one] for one in by_size])
    yield f"undersampled by df.sample(random_state={seed}) of each class", np.concatenate(sampled)
    random = RandomState(seed)
    drawn = [own if len(own) == least else own[random.choice(len(own), least, replace=False)] for own in members]
    yield f"RandomUnderSampler(random_state={seed})", np.concatenate(drawn)


def _more(codes: IntArray, seed: int) -> Iterator[Order]:
    """Yield rows of which those of rare classes are there several times: by ``resample`` and ``RandomOverSampler``."""
    classes, counts = np.unique(codes, return_counts=True)
    most, members = int(counts.max()), [np.flatnonzero(codes == one) for one in classes]
    random = RandomState(seed)
    added = [own[random.randint(0, len(own), most - len(own))] for own in members if len(own) < most]
    yield f"RandomOverSampler(random_state={seed})", np.concatenate([np.arange(len(codes)), *added])
    largest = [own for own in members if len(own) == most]
    drawn = [own[RandomState(seed).randint(0, len(own), most)] for own in members if len(own) < most]
    yield f"oversampled by resample(random_state={seed})", np.concatenate([*largest, *drawn])


def folds(n_rows: int, size: int, codings: Sequence[IntArray]) -> Iterator[Order]:
    """Yield the training rows of folds, of all rows or of those of a split."""
    from sklearn.model_selection import KFold, StratifiedKFold

    wholes: list[Order] = [("", np.arange(n_rows))]
    for share in _SHARES[:4]:
        one = n_rows - math.ceil(share * n_rows)
        if any(abs(one - one // k - size) <= 1 for k in _FOLDS):
            wholes.append(("train_test_split(random_state=42), ", RandomState(42).permutation(n_rows)[n_rows - one :]))
            parts = [_stratified(codes, one, 42) for codes in codings]
            wholes += [("train_test_split(stratify, random_state=42), ", part) for part in parts if part is not None]
    kinds = [(KFold, None), *((StratifiedKFold, codes) for codes in codings[:1])]
    for words, whole in wholes:
        for k, seed, (kind, codes) in product(_FOLDS, (None, *USUAL[:6]), kinds):
            if abs(len(whole) - len(whole) // k - size) > 1 or len(whole) < 2 * k:
                continue
            split = kind(k, shuffle=seed is not None, random_state=seed)
            try:
                trained = [taken for taken, _ in split.split(whole[:, None], None if codes is None else codes[whole])]
            except ValueError:
                continue
            shuffled = "" if seed is None else f", random_state={seed}"
            for number, taken in enumerate(trained, 1):
                if len(taken) == size:
                    yield f"{words}all but fold {number} of {kind.__name__}({k}{shuffled})", whole[taken]
