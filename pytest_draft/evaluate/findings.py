"""The figures of a judgement: `Findings` about a reconstruction and the truth, aggregates only.

All rows are compared (`compared`), then the parts in which the file leaves less open (`parts`), the same on scales that
no outlier stretches (`rescaled`), with the labels, column by column, and the slices that a policy names (`slices`);
what is proved is held against the truth (`proved`). The baselines are drawn in `baseline_draws`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from pytest_draft.ambiguity.alternatives import Alternatives
from pytest_draft.arrays import BoolArray, FloatArray, IntArray, Rows
from pytest_draft.data import RawColumns, TrainingData
from pytest_draft.data.individuals import inliers
from pytest_draft.domain import Domain
from pytest_draft.evaluate.baseline_draws import DRAW_NUMBERS, half_size, halvings
from pytest_draft.evaluate.compared import Compared
from pytest_draft.evaluate.comparison import Comparison
from pytest_draft.evaluate.informed import KnownOthers
from pytest_draft.evaluate.numeric import numeric_figures
from pytest_draft.evaluate.parts import Parts
from pytest_draft.evaluate.proved import certain_unique_rows, proved_values_of
from pytest_draft.evaluate.rescaled import on_other_scales, rescaled_figures
from pytest_draft.evaluate.significance import leak_significance
from pytest_draft.evaluate.slices import Sliced
from pytest_draft.facts.certificate import Bounds
from pytest_draft.facts.findings import WITH_LABELS, ColumnFigures, Findings, Labelled, Measure, Raw, Values
from pytest_draft.facts.identity import Identity
from pytest_draft.facts.reconstruction import Reconstruction
from pytest_draft.facts.slices import Slice, SliceFigures
from pytest_draft.knowledge import Knowledge
from pytest_draft.matching import gaps, original_weights
from pytest_draft.timebox import TimeBox


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
    alternatives: Alternatives | None = None,
    known_others: KnownOthers | None = None,
) -> Findings:
    """Measure a reconstruction against the training data.

    An adversary that does not know the number of rows can rebuild another number of them. Then all figures are about a
    random part of its rows, as many as there are true ones; or about all of them and random repetitions (as in the
    experiments of DRAFT-DP, SaTML 2026, with N unknown).

    Parameters
    ----------
    reconstruction : Reconstruction
        With rows.
    seed : int
        Of the baselines' draws, and of the choice among rebuilt rows.
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
    alternatives : Alternatives or None
        Other datasets that explain the file as well as the truth.
    known_others : KnownOthers or None
        The guesses of somebody who knows all other rows.

    Raises
    ------
    ValueError
        Where no row was rebuilt, or where each was attacked by itself and there are more or fewer.
    """
    known = knowledge.attributes if knowledge is not None else ()
    unknown = knowledge.unknown if knowledge is not None else np.arange(len(data.rows))
    comparison = Comparison(alone=knowledge is not None and knowledge.informed)
    guess = _Guess.of(reconstruction, len(unknown), comparison, seed)
    truth, rebuilt, free, certain = data.rows[unknown], guess.rows, guess.free, guess.certain
    overall = Compared(
        "everything",
        "",
        data.rows,
        unknown,
        rebuilt,
        free,
        guess.labels,
        domain,
        known,
        comparison,
        seed,
        timebox,
        sampled=() if alternatives is None else alternatives.sampled,
        known_others=known_others,
    )
    perfect, singled_out = overall.perfect, overall.singled_out
    in_their_place = guess.ordered and identity.status == "confirmed"
    in_order = None
    if in_their_place:
        in_order = len(Comparison(alone=True).met(truth, rebuilt, overall.weights, timebox).rows)
    error, whole = overall.error, overall.figures()
    original_error = error
    if any(attribute.kind == "one-hot" for attribute in domain.attributes):  # else each column is an attribute
        original_error = comparison.distance(truth, rebuilt, original_weights(domain, known), overall.step)
    parts = Parts.of(overall, guess.seen, identity)
    measured: list[tuple[Measure, Compared | None]] = [(whole, overall)]
    measured += [(part.figures(), part) for part in parts.judged]
    numeric = numeric_figures(
        truth,
        rebuilt,
        overall.partners if overall.numeric else None,
        len(perfect.rows),
        error.exact,
        domain,
        overall.weights,
        seed,
        timebox,
        comparison=comparison,
        in_order=in_their_place,
    )
    sliced = _sliced(overall if parts.base.comparison.share < 1 else parts.base, slices, data)
    labelled = labelled_figures(parts.base, data.labels, n_classes)
    measured += rescaled_figures([overall, *parts.judged])
    # What takes the longest comes last.
    measures = tuple(one if of is None else replace(one, random=of.random()) for one, of in measured)
    inside = inliers(data.rows, timebox) if inside is None else inside
    inner, outer = (None, None) if inside is None else overall.individuals(inside)
    significance = None
    if holdout is not None and not comparison.alone:
        significance = leak_significance(data.rows, unknown, rebuilt, holdout, overall.weights, seed, timebox)
    return Findings(
        measures=measures,
        original_error=original_error,
        singled_out=singled_out.number,
        unique_rows=int(overall.unique.sum()),
        identity=identity,
        rows_in_order=in_order,
        values=_values(overall, certain, parts.n_fully_determined, in_place=in_their_place),
        known_attributes=len(known),
        known_rows=0 if knowledge is None else len(knowledge.known) - knowledge.informed,
        inliers=inner,
        outliers=outer,
        significance=significance,
        rebuilt_rows=guess.rebuilt_rows,
        certain_unique=certain_unique_rows(reconstruction, identity, overall, certain),
        proved_values=proved_values_of(reconstruction.proved_values, truth, overall.weights.counted),
        numeric=None if numeric is None else numeric.with_random(measures[0].random),
        row_errors=overall.row_errors(),
        raw=None if raw is None else _raw(truth, rebuilt, raw, domain, known, comparison, timebox),
        slices=sliced,
        labelled=labelled,
        ambiguity=None if alternatives is None else alternatives.facts,
        columns=column_figures(overall),
    )


@dataclass(frozen=True, eq=False, repr=False)
class _Guess:
    """The rebuilt rows that are compared, as many as there are true ones."""

    rows: Rows
    """Shape (n_rows, n_columns)."""
    free: BoolArray
    """Shape (n_rows, n_attributes). What the forest leaves open, and is not proved."""
    certain: BoolArray | None
    """Shape (n_rows, n_attributes)."""
    labels: IntArray | None
    """Shape (n_rows,)."""
    seen: BoolArray | None
    """Shape (n_rows,)."""
    ordered: bool
    """Whether the row in a place is meant to be the true row in that place."""
    rebuilt_rows: int | None
    """Rows of the reconstruction; None for as many."""

    @classmethod
    def of(cls, reconstruction: Reconstruction, n_rows: int, comparison: Comparison, seed: int) -> _Guess:
        """Return so many rows of a reconstruction that has some."""
        rows, free, certain = reconstruction.rows, reconstruction.free, reconstruction.certain
        labels, seen, ordered = reconstruction.labels, reconstruction.seen, reconstruction.ordered
        if rows is None or free is None or not len(rows):
            raise ValueError("there is no reconstruction to evaluate")
        n_rebuilt = len(rows)
        if n_rebuilt != n_rows:
            if comparison.alone:
                raise ValueError("rows that were attacked one by one are compared one by one: as many are needed")
            chosen = as_many(n_rows, n_rebuilt, np.random.default_rng([seed, 42]))
            rows, free, seen, ordered = rows[chosen], free[chosen], None, False
            certain = None if certain is None else certain[chosen]
            labels = None if labels is None else labels[chosen]
        if certain is not None:
            free = free & ~certain
        return cls(rows, free, certain, labels, seen, ordered, n_rebuilt if n_rebuilt != n_rows else None)


def as_many(n_rows: int, n_rebuilt: int, rng: np.random.Generator) -> IntArray:
    """Return the positions of rebuilt rows that stand for true ones: some of them, or all and repetitions."""
    if n_rebuilt > n_rows:
        return np.sort(rng.choice(n_rebuilt, n_rows, replace=False)).astype(np.int64)
    return np.concatenate([np.arange(n_rebuilt), rng.integers(n_rebuilt, size=n_rows - n_rebuilt)])


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


def _values(overall: Compared, certain: BoolArray | None, determined_rows: int, *, in_place: bool) -> Values:
    """Return what the error is made of."""
    free, unknown = overall.free, overall.unknown_attributes
    found = Values(overall.values(~free), overall.values(free), float(free[:, unknown].mean()), determined_rows)
    if certain is None:
        return found
    return replace(
        found,
        certain=overall.values(certain, in_place=in_place),
        constrained=overall.values(~free & ~certain),
        certain_rows=Bounds(int(certain[:, unknown].all(axis=1).sum()), len(certain)),
    )


def _sliced(compared: Compared, slices: Sequence[Slice], data: TrainingData) -> tuple[SliceFigures, ...]:
    """Return the figures of slices, and with numeric columns those of all that were measured, on other scales."""
    if not slices:
        return ()
    by_range = Sliced(compared, data.labels, data.columns, compared.step)
    found = by_range.figures(slices)
    large = [one for one, figures in zip(slices, found, strict=True) if figures.measured is not None]
    for scale, scaled in on_other_scales(compared) if large and compared.numeric and not compared.many else ():
        again = replace(by_range, on_scale=scaled, scale=scale)
        found += tuple(replace(one, on=scaled.on.removesuffix(compared.on)) for one in again.figures(large))
    return found


def labelled_figures(compared: Compared, labels: IntArray, n_classes: int | None) -> Labelled | None:
    """Return the figures with the label as one more attribute; None where there is none, or none was rebuilt.

    The label is no attribute, and all other figures leave it out. But to people whose features are known it can be what
    matters.

    Parameters
    ----------
    labels : ndarray of int64, shape (n_training_rows,)
    """
    if compared.labels is None or n_classes is None or n_classes < 2:
        return None
    columns = np.eye(n_classes, dtype=np.float32)
    part = replace(
        compared,
        on=WITH_LABELS,
        rows=np.hstack([compared.rows, columns[labels]]),
        rebuilt=np.hstack([compared.rebuilt, columns[compared.labels]]),
        n_classes=n_classes,
    )
    without, commonest = compared.perfect.rows, labels == np.bincount(labels).argmax()
    return Labelled(part.figures(), len(without), int(commonest[compared.unknown[without]].sum()))


_SPLITS = 5
"""Halvings that the share of others' right values is the mean of; of many rows one, which varies little."""


def column_figures(compared: Compared) -> tuple[ColumnFigures, ...]:
    """Return the figures of each attribute that is to be rebuilt, in the domain's order; none without a matching.

    They are those of the matching that the error is taken of; another one of the same cost can divide it otherwise. A
    value is right as it is in a perfect row: a numeric one to within a tolerance, any other exactly.

    Parameters
    ----------
    compared : Compared
        Of all rows and columns.
    """
    partners, distances = compared.partners, compared.distances
    if partners is None or distances is None:
        return ()
    truth = compared.rows[compared.unknown][partners]
    mine, others = _right(compared, truth, compared.rebuilt), _others_right(compared)
    counted = compared.domain.attribute_of_column[compared.weights.counted]
    return tuple(
        ColumnFigures(
            name=compared.domain.attributes[attribute].name,
            error=float(distances[:, counted == attribute].mean()),
            right=float(mine[place]),
            split_half=None if others is None else float(others[place]),
        )
        for place, attribute in enumerate(compared.unknown_attributes)
    )


def _right(compared: Compared, truth: Rows, guess: Rows) -> FloatArray:
    """Return the share of right values of each unknown attribute, in rows that belong together one by one."""
    apart, one_missing = gaps(truth, guess)
    close = (apart <= compared.weights.tolerance) & ~one_missing
    return np.array([_share(close, compared.domain.attributes[a].columns) for a in compared.unknown_attributes])


def _share(close: BoolArray, columns: Sequence[int]) -> float:
    """Return the share of rows that are close in all of some columns."""
    return float(close[:, list(columns)].all(axis=1).mean())


def _others_right(compared: Compared) -> FloatArray | None:
    """Return the same share where other rows like these are compared, in place of rebuilt ones; None without a draw."""
    rows, weights, unknown, comparison = compared.rows, compared.weights, compared.unknown, compared.comparison
    half = half_size(len(rows), len(unknown), weights, comparison)
    draws = halvings(rows, weights, compared.seed, compared.step, unknown, comparison, half)
    shares = []
    for positions, _, guess in islice(draws, _SPLITS if len(rows) <= DRAW_NUMBERS.many_rows else 1):
        partners = comparison.partners(rows[positions], guess, weights, compared.step)
        if partners is None:
            break
        shares.append(_right(compared, rows[positions][partners], guess))
    return np.mean(shares, axis=0) if shares else None
