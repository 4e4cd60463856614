"""Rebuilt rows beside true ones, with their figures and those of the baselines.

A `Compared` is one comparison: of all rows and columns, or of a part (`pytest_draft.evaluate.parts`), on one scale of
numeric values (`pytest_draft.evaluate.rescaled`). A perfect row has all values right; a numeric one is right to within
`matching.TOLERANCE` of its range without far-out values (`scales.near`), so that no leak passes because a last digit
differs, and an outlier makes nobody's row perfect. Where close rows cannot all be listed, there are bounds
(`Measure.perfect`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from pytest_draft.ambiguity.sampled import Sampled, ideal_of
from pytest_draft.arrays import BoolArray, FloatArray, IntArray, Rows
from pytest_draft.data.individuals import hundredths
from pytest_draft.domain import Domain
from pytest_draft.evaluate.baseline_draws import DRAW_NUMBERS, few_splits
from pytest_draft.evaluate.baselines import likest_baseline, random_baseline, split_half_baseline
from pytest_draft.evaluate.close_rows import Met
from pytest_draft.evaluate.comparison import Comparison
from pytest_draft.evaluate.informed import KnownOthers
from pytest_draft.evaluate.numeric import exact_values
from pytest_draft.facts.ambiguity import Ideal
from pytest_draft.facts.figures import Baseline, Distance, Exact, Individuals
from pytest_draft.facts.findings import Measure, Of, ScaleName, ValueFigures
from pytest_draft.facts.informed import Informed
from pytest_draft.matching import Weights, differences, encoded_weights, row_identities
from pytest_draft.scales import near
from pytest_draft.timebox import TimeBox

STEP_SHARE = 0.3
"""Of the time that is left for evaluation, what one figure may take."""


@dataclass(frozen=True, eq=False, repr=False)
class Compared:
    """Rebuilt rows beside true ones, all of them or a part, and how they are measured."""

    of: Of
    on: str
    """`of` and `on`: as in `Measure`."""
    rows: Rows
    """Shape (n_training_rows, n_columns)."""
    unknown: IntArray
    """Shape (n_unknown,). Positions of the true rows that are compared with."""
    rebuilt: Rows
    """Shape (n_unknown, n_columns). Only the share counts that the comparison says."""
    free: BoolArray
    """Shape (n_unknown, n_attributes)."""
    labels: IntArray | None
    """Shape (n_unknown,). Rebuilt classes."""
    domain: Domain
    known: tuple[int, ...]
    comparison: Comparison
    seed: int
    timebox: TimeBox
    scale: ScaleName = "range"
    """What numeric columns hold."""
    n_classes: int = 0
    """Columns behind those of the domain that say which class a row is of, a one in one of them; 0 for none."""
    guesses: Rows | None = None
    """Shape (n_rows, n_columns). Where the baseline is of those other rows that are most like these; None for any
    other rows.
    """
    sampled: tuple[Sampled, ...] = ()
    """Other datasets that explain the file, in the same columns; empty where there are none."""
    known_others: KnownOthers | None = None
    """The guesses of somebody who knows all other rows, in the same columns; None where there are none."""

    @property
    def step(self) -> TimeBox:
        """The box of one figure: a share of the time that is left, so that there is some for the others."""
        return self.timebox.part(STEP_SHARE)

    @cached_property
    def weights(self) -> Weights:
        """What differences in each column count."""
        weights = encoded_weights(self.domain, self.known)
        if self.n_classes:
            weights = weights.with_attribute(self.n_classes)
        return near(weights, self.rows) if self.scale == "range" else weights

    @cached_property
    def numeric(self) -> bool:
        """Whether some unknown column is numeric, with a range."""
        return bool(self.weights.tolerance.any())

    @cached_property
    def likest(self) -> tuple[Baseline, float] | None:
        """The baseline of the rows most like `guesses`, and the spread of its error; None where any rows will do."""
        if self.guesses is None:
            return None
        return likest_baseline(self.rows, self.guesses, self.weights, self.seed, self.step, self.unknown)

    @cached_property
    def split_half(self) -> Baseline:
        """What other rows like these get: any, or those most like `guesses`."""
        if self.likest is not None:
            return self.likest[0]
        draws = None if self.scale == "range" else few_splits(len(self.rows))
        return split_half_baseline(
            self.rows, self.weights, self.seed, self.step, self.unknown, self.comparison, draws=draws
        )

    @cached_property
    def unique(self) -> BoolArray:
        """Which of the true rows are unique in the training data."""
        everyone, mine = row_identities(self.rows, self.rows[self.unknown])
        unique: BoolArray = np.bincount(everyone)[mine] == 1
        return unique

    @property
    def unknown_attributes(self) -> list[int]:
        """Positions of the attributes that are to be rebuilt."""
        return [a for a in range(len(self.domain.attributes)) if a not in self.known]

    @property
    def many(self) -> bool:
        """Whether a second look at the same rows takes a sample of them. The baselines of what is known need all."""
        return (
            len(self.unknown) > DRAW_NUMBERS.many_rows
            and not self.comparison.alone
            and bool(self.weights.counted.all())
        )

    @property
    def n_rows(self) -> int:
        """Rebuilt rows that count."""
        return round(self.comparison.share * len(self.rebuilt))

    @property
    def n_counted(self) -> int:
        """Encoded columns that are to be rebuilt."""
        return int(self.weights.counted.sum())

    @cached_property
    def error(self) -> Distance:
        """How far the rebuilt rows are from the true ones."""
        return self.comparison.distance(self.rows[self.unknown], self.rebuilt, self.weights, self.step)

    @cached_property
    def perfect(self) -> Met:
        """The true rows that are rebuilt perfectly, by their places in `unknown`."""
        return self.comparison.met(self.rows[self.unknown], self.rebuilt, self.weights, self.step)

    @cached_property
    def singled_out(self) -> Met:
        """The unique ones of the rows that are rebuilt perfectly: of all maximum matchings as many as can be."""
        if not self.numeric or self.comparison.alone:
            rows = self.perfect.rows[self.unique[self.perfect.rows]]
            return Met(rows, len(rows))
        if self.unique.all():
            return self.perfect
        return self.comparison.met(self.rows[self.unknown][self.unique], self.rebuilt, self.weights, self.step)

    def random(self) -> Baseline:
        """Return what guesses drawn uniformly from the domain get."""
        truth = self.rows[self.unknown]
        draws = None if self.scale == "range" else few_splits(len(self.rows))
        return random_baseline(truth, self.domain, self.weights, self.seed, self.step, self.comparison, draws=draws)

    def figures(self) -> Measure:
        """Return the figures without the random baseline, which takes the longest."""
        return Measure(
            of=self.of,
            on=self.on,
            rows=self.n_rows,
            columns=self.n_counted,
            perfect=self.perfect.number,
            error=self.error,
            split_half=self.split_half,
            scale=self.scale,
            numeric=self.numeric,
            exact=self.exact() if self.scale == "rank" else None,
            ideal=self.ideal,
            informed=self.informed,
        )

    @cached_property
    def informed(self) -> Informed | None:
        """What somebody gets who knows all other rows; None where that is not known."""
        if self.known_others is None or self.comparison != Comparison() or self.n_classes:
            return None
        return self.known_others.figures(self.rows, self.weights, self.unknown_attributes, self.timebox)

    @cached_property
    def ideal(self) -> Ideal | None:
        """What the best possible guess gets; None where that is not known."""
        if not self.sampled or self.comparison != Comparison() or self.n_classes:
            return None
        return ideal_of(self.sampled, self.weights, len(self.unknown), self.step)

    @cached_property
    def partners(self) -> IntArray | None:
        """The true row that each rebuilt one is compared with, by its place in `unknown`; None without a matching."""
        return self.comparison.partners(self.rows[self.unknown], self.rebuilt, self.weights, self.step)

    @cached_property
    def distances(self) -> FloatArray | None:
        """How wrong each rebuilt row is in each counted column: their mean is the error. None without a matching."""
        if self.partners is None:
            return None
        distance = differences(self.rows[self.unknown][self.partners], self.rebuilt, self.weights)
        return distance[:, self.weights.counted] * (self.n_counted / self.weights.total)

    @property
    def distances_in_place(self) -> FloatArray:
        """The same where each rebuilt row stands for the training row in its own place."""
        distance = differences(self.rows[self.unknown], self.rebuilt, self.weights)
        return distance[:, self.weights.counted] * (self.n_counted / self.weights.total)

    def values(self, which: BoolArray, *, in_place: bool = False) -> ValueFigures:
        """Return the unknown values of some attributes, given row by row, shape (n_unknown, n_attributes).

        Parameters
        ----------
        in_place : bool
            Whether each row is held against the training row in its own place, as what is proved of it is; else
            against its partner.
        """
        which = which[:, self.domain.attribute_of_column[self.weights.counted]]
        distance = self.distances_in_place if in_place else self.distances
        number = int(which.sum())
        if distance is None or not number:
            return ValueFigures(number, None)
        return ValueFigures(number, float(distance[which].sum()) / number)

    def row_errors(self) -> tuple[float, ...] | None:
        """Return quantiles of the rows' distances."""
        if self.distances is None:
            return None
        return hundredths(self.distances.mean(axis=1))

    def individuals(self, inside: BoolArray) -> tuple[Individuals, Individuals]:
        """Return the figures on inliers and on outliers."""
        inside = inside[self.unknown]
        distance = None if self.distances is None else self.distances.mean(axis=1)

        def individuals(which: BoolArray) -> Individuals:
            error = None
            if distance is not None and self.partners is not None and which.any():
                error = float(distance[which[self.partners]].mean())
            return Individuals(int(which.sum()), error, int(which[self.perfect.rows].sum()))

        return individuals(inside), individuals(~inside)

    def exact(self) -> Exact | None:
        """Return how many numeric values come back exactly."""
        rebuilt = self.rebuilt[: max(1, self.n_rows)]
        comparison = replace(self.comparison, share=1.0)
        return exact_values(self.rows, self.unknown, rebuilt, self.weights, comparison, self.seed, self.step)
