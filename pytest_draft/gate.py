"""One judgement, end to end: in goes a `Case`, out comes an `Examination` that a policy can judge.

Read, domain, problem, attack, evaluate, all in one time box. Whatever goes wrong is a reason in the
examination, never a crash and never a pass.
"""

from __future__ import annotations

import platform
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np

from pytest_draft.adversary import exchangeable_groups
from pytest_draft.artifact import Artifact, read
from pytest_draft.attack.exact import Search
from pytest_draft.attack.problem import InfeasibleError, OutOfTimeError, build
from pytest_draft.attack.reconstruct import Reconstruction, reconstruct
from pytest_draft.attack.refit import evidence_by_refitting
from pytest_draft.data import TrainingData, read_domain, read_table, training_data
from pytest_draft.domain import Domain, infer
from pytest_draft.errors import ArtifactError, DataError, DraftError, NotCoveredError, one_line
from pytest_draft.evaluate.findings import Findings, evaluate
from pytest_draft.evaluate.identity import Identity, identify
from pytest_draft.timebox import TimeBox

ATTACK_SHARE = 0.6
"""Share of the time box that reading and attacking may take; the rest is for evaluation."""

IDENTITY_SHARE = 0.7
"""Share of the time box after which the identity check must have ended."""


@dataclass(frozen=True)
class Case:
    """One model file to be judged against one adversary.

    Attributes
    ----------
    artifact : str
        Path of the model file.
    data : str or None
        Path of the training data.
    target : str or None
        Name of the label column.
    domain : str or None
        Path of a domain file; None to infer the domain from the training data.
    adversary : str
    seconds : float
        The time box, for everything.
    seed : int
    workers : int
        Solver threads.
    """

    artifact: str
    data: str | None = None
    target: str | None = None
    domain: str | None = None
    adversary: str = "artifact"
    seconds: float = 60.0
    seed: int = 0
    workers: int = 1


@dataclass(frozen=True)
class ArtifactFacts:
    """What a report says of a model file; all but the path is None where it was refused."""

    path: str
    sha256: str | None = None
    size: int | None = None
    holds: str | None = None
    sklearn_version: str | None = None
    n_trees: int | None = None
    bootstrap: bool | None = None
    not_read: tuple[str, ...] = ()


@dataclass(frozen=True)
class DataFacts:
    """What a report says of the training data; all but the path is None where they were refused."""

    path: str | None
    sha256: str | None = None
    rows: int | None = None
    columns: int | None = None
    unused_columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class DomainFacts:
    """Where a domain comes from, and what it tells the adversary."""

    source: str
    granted: tuple[str, ...]


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
        The reconstruction's status; or ``refused``, ``not covered``, ``no data``, ``out of memory``, ``error``.
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
    """

    case: Case
    artifact: ArtifactFacts
    data: DataFacts
    domain: DomainFacts | None
    solver_status: str
    residual: int | None
    reproduced_trees: int | None
    statistics: dict[str, float]
    findings: Findings | None
    reasons: tuple[str, ...]
    notes: tuple[str, ...]
    seconds: float
    versions: dict[str, str]


def examine(case: Case, data: object = None) -> tuple[Examination, Reconstruction | None]:
    """Read, attack and evaluate one case.

    Parameters
    ----------
    case : Case
    data : object, optional
        Training data in memory (`TrainingData`, a DataFrame, or ``(X, y)``), in place of `Case.data`.

    Returns
    -------
    examination : Examination
        Aggregates only.
    reconstruction : Reconstruction or None
        The rebuilt rows, where there are some.
    """
    steps = _Steps(case, data)
    try:
        steps.run()
    except (ArtifactError, DataError) as error:
        steps.stop("refused", str(error))
        if isinstance(error, ArtifactError):
            steps.artifact_sha256 = error.sha256
    except NotCoveredError as error:
        steps.stop("not covered", str(error))
    except DraftError as error:
        steps.stop("refused", str(error))
    except OutOfTimeError:
        steps.stop("no solution", f"the time box of {case.seconds:g} s ended before there was a dataset")
    except InfeasibleError:
        steps.stop("infeasible", steps.nothing_fits())
    except MemoryError:
        steps.stop("out of memory", "this machine has too little memory for this forest and domain")
    except Exception as error:  # a bug: its message or traceback could show rows, so only its place is told
        steps.stop("error", _place_of(error))
    return steps.result(), steps.reconstruction


class _Steps:
    """The stages of one examination, and what each has left."""

    def __init__(self, case: Case, data: object) -> None:
        self.case = case
        self.given = data
        self.timebox = TimeBox(case.seconds)
        self.artifact: Artifact | None = None
        self.artifact_sha256: str | None = None
        self.data: TrainingData | None = None
        self.domain: Domain | None = None
        self.reconstruction: Reconstruction | None = None
        self.findings: Findings | None = None
        self.status = "no data"
        self.reasons: list[str] = []
        self.notes: list[str] = []

    def stop(self, status: str, reason: str) -> None:
        """Note why an examination ended early."""
        self.status = status
        self.reasons.append(reason)

    def run(self) -> None:
        """Go through the stages; each may raise."""
        case = self.case
        self.artifact = read(case.artifact)
        self.artifact_sha256 = self.artifact.sha256
        forest = self.artifact.forest
        given = read_table(case.data) if self.given is None and case.data is not None else self.given
        if given is not None:
            self.data = training_data(given, forest, case.target)
        if case.domain is not None:
            columns = self.data.columns if self.data is not None else forest.feature_names
            self.domain = read_domain(case.domain, columns or tuple(map(str, range(forest.n_features))))
        elif self.data is not None:
            self.domain = infer(self.data.columns, self.data.rows.astype(np.float64))
        else:
            raise DataError("neither training data nor a domain is given: add --draft-data")
        self._note_outside()
        attack_box = self.timebox.first(ATTACK_SHARE)
        groups = exchangeable_groups(forest, case.adversary)
        problem = build(forest, self.domain, groups, attack_box)
        search = Search(attack_box, case.seed, case.workers)
        evidence = evidence_by_refitting(forest, groups)
        self.reconstruction = reconstruct(problem, search, evidence)
        self.status = self.reconstruction.status
        if self.reconstruction.status == "infeasible":
            raise InfeasibleError
        if self.data is None:
            self.reasons.append("no training data are given to compare with: add --draft-data")
            return
        search = Search(self.timebox.first(IDENTITY_SHARE), case.seed, case.workers)
        identity = identify(forest, problem, self.data, self.reconstruction, search)
        self._note_identity(identity)
        if self.reconstruction.rows is None:
            raise OutOfTimeError
        if self.reconstruction.status == "not converged":
            self.reasons.append(
                f"the attack did not converge in {attack_box.seconds:g} s, its share of the time box of "
                f"{case.seconds:g} s: its residual is {self.reconstruction.residual:,}, the truth's is 0, so its error "
                "is only an upper bound; give it more time with --draft-budget"
            )
        elif self.reconstruction.cut_short:
            self.reasons.append(
                f"the attack was cut short after {attack_box.seconds:g} s, its share of the time box of "
                f"{case.seconds:g} s, so its error is only an upper bound; give it more time with --draft-budget"
            )
        if len(self.data.rows) == len(self.reconstruction.rows):
            self.findings = evaluate(
                self.reconstruction, self.data, self.domain, identity, seed=case.seed, timebox=self.timebox
            )

    def _note_outside(self) -> None:
        if self.data is None or self.domain is None:
            return
        if outside := self.domain.outside(self.data.rows.astype(np.float64)):
            name, number = next(iter(outside.items()))
            self.reasons.append(
                f"the domain of {one_line(self.domain.source)} excludes {number:,} training rows by attribute "
                f"{one_line(name)!r}: correct the domain"
            )

    def _note_identity(self, identity: Identity) -> None:
        if identity.status == "order differs":
            self.notes.append(identity.why)
        elif identity.status != "confirmed":
            self.reasons.append(identity.why)

    def nothing_fits(self) -> str:
        """Say what it means that no dataset of the domain explains the file."""
        nothing = "no dataset that the domain allows explains its counts"
        if self.data is not None and not self.reasons:  # else the domain excludes these rows
            return f"this forest was not trained on these rows: {nothing}"
        return f"{nothing}: correct the domain"

    def result(self) -> Examination:
        """Return all that was found out."""
        rebuilt = self.reconstruction
        return Examination(
            case=self.case,
            artifact=self._artifact_facts(),
            data=self._data_facts(),
            domain=DomainFacts(self.domain.source, self.domain.granted) if self.domain else None,
            solver_status=self.status,
            residual=rebuilt.residual if rebuilt else None,
            reproduced_trees=rebuilt.reproduced_trees if rebuilt else None,
            statistics=dict(rebuilt.statistics) if rebuilt else {},
            findings=self.findings,
            reasons=tuple(self.reasons),
            notes=tuple(self.notes),
            seconds=self.timebox.elapsed,
            versions=_versions(),
        )

    def _artifact_facts(self) -> ArtifactFacts:
        artifact = self.artifact
        if artifact is None:
            return ArtifactFacts(self.case.artifact, self.artifact_sha256)
        forest = artifact.forest
        return ArtifactFacts(
            self.case.artifact,
            artifact.sha256,
            artifact.size,
            artifact.holds,
            forest.sklearn_version,
            forest.n_trees,
            forest.bootstrap,
            artifact.not_read,
        )

    def _data_facts(self) -> DataFacts:
        data = self.data
        if data is None:
            return DataFacts(self.case.data)
        return DataFacts(data.source, data.sha256, data.n_rows, data.n_columns, data.unused)


def _place_of(error: Exception) -> str:
    """Say where an unexpected error arose, without its text."""
    trace, place = error.__traceback__, ""
    while trace is not None:
        path = Path(trace.tb_frame.f_code.co_filename)
        if "pytest_draft" in path.parts:
            place = f" in {path.name}, line {trace.tb_lineno}"
        trace = trace.tb_next
    return f"internal error: {type(error).__name__}{place}; please report it"


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for package in ("pytest-draft", "numpy", "scipy", "scikit-learn", "ortools", "pandas"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:  # run from a checkout
            continue
    return found
