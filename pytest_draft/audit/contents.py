"""What a model file holds beside its trees: compares its arrays with the training data.

No attack is needed for what is simply there. Copies are searched by `copies`, categories that only few rows have by
`rare_categories`; here are the arrays with an entry for each row. An array counts as a copy only where chance would
hardly make it: two columns of zeros and ones are easily equal, two columns of birth dates are not.

Quantiles, the edges of bins, thresholds of curves: each is the value of some person, to the last digit. They are
counted beside what other rows like these would meet (split-half), so that an age or a grade, which many share, reveals
nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from pytest_draft.arrays import AnyArray, BoolArray, FloatArray
from pytest_draft.artifact.forest import Forest
from pytest_draft.artifact.model import View
from pytest_draft.artifact.rules.rule_list import RuleList
from pytest_draft.artifact.world.account import FEWEST_ROWS
from pytest_draft.artifact.world.contents import Contents, Stored
from pytest_draft.audit.beside import of_known_columns, values_beside
from pytest_draft.audit.copies import find_copies
from pytest_draft.audit.known_data import KnownData, raw_columns_of
from pytest_draft.audit.rare_categories import rarest_categories
from pytest_draft.audit.value_hashes import comparable
from pytest_draft.data import Table, TrainingData
from pytest_draft.data.tables import matched
from pytest_draft.errors import one_line
from pytest_draft.facts.contents import Copy, Place, SingleValues, StoredFacts, Vector
from pytest_draft.timebox import TimeBox

__tracebackhide__ = True  # in a module's globals it covers all its frames, a dataclass's __init__ too

_ALWAYS_BY_ROW = frozenset(
    ("_sample_weight", "oob_decision_function_", "oob_prediction_", "_fit_X", "_mask_fit_X", "_y", "labels_")
)
"""Attributes of scikit-learn that have an entry for each training row, whatever else is as long."""

_OF_GROUPS = frozenset(("centroids_", "cluster_centers_", "means_", "subcluster_centers_", "theta_"))
"""Aggregates with a row for each group of rows."""

_QUANTILES = frozenset(("bin_edges_", "quantiles_"))

_MOST_STRANGE = 64
"""Names of columns that some estimator knows and the table has not: those of encoded columns between two steps."""

_MOST_LISTED = 100
"""So many arrays, values and doubts of each kind are listed; a damaged file can hold any number."""


def inspect_contents(
    artifact: View,
    given: object,
    data: TrainingData | None,
    timebox: TimeBox,
    all_rows: TrainingData | None = None,
) -> StoredFacts:
    """Say which of a file's arrays belong to training rows.

    Parameters
    ----------
    artifact : View
        Also that of a file without a model.
    given : Table, pandas.DataFrame, tuple (X, y), TrainingData or None
        The training data as they were given.
    data : TrainingData or None
        The same as the model sees them, where that is known.
    all_rows : TrainingData or None
        All rows of the file, where the model was trained on some of them.

    Raises
    ------
    DataError
        Where arrays in memory are no table.
    """
    model = artifact.model
    columns = _by_file_names(raw_columns_of(given), artifact)
    beside, unknown = values_beside(artifact.beside)
    arrays = [of_known_columns(stored, tuple(map(str, columns))) for stored in (*artifact.contents.arrays, *beside)]
    names = dict.fromkeys(stored.names for stored in arrays if stored.names)
    contents = replace(artifact.contents, arrays=tuple(arrays), names=(*artifact.contents.names, *names))
    n_arrays = sum(not stored.joined for stored in contents.arrays)
    n_rows = (
        len(data.rows) if data is not None else max((len(column) for column in columns.values()), default=0) or None
    )
    data = data if all_rows is None else all_rows
    n_all = n_rows if data is None else len(data.rows)
    known_numbers = {n for n in (n_all, n_rows, _rows_of(model)) if n is not None}
    by_row, perhaps = _vectors(contents, known_numbers, model)
    doubts = [f"{one_line(path)} is a long text or bytes, which are not looked into" for path in contents.opaque]
    if n_rows is not None and _rows_of(model) not in (None, n_rows):
        said = model.trained_on if isinstance(model, Forest) else f"this rule list on {_rows_of(model):,}"
        rows = f"{n_rows:,} row{'s' * (n_rows != 1)}"
        doubts.append(f"the data have {rows}, and {said}: give all rows that it was trained on")
    copies: list[Copy] = []
    met: SingleValues | None = None
    if n_rows is not None and (contents.arrays or contents.learned):
        known = KnownData(columns, data, model, contents, timebox)
        copies, missed = find_copies(contents, known, timebox)
        doubts += missed
        met, missed = single_values(contents, known.numbers, timebox)
        doubts += missed
        if n_arrays and not (known.all_behind and contents.all_undone):
            doubts.append(
                "not all transformers of the file were undone: save the forest alone, or give more --draft-budget"
            )
    elif apart := sum(not (one.few or one.joined) for one in (*contents.arrays, *contents.learned)):
        doubts.append(
            f"{apart:,} array{'s' * (apart != 1)} in the file could not be compared with the training data, which are "
            "not known: add --draft-data"
        )
    written = given.written if isinstance(given, Table) else {}
    texts: dict[object, AnyArray] = {column.name: column.to_numpy() for column in written.values()}
    rarest, missed = rarest_categories(artifact, columns | _by_file_names(texts, artifact), data)
    doubts += missed
    return StoredFacts(
        arrays=n_arrays,
        n_rows=tuple(sorted(known_numbers)),
        by_row=by_row,
        perhaps_by_row=perhaps,
        copies=tuple(copies[:_MOST_LISTED]),
        rarest=tuple(rarest[:_MOST_LISTED]),
        doubts=tuple(doubts[:_MOST_LISTED]),
        unexplained=(*unknown, *_unexplained(artifact, by_row, columns))[:_MOST_LISTED],
        kept=_kept(artifact, n_rows, met),
        plain=artifact.account.plain,
        single_values=met,
    )


def _by_file_names(columns: dict[object, AnyArray], artifact: View) -> dict[object, AnyArray]:
    """Return columns by the names that the file has for them, where it has some."""
    encoder = artifact.encoder
    wanted = (encoder and encoder.names) or artifact.model.feature_names or ()
    return dict(zip(matched(list(map(str, columns)), wanted), columns.values(), strict=True)) if wanted else columns


def _unexplained(artifact: View, by_row: Sequence[Vector], columns: dict[object, AnyArray]) -> tuple[Place, ...]:
    """Return what nothing explains: no name of a column that the table has, either."""
    listed = {vector.path for vector in by_row if vector.path.rpartition(".")[2] in _ALWAYS_BY_ROW}
    places = [shown for place in artifact.account.unexplained if (shown := _shown(place)).path not in listed]
    known = {*columns, *(artifact.model.feature_names or ())}
    for names in (*artifact.contents.names, *artifact.account.names) if columns else ():
        if (strange := len(set(names) - known)) > _MOST_STRANGE:
            what = f"{strange:,} names of columns that neither the table nor the forest has"
            places.append(Place("feature_names_in_", "an estimator", what))
    return tuple(places[:_MOST_LISTED])


def _kept(artifact: View, n_rows: int | None, met: SingleValues | None) -> tuple[Place, ...]:
    """Return what holds rows by its nature; also means of so many groups, or so many quantiles, that each is of few.

    Quantiles that are those of a column of the table are reported as values of single people.
    """
    places = [_shown(place) for place in artifact.account.kept]
    listed = () if met is None else met.places
    for stored in (*artifact.contents.arrays, *artifact.contents.learned) if n_rows is not None else ():
        name = stored.path.rpartition(".")[2].partition("[")[0]
        of_groups = name in _OF_GROUPS or (name in _QUANTILES and one_line(stored.path) not in listed)
        if of_groups and stored.shape and n_rows is not None and stored.shape[0] * FEWEST_ROWS > n_rows:
            what = f"aggregates of {stored.shape[0]:,} groups of {n_rows:,} rows"
            places.append(Place(one_line(stored.path), "an estimator", what))
    return tuple(places[:_MOST_LISTED])


def _shown(place: Place) -> Place:
    return replace(place, path=one_line(place.path), owner=one_line(place.owner, 120), what=one_line(place.what, 160))


def _rows_of(model: Forest | RuleList) -> int | None:
    """Return the number of training rows that a file gives."""
    if isinstance(model, Forest):
        return model.n_samples
    return None if model.counts is None else int(model.counts.sum())


def _vectors(
    contents: Contents, n_rows: set[int], model: Forest | RuleList
) -> tuple[tuple[Vector, ...], tuple[Vector, ...]]:
    """Return the arrays with an entry for each row, and those whose length can have another reason."""
    explained = contents.sizes | {model.n_classes} | ({model.n_features} if model.n_features is not None else set())
    surely: list[Vector] = []
    perhaps: list[Vector] = []
    for stored in contents.arrays:
        if stored.joined or not n_rows.intersection(stored.shape):
            continue
        vector = Vector(one_line(stored.path), stored.shape)
        name = stored.path.rpartition(".")[2]
        unexplained = not stored.few and n_rows.intersection(stored.shape) - explained
        (surely if name in _ALWAYS_BY_ROW or unexplained else perhaps).append(vector)
    return tuple(surely[:_MOST_LISTED]), tuple(perhaps[:_MOST_LISTED])


MOST_SHARED = 0.5
"""A column of which other rows like these meet more than this share of the values tells nobody from others."""

FEWEST = 3
"""Values of one column in one line of an array, from which on they are taken for its values."""

_METHODS: tuple[Literal["linear", "averaged_inverted_cdf", "inverted_cdf"], ...] = (
    "linear",
    "averaged_inverted_cdf",
    "inverted_cdf",
)
"""How scikit-learn's transformers compute quantiles."""

_MOST_DRAWN = 20_000
"""Rows of all halves that are drawn for what other rows like these meet; of two halves at least."""

_MOST_DRAWS = 10

_MOST_SHOWN = 3


def single_values(
    contents: Contents, tables: Sequence[Sequence[AnyArray]], timebox: TimeBox
) -> tuple[SingleValues | None, list[str]]:
    """Return how many values of the training data stand in a file's arrays, None where none does; and doubts.

    Parameters
    ----------
    tables : sequence of sequences of ndarray
        The training data and what transformers make of it, each as its columns. The one that is met most counts.
    timebox : TimeBox
        Tables that are left when it ends are not looked at, which is the doubt that is returned.
    """
    arrays = [
        (stored, values) for stored in (*contents.arrays, *contents.learned) if (values := _numbers(stored)) is not None
    ]
    found: list[SingleValues] = []
    for table in tables if arrays else ():
        if timebox.over:
            return _most(found), [
                "the time box's part for this ended before all single values of the file were counted (--draft-budget)"
            ]
        if (one := _in_table(arrays, table)) is not None:
            found.append(one)
    return _most(found), []


def _most(found: list[SingleValues]) -> SingleValues | None:
    return max(found, key=lambda one: one.share - one.others, default=None)


def _in_table(arrays: list[tuple[Stored, AnyArray]], table: Sequence[AnyArray]) -> SingleValues | None:
    """Return how many values of one table stand in arrays."""
    columns: dict[int, FloatArray] = {}
    shared: list[float] = []
    for index, column in enumerate(table):
        numbers = _single(column) if column.dtype.kind in "iuf" else None
        if numbers is not None and np.isfinite(numbers).any() and (others := _met_by_others(numbers)) <= MOST_SHARED:
            columns[index] = numbers
            shared.append(others)
    if not columns:
        return None
    known = {index: np.unique(numbers[np.isfinite(numbers)]) for index, numbers in columns.items()}
    everything = np.unique(np.concatenate(list(known.values())))
    met = {index: np.zeros(len(numbers), dtype=np.bool_) for index, numbers in columns.items()}
    places: Counter[str] = Counter()
    for stored, values in arrays:
        before = sum(int(one.sum()) for one in met.values())
        for position, line in _lines(values, len(table)):
            rising = len(line) >= FEWEST and bool((np.diff(line) >= 0).all())
            if not (rising or _among(line, everything).any()):
                continue
            for index, distinct in known.items():
                hits = _quantiles_of(line, columns[index]) if rising else line[:0]
                if not len(hits):
                    hits = _hits(line, distinct, aligned=position == index)
                if len(hits):
                    met[index] |= _among(columns[index], hits)
        more = sum(int(one.sum()) for one in met.values()) - before
        if more:
            places[one_line(stored.path)] += more
    share, others = float(np.mean([one.mean() for one in met.values()])), float(np.mean(shared))
    if share <= others:
        return None
    return SingleValues(tuple(path for path, _ in places.most_common(_MOST_SHOWN)), share, others)


def _numbers(stored: Stored) -> AnyArray | None:
    """Return an array's numbers, in single precision; None where it holds none, or is a table's pieces."""
    if stored.joined or stored.is_sparse:
        return None
    try:
        values = comparable(stored.values())
    except ValueError:
        return None
    if values.dtype.kind not in "iuf" or not 0 < values.ndim <= 2:
        return None
    return _single(values)


def _single(values: AnyArray) -> FloatArray:
    with np.errstate(over="ignore"):
        return values.astype(np.float32).astype(np.float64)


def _lines(values: AnyArray, width: int) -> Iterator[tuple[int | None, FloatArray]]:
    """Return the lines of an array, and of which column each is where it has one for each."""
    if values.ndim == 1:
        yield None, values
        if len(values) == width:
            yield from ((index, values[index : index + 1]) for index in range(width))
        return
    for table in (values, values.T):
        yield from ((index if table.shape[1] == width else None, table[:, index]) for index in range(table.shape[1]))


def _hits(line: FloatArray, distinct: FloatArray, *, aligned: bool) -> FloatArray:
    """Return the values of a column that stand in a line, where these are more than chance puts there."""
    theirs = np.unique(line[np.isfinite(line)])
    hits: FloatArray = theirs[_among(theirs, distinct)]
    if len(hits) < (1 if aligned else FEWEST):
        return hits[:0]
    gaps = np.diff(distinct)
    places = (distinct[-1] - distinct[0]) / gaps.min() + 1 if len(gaps) else 1.0
    on_grid = theirs[(theirs >= distinct[0]) & (theirs <= distinct[-1])]
    if len(gaps):
        on_grid = on_grid[np.abs((on_grid - distinct[0]) / gaps.min() % 1.0 - 0.5) > 0.5 - 1e-3]
    chance = len(on_grid) * min(1.0, len(distinct) / places)
    if aligned and len(theirs) == 1:
        return hits
    return hits if len(hits) > chance + 4 * np.sqrt(chance) or len(hits) == len(theirs) else hits[:0]


def _among(values: FloatArray, distinct: FloatArray) -> BoolArray:
    """Return which values stand among some ascending ones."""
    if not len(distinct):
        return np.zeros(len(values), dtype=np.bool_)
    at = np.minimum(np.searchsorted(distinct, values), len(distinct) - 1)
    found: BoolArray = distinct[at] == values
    return found


def _quantiles_of(line: FloatArray, numbers: FloatArray) -> FloatArray:
    """Return the values that are nearest to each of a column's quantiles, where a line holds just those.

    A quantile between two people's values reveals both of them as nearly as one that is somebody's own: with 201 rows
    all of 101 quantiles are, with 200 rows two.
    """
    known = np.sort(numbers[np.isfinite(numbers)])
    if not len(known) or line[0] < known[0] or line[-1] > known[-1]:
        return line[:0]
    close = 1e-6 * float(known[-1] - known[0])
    shares = np.linspace(0, 100, len(line))
    for method in _METHODS:
        found = np.percentile(known, shares, method=method)
        if (np.abs(found - line) <= close).all():
            nearest: FloatArray = np.unique(np.percentile(known, shares, method="nearest"))
            return nearest
    return line[:0]


def _met_by_others(numbers: FloatArray) -> float:
    """Return which share of a column's values one half of the rows has in common with the other, on average."""
    random = np.random.default_rng(0)
    half = len(numbers) // 2
    if not half:
        return 0.0
    shares = []
    for _ in range(int(np.clip(_MOST_DRAWN // len(numbers), 2, _MOST_DRAWS))):
        order = random.permutation(len(numbers))
        mine: BoolArray = np.isin(numbers[order[:half]], numbers[order[half:]])
        shares.append(float(mine.mean()))
    return float(np.mean(shares))
