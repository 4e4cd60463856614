"""The table that a case names: with labels that are in a file of their own, and the rows that a split takes of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from pytest_draft.artifact.encoder import Encoder
from pytest_draft.data.files import place_of
from pytest_draft.data.split import Split
from pytest_draft.data.tables import Table, is_index, read_table
from pytest_draft.data.training import Model, TrainingData, as_table, labels_of
from pytest_draft.errors import LabelError, one_line
from pytest_draft.facts.case import Case, Returned

__tracebackhide__ = True  # frames here hold rows


def table_of(case: Case, given: object, model: Model, encoder: Encoder | None) -> tuple[Any, tuple[str, ...]]:
    """Return training data, once all is done that a case says of them, and notes on that for the reader of a result.

    Parameters
    ----------
    given : Table, pandas.DataFrame, tuple (X, y), TrainingData or Returned
        As read, or as given in memory; `TrainingData` stay as they are.

    Raises
    ------
    DataError, UsageError
        Where the labels do not fit the table, it cannot be split so, or nobody can read the split.
    """
    if isinstance(given, Returned):
        given = as_table(given.value, given.source)
    if (case.labels is None and case.split is None) or isinstance(given, TrainingData):
        return given, ()
    table, notes = as_table(given), []
    if case.labels is not None and not isinstance(given, tuple):
        labels = read_table(case.labels)
        table = _labelled(table, labels)
        notes.append(f"the labels are those of {one_line(labels.source)} (SHA-256 {labels.sha256})")
    if case.split is not None:
        split, n_rows = Split.parse(case.split), len(table.frame)
        taken = split.positions(n_rows, labels_of(table, model, case.target, encoder) if split.stratify else None)
        table = table.taken(taken)
        notes.append(f"training rows taken from the table as --draft-split says: {len(taken):,} of {n_rows:,}")
    return table, tuple(notes)


def _labelled(table: Table, labels: Table) -> Table:
    """Return a table with the labels that are the only column of another one, besides its index."""
    where, columns = place_of(labels.source), [str(column) for column in labels.frame.columns]
    named = [name for name in columns if not is_index(name)] or columns
    if len(named) != 1:
        raise LabelError(f"{where}: {len(columns)} columns; a file of labels has one, and may have an unnamed index")
    if len(labels.frame) != len(table.frame):
        raise LabelError(f"{where}: {len(labels.frame):,} labels for {len(table.frame):,} rows; give one for each row")
    values = np.asarray(labels.frame.iloc[:, columns.index(named[0])])
    return replace(table, targets={**(table.targets or {}), "y": values})
