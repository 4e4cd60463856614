"""Tables and models to judge the gate by: in go two names and a seed, out comes a `Specimen`, generated and small.

The tables are drawn here, or from scikit-learn's bundled data; a folder of public tables can be added. Each brings what
a gate stumbles over: one-hot groups, codes with gaps, duplicates, outliers, rare classes, a subgroup with one label.
The models are what people release, and forests that tell little.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import joblib
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone, is_regressor
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeClassifier

from studies.public_data import TARGETS

Role = Literal["binary", "one-hot", "ordinal", "numeric"]
Columns = dict[str, NDArray[Any]]
Generator = np.random.Generator

N_ROWS = 60
"""Training rows of a specimen, and as many strangers."""

N_TREES = 20
"""Trees of a specimen's forest: enough for a leak of nearly all rows, and few to train again and again."""

LABEL = "label"
"""Name of the label column in files."""


@dataclass(frozen=True, eq=False, repr=False)
class Specimen:
    """A table, the model to be trained on it, and how both are written and judged. Its repr shows no row."""

    table: str
    model: str
    """`table` and `model`: names."""
    frame: pd.DataFrame
    """What the model is trained on."""
    labels: NDArray[Any]
    """Shape (n_rows,). Classes, or a regressor's targets."""
    roles: Mapping[str, Role]
    """What each column is."""
    groups: Mapping[str, tuple[str, ...]]
    """Columns of each one-hot group."""
    estimator: Any
    """Unfitted."""
    strangers: pd.DataFrame
    """Rows of the same population that are not trained on, as many or a multiple."""
    sample_weight: NDArray[np.float64] | None = None
    """Shape (n_rows,)."""
    rewritten: tuple[Callable[[Any], Any], ...] = ()
    """Each takes the fitted model and returns what is written instead."""
    write: Callable[[Any, Path], object] = joblib.dump
    """Takes what is to be written and a path."""
    beside: tuple[Any, ...] = ()
    """Unfitted, of other files in the same hands that are trained on the same rows."""
    hardened: str | None = None
    """The level of hardening, with its table, of the file that is judged: what is written is its raw file then."""
    given: str = "frame"
    """How the training data are given: ``frame``, ``arrays``, or the suffix of a file."""
    order: NDArray[np.int64] | None = None
    """Shape (n_rows,). The rows in which the data are given; None for the order of training."""
    reversed_columns: bool = False
    """Whether the data are given with their columns in the opposite order."""
    domain: str | None = None
    """Text of a domain file."""
    adversary: str = "artifact"
    seconds: float = 40.0
    effort: float = 1.0
    """`seconds` and `effort`: as in `pytest_draft.facts.case.Case`."""
    seed: int = 0
    """The attack's."""

    def __repr__(self) -> str:
        return f"<Specimen: {self.table}/{self.model}, {len(self.frame)} rows>"

    @property
    def bootstraps(self) -> bool:
        """Whether the model draws rows."""
        return bool(getattr(self.estimator, "bootstrap", False))

    def columns(self, *roles: Role) -> list[str]:
        """Return the names of the columns that have one of some roles."""
        return [name for name in self.frame.columns if self.roles[name] in roles]

    def trained(self) -> Any:
        """Return the fitted model, or what is written instead."""
        model = clone(self.estimator)
        weights = {} if self.sample_weight is None else {"sample_weight": self.sample_weight}
        model.fit(self.frame, self.labels, **weights)
        for rewrite in self.rewritten:
            model = rewrite(model)
        return model

    def given_rows(self) -> tuple[pd.DataFrame, NDArray[Any]]:
        """Return the training data as they are given."""
        frame, labels = self.frame, self.labels
        if self.order is not None:
            frame, labels = frame.iloc[self.order].reset_index(drop=True), labels[self.order]
        return (frame.iloc[:, ::-1] if self.reversed_columns else frame), labels


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """A generated table. Its repr shows no row."""

    frame: pd.DataFrame
    labels: NDArray[np.int64]
    """Shape (n_rows,)."""
    roles: dict[str, Role]
    groups: dict[str, tuple[str, ...]]
    """As in `Specimen`."""

    def __repr__(self) -> str:
        return f"<Table: {self.frame.shape[0]} rows, {self.frame.shape[1]} columns>"


@dataclass(eq=False, repr=False)
class Drawing:
    """Columns that are drawn one after the other. Its repr shows no row."""

    rng: Generator
    n_rows: int
    columns: Columns = field(default_factory=dict)
    roles: dict[str, Role] = field(default_factory=dict)
    groups: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<Drawing: {self.n_rows} rows, {len(self.columns)} columns>"

    def add(self, name: str, role: Role, values: NDArray[Any]) -> NDArray[Any]:
        """Add a column."""
        self.columns[name], self.roles[name] = values, role
        return values

    def binary(self, name: str, share: float = 0.5) -> NDArray[Any]:
        """Add a column of zeros and a share of ones."""
        return self.add(name, "binary", (self.rng.random(self.n_rows) < share).astype(np.int64))

    def coded(self, name: str, codes: list[int], chances: list[float] | None = None) -> NDArray[Any]:
        """Add an ordinal column of some codes."""
        return self.add(name, "ordinal", self.rng.choice(codes, self.n_rows, p=chances).astype(np.int64))

    def one_hot(self, name: str, levels: list[str], chances: list[float] | None = None) -> NDArray[Any]:
        """Add a one-hot group; return each row's level by number."""
        level = self.rng.choice(len(levels), self.n_rows, p=chances)
        for index, one in enumerate(levels):
            self.add(f"{name}_{one}", "one-hot", (level == index).astype(np.int64))
        self.groups[name] = tuple(f"{name}_{one}" for one in levels)
        return np.asarray(level)

    def numeric(self, name: str, values: NDArray[Any]) -> NDArray[Any]:
        """Add a numeric column."""
        return self.add(name, "numeric", values.astype(np.float64))

    def table(self, labels: NDArray[Any]) -> Table:
        """Return what was drawn."""
        frame = pd.DataFrame(self.columns)
        return Table(frame, labels.astype(np.int64), self.roles, self.groups)

    def noisy(self, labels: NDArray[Any], share: float = 0.15) -> NDArray[Any]:
        """Return labels of which a share is drawn anew."""
        return np.where(self.rng.random(self.n_rows) < share, self.rng.permutation(labels), labels)


def _discrete(drawing: Drawing) -> Table:
    """Draw binary columns and two one-hot groups."""
    old, rich = drawing.binary("old", 0.4), drawing.binary("rich", 0.3)
    drawing.binary("urban", 0.6)
    job = drawing.one_hot("job", ["none", "office", "field"], [0.2, 0.5, 0.3])
    drawing.one_hot("home", ["own", "rent", "other"], [0.5, 0.4, 0.1])
    return drawing.table(drawing.noisy((old + rich + (job == 1)) >= 2))


def _gaps(drawing: Drawing) -> Table:
    """Draw ordinal columns with codes that never occur."""
    years = drawing.coded("education", [9, 12, 14, 16, 17, 20], [0.1, 0.35, 0.2, 0.2, 0.1, 0.05])
    drawing.coded("rating", [10, 20, 30], [0.3, 0.5, 0.2])
    drawing.coded("children", [0, 1, 2, 3], [0.4, 0.3, 0.2, 0.1])
    member = drawing.binary("member", 0.5)
    drawing.binary("insured", 0.7)
    return drawing.table(drawing.noisy(years + 3 * member > 15))


def _mixed(drawing: Drawing) -> Table:
    """Draw numeric, ordinal and binary columns."""
    age = drawing.numeric("age", np.round(drawing.rng.gamma(9.0, 5.0, drawing.n_rows), 1))
    drawing.numeric("income", np.round(drawing.rng.lognormal(3.5, 0.4, drawing.n_rows), 2))
    grade = drawing.coded("grade", [1, 2, 3, 4, 5])
    member = drawing.binary("member", 0.5)
    drawing.binary("urban", 0.6)
    return drawing.table(drawing.noisy(age / 10 + grade + 2 * member > 8))


def _duplicates(drawing: Drawing) -> Table:
    """Draw a table in which a third of the rows are copies of others."""
    made = _discrete(drawing)
    copied = drawing.rng.integers(drawing.n_rows, size=drawing.n_rows // 3)
    kept = np.concatenate([np.arange(drawing.n_rows - len(copied)), copied])
    kept = drawing.rng.permutation(kept)
    return Table(made.frame.iloc[kept].reset_index(drop=True), made.labels[kept], made.roles, made.groups)


def _outliers(drawing: Drawing) -> Table:
    """Draw numeric columns of which one has values far from all others."""
    salary = np.round(drawing.rng.lognormal(10.5, 0.4, drawing.n_rows))
    salary[drawing.rng.integers(drawing.n_rows)] = 5e6
    drawing.numeric("salary", salary)
    balance = drawing.numeric("balance", np.round(drawing.rng.normal(100, 60, drawing.n_rows), 1))
    member = drawing.binary("member", 0.5)
    drawing.coded("grade", [1, 2, 3, 4])
    return drawing.table(drawing.noisy((salary > 36_000) ^ ((balance > 120) & (member == 1))))


def _classes(drawing: Drawing) -> Table:
    """Draw a table with four classes, one of them rare."""
    level = drawing.coded("level", [0, 1, 2, 3])
    region = drawing.one_hot("region", ["north", "south", "east", "west"])
    member, old = drawing.binary("member", 0.5), drawing.binary("old", 0.3)
    labels = drawing.noisy((level + region) % 3)
    labels = np.where((member == 1) & (old == 1) & (level == 3), 3, labels)
    labels[:2] = 3  # so that there are some in any draw
    return drawing.table(labels)


def _screening(drawing: Drawing) -> Table:
    """Draw a table in which everybody who is not let in has the label 0."""
    gate = drawing.binary("gate", 0.5)
    for name in "abcdef":
        drawing.binary(name, 0.5)
    drawing.coded("grade", [0, 1, 2, 3])
    return drawing.table(np.where(gate == 0, 0, drawing.rng.integers(0, 2, drawing.n_rows)))


def _wide(drawing: Drawing) -> Table:
    """Draw more columns than can be enumerated together."""
    flags = [drawing.binary(f"flag{index}", share) for index, share in enumerate(np.linspace(0.1, 0.6, 26))]
    drawing.coded("grade", [0, 1, 2, 3])
    drawing.one_hot("job", ["none", "office", "field"], [0.2, 0.5, 0.3])
    return drawing.table(drawing.noisy(np.sum(flags[-5:], axis=0) > 2))


def _iris(drawing: Drawing) -> Table:
    """Draw rows of iris."""
    return _bundled(drawing, load_iris(as_frame=True).frame, 4)


def _cancer(drawing: Drawing) -> Table:
    """Draw rows of the Wisconsin breast cancer data, of which some columns."""
    return _bundled(drawing, load_breast_cancer(as_frame=True).frame, 5)


def _bundled(drawing: Drawing, frame: pd.DataFrame, n_columns: int) -> Table:
    """Draw rows of a numeric table."""
    # With repetition only where there are fewer: iris has 150 rows.
    drawn = frame.iloc[drawing.rng.choice(len(frame), drawing.n_rows, replace=drawing.n_rows > len(frame))]
    features = drawn.drop(columns="target").iloc[:, :n_columns]
    for name in features:
        drawing.numeric(str(name), features[name].to_numpy())
    return drawing.table(drawn["target"].to_numpy())


TABLES: dict[str, Callable[[Drawing], Table]] = {
    "discrete": _discrete,
    "gaps": _gaps,
    "mixed": _mixed,
    "duplicates": _duplicates,
    "outliers": _outliers,
    "classes": _classes,
    "screening": _screening,
    "iris": _iris,
    "cancer": _cancer,
    "wide": _wide,
}
"""How each table is drawn."""

MODELS: dict[str, Callable[[int], Any]] = {
    "forest": lambda seed: RandomForestClassifier(N_TREES, random_state=seed),
    "forest without bootstrap": lambda seed: RandomForestClassifier(N_TREES, bootstrap=False, random_state=seed),
    "extra trees": lambda seed: ExtraTreesClassifier(N_TREES, random_state=seed),
    "bag": lambda seed: BaggingClassifier(DecisionTreeClassifier(), N_TREES, random_state=seed),
    "tree": lambda seed: DecisionTreeClassifier(random_state=seed),
    "shallow": lambda seed: RandomForestClassifier(N_TREES, max_depth=3, min_samples_leaf=3, random_state=seed),
    "regressor": lambda seed: RandomForestRegressor(N_TREES, random_state=seed),
    "little": lambda seed: RandomForestClassifier(5, max_depth=2, min_samples_leaf=20, random_state=seed),
}
"""How each model is made, given its seed."""


def drawn(name: str, n_rows: int, seed: int, datasets: Path | None = None) -> Table:
    """Draw a table.

    Parameters
    ----------
    name : str
        One of `TABLES`, or of `TARGETS`.
    datasets : Path or None
        Folder of public tables.
    """
    number = [*TABLES, *TARGETS].index(name)
    drawing = Drawing(np.random.default_rng([seed, number]), n_rows)
    if name in TABLES:
        return TABLES[name](drawing)
    if datasets is None:
        raise ValueError(f"{name!r} needs the folder of public tables")
    frame = pd.read_csv(datasets / f"{name}.csv")
    frame = frame.iloc[drawing.rng.choice(len(frame), n_rows, replace=False)].reset_index(drop=True)
    for column in frame.columns.drop(TARGETS[name]):
        drawing.add(str(column), "binary", frame[column].to_numpy())
    return drawing.table(frame[TARGETS[name]].to_numpy())


def specimen(
    table: str, model: str, seed: int = 0, *, n_rows: int = N_ROWS, strangers: int = 1, datasets: Path | None = None
) -> Specimen:
    """Return a table and a model.

    Parameters
    ----------
    table, model : str
        Of `TABLES` or `TARGETS`, and of `MODELS`.
    seed : int
        Of the table and the model.
    strangers : int
        How many times as many strangers there are.
    datasets : Path or None
        Folder of public tables.
    """
    both = drawn(table, (1 + strangers) * n_rows, seed, datasets)
    estimator = MODELS[model](seed)
    mine = both.frame.iloc[:n_rows].reset_index(drop=True)
    labels = both.labels[:n_rows]
    return Specimen(
        table,
        model,
        mine,
        targets(mine, labels) if is_regressor(estimator) else labels,
        both.roles,
        both.groups,
        estimator,
        both.frame.iloc[n_rows:].reset_index(drop=True),
    )


def targets(frame: pd.DataFrame, labels: NDArray[Any]) -> NDArray[np.float64]:
    """Return what a regressor learns: the class, and by how many places its row is ahead in the first column."""
    rank = frame.iloc[:, 0].rank(method="dense").to_numpy()
    return np.asarray(labels + np.round(rank / (10 * rank.max()), 3), dtype=np.float64)
