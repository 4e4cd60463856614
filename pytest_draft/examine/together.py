"""Several files of some of the same people in the hands of one outsider: `Inputs` of one forest with all trees.

What counts of rows each file gives away is put together; a file that gives none away is left out, and nothing passes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from pytest_draft.ambiguity.counted import OTHER_ROWS, counted_by
from pytest_draft.arrays import IntArray, Rows
from pytest_draft.artifact import Artifact
from pytest_draft.artifact.forest import Forest
from pytest_draft.artifact.forest.observations import BoostedSums
from pytest_draft.artifact.forest.together import Part, together
from pytest_draft.attack.boosted.staged import known_amounts, with_amounts
from pytest_draft.data import Table, TrainingData
from pytest_draft.data.encoding import encode
from pytest_draft.data.united import Known, United, united
from pytest_draft.errors import ArtifactError, NotCoveredError, listed, one_line
from pytest_draft.examine.inputs import Inputs, Opened, complete, open_files
from pytest_draft.examine.record import FlowRecord
from pytest_draft.facts.case import Beside, Case
from pytest_draft.knowledge import Knowledge, known_occurrences, knows_occurrences


@dataclass(frozen=True, eq=False, repr=False)
class _File:
    """One of the files. Its repr shows no row."""

    name: str
    place: str | None
    artifact: Artifact
    known: Known
    forest: Forest
    """With exact counts."""
    times: IntArray
    """Shape (n_trees, n_rows). How often each tree saw each row."""
    searched: bool
    """Whether an attack can rest on these counts; else only somebody has them who knows all other rows."""


@dataclass(frozen=True, eq=False, repr=False)
class Several:
    """Several files as one. Its repr shows no row."""

    inputs: Inputs
    groups: dict[str, IntArray]
    """People who are not in all files, by what is said of them: positions among the rows."""
    labels_differ: bool
    """As in `United`."""


def several(case: Case, given: object, record: FlowRecord) -> Several:
    """Read all files of a case, and put them together.

    Parameters
    ----------
    given : object
        Training data in memory, in place of `Case.data`, for all files without data of their own.

    Raises
    ------
    DraftError
        Where none of them tells how many rows its leaves hold, or something of them cannot be read.
    """
    whole, files, opened = record.facts, list[_File](), None
    left = [Beside(case.artifact, case.data, case.place), *case.beside]
    for one in left:  # which grows where a file holds several models
        name = f"{Path(one.artifact).name}{f' [{one.place}]' if one.place else ''}"
        mine = replace(case, artifact=one.artifact, place=one.place, data=one.data or case.data)
        try:
            found = open_files(mine, given if one.data in (None, case.data) else None, FlowRecord(mine))
            opened = opened or found
            if all((found.artifact.sha256, one.place) != (other.artifact.sha256, other.place) for other in files):
                named = any(name == other.name for other in files)
                files.append(_file(f"{name} ({found.artifact.sha256[:8]})" if named else name, found, mine, record))
        except (ArtifactError, NotCoveredError) as refusal:
            places = refusal.places if isinstance(refusal, ArtifactError) and one.place is None else ()
            left += [replace(one, place=place) for place in places]
            if not places:
                record.doubt(f"{one_line(name)} is left out of what the files tell together: {refusal}")
    if opened is None or not files:
        raise NotCoveredError("no file tells how many rows of whom its leaves hold")
    first = files[0]
    files.sort(key=lambda one: (one.artifact.sha256, one.name))  # in whichever order they were given
    people, searched = united([one.known for one in files]), all(one.searched for one in files)
    if not searched:  # whose sums tell classes only to who knows all other rows
        no_labels = np.zeros(people.data.n_rows, dtype=np.int64)
        people = replace(people, classes=None, data=replace(people.data, labels=no_labels))
    model = together(
        [
            Part(one.forest, one.times, people.rows[k], people.columns[k], people.codes[k])
            for k, one in enumerate(files)
        ],
        people.data.n_rows,
        people.data.columns,
        people.classes,
        searched=searched,
    )
    encoder = first.artifact.encoder if people.data.columns == first.known.data.columns else None
    artifact = replace(first.artifact, model=model, encoder=encoder)
    record.facts = replace(
        record.facts,
        artifact=whole.artifact,
        data=replace(whole.data, rows=people.data.n_rows),
        files={one.name: one.artifact.sha256 for one in files},
    )
    record.note(*people.notes)
    record.doubt(*people.doubts)
    inputs = complete(replace(opened, artifact=artifact, data=people.data), case, record)
    return Several(inputs, _groups([one.name for one in files], people), people.labels_differ)


def _file(name: str, opened: Opened, case: Case, record: FlowRecord) -> _File:
    """Return what a file counts, and of whom.

    Raises
    ------
    NotCoveredError
        Where it counts no rows, or those of others.
    """
    forest, data = opened.artifact.model, opened.data
    if opened.refused is not None:
        raise opened.refused
    if data is None:
        raise NotCoveredError("its training data are not given")
    said = forest.observation if isinstance(forest, Forest) else None
    if isinstance(forest, Forest) and isinstance(said, BoostedSums):
        forest = with_amounts(forest, np.ascontiguousarray(data.rows.T.astype(np.float64)), data.labels)
        amounts, counted = known_amounts(forest, data.n_rows), counted_by(forest, data.rows, data.labels)
        if counted is None or amounts is None:
            raise NotCoveredError(OTHER_ROWS)
        forest, times = counted, amounts
    elif isinstance(forest, Forest) and said is not None and said.exact and knows_occurrences(forest, case.adversary):
        times = known_occurrences(forest, case.adversary, record.limits.total.require)
    else:
        raise NotCoveredError("it does not tell how many rows of whom its leaves hold")
    if times.shape[1] != data.n_rows:
        raise NotCoveredError(OTHER_ROWS)
    return _File(
        name, case.place, opened.artifact, _known(name, opened, data), forest, times, not isinstance(said, BoostedSums)
    )


def _known(name: str, opened: Opened, data: TrainingData) -> Known:
    """Return a file's table, raw where its transformers encode it."""
    table, encoder, classes = opened.given, opened.artifact.encoder, opened.artifact.model.classes
    aligned = isinstance(table, Table) and len(table.frame) == data.n_rows
    whose = table.identifiers if isinstance(table, Table) and aligned else None
    if isinstance(table, Table) and aligned and data.by_encoder and encoder is not None:
        names = {source: encoder.name(source) for source in encoder.sources}
        if set(names.values()) <= set(table.names):
            raw = table.frame.set_axis(table.names, axis=1)[[*names.values()]]

            def encoded(frame: pd.DataFrame) -> Rows:
                return encode(encoder, {source: frame[its] for source, its in names.items()}, name, refuse=False)

            return Known(name, data, classes, raw, encoded, whose)
    return Known(name, data, classes, pd.DataFrame(data.rows, columns=list(data.columns)), None, whose)


def _groups(names: Sequence[str], people: United) -> dict[str, IntArray]:
    """Return the people who are not in all files, by the files that they are not in, and those who were changed."""
    inside = np.zeros((people.data.n_rows, len(names)), dtype=np.bool_)
    for k, own in enumerate(people.rows):
        inside[own, k] = True
    known = np.zeros((int(people.person.max()) + 1, len(names)), dtype=np.bool_)
    np.logical_or.at(known, people.person, inside)
    found, partly = dict[str, IntArray](), ~inside.all(axis=1)
    for pattern in np.unique(np.hstack([inside, known[people.person]])[partly], axis=0):
        mine, theirs = np.split(pattern, 2)
        those = np.flatnonzero((inside == mine).all(axis=1) & (known[people.person] == theirs).all(axis=1))
        changed = [name for name, here, there in zip(names, mine, theirs, strict=True) if there and not here]
        absent = [name for name, there in zip(names, theirs, strict=True) if not there]
        said = [f"not in {listed(sorted(absent))}"] * bool(absent)
        said += [f"other in {listed(sorted(changed))}"] * bool(changed)
        whose = " and ".join(said)  # of many files it names some, so that others can have the same name
        found[f"{whose} ({len(found) + 1})" if whose in found else whose] = those
    return found


def each_apart(found: Several) -> Iterator[tuple[str, Inputs]]:
    """Yield the same inputs for somebody who knows everybody else whole, by whom they do not know."""
    inputs, data = found.inputs, found.inputs.data
    assert data is not None
    for name, those in found.groups.items():
        known = np.setdiff1d(np.arange(data.n_rows), those)
        if len(known):
            granted = (f"the rows of {len(known):,} other people, with their labels",)
            held = data.rows[:, :0], known, data.rows[known], data.labels[known]
            yield name, replace(inputs, knowledge=Knowledge((), (), *held, those, False, granted), apart=those)
