"""One judgement, end to end: a `Case` becomes an `Examination` that a policy can judge.

Read, audit, attack, identify, evaluate, all in one time box. Whatever goes wrong is a reason in the examination, never
a crash and never a pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from pytest_draft.attack.search import Search
from pytest_draft.data import TrainingData
from pytest_draft.errors import ArtifactError, DraftError, InfeasibleError, NotCoveredError, OutOfTimeError
from pytest_draft.evaluate.identity import OR_IN_ANOTHER_ORDER, unlike
from pytest_draft.examine.alternatives import SideSearches
from pytest_draft.examine.attack import Attack
from pytest_draft.examine.audit import audit, audit_refused, narrow_entropy, note_entropy
from pytest_draft.examine.evaluation import (
    EXPLAINED,
    note_findings,
    note_label_told,
    note_membership,
    note_without_dataset,
)
from pytest_draft.examine.inputs import Inputs, complete, open_files
from pytest_draft.examine.kinds import Kind, kind_of
from pytest_draft.examine.limits import IDENTITY_SHARE, too_little_memory
from pytest_draft.examine.record import FlowRecord, Stopping
from pytest_draft.examine.together import Several, each_apart, several
from pytest_draft.facts.case import Case
from pytest_draft.facts.examination import EVERY_RULE, Examination
from pytest_draft.facts.identity import Identity
from pytest_draft.facts.reconstruction import Reconstruction
from pytest_draft.facts.slices import LEAST_ROWS
from pytest_draft.progress import ProgressListener
from pytest_draft.timebox import CLOCK, TimeBox

MOST_SHOWN = 10_000
"""Values of a table, rows times columns, on which an attack shows a reader something within seconds."""


def examine(
    case: Case,
    data: object = None,
    listener: ProgressListener | None = None,
    keep: Callable[[Examination], None] | None = None,
    enough: Stopping | None = None,
) -> tuple[Examination, Reconstruction | None]:
    """Read, attack and evaluate one case, in this process.

    Where that leaves anything open, also what tells no less (`Case.basis`). A file to harden again is loaded last.

    Parameters
    ----------
    data : object, optional
        Training data in memory (`TrainingData`, a DataFrame, or ``(X, y)``), in place of `Case.data`.
    listener : callable, optional
        Gets a `Progress` at each stage.
    keep : callable, optional
        Gets what is known once all is read, and when more is: the examination as it would be if it ended there.
    enough : Stopping, optional
        Ends it as soon as this says so.

    Returns
    -------
    examination : Examination
        Aggregates only.
    reconstruction : Reconstruction or None
        The rebuilt rows as they are written, where there are some.
    """
    begun = TimeBox(case.seconds)
    shared = (case.beside or case.place is not None) and not case.by_itself
    mine = replace(case.alone, seconds=case.seconds / 2) if shared else case  # the rest is for all files together
    record = FlowRecord(mine, listener, keep and (lambda known: keep(replace(known, case=case))))
    with CLOCK.heard_by(record.clock.notify):
        found, rebuilt = _examined(partial(_read_and_audited, mine, data, record), record, enough)
        found = replace(found, case=case)
        if found.others and (enough is None or enough.decided(found) is None):
            together = _together(found, data, begun, listener, enough)
            notes = (*found.notes, *together.notes)
            found = replace(found, together=together, notes=notes, seconds=begun.elapsed)
    if case.basis is None or (enough is not None and enough.decided(found) is not None):
        return found, rebuilt
    basis, _ = examine(case.basis.alone, data, listener, None, enough)
    if case.hardened_from is not None:
        from pytest_draft.hardening.repeated import unlike

        if (wrong := unlike(case, data)) is not None:
            return replace(found, reasons=(*found.reasons, wrong)), rebuilt
    return replace(found, basis=basis), rebuilt


def _together(
    alone: Examination, data: object, begun: TimeBox, listener: ProgressListener | None, enough: Stopping | None
) -> Examination:
    """Examine all files as one, and the people who are not in all of them by themselves."""
    case = replace(alone.case.alone, beside=alone.others, seconds=max(1e-3, begun.remaining))
    record, of_set = FlowRecord(case, listener), list[Several]()
    record.facts = replace(record.facts, artifact=alone.artifact, data=alone.data)

    def read() -> Inputs:
        with record.clock("read"):
            of_set.append(several(case, data, record))
        return of_set[0].inputs

    found, _ = _examined(read, record, enough)
    if of_set and of_set[0].labels_differ:  # of each file by itself
        found = replace(found, label_told=alone.label_told, label_not_told=alone.label_not_told)
    apart, notes = dict[str, Examination](), list[str]()
    for whose, inputs in each_apart(of_set[0]) if of_set else ():
        n_rows = 0 if inputs.apart is None else len(inputs.apart)
        one = FlowRecord(replace(case, seconds=max(1e-3, begun.remaining)), listener)
        data_facts = replace(found.data, rows=n_rows)
        one.facts = replace(one.facts, artifact=alone.artifact, data=data_facts, domain=found.domain)
        predictor = None if found.label_told is None else found.label_told.predictor

        def judged(inputs: Inputs = inputs, one: FlowRecord = one, predictor: str | None = predictor) -> Inputs:
            note_label_told(inputs, one, predictor)
            SideSearches(inputs, one).look()
            raise NotCoveredError("no attack is run on these people by themselves")

        known, _ = _examined(judged, one, enough)
        apart[whose] = replace(known, case=alone.case.alone)
        who, told = "1 person is" if n_rows == 1 else f"{n_rows:,} people are", n_rows >= LEAST_ROWS
        notes.append(f"{who} {whose}{_told_of(known) if told else ''}")
    return replace(found, case=alone.case.alone, apart=apart, notes=(*found.notes, *notes))


def _told_of(facts: Examination) -> str:
    """Say what is told of people who are not in all files."""
    informed, labels = facts.informed, facts.label_told
    said = [] if informed is None else [f"to who knows everybody else, {informed.told_rows:.0%} of them are told whole"]
    if labels is not None:
        told, what = (labels.told, "label") if labels.exact is None else (labels.exact, "target exactly")
        beside = f"{told.share_without:.0%} without their rows"
        said.append(f"to who knows their features, the {what} of {told.share:.0%} ({beside})")
    return ": " * bool(said) + "; ".join(said)


def _examined(
    read: Callable[[], Inputs], record: FlowRecord, enough: Stopping | None
) -> tuple[Examination, Reconstruction | None]:
    """Read, attack and evaluate one case; see `examine`."""
    inputs, case = None, record.facts.case
    try:
        inputs = read()
        note_label_told(inputs, record)
        note_membership(inputs, record)
        if not case.attack:
            note_entropy(inputs, record)
            record.status("not asked")
        else:
            stopping = None if case.full else enough
            _judge(inputs, SideSearches(inputs, record, stopping), record, stopping)
    except NotCoveredError as error:
        record.status("not covered", str(error))
    except DraftError as error:
        record.status("refused", str(error))
    except OutOfTimeError as error:
        record.status("no solution", str(error) or record.limits.before_a_dataset())
    except InfeasibleError:
        record.status("infeasible", _nothing_fits(inputs, record))
    except MemoryError:
        record.status("out of memory", too_little_memory(case.memory))
    except Exception as error:  # a bug: its message or traceback could show rows, so only its place is said
        record.status("error", _place_of(error))
    return record.examination(), None if inputs is None else inputs.written(record.reconstruction)


def _read_and_audited(case: Case, data: object, record: FlowRecord) -> Inputs:
    """Read everything, and note first what simply stands in the file: it is known whatever becomes of the domain."""
    with record.clock("read"):
        try:
            opened = open_files(case, data, record)
        except ArtifactError as refusal:
            audit_refused(refusal, data, record)
            raise
    audit(opened, record)
    with record.clock("read"):
        inputs = complete(opened, case, record)
    record.keep_known()
    return inputs


def _judge(inputs: Inputs, side_searches: SideSearches, record: FlowRecord, enough: Stopping | None) -> None:
    """Find out what somebody gets who knows all other rows, then attack for as long as that leaves anything open."""
    kind = kind_of(inputs)
    record.limits.give_attack(kind.share)
    side_searches.look()
    decided = None if enough is None else enough.decided(record.examination())
    if decided is not None and decided != EVERY_RULE:
        record.decide(decided)
        if not inputs.is_small or (inputs.n_rows or 0) * inputs.domain.n_columns > MOST_SHOWN:
            record.settle()
            return
    note_entropy(inputs, record)
    in_sight = decided is not None or (enough is not None and enough.promises(record.examination()))
    if enough is not None and in_sight and _settled(kind, side_searches, record, enough):
        return
    attack = _prepared(kind, side_searches, record)
    with _dataset_or_none(side_searches, record):
        side_searches.begin(attack)
        _compare(attack, _rebuilt(attack, record), side_searches, record)


def _settled(kind: Kind, side_searches: SideSearches, record: FlowRecord, enough: Stopping) -> bool:
    """Attack a small table for a few seconds, and measure what holds for every attacker; return whether that will do.

    A failure is certain before that, and shown more of to a reader. A pass is in sight: it rests on all that is in the
    file, and so on an attack that was prepared.
    """
    inputs, rule = side_searches.inputs, record.facts.decided_by
    before = record.facts
    record.limits.hurry_attack()
    try:
        attack = _prepared(kind, side_searches, record)
        with _dataset_or_none(side_searches, record):
            if not inputs.is_small:
                raise OutOfTimeError
            _compare(attack, _rebuilt(attack, record), side_searches, record)
    except OutOfTimeError as error:
        record.status("no solution", str(error) or record.limits.before_a_dataset())
    if rule is None and (rule := enough.decided(record.examination())) is not None:
        record.decide(rule)
    if rule is None:
        record.facts, record.reconstruction = before, None
        record.limits.give_attack(kind.share)
        return False
    record.settle()
    return True


@contextmanager
def _dataset_or_none(side_searches: SideSearches, record: FlowRecord) -> Iterator[None]:
    """Measure the whole without a dataset where the attack finds none in time: what others get rests on none.

    Only where it is known by then that these rows explain the file.
    """
    try:
        yield
    except OutOfTimeError as error:
        data = side_searches.inputs.data
        if data is None or side_searches.known_others is None or not side_searches.explained:
            raise
        record.status("no solution")
        record.fall_short(str(error) or record.limits.before_a_dataset())
        note_without_dataset(side_searches.inputs, data, side_searches.known_others, record)


def _prepared(kind: Kind, side_searches: SideSearches, record: FlowRecord) -> Attack:
    """Build an attack; note what is known by that alone, and what it leaves unused, which no pass may rest on."""
    inputs, case = side_searches.inputs, side_searches.inputs.case
    with record.clock("build"):
        attack = kind.attack(inputs, Search(record.limits.attack, case.seed, case.workers, record.clock))
    record.facts = replace(record.facts, domain=inputs.domain_facts(attack.granted))
    record.note(*attack.notes)
    record.doubt(*attack.reasons)
    if inputs.data is not None:
        record.doubt(*attack.undecoded)
        if (
            inputs.forest.classes is None
        ):  # whatever leaves reveal of targets: other datasets hold each row in its leaves
            record.fall_short(*attack.unused)
        else:
            record.doubt(*attack.unused)
    if attack.extremes is not None and attack.extremes.decoded:  # which reveal more of each row
        side_searches.look(attack.extremes)
    return attack


def _rebuilt(attack: Attack, record: FlowRecord) -> Reconstruction:
    """Run an attack."""
    case = record.facts.case
    reconstruction = attack.rebuild(Search(record.limits.attack, case.seed, case.workers, record.clock))
    record.reconstruction = reconstruction
    record.limits.end_attack()
    record.status(reconstruction.status)
    if reconstruction.status == "infeasible":
        raise InfeasibleError
    return reconstruction


def _compare(attack: Attack, reconstruction: Reconstruction, side_searches: SideSearches, record: FlowRecord) -> None:
    """Say whose rows these are, where the attack stopped short, and how close it came."""
    inputs, data = side_searches.inputs, side_searches.inputs.data
    if data is None:
        record.doubt("no training data are given to compare with: add --draft-data")
        return
    identity = _identified(attack, reconstruction, side_searches, data, record)
    if attack.exact is not None:
        narrow_entropy(attack.exact, reconstruction, inputs, record)
    if reconstruction.rows is None:
        raise OutOfTimeError
    shortfall = attack.shortfall(data, reconstruction, record.limits)
    if shortfall.truth_is_likelier:
        record.status("not converged")
    record.fall_short(*shortfall.reasons)
    n_unknown = data.n_rows if inputs.knowledge is None else len(inputs.knowledge.unknown)
    if attack.any_size or len(reconstruction.rows) == n_unknown:
        alternatives = side_searches.alternatives(data, reconstruction)
        note_findings(inputs, data, reconstruction, identity, alternatives, side_searches.known_others, record)


def _identified(
    attack: Attack,
    reconstruction: Reconstruction,
    side_searches: SideSearches,
    data: TrainingData,
    record: FlowRecord,
) -> Identity:
    """Return whose rows these are, and say so where that is not simply confirmed."""
    with record.clock("identify"):
        try:
            identity = attack.identity(data, reconstruction, record.limits)
        except OutOfTimeError:
            why = "the time ran out before it was known whether the forest was trained on these rows"
            identity = Identity("unknown", f"{why}: {record.limits.enough_for(IDENTITY_SHARE)}")
            if side_searches.explained:  # it was found out before the attack
                identity = Identity("confirmed", EXPLAINED)
    if identity.status == "order differs" or not identity.to_the_digit:
        record.note(identity.why)
    elif identity.status != "confirmed":
        record.doubt(identity.why)
    return identity


def _nothing_fits(inputs: Inputs | None, record: FlowRecord) -> str:
    """Say what it means that no dataset of the domain explains the file."""
    nothing = "no rows with values of its domain give its counts"
    if inputs is not None and inputs.data is not None and not record.facts.reasons:  # else the domain excludes rows
        stranger = f"this forest was not trained on these rows: {unlike(inputs.forest, inputs.data.rows) or nothing}"
        if inputs.knowledge is None:
            return stranger
        return f"{stranger} beside what the adversary knows of them; {OR_IN_ANOTHER_ORDER}"
    return f"{nothing}: correct the domain"


def _place_of(error: Exception) -> str:
    """Say where an unexpected error arose, without its text."""
    trace, place = error.__traceback__, ""
    while trace is not None:
        path = Path(trace.tb_frame.f_code.co_filename)
        if "pytest_draft" in path.parts:
            place = f" in {path.name}, line {trace.tb_lineno}"
        trace = trace.tb_next
    return f"internal error: {type(error).__name__}{place}; please report it"
