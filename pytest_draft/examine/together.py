"""Several files of some of the same people in the hands of one outsider: `Inputs` of one forest with all trees.

What counts of rows each file gives away is put together; a file that gives none away is left out, and nothing passes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from pytest_draft.ambiguity.counted import OTHER_ROWS, counted_by
from pytest_draft.arrays import IntArray
from pytest_draft.artifact import Artifact
from pytest_draft.artifact.forest import Forest
from pytest_draft.artifact.forest.observations import BoostedSums
from pytest_draft.artifact.forest.together import Part, together
from pytest_draft.attack.boosted.staged import known_amounts, with_amounts
from pytest_draft.data import TrainingData
from pytest_draft.data.united import Known, United, united
from pytest_draft.errors import ArtifactError, NotCoveredError, one_line
from pytest_draft.examine.inputs import Inputs, Opened, complete, open_files
from pytest_draft.examine.record import FlowRecord
from pytest_draft.facts.case import Beside, Case
from pytest_draft.knowledge import Knowledge, known_occurrences, knows_occurrences


@dataclass(frozen=True, eq=False, repr=False)
class _File:
    """One of the files. Its repr shows no row."""

    name: str
    artifact: Artifact
    data: TrainingData
    forest: Forest
    """With exact counts."""
    times: IntArray
    """Shape (n_trees, n_rows). How often each tree saw each row."""
    searched: bool
    """Whether an attack can rest on these counts; else only somebody has them who knows all other rows."""
    whose: object
    """As `Table.identifiers`."""


@dataclass(frozen=True, eq=False, repr=False)
class Several:
    """Several files as one. Its repr shows no row."""

    inputs: Inputs
    groups: dict[str, IntArray]
    """People who are not in all files, by what is said of them: positions among the rows."""


def several(case: Case, given: object, record: FlowRecord) -> Several:
    """Read all files of a case, and put them together.

    Parameters
    ----------
    given : object
        Training data in memory, in place of `Case.data`, for all files without data of their own.

    Raises
    ------
    DraftError
        Where fewer than two different files can be put together, or something of them cannot be read.
    """
    whole = record.facts
    files, opened = list[_File](), None
    for one in (Beside(case.artifact, case.data, case.place), *case.beside):
        name = Path(one.artifact).name + (f" [{one.place}]" if one.place else "")
        mine = replace(case, artifact=one.artifact, place=one.place, data=one.data or case.data)
        read = FlowRecord(mine)
        try:
            found = open_files(mine, given if one.data in (None, case.data) else None, read)
            if opened is None:
                opened = found
            if all(found.artifact.sha256 != other.artifact.sha256 or one.place for other in files):
                files.append(_file(name, found, mine, record))
        except (ArtifactError, NotCoveredError) as refusal:
            record.doubt(f"{one_line(name)} is left out of what the files tell together: {refusal}")
    if opened is None or not files:
        raise NotCoveredError("no file tells how many rows of whom its leaves hold")
    first = files[0]
    files.sort(key=lambda one: (one.artifact.sha256, one.name))  # in whichever order they were given
    people = united([Known(one.name, one.data, one.forest.classes, one.whose) for one in files])  # type: ignore[arg-type]
    searched = all(one.searched for one in files)
    parts = [
        Part(one.forest, one.times, people.rows[k], people.columns[k], people.codes[k]) for k, one in enumerate(files)
    ]
    model = together(parts, people.data.n_rows, people.data.columns, people.classes, searched=searched)
    encoder = first.artifact.encoder if people.data.columns == first.data.columns else None
    artifact = replace(first.artifact, model=model, encoder=encoder)
    record.facts = replace(record.facts, artifact=whole.artifact, data=replace(whole.data, rows=people.data.n_rows))
    record.facts = replace(record.facts, files={one.name: one.artifact.sha256 for one in files})
    record.note(*people.notes)
    record.doubt(*people.doubts)
    inputs = complete(replace(opened, artifact=artifact, data=people.data), case, record)
    return Several(inputs, _groups(files, people, first))


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
    whose = getattr(opened.given, "identifiers", None)
    return _File(name, opened.artifact, data, forest, times, not isinstance(said, BoostedSums), whose)


def _groups(files: list[_File], people: United, first: _File) -> dict[str, IntArray]:
    """Return the people who were added and removed since other files, as far as there are some."""
    mine = people.rows[files.index(first)]
    of_others = [own for one, own in zip(files, people.rows, strict=True) if one is not first]
    others = np.unique(np.concatenate(of_others or [mine]))
    found = {f"only in {first.name}": np.setdiff1d(mine, others), f"not in {first.name}": np.setdiff1d(others, mine)}
    return {name: those for name, those in found.items() if len(those)}


def each_apart(found: Several) -> Iterator[tuple[str, Inputs]]:
    """Yield the same inputs for somebody who knows everybody else whole, by whom they do not know."""
    inputs, data = found.inputs, found.inputs.data
    assert data is not None
    for name, those in found.groups.items() if inputs.knowledge is None else ():
        known = np.setdiff1d(np.arange(data.n_rows), those)
        if len(known):
            granted = (f"the rows of {len(known):,} other people, with their labels",)
            held = data.rows[:, :0], known, data.rows[known], data.labels[known]
            yield name, replace(inputs, knowledge=Knowledge((), (), *held, those, False, granted), apart=those)
