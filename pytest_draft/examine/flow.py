"""One judgement, end to end: in goes a `Case`, out comes an `Examination` that a policy can judge.

Read, domain, problem, attack, evaluate, all in one time box. Whatever goes wrong is a reason in the
examination, never a crash and never a pass.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pytest_draft.artifact import Artifact, read
from pytest_draft.artifact.contents import NOTHING
from pytest_draft.artifact.forest import Forest
from pytest_draft.artifact.published import published
from pytest_draft.artifact.rule_list import RuleList
from pytest_draft.attack.counts.informed import exact_likelihood, rebuild_alone
from pytest_draft.attack.enumeration import build
from pytest_draft.attack.groups import KnownRows
from pytest_draft.attack.large_domains.candidates import build_any
from pytest_draft.attack.numeric.enumerated import Enumerated, enumerate_states
from pytest_draft.attack.numeric.problem import build_numeric, is_numeric
from pytest_draft.attack.numeric.rebuild import rebuild_numeric
from pytest_draft.attack.problem import Problem
from pytest_draft.attack.reconstruct import reconstruct, seen_rows
from pytest_draft.attack.reconstruction import Reconstruction
from pytest_draft.attack.refit import evidence_by_refitting
from pytest_draft.attack.search import Search
from pytest_draft.attack.untested_values import Choices
from pytest_draft.audit.all_trees import together
from pytest_draft.audit.contents import inspect_contents
from pytest_draft.audit.entropy import audit_forest, audit_rules
from pytest_draft.audit.structure import structure_of
from pytest_draft.data import (
    Holdout,
    Indicators,
    RawColumns,
    TrainingData,
    declared_domain,
    domain_from,
    granted_by,
    holdout_of,
    narrowed,
    raw_columns,
    read_table,
    training_data,
)
from pytest_draft.data.individuals import inliers
from pytest_draft.domain import Domain, infer
from pytest_draft.errors import (
    ArtifactError,
    DataError,
    DraftError,
    InfeasibleError,
    NotCoveredError,
    OutOfTimeError,
    one_line,
)
from pytest_draft.evaluate.findings import evaluate
from pytest_draft.evaluate.identity import (
    OR_IN_ANOTHER_ORDER,
    confirmed,
    identify,
    identify_granted,
    identify_in_order,
    identify_values,
    truth_is_likelier,
)
from pytest_draft.evaluate.numeric import few_valued
from pytest_draft.evaluate.proved import contradiction
from pytest_draft.evaluate.significance import caveats, rows_drawn
from pytest_draft.examine.private import released
from pytest_draft.facts.adversary import Adversary
from pytest_draft.facts.case import Case
from pytest_draft.facts.contents import StoredFacts
from pytest_draft.facts.entropy import Entropy
from pytest_draft.facts.examination import Examination, versions_here
from pytest_draft.facts.files import ArtifactFacts, DataFacts, DomainFacts
from pytest_draft.facts.findings import Findings
from pytest_draft.facts.identity import Identity
from pytest_draft.facts.slices import Slice, by_class
from pytest_draft.facts.status import SolverStatus
from pytest_draft.facts.structure import StructureFacts
from pytest_draft.knowledge import Knowledge, exchangeable_groups, grant, known_occurrences, known_rows
from pytest_draft.progress import StageClock, Tell
from pytest_draft.timebox import TimeBox

ATTACK_SHARE = 0.6
"""Share of the time box that reading and attacking may take; the rest is for evaluation."""

NUMERIC_SHARE = 0.8
"""The same for numeric columns and at most `SMALL` rows, which are evaluated in no time."""

AUDIT_SHARE = 0.1
"""Share of the time box that the entropy audit may take where an attack follows it."""

INSPECT_SHARE = 0.1
"""Share of the time box that comparing what stands in the file with the training data may take."""

SMALL = 1_000

MOSTLY_DECODED = 0.9
"""Where fewer of a forest's drawn thresholds are decoded, more can be had from the file than is used here."""

IDENTITY_SHARE = 0.7
"""Share of the time box after which the identity check must have ended."""


def examine(
    case: Case,
    data: object = None,
    tell: Tell | None = None,
    keep: Callable[[Examination], None] | None = None,
) -> tuple[Examination, Reconstruction | None]:
    """Read, attack and evaluate one case, in this process.

    Parameters
    ----------
    case : Case
    data : object, optional
        Training data in memory (`TrainingData`, a DataFrame, or ``(X, y)``), in place of `Case.data`.
    tell : callable, optional
        Gets a `Progress` at each stage.
    keep : callable, optional
        Gets what is known once all is read: the examination as it would be if it ended there.

    Returns
    -------
    examination : Examination
        Aggregates only.
    reconstruction : Reconstruction or None
        The rebuilt rows as they are written, where there are some.
    """
    steps = _Steps(case, data, tell)
    try:
        model, domain = steps.read()
        if keep is not None:
            keep(steps.result())
        steps.audit(model, domain)
        if not case.attack:
            steps.status = "not asked"
        elif isinstance(model, RuleList):
            raise NotCoveredError(
                "a rule list is not attacked: judge it by the rule entropy-reduction alone, as "
                "--draft-policy interpretable does"
            )
        else:
            steps.run(model, domain)
    except (ArtifactError, DataError) as error:
        steps.stop("refused", str(error))
        if isinstance(error, ArtifactError):
            steps.artifact_sha256 = error.sha256
    except NotCoveredError as error:
        steps.stop("not covered", str(error))
    except DraftError as error:
        steps.stop("refused", str(error))
    except OutOfTimeError:
        steps.stop("no solution", steps.out_of_time())
    except InfeasibleError:
        steps.stop("infeasible", steps.nothing_fits())
    except MemoryError:
        steps.stop("out of memory", too_little_memory(case.memory))
    except Exception as error:  # a bug: its message or traceback could show rows, so only its place is told
        steps.stop("error", _place_of(error))
    return steps.result(), steps.rebuilt_as_written()


class _Steps:
    """The stages of one examination, and what each has left."""

    def __init__(self, case: Case, data: object, tell: Tell | None) -> None:
        self.case = case
        self.given = data
        self.timebox = TimeBox(case.seconds)
        self.attack_box = self._search_box(ATTACK_SHARE)
        self.attack_ended: tuple[float, bool] | None = None
        self.clock = StageClock(self.timebox, tell)
        self.artifact: Artifact | None = None
        self.artifact_sha256: str | None = None
        self.data: TrainingData | None = None
        self.indicators = Indicators.none()
        self.holdout: Holdout | None = None
        self.domain: Domain | None = None
        self.knowledge: Knowledge | None = None
        self.slices: tuple[Slice, ...] = ()
        self.granted: tuple[str, ...] = ()
        self.contents: StoredFacts | None = None
        self.structure: StructureFacts | None = None
        self.reconstruction: Reconstruction | None = None
        self.findings: Findings | None = None
        self.entropy: Entropy | None = None
        self.not_audited: str | None = None
        self.status: SolverStatus = "no data"
        self.reasons: list[str] = []
        self.notes: list[str] = []

    def stop(self, status: SolverStatus, reason: str) -> None:
        """Note why an examination ended early."""
        self.status = status
        self.reasons.append(reason)

    def read(self) -> tuple[Forest | RuleList, Domain]:
        """Read the model file, the training data, the domain and the side knowledge; each may raise."""
        case = self.case
        with self.clock("read"):
            self.artifact = read(case.artifact)
            self.artifact_sha256 = self.artifact.sha256
            model = self.artifact.model
            self._note_privacy()
            if (unjudged := self.artifact.unjudged.why) is not None:
                self.reasons.append(unjudged)
            given = self.given
            try:
                if given is None and case.data is not None:
                    given = read_table(case.data)
                if self.artifact.not_covered is not None:
                    raise NotCoveredError(self.artifact.not_covered)
                if given is not None:
                    self.data = training_data(given, model, case.target, self.artifact.encoder)
            finally:  # what stands in the file stands there, whatever becomes of the data
                self._inspect(self.artifact, given)
            holdout = None
            if case.holdout is not None and self.data is not None:
                holdout = holdout_of(read_table(case.holdout), self.data, case.target, self.artifact.encoder)
            self.domain = self._domain(model)
            if isinstance(model, RuleList):
                model = model.resolved(self.domain.columns)
            model = self.indicators.model(model)
            self._note_outside()
            self.slices = self._sliced(model, self.domain.columns)
            self.knowledge = self._granted(model, self.domain)
            if holdout is not None and self.data is not None:
                self.holdout = replace(holdout, rows=self.indicators.rows(holdout.rows))
                self._require_holdout(self.data, self.holdout)
        return model, self.domain

    def _inspect(self, artifact: Artifact, given: object) -> None:
        """Say what stands in the file without any attack; after that, only what an attack needs of it is kept."""
        box = TimeBox(max(1e-3, min(self.case.seconds * INSPECT_SHARE, self.timebox.remaining)))
        self.structure = structure_of(artifact.model, self.data, box)
        try:
            self.contents = inspect_contents(artifact, given, self.data, box)
        except DataError:  # the data are refused, which is told by who reads them
            self.contents = inspect_contents(artifact, None, None, box)
        self.artifact = replace(artifact, contents=NOTHING)

    def _sliced(self, model: Forest | RuleList, columns: tuple[str, ...]) -> tuple[Slice, ...]:
        """Return the slices to be measured by themselves, all of whose columns there must be."""
        for one in self.case.slices:
            one.require_columns(columns)
        named = [
            replace(
                one,
                literals=tuple(
                    self.indicators.literal(test, columns.index(one.columns[test.column])) for test in one.literals
                ),
            )
            for one in self.case.slices
        ]
        return (*named, *(by_class(model.classes) if self.case.by_class else ()))

    def _columns(self, model: Forest | RuleList) -> tuple[str, ...]:
        """Return the names of the model's input columns, or their numbers where nothing names them."""
        if self.data is not None:
            return self.data.columns
        names = model.columns if isinstance(model, RuleList) else model.feature_names
        if names is not None and model.n_features is not None:
            return names
        if model.n_features is None:
            raise DataError("the rule list does not tell all columns: add --draft-data")
        return tuple(map(str, range(model.n_features)))

    def audit(self, model: Forest | RuleList, domain: Domain) -> None:
        """Say how much of the uncertainty about the training rows the model takes away; whatever is wrong is kept."""
        box = self._search_box(AUDIT_SHARE) if self.case.attack else self.timebox
        if Adversary.parse(self.case.adversary).has_side_knowledge:
            self.not_audited = "what a model tells besides an adversary's side knowledge is not covered yet"
            return
        try:
            with self.clock("entropy"):
                inside = None if self.data is None else self.inside
                if isinstance(model, RuleList):
                    self.entropy = audit_rules(model, domain, self.data, box, inside)
                else:
                    self.entropy = audit_forest(model, domain, self.data, box, inside)
                self.entropy = replace(self.entropy, reasons=(*self.reasons, *self.entropy.reasons))
                if not self.case.attack and isinstance(model, Forest):
                    self._bound_together(model, domain, box)
        except DraftError as error:
            self.not_audited = str(error)
        self._note_clock(box, "entropy audit")

    @cached_property
    def inside(self) -> NDArray[np.bool_] | None:
        """Which training rows are inliers; None where the time is out."""
        return None if self.data is None else inliers(self.data.rows, self.timebox)

    def _bound_together(self, forest: Forest, domain: Domain, box: TimeBox) -> None:
        """Narrow what all trees together leave, where no attack will do so."""
        if forest.n_trees == 1 or is_numeric(domain):
            return
        try:
            groups = exchangeable_groups(forest, self.case.adversary)
            if groups.noise == "exact":
                self._narrow(build(forest, domain, groups, box))
        except (NotCoveredError, OutOfTimeError, InfeasibleError):
            return  # the bounds by single trees stand

    def _narrow(
        self, problem: Problem, reconstruction: Reconstruction | None = None, numbered: Enumerated | None = None
    ) -> None:
        """Narrow what all trees together leave, where the problem says all that they tell."""
        entropy = self.entropy
        told = problem.complete and problem.groups.noise == "exact" and numbered is None
        if entropy is not None and entropy.examined > 1 and not entropy.reasons and told and self.knowledge is None:
            self.entropy = together(entropy, problem, reconstruction)

    def _domain(self, model: Forest | RuleList) -> Domain:
        """Return what a row can be, and turn what is not written as indicators into such."""
        if self.case.domain is None:
            if self.data is None:
                raise DataError("neither training data nor a domain is given: add --draft-data")
            self._write_indicators(Indicators.of(self.data.rows), self.data)
            return self._inferred(self.data)
        declared, sha256 = declared_domain(self.case.domain, self._columns(model))
        if self.data is None:
            return declared
        coded = {one.columns[0] for one in declared.attributes if one.kind in ("ordinal", "numeric")}
        as_declared = Indicators.of(self.data.rows, spared=coded)
        excludes = declared.outside(as_declared.rows(self.data.rows).astype(np.float64))
        if excludes or sha256 == self.case.domain_sha256:
            self._write_indicators(as_declared, self.data)
            return declared
        self._write_indicators(Indicators.of(self.data.rows), self.data)
        found = narrowed(declared, self._inferred(self.data), self.data.rows)
        if found.widened:
            self.notes.append(
                f"the domain file allows values that no training row has in {len(found.widened)} attributes "
                f"({one_line(', '.join(found.widened), 200)}): judged for an adversary who knows which occur; a policy "
                "that names the file by its hash (domain_sha256) takes it as it stands"
            )
        return found.domain

    def _write_indicators(self, indicators: Indicators, data: TrainingData) -> None:
        """Write columns of two values as zeros and ones from here on."""
        rows = indicators.rows(data.rows)
        rows.flags.writeable = False
        self.indicators, self.data = indicators, replace(data, rows=rows)

    def rebuilt_as_written(self) -> Reconstruction | None:
        """Return what was rebuilt in the values that the forest sees."""
        rebuilt = self.reconstruction
        if rebuilt is None or rebuilt.rows is None:
            return rebuilt
        tables = (rebuilt.rows, rebuilt.consistent, rebuilt.proved, rebuilt.provable)
        written = (None if table is None else self.indicators.written(table) for table in tables)
        rows, consistent, proved, provable = written
        return replace(rebuilt, rows=rows, consistent=consistent, proved=proved, provable=provable)

    def _inferred(self, data: TrainingData) -> Domain:
        """Return what the training data and, of a pipeline, its transformers tell of what a row can be."""
        encoder = self.artifact.encoder if self.artifact is not None else None
        if encoder is None:
            return infer(data.columns, data.rows.astype(np.float64))
        self.granted = granted_by(encoder)
        how = "were encoded by the transformers in the file"
        if not data.by_encoder:
            how = "were given as the forest's own columns, encoded already"
        self.notes.append(f"the training data {how}")
        return domain_from(encoder, data.columns, data.rows)

    def run(self, forest: Forest, domain: Domain) -> None:
        """Attack and evaluate what was read; each stage may raise."""
        if all(attribute.low == attribute.high for attribute in domain.attributes):
            raise NotCoveredError(
                "all training rows are equal, so the domain that is inferred from them tells all that there is to "
                "rebuild, and the file nothing more: name a domain file by its hash in the policy (domain_sha256)"
            )
        if forest.is_private:
            self._run_private(forest, domain)
        elif is_numeric(domain):
            self._run_numeric(forest, domain)
        else:
            self._run_counted(forest, domain)

    def _run_private(self, forest: Forest, domain: Domain) -> None:
        """Attack a forest that a mechanism of differential privacy has released."""
        search = Search(self.attack_box, self.case.seed, self.case.workers, self.clock)
        with self.clock("build"):
            n_rows = None if self.data is None else self.data.n_rows
            asked = released(forest, domain, self.case.adversary, self.knowledge, n_rows)
        self.granted += asked.granted
        self.notes += asked.notes
        self.reasons += asked.reasons
        reconstruction = self._kept(asked.rebuild(search))
        if self.data is None:
            return
        with self.clock("identify"):
            identity = asked.identity(self.data, reconstruction)
        self._note_identity(identity)
        if reconstruction.rows is None:
            raise OutOfTimeError
        limit, remedy = self._limit()
        if asked.truth_is_likelier(self.data, reconstruction):
            self.status = "not converged"
            self.reasons.append(
                f"the attack did not converge in {limit}: the training data explain the file better than all that it "
                f"drew, so its error is only an upper bound; {remedy}"
            )
        elif reconstruction.cut_short:
            self.reasons.append(
                f"the attack did not converge in {limit}: it was cut short or still found likelier datasets, so its "
                f"error is only an upper bound; {remedy}"
            )
        self._evaluate(reconstruction, self.data, domain, identity)

    def _run_counted(self, forest: Forest, domain: Domain, numbered: Enumerated | None = None) -> None:
        """Attack a forest whose counts are those of its rows or draws; of numeric values, their numbered states."""
        case = self.case
        with self.clock("build"):
            groups = exchangeable_groups(forest, case.adversary, self.knowledge)
            search = Search(self.attack_box, case.seed, case.workers, self.clock)
            if numbered is None:
                problem = build_any(forest, domain, groups, search)
            else:
                problem = build_any(numbered.forest, numbered.domain, numbered.groups(groups), search)
        if numbered is None:
            reconstruction = self._kept(self._attack(forest, problem, search))
        else:
            reconstruction = self._kept(numbered.decoded(reconstruct(problem, search), groups))
        if self.data is None:
            return
        identity = self._identified(forest, problem, self.data, reconstruction, is_numeric(domain))
        self._note_identity(identity)
        self._narrow(problem, reconstruction, numbered)
        if forest.unused is not None:
            self.reasons.append(forest.unused)
        if reconstruction.rows is None:
            raise OutOfTimeError
        limit, remedy = self._limit()
        if reconstruction.status == "likeliest" and self._truth_is_likelier(forest, problem):
            self.status = "not converged"
            self.reasons.append(
                f"the attack did not converge in {limit}: the training data are likelier than its reconstruction, so "
                f"its error is only an upper bound; {remedy}"
            )
        if reconstruction.status == "not converged":
            missed = f"{reconstruction.residual:,}"
            lacks = f"its rows miss the forest's counts by {missed} (the right rows miss none)"
            if groups.noise == "multinomial":
                lacks = f"the forest's leaves lack {missed} of its rows (of the right rows none)"
            self.reasons.append(
                f"the attack did not converge in {limit}: {lacks}, so its error is only an upper bound; {remedy}"
            )
        elif reconstruction.cut_short:
            self.reasons.append(
                f"the attack was cut short after {limit}, so its error is only an upper bound; {remedy}"
            )
        n_rebuilt = len(reconstruction.rows)
        if n_rebuilt == len(self.data.rows if self.knowledge is None else self.knowledge.unknown):
            self._evaluate(reconstruction, self.data, domain, identity)

    def _identified(
        self, forest: Forest, problem: Problem, data: TrainingData, reconstruction: Reconstruction, numeric: bool
    ) -> Identity:
        """Say whether the data trained the forest: by its counts and, with numeric columns, by its thresholds."""
        case = self.case
        with self.clock("identify"):
            box = self._search_box(IDENTITY_SHARE)
            if self.knowledge is None:
                search = Search(box, case.seed, case.workers)
                identity = identify(forest, problem, data, reconstruction, search)
            else:
                identity = identify_granted(forest, self._everyone(forest, data), problem.groups.noise)
            if numeric and problem.groups.noise == "exact":
                identity = identify_values(identity, forest, self._everyone(forest, data))
            self._note_clock(box, "identity check")
        return identity

    def _everyone(self, forest: Forest, data: TrainingData) -> KnownRows:
        """Return all rows, with how often each tree saw them as far as the adversary knows."""
        return KnownRows(data.rows, data.labels, known_occurrences(forest, self.case.adversary))

    def _run_numeric(self, forest: Forest, domain: Domain) -> None:
        """Attack a forest with columns whose values are not enumerated."""
        case = self.case
        if self.knowledge is not None and self.knowledge.informed:
            raise NotCoveredError(
                "an informed adversary needs a domain that can be enumerated; numeric columns: not yet"
            )
        numbered = enumerate_states(forest, domain)
        if numbered is not None:
            self._run_counted(forest, domain, numbered)
            return
        self.attack_box = self._search_box(NUMERIC_SHARE if self._is_small() else ATTACK_SHARE)
        search = Search(self.attack_box, case.seed, case.workers, self.clock)
        with self.clock("build"):
            groups = exchangeable_groups(forest, case.adversary, self.knowledge)
            problem = build_numeric(forest, domain, groups, self.attack_box)
        reconstruction = self._kept(confirmed(rebuild_numeric(problem, search), forest, problem.times, groups.known))
        if self.data is None:
            return
        with self.clock("identify"):
            everyone = self._everyone(forest, self.data)
            identity = identify_in_order(forest, everyone, known_by_row=self.knowledge is not None)
            identity = identify_values(identity, forest, everyone, problem.extremes)
        self._note_identity(identity)
        if forest.unused is not None and not problem.rows_identified:
            self.reasons.append(forest.unused)
        extremes = problem.extremes
        if extremes is not None and extremes.decoded < MOSTLY_DECODED * extremes.decodable:
            self.reasons.append(
                f"{extremes.decoded:,} of {extremes.decodable:,} drawn thresholds were decoded: whoever follows the "
                "generator further gets closer"
            )
        limit, remedy = self._limit()
        if reconstruction.status == "not converged":
            self.reasons.append(
                f"the attack did not converge in {limit}: its rows miss {reconstruction.residual:,} of the forest's "
                f"counts and thresholds (the right rows miss none), so its error is only an upper bound; {remedy}"
            )
        elif reconstruction.cut_short:
            self.reasons.append(
                f"the attack was cut short after {limit}: there was more to find out, so its error is only an upper "
                f"bound; {remedy}"
            )
        self._evaluate(reconstruction, self.data, domain, identity)

    def _is_small(self) -> bool:
        """Whether evaluation needs little of the time box."""
        return self.data is None or self.data.n_rows <= SMALL

    def _kept(self, reconstruction: Reconstruction) -> Reconstruction:
        """Keep what an attack rebuilt, and note what is known by that alone."""
        self.reconstruction = reconstruction
        self.attack_ended = self.attack_box.elapsed, self.attack_box.over
        self._note_clock(self.attack_box, "attack")
        self.status = reconstruction.status
        if reconstruction.status == "infeasible":
            raise InfeasibleError
        if self.data is None:
            self.reasons.append("no training data are given to compare with: add --draft-data")
        return reconstruction

    def _evaluate(self, reconstruction: Reconstruction, data: TrainingData, domain: Domain, identity: Identity) -> None:
        """Measure what was rebuilt, and note what the figures cannot tell."""
        with self.clock("evaluate"):
            self.findings = evaluate(
                reconstruction,
                data,
                domain,
                identity,
                seed=self.case.seed,
                timebox=self.timebox,
                knowledge=self.knowledge,
                holdout=None if self.holdout is None else self.holdout.rows,
                raw=self._raw_columns(data, domain),
                inside=self.inside,
                slices=self.slices,
                n_classes=self._n_classes(),
            )
            self._note_clock(self.timebox, "evaluation")
        if self.holdout is not None:
            informed = self.knowledge is not None and self.knowledge.informed
            self.notes += caveats(self.findings.significance, self.holdout.rows, domain, informed)
        self._note_few_valued(reconstruction, data, domain)
        wrong = contradiction(reconstruction, data, domain, identity, self.knowledge)
        if wrong is not None:
            self.reasons.append(wrong)

    def _note_few_valued(self, reconstruction: Reconstruction, data: TrainingData, domain: Domain) -> None:
        """Note that the attack guesses where no value of a column can be."""
        if reconstruction.rows is None:
            return
        if self.knowledge is None:
            few = few_valued(data.rows, reconstruction.rows, domain)
        else:
            truth = data.rows[self.knowledge.unknown]
            few = few_valued(truth, reconstruction.rows, domain, self.knowledge.attributes)
        if few:
            self.reasons.append(
                "the attack did not find out that some columns hold few different values, and guesses between them, so "
                f"its error is only an upper bound: encode {one_line(', '.join(few))} as whole numbers"
            )

    def _n_classes(self) -> int | None:
        """Return how many classes the forest tells apart; None for a regressor."""
        model = None if self.artifact is None else self.artifact.model
        return model.n_classes if isinstance(model, Forest) and model.classes is not None else None

    def _raw_columns(self, data: TrainingData, domain: Domain) -> RawColumns | None:
        """Return the raw columns behind training data that were given raw."""
        encoder = self.artifact.encoder if self.artifact is not None else None
        return raw_columns(encoder, domain, self.indicators) if encoder is not None and data.by_encoder else None

    def _truth_is_likelier(self, forest: Forest, problem: Problem) -> bool:
        if self.data is None or self.reconstruction is None:
            return False
        unknown = slice(None) if self.knowledge is None else self.knowledge.unknown
        return truth_is_likelier(
            forest, problem, self.data.rows[unknown], self.data.labels[unknown], self.reconstruction
        )

    def _granted(self, model: Forest | RuleList, domain: Domain) -> Knowledge | None:
        """Return the adversary's side knowledge: the one way by which training data enter the attack."""
        adversary = Adversary.parse(self.case.adversary)
        if isinstance(model, RuleList):
            return None
        if self.data is not None:
            return grant(adversary, self.data, domain, model, self.case.seed)
        if adversary.has_side_knowledge:
            raise DataError("no training data are given to take the adversary's side knowledge from: add --draft-data")
        return None

    def _attack(self, forest: Forest, problem: Problem, search: Search) -> Reconstruction:
        if self.knowledge is None or not self.knowledge.informed:
            seeds_known = Adversary.parse(self.case.adversary).name == "artifact"
            evidence = evidence_by_refitting(forest, problem.groups) if seeds_known else None
            return reconstruct(problem, search, evidence, Choices.of(forest, problem, seeds_known=seeds_known))
        if not problem.complete:
            raise NotCoveredError("an informed adversary needs a domain that can be enumerated; larger ones: not yet")
        if problem.groups.noise != "exact":
            raise NotCoveredError("an informed adversary that does not know the occurrences is not covered yet")
        everyone = known_rows(forest, self.case.adversary, self.knowledge)
        likelihood = exact_likelihood(forest, problem, everyone, self.knowledge.unknown)
        rebuilt = rebuild_alone(problem, everyone, self.knowledge.unknown, likelihood, search)
        return replace(rebuilt, seen=seen_rows(problem))

    def _search_box(self, share: float) -> TimeBox:
        """Return the box of one search: a share of the seconds, and the whole effort for itself."""
        effort = math.inf if self.case.effort is None else self.case.effort
        return TimeBox(self.case.seconds * share, effort, start=self.timebox.start)

    def _limit(self) -> tuple[str, str]:
        """Say what the attack had spent when it ended, and what may get it further."""
        if not (self.attack_ended or (0.0, self.attack_box.over))[1]:
            option = "time with --draft-budget" if self.case.effort is None else "with --draft-effort"
            advice = f"more {option} may not help: try --draft-seed, too"
            return f"{self._spent()} (the last of its searches had ended)", advice
        if self.case.effort is not None and not self.attack_box.clock_ended:
            return f"{self.case.effort:g} units of effort", "give it more with --draft-effort"
        share = f"{self.attack_box.seconds:g} s, its share of the time box of {self.case.seconds:g} s"
        return share, "give it more with --draft-budget"

    def _spent(self) -> str:
        """Say what an attack that ended by itself has used; no seconds where they should differ from run to run."""
        if self.case.effort is not None:
            return f"{self.attack_box.meter.spent:.3g} of {self.case.effort:g} units of effort"
        seconds = self.attack_box.elapsed if self.attack_ended is None else self.attack_ended[0]
        share = f"{self.attack_box.seconds:g} s, its share of the time box of {self.case.seconds:g} s"
        return f"{seconds:.1f} s of {share}"

    def out_of_time(self) -> str:
        """Say what ended before there was a dataset."""
        if not self.attack_box.effort_left:
            return f"the effort of {self.case.effort:g} units was spent before there was a dataset"
        self._note_clock(self.attack_box, "attack")
        if (self.attack_ended or (0.0, self.attack_box.over))[1]:
            share = f"{self.attack_box.seconds:g} s, the attack's share of the time box of {self.case.seconds:g} s,"
            return f"{share} ended before there was a dataset: give it more with --draft-budget"
        return (
            f"the attack ended without a dataset after {self._spent()}: what was left is too short for its next step, "
            "or nothing was left to try: give it more with --draft-budget"
        )

    def _note_clock(self, timebox: TimeBox, what: str) -> None:
        """Note that a run that should depend on its effort alone depended on the clock."""
        if self.case.effort is None or not timebox.clock_ended:
            return
        reason = (
            f"the wall clock ended the {what}, not the effort of {self.case.effort:g} units, so another run can "
            "differ: give it more time with --draft-budget, or less effort with --draft-effort"
        )
        if reason not in self.reasons:
            self.reasons.append(reason)

    def _note_privacy(self) -> None:
        """Warn of a declared privacy that the file itself contradicts."""
        facts = self._artifact_facts()
        self.notes += [f"declares {facts.claim}, but {phrase}" for phrase in facts.contradictions]

    def _require_holdout(self, data: TrainingData, holdout: Holdout) -> None:
        """Refuse a holdout that is too small to draw from, before any work."""
        least = rows_drawn(data.n_rows if self.knowledge is None else len(self.knowledge.unknown))
        if len(holdout.rows) < least:
            raise DataError(
                f"holdout {one_line(holdout.source)}: {len(holdout.rows):,} rows, and each draw takes {least:,}; give "
                "at least twice as many rows, better ten times, or leave out --draft-holdout"
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
        if identity.status == "order differs" or not identity.to_the_digit:
            self.notes.append(identity.why)
        elif identity.status != "confirmed":
            self.reasons.append(identity.why)

    def nothing_fits(self) -> str:
        """Say what it means that no dataset of the domain explains the file."""
        nothing = "no dataset that the domain allows explains its counts"
        if self.data is not None and not self.reasons:  # else the domain excludes these rows
            stranger = f"this forest was not trained on these rows: {nothing}"
            if self.knowledge is None:
                return stranger
            return f"{stranger} beside what the adversary knows of them; {OR_IN_ANOTHER_ORDER}"
        return f"{nothing}: correct the domain"

    def result(self) -> Examination:
        """Return all that was found out."""
        rebuilt = self.reconstruction
        return Examination(
            case=self.case,
            artifact=self._artifact_facts(),
            data=self._data_facts(),
            domain=self._domain_facts(),
            solver_status=self.status,
            residual=rebuilt.residual if rebuilt else None,
            reproduced_trees=rebuilt.reproduced_trees if rebuilt else None,
            statistics=self._statistics(),
            findings=self.findings,
            reasons=tuple(self.reasons),
            notes=tuple(self.notes),
            seconds=self.timebox.elapsed,
            versions=versions_here(),
            certificate=rebuilt.certificate if rebuilt else None,
            holdout=self._holdout_facts(),
            entropy=self.entropy,
            not_audited=self.not_audited,
        )

    def _statistics(self) -> dict[str, float]:
        statistics = dict(self.reconstruction.statistics) if self.reconstruction else {}
        if self.case.effort is not None:
            statistics["effort spent"] = self.attack_box.meter.spent
        return statistics

    def _artifact_facts(self) -> ArtifactFacts:
        artifact = self.artifact
        if artifact is None:
            return ArtifactFacts(self.case.artifact, self.artifact_sha256)
        if isinstance(artifact.model, RuleList):
            return ArtifactFacts(
                self.case.artifact,
                artifact.sha256,
                artifact.size,
                artifact.holds,
                not_read=artifact.not_read,
                kind=artifact.model.kind,
                published=published(artifact),
                contents=self.contents,
                structure=self.structure,
                unjudged=artifact.unjudged.why,
            )
        forest = artifact.model
        return ArtifactFacts(
            self.case.artifact,
            artifact.sha256,
            artifact.size,
            artifact.holds,
            forest.sklearn_version,
            forest.n_trees,
            forest.bootstrap,
            artifact.not_read,
            forest.privacy,
            forest.kind,
            published(artifact),
            self.contents,
            self.structure,
            artifact.unjudged.why,
        )

    def _domain_facts(self) -> DomainFacts | None:
        if self.domain is None:
            return None
        side_knowledge = self.knowledge.granted if self.knowledge is not None else ()
        return DomainFacts(self.domain.source, (*self.domain.granted, *self.granted, *side_knowledge))

    def _data_facts(self) -> DataFacts:
        data = self.data
        if data is None:
            return DataFacts(self.case.data)
        return DataFacts(data.source, data.sha256, data.n_rows, data.n_columns, data.unused)

    def _holdout_facts(self) -> DataFacts | None:
        holdout = self.holdout
        if holdout is None:
            return None
        n_rows, n_columns = holdout.rows.shape
        return DataFacts(holdout.source, holdout.sha256, n_rows, n_columns, holdout.unused)


def too_little_memory(cap: int | None) -> str:
    """Say that there is not enough memory, and which cap there is."""
    if cap is None:
        return "this machine has too little memory for this forest and domain"
    return f"the memory cap of {cap:,} MB is too little for this forest and domain: raise it with --draft-memory"


def _place_of(error: Exception) -> str:
    """Say where an unexpected error arose, without its text."""
    trace, place = error.__traceback__, ""
    while trace is not None:
        path = Path(trace.tb_frame.f_code.co_filename)
        if "pytest_draft" in path.parts:
            place = f" in {path.name}, line {trace.tb_lineno}"
        trace = trace.tb_next
    return f"internal error: {type(error).__name__}{place}; please report it"
