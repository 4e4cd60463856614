"""How each tree's rows were drawn: in go an estimator and what its trees say, out come `Draws` and `Size`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from pytest_draft.arrays import FloatArray
from pytest_draft.artifact.forest import minor_of
from pytest_draft.artifact.forest.draws import BaggingDraws, Draws, ForestDraws
from pytest_draft.artifact.objects import Object, kind_of, numbers_of
from pytest_draft.artifact.sklearn.outputs import Observed, Size
from pytest_draft.errors import CorruptArtifactError


def draws_of_forest(estimator: Object, class_weight: object) -> Draws:
    """Return how rows were drawn for the trees of a RandomForest or ExtraTrees, as far as it says so itself."""
    drawn = estimator.boolean("bootstrap")
    return ForestDraws(
        rows="with replacement" if drawn else "all",
        per_tree=estimator.optional_integer("_n_samples_bootstrap", minimum=1) if drawn else None,
        sample_weight=_sample_weight(estimator),
        class_weight=class_weight,
    )


def draws_of_bagging(estimator: Object, class_weight: object) -> Draws:
    """Return how rows were drawn for the trees of a bagging ensemble, as far as it says so itself."""
    n_samples, weight = estimator.optional_integer("_n_samples", minimum=1), _sample_weight(estimator)
    per_tree = estimator.optional_integer("_max_samples", minimum=1)
    repeats, some = estimator.boolean("bootstrap"), not _takes_all(estimator)
    if n_samples is not None and per_tree is not None:
        some = per_tree < n_samples
        if not repeats and per_tree > n_samples:
            raise CorruptArtifactError(f"it draws {per_tree} of {n_samples} rows without replacement")
    return BaggingDraws(
        rows="with replacement" if repeats else "without replacement" if some else "all",
        per_tree=per_tree if repeats or some else None,
        sample_weight=weight if repeats or some else None,  # only chances
        class_weight=class_weight,
        max_features=estimator.integer("_max_features", minimum=1),
        bootstrap_features=estimator.boolean("bootstrap_features"),
    )


def size_of(draws: Draws, estimator: Object, parameters: Mapping[str, object]) -> Size:
    """Return what an estimator says of the number of rows apart from its trees; `parameters` are those of `Forest`."""
    total = draws.per_tree if draws.drawn else _n_samples(draws, estimator)
    criteria = (parameters.get("criterion"), parameters.get("estimator__criterion"))
    medians = any(one in ("absolute_error", "mae") for one in criteria)
    weighted = draws.may_scale(minor_of(estimator.get("_sklearn_version")))
    return Size(draws, total, weighted, averages=not medians)


def completed(draws: Draws, estimator: Object, observed: Observed) -> tuple[Draws, int | None]:
    """Return draws with what the trees say of them, and the number of training rows, where it is known."""
    n_samples, exact = _n_samples(draws, estimator), observed.observation.exact
    if exact and draws.drawn and draws.per_tree is None:
        draws = replace(draws, per_tree=_draws_by_roots(draws, observed))
    if n_samples is None and draws.drawn:
        n_samples = draws.per_tree if _takes_all(estimator) else None
    elif n_samples is None and exact:
        n_samples = int(observed.trees[0].n_distinct[0])
    if n_samples is not None and draws.sample_weight is not None and len(draws.sample_weight) != n_samples:
        raise CorruptArtifactError(f"_sample_weight has {len(draws.sample_weight)} rows instead of {n_samples}")
    if exact:
        _check_roots(observed, draws, n_samples)
    return draws, n_samples


def _check_roots(observed: Observed, draws: Draws, n_samples: int | None) -> None:
    """Check the trees' roots against each other and against the number of rows drawn for them.

    Their weights are left to `occurrences` and `Forest.counts`: before 1.9, class and sample weights
    scale them.
    """
    most = min((size for size in (n_samples, draws.per_tree) if size is not None), default=None)
    first = observed.trees[0].n_distinct[0]
    for index, tree in enumerate(observed.trees):
        rows = int(tree.n_distinct[0])
        if most is not None and rows > most:
            raise CorruptArtifactError(f"tree {index} has {rows} rows, of which only {most} were drawn")
        if not draws.drawn and rows != first:
            raise CorruptArtifactError(f"tree {index} has {rows} rows, and tree 0 another number, without bootstrap")


def _draws_by_roots(draws: Draws, observed: Observed) -> int | None:
    """Return the number of draws by the trees' roots, where no weights have changed them."""
    roots = {float(tree.weight[0]) for tree in observed.trees}
    size = roots.pop()
    known = not roots and draws.class_weight is None and size.is_integer() and 0 < size < 2**53
    return int(size) if known else None


def _n_samples(draws: Draws, estimator: Object) -> int | None:
    return estimator.optional_integer("_n_samples", minimum=1) if draws.seeded else None


def _takes_all(estimator: Object) -> bool:
    """Return whether an ensemble draws as many rows as there are."""
    asked = estimator.get("max_samples")
    return asked is None or (type(asked) is float and asked == 1.0)


def _sample_weight(estimator: Object) -> FloatArray | None:
    stored = estimator.get("_sample_weight")
    if stored is None:
        return None
    # Single precision is kept: the draw depends on it.
    weight = numbers_of(stored, "f", "_sample_weight") if kind_of(stored) == "f" else None
    if weight is None:
        weight = numbers_of(stored, "iu", "_sample_weight").astype(np.float64)
    if not np.isfinite(weight).all() or (weight < 0).any() or not weight.sum() > 0:
        raise CorruptArtifactError("_sample_weight is not a finite weight for each row")
    return weight
