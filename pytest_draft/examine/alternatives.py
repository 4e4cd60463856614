"""The search for other datasets beside an attack: in go `Inputs` and an `Attack`, out come `Alternatives`.

Both begin together, and neither sees anything of the other. It always looks at somebody who knows the occurrences where
the file tells them: whoever knows less gets no closer. That the file determines rows is said of nobody else.
"""

from __future__ import annotations

from contextlib import suppress
from types import TracebackType

import numpy as np

from pytest_draft.artifact.occurrences import lacks_seeds
from pytest_draft.attack.reconstruction import Reconstruction
from pytest_draft.data import TrainingData
from pytest_draft.errors import DataError, NotCoveredError
from pytest_draft.evaluate.ambiguity import behind_counts, behind_outputs
from pytest_draft.evaluate.ambiguity.alternatives import Alternatives, Search
from pytest_draft.examine.attack import Attack
from pytest_draft.examine.inputs import Inputs
from pytest_draft.examine.limits import ALTERNATIVES_SHARE
from pytest_draft.examine.record import Record
from pytest_draft.facts.adversary import Adversary
from pytest_draft.knowledge import known_occurrences
from pytest_draft.matching import row_identities, unmatched

MOST_ENTRIES = 40_000_000
"""Most (tree, row) pairs of which other datasets are looked for: each takes some 40 bytes."""


class Beside:
    """What runs beside the attack of one examination, and ends with it.

    Parameters
    ----------
    inputs : Inputs
    record : Record
    """

    def __init__(self, inputs: Inputs, record: Record) -> None:
        self._inputs, self._record = inputs, record
        self._box = record.limits.box(ALTERNATIVES_SHARE)
        self._search: Search | None = None

    def __enter__(self) -> Beside:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._search is not None:
            self._search.end()

    def begin(self, attack: Attack) -> None:
        """Begin the search, where there is anything to look for."""
        inputs, data = self._inputs, self._inputs.data
        knowledge, forest = inputs.knowledge, inputs.forest
        if data is None or forest.is_private or (knowledge is not None and knowledge.informed) or self._box.over:
            return
        unknown = np.arange(data.n_rows) if knowledge is None else knowledge.unknown
        known = () if knowledge is None else knowledge.attributes
        others = None if inputs.holdout is None else inputs.holdout.rows
        times = None
        if forest.outputs is None and not (forest.bootstrap and lacks_seeds(forest)):
            with suppress(NotCoveredError):  # nobody knows them
                times = known_occurrences(forest, "artifact")
        if times is None:
            if forest.n_trees * data.n_rows <= MOST_ENTRIES:
                with suppress(NotCoveredError, DataError):  # such as rows that a domain file excludes
                    self._search = behind_outputs.search(
                        forest,
                        inputs.domain,
                        data.rows,
                        data.labels,
                        inputs.case.seed,
                        self._box,
                        unknown=unknown,
                        known=known,
                        others=others,
                    )
            return
        if times.shape[1] != data.n_rows or times.size > MOST_ENTRIES:
            return
        self._search = behind_counts.search(
            forest,
            inputs.domain,
            data.rows,
            data.labels,
            times,
            inputs.case.seed,
            self._box,
            unknown=unknown,
            known=known,
            extremes=attack.extremes,
            others=others,
            prove=not forest.bootstrap or Adversary.parse(inputs.case.adversary).name == "artifact",
        )

    def alternatives(self, data: TrainingData, reconstruction: Reconstruction) -> Alternatives | None:
        """Wait for the other datasets; None where there are none, or nothing is left to know."""
        if self._search is None or reconstruction.rows is None:
            return None
        knowledge = self._inputs.knowledge
        truth = data.rows if knowledge is None else data.rows[knowledge.unknown]
        if not len(unmatched(*row_identities(truth, reconstruction.rows))[0]):  # all rows are rebuilt
            self._search.end()
            return None
        with self._record.clock("alternatives"):
            found = self._search.result()
        self._record.limits.heed(self._box, "search for other datasets")
        if found is None and self._search.explained:
            self._record.fall_short(
                "the time was out before it was known how close anybody could get: give it more with --draft-budget"
            )
        return found
