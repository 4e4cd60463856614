"""Whether limits for somebody who may only ask a model hold: the gate's own attack on stripped copies, beside them.

Each forest is judged as `served`, which gives limits; then a copy of its file without counts and seeds is attacked,
from other seeds and for longer. An attack that gets past a limit is told.
"""

from __future__ import annotations

import argparse
import tempfile
import warnings
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd

from pytest_draft.examine.flow import examine
from pytest_draft.facts.case import Case
from pytest_draft.facts.examination import EVERY_RULE, Examination
from pytest_draft.facts.findings import Measure
from pytest_draft.hardening.model import hardened
from pytest_draft.policy.ideal import DEVIATIONS, by_error, by_rows
from studies.cells import Plain, Study
from studies.options import add_cells, add_datasets, add_seeds, records, rows_of
from studies.verdicts import FORESTS, LABEL, TABLES, piped, table_of

_KINDS = ("5 x depth 2", "20 x depth 4", "100 x min leaf 50", "tree of depth 5")
_SECONDS = 3_600.0


class _Alone:
    """Asks for no judgement beside the one of whoever may only ask, and ends none early."""

    def decided(self, examination: Examination) -> str | None:
        return EVERY_RULE

    def promises(self, examination: Examination) -> bool:
        return False


def table_in(name: str, folder: Path | None) -> pd.DataFrame:
    """Return a table of `studies.verdicts`, or that of a file named with its label, as in ``people.csv:ill``."""
    path, is_file, label = name.rpartition(".csv:")
    return pd.read_csv(f"{path}.csv").rename(columns={label: LABEL}) if is_file else table_of(name, folder)


def cell(
    table: str, forest: str, seed: int, rows: int, effort: float, folder: str | None, moved: bool
) -> dict[str, Plain]:
    """Return limits of one forest, and the most that attacks on its stripped copy have got; aggregates only."""
    people = table_in(table, None if folder is None else Path(folder))
    people = people.sample(min(rows, len(people)), random_state=seed)
    features = people.drop(columns=LABEL)
    secret = int(np.random.default_rng([seed, 1]).integers(2**31, 2**32))
    classifier, regressor = FORESTS[forest][0]
    kind = regressor if people[LABEL].dtype.kind == "f" else classifier
    model = piped(kind(**FORESTS[forest][1], random_state=secret), features)
    with tempfile.TemporaryDirectory() as scratch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        file, copy, data = (Path(scratch) / name for name in ("model.joblib", "copy.joblib", "train.csv"))
        model.fit(features, people[LABEL])
        people.to_csv(data, index=False)
        given = features if moved else None
        joblib.dump(hardened(model, "counts", given)[0] if moved else model, file)
        joblib.dump(hardened(model, "counts", given)[0], copy)
        case = Case(str(file), str(data), LABEL, adversary="served", seconds=_SECONDS, effort=effort, full=True)
        asked = examine(case, enough=_Alone())[0]
        attacks = [
            examine(replace(case, artifact=str(copy), adversary="artifact", seed=seed, effort=4 * effort))[0]
            for seed in (1, 2)
        ]
    found = [one.findings.whole for one in attacks if one.findings is not None]
    if asked.findings is None or not found:
        return {"status": asked.solver_status, "why": "; ".join(asked.reasons)[:200]}
    return {"status": asked.solver_status, "n_rows": asked.findings.whole.rows} | _limits(asked.findings.whole, found)


def _limits(asked: Measure, found: Sequence[Measure]) -> dict[str, Plain]:
    """Return the tightest limits, what attacks have got, and whether any of them got past one."""
    limits = [ideal.least_error for ideal in by_error(asked)]
    errors = {ideal.attackers[0].prior: ideal.least_error for ideal in by_error(asked)}
    rows = [ideal.most_perfect_rows for ideal in by_rows(asked)]
    error, perfect = min(one.error.upper for one in found), max(one.perfect.lower for one in found)
    most = min(rows, default=float(asked.rows))
    room = 1 + DEVIATIONS * (most * (1 - most / asked.rows)) ** 0.5
    return {
        "others": errors.pop("all other rows", None),
        "datasets": max(errors.values(), default=None),
        "most_rows": min(most, asked.rows) if rows else None,
        "without": asked.error_without_file,
        "error": error,
        "perfect": perfect,
        "beaten": error < max([0.0, *limits]) - 1e-9 or perfect > most + room,
    }


def summary(rows: pd.DataFrame) -> list[str]:
    """Return a Markdown table, and how many limits were passed."""
    names = ("table", "forest", "seed", "n_rows", "others", "datasets", "without", "error", "most_rows", "perfect")
    lines = ["| " + " | ".join(names) + " | beaten |", "|" + " --- |" * (len(names) + 1)]
    for one in records(rows):
        shown = [f"{v:.4f}" if isinstance(v, float) else "-" if v is None else str(v) for v in map(one.get, names)]
        lines.append(f"| {' | '.join(shown)} | {one.get('beaten', one.get('why'))} |")
    judged = [one for one in records(rows) if one.get("beaten") is not None]
    return [*lines, "", f"{sum(one['beaten'] for one in judged)} of {len(judged)} beaten, of {len(rows)} files"]


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the options of this study."""
    add_datasets(command, required=False)
    command.add_argument("--tables", nargs="+", default=list(TABLES), metavar="TABLE", help="or FILE.csv:LABEL")
    command.add_argument("--forests", nargs="+", default=list(_KINDS), choices=list(FORESTS), metavar="FOREST")
    command.add_argument("--rows", type=int, default=150, help="rows drawn at random")
    command.add_argument("--effort", type=float, default=3.0, help="of the judgement; each attack has four times that")
    command.add_argument(
        "--moved", action="store_true", help="serve what harden --data writes: no answers to missing values by counts"
    )
    add_seeds(command, [0])
    add_cells(command)


def command(a: argparse.Namespace) -> int:
    """Run this study, and return how many limits were passed."""
    each: list[dict[str, Any]] = [
        {"table": table, "forest": forest, "seed": seed, "rows": a.rows, "effort": a.effort, "moved": a.moved}
        for table, forest, seed in product(a.tables, a.forests, a.seeds)
    ]
    folder = None if a.datasets is None else str(a.datasets)
    rows = rows_of(Study("served", cell, [{**one, "folder": folder} for one in each], {}), a)
    print("\n".join(summary(rows)))
    return int(rows["beaten"].fillna(value=False).sum()) if "beaten" in rows else 0
