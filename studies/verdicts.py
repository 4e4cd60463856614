"""The gate's verdicts on a grid of tables and forests: in go both, out comes a row for each that is kept, and a table.

Each forest is trained on rows drawn at random, saved, and judged by the default policy in a process of its own, as the
gate does it.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import product
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
from sklearn import datasets
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from pytest_draft import isolation
from pytest_draft.errors import UsageError
from pytest_draft.facts.adversary import Adversary
from pytest_draft.facts.case import Case
from pytest_draft.facts.examination import Examination
from pytest_draft.facts.findings import Measure
from pytest_draft.hardening.model import hardened
from pytest_draft.policy.enough import Enough
from pytest_draft.policy.policy import default_policy
from pytest_draft.policy.verdict import judge, verdict_of
from studies.cells import Plain, Study
from studies.cells.store import Store
from studies.options import add_cells, add_datasets, add_seeds, records, rows_of
from studies.packaged_tables import PREFIX, is_held_out, packaged
from studies.packaged_tables import REGRESSION as PACKAGED_REGRESSION
from studies.public_data import TARGETS

LABEL = "label"
ROOM = 0.003
"""How much larger an adversary's error may be than that of one who knows less, before it is told."""

_PUBLIC = {**TARGETS, "default_credit_numerical": TARGETS["default_credit"]}


def _mixed() -> pd.DataFrame:
    """Return a generated table of people: amounts, codes, regions and flags that depend on each other."""
    rng = np.random.default_rng(0)
    n = 2_000
    age = rng.integers(18, 90, n)
    income = np.round(np.exp(rng.normal(10.2 + 0.01 * np.minimum(age, 55), 0.5)), -2)
    region = rng.choice(4, n, p=(0.4, 0.3, 0.2, 0.1))
    owner = rng.random(n) < 1 / (1 + np.exp(4 - income / 15_000))
    rooms = np.clip(rng.poisson(2 + 2 * owner), 1, 9)
    score = income / 40_000 + 0.02 * age + 0.8 * owner + 0.3 * (region == 0) + rng.normal(0, 0.7, n)
    table = {"age": age, "income": income, "rooms": rooms, "owner": owner.astype(int)}
    table |= {f"region_{name}": (region == code).astype(int) for code, name in enumerate("ABCD")}
    return pd.DataFrame({**table, LABEL: (score > np.median(score)).astype(int)})


def _toy(load: Callable[..., Any], columns: slice = slice(None)) -> Callable[[], pd.DataFrame]:
    def table() -> pd.DataFrame:
        features, target = load(return_X_y=True, as_frame=True)
        chosen: pd.DataFrame = features.iloc[:, columns].assign(**{LABEL: target})
        return chosen

    return table


GENERATED: Mapping[str, Callable[[], pd.DataFrame]] = {
    "breast_cancer": _toy(datasets.load_breast_cancer),
    "diabetes": _toy(datasets.load_diabetes),
    "wine": _toy(datasets.load_wine),
    "digits": _toy(datasets.load_digits, slice(24, 40)),  # two rows of the picture
    "mixed": _mixed,
}
"""Tables that scikit-learn brings along, and one that is generated."""

TABLES = (*_PUBLIC, *GENERATED)
REGRESSION = frozenset({"diabetes"})

_FOREST = (RandomForestClassifier, RandomForestRegressor)
_EXTRA = (ExtraTreesClassifier, ExtraTreesRegressor)
_TREE = (DecisionTreeClassifier, DecisionTreeRegressor)
FORESTS: Mapping[str, tuple[tuple[Any, Any], dict[str, Any]]] = {
    "defaults": (_FOREST, {}),
    "tuned": (_FOREST, {"n_estimators": 200, "max_depth": 8, "min_samples_leaf": 5, "max_features": 0.5}),
    "100 x depth 5": (_FOREST, {"max_depth": 5}),
    "100 x min leaf 5": (_FOREST, {"min_samples_leaf": 5}),
    "50 x min leaf 20": (_FOREST, {"n_estimators": 50, "min_samples_leaf": 20}),
    "100 x min leaf 50": (_FOREST, {"min_samples_leaf": 50}),
    "20 x depth 4": (_FOREST, {"n_estimators": 20, "max_depth": 4}),
    "20 x depth 3": (_FOREST, {"n_estimators": 20, "max_depth": 3}),
    "10 x depth 3": (_FOREST, {"n_estimators": 10, "max_depth": 3}),
    "5 x depth 2": (_FOREST, {"n_estimators": 5, "max_depth": 2}),
    "extra trees": (_EXTRA, {}),
    "tree of depth 5": (_TREE, {"max_depth": 5}),
    "full tree": (_TREE, {}),
}
"""A classifier and a regressor, and what they are trained with, by name."""


@dataclass(frozen=True)
class Setting:
    """One judgement of the grid."""

    table: str
    forest: str
    """`table` and `forest`: as of `table_of`, and of `FORESTS`."""
    adversary: str = "artifact"
    rows: int = 400
    """Drawn at random; all of a table that has fewer."""
    seed: int = 0
    """Of the rows and of the forest."""
    seconds: float = 60.0
    """Time box."""
    attack_seed: int = 0
    level: str = "plain"
    """Of hardening; ``"plain"`` for the file as it is."""
    bootstrap: bool | None = None
    """Of the forest; None for what its kind does if nothing is said."""

    @property
    def question(self) -> tuple[str, str, str, int, int, str, bool | None]:
        """What is asked, however long and from whichever seed the answer is searched."""
        return self.table, self.forest, self.adversary, self.rows, self.seed, self.level, self.bootstrap


@dataclass(frozen=True)
class Answer:
    """What the gate said: aggregates only. A figure is None where there is none."""

    setting: Setting
    verdict: str
    """One of "passed", "inconclusive", "failed"."""
    rule: str | None
    """The first that decided it; None where all passed."""
    sentence: str | None
    """Of that rule."""
    status: str
    """The solver's."""
    error: float | None
    bar: float | None
    random_error: float | None
    """`error`, `bar` and `random_error`: reconstruction error, below which it fails, and of random guesses."""
    perfect_rows: int | None
    least_error: float | None
    most_perfect_rows: float | None
    """`least_error` and `most_perfect_rows`: of the ideal attacker."""
    determined: float | None
    """Share of the rows that somebody can work out who knows all others; earlier answers looked at blocks of rows."""
    box: float
    seconds: float
    """`box` and `seconds`: seconds of the time box that were used, and of the whole judgement, with what was compiled.
    """

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Answer:
        """Return what a row says; ``limit`` is the time box."""
        rest = dict(values)
        names = [field.name for field in fields(Setting) if field.name != "seconds"]
        setting = Setting(**{name: rest.pop(name) for name in names}, seconds=rest.pop("limit"))
        del rest["workers"]
        return cls(setting, **rest)


def table_of(name: str, folder: Path | None) -> pd.DataFrame:
    """Return a table whose label is in the column `LABEL`.

    Parameters
    ----------
    name : str
        Of `TABLES`, or one that a package brings along (`studies.packaged_tables`).
    folder : Path or None
        Of ``compas.csv`` and the like.

    Raises
    ------
    FileNotFoundError
        Where there is no folder, or no such file in it.
    """
    if name in GENERATED:
        return GENERATED[name]()
    if name.startswith(PREFIX):
        return packaged()[name]
    return pd.read_csv(_file(name, folder)).rename(columns={_PUBLIC[name]: LABEL})


def _file(name: str, folder: Path | None) -> Path:
    if folder is None:
        raise FileNotFoundError(f"{name}: name the folder of {name}.csv with --datasets")
    return folder / f"{name}.csv"


def answered(setting: Setting, folder: Path | None, workers: int = 1) -> Answer:
    """Train a forest, save it, and have it judged.

    Parameters
    ----------
    folder : Path or None
        Of public tables.
    workers : int
        Threads of the judgement.
    """
    table = table_of(setting.table, folder)
    if len(table) > setting.rows:
        table = table.sample(setting.rows, random_state=setting.seed)
    kinds, parameters = FORESTS[setting.forest]
    drawn = {} if setting.bootstrap is None else {"bootstrap": setting.bootstrap}
    # Whoever removes a seed has not used one that can be found again.
    secret = int(np.random.default_rng([setting.seed, 1]).integers(2**31, 2**32))
    seed = setting.seed if setting.level == "plain" else secret
    features = table.drop(columns=LABEL)
    is_regression = setting.table in REGRESSION or setting.table.endswith(PACKAGED_REGRESSION)
    model = piped(kinds[is_regression](**parameters, **drawn, random_state=seed), features)
    with tempfile.TemporaryDirectory() as scratch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        artifact, data = Path(scratch) / "model.joblib", Path(scratch) / "train.csv"
        table.to_csv(data, index=False)
        model.fit(features, table[LABEL])
        joblib.dump(model if setting.level == "plain" else hardened(model, setting.level, features)[0], artifact)
        case = Case(
            str(artifact),
            str(data),
            LABEL,
            adversary=setting.adversary,
            seconds=setting.seconds,
            seed=setting.attack_seed,
            workers=workers,
        )
        since = time.monotonic()
        floors = Adversary.parse(case.adversary).floors
        enough = Enough(default_policy())
        weaker = [isolation.run(replace(case, adversary=floor), enough=enough)[0] for floor in floors]
        examination = isolation.run(case, enough=enough)[0]
        return _answer(setting, examination, weaker, time.monotonic() - since)


def piped(estimator: Any, features: pd.DataFrame) -> Any:
    """Return what people train on categories and gaps: imputers, a scaler and a one-hot encoder before a forest."""
    numbers = features.select_dtypes("number").columns.tolist()
    if len(numbers) == features.shape[1] and not features.isna().to_numpy().any():
        return estimator
    rest = [name for name in features if name not in numbers]
    number = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    category = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore"))
    return make_pipeline(ColumnTransformer([("number", number, numbers), ("category", category, rest)]), estimator)


def _answer(setting: Setting, examination: Examination, floors: Sequence[Examination], seconds: float) -> Answer:
    """Return what the default policy says of an examination."""
    policy = default_policy()
    checks = judge(examination, policy, floors)
    verdict = verdict_of((check.result, check.counts) for check in checks)
    first = next((check for check in checks if check.counts and check.result == verdict != "passed"), None)
    found = None if examination.findings is None else examination.findings.whole
    share = policy.rules.get("reconstruction-error", {}).get("max_error_of_split_half")
    ideal, informed = getattr(found, "ideal", None), examination.informed
    return Answer(
        setting,
        verdict,
        None if first is None else first.rule,
        None if first is None else first.sentence,
        examination.solver_status,
        None if found is None else found.error.upper,
        _bar(found, share),
        None if found is None else found.random.error,
        None if found is None else found.perfect.lower,
        getattr(ideal, "least_error", None),
        getattr(ideal, "most_perfect_rows", None),
        None if informed is None else informed.told_rows,
        examination.seconds,
        seconds,
    )


def _bar(found: Measure | None, share: float | None) -> float | None:
    """Return the error at which the default policy fails."""
    if found is None or share is None or found.split_half.error is None:
        return None
    return share * found.split_half.error


# Running.


def settings_of(
    tables: Iterable[str],
    forests: Iterable[str],
    adversaries: Iterable[str],
    seeds: Iterable[int],
    levels: Iterable[str] = ("plain",),
    **rest: Any,
) -> list[Setting]:
    """Return a grid, one judgement for each combination.

    Parameters
    ----------
    tables, forests, adversaries, seeds, levels : iterable
    **rest
        Of all of them.
    """
    return [
        Setting(table, forest, adversary, seed=seed, level=level, **rest)
        for table, forest, adversary, seed, level in product(tables, forests, adversaries, seeds, levels)
    ]


def study(settings: Sequence[Setting], folder: Path | None, workers: int = 2) -> Study:
    """Return one cell for each judgement.

    Parameters
    ----------
    folder : Path or None
        Of public tables.
    workers : int
        Threads of each judgement.

    Raises
    ------
    FileNotFoundError
        Where a public table is named and no folder.
    """
    cells: list[dict[str, Plain]] = []
    for setting in settings:
        parameters = asdict(setting)
        cells.append({**parameters, "limit": parameters.pop("seconds"), "workers": workers})
        del cells[-1]["seconds"]
    files = {one.table: _file(one.table, folder) if one.table in _PUBLIC else None for one in settings}
    return Study("verdicts", cell, cells, {"table": files})


def cell(table: str | Path, workers: int, limit: float, **parameters: Any) -> dict[str, Plain]:
    """Return the answer to a setting, whose public table is a file."""
    folder = table.parent if isinstance(table, Path) else None
    name = table.stem if isinstance(table, Path) else table
    found = asdict(answered(Setting(name, **parameters, seconds=limit), folder, workers))
    del found["setting"]
    return found


def answers_of(rows: pd.DataFrame) -> list[Answer]:
    """Return the answers of rows of `study`."""
    return [Answer.of(values) for values in records(rows)]


def kept(store: Path) -> dict[Setting, Answer]:
    """Return all answers that a store holds, of whichever code the latest."""
    rows = Store(store, "verdicts", lambda line: print(line, file=sys.stderr)).rows()
    answers = [Answer.of(row.values) for row in rows]
    return {answer.setting: answer for answer in answers}


# Telling.

_COLUMNS = (
    *("table", "forest", "level", "adversary", "seed", "verdict", "rule"),
    *("error", "bar", "least error", "perfect", "most perfect", "determined", "s"),
)


def summary(answers: Sequence[Answer]) -> list[str]:
    """Return a Markdown table of answers, the share with a verdict, and where who knows more gets less."""
    lines = ["| " + " | ".join(_COLUMNS) + " |", "|" + " --- |" * len(_COLUMNS)]
    for answer in answers:
        setting = answer.setting
        forest = setting.forest + {None: "", True: ", bootstrap", False: ", no bootstrap"}[setting.bootstrap]
        cells = [setting.table, forest, setting.level, setting.adversary, str(setting.seed), answer.verdict]
        cells += [answer.rule or "-", _shown(answer.error, ".4f"), _shown(answer.bar, ".4f")]
        cells += [_shown(answer.least_error, ".4f"), _shown(answer.perfect_rows, "d")]
        cells += [_shown(answer.most_perfect_rows, ".1f"), _shown(answer.determined, ".2f"), f"{answer.box:.0f}"]
        lines.append("| " + " | ".join(cells) + " |")
    if answers:
        decided = sum(answer.verdict != "inconclusive" for answer in answers)
        lines += ["", f"{decided} of {len(answers)} have a verdict ({decided / len(answers):.0%})"]
    return lines + _longest(answers) + _not_monotone(answers)


def _shown(figure: float | None, form: str) -> str:
    return "-" if figure is None else format(figure, form)


def _longest(answers: Sequence[Answer], number: int = 10) -> list[str]:
    """Return a line for each of the judgements that went over their time box the most, without what was compiled."""
    over = [(answer.box - answer.setting.seconds, answer.setting) for answer in answers]
    longest = sorted(over, key=lambda one: -one[0])[:number]
    if not longest:
        return []
    return ["", "longest, in seconds over the time box:"] + [
        f"- {seconds:+.1f} of {setting.seconds:g} s: {setting.table}, {setting.rows:,} rows, {setting.forest}, "
        f"{setting.adversary}, {setting.level}"
        for seconds, setting in longest
    ]


def _not_monotone(answers: Iterable[Answer]) -> list[str]:
    """Return a line for each forest on which `published` comes clearly closer than `artifact`, who knows more."""
    by = {answer.setting: answer for answer in answers}
    lines, compared = [], 0
    for setting, more in by.items():
        less = by.get(replace(setting, adversary="published"))
        if setting.adversary != "artifact" or less is None or less.error is None:
            continue
        compared += 1
        if more.error is None or more.error > less.error + ROOM:
            ours = _shown(more.error, ".4f")
            lines.append(f"- {setting.table}, {setting.forest}: artifact {ours}, published {less.error:.4f}")
    if not compared:
        return []
    return ["", f"artifact gets less than published, by more than {ROOM}: {len(lines)} of {compared}", *lines]


def differing(answers: Iterable[Answer]) -> tuple[list[str], int]:
    """Return which verdicts on the same question differ.

    Returns
    -------
    lines : list of str
        Those that contradict each other, and those that another box or seed did not reach.
    contradicted : int
        Questions that were both passed and failed.
    """
    by_question: dict[tuple[object, ...], list[Answer]] = {}
    for answer in answers:
        by_question.setdefault(answer.setting.question, []).append(answer)
    again = {question: all_of for question, all_of in by_question.items() if len(all_of) > 1}
    lines, contradicted, open_again = [], 0, 0
    for question, all_of in again.items():
        verdicts = {answer.verdict for answer in all_of}
        if len(verdicts) == 1:
            continue
        contradiction = {"passed", "failed"} <= verdicts
        contradicted += contradiction
        open_again += not contradiction
        each = "; ".join(
            f"{a.verdict} in {a.setting.seconds:g} s from seed {a.setting.attack_seed} (error {_shown(a.error, '.4f')})"
            for a in all_of
        )
        word = "CONTRADICTED" if contradiction else "not reached again"
        lines.append(f"- {word}: {', '.join(map(str, question))}: {each}")
    head = f"{len(again)} judged again: {contradicted} contradicted, {open_again} not reached by all"
    return [head, *lines], contradicted


def _table(name: str) -> str:
    """Return the name of a table, if there is such a one."""
    if name in TABLES or (name.startswith(PREFIX) and name in packaged()):
        return name
    raise argparse.ArgumentTypeError(f"{name} is none of {', '.join(TABLES)}, and no {PREFIX}TABLE")


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the options of this study."""
    add_datasets(command, required=False)
    command.add_argument("--tables", nargs="+", default=list(TABLES), type=_table, metavar="TABLE")
    command.add_argument("--packaged", choices=["tuned-on", "held-out"], help="all tables of packages, of one half")
    command.add_argument("--forests", nargs="+", default=list(FORESTS), choices=list(FORESTS), metavar="FOREST")
    command.add_argument("--adversaries", default="artifact", help="such as artifact,published")
    command.add_argument("--rows", type=int, default=400, help="rows drawn at random")
    add_seeds(command, [0])
    command.add_argument("--seconds", type=float, default=60.0, help="time box of each judgement")
    command.add_argument("--attack-seed", type=int, default=0)
    command.add_argument(
        "--levels", nargs="+", default=["plain"], help="plain, or levels of python -m pytest_draft harden"
    )
    command.add_argument("--bootstrap", choices=["yes", "no"], default=None, help="of each forest")
    command.add_argument("--workers", type=int, default=2, help="threads of each judgement")
    command.add_argument(
        "--contradict", action="store_true", help="judge again what has a verdict: give other --seconds, --attack-seed"
    )
    add_cells(command)


def command(a: argparse.Namespace) -> int:
    """Run this study, or judge again what has a verdict, as other options say, and list what differs."""
    tables = a.tables
    if a.packaged is not None:
        tables = [name for name in packaged() if is_held_out(name) == (a.packaged == "held-out")]
    settings = settings_of(
        *(tables, a.forests, a.adversaries.split(","), a.seeds, a.levels),
        rows=a.rows,
        seconds=a.seconds,
        attack_seed=a.attack_seed,
        bootstrap=a.bootstrap if a.bootstrap is None else a.bootstrap == "yes",
    )
    if a.contradict:
        decided = {one.setting.question for one in kept(a.store).values() if one.verdict != "inconclusive"}
        settings = [setting for setting in settings if setting.question in decided]
    if a.datasets is None and any(name in _PUBLIC for name in tables):
        raise UsageError("name the folder of the public tables with --datasets")
    rows = rows_of(study(settings, a.datasets, a.workers), a)
    lines, wrong = differing(kept(a.store).values()) if a.contradict else (summary(answers_of(rows)), 0)
    print("\n".join(lines))
    return wrong
