"""Everything that an examination starts from: reads a `Case` and returns model, data, domain and what is granted.

Each file is read once, in `open_files`; what an adversary knows and what a row can be is settled in `complete`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pytest_draft.arrays import IntArray, Rows
from pytest_draft.artifact import Artifact, Encoder, read
from pytest_draft.artifact.forest import Forest, Tree
from pytest_draft.artifact.forest.observations import Answers, BoostedSums
from pytest_draft.artifact.model import as_answered, published
from pytest_draft.artifact.rules.rule_list import RuleList
from pytest_draft.attack.boosted.staged import with_amounts
from pytest_draft.attack.seed_search import Sought, seek
from pytest_draft.data import (
    Holdout,
    Indicators,
    RawColumns,
    Repeats,
    Table,
    TrainingData,
    as_table,
    holdout_of,
    raw_columns,
    read_table,
    table_of,
    whole_data,
)
from pytest_draft.data.individuals import inliers, record_share
from pytest_draft.domain import Domain
from pytest_draft.errors import (
    ArtifactError,
    DataError,
    LabelError,
    NotCoveredError,
    PolicyError,
    UsageError,
    listed,
    nearest_of,
    one_line,
)
from pytest_draft.evaluate.significance import rows_drawn
from pytest_draft.evaluate.stripped_identity import with_draws
from pytest_draft.examine.limits import SEEDS_SHARE, SMALL
from pytest_draft.examine.record import FlowRecord
from pytest_draft.examine.settled_domain import settle
from pytest_draft.facts.adversary import Adversary
from pytest_draft.facts.case import Case, Returned
from pytest_draft.facts.files import ArtifactFacts, Capacity, DataFacts, DomainFacts
from pytest_draft.facts.published import Published
from pytest_draft.facts.reconstruction import Reconstruction
from pytest_draft.facts.slices import Slice, by_class
from pytest_draft.finding import Given, rows_of
from pytest_draft.knowledge import Knowledge, grant
from pytest_draft.timebox import TimeBox


@dataclass(frozen=True, eq=False, repr=False)
class Opened:
    """A model file and training data as they are written. Its repr shows no row."""

    artifact: Artifact
    """As its adversary has it."""
    in_file: Artifact
    """As it is written."""
    given: object
    """The training data as they were given; None where there are none."""
    all_rows: TrainingData | None
    """The training data as they were given, in the model's columns."""
    data: TrainingData | None
    """The rows of them that the model was trained on, with its own labels."""
    refused: Exception | None = None
    """Why there is no more than that."""


@dataclass(frozen=True, eq=False, repr=False)
class Inputs:
    """What an attack and its evaluation start from. Its repr shows no row."""

    case: Case
    model: Forest | RuleList
    """With indicators in place of columns of two values."""
    domain: Domain
    data: TrainingData | None
    """In the domain's columns, with indicators too."""
    indicators: Indicators
    """How to write rows as the model sees them."""
    repeats: Repeats | None
    """How to write columns that are left out because others determine them."""
    encoder: Encoder | None
    """Of a pipeline."""
    granted: tuple[str, ...]
    """What the file's transformers reveal to the adversary, in words."""
    slices: tuple[Slice, ...]
    sensitive: dict[str, tuple[int, ...]]
    """The columns that each sensitive one of the policy has become; none of the label."""
    knowledge: Knowledge | None
    """The adversary's side knowledge: the one way by which training data enter the attack."""
    holdout: Holdout | None
    timebox: TimeBox
    """Of the whole examination."""
    apart: IntArray | None = None
    """Shape (n_apart,). Of several files, the people who are not in all of them and are judged apart; None for all."""

    def __post_init__(self) -> None:
        if self.data is None and (self.knowledge is not None or self.holdout is not None):
            raise ValueError("side knowledge and a holdout need training data")
        if self.data is not None and self.data.rows.shape[1] != self.domain.n_columns:
            raise ValueError(f"{self.data.rows.shape[1]} columns, and {self.domain.n_columns} in the domain")

    @property
    def forest(self) -> Forest:
        """The model, of which it is known that it is no rule list."""
        if isinstance(self.model, RuleList):
            raise TypeError("a rule list is not attacked")
        return self.model

    @property
    def n_rows(self) -> int | None:
        """Number of training rows, where they are given."""
        return None if self.data is None else self.data.n_rows

    @property
    def is_small(self) -> bool:
        """Whether evaluation needs little of the time box."""
        return self.data is None or self.data.n_rows <= SMALL

    @property
    def n_classes(self) -> int | None:
        """How many classes the forest tells apart; None for a regressor."""
        return self.model.n_classes if isinstance(self.model, Forest) and self.model.classes is not None else None

    @cached_property
    def inside(self) -> NDArray[np.bool_] | None:
        """Which training rows are inliers; None where the time is out."""
        return None if self.data is None else inliers(self.data.rows, self.timebox)

    def raw_columns(self) -> RawColumns | None:
        """Return the raw columns behind training data that were given raw."""
        if self.encoder is None or self.data is None or not self.data.by_encoder:
            return None
        return raw_columns(self.encoder, self.domain, self.indicators)

    def domain_facts(self, granted: tuple[str, ...] = ()) -> DomainFacts:
        """Return what a report says of the domain, and of what is granted besides."""
        side_knowledge = self.knowledge.granted if self.knowledge is not None else ()
        by_domain = self.domain.granting(coarse=self.case.coarse_bounds)
        everything = (*by_domain, *self.granted, *granted, *side_knowledge)
        return DomainFacts(self.domain.source, everything)

    def written(self, rebuilt: Reconstruction | None) -> Reconstruction | None:
        """Return what was rebuilt in the values that the forest sees."""
        if rebuilt is None or rebuilt.rows is None:
            return rebuilt
        tables = (rebuilt.rows, rebuilt.consistent, rebuilt.proved, rebuilt.provable)
        rows, consistent, proved, provable = (None if table is None else self._written(table) for table in tables)
        return replace(rebuilt, rows=rows, consistent=consistent, proved=proved, provable=provable)

    def _written(self, rows: Rows) -> Rows:
        return self.indicators.written(rows if self.repeats is None else self.repeats.written(rows))


def open_files(case: Case, given: object, record: FlowRecord, *, search: bool = True) -> Opened:
    """Read the model file and the training data.

    Parameters
    ----------
    given : object
        Training data in memory, in place of `Case.data`; None where there are none.
    search : bool
        Whether to look for the training rows in a raw table.

    Raises
    ------
    ArtifactError
        Where the model file cannot be read. Whatever is wrong with the data is in `Opened.refused`.
    """
    try:
        artifact = read(case.artifact, place=case.place)
    except ArtifactError as error:
        facts = ArtifactFacts(case.artifact, error.sha256, place=case.place, places=error.places)
        record.facts = replace(record.facts, artifact=facts)
        raise
    in_file, adversary = artifact, Adversary.parse(case.adversary)
    if adversary.served:
        artifact = as_answered(artifact, labels=adversary.name != "served")
        record.note(
            "the adversary may only ask the model: *the file* is here a perfect copy of it, made of its answers"
            if artifact.beyond is None
            else f"the adversary may only ask the model, which is judged by {artifact.beyond}: so it gets no further"
        )
    artifact, sought = _with_seeds(artifact, case, record)
    facts = _artifact_facts(case, artifact, sought)
    record.facts = replace(record.facts, artifact=facts)
    record.note(*(f"declares {facts.claim}, but {phrase}" for phrase in facts.contradictions))
    if facts.unjudged is not None:
        record.doubt(facts.unjudged)
    if artifact.released is not None:
        record.note(artifact.released)
    if artifact.given:
        kept = f"{listed(artifact.given)}: given after fit, and kept beside its copy"
        record.note(f"{kept}: give sklearn.base.clone() of it")
    if artifact.encoder is not None and artifact.encoder.unused is not None:
        record.doubt(artifact.encoder.unused)
    all_rows = data = None
    try:
        given = _given(case, given)
        if artifact.not_covered is not None:
            raise NotCoveredError(artifact.not_covered)
        if given is not None:
            box = record.limits.search() if search else None
            found = _rows(in_file if adversary.served else artifact, case, given, box, record)
            given, all_rows, data = found.table, found.data, found.data
            if artifact.origin.parts:
                all_rows = whole_data(given, artifact.model, case.target, artifact.encoder, artifact.origin)
            if found.note is not None and box is not None:
                record.note(found.note)
                record.limits.note_clock(box, "search for the training rows")
            record.note(*artifact.origin.in_words, *data.notes)
            facts_of_data = DataFacts(data.source, data.sha256, data.n_rows, data.n_columns, data.unused)
            record.facts = replace(record.facts, data=facts_of_data)
    except Exception as error:  # what stands in the file stands there, whatever becomes of the data
        return Opened(artifact, in_file, given, all_rows, None, error)
    return Opened(artifact, in_file, given, all_rows, data)


def _given(case: Case, given: object) -> object:
    """Return the training data as they were given, without the column that says whose row is whose."""
    if given is None and case.data is not None:
        given = read_table(case.data)
    if given is None or case.identifier is None:
        return given
    table = as_table(given.value, given.source) if isinstance(given, Returned) else as_table(given)
    return table.identified(case.identifier)


def _rows(artifact: Artifact, case: Case, given: object, box: TimeBox | None, record: FlowRecord) -> Given:
    """Return the rows that a model was trained on: those that the case says, else those that are found."""
    table, notes = table_of(case, given, artifact.model, artifact.encoder)
    can_be_others = case.split is not None and box is not None
    try:
        found = rows_of(artifact, table, case.target, box, case.seed, case.found_rows_bits, anyway=case.full)
        if not can_be_others or found.data.n_rows >= (getattr(artifact.model, "n_samples", None) or 0):
            record.note(*notes)
            return found
    except DataError:
        if not can_be_others:
            raise
    record.note("the rows that --draft-split says do not explain the file: they are looked for in the whole table")
    return _rows(artifact, replace(case, split=None), given, record.limits.search(), record)


def unusable_labels(case: Case) -> str | None:
    """Return one line on a split or labels that cannot be used as given; None where they can, or nothing can be said.

    These are mistakes on the command line, not answers about a model. Whatever else is wrong is left to the judgement.

    Parameters
    ----------
    case : Case
        With training data in a file.
    """
    try:
        opened = open_files(case, None, FlowRecord(case), search=False)
    except Exception:  # the judgement reports it
        return None
    return str(opened.refused) if isinstance(opened.refused, LabelError | UsageError) else None


def complete(opened: Opened, case: Case, record: FlowRecord) -> Inputs:
    """Read the holdout and settle the domain, the slices and the side knowledge.

    Raises
    ------
    DraftError
        Where something of it cannot be read, or is not covered.
    """
    if opened.refused is not None:
        raise opened.refused
    artifact, data = opened.artifact, opened.data
    holdout = None
    if case.holdout is not None and data is not None:
        classes = artifact.model.classes
        if classes is not None and not artifact.origin.keeps_labels:  # its labels are made of the file's
            classes = ()
        holdout = holdout_of(read_table(case.holdout), data, case.target, artifact.encoder, classes)
    settled = settle(artifact, data, case, record)
    domain, indicators, data = settled.domain, settled.indicators, settled.data
    model, granted = artifact.model, settled.granted
    if isinstance(model, RuleList):
        model = model.resolved(domain.columns)
    model = indicators.model(model)
    if isinstance(model, Forest) and settled.repeats is not None:
        model = settled.repeats.model(model)
    if isinstance(model, Forest) and isinstance(model.observation, Answers) and data is not None:
        said, model = model, with_draws(model, data.rows, data.labels, case.seed)
        if not said.draws.stored:
            granted += ("whether each tree saw draws of the rows, or all of them",)
        elif said.draws.drawn != model.draws.drawn:
            record.note(
                "its file says that rows were drawn for each tree (bootstrap), but its leaves answer as all rows do, "
                "which draws hardly would: it is judged as a forest whose trees saw all rows"
            )
    if isinstance(model, Forest) and isinstance(model.observation, BoostedSums) and data is not None:
        model = with_amounts(model, np.ascontiguousarray(data.rows.T.astype(np.float64)), data.labels)
    by_domain = domain.granting(coarse=case.coarse_bounds)
    record.facts = replace(record.facts, domain=DomainFacts(domain.source, (*by_domain, *granted)))
    if data is not None:
        told = replace(record.facts.data, record_share=record_share(data.rows, domain))
        record.facts = replace(record.facts, data=told)
        _doubt_outside(domain, data, record)
    slices = _sliced(case, indicators, model, domain.columns)
    knowledge = _granted(case, model, data, domain)
    if holdout is not None:
        rows = indicators.rows(holdout.rows)
        holdout = replace(holdout, rows=rows if settled.repeats is None else settled.repeats.rows(rows))
    inputs = Inputs(
        case=case,
        model=model,
        domain=domain,
        data=data,
        indicators=indicators,
        repeats=settled.repeats,
        encoder=artifact.encoder,
        granted=granted,
        slices=slices,
        sensitive=_sensitive(opened, case, domain),
        knowledge=knowledge,
        holdout=holdout,
        timebox=record.limits.total,
    )
    record.facts = replace(record.facts, domain=inputs.domain_facts())
    if holdout is not None and data is not None:
        n_rows, n_columns = holdout.rows.shape
        facts = DataFacts(holdout.source, holdout.sha256, n_rows, n_columns, holdout.unused)
        record.facts = replace(record.facts, holdout=facts)
        _require_holdout(data.n_rows if knowledge is None else len(knowledge.unknown), holdout)
    return inputs


def _sliced(
    case: Case, indicators: Indicators, model: Forest | RuleList, columns: tuple[str, ...]
) -> tuple[Slice, ...]:
    """Return the slices to be measured by themselves, all of whose columns there must be."""
    for one in case.slices:
        one.require_columns(columns)
    named = [
        replace(
            one,
            literals=tuple(indicators.literal(test, columns.index(one.columns[test.column])) for test in one.literals),
        )
        for one in case.slices
    ]
    return (*named, *(by_class(model.classes) if case.by_class else ()))


def _sensitive(opened: Opened, case: Case, domain: Domain) -> dict[str, tuple[int, ...]]:
    """Return the columns behind each name, which is a raw column's, an attribute's, a column's, or the label's."""
    known: dict[str, tuple[int, ...]] = {case.target or "y": ()}
    if isinstance(opened.given, Table) and case.target is None and opened.data is not None:
        known = dict.fromkeys({*known, *opened.given.names} - {*opened.data.unused, *opened.data.renamed}, ())
    known |= {name: domain.attributes[domain.attribute_of_column[i]].columns for i, name in enumerate(domain.columns)}
    known |= {attribute.name: attribute.columns for attribute in domain.attributes}
    if (encoder := opened.artifact.encoder) is not None:
        made = {
            one: [i for i, column in enumerate(encoder.columns) if one in column.sources] for one in encoder.sources
        }
        known |= {encoder.name(source): tuple(columns) for source, columns in made.items()}
    for name in case.sensitive:
        if name not in known:
            raise PolicyError(
                f"the policy's sensitive column {one_line(name)!r} is none that the model sees, nor its label: write "
                f"it as the table does, or leave it out{nearest_of(name, known)}"
            )
    return {name: known[name] for name in case.sensitive}


def _granted(case: Case, model: Forest | RuleList, data: TrainingData | None, domain: Domain) -> Knowledge | None:
    """Return the adversary's side knowledge."""
    adversary = Adversary.parse(case.adversary)
    if isinstance(model, RuleList):
        return None
    if data is not None:
        return grant(adversary, data, domain, model, case.seed)
    if adversary.has_side_knowledge:
        raise DataError("no training data are given to take the adversary's side knowledge from: add --draft-data")
    return None


def _require_holdout(n_unknown: int, holdout: Holdout) -> None:
    """Refuse a holdout that is too small to draw from, before any work."""
    least = rows_drawn(n_unknown)
    if len(holdout.rows) < least:
        raise DataError(
            f"holdout {one_line(holdout.source)}: {len(holdout.rows):,} rows, and each draw takes {least:,}; give "
            "at least twice as many rows, better ten times, or leave out --draft-holdout"
        )


def _doubt_outside(domain: Domain, data: TrainingData, record: FlowRecord) -> None:
    """Say so where a domain excludes training rows."""
    if outside := domain.outside(data.rows.astype(np.float64)):
        name, number = next(iter(outside.items()))
        record.doubt(
            f"the domain of {one_line(domain.source)} excludes {number:,} training rows by attribute "
            f"{one_line(name)!r}: correct the domain"
        )


def _with_seeds(artifact: Artifact, case: Case, record: FlowRecord) -> tuple[Artifact, Sought | None]:
    """Return the model with the seeds that were removed from its file, where they can be found again, and say so."""
    if isinstance(artifact.model, RuleList) or isinstance(artifact.model.observation, BoostedSums):
        return artifact, None
    box = record.limits.within(SEEDS_SHARE)
    sought = seek(artifact.model, box)
    if sought.tried:
        record.limits.note_clock(box, "search for its random_state")
    if sought.random_state is None:
        if sought.tried:
            record.note(
                f"it holds no seeds; none of {sought.tried:,} numbers that were tried was found to be its random_state"
            )
        return artifact, sought
    record.note(
        f"it holds no seeds, but its random_state can be found again from {sought.source}: "
        f"{sought.random_state} (among {sought.tried:,} numbers that were tried); train it with random_state=None"
    )
    if not sought.draws_known:
        record.doubt(
            f"its random_state was found again ({sought.random_state}), but which rows were drawn depends on more than "
            "the file tells, such as weights: whoever guesses it gets closer; train it with random_state=None"
        )
    return replace(artifact, model=sought.forest), sought


def _published(artifact: Artifact, sought: Sought | None) -> Published:
    """Return what the file publishes of draws and counts, and seeds that can be found again."""
    found = published(artifact)
    if sought is None:
        return found
    seeded = found.seeded if sought.random_state is None else sought.forest.n_trees
    return replace(found, seeded=seeded, found=sought.random_state, tried=sought.tried)


def _artifact_facts(case: Case, artifact: Artifact, sought: Sought | None) -> ArtifactFacts:
    """Return what a report says of a model file, without an audit."""
    model = artifact.model
    facts = ArtifactFacts(
        case.artifact,
        artifact.sha256,
        artifact.size,
        artifact.holds,
        not_read=artifact.not_read,
        kind=model.kind,
        published=_published(artifact, sought),
        unjudged=artifact.unjudged.why,
        place=case.place,
        places=artifact.places,
        beyond=artifact.beyond,
    )
    if isinstance(model, RuleList):
        return facts
    return replace(
        facts,
        sklearn_version=model.sklearn_version,
        n_trees=model.n_trees,
        bootstrap=model.draws.drawn,
        privacy=model.observation.privacy,
        regressor=model.classes is None,
        capacity=_capacity(model),
    )


def _capacity(forest: Forest) -> Capacity:
    """Return how much the trees of a forest can hold."""
    nodes, leaves = (sum(tree.n_nodes for tree in forest.trees), sum(len(tree.leaves) for tree in forest.trees))
    of_leaf = 1 if isinstance(forest.observation, BoostedSums) else max(1, forest.n_classes - 1)
    splits, said = 2 * (nodes - leaves), sum(tree.value.size for tree in forest.trees)
    return Capacity(nodes, leaves, max(map(_depth, forest.trees)), splits + said, splits + leaves * of_leaf)


def _depth(tree: Tree) -> int:
    """Return how many tests stand above the deepest leaf of a tree."""
    level, depth = np.zeros(1, dtype=np.int64), 0
    while len(level := level[tree.left[level] >= 0]):
        level, depth = np.concatenate([tree.left[level], tree.right[level]]), depth + 1
    return depth
