"""The training data after each of the file's transformers, to search the file for them.

Rows that another model keeps stand behind whatever it was fitted behind. Which transformers these are is not asked:
each that takes as many columns is tried on each table, and on what others have made of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from pytest_draft.arrays import AnyArray
from pytest_draft.artifact.encoder import Encoder, Projection, Transformer
from pytest_draft.data import transformed
from pytest_draft.errors import DataError
from pytest_draft.timebox import TimeBox

__tracebackhide__ = True  # in a module's globals it covers all its frames, a dataclass's __init__ too

MOST = 48
"""Tables that are made at most."""

MOST_VALUES = 2**26
"""Values of these tables."""

_DEEPEST = 4
"""Transformers behind each other."""

_SECONDS_PER_VALUE = 2e-7
"""Measured: an encoder takes 0.05 to 0.2 us a value."""

Columns = list[AnyArray]


def tables_behind(
    raw: Mapping[object, AnyArray],
    tables: Sequence[Sequence[AnyArray]],
    transformers: Sequence[Transformer],
    timebox: TimeBox,
) -> tuple[list[Columns], bool]:
    """Return what transformers make of tables, and whether that is all.

    Parameters
    ----------
    raw : mapping of ndarray
        The raw columns, by name: a transformer that knows names is given these.
    tables : sequence of sequences of ndarray
        Each the columns of a table, all of as many rows.
    """
    made: list[Columns] = []
    ahead = [(list(table), frozenset[int]()) for table in tables]
    twins: set[int] = set()
    first, size = True, 0
    while ahead:
        following = []
        for number, transformer in enumerate(transformers):
            inputs = [
                (table, done)
                for table, done in ahead
                if len(table) == transformer.n_inputs and number not in done and number not in twins
            ]
            names = transformer.does.names if isinstance(transformer.does, Encoder) else None
            if first and names is not None and set(names) <= set(raw):
                inputs.insert(0, ([raw[name] for name in names], frozenset()))
            for table, done in inputs:
                seconds = _SECONDS_PER_VALUE * len(table) * len(table[0])
                size += transformer.n_inputs * len(table[0])
                if len(made) == MOST or size > MOST_VALUES or timebox.over or not timebox.allows(seconds):
                    return made, False
                timebox.spend(seconds)
                columns = _behind(transformer.does, table)
                if columns and any(_are_same(columns, other) for other in (*made, table)):
                    twins.add(number)  # fitted on the same rows as another, or doing nothing
                elif columns:
                    made.append(columns)
                    if len(done) + 1 < _DEEPEST:
                        following.append((columns, done | {number}))
        ahead, first = following, False
    return made, True


def _behind(does: Encoder | Projection, table: Columns) -> Columns | None:
    """Return a table behind a transformer; None where it takes no such values."""
    try:
        if isinstance(does, Encoder):
            raw = {source: pd.Series(table[source]) for source in does.sources}
            return [np.asarray(column) for column in transformed(does, raw, "the training data")]
        numbers = np.column_stack([column.astype(np.float64) for column in table])
    except (DataError, ValueError, TypeError):
        return None
    return list(((numbers - does.mean) @ does.components.T / does.scale).T)


def _are_same(columns: Columns, others: Columns) -> bool:
    if len(columns) != len(others):
        return False
    return all(
        one.dtype.kind == other.dtype.kind and np.array_equal(one, other, equal_nan=one.dtype.kind in "fc")
        for one, other in zip(columns, others, strict=True)
    )
