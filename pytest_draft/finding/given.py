"""The training data of a file: those that were given, where they explain it, else those that are found in them."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from pytest_draft.arrays import FloatArray
from pytest_draft.artifact import Artifact
from pytest_draft.artifact.forest import Forest
from pytest_draft.artifact.forest.observations import BoostedSums
from pytest_draft.artifact.origin import ORIGINAL
from pytest_draft.data import Table, TrainingData, as_table, raw_rows, training_data
from pytest_draft.data.decoding import encoded_names
from pytest_draft.data.files import place_of
from pytest_draft.data.training import labels_of
from pytest_draft.errors import DataError, DraftError, OutOfTimeError
from pytest_draft.evaluate.identity import identify_drawn, unlike
from pytest_draft.finding.search import Given, Search
from pytest_draft.finding.told import Told, told_by
from pytest_draft.timebox import TimeBox

__tracebackhide__ = True  # frames here hold rows

_TREES = 3
"""Trees that the given rows have to explain to be taken as they are; whoever judges them looks at all."""

SAVE = (
    "give the rows that fit() got: beside it, write "
    "pd.DataFrame(X_train).assign(label=list(y_train)).to_csv('train.csv', index=False)"
)
"""What gives the right rows."""


def rows_of(
    artifact: Artifact,
    given: object,
    target: str | None,
    timebox: TimeBox | None,
    seed: int,
    enough: float,
    *,
    anyway: bool = False,
) -> Given:
    """Return the rows that a model was trained on, of those that were given.

    Parameters
    ----------
    given : Table, pandas.DataFrame, tuple (X, y) or TrainingData
    target : str or None
        Name of the label column, or array.
    timebox : TimeBox or None
        Of the search; None for none.
    seed, enough
        As `Search` takes them.
    anyway : bool
        Whether to take rows as they are that do not explain the file, where no others are found.

    Raises
    ------
    DataError, NotCoveredError
        Where the rows cannot be used as they are, and others were not found in them.
    """
    model, data, refused = artifact.model, None, None
    try:
        data = training_data(given, model, target, artifact.encoder, artifact.origin)
    except DataError as error:
        refused = error
    searches = artifact.origin == ORIGINAL and not isinstance(given, TrainingData)
    if data is not None and data.n_rows < (getattr(model, "n_samples", None) or 0):
        searches = False  # nothing is found in a part of them
    if timebox is not None and isinstance(model, Forest) and searches:
        counts = False
        try:
            first, fits = _first_told(model, timebox), False
            if first is not None and data is not None:
                counts = model.n_samples in (None, data.n_rows) and not first.misses(data.rows, data.labels)
                fits = counts and (data.targets is None or first.gives_targets(data.targets, first.roots()))
            told = None if first is None or fits else told_by(model, timebox)
            if told is not None:
                return _found(artifact, told, as_table(given), data, refused, target, timebox, seed, enough)
        except OutOfTimeError:
            pass
        except DataError:
            if data is None or not (anyway or counts):  # whose counts fit, but for targets
                raise
    if data is None:
        assert refused is not None
        raise refused
    return Given(given, data)


def _first_told(forest: Forest, timebox: TimeBox) -> Told | None:
    """Return what the first trees say, without the draws of the others: of most files, that is all that is asked."""
    said = forest.observation
    number = max(_TREES, said.n_scores) if isinstance(said, BoostedSums) else _TREES
    return told_by(replace(forest, trees=forest.trees[:number]), timebox)


def _found(
    artifact: Artifact,
    told: Told,
    table: Table,
    data: TrainingData | None,
    refused: DataError | None,
    target: str | None,
    timebox: TimeBox,
    seed: int,
    enough: float,
) -> Given:
    """Search, and return what was found, or the given rows where these can be right in another order."""
    forest, encoder = told.forest, artifact.encoder
    encoded: FloatArray | None = None
    if encoder is not None:
        try:
            encoded = raw_rows(table, forest, target, encoder).astype(np.float64)
        except DraftError:
            encoded = None  # it was encoded already, or otherwise
    names = forest.feature_names or (None if encoder is None else encoded_names(encoder))
    found: Given | str | None
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # of readings and splits that do not fit
        labels = _labels(table, forest, target)
        try:
            search = None if labels is None else Search(told, table, labels, encoded, names, timebox, seed, enough)
            found = None if search is None else search.found()
        except DataError as error:
            found = str(error)
    if isinstance(found, Given):
        return replace(found, data=replace(found.data, by_encoder=encoded is not None))
    drawn = data is not None and told.drawn is not None and data.n_rows == forest.n_samples
    if data is not None and drawn and identify_drawn(forest, data.rows, data.labels).status == "confirmed":
        return Given(table, data)
    raise DataError(_why(forest, table, data, refused, found))


def _labels(table: Table, forest: Forest, target: str | None) -> Any:
    """Return the labels of a table, one for each row; None where it is not known which column holds them."""
    try:
        labels = labels_of(table, forest, target)
    except DataError:
        return None
    return None if labels is None or labels.size != len(table.frame) else labels


def _why(
    forest: Forest, table: Table, data: TrainingData | None, refused: DataError | None, searched: str | None
) -> str:
    """Say why the rows are not those of the file, and what to do."""
    where = place_of(table.source)
    if searched is None:
        return str(refused) if data is None else f"{where}: this forest was not trained on these rows; {SAVE}"
    wrong = None if data is None else unlike(replace(forest, n_samples=None), data.rows)  # the search says its number
    if refused is not None:
        wrong = str(refused).removeprefix(f"{where}: ").partition(";")[0]
    stranger = "this forest was not trained on these rows"
    return f"{where}: " + "; ".join(part for part in (wrong or stranger, searched, SAVE) if part)
