"""One judgement of a specimen, in this process: in goes a `Specimen`, out comes a `Judgement`, aggregates only."""

from __future__ import annotations

import math
import tempfile
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pytest_draft.examine.flow import examine
from pytest_draft.facts.adversary import Adversary
from pytest_draft.facts.case import Beside, Case
from pytest_draft.facts.examination import Examination
from pytest_draft.facts.reconstruction import Reconstruction
from pytest_draft.facts.slices import Slice
from pytest_draft.hardening.model import hardened
from pytest_draft.policy.enough import Enough
from pytest_draft.policy.policy import Policy, default_policy
from pytest_draft.policy.rule import CheckResult, Severity, Verdict
from pytest_draft.policy.rules import rule_of
from pytest_draft.policy.verdict import judge, verdict_of
from pytest_draft.report.result import result_of
from studies.specimens import LABEL, Specimen

GRAVITY: dict[CheckResult, int] = {"not applicable": 0, "passed": 0, "inconclusive": 1, "failed": 2}
"""How grave a result is."""

ROOM = 0.1
"""By this share a threshold is loosened to see whether it was crossed clearly (`loosened`)."""


@dataclass(frozen=True, eq=False, repr=False)
class Judged:
    """A specimen's examination, and what was rebuilt. Its repr shows no row."""

    examination: Examination
    reconstruction: Reconstruction | None
    floors: tuple[Examination, ...] = ()
    """Of adversaries who know less, which the gate judges as well."""

    def __repr__(self) -> str:
        return f"<Judged: {self.examination.solver_status}>"


@dataclass(frozen=True)
class Judgement:
    """What a policy says of an examination, and the figures behind it: aggregates only."""

    verdict: Verdict
    clear: Verdict
    """The verdict by thresholds that are looser by `ROOM`: what is failed by them too is no borderline case."""
    rules: dict[str, CheckResult]
    clear_rules: dict[str, CheckResult]
    """`rules` and `clear_rules`: the same for each rule."""
    status: str
    """The solver's."""
    lacked_time: bool
    """Whether more time could change it."""
    n_rows: int
    """Rows that were to be rebuilt; 0 where nothing was measured."""
    error: float | None
    """Reconstruction error on encoded columns."""
    perfect: int
    certain: int
    """`perfect` and `certain`: rows that are rebuilt perfectly, and that are proved."""
    sentences: tuple[str, ...]
    """Why rules did not pass, those first that count."""
    seconds: float


def examined(specimen: Specimen, slices: Sequence[Slice] = (), *, by_class: bool = False, model: Any = None) -> Judged:
    """Train a specimen's model, write it, read it and attack it.

    Parameters
    ----------
    by_class : bool
        As in `pytest_draft.facts.case.Case`.
    model : object
        What is written, where it was trained already.
    """
    with tempfile.TemporaryDirectory() as scratch, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few rows of a class, features without names
        folder = Path(scratch)
        artifact = folder / "model.joblib"
        written = specimen.trained() if model is None else model
        raw = None if specimen.hardened is None else folder / "raw.joblib"
        specimen.write(written, artifact if raw is None else raw)
        if raw is not None:
            joblib.dump(hardened(written, specimen.hardened or "", specimen.frame)[0], artifact)
        beside = []
        for number, other in enumerate(specimen.beside):
            beside.append(Beside(str(folder / f"beside{number}.joblib")))
            specimen.write(replace(specimen, estimator=other).trained(), Path(beside[-1].artifact))
        path, data = _given(specimen, folder)
        domain = None
        if specimen.domain is not None:
            domain = folder / "domain.toml"
            domain.write_text(specimen.domain, encoding="utf-8")
        case = Case(
            artifact=str(artifact),
            data=None if path is None else str(path),
            target=None if specimen.given in ("arrays", ".npz") else LABEL,
            domain=None if domain is None else str(domain),
            adversary=specimen.adversary,
            seconds=specimen.seconds,
            seed=specimen.seed,
            effort=specimen.effort,
            slices=tuple(slices),
            by_class=by_class,
            hardened_from=None if raw is None else str(raw),
            beside=tuple(beside),
        )
        floors = Adversary.parse(case.adversary).floors
        weaker = tuple(examine(replace(case, adversary=floor), data)[0] for floor in floors)
        return Judged(*examine(case, data), weaker)


def _given(specimen: Specimen, folder: Path) -> tuple[Path | None, object]:
    """Return the path of the training data, or the data in memory."""
    frame, labels = specimen.given_rows()
    if specimen.given == "arrays":
        return None, (frame.to_numpy(), labels)
    whole = frame.assign(**{LABEL: labels})
    if specimen.given == "frame":
        return None, whole
    path = folder / f"data{specimen.given}"
    if specimen.given in (".csv", ".csv.gz"):
        whole.to_csv(path, index=False)
    elif specimen.given == ".parquet":
        whole.to_parquet(path)
    elif specimen.given == ".npz":
        written = labels.astype(str) if labels.dtype == object else labels
        np.savez(path, X=frame.to_numpy(np.float64), columns=_names(frame), y=written)
    else:
        raise ValueError(f"unknown way to give data: {specimen.given!r}")
    return path, None


def _names(frame: pd.DataFrame) -> NDArray[np.str_]:
    return np.array([str(name) for name in frame.columns])


def policy_of_suite() -> Policy:
    """Return the default policy, and as warnings the rules on single rows that other policies add."""
    policy = default_policy()
    more = {
        "certain-rows": {"max_certain_rows": 0},
        "singled-out-rows": {"max_singled_out_rows": 10},
        "training-data-mismatch": {},
    }
    added = {rule: thresholds for rule, thresholds in more.items() if rule not in policy.rules}
    severities: dict[str, Severity] = dict.fromkeys(added, "warning")
    return replace(policy, rules={**policy.rules, **added}, severities={**policy.severities, **severities})


def loosened(policy: Policy, room: float = ROOM) -> Policy:
    """Return a policy with thresholds that are looser by a share; numbers of rows by at least one."""
    rules: dict[str, dict[str, Any]] = {}
    for name, thresholds in policy.rules.items():
        keys = rule_of(name).keys
        rules[name] = dict(thresholds)
        for key, value in thresholds.items():
            if keys[key].listed or isinstance(value, bool) or not isinstance(value, (int, float)):
                continue
            if keys[key].strictest is max:
                rules[name][key] = math.floor(value * (1 - room)) if keys[key].whole else value * (1 - room)
            elif keys[key].whole:
                rules[name][key] = value + max(1, math.ceil(value * room))
            else:
                rules[name][key] = value + (room if keys[key].largest == 1 else value * room)
                if (largest := keys[key].largest) is not None:
                    rules[name][key] = min(rules[name][key], largest)
    return replace(policy, rules=rules)


def judgement(examination: Examination, policy: Policy, floors: Sequence[Examination] = ()) -> Judgement:
    """Judge an examination, by a policy and by the same policy with looser thresholds.

    Parameters
    ----------
    floors : sequence of Examination
        As in `Judged`.
    """
    checks, clear = (judge(examination, one, floors) for one in (policy, loosened(policy)))
    findings, certificate = examination.findings, examination.certificate
    certain = 0 if certificate is None else certificate.certain_vectors.lower
    if findings is not None and findings.values.certain_rows is not None:
        certain = max(certain, findings.values.certain_rows.lower)
    said = sorted((check for check in checks if not check.is_fine), key=lambda check: not check.counts)
    return Judgement(
        verdict_of((check.result, check.counts) for check in checks),
        verdict_of((check.result, check.counts) for check in clear),
        {check.rule: check.result for check in checks},
        {check.rule: check.result for check in clear},
        examination.solver_status,
        _lacked_time(examination),
        0 if findings is None else findings.whole.rows,
        None if findings is None else findings.whole.error.upper,
        0 if findings is None else findings.whole.perfect.lower,
        certain,
        tuple(f"{check.rule}: {check.sentence}" for check in said),
        examination.seconds,
    )


def _lacked_time(examination: Examination) -> bool:
    """Return whether a reason of an examination is that its time, or effort, was out."""
    said = "; ".join(examination.reasons)
    words = ("did not converge", "cut short", "wall clock", "time was out", "time box")
    return examination.solver_status in ("not converged", "no solution") or any(word in said for word in words)


def judged_rows(model: Any, rows: pd.DataFrame, labels: pd.Series[Any], seconds: float) -> dict[str, Any]:
    """Return a result of a report on a fitted model and its rows, by the default policy, ended as soon as it can be."""
    policy = default_policy()
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "model.joblib"
        joblib.dump(model, path)
        case = Case(artifact=str(path), target=LABEL, seconds=seconds)
        examination, _ = examine(case, rows.assign(**{LABEL: labels}), enough=Enough(policy))
    return result_of(examination, judge(examination, policy), policy)
