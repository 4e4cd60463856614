"""Run a study: in goes a list of cells and a folder, out comes one row for each cell, computed now or before."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd

from studies.cells.computing import Call
from studies.cells.places import outcomes
from studies.cells.progress import Shown, Stand, Tell
from studies.cells.store import Row, Store
from studies.cells.study import Cell, Study, cells_of


def run(
    study: Study, store: Path, where: str = "local:1", *, tell: Tell | None = None, any_code: bool = False
) -> pd.DataFrame:
    """Compute the cells of a study that are not kept yet, and return all its rows.

    Parameters
    ----------
    store : Path
        Folder of kept rows; made where there is none.
    where : str
        ``local:N`` for N processes of this machine, ``tcp://host:port`` for a Dask scheduler (extra ``cluster``),
        ``dask:N`` for a Dask cluster of N processes that is started for this run.
    tell : callable or None
        Takes a `Stand` whenever there is news; None for a bar on standard error.
    any_code : bool
        Whether rows that other code computed are taken too, the latest of each cell.

    Returns
    -------
    pandas.DataFrame
        One row for each cell, parameters before results, in the order of ``study.cells``; the same wherever it was
        computed. A column of one type has that type; one with None, or of several types, holds Python's own values.
        Cells that raised are missing: ``attrs["failed"]`` is how many, which makes a command's exit status 1, and
        ``attrs["about"]`` are lines on when, where and by which versions all others were computed.

    Raises
    ------
    DraftError
        Where a cell, a file, the store or the place cannot be used; before any work.
    KeyboardInterrupt
        After telling how many cells stand: these are kept, and the next run goes on.
    """
    code, cells = cells_of(study)
    shown = Shown(sys.stderr)
    show = shown if tell is None else tell
    stand = Stand(study.name, len(cells), 0)
    kept = Store(store, study.name, lambda line: show(replace(stand, news=line)))
    found = _taken(cells, kept.rows(), any_code=any_code)
    missing = [cell for cell in cells if cell.question not in found]
    stand = replace(stand, kept=len(cells) - len(missing))
    calls = [Call(study.compute, cell, code) for cell in missing]
    began = time.monotonic()
    try:
        with closing(outcomes(where, calls)) as ended:
            show(stand)
            for number, outcome in ended:
                cell = missing[number]
                stand = replace(stand, elapsed=time.monotonic() - began, news="")
                if outcome.results is None:
                    stand = replace(stand, failed=stand.failed + 1, news=f"{study.name}: {cell}: {outcome.failure}")
                else:
                    at = datetime.now(UTC).isoformat()
                    values = {**cell.parameters, **outcome.results}
                    run_by = outcome.seconds, outcome.machine, outcome.versions
                    kept.add(Row(cell.key, cell.question, code, at, *run_by, values))
                    stand = replace(stand, done=stand.done + 1)
                show(stand)
    except KeyboardInterrupt:
        standing = len(_taken(cells, kept.rows(), any_code=any_code))  # one may have come that was not counted yet
        stands = f"{standing} of {stand.total} cells stand in {store}"
        show(replace(stand, news=f"{study.name}: stopped; {stands}; the same command goes on"))
        raise
    finally:
        shown.close()
    return _table(cells, _taken(cells, kept.rows(), any_code=any_code))


def _taken(cells: Iterable[Cell], rows: Sequence[Row], *, any_code: bool) -> dict[str, Row]:
    """Return the row of each cell that has one, by the cell's question."""
    by_key = {row.key: row for row in rows}
    latest = {row.question: row for row in rows} if any_code else {}
    found = {}
    for cell in cells:
        row = by_key.get(cell.key, latest.get(cell.question))
        if row is not None:
            found[cell.question] = row
    return found


def _table(cells: Sequence[Cell], found: dict[str, Row]) -> pd.DataFrame:
    """Return the rows of cells in their order."""
    rows = [found[cell.question] for cell in cells if cell.question in found]
    names = list(dict.fromkeys(name for row in rows for name in row.values))
    names = names or list(dict.fromkeys(name for cell in cells for name in cell.parameters))
    table = pd.DataFrame({name: _column([row.values.get(name) for row in rows]) for name in names})
    table.attrs["failed"] = len(cells) - len(rows)
    table.attrs["about"] = _about(rows)
    return table


def _column(values: list[Any]) -> pd.Series[Any]:
    """Return values of one type as a column of that type, and all others as they are."""
    one_type = len({type(value) for value in values}) == 1 and values[0] is not None
    return pd.Series(values, dtype=None if one_type else object)


def _about(rows: Sequence[Row]) -> list[str]:
    """Return when, where and by what rows were computed."""
    if not rows:
        return []
    first, last = min(row.at for row in rows)[:10], max(row.at for row in rows)[:10]
    codes = len({row.code for row in rows})
    return [
        f"{len(rows)} cells, {sum(row.seconds for row in rows):.0f} s in all, "
        f"computed {first if first == last else f'{first} to {last}'}"
        + (f" by {codes} versions of the code" if codes > 1 else ""),
        *(f"on {one}" for one in sorted({row.machine for row in rows})),
        *(f"by {one}" for one in sorted({row.versions for row in rows})),
    ]
