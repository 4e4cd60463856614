"""The figures of a judgement: in go a reconstruction and the truth, out come `Findings`, aggregates only.

What the file does not tell can only be guessed, and guesses would dilute a leak of the rest. So the figures are also
taken on parts of the data, each beside its baselines on the same rows and columns (`Part`):

- *seen*: the rows that some tree has seen. Absolute and relative thresholds hold for them.
- *informative*: without (nearly) constant attributes that are open in every row. Such an attribute says nothing of
  anybody; but a wrong guess is wrong in every row. Relative thresholds hold, as for the next one.
- *mostly determined*: the attributes that the forest determines in at least `MOSTLY` of the rows, where these columns
  tell people apart: where other people's rows meet at most `MOST_MET` of the rows on them. On fewer columns a dataset
  is little more than a table of frequencies, which a forest of two questions tells exactly, and nobody's record.
  Measured on COMPAS, Adult and Default Credit (100 rows, 5 trees of depth 2, with and without bootstrap): where others
  meet at most that share, the error is 0.70 to 1.70 times the split-half one, and at most 0.20 of the rows that they
  leave are perfect (5 of 24 forests have such columns); where they meet more, it comes down to 0.31 times (36 forests).

- *fully determined*: the rebuilt rows in which the forest leaves nothing open, so that nothing is guessed. Whoever has
  the file knows which ones these are, and the others do not make them any less known. They are matched into all true
  rows, beside as many rows of other people that are most like them (`baselines.likest_baseline`). Relative thresholds
  hold where there are at least `LEAST_DETERMINED` of them, others' rows meet at most `MOST_MET`, and these come closer
  than chance lets others come: as many are perfect with a probability of at most `BY_CHANCE`, or the error lies
  `SPREADS` standard deviations below the baseline. Measured with 5 to 25 *other* people's rows in place of rebuilt ones
  (at random, of one kind, the commonest, the rarest; COMPAS, Adult, Default Credit; 2,047 parts): 13 % of those with 5
  rows and 1 % of those with 25 crossed the default thresholds by chance, none of them with either test: the least
  probability was 1.1e-4, the most 3.2 deviations.

Where not all rows were seen, the last three are taken on those that were.

The label is no attribute, and all figures leave it out. But to people whose features are known it can be what matters.
So the figures on all rows are also taken with the label as one more attribute (`Labelled`), for policies that ask.

What a forest gives away of a few rows, a mean over all of them hides as well. So relative and absolute thresholds hold
for each slice that a policy names (`pytest_draft.evaluate.slices`).

A perfect row has all values right; a numeric one is right to within `matching.TOLERANCE` of its range without far-out
values (`robust.near`), so that no leak passes because a last digit differs, and an outlier makes nobody's row perfect.
Where close rows cannot all be listed, there are bounds (`Part.most_perfect_rows`).

An outlier also decides errors by range, whoever guesses. So with numeric columns the whole and each part are judged
once more on scales that none stretches (`Findings.rescaled`, `pytest_draft.evaluate.robust`): without far-out values
where there are some, and with ranks, which no other scale of a column changes. By rank, the values are counted as well
that come back exactly, beside those that other people's rows have right (`Exact`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from pytest_draft.arrays import BoolArray
from pytest_draft.attack.reconstruction import Reconstruction
from pytest_draft.data import RawColumns, TrainingData
from pytest_draft.data.individuals import hundredths, inliers
from pytest_draft.domain import Domain
from pytest_draft.evaluate.baselines import (
    SPLITS,
    SPLITS_WHEN_LARGE,
    likest_baseline,
    random_baseline,
    split_half_baseline,
)
from pytest_draft.evaluate.close_rows import Met
from pytest_draft.evaluate.comparison import Comparison
from pytest_draft.evaluate.numeric import exact_values, measure, share_exact
from pytest_draft.evaluate.robust import Scale, by_rank, near, without_far_out
from pytest_draft.evaluate.significance import leak_significance
from pytest_draft.evaluate.slices import MANY_ROWS, Sliced
from pytest_draft.facts.figures import Baseline, Distance, Exact, Individuals
from pytest_draft.facts.findings import ON_SEEN, Findings, Labelled, Part, ProvedValues, Raw, ScaleName, Values
from pytest_draft.facts.identity import Identity
from pytest_draft.facts.slices import Slice, SliceFigures
from pytest_draft.knowledge import Knowledge
from pytest_draft.matching import (
    IntArray,
    Rows,
    Weights,
    differences,
    encoded_weights,
    original_weights,
    paired_distance,
    row_identities,
    unmatched,
)
from pytest_draft.timebox import TimeBox

FEW_ROWS = 300
"""Of more than `MANY_ROWS` rows, this many are compared on other scales, each with all rebuilt ones."""

NEARLY_CONSTANT = 0.95
"""A column in which the commonest value has at least this share says nothing of nearly everybody."""


MOSTLY = 0.5
"""An attribute that is determined in at least this share of the rows is mostly determined."""

MOST_MET = 2 / 3
"""Columns on which other people's rows meet more than this share of the rows do not tell people apart."""

LEAST_DETERMINED = 5
"""Fewer fully determined rows are no part of their own: figures would tell of single people."""

BY_CHANCE = 1e-4
"""Where other people's rows would be perfect as often with a greater probability, it may be chance."""

SPREADS = 4.0
"""So may an error that is not this many standard deviations of the baseline's draws below it."""

MOST_MATCHED = 500
"""Of more fully determined rows than this, as many are drawn: all others cost much and tell little more."""


def evaluate(
    reconstruction: Reconstruction,
    data: TrainingData,
    domain: Domain,
    identity: Identity,
    *,
    seed: int,
    timebox: TimeBox,
    knowledge: Knowledge | None = None,
    holdout: Rows | None = None,
    raw: RawColumns | None = None,
    inside: BoolArray | None = None,
    slices: Sequence[Slice] = (),
    n_classes: int | None = None,
) -> Findings:
    """Measure a reconstruction against the training data.

    An adversary that does not know the number of rows can rebuild another number of them. Then all figures are about a
    random part of its rows, as many as there are true ones; or about all of them and random repetitions (as in the
    experiments of DRAFT-DP, SaTML 2026, with N unknown).

    Parameters
    ----------
    reconstruction : Reconstruction
        With rows.
    data : TrainingData
    domain : Domain
    identity : Identity
    seed : int
        Of the baselines' draws, and of the choice among rebuilt rows.
    timebox : TimeBox
    knowledge : Knowledge or None
        The adversary's side knowledge: what it knows is not measured, and the baselines know it too.
    holdout : ndarray of float32, shape (n_holdout_rows, n_columns), or None
        Rows of the same population that were not trained on (`leak_significance`). Not used where each row was
        attacked by itself.
    raw : RawColumns or None
        Of training data that the file's transformers have encoded.
    inside : ndarray of bool, shape (n_rows,), or None
        Which training rows are inliers, where that was found out already (`inliers`).
    slices : sequence of Slice
        That the policy names.
    n_classes : int or None
        Of the model; None for a regressor, and where labels are not to be looked at.

    Returns
    -------
    Findings

    Raises
    ------
    ValueError
        Where no row was rebuilt, or where each was attacked by itself and there are more or fewer.
    """
    if reconstruction.rows is None or reconstruction.free is None or not len(reconstruction.rows):
        raise ValueError("there is no reconstruction to evaluate")
    known = knowledge.attributes if knowledge is not None else ()
    unknown = knowledge.unknown if knowledge is not None else np.arange(len(data.rows))
    comparison = Comparison(alone=knowledge is not None and knowledge.informed)
    truth, rebuilt, free, seen_rows = data.rows[unknown], reconstruction.rows, reconstruction.free, reconstruction.seen
    certain, labels = reconstruction.certain, reconstruction.labels
    n_rebuilt, ordered = len(rebuilt), reconstruction.ordered
    if n_rebuilt != len(truth):
        if comparison.alone:
            raise ValueError("rows that were attacked one by one are compared one by one: as many are needed")
        chosen = as_many(len(truth), n_rebuilt, np.random.default_rng([seed, 42]))
        rebuilt, free, seen_rows, ordered = rebuilt[chosen], free[chosen], None, False
        certain = None if certain is None else certain[chosen]
        labels = None if labels is None else labels[chosen]
    if certain is not None:
        free = free & ~certain
    everyone, mine = row_identities(data.rows, truth)
    unique = np.bincount(everyone)[mine] == 1
    whole = _Compared("", data.rows, unknown, rebuilt, free, labels, domain, known, comparison, seed, timebox)
    perfect = whole.perfect()
    singled_out = whole.singled_out(perfect, unique)
    in_their_place = ordered and identity.status == "confirmed"
    in_order = None
    if in_their_place:
        in_order = len(Comparison(alone=True).met(truth, rebuilt, whole.weights, timebox).rows)
    not_known = [a for a in range(len(domain.attributes)) if a not in known]
    error, split_half = whole.error(), whole.split_half
    original_error = error
    if any(attribute.kind == "one-hot" for attribute in domain.attributes):  # else each column is an attribute
        original_error = comparison.distance(truth, rebuilt, original_weights(domain, known), timebox)
    seen = whole.seen_only(seen_rows, identity)
    some = seen or whole
    determined_rows = np.flatnonzero(~some.free[: some.n_rows, not_known].any(axis=1))
    compared = {
        "seen": seen,
        "informative": some.informative(),
        "determined": some.mostly_determined(),
        "fully": some.fully_determined(determined_rows),
    }
    parts = {name: part.figures() for name, part in compared.items() if part is not None}
    numeric = measure(
        truth,
        rebuilt,
        whole.partners if whole.numeric else None,
        len(perfect.rows),
        error.exact,
        domain,
        whole.weights,
        seed,
        timebox,
        comparison=comparison,
        in_order=in_their_place,
    )
    sliced = (whole if seen is None or seen.comparison.share < 1 else seen).slices(slices, data)
    labelled = some.labelled(data.labels, n_classes)
    random = whole.random()  # takes the longest
    for name, part in compared.items():
        if part is not None:
            parts[name] = replace(parts[name], random_error=part.random().error)
    determined, open_values = whole.values(~free), whole.values(free)
    inside = inliers(data.rows, timebox) if inside is None else inside
    inner, outer = (None, None) if inside is None else whole.individuals(perfect.rows, inside)
    single = _certain_unique(reconstruction, identity, truth, rebuilt, certain, unique, not_known)
    significance = None
    if holdout is not None and not comparison.alone:
        significance = leak_significance(data.rows, unknown, rebuilt, holdout, whole.weights, seed, timebox)
    return Findings(
        n_rows=len(truth),
        n_columns=whole.n_counted,
        error=error,
        original_error=original_error,
        perfect_rows=len(perfect.rows),
        singled_out_rows=len(singled_out.rows),
        unique_rows=int(unique.sum()),
        rows_in_order=in_order,
        free_share=float(free[:, not_known].mean()),
        random=random,
        split_half=split_half,
        identity=identity,
        determined=determined,
        free=open_values,
        seen=parts.get("seen"),
        informative=parts.get("informative"),
        mostly_determined=parts.get("determined"),
        known_attributes=len(known),
        known_rows=0 if knowledge is None else len(knowledge.known) - knowledge.informed,
        inliers=inner,
        outliers=outer,
        significance=significance,
        rebuilt_rows=n_rebuilt if n_rebuilt != len(truth) else None,
        most_perfect_rows=_bound(perfect),
        most_singled_out_rows=_bound(singled_out),
        certain=None if certain is None else whole.values(certain),
        constrained=None if certain is None else whole.values(~free & ~certain),
        certain_rows=None if certain is None else int(certain[:, not_known].all(axis=1).sum()),
        proved_values=_proved_values(reconstruction.proved_values, truth, whole.weights.counted),
        numeric=None if numeric is None else numeric.with_random(random),
        row_errors=whole.row_errors(),
        raw=None if raw is None else _raw(truth, rebuilt, raw, domain, known, comparison, timebox),
        slices=sliced,
        rescaled=_rescaled([whole, *(part for name, part in compared.items() if part is not None and name != "fully")]),
        fully_determined=parts.get("fully"),
        fully_determined_rows=len(determined_rows),
        certain_unique_rows=None if single is None else single[0],
        most_certain_unique_rows=None if single is None or single[0] == single[1] else single[1],
        labelled=labelled,
    )


def _certain_unique(
    reconstruction: Reconstruction,
    identity: Identity,
    truth: Rows,
    rebuilt: Rows,
    certain: BoolArray | None,
    unique: BoolArray,
    unknown: Sequence[int],
) -> tuple[int, int] | None:
    """Return how many unique rows are proved, at least and at most; None where nothing is proved of single rows."""
    if identity.status not in ("confirmed", "order differs"):  # what is proved is of other people
        return None
    if reconstruction.proved is not None and reconstruction.provable is not None:
        least, most = (
            int(np.isin(mine[unique], theirs).sum())
            for mine, theirs in (
                row_identities(truth, rows) for rows in (reconstruction.proved, reconstruction.provable)
            )
        )
        return least, max(least, most)
    if certain is None:
        return None
    mine, theirs = row_identities(truth, rebuilt[certain[:, unknown].all(axis=1)])
    found = int(np.isin(mine[unique], theirs).sum())
    return found, found


def _rescaled(parts: Sequence[_Compared]) -> tuple[Part, ...]:
    """Return the figures of parts with numeric columns on further scales.

    None of the rows in which nothing is guessed: rows of numbers are hardly ever whole without a guess.
    """
    return tuple(
        scaled.of_sample() if scaled.many else replace(scaled.figures(), random_error=scaled.random().error)
        for part in parts
        if part.numeric
        for scaled in part.rescaled()
    )


def _raw(
    truth: Rows,
    rebuilt: Rows,
    raw: RawColumns,
    domain: Domain,
    known: Sequence[int],
    comparison: Comparison,
    timebox: TimeBox,
) -> Raw | None:
    """Return the error on raw columns; None where none of them is to be rebuilt."""
    known_raw = raw.known(set(domain.columns_of(known)))
    columns = len(raw.domain.attributes) - len(known_raw)
    if not columns:
        return None
    weights = original_weights(raw.domain, known_raw)
    return Raw(columns, comparison.distance(raw.rows(truth), raw.rows(rebuilt), weights, timebox))


def _bound(met: Met) -> int | None:
    """Return the most rows that can be met; None where that is known."""
    return met.most if met.most > len(met.rows) else None


def _proved_values(
    values: Mapping[int, NDArray[np.float64]] | None, truth: Rows, counted: BoolArray
) -> ProvedValues | None:
    """Return how many values are told of unknown columns, and what share of the true values is among them."""
    if values is None:
        return None
    told = {column: distinct for column, distinct in values.items() if counted[column] and len(distinct)}
    held = sum(int(np.isin(truth[:, column], distinct).sum()) for column, distinct in told.items())
    number = sum(len(distinct) for distinct in told.values())
    return ProvedValues(number, len(told), held / (len(truth) * int(counted.sum())))


def as_many(n_rows: int, n_rebuilt: int, rng: np.random.Generator) -> IntArray:
    """Return the positions of rebuilt rows that stand for true ones: some of them, or all and repetitions."""
    if n_rebuilt > n_rows:
        return np.sort(rng.choice(n_rebuilt, n_rows, replace=False)).astype(np.int64)
    return np.concatenate([np.arange(n_rebuilt), rng.integers(n_rebuilt, size=n_rows - n_rebuilt)])


def contradiction(
    reconstruction: Reconstruction,
    data: TrainingData,
    domain: Domain,
    identity: Identity,
    knowledge: Knowledge | None = None,
) -> str | None:
    """Say how the training data contradict what is proved of all datasets that are consistent with the artifact.

    They are one of these datasets, if they trained the forest and the domain holds them. Then ``certain rows <=
    guaranteed overlap <= rows that the consistent dataset shares with them``, each certain value is theirs, and each
    value that is told stands in its column; anything else is a bug.

    Parameters
    ----------
    reconstruction : Reconstruction
    data : TrainingData
    domain : Domain
    identity : Identity
    knowledge : Knowledge or None
        Rows that are known whole have no part in a certificate.

    Returns
    -------
    str or None
        None where there is no contradiction, or nothing to contradict.
    """
    if identity.status not in ("confirmed", "order differs"):
        return None
    truth = data.rows if knowledge is None else data.rows[knowledge.unknown]
    if domain.outside(truth.astype(np.float64)):
        return None
    if identity.to_the_digit:
        if wrong := _wrong_values(reconstruction, truth, domain, identity):
            return f"internal error: {wrong:,} values were proved that the training data do not hold; please report it"
        if wrong := sum(
            int((~np.isin(distinct, data.rows[:, column])).sum())
            for column, distinct in (reconstruction.proved_values or {}).items()
        ):
            return f"internal error: {wrong:,} values were told that no training row holds; please report it"
    certificate, consistent = reconstruction.certificate, reconstruction.consistent
    if certificate is None or consistent is None:
        return None
    certain, guaranteed = certificate.certain_vectors.lower, certificate.guaranteed_vectors.lower
    shared = len(Comparison().perfect(truth, consistent))
    if certain <= guaranteed <= shared:
        return None
    return (
        f"internal error: {certain:,} rows were proved to be certain and {guaranteed:,} to be shared with the training "
        f"data, and {shared:,} are shared; please report it"
    )


def _wrong_values(reconstruction: Reconstruction, truth: Rows, domain: Domain, identity: Identity) -> int:
    """Return how many certain values are not in the training data: row by row, or in the column as often."""
    rows, certain = reconstruction.rows, reconstruction.certain
    if rows is None or certain is None or len(rows) != len(truth):
        return 0
    in_order = reconstruction.ordered and identity.status == "confirmed"
    wrong = 0
    for a, attribute in enumerate(domain.attributes):
        mine, theirs = row_identities(truth[:, list(attribute.columns)], rows[:, list(attribute.columns)])
        proved = certain[:, a]
        missed = (mine != theirs)[proved].sum() if in_order else len(unmatched(mine, theirs[proved])[1])
        wrong += int(missed)
    return wrong


@dataclass(frozen=True, eq=False)
class _Beside:
    """How close rows are to others that they are matched to, which of them meet one, and the share of exact values."""

    error: Distance
    met: Met
    exact: float


@dataclass(frozen=True, eq=False, repr=False)
class _Compared:
    """Rebuilt rows beside true ones, all of them or a part, and how they are measured.

    Attributes
    ----------
    on : str
        As in `Part`.
    rows : ndarray of float32, shape (n_training_rows, n_columns)
    unknown : ndarray of int64, shape (n_unknown,)
        Positions of the true rows that are compared with.
    rebuilt : ndarray of float32, shape (n_unknown, n_columns)
        Only the share counts that the comparison says.
    free : ndarray of bool, shape (n_unknown, n_attributes)
    labels : ndarray of int64, shape (n_unknown,), or None
        Rebuilt classes.
    domain : Domain
    known : tuple of int
    comparison : Comparison
    seed : int
    timebox : TimeBox
    scale : {"range", "inner range", "rank"}
        What numeric columns hold.
    n_classes : int
        Columns behind those of the domain that say which class a row is of, a one in one of them; 0 for none.
    guesses : ndarray of float32, shape (n_rows, n_columns), or None
        Where the baseline is of other people's rows that are most like these; None for any other people's.
    """

    on: str
    rows: Rows
    unknown: IntArray
    rebuilt: Rows
    free: BoolArray
    labels: IntArray | None
    domain: Domain
    known: tuple[int, ...]
    comparison: Comparison
    seed: int
    timebox: TimeBox
    scale: ScaleName = "range"
    n_classes: int = 0
    guesses: Rows | None = None

    @cached_property
    def weights(self) -> Weights:
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
        return likest_baseline(self.rows, self.guesses, self.weights, self.seed, self.timebox, self.unknown)

    @cached_property
    def split_half(self) -> Baseline:
        if self.likest is not None:
            return self.likest[0]
        draws = None if self.scale == "range" else self._few_draws
        return split_half_baseline(
            self.rows, self.weights, self.seed, self.timebox, self.unknown, self.comparison, draws=draws
        )

    @property
    def many(self) -> bool:
        """Whether a second look at the same rows takes a sample of them. The baselines of what is known need all."""
        return len(self.unknown) > MANY_ROWS and not self.comparison.alone and bool(self.weights.counted.all())

    @property
    def _few_draws(self) -> int:
        """How many draws of a baseline are enough for a second look at the same rows."""
        return SPLITS if len(self.rows) <= MANY_ROWS else SPLITS_WHEN_LARGE

    @property
    def n_rows(self) -> int:
        return round(self.comparison.share * len(self.rebuilt))

    @property
    def n_counted(self) -> int:
        return int(self.weights.counted.sum())

    def error(self) -> Distance:
        return self.comparison.distance(self.rows[self.unknown], self.rebuilt, self.weights, self.timebox)

    def perfect(self) -> Met:
        """Return the true rows that are rebuilt perfectly, by their places in `unknown`."""
        return self.comparison.met(self.rows[self.unknown], self.rebuilt, self.weights, self.timebox)

    def singled_out(self, perfect: Met, unique: BoolArray) -> Met:
        """Return the unique ones of the rows that are rebuilt perfectly: of all maximum matchings as many as can be."""
        if not self.numeric or self.comparison.alone:
            rows = perfect.rows[unique[perfect.rows]]
            return Met(rows, len(rows))
        if unique.all():
            return perfect
        return self.comparison.met(self.rows[self.unknown][unique], self.rebuilt, self.weights, self.timebox)

    def random(self) -> Baseline:
        truth = self.rows[self.unknown]
        draws = None if self.scale == "range" else self._few_draws
        return random_baseline(truth, self.domain, self.weights, self.seed, self.timebox, self.comparison, draws=draws)

    def figures(self) -> Part:
        """Return the figures without the random error."""
        perfect = self.perfect()
        return Part(
            on=self.on,
            absolute=self.on in ("", ON_SEEN),
            n_rows=self.n_rows,
            columns=self.n_counted,
            error=self.error(),
            perfect_rows=len(perfect.rows),
            random_error=None,
            split_half=self.split_half,
            most_perfect_rows=_bound(perfect),
            numeric=self.numeric,
            scale=self.scale,
            exact=self.exact() if self.scale == "rank" else None,
        )

    @cached_property
    def partners(self) -> IntArray | None:
        """The true row that each rebuilt one is compared with, by its place in `unknown`; None without a matching."""
        return self.comparison.partners(self.rows[self.unknown], self.rebuilt, self.weights, self.timebox)

    @cached_property
    def distances(self) -> NDArray[np.float64] | None:
        """How wrong each rebuilt row is in each counted column: their mean is the error. None without a matching."""
        if self.partners is None:
            return None
        distance = differences(self.rows[self.unknown][self.partners], self.rebuilt, self.weights)
        return distance[:, self.weights.counted] * (self.n_counted / self.weights.total)

    def values(self, which: BoolArray) -> Values:
        """Return the unknown values of some attributes, given row by row, shape (n_unknown, n_attributes)."""
        which, distance = which[:, self.domain.attribute_of_column[self.weights.counted]], self.distances
        number = int(which.sum())
        if distance is None or not number:
            return Values(number, None)
        return Values(number, float(distance[which].sum()) / number)

    def row_errors(self) -> tuple[float, ...] | None:
        """Return quantiles of the rows' distances."""
        if self.distances is None:
            return None
        return hundredths(self.distances.mean(axis=1))

    def individuals(self, perfect: IntArray, inside: BoolArray) -> tuple[Individuals, Individuals]:
        """Return the figures on inliers and on outliers, of which those at the given places are perfect."""
        inside = inside[self.unknown]
        distance = None if self.distances is None else self.distances.mean(axis=1)

        def individuals(which: BoolArray) -> Individuals:
            error = None
            if distance is not None and self.partners is not None and which.any():
                error = float(distance[which[self.partners]].mean())
            return Individuals(int(which.sum()), error, int(which[perfect].sum()))

        return individuals(inside), individuals(~inside)

    def seen_only(self, seen: BoolArray | None, identity: Identity) -> _Compared | None:
        """Return the rows that some tree has seen; None where these are all, or nobody knows which they are."""
        if seen is None or seen.all() or not seen.any():
            return None
        if identity.status == "confirmed":
            unknown, rebuilt, free = self.unknown[seen], self.rebuilt[seen], self.free[seen]
            labels = None if self.labels is None else self.labels[seen]
            return replace(self, on=ON_SEEN, unknown=unknown, rebuilt=rebuilt, free=free, labels=labels)
        if identity.status == "order differs":  # the other rebuilt rows can stand for any true row
            first = np.argsort(~seen, kind="stable")
            comparison = replace(self.comparison, share=float(seen.mean()))
            rebuilt, free = self.rebuilt[first], self.free[first]
            labels = None if self.labels is None else self.labels[first]
            return replace(self, on=ON_SEEN, rebuilt=rebuilt, free=free, labels=labels, comparison=comparison)
        return None

    def slices(self, slices: Sequence[Slice], data: TrainingData) -> tuple[SliceFigures, ...]:
        """Return the figures of slices."""
        if not slices:
            return ()
        everyone, mine = row_identities(self.rows, self.rows[self.unknown])
        compared = Sliced(
            data,
            self.unknown,
            self.rebuilt,
            self.labels,
            self.partners,
            np.bincount(everyone)[mine] == 1,
            self.domain,
            self.weights,
            self.comparison,
            self.seed,
            self.timebox,
        )
        return compared.figures(slices)

    def informative(self) -> _Compared | None:
        """Return what is left without (nearly) constant attributes that are open in every row."""
        commonest = np.array(
            [
                np.bincount(row_identities(self.rows[:, list(attribute.columns)])[0]).max() / len(self.rows)
                for attribute in self.domain.attributes
            ]
        )
        kept = ~self.free[: self.n_rows].all(axis=0) | (commonest < NEARLY_CONSTANT)
        return self._only(kept, "without (nearly) constant ones that no tree tests")

    def mostly_determined(self) -> _Compared | None:
        """Return what is left with mostly determined attributes only, where these tell people apart."""
        kept = (~self.free[: self.n_rows]).mean(axis=0) >= MOSTLY
        part = self._only(kept, "which the forest determines in most rows")
        if part is None:
            return None
        met = part.split_half.perfect_rows
        return None if met is not None and met > MOST_MET * part.n_rows else part

    def rescaled(self) -> tuple[_Compared, ...]:
        """Return the same comparison on scales of numeric values that no outlier stretches."""
        inner, ranks = without_far_out(self.rows, self.domain), by_rank(self.rows, self.domain)
        by_ranks = self._on_scale(ranks, "rank", " with numeric values as ranks")
        if inner is None:
            return (by_ranks,)
        return self._on_scale(inner, "inner range", " with far-out numeric values cut off"), by_ranks

    def _on_scale(self, scale: Scale, name: ScaleName, on: str) -> _Compared:
        rows, rebuilt = scale(self.rows), scale(self.rebuilt)
        return replace(self, on=on + self.on, rows=rows, rebuilt=rebuilt, domain=scale.domain, scale=name)

    def of_sample(self) -> Part:
        """Return the figures on a sample of true rows, each beside a row of its own among all rebuilt ones.

        Samples of true rows stand beside all other people's rows in the split-half baseline, and beside as many
        uniform guesses in the random one. Were it a sample of rebuilt rows, those that are all alike would be near to
        some true row each.
        """
        rng = np.random.default_rng([self.seed, 46])
        truth, pool = self.rows[self.unknown], self.rebuilt[: max(1, self.n_rows)]
        number = min(FEW_ROWS, len(pool))
        attack = self._beside(truth[rng.choice(len(truth), number, replace=False)], pool)
        others, guesses = [], []
        for _ in range(SPLITS_WHEN_LARGE):
            sample = rng.choice(self.unknown, number, replace=False)
            rest = np.setdiff1d(np.arange(len(self.rows)), sample)
            others.append(self._beside(self.rows[sample], self.rows[rest]))
            guesses.append(self._beside(self.rows[sample], self.domain.uniform(len(pool), rng)))
        found = [one for one in others if one is not None]
        random = [one.error.lower for one in guesses if one is not None]
        split_half = Baseline(None, None, 0, number)
        if found:
            error = float(np.mean([one.error.lower for one in found]))
            split_half = Baseline(error, float(np.mean([len(one.met.rows) for one in found])), len(found), number)
        exact = None
        if attack is not None and found and self.scale == "rank":
            columns = int((self.weights.tolerance > 0).sum())
            exact = Exact(number * columns, attack.exact, float(np.mean([one.exact for one in found])))
        met = Met(np.empty(0, dtype=np.int64), number) if attack is None else attack.met
        return Part(
            on=f"{self.on}, of a sample of {number:,} rows",
            absolute=False,
            n_rows=number,
            columns=self.n_counted,
            error=Distance(0.0, 1.0, None) if attack is None else attack.error,
            perfect_rows=len(met.rows),
            random_error=float(np.mean(random)) if random else None,
            split_half=split_half,
            most_perfect_rows=_bound(met),
            numeric=self.numeric,
            scale=self.scale,
            exact=exact,
        )

    def _beside(self, truth: Rows, pool: Rows) -> _Beside | None:
        """Return how close true rows are to the rows of a pool that they are matched to; None without the time."""
        partners = Comparison().partners(pool, truth, self.weights, self.timebox)
        if partners is None:
            return None
        return _Beside(
            paired_distance(truth, pool[partners], self.weights),
            Comparison().met(truth, pool, self.weights, self.timebox),
            share_exact(truth, pool[partners], np.flatnonzero(self.weights.tolerance)),
        )

    def exact(self) -> Exact | None:
        """Return how many numeric values come back exactly."""
        rebuilt = self.rebuilt[: max(1, self.n_rows)]
        comparison = replace(self.comparison, share=1.0)
        return exact_values(self.rows, self.unknown, rebuilt, self.weights, comparison, self.seed, self.timebox)

    def fully_determined(self, which: IntArray) -> _Compared | None:
        """Return the comparison of the rebuilt rows in which nothing is guessed, where they tell people apart.

        Parameters
        ----------
        which : ndarray of int64, shape (n_determined,)
            Their positions.
        """
        if not LEAST_DETERMINED <= len(which) < self.n_rows:
            return None
        on = " on the rows in which nothing is guessed"
        if len(which) > MOST_MATCHED:
            on = f" on {MOST_MATCHED:,} of the {len(which):,} rows in which nothing is guessed"
            which = np.sort(np.random.default_rng([self.seed, 46]).choice(which, MOST_MATCHED, replace=False))
        if self.comparison.alone:
            part = replace(
                self,
                on=on,
                unknown=self.unknown[which],
                rebuilt=self.rebuilt[which],
                free=self.free[which],
                labels=None,
            )
        else:
            order = np.concatenate([which, np.setdiff1d(np.arange(len(self.rebuilt)), which)])
            part = replace(
                self,
                on=on,
                rebuilt=self.rebuilt[order],
                free=self.free[order],
                labels=None,
                comparison=replace(self.comparison, share=len(which) / len(self.rebuilt)),
                guesses=self.rebuilt[which],
            )
        baseline = part.split_half
        if baseline.error is None or baseline.perfect_rows is None:
            return part  # nothing says that it is chance
        if baseline.perfect_rows > MOST_MET * part.n_rows:
            return None
        tries = baseline.draws * baseline.rows
        share = (baseline.perfect_rows / part.n_rows * tries + 1) / (
            tries + 2
        )  # others may meet what they did not here
        if stats.binom.sf(len(part.perfect().rows) - 1, part.n_rows, share) <= BY_CHANCE:
            return part
        spread = 0.0 if part.likest is None else part.likest[1]
        below = baseline.error - part.error().upper
        return part if below > 0 and below >= SPREADS * spread and spread else None

    def labelled(self, labels: IntArray, n_classes: int | None) -> Labelled | None:
        """Return the figures with the label as one more attribute; None where there is none, or none was rebuilt.

        Parameters
        ----------
        labels : ndarray of int64, shape (n_training_rows,)
        n_classes : int or None
        """
        if self.labels is None or n_classes is None or n_classes < 2:
            return None
        columns = np.eye(n_classes, dtype=np.float32)
        part = replace(
            self,
            rows=np.hstack([self.rows, columns[labels]]),
            rebuilt=np.hstack([self.rebuilt, columns[self.labels]]),
            n_classes=n_classes,
        )
        without, perfect = self.perfect(), part.perfect()
        commonest = labels == np.bincount(labels).argmax()
        return Labelled(
            n_rows=self.n_rows,
            error=part.error(),
            perfect_rows=len(perfect.rows),
            most_perfect_rows=_bound(perfect),
            split_half=part.split_half,
            rows_without=len(without.rows),
            commonest=int(commonest[self.unknown[without.rows]].sum()),
            numeric=bool(self.weights.tolerance.any()),
        )

    def _only(self, kept: BoolArray, which: str) -> _Compared | None:
        """Return the comparison on some attributes and the known ones; None where these are none, or all."""
        attributes = [a for a in range(len(kept)) if kept[a] or a in self.known]
        if len(attributes) in (len(self.known), len(kept)):
            return None
        columns = self.domain.columns_of(attributes)
        part = replace(
            self,
            rows=self.rows[:, columns],
            rebuilt=self.rebuilt[:, columns],
            free=self.free[:, attributes],
            domain=self.domain.restricted(attributes),
            known=tuple(attributes.index(a) for a in self.known),
        )
        of_rows = " of the rows that some tree has seen" if self.on else ""
        return replace(part, on=f" on {part.n_counted} columns{of_rows}, {which}")
