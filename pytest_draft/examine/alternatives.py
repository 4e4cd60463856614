"""Bounds of how close anybody could get, beside an attack.

First what somebody gets who knows all other rows (`KnownOthers`), then, once the attack has ended and left anything
open, other datasets that explain the file (`Alternatives`). Neither the attack nor these see anything of the other.
Both look at somebody who knows the occurrences where the file reveals them: whoever knows less gets no closer. That the
file determines rows is said of nobody else.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace

import numpy as np

from pytest_draft.ambiguity.alternatives import Alternatives, alternatives_to
from pytest_draft.ambiguity.counted import OTHER_ROWS, also_moved, counted_by, seen_by_all
from pytest_draft.arrays import IntArray
from pytest_draft.artifact.forest.observations import Answers, BoostedSums
from pytest_draft.artifact.forest.occurrences import lacks_seeds
from pytest_draft.attack.boosted.staged import known_amounts
from pytest_draft.attack.groups import KnownRows
from pytest_draft.attack.numeric.extremes import Extremes
from pytest_draft.attack.numeric.problem import is_numeric
from pytest_draft.data import TrainingData
from pytest_draft.errors import DataError, NotCoveredError, OutOfTimeError
from pytest_draft.evaluate.informed import KnownOthers, informed_figures, known_others, with_what_passes_need
from pytest_draft.examine.attack import Attack
from pytest_draft.examine.inputs import Inputs
from pytest_draft.examine.limits import ALTERNATIVES_SHARE, INFORMED_SHARE, INFORMED_SHARE_OF_LARGE, MOST_SWEPT
from pytest_draft.examine.record import FlowRecord, Stopping
from pytest_draft.facts.examination import EVERY_RULE
from pytest_draft.facts.informed import CUT_SHORT
from pytest_draft.facts.reconstruction import Reconstruction
from pytest_draft.knowledge import known_occurrences, knows_occurrences
from pytest_draft.matching import row_identities, unmatched
from pytest_draft.timebox import TimeBox

MOST_ENTRIES = 40_000_000
"""Most (tree, row) pairs of which other datasets are looked for: each takes some 40 bytes."""

LIMIT_ONLY = "its leaves tell of values, of which only a limit is known; release leaves that tell of classes alone"
"""Why nothing passes by what somebody gets who knows all other rows, though figures of it are shown."""


class SideSearches:
    """What is found out beside the attack of one examination.

    Parameters
    ----------
    enough : Stopping or None
        Where a rule has failed by what somebody gets who knows all other rows, datasets are not counted.

    Attributes
    ----------
    inputs : Inputs
    known_others : KnownOthers or None
        What somebody guesses who knows all other rows; None before `look`, and where the file does not reveal that.
    explained : bool
        Whether it was found out for this that the training rows explain the file.
    """

    def __init__(self, inputs: Inputs, record: FlowRecord, enough: Stopping | None = None) -> None:
        self.inputs, self._record, self._enough = inputs, record, enough
        self.known_others: KnownOthers | None = None
        self.explained = False
        self._attack: Attack | None = None

    def look(self, extremes: Extremes | None = None) -> None:
        """Find out what somebody gets who knows all other rows, where the file reveals that.

        Parameters
        ----------
        extremes : Extremes or None
            Of the nodes of random splits, once they are decoded.
        """
        inputs, data = self.inputs, self.inputs.data
        if data is None or inputs.forest.observation.released or self._informed:
            return
        self.known_others = (
            None  # who decodes extremes knows more: no pass may rest on less, but what fails does so still
        )
        forest, times, ends, box = inputs.forest, self._times(), None, self._informed_box
        proved, explained = knows_occurrences(forest, inputs.case.adversary), True
        with self._in_time():
            if isinstance(forest.observation, BoostedSums):
                counted = counted_by(forest, data.rows, data.labels, box)
                if counted is None:
                    raise NotCoveredError(OTHER_ROWS)
                times = known_amounts(forest, data.n_rows)
                forest = forest if times is None else counted
            if times is None and forest.observation.exact and not forest.draws.drawn:
                raise NotCoveredError(OTHER_ROWS)
            if times is None:
                seen = seen_by_all(forest, inputs.domain, data.rows, data.labels, box)
                of_sums = isinstance(forest.observation, BoostedSums)  # whose sums these rows can give
                proved, explained = False, of_sums or not forest.draws.drawn
                forest, ends, extremes = seen.forest, seen.ends, seen.extremes
                times = np.ones((forest.n_trees, data.n_rows), dtype=np.int64)
            elif inputs.case.moved and forest.observation.exact:
                forest = also_moved(forest, inputs.domain, data.rows)
            if times.shape[1] != data.n_rows:
                raise NotCoveredError(OTHER_ROWS)
            everyone = KnownRows(data.rows, data.labels, times)
            with self._record.clock("informed"):
                self.known_others = known_others(
                    forest,
                    inputs.domain,
                    everyone,
                    self._unknown,
                    inputs.case.seed,
                    box,
                    known=self._known,
                    extremes=extremes,
                    ends=ends,
                    proved=proved,
                    holdout=_labelled(inputs),
                    targets=data.targets,
                )
            if self.known_others is None:
                raise NotCoveredError(OTHER_ROWS)
        self.explained = self.known_others is not None and explained
        limit = LIMIT_ONLY if inputs.forest.observation.reads else None
        if self.known_others is not None:
            informed = informed_figures(
                self.known_others, inputs.domain, data, self._known, inputs.slices, self._record.limits.total
            )
            if informed is None and self._record.limits.total.over:
                self._fall_short()
            self._record.facts = replace(self._record.facts, informed=informed, not_informed=limit)
            if self._enough is None or self._enough.decided(self._record.examination()) in (None, EVERY_RULE):
                with self._record.clock("informed"):
                    self.known_others = found = with_what_passes_need(
                        self.known_others,
                        forest,
                        everyone,
                        self._unknown,
                        box,
                        known=self._known,
                        extremes=extremes,
                        ends=ends,
                    )
                if informed is not None:
                    told = found.told_of_all([a for a in range(len(inputs.domain.attributes)) if a not in self._known])
                    informed = replace(informed, bits=found.bits, bits_ended=found.bits_ended, told_of_all=told)
                    self._record.facts = replace(self._record.facts, informed=informed)
            self._record.keep_known()

    @contextmanager
    def _in_time(self) -> Iterator[None]:
        """Say why what somebody gets who knows all others is not known, be it for want of time: that is no pass."""
        try:
            yield
        except OutOfTimeError:
            self._fall_short()
        except (NotCoveredError, DataError) as error:
            self._record.facts = replace(self._record.facts, not_informed=str(error))

    def _fall_short(self) -> None:
        self._record.fall_short(f"{CUT_SHORT}: {self._record.limits.enough_for(INFORMED_SHARE)}")

    @property
    def _informed_box(self) -> TimeBox:
        """The time for what somebody gets who knows all other rows; also the attack's, where that makes no sweep."""
        inputs, share = self.inputs, INFORMED_SHARE
        if inputs.data is not None and inputs.data.n_rows > MOST_SWEPT and is_numeric(inputs.domain):
            share = INFORMED_SHARE_OF_LARGE
        return self._record.limits.total.first(share)

    @property
    def _informed(self) -> bool:
        return self.inputs.knowledge is not None and self.inputs.knowledge.informed

    @property
    def _unknown(self) -> IntArray:
        """The rows that are to be rebuilt."""
        inputs = self.inputs
        n_rows = 0 if inputs.data is None else inputs.data.n_rows
        return np.arange(n_rows) if inputs.knowledge is None else inputs.knowledge.unknown

    @property
    def _known(self) -> tuple[int, ...]:
        """The attributes that the adversary knows."""
        return () if self.inputs.knowledge is None else self.inputs.knowledge.attributes

    def _times(self) -> IntArray | None:
        """Return how often each tree saw each row; None where the file does not say."""
        forest = self.inputs.forest
        if forest.observation.exact and not lacks_seeds(forest):
            with suppress(NotCoveredError):
                return known_occurrences(forest, "artifact")
        return None

    def begin(self, attack: Attack) -> None:
        """Ask for other datasets once an attack has ended."""
        self._attack = attack

    def alternatives(self, data: TrainingData, reconstruction: Reconstruction) -> Alternatives | None:
        """Return other datasets, where they were asked for; None where there are none, or nothing is left to know."""
        inputs, forest = self.inputs, self.inputs.forest
        said = forest.observation  # what explains counts need not explain sums, nor which child has more rows
        if isinstance(said, BoostedSums) or (isinstance(said, Answers) and said.more_left):
            return None
        if self._attack is None or reconstruction.rows is None or said.released or self._informed:
            return None
        knowledge, times = inputs.knowledge, self._times()
        truth = data.rows if knowledge is None else data.rows[knowledge.unknown]
        if not len(unmatched(*row_identities(truth, reconstruction.rows))[0]):  # all rows are rebuilt
            return None
        if forest.n_trees * data.n_rows > MOST_ENTRIES or (times is not None and times.shape[1] != data.n_rows):
            return None
        box = self._record.limits.within(ALTERNATIVES_SHARE)
        try:
            with self._record.clock("alternatives"):
                return alternatives_to(
                    forest,
                    inputs.domain,
                    data.rows,
                    data.labels,
                    times,
                    inputs.case.seed,
                    box,
                    unknown=self._unknown,
                    known=self._known,
                    extremes=self._attack.extremes,
                    others=None if inputs.holdout is None else inputs.holdout.rows,
                )
        except (NotCoveredError, DataError) as error:  # such as rows that a domain file excludes
            if times is not None:
                self._record.fall_short(f"it is not known how close any attacker could get: {error}")
            return None
        except OutOfTimeError:
            longer = self._record.limits.longer
            self._record.fall_short(f"the time ran out before it was known how close any attacker could get: {longer}")
            return None
        finally:
            self._record.limits.note_clock(box, "search for other datasets")


def _labelled(inputs: Inputs) -> KnownRows | None:
    """Return the rows of a holdout that have labels, or all of them where the model has no classes; None without."""
    holdout = inputs.holdout
    if holdout is None:
        return None
    labels = np.zeros(len(holdout.rows), dtype=np.float64)
    if inputs.forest.classes is not None:
        if holdout.answers is None:
            return None
        labels = holdout.answers
    known = ~np.isnan(labels)
    no_tree = np.zeros((1, 0), dtype=np.int64)
    return KnownRows(holdout.rows[known], labels[known].astype(np.int64), no_tree)
