"""How each tree's rows were drawn: from an estimator and its trees, `Draw` and `Size`."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_draft.artifact.forest import Tree, minor_of
from pytest_draft.artifact.objects import Object
from pytest_draft.artifact.outputs import Observed, Size
from pytest_draft.errors import CorruptArtifactError


@dataclass(frozen=True)
class Draw:
    """How each tree's rows were drawn; the fields are those of `Forest`."""

    bootstrap: bool
    replacement: bool
    n_samples: int | None
    n_draws: int | None


def draw_of_forest(estimator: Object, observed: Observed) -> Draw:
    """Return how rows were drawn for the trees of a RandomForest or ExtraTrees."""
    n_samples = estimator.optional_integer("_n_samples", minimum=1)
    if not estimator.boolean("bootstrap"):
        return Draw(False, False, n_samples or rows_of(observed), None)
    n_draws = estimator.optional_integer("_n_samples_bootstrap", minimum=1)
    if n_draws is None and observed.observation.exact:
        n_draws = _draws_by_roots(estimator, observed.trees)
    if n_samples is None and estimator.get("max_samples") is None:
        n_samples = n_draws
    return Draw(True, True, n_samples, n_draws)


def draw_of_bagging(estimator: Object, observed: Observed) -> Draw:
    """Return how rows were drawn for the trees of a bagging ensemble."""
    n_samples, n_draws, drawn = _sizes_of_bagging(estimator)
    if n_draws is None and drawn:
        n_draws = _weight_of(observed)
    if n_samples is None:
        n_samples = rows_of(observed) if not drawn else n_draws if _takes_all(estimator) else None
    return Draw(drawn, estimator.boolean("bootstrap"), n_samples, n_draws if drawn else None)


def size_of(estimator: Object, first_tree: Object, *, bagging: bool, forest: bool) -> Size:
    """Return what a file says of the number of rows apart from its trees.

    Parameters
    ----------
    estimator, first_tree : Object
        The ensemble and its first tree; the same for a single tree.
    bagging, forest : bool
        Which kind of ensemble it is.
    """
    parameters = [one.parameters() for one in (estimator, first_tree)]
    weighted = _weighted_by_class(estimator, parameters, forest=forest)
    medians = any(found.get("criterion") in ("absolute_error", "mae") for found in parameters)
    drawn, repeats, total = False, False, None
    if bagging:
        n_samples, n_draws, drawn = _sizes_of_bagging(estimator)
        repeats, total = estimator.boolean("bootstrap"), n_draws if drawn else n_samples
    elif forest:
        drawn = repeats = estimator.boolean("bootstrap")
        total = estimator.optional_integer("_n_samples_bootstrap" if drawn else "_n_samples", minimum=1)
    weighted |= not drawn and estimator.get("_sample_weight") is not None
    return Size(repeats, not drawn, total, weighted, averages=not medians)


def _weighted_by_class(estimator: Object, parameters: list[dict[str, object]], *, forest: bool) -> bool:
    """Return whether class weights have scaled the trees' weights, and not driven the draw in their place."""
    given = [found.get("class_weight") for found in parameters]
    since = minor_of(estimator.get("_sklearn_version")) or (0, 0)
    drives = forest and estimator.boolean("bootstrap") and since >= (1, 9)
    return any(one is not None and not (drives and one != "balanced_subsample") for one in given)


def check_roots(trees: tuple[Tree, ...], draw: Draw) -> None:
    """Check the trees' roots against each other and against the number of rows drawn for them.

    Their weights are left to `occurrences` and `Forest.counts`: before 1.9, class and sample weights
    scale them.

    Raises
    ------
    CorruptArtifactError
    """
    limits = [size for size in (draw.n_samples, draw.n_draws) if size is not None]
    for index, tree in enumerate(trees):
        rows = int(tree.n_distinct[0])
        if limits and rows > min(limits):
            raise CorruptArtifactError(f"tree {index} has {rows} rows, of which only {min(limits)} were drawn")
        if not draw.bootstrap and rows != trees[0].n_distinct[0]:
            raise CorruptArtifactError(f"tree {index} has {rows} rows, and tree 0 another number, without bootstrap")


def rows_of(observed: Observed) -> int | None:
    """Return how many rows the first tree saw; None where it does not say."""
    return int(observed.trees[0].n_distinct[0]) if observed.observation.exact else None


def _weight_of(observed: Observed) -> int | None:
    """Return the weight of the first tree's root, where it is a number of draws."""
    weight = float(observed.trees[0].weight[0]) if observed.observation.exact else 0.5
    return int(weight) if weight.is_integer() and weight < 2**53 else None


def _draws_by_roots(estimator: Object, trees: tuple[Tree, ...]) -> int | None:
    """Return the bootstrap's size by the trees' roots, where no weights have changed them."""
    roots = {float(tree.weight[0]) for tree in trees}
    weighted = estimator.get("class_weight") is not None
    size = roots.pop()
    return None if roots or weighted or not size.is_integer() or not 0 < size < 2**53 else int(size)


def _sizes_of_bagging(estimator: Object) -> tuple[int | None, int | None, bool]:
    """Return the number of rows, that of draws for each tree, and whether some can be left out or count twice."""
    n_samples = estimator.optional_integer("_n_samples", minimum=1)
    n_draws = estimator.optional_integer("_max_samples", minimum=1)
    replacement = estimator.boolean("bootstrap")
    if n_samples is None or n_draws is None:
        return n_samples, n_draws, replacement or not _takes_all(estimator)
    if not replacement and n_draws > n_samples:
        raise CorruptArtifactError(f"it draws {n_draws} of {n_samples} rows without replacement")
    return n_samples, n_draws, replacement or n_draws < n_samples


def _takes_all(estimator: Object) -> bool:
    """Return whether a bagging ensemble draws as many rows as there are."""
    asked = estimator.get("max_samples")
    return asked is None or (type(asked) is float and asked == 1.0)
