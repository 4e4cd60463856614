"""The figures of a judgement: `Findings` about a reconstruction and the truth, aggregates only.

All rows are compared (`compared`), then the parts in which the file leaves less open (`parts`), the same on scales that
no outlier stretches (`rescaled`), with the labels (`labelled`), and the slices that a policy names (`slices`); what is
proved is held against the truth (`proved`). The baselines are drawn in `draws`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from pytest_draft.ambiguity.alternatives import Alternatives
from pytest_draft.arrays import BoolArray, IntArray, Rows
from pytest_draft.data import RawColumns, TrainingData
from pytest_draft.data.individuals import inliers
from pytest_draft.domain import Domain
from pytest_draft.evaluate.columns import column_figures
from pytest_draft.evaluate.compared import Compared
from pytest_draft.evaluate.comparison import Comparison
from pytest_draft.evaluate.informed import KnownOthers
from pytest_draft.evaluate.labelled import labelled_figures
from pytest_draft.evaluate.numeric import numeric_figures
from pytest_draft.evaluate.parts import Parts
from pytest_draft.evaluate.proved import certain_unique_rows, proved_values_of
from pytest_draft.evaluate.rescaled import on_other_scales, rescaled_figures
from pytest_draft.evaluate.significance import leak_significance
from pytest_draft.evaluate.slices import Sliced
from pytest_draft.facts.findings import Findings, Raw
from pytest_draft.facts.identity import Identity
from pytest_draft.facts.reconstruction import Reconstruction
from pytest_draft.facts.slices import Slice, SliceFigures
from pytest_draft.knowledge import Knowledge
from pytest_draft.matching import original_weights
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
    overall = Compared("", data.rows, unknown, rebuilt, free, guess.labels, domain, known, comparison, seed, timebox)
    if alternatives is not None:
        overall = replace(overall, sampled=alternatives.sampled)
    overall = replace(overall, known_others=known_others)
    perfect = overall.perfect()
    singled_out = overall.singled_out(perfect)
    in_their_place = guess.ordered and identity.status == "confirmed"
    in_order = None
    if in_their_place:
        in_order = len(Comparison(alone=True).met(truth, rebuilt, overall.weights, timebox).rows)
    error, split_half, ideal = overall.error(), overall.split_half, overall.ideal
    original_error = error
    if any(attribute.kind == "one-hot" for attribute in domain.attributes):  # else each column is an attribute
        original_error = comparison.distance(truth, rebuilt, original_weights(domain, known), overall.step)
    parts = Parts.of(overall, guess.seen, identity)
    figures = {name: part.figures() for name, part in parts.by_name.items()}
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
    sliced, sliced_on_other_scales = _sliced(
        overall if parts.seen is None or parts.seen.comparison.share < 1 else parts.seen, slices, data
    )
    labelled = labelled_figures(parts.base, data.labels, n_classes)
    rescaled = rescaled_figures(
        [overall, *(part for name, part in parts.by_name.items() if name != "fully_determined")]
    )
    random = overall.random()  # takes the longest, as do all that follow
    for name, part in parts.by_name.items():
        figures[name] = replace(figures[name], random_error=part.random().error)
    determined, open_values = overall.values(~free), overall.values(free)
    inside = inliers(data.rows, timebox) if inside is None else inside
    inner, outer = (None, None) if inside is None else overall.individuals(perfect.rows, inside)
    single = certain_unique_rows(reconstruction, identity, overall, certain)
    significance = None
    if holdout is not None and not comparison.alone:
        significance = leak_significance(data.rows, unknown, rebuilt, holdout, overall.weights, seed, timebox)
    return Findings(
        n_rows=len(truth),
        n_columns=overall.n_counted,
        error=error,
        original_error=original_error,
        perfect_rows=len(perfect.rows),
        singled_out_rows=len(singled_out.rows),
        unique_rows=int(overall.unique.sum()),
        rows_in_order=in_order,
        free_share=float(free[:, overall.unknown_attributes].mean()),
        random=random,
        split_half=split_half,
        identity=identity,
        determined=determined,
        free=open_values,
        seen=figures.get("seen"),
        informative=figures.get("informative"),
        mostly_determined=figures.get("mostly_determined"),
        known_attributes=len(known),
        known_rows=0 if knowledge is None else len(knowledge.known) - knowledge.informed,
        inliers=inner,
        outliers=outer,
        significance=significance,
        rebuilt_rows=guess.rebuilt_rows,
        most_perfect_rows=perfect.bound,
        most_singled_out_rows=singled_out.bound,
        certain=None if certain is None else overall.values(certain, in_place=in_their_place),
        constrained=None if certain is None else overall.values(~free & ~certain),
        certain_rows=None if certain is None else int(certain[:, overall.unknown_attributes].all(axis=1).sum()),
        proved_values=proved_values_of(reconstruction.proved_values, truth, overall.weights.counted),
        numeric=None if numeric is None else numeric.with_random(random),
        row_errors=overall.row_errors(),
        raw=None if raw is None else _raw(truth, rebuilt, raw, domain, known, comparison, timebox),
        slices=sliced,
        rescaled_slices=sliced_on_other_scales,
        rescaled=tuple(
            part if scaled is None else replace(part, random_error=scaled.random().error) for part, scaled in rescaled
        ),
        fully_determined=figures.get("fully_determined"),
        fully_determined_rows=parts.n_fully_determined,
        certain_unique_rows=None if single is None else single[0],
        most_certain_unique_rows=None if single is None or single[0] == single[1] else single[1],
        labelled=labelled,
        ideal=ideal,
        informed=overall.informed,
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


def _sliced(
    compared: Compared, slices: Sequence[Slice], data: TrainingData
) -> tuple[tuple[SliceFigures, ...], tuple[SliceFigures, ...]]:
    """Return the figures of slices, and with numeric columns those of all that were measured, on other scales."""
    if not slices:
        return (), ()
    by_range = Sliced(
        data,
        compared.unknown,
        compared.rebuilt,
        compared.labels,
        compared.partners,
        compared.unique,
        compared.domain,
        compared.weights,
        compared.comparison,
        compared.seed,
        compared.step,
    )
    found = by_range.figures(slices)
    large = [one for one, figures in zip(slices, found, strict=True) if figures.measured is not None]
    rescaled: list[SliceFigures] = []
    for scale, scaled in on_other_scales(compared) if large and compared.numeric and not compared.many else ():
        again = replace(by_range, partners=scaled.partners, scaled=scaled.weights, scale=scale)
        rescaled += [replace(one, on=scaled.on.removesuffix(compared.on)) for one in again.figures(large)]
    return found, tuple(rescaled)
