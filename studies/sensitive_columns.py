"""What files tell of sensitive columns, of members and of others: in go packaged tables, out comes a line for a column.

Four files a table and a draw of its rows: a forest with the defaults, the same without counts and seeds, a tuned one,
and one that tells little.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import joblib
from sklearn.ensemble import RandomForestClassifier

from pytest_draft.examine import flow
from pytest_draft.examine.flow import examine
from pytest_draft.facts.case import Case
from pytest_draft.facts.examination import Examination
from pytest_draft.facts.label_told import Sensitive
from pytest_draft.hardening.model import hardened
from pytest_draft.policy.sensitive_columns import RULE
from studies.packaged_tables import PREFIX, packaged

TABLES = {
    "recid": ("drugs", "married", "age"),
    "ACTG175": ("race", "drugs", "karnof"),
    "401ksubs": ("marr", "nettfa", "fsize"),
    "affairs": ("relig", "kids", "ratemarr"),
    "fair": ("religious", "children"),
}
"""Tables, and columns of each that somebody would call sensitive."""

FILES: dict[str, dict[str, int]] = {
    "defaults": {},
    "defaults, hardened": {},
    "200 of depth 8, leaves of 5": {"n_estimators": 200, "max_depth": 8, "min_samples_leaf": 5},
    "10 of depth 3, leaves of 20": {"n_estimators": 10, "max_depth": 3, "min_samples_leaf": 20},
}
"""Settings of forests."""

THRESHOLDS = {"max_told_share": 0.1, "least_difference": 0.05, "max_told_given_others_share": 0.5}
"""By which the last column of the table is judged."""


class _GivenOthers:
    """Ends an examination once it is known what somebody gets who knows all other rows."""

    def promises(self, examination: Examination) -> bool:
        return False

    def decided(self, examination: Examination) -> str | None:
        return RULE.id if examination.informed is not None else None


def lines(name: str, seed: int, n_rows: int, seconds: float) -> Iterator[dict[str, object]]:
    """Yield a line for each file and column of one draw of a table's rows."""
    table = packaged()[PREFIX + name].sample(frac=1, random_state=seed).reset_index(drop=True)
    table = table.drop(columns=[one for one in ("id", "pidnum", "durat", "ldurat") if one in table])
    rows, size = table.drop(columns="label").astype(float).fillna(-999.0), min(n_rows, len(table) // 2)
    frame = rows.assign(label=table.label)
    with tempfile.TemporaryDirectory() as folder:
        mine, others, path = (Path(folder, one) for one in ("train.csv", "others.csv", "model.joblib"))
        frame[:size].to_csv(mine, index=False)
        frame[size : 2 * size].to_csv(others, index=False)
        for kind, settings in FILES.items():
            model = RandomForestClassifier(random_state=seed, **settings).fit(rows[:size], table.label[:size])
            joblib.dump(hardened(model, "counts", rows[:size])[0] if "hardened" in kind else model, path)
            case = Case(str(path), str(mine), target="label", holdout=str(others), seconds=seconds)
            examined, _ = examine(replace(case, sensitive=TABLES[name]), enough=_GivenOthers())
            for one in examined.sensitive:
                about = {"table": name, "rows": size, "seed": seed, "file": kind, "column": one.name}
                yield {**about, **_of(one, examined)}


def _of(one: Sensitive, examined: Examination) -> dict[str, object]:
    told, others = one.told, one.others
    if told is None or others is None:
        return {"why": one.not_told}
    given = None if examined.informed is None else examined.informed.column(one.attributes)
    return {
        "members": told.share,
        "without": told.share_without,
        "certain": told.share_certain,
        "others": others.share,
        "others without": others.share_without,
        "proved given others": None if given is None else given.told,
        "guessed": None if given is None else given.near,
        "guessed without": None if given is None else given.near_without_file,
        "verdict": RULE.check(replace(examined, sensitive=(one,)), THRESHOLDS).result,
        "by": one.guess,
    }


def _cell(value: object) -> str:
    return "" if value is None else f"{value:.3f}" if isinstance(value, float) else str(value)


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the options of this study."""
    command.add_argument("--tables", nargs="*", default=list(TABLES), help=f"some of {', '.join(TABLES)} (all)")
    command.add_argument("--seeds", type=int, default=2, metavar="N", help="draws of rows (2)")
    command.add_argument("--rows", type=int, default=400, metavar="N", help="training rows, at most (400)")
    command.add_argument("--seconds", type=float, default=600.0, help="time box of each file (600)")


def command(a: argparse.Namespace) -> None:
    """Print the table."""
    flow.MOST_SHOWN = 0  # no attack that only shows something
    for name in a.tables:
        for seed in range(a.seeds):
            for line in lines(name, seed, a.rows, a.seconds):
                print(" | ".join(map(_cell, line.values())), flush=True)
