"""What was found out about one case, before any policy."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from pytest_draft.facts.case import Case
from pytest_draft.facts.certificate import Certificate
from pytest_draft.facts.entropy import Entropy
from pytest_draft.facts.files import ArtifactFacts, DataFacts, DomainFacts
from pytest_draft.facts.findings import Findings
from pytest_draft.facts.status import SolverStatus


@dataclass(frozen=True)
class Examination:
    """What was found out about one case, before any policy: aggregates only, no row of data.

    Attributes
    ----------
    case : Case
    artifact : ArtifactFacts
    data : DataFacts
    domain : DomainFacts or None
    solver_status : str
        The reconstruction's status, or why there is none, as in `SolverStatus`.
    residual, reproduced_trees : int or None
        As in `Reconstruction`.
    statistics : dict of str to float
        As in `Reconstruction`.
    findings : Findings or None
    reasons : tuple of str
        Why the outcome is inconclusive unless a budget is crossed; empty where nothing stands in the way.
    notes : tuple of str
        What a reader should know besides.
    seconds : float
        Spent on all of it.
    versions : dict of str to str
    certificate : Certificate or None
        As in `Reconstruction`.
    holdout : DataFacts or None
        None where no holdout was read.
    entropy : Entropy or None
        How much of the uncertainty about the training rows the model takes away; None where `not_audited` says why.
    not_audited : str or None
    cached : bool
        Whether an earlier run has found it out.
    """

    case: Case
    artifact: ArtifactFacts
    data: DataFacts
    domain: DomainFacts | None
    solver_status: SolverStatus
    residual: int | None
    reproduced_trees: int | None
    statistics: dict[str, float]
    findings: Findings | None
    reasons: tuple[str, ...]
    notes: tuple[str, ...]
    seconds: float
    versions: dict[str, str]
    certificate: Certificate | None = None
    holdout: DataFacts | None = None
    entropy: Entropy | None = None
    not_audited: str | None = None
    cached: bool = False


def unexamined(case: Case) -> Examination:
    """Return the examination of a case of which nothing is known yet."""
    return Examination(
        case=case,
        artifact=ArtifactFacts(case.artifact),
        data=DataFacts(case.data),
        domain=None,
        solver_status="no data",
        residual=None,
        reproduced_trees=None,
        statistics={},
        findings=None,
        reasons=(),
        notes=(),
        seconds=0.0,
        versions=versions_here(),
    )


def versions_here() -> dict[str, str]:
    """Return the versions of what a judgement depends on, by name."""
    found = {"python": platform.python_version()}
    for package in ("pytest-draft", "numpy", "scipy", "scikit-learn", "ortools", "pandas"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:  # run from a checkout
            continue
    return found
