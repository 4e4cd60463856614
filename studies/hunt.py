"""A hunt for leaks that pass: in goes a number of triples, out comes what contradicts a pass.

A triple is a table, a model and a policy with its adversary, drawn at random, odd ones too: codes with gaps,
duplicates, outliers, rare classes, a subgroup with one label, weights, missing values, constants, regressors, a single
row. Each is judged, and each that passed is judged again by all that could contradict it:

- *more time*: ten times the effort; *another seed* of the attack, twice;
- *a weaker adversary*: who knows less must not get more. *A stronger one* that fails contradicts nothing, since it
  knows more, and is told apart;
- *the other domain*: the inferred one where one was declared, else one that declares what occurs;
- *a subgroup*: the rows of each class and of each value of a discrete column, by the policy's own thresholds;
- *strangers*: rows of the same population that were not trained on, in place of the split-half baseline;
- *nothing guessed*: rebuilt rows in which no value is a guess, which the attacker knows. At least `FEW` of them are
  real people's rows and unique, most of them are right, and strangers' rows would have met few of them.

A subgroup counts only where strangers' rows, measured in the same way, do not fail as well: of small slices, some come
out close by chance. A contradiction is clear where the verdict fails by looser thresholds too
(`studies.judging.ROOM`), else borderline.

What the gate itself calls an internal error (something proved that the truth contradicts) is told of every triple.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from shlex import quote
from typing import Any

import joblib
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

from pytest_draft.attack.reconstruction import Reconstruction
from pytest_draft.data import TrainingData
from pytest_draft.documents import rules_folder
from pytest_draft.domain import Domain, infer
from pytest_draft.evaluate.findings import evaluate
from pytest_draft.facts.examination import Examination
from pytest_draft.facts.figures import Distance
from pytest_draft.facts.findings import Findings
from pytest_draft.facts.rules import Literal
from pytest_draft.facts.slices import Slice
from pytest_draft.matching import encoded_weights, matched_distance, row_identities, unmatched
from pytest_draft.policy.policy import Policy, read_policy
from pytest_draft.policy.rules import rule_of
from pytest_draft.timebox import TimeBox
from studies.judging import ROOM, Judged, Judgement, examined, judgement, loosened
from studies.relations import declaring
from studies.specimens import Drawing, Specimen, Table, targets

MORE = 10.0
"""The longer box."""

STRANGERS = 3
"""So many times as many strangers as training rows are drawn."""

FEW = 5
"""Fewer rows in which nothing is guessed say little of anybody."""

_POLICIES = ("default", "default", "default", "partner-release", "internal")
_ADVERSARIES = (
    *(("artifact",) * 6),
    *(("published",) * 2),
    "artifact+columns:1",
    "artifact+rows:25%",
)
_CODES = ((0, 1), (0, 1), (0, 1), (-1, 1), (1, 3), (0, 30), (1, 2))
_GUARD = 60.0
_EVALUATION = 30.0


@dataclass(frozen=True, eq=False, repr=False)
class Triple:
    """A table, a model and a policy. Its repr shows no row.

    Attributes
    ----------
    specimen : Specimen
        With `STRANGERS` times as many strangers.
    policy : Policy
    """

    specimen: Specimen
    policy: Policy

    def __repr__(self) -> str:
        return f"<Triple: {self.specimen.table}/{self.specimen.model}/{self.policy.name}>"


@dataclass(frozen=True)
class Contradiction:
    """What speaks against a pass.

    Attributes
    ----------
    by : str
        As in the module's list.
    clear : bool
        Whether looser thresholds are crossed, too.
    figures : str
    """

    by: str
    clear: bool
    figures: str


@dataclass(frozen=True)
class Hunted:
    """One triple and what became of it: aggregates only.

    Attributes
    ----------
    seed, number : int
        Of the triple.
    table, model, policy, adversary : str
    verdict : str
    status : str
        The solver's.
    contradictions, apart : tuple of Contradiction
        That speak against a pass; that fail because they know more.
    bugs : tuple of str
        Internal errors.
    why : str
        What was told first where it did not pass.
    seconds : float
    """

    seed: int
    number: int
    table: str
    model: str
    policy: str
    adversary: str
    verdict: str
    status: str
    contradictions: tuple[Contradiction, ...] = ()
    apart: tuple[Contradiction, ...] = ()
    bugs: tuple[str, ...] = ()
    why: str = ""
    seconds: float = 0.0

    @classmethod
    def of(cls, content: dict[str, Any]) -> Hunted:
        """Return what a line of an output file holds."""
        for name in ("contradictions", "apart"):
            content[name] = tuple(Contradiction(**each) for each in content[name])
        return cls(**{**content, "bugs": tuple(content["bugs"])})


# Drawing.


@dataclass(eq=False, repr=False)
class _Odd:
    """A table in the making: rows with strangers, of which oddities are noted. Its repr shows no row."""

    drawing: Drawing
    oddities: list[str] = field(default_factory=list)

    def __repr__(self) -> str:
        return f"<_Odd: {', '.join(self.oddities)}>"


def triple(seed: int, number: int, seconds: float = 4.0) -> Triple:
    """Draw a triple.

    Parameters
    ----------
    seed, number : int
        Of the hunt, and in it.
    seconds : float
        Effort of a judgement; the clock only guards.

    Returns
    -------
    Triple
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
        specimen = _declared(specimen, wider=int(rng.choice([0, 0, 1, 5])))
    return Triple(specimen, _policy(rng, classifier=classifier))


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
        column = str(rng.choice([name for name in frame if drawing.roles[name] != "one-hot"] or [""]))
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


def _policy(rng: np.random.Generator, *, classifier: bool) -> Policy:
    """Draw a policy, without the rule on the time box: here it is short on purpose."""
    policy = read_policy(rules_folder() / f"{rng.choice(_POLICIES)}.toml")
    rules = {rule: keys for rule, keys in policy.rules.items() if rule != "time-box"}
    return replace(policy, rules=rules, by_class=classifier and bool(rng.random() < 0.15))


def _declared(specimen: Specimen, wider: int = 0) -> Specimen:
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


# Judging.


def hunted(seed: int, number: int, seconds: float = 4.0) -> Hunted:
    """Judge a triple, and what passed again.

    Parameters
    ----------
    seed, number : int
    seconds : float
        Effort of a judgement.

    Returns
    -------
    Hunted
    """
    start = time.monotonic()
    drawn = triple(seed, number, seconds)
    found = judged(drawn)
    return replace(found, seed=seed, number=number, seconds=time.monotonic() - start)


def _judgement(found: Judged, policy: Policy) -> Judgement:
    """Judge what was found out, and what a weaker adversary gets, as the policy asks."""
    floor = None if found.floor is None else _as_policy_asks(found.floor, policy)
    return judgement(_as_policy_asks(found.examination, policy), policy, floor)


def judged(drawn: Triple) -> Hunted:
    """Judge a triple, and what passed again, without its seed."""
    specimen, policy = drawn.specimen, drawn.policy
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few rows of a class, no vote out of the bag
        model = specimen.trained()
    slices, by_class = _slices(specimen), is_classifier(specimen.estimator)
    first = examined(specimen, slices, by_class=by_class, model=model)
    verdict = _judgement(first, policy)
    found = Hunted(
        0,
        0,
        specimen.table,
        f"{specimen.model}, {_shape(specimen.estimator)}",
        policy.name,
        specimen.adversary,
        verdict.verdict,
        verdict.status,
        bugs=_bugs(first.examination),
        why=verdict.sentences[0] if verdict.verdict != "passed" and verdict.sentences else "",
    )
    if verdict.verdict != "passed":
        return found
    against: list[Contradiction] = [*_by_figures(drawn, first)]
    apart: list[Contradiction] = []
    bugs = list(found.bugs)
    for by, again in _others(specimen):
        found_again = examined(again, model=model)
        bugs += _bugs(found_again.examination)
        other = _judgement(found_again, policy)
        if other.verdict == "failed":
            told = apart if by.startswith("a stronger") else against
            told.append(Contradiction(by, other.clear == "failed", other.sentences[0]))
    return replace(found, contradictions=tuple(against), apart=tuple(apart), bugs=tuple(bugs))


def _as_policy_asks(examination: Examination, policy: Policy) -> Examination:
    """Return an examination with the slices that the policy names only: none, or those of the classes."""
    findings = examination.findings
    if findings is None:
        return examination
    kept = tuple(one for one in findings.slices if policy.by_class and one.name.startswith("class "))
    return replace(examination, findings=replace(findings, slices=kept))


def _bugs(examination: Examination) -> tuple[str, ...]:
    """Return what the gate itself calls a bug."""
    wrong = tuple(reason for reason in examination.reasons if "internal error" in reason)
    if examination.solver_status == "error":
        return examination.reasons
    return wrong


def _shape(estimator: Any) -> str:
    """Return what a model's size is."""
    given = estimator.get_params()
    depth = given.get("max_depth", given.get("estimator__max_depth"))
    trees = given.get("n_estimators", 1)
    return f"{trees} trees of depth {'any' if depth is None else depth}"


def _others(specimen: Specimen) -> Iterator[tuple[str, Specimen]]:
    """Yield the judgements that could contradict a pass."""
    yield "more time", replace(specimen, effort=MORE * specimen.effort, seconds=4 * specimen.seconds)
    for step in (1, 2):
        yield "another seed", replace(specimen, seed=specimen.seed + step)
    for adversary in weaker(specimen.adversary):
        yield f"a weaker adversary: {adversary}", replace(specimen, adversary=adversary)
    for adversary in stronger(specimen.adversary):
        yield f"a stronger adversary: {adversary}", replace(specimen, adversary=adversary)
    if specimen.domain is not None:
        yield "the inferred domain", replace(specimen, domain=None)
    elif not specimen.frame.isna().to_numpy().any():
        yield "a declared domain", _declared(specimen)


def weaker(adversary: str) -> list[str]:
    """Return adversaries that know less.

    Parameters
    ----------
    adversary : str
        As in `pytest_draft.knowledge`.
    """
    name, *sides = adversary.split("+")
    found = ["+".join(["published", *sides])] if name == "artifact" else []
    return found + ["+".join([name, *sides[:i], *sides[i + 1 :]]) for i in range(len(sides))]


def stronger(adversary: str) -> list[str]:
    """Return adversaries that know more.

    Parameters
    ----------
    adversary : str
    """
    name, *sides = adversary.split("+")
    found = ["+".join(["artifact", *sides])] if name == "published" else []
    return found + ([] if sides else [f"{name}+rows:25%", f"{name}+columns:1", f"{name}+informed"])


def _slices(specimen: Specimen) -> list[Slice]:
    """Return a slice for each value of each discrete column."""
    found = []
    for name in specimen.columns("binary", "one-hot", "ordinal"):
        for value in np.unique(specimen.frame[name].dropna().to_numpy()).astype(float).tolist():
            test = Literal(0, float(np.nextafter(value, -np.inf)), value)
            found.append(Slice(f"{name} = {value:g}", (name,), (test,), ("hunt",)))
    return found


# What the figures themselves say.


@dataclass(frozen=True, eq=False, repr=False)
class Population:
    """True rows, and strangers' as often as there are sets of them. Its repr shows no row."""

    truth: TrainingData
    strangers: tuple[NDArray[np.float32], ...]
    domain: Domain

    def __repr__(self) -> str:
        return f"<Population: {self.truth.n_rows} rows>"

    @classmethod
    def of(cls, specimen: Specimen) -> Population:
        """Return the rows of a specimen, as trees see them."""
        rows = specimen.frame.to_numpy(np.float32)
        labels = np.zeros(len(rows), dtype=np.int64)
        if is_classifier(specimen.estimator):
            labels = np.unique(specimen.labels, return_inverse=True)[1].reshape(-1).astype(np.int64)
        columns = tuple(map(str, specimen.frame.columns))
        sets = np.split(specimen.strangers.to_numpy(np.float32), STRANGERS)
        domain = infer(columns, rows.astype(np.float64))
        return cls(TrainingData(rows, labels, columns, None, "generated"), tuple(sets), domain)


def _by_figures(drawn: Triple, first: Judged) -> Iterator[Contradiction]:
    """Yield what contradicts a pass without another attack."""
    findings, rebuilt = first.examination.findings, first.reconstruction
    if findings is None or rebuilt is None or rebuilt.rows is None or "+" in drawn.specimen.adversary:
        return
    rows = Population.of(drawn.specimen)
    yield from _by_subgroups(drawn.policy, findings, rebuilt, rows, _slices(drawn.specimen))
    yield from by_strangers(drawn.policy, findings, rows)
    yield from _by_nothing_guessed(rebuilt, rows)


def _by_subgroups(
    policy: Policy, findings: Findings, rebuilt: Reconstruction, rows: Population, slices: Sequence[Slice]
) -> Iterator[Contradiction]:
    """Yield slices that fail where strangers' rows, in place of the rebuilt ones, do not."""
    failing = {one.name: told for one in findings.slices if (told := _fails(policy, findings, one.name))}
    if not failing:
        return
    classes = sorted(set(rows.truth.labels.tolist()))
    all_slices = [*slices, *(Slice(one.name, label=i) for i, one in _classes(findings, classes))]
    by_chance: set[str] = set()
    for theirs in rows.strangers:
        stranger = replace(
            rebuilt,
            rows=theirs,
            free=np.zeros((len(theirs), len(rows.domain.attributes)), dtype=np.bool_),
            labels=rows.truth.labels if rebuilt.labels is not None else None,
            ordered=False,
            certificate=None,
            consistent=None,
            seen=None,
            certain=None,
            proved=None,
            provable=None,
            proved_values=None,
        )
        measured = evaluate(
            stranger,
            rows.truth,
            rows.domain,
            findings.identity,
            seed=0,
            timebox=TimeBox(_EVALUATION),
            slices=all_slices,
        )
        by_chance |= {name for name in failing if _fails(policy, measured, name)}
    for name, told in failing.items():
        if name not in by_chance:
            yield Contradiction("a subgroup", bool(_fails(loosened(policy), findings, name)), f"{name}: {told}")


def _classes(findings: Findings, classes: Sequence[int]) -> list[tuple[int, Any]]:
    """Return the slices of the classes, by index."""
    named = [one for one in findings.slices if one.name.startswith("class ")]
    return list(zip(classes, named, strict=False))


def _fails(policy: Policy, findings: Findings, name: str) -> str:
    """Return what a policy says of one slice by itself where it fails; else nothing."""
    for one in findings.slices:
        if one.name == name and one.measured is not None:
            alone = replace(
                findings,
                slices=(one,),
                error=Distance(1.0, 1.0, None),  # all others are spared, so that only the slice can fail
                perfect_rows=0,
                most_perfect_rows=None,
                seen=None,
                informative=None,
                mostly_determined=None,
                fully_determined=None,
                certain_unique_rows=None,
                labelled=None,
                rescaled=(),
            )
            for rule, thresholds in policy.rules.items():
                judge = rule_of(rule)
                if judge.needs is Findings and policy.severities[rule] == "error":
                    outcome = judge.check(alone, thresholds)
                    if outcome.result == "failed" and "slice" in outcome.sentence:
                        return f"{rule}: {outcome.sentence}"
    return ""


def by_strangers(policy: Policy, findings: Findings, rows: Population) -> Iterator[Contradiction]:
    """Yield thresholds relative to the split-half baseline that are crossed relative to strangers' rows.

    There are as many strangers as rows, twice as many as in a half, and so they are closer: they fail less.

    Parameters
    ----------
    policy : Policy
    findings : Findings
    rows : Population
    """
    weights, box = encoded_weights(rows.domain), TimeBox(_EVALUATION)
    errors = [matched_distance(rows.truth.rows, theirs, weights, box).lower for theirs in rows.strangers]
    error, threshold = float(np.mean(errors)), policy.rules.get("reconstruction-error", {})
    if (share := threshold.get("max_error_of_split_half")) is not None:
        most = (1 - ROOM) * share * error
        if findings.error.upper <= most:
            yield Contradiction(
                "strangers", True, f"the error is {findings.error.upper:.4f}, and of strangers' rows {error:.4f}"
            )
    met = np.mean([_shared(rows.truth.rows, theirs) for theirs in rows.strangers])
    threshold = policy.rules.get("perfect-rows", {})
    if (share := threshold.get("max_share_beyond_split_half")) is not None:
        most = met + min(1.0, share + ROOM) * (findings.n_rows - met)
        if findings.perfect_rows > most and findings.perfect_rows > met + FEW:
            figures = f"{findings.perfect_rows} of {findings.n_rows} rows are perfect, and of strangers' rows {met:.1f}"
            yield Contradiction("strangers", True, figures)


def _by_nothing_guessed(rebuilt: Reconstruction, rows: Population) -> Iterator[Contradiction]:
    """Yield that most rows without a guess are those of unique people, which strangers' rows would not meet."""
    if rebuilt.rows is None or rebuilt.free is None:
        return
    sure = rebuilt.rows[~rebuilt.free.any(axis=1)]
    if len(sure) < FEW:
        return
    everyone = row_identities(rows.truth.rows)[0]
    unique = rows.truth.rows[np.bincount(everyone)[everyone] == 1]
    if not len(unique):
        return
    right = _shared(unique, sure)
    met = float(np.mean([_shared(unique, theirs[: len(sure)]) for theirs in rows.strangers]))
    if right >= FEW and right >= len(sure) / 2 and right > 2 * met + FEW:
        yield Contradiction(
            "nothing guessed",
            right > 3 * met + 2 * FEW,
            f"{right} of {len(sure)} rows without a guess are those of unique people; of as many strangers' {met:.1f}",
        )


def _shared(first: NDArray[np.float32], second: NDArray[np.float32]) -> int:
    """Return how many rows two tables have in common, as often as both have them."""
    if not len(second):
        return 0
    return len(first) - len(unmatched(*row_identities(first, second))[0])


# The command.


def run(
    n_triples: int,
    seed: int = 0,
    seconds: float = 4.0,
    *,
    workers: int = 1,
    output: Path | None = None,
    numbers: Sequence[int] | None = None,
) -> int:
    """Hunt so many triples and print what contradicts a pass.

    Parameters
    ----------
    n_triples, seed : int
    seconds : float
        Effort of a judgement.
    workers : int
        Processes.
    output : Path or None
        A line of JSON is added for each triple as it comes; those that are there already are not hunted again.
    numbers : sequence of int or None
        Of the triples, in place of the first `n_triples`.

    Returns
    -------
    int
        Number of triples with a contradiction or an internal error.
    """
    done = {one.number: one for one in _read(output) if one.seed == seed}
    wanted = list(range(n_triples)) if numbers is None else list(numbers)
    left = [number for number in wanted if number not in done]
    if output is not None and output.exists() and not output.read_bytes().endswith(b"\n"):
        with output.open("a", encoding="utf-8") as file:  # what was cut off must not swallow the next line
            file.write("\n")
    jobs = joblib.Parallel(workers, return_as="generator_unordered")(
        joblib.delayed(hunted)(seed, number, seconds) for number in left
    )
    start = time.monotonic()
    try:
        for index, one in enumerate(jobs):
            done[one.number] = one
            if output is not None:
                with output.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(asdict(one)) + "\n")
            print(f"{index + 1:>4} of {len(left)}: {_line(one)}", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        print("interrupted: what was found so far", file=sys.stderr)
    found = [done[number] for number in wanted if number in done]
    _print(found, seed, seconds, time.monotonic() - start)
    return sum(bool(one.contradictions or one.bugs) for one in found)


def _read(output: Path | None) -> list[Hunted]:
    """Return what an earlier run has written; a line that was cut off is hunted again."""
    if output is None or not output.exists():
        return []
    found = []
    for line in output.read_text(encoding="utf-8").splitlines():
        try:
            found.append(Hunted.of(json.loads(line)))
        except ValueError:
            continue
    return found


def _line(one: Hunted) -> str:
    against = f", {len(one.contradictions)} contradictions" if one.contradictions else ""
    return f"{one.number} {one.table}; {one.model}; {one.policy}; {one.adversary}: {one.verdict}{against}"


def _print(found: Sequence[Hunted], seed: int, seconds: float, spent: float) -> None:
    """Print contradictions, internal errors, and a table of verdicts."""
    for one in found:
        if one.contradictions or one.bugs:
            command = f"python -m studies hunt --numbers {one.number} --seed {seed} --seconds {seconds:g}"
            print(f"\n{_line(one)}\n  {command}")
            for each in one.contradictions:
                print(f"  {'clear' if each.clear else 'borderline'}, by {each.by}: {each.figures}")
            for bug in one.bugs:
                print(f"  internal error: {quote(bug)}")
    print("\nmodel                      passed inconclusive failed contradicted")
    kinds = sorted({one.model.split(",")[0] for one in found})
    for kind in [*kinds, "all"]:
        some = [one for one in found if kind in ("all", one.model.split(",")[0])]
        results = Counter[str](one.verdict for one in some)
        against = sum(bool(one.contradictions) for one in some)
        print(f"{kind:<26} {results['passed']:>6} {results['inconclusive']:>12} {results['failed']:>6} {against:>12}")
    by = Counter((each.by.split(":")[0], each.clear) for one in found for each in one.contradictions)
    for (kind, clear), times in sorted(by.items()):
        print(f"{'clear' if clear else 'borderline'} contradictions by {kind}: {times}")
    apart = Counter(each.by for one in found for each in one.apart)
    for kind, times in sorted(apart.items()):
        print(f"no contradiction, as it knows more: {kind} fails {times} of those that passed")
    print(f"{len(found)} triples in {spent:.0f} s, {sum(bool(one.bugs) for one in found)} with internal errors")
