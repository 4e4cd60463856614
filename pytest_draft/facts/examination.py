"""What was found out about one case, before any policy."""

from __future__ import annotations

import platform
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version

from pytest_draft.facts.case import Beside, Case
from pytest_draft.facts.certificate import Certificate
from pytest_draft.facts.checks import require_not_negative
from pytest_draft.facts.entropy import Entropy
from pytest_draft.facts.files import ArtifactFacts, DataFacts, DomainFacts
from pytest_draft.facts.findings import Findings
from pytest_draft.facts.informed import Informed
from pytest_draft.facts.label_told import LabelTold, Sensitive
from pytest_draft.facts.membership import Membership
from pytest_draft.facts.status import SOLVER_STATUSES, SolverStatus

EVERY_RULE = "every rule"
"""In place of one, where none of the attackers considered can cross a threshold."""


@dataclass(frozen=True)
class Examination:
    """What was found out about one case, before any policy: aggregates only, no row of data."""

    case: Case
    """What was asked."""
    artifact: ArtifactFacts
    """Of the model file."""
    data: DataFacts
    """Of the training data."""
    domain: DomainFacts | None
    """None where none was settled on."""
    solver_status: SolverStatus
    """The reconstruction's status, or why there is none, as in `SolverStatus`."""
    residual: int | None
    reproduced_trees: int | None
    """`residual` and `reproduced_trees`: as in `Reconstruction`."""
    statistics: dict[str, float]
    """As in `Reconstruction`."""
    findings: Findings | None
    """What the attack has come to; None without a reconstruction that could be compared."""
    reasons: tuple[str, ...]
    """Why the outcome is inconclusive unless a budget is crossed; empty where nothing stands in the way."""
    notes: tuple[str, ...]
    """What a reader should know besides."""
    seconds: float
    """Spent on all of it."""
    versions: dict[str, str]
    """Of Python and of the packages that a judgement depends on, by name."""
    certificate: Certificate | None = None
    """As in `Reconstruction`."""
    holdout: DataFacts | None = None
    """None where no holdout was read."""
    entropy: Entropy | None = None
    """How much of the uncertainty about the training rows the model takes away; None where `not_audited` says why."""
    not_audited: str | None = None
    """Why there is no `entropy`; None where there is, or where it was not asked for."""
    cached: bool = False
    """Whether an earlier run has found it out."""
    shortfalls: tuple[str, ...] = ()
    """Reasons that say only that this attack stopped short, or used less than there is: they do not stand
    in the way where it is known how close anybody could get.
    """
    informed: Informed | None = None
    """What somebody gets who knows all other rows; None where that was not found out."""
    not_informed: str | None = None
    """Why not, where the file does not reveal it, or somebody who knows even more could get more."""
    label_told: LabelTold | None = None
    """What the file tells of labels or targets; None where that was not found out."""
    label_not_told: str | None = None
    """Why there is no `label_told`; None where there is, or other reasons say it."""
    sensitive: tuple[Sensitive, ...] = ()
    """What the file tells of the columns that the policy names as sensitive."""
    membership: Membership | None = None
    """How well the file tells its training rows from others; None where that was not found out."""
    not_membership: str | None = None
    """Why there is no `membership`; None where there is, or other reasons say it."""
    decided_by: str | None = None
    """The rule whose failure, or `EVERY_RULE` whose passes, ended it early; None where it ran to its end."""
    decided_after: float | None = None
    """Seconds after which that was certain."""
    basis: Examination | None = None
    """Of the file that this one was hardened from, where its hardening was repeated and that one was examined."""
    together: Examination | None = None
    """With the other files in the same hands, of all people of all files; None where nobody asked, or where it failed
    already.
    """
    files: dict[str, str] = field(default_factory=dict)
    """Of `together`: the SHA-256 of each file of which something was put together, by name."""
    apart: dict[str, Examination] = field(default_factory=dict)
    """Of `together`: of people who are not in all files, by whose they are, for somebody who knows everybody else."""
    barred: str | None = None
    """A reason by which nothing passes, whatever was found out; None where there is none. It is no fact of the case."""
    retried: str | None = None
    """Which machine was lost while it examined this, so that another one did; None where none was. It is no fact of the
    case.
    """

    def __post_init__(self) -> None:
        if self.solver_status not in SOLVER_STATUSES:
            raise ValueError(f"unknown status {self.solver_status!r}")
        if not set(self.shortfalls) <= set(self.reasons):
            raise ValueError("a shortfall that is no reason")
        require_not_negative(residual=self.residual, reproduced_trees=self.reproduced_trees, seconds=self.seconds)

    @property
    def most_told(self) -> Sensitive | None:
        """The column that the policy names to which the file adds most; None where none is known."""
        known = {one.told.share - one.told.share_without: one for one in self.sensitive if one.told and one.attributes}
        return known[max(known)] if known else None

    @property
    def doubts(self) -> tuple[str, ...]:
        """The reasons that stand in the way of a pass even where it is known how close anybody could get."""
        return tuple(reason for reason in self.reasons if reason not in self.shortfalls)

    @property
    def others(self) -> tuple[Beside, ...]:
        """The other files that it is to be judged with, and the other models in its file: once, with the first one."""
        places, here = self.artifact.places, self.case.place
        if self.case.by_itself or (places and here != places[0]):
            return ()
        return (*self.case.beside, *(Beside(self.case.artifact, None, one) for one in places if one != here))

    @property
    def cut_short(self) -> bool:
        """Whether an attack was ended, or left out, as the verdict was certain: its figures tell nobody anything."""
        return self.decided_by is not None and self.solver_status in ("not converged", "no solution", "not asked")


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
