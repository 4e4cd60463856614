"""Drawn triples of a table, a model and a policy: in go a hunt's seed and a number, out comes a `Triple`.

Odd ones too: codes with gaps, duplicates, outliers, rare classes, a subgroup with one label, weights, missing values,
constants, regressors, a single row.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeClassifier

from pytest_draft.documents import rules_folder
from pytest_draft.policy.policy import Policy, read_policy
from studies.relations.domain_files import declaring
from studies.specimens import Drawing, Specimen, Table, targets

STRANGERS = 3
"""So many times as many strangers as training rows are drawn."""

_POLICIES = ("default", "default", "default", "partner-release", "internal")
"""Shipped policies, each as often as it is drawn."""

_ADVERSARIES = (
    *(("artifact",) * 6),
    *(("published",) * 2),
    "artifact+columns:1",
    "artifact+rows:25%",
)
"""Adversaries, each as often as it is drawn."""

_CODES = ((0, 1), (0, 1), (0, 1), (-1, 1), (1, 3), (0, 30), (1, 2))
"""The two codes of a column, each as often as it is drawn."""

_GUARD = 60.0
"""Seconds of a time box besides ten for each unit of effort, so that the effort ends a judgement and not the clock."""


@dataclass(frozen=True, eq=False, repr=False)
class Triple:
    """A table, a model and a policy. Its repr shows no row."""

    specimen: Specimen
    """With `STRANGERS` times as many strangers."""
    policy: Policy

    def __repr__(self) -> str:
        return f"<Triple: {self.specimen.table}/{self.specimen.model}/{self.policy.name}>"


@dataclass(eq=False, repr=False)
class _Odd:
    """A table in the making: rows with strangers, of which oddities are noted. Its repr shows no row."""

    drawing: Drawing
    oddities: list[str] = field(default_factory=list)

    def __repr__(self) -> str:
        return f"<_Odd: {', '.join(self.oddities)}>"


def triple(seed: int, number: int, seconds: float = 4.0, policy: str | None = None) -> Triple:
    """Draw a triple.

    Parameters
    ----------
    seed, number : int
        Of the hunt, and in it.
    seconds : float
        Effort of a judgement; the clock only guards.
    policy : str or None
        A shipped one, in place of one that is drawn.
    """
    rng = np.random.default_rng([seed, number])
    n_rows = 1 if rng.random() < 0.02 else int(rng.integers(10, 121))
    table, oddities = _table(rng, n_rows)
    mine, labels = table.frame.iloc[:n_rows].reset_index(drop=True), table.labels[:n_rows]
    kind, estimator = _model(rng, missing=bool(table.frame.isna().to_numpy().any()))
    classifier = is_classifier(estimator)
    weights = None
    if kind != "bag" and rng.random() < 0.08:
        weights = rng.integers(1, 4, n_rows).astype(np.float64)
        oddities.append("weights")
    specimen = Specimen(
        ", ".join([f"{n_rows} rows", *oddities]),
        kind,
        mine,
        labels if classifier else targets(mine, labels),
        table.roles,
        table.groups,
        estimator,
        table.frame.iloc[n_rows:].reset_index(drop=True),
        sample_weight=weights,
        adversary=str(rng.choice(_ADVERSARIES)),
        effort=seconds,
        seconds=_GUARD + 10 * seconds,
    )
    if rng.random() < 0.15 and not mine.isna().to_numpy().any():
        specimen = declared(specimen, wider=int(rng.choice([0, 0, 1, 5])))
    return Triple(specimen, _policy(rng, policy, classifier=classifier))


def _table(rng: np.random.Generator, n_mine: int) -> tuple[Table, list[str]]:
    """Draw a table, the rows to be trained on and then strangers, and name what is odd in it."""
    n_rows = n_mine * (1 + STRANGERS)
    odd = _Odd(Drawing(rng, n_rows))
    numeric = rng.random() < 0.4
    for index in range(rng.integers(2, 8)):
        _add_column(odd, f"c{index}", numeric=numeric)
    drawing = odd.drawing
    frame = pd.DataFrame(drawing.columns)
    if rng.random() < 0.2:
        first = np.arange(n_rows) // n_mine * n_mine  # nobody is among the strangers, too
        copied = first + rng.integers(n_mine, size=n_rows)
        kept = np.where(rng.random(n_rows) < 0.3, copied, np.arange(n_rows))
        frame = frame.iloc[kept].reset_index(drop=True)
        odd.oddities.append("duplicates")
    labels = _labels(odd, frame)
    if rng.random() < 0.1:
        column = str(rng.choice([name for name in drawing.columns if drawing.roles[name] != "one-hot"] or [""]))
        if column:
            frame[column] = frame[column].astype(np.float64).mask(rng.random(n_rows) < 0.15)
            odd.oddities.append("missing values")
    return Table(frame, labels, drawing.roles, drawing.groups), odd.oddities


def _add_column(odd: _Odd, name: str, *, numeric: bool) -> None:
    """Draw one attribute."""
    drawing, rng = odd.drawing, odd.drawing.rng
    kinds = ["binary", "binary", "ordinal", "one-hot", "constant", *(["numeric"] * 2 if numeric else ["binary"])]
    kind = str(rng.choice(kinds))
    if kind == "binary":
        two = _CODES[rng.integers(len(_CODES))]
        drawing.add(name, "binary" if two == (0, 1) else "ordinal", _coins(rng, drawing.n_rows, two))
        if two != (0, 1):
            odd.oddities.append(f"{two[0]}/{two[1]}")
    elif kind == "ordinal":
        gaps = rng.random() < 0.5
        codes = np.cumsum(rng.integers(1, 8 if gaps else 2, rng.integers(3, 7)))
        drawing.coded(name, codes.tolist(), rng.dirichlet(np.full(len(codes), 2.0)).tolist())
        odd.oddities += ["gaps"] * gaps
    elif kind == "one-hot":
        n_levels = int(rng.integers(3, 6))
        drawing.one_hot(name, list("abcde"[:n_levels]), rng.dirichlet(np.full(n_levels, 2.0)).tolist())
    elif kind == "constant":
        drawing.add(name, "binary", np.full(drawing.n_rows, int(rng.integers(2))))
        odd.oddities.append("constant")
    else:
        values = rng.lognormal(3.0, 0.6, drawing.n_rows).round(int(rng.integers(0, 3)))
        if rng.random() < 0.3:
            values[rng.random(drawing.n_rows) < 0.02] = 1e6
            odd.oddities.append("outliers")
        drawing.numeric(name, values)


def _coins(rng: np.random.Generator, n_rows: int, codes: tuple[int, int]) -> NDArray[Any]:
    return np.where(rng.random(n_rows) < rng.uniform(0.1, 0.9), codes[1], codes[0])


def _labels(odd: _Odd, frame: pd.DataFrame) -> NDArray[np.int64]:
    """Draw labels that have something to do with the rows, or nothing."""
    rng, n_rows = odd.drawing.rng, len(frame)
    score = frame.rank(pct=True).to_numpy() @ rng.normal(size=frame.shape[1])
    n_classes = int(rng.choice([2, 2, 2, 3, 5]))
    labels = (pd.Series(score).rank(method="first").to_numpy() * n_classes / (n_rows + 1)).astype(np.int64)
    kind = rng.choice(["noisy", "noisy", "random", "screening", "rare"])
    if kind == "noisy":
        labels = np.where(rng.random(n_rows) < rng.uniform(0, 0.4), rng.permutation(labels), labels)
    elif kind == "random":
        labels = rng.permutation(labels)
    elif kind == "screening":
        first = frame.iloc[:, 0].to_numpy()
        labels = np.where(first <= np.median(first), 0, rng.permutation(labels))
    else:
        labels = (rng.random(n_rows) < 0.06).astype(np.int64)
    odd.oddities += [f"{n_classes} classes"] * (n_classes > 2 and kind != "rare") + [str(kind)] * (kind != "noisy")
    return np.asarray(labels, dtype=np.int64)


def _model(rng: np.random.Generator, *, missing: bool) -> tuple[str, Any]:
    """Draw an estimator and name its kind."""
    n_trees = int(rng.choice([1, 3, 5, 10, 20, 40]))
    seed = int(rng.integers(2**31))
    shape = {
        "max_depth": [None, None, None, 2, 3, 5, 8][rng.integers(7)],
        "min_samples_leaf": int(rng.choice([1, 1, 1, 2, 5, 20])),
    }
    grown = {**shape, "max_features": ["sqrt", "sqrt", None, 1][rng.integers(4)], "random_state": seed}
    drawn = {"max_samples": 0.6} if rng.random() < 0.1 else {}
    kinds: dict[str, Any] = {
        "forest": lambda: RandomForestClassifier(n_trees, **grown, **drawn),
        "forest without bootstrap": lambda: RandomForestClassifier(n_trees, bootstrap=False, **grown),
        "balanced forest": lambda: RandomForestClassifier(n_trees, class_weight="balanced", **grown),
        "extra trees": lambda: ExtraTreesClassifier(n_trees, **grown),
        "bag": lambda: BaggingClassifier(DecisionTreeClassifier(**shape), n_trees, random_state=seed, **drawn),
        "tree": lambda: DecisionTreeClassifier(**grown),
        "regressor": lambda: RandomForestRegressor(n_trees, **grown),
        "extra regressor": lambda: ExtraTreesRegressor(n_trees, **grown),
        "bag of regressors": lambda: BaggingRegressor(n_estimators=n_trees, random_state=seed),
    }
    often = ["forest"] * 4 + ["forest without bootstrap", "extra trees", "bag", "tree", "balanced forest"] * 2
    rarely = ["regressor", "extra regressor", "bag of regressors"]
    kind = str(rng.choice(often if missing else [*often, *rarely]))
    return kind, kinds[kind]()


def _policy(rng: np.random.Generator, name: str | None, *, classifier: bool) -> Policy:
    """Draw a policy, without the rule on the time box: here it is short on purpose."""
    drawn = rng.choice(_POLICIES)
    policy = read_policy(rules_folder() / f"{name or drawn}.toml")
    rules = {rule: keys for rule, keys in policy.rules.items() if rule != "time-box"}
    return replace(policy, rules=rules, by_class=classifier and bool(rng.random() < 0.15))


def declared(specimen: Specimen, wider: int = 0) -> Specimen:
    """Return a specimen with a domain file that declares what occurs, and so many codes more at both ends."""
    wide = {
        name: {
            "kind": "ordinal",
            "low": int(specimen.frame[name].min()) - wider,
            "high": int(specimen.frame[name].max()) + wider,
        }
        for name in specimen.columns("ordinal")
    }
    return declaring(specimen, wide)
