"""What was found out about one case, before any policy."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from pytest_draft.facts.case import Case
from pytest_draft.facts.certificate import Certificate
from pytest_draft.facts.checks import require_not_negative
from pytest_draft.facts.entropy import Entropy
from pytest_draft.facts.files import ArtifactFacts, DataFacts, DomainFacts
from pytest_draft.facts.findings import Findings
from pytest_draft.facts.informed import Informed
from pytest_draft.facts.status import SOLVER_STATUSES, SolverStatus


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
    shortfalls : tuple of str
        Those of the reasons that say only that this attack stopped short, or used less than there is: they do not stand
        in the way where it is known how close anybody could get.
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
    informed : Informed or None
        What somebody gets who knows all other rows; None where that was not found out.
    retried : str or None
        Which machine was lost while it examined this, so that another one did; None where none was. It is no fact of
        the case.
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
    shortfalls: tuple[str, ...] = ()
    informed: Informed | None = None
    retried: str | None = None

    def __post_init__(self) -> None:
        if self.solver_status not in SOLVER_STATUSES:
            raise ValueError(f"unknown status {self.solver_status!r}")
        if not set(self.shortfalls) <= set(self.reasons):
            raise ValueError("a shortfall that is no reason")
        require_not_negative(residual=self.residual, reproduced_trees=self.reproduced_trees, seconds=self.seconds)


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
