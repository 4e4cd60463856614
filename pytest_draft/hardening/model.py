"""Hardens a model in memory: returns another model that reveals less, and what it still reveals.

The given model is not changed. What must not change its answers is checked: at the levels ``seeds`` and ``counts``
every answer on the rows is bit for bit the same, or there is no result.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pytest_draft.arrays import AnyArray
from pytest_draft.artifact.world.unused import unused_in
from pytest_draft.data.files import parsed
from pytest_draft.errors import DataError, one_line
from pytest_draft.hardening.compare import METHODS, answers, differences
from pytest_draft.hardening.fields import (
    has_numbered_seed,
    is_a,
    numbers_nodes,
    only_asked_to_transform,
    selected_by_numbers,
    without_inner_path_lengths,
    without_seeds,
)
from pytest_draft.hardening.level import COUNTS, DEFAULT, LABELS, NONE, Level, level_of
from pytest_draft.hardening.remaining import Tally, stays, stops
from pytest_draft.hardening.result import Change, Difference, Hardened
from pytest_draft.hardening.rows import answered, features_of, on_drawn_rows, outermost
from pytest_draft.hardening.thresholds import ColumnValues, Seen, Shortened, recording, shortened, unchanged
from pytest_draft.hardening.trees import Rewritten, Wanted, clear, rewritten
from pytest_draft.hardening.walk import WalkedObject, is_tree, objects_in

Changed = Counter[tuple[str, str]]

_ROUNDING = 1e-14  # of probabilities, where scikit-learn divides totals at each prediction


def hardened(
    model: Any, level: str | Level = DEFAULT, rows: Any = None, target: str | None = None
) -> tuple[Any, Hardened]:
    """Take out of a fitted model what its answers do not need.

    Parameters
    ----------
    model : estimator, or dict, list or tuple of estimators
        Fitted, with scikit-learn's trees anywhere inside; it is left as it is.
    level : str
        ``none``, ``seeds``, ``counts``, ``decimals:N`` or ``labels``; each includes those before it.
    rows : data frame or array-like, optional
        The features of the training data as `model` takes them. Without them thresholds stay, and so does where missing
        values go.
    target : str, optional
        A column of `rows` that is no feature.

    Returns
    -------
    model : object
        A copy, hardened.
    result : Hardened
        What was changed, and what it changes.

    Raises
    ------
    DataError
        Where there is no tree in the model, the rows do not fit it, or its answers would change at a level at which
        they must not.
    UsageError
        Where there is no such level.
    """
    return hardened_through(model, level_of(level), rows, target, lambda new: new)


def hardened_through(
    model: Any, level: Level, rows: Any, target: str | None, saved: Callable[[Any], Any]
) -> tuple[Any, Hardened]:
    """Harden a model, and compare what is left of it after it was saved.

    Parameters and errors are those of `hardened`, and `saved` takes the hardened model and returns it as somebody gets
    it who loads its file.
    """
    if level > NONE:
        _require_no_booster(model)
    tops = outermost(model)
    if not tops and level > NONE:
        kind = one_line(type(model).__name__, 60)
        raise DataError(f"{kind}: no fitted scikit-learn trees are in it, so there is nothing to harden")
    tables = None if rows is None else [features_of(top.value, rows, target) for top in tops]
    new = parsed(lambda: copy.deepcopy(model), "the model", lambda error: f"cannot be copied ({type(error).__name__})")
    tops, objects = outermost(new), list(objects_in(new))
    selectors = _selectors(objects) if level >= COUNTS else []
    asked, seen = _asked(tops, tables, objects, {id(selector) for selector in selectors}) if tops else ([], {})
    tally = Tally(level=level, with_data=tables is not None, n_rows=_n_rows(objects, tables))
    tally.numbered = any(has_numbered_seed(found.value) for found in objects)
    unclean = sum(next(unused_in(one, best_first=False), None) is not None for one in _arrays(objects_in(model)))
    changed: Changed = Counter({("bytes that nothing uses", "arrays as a writer leaves them"): unclean})
    for array in _arrays(objects):  # all of them: a copy has anything in its padding
        clear(array)
    changed += without_seeds(objects) if level > NONE else Counter()
    if level >= COUNTS:
        changed += _without_selectors(selectors)
        changed += _without_counts(list(objects_in(new)), seen, tally)
    new = saved(new)
    after = {found.path: found.value for found in objects_in(new)}
    found = [one for question in asked for one in question.differences(after[question.model.path])]
    _require_same(found, level, _ROUNDING if tally.totals else 0.0)
    result = Hardened(
        str(level),
        tuple(Change(name, count, what) for (name, what), count in sorted(changed.items()) if count),
        tuple(found),
        "the given data" if tables is not None else "rows drawn around its thresholds, as no data were given",
        stops(new, tally),
        stays(new, tally),
    )
    return new, result


def _arrays(objects: Iterable[WalkedObject]) -> Iterator[AnyArray]:
    """Yield the arrays in which bytes can be unused, of records or truth values, and nodes of trees; none is copied."""
    for found in objects:
        array = found.value.__getstate__()["nodes"] if is_tree(found.value) else found.value
        if (
            isinstance(array, np.ndarray)
            and (array.dtype.names or array.dtype.kind == "b")
            and not array.dtype.hasobject
        ):
            yield array


_BOOSTERS = {
    "sklearn": ("GradientBoosting", "HistGradientBoosting"),
    "xgboost": ("XGB", "Booster"),
    "lightgbm": ("LGBM", "Booster"),
    "catboost": ("CatBoost",),
}
"""How the names of classes of boosted trees begin, by the package that they are from."""


NO_BOOSTER = (
    "is not hardened: each leaf's value is an equation in the rows that reached it, and predictions need it; train it "
    "with fewer and shallower trees, or harden a random forest, extra trees or a decision tree in its place"
)
"""Why boosted trees are refused, after a name."""


def _require_no_booster(model: object) -> None:
    """Refuse boosted trees anywhere in a model: what gives rows back is what answers with.

    Raises
    ------
    DataError
    """
    for found in objects_in(model):
        kind = type(found.value)
        beginnings = _BOOSTERS.get(kind.__module__.partition(".")[0], ())
        if kind.__name__.startswith(beginnings) and hasattr(found.value, "predict"):
            raise DataError(f"a {one_line(kind.__name__, 60)} {NO_BOOSTER}")


@dataclass(frozen=True, eq=False)
class _Question:
    """What is asked before and after: a model, rows, and what it said before."""

    model: WalkedObject
    rows: Any
    before: dict[str, list[Any]]

    def differences(self, model: Any) -> list[Difference]:
        """Ask again, and compare."""
        after = answered(model, self.rows, self.model.path, tuple(self.before))
        return differences(self.before, after, one_line(self.model.path, 80))


@dataclass(frozen=True, eq=False)
class _Holder:
    """An object with a tree as an attribute."""

    walked: WalkedObject
    name: str

    @property
    def tree(self) -> Any:
        return getattr(self.walked.value, self.name)


def _holders(objects: Sequence[WalkedObject]) -> list[_Holder]:
    """Return who holds the trees of a model."""
    holders = [
        _Holder(found, name)
        for found in objects
        for name, value in getattr(found.value, "__dict__", {}).items()
        if is_tree(value)
    ]
    held = {id(holder.tree) for holder in holders}
    for found in objects:
        if is_tree(found.value) and id(found.value) not in held:
            raise DataError(
                f"{one_line(found.path)}: a tree that is no estimator's attribute cannot be hardened: take it out"
            )
    return holders


def _asked(
    tops: Sequence[WalkedObject],
    tables: Sequence[Any] | None,
    objects: Sequence[WalkedObject],
    selectors: Collection[int],
) -> tuple[list[_Question], dict[int, Seen]]:
    """Ask the models, and note what reaches each tree, by the id of the object that holds it."""
    if tables is None:
        asked = [
            _Question(
                model, rows, answers(model.value, rows, ("transform",) if id(model.value) in selectors else METHODS)
            )
            for model, rows in on_drawn_rows(objects, selectors)
        ]
        if not asked:
            raise DataError("the model cannot be asked about rows that are drawn: give the training data (--data)")
        return asked, {}
    holders = _holders(objects)
    boosting = [found.value for found in objects if is_a(found.value, "BaseGradientBoosting")]
    # Compiled code of gradient boosting asks its trees, and takes nothing in their place.
    compiled = {id(inner.value) for model in boosting for inner in objects_in(model)}
    owners = [
        holder.walked.value for holder in holders if holder.name == "tree_" and id(holder.walked.value) not in compiled
    ]
    with recording(owners) as seen:
        questions = [
            _Question(top, rows, answered(top.value, rows, top.path)) for top, rows in zip(tops, tables, strict=True)
        ]
    return questions, {id(owner): one for owner, one in zip(owners, seen, strict=True) if one}


def _selectors(objects: Sequence[WalkedObject]) -> list[Any]:
    """Return what selects columns by a model with trees that is asked nothing else."""
    values = [found.value for found in objects]
    only = only_asked_to_transform(values)
    return [
        value
        for value in values
        if (is_a(value, "SelectFromModel") or (is_a(value, "RFE") and id(value) in only))
        and any(is_tree(found.value) for found in objects_in(value))
    ]


def _without_selectors(selectors: Sequence[Any]) -> Changed:
    """Take the models out by which columns were selected, in place."""
    changed: Changed = Counter()
    for selector in selectors:
        kind = type(selector).__name__
        changed[kind, "trees gone: a VarianceThreshold keeps the same columns"] += selected_by_numbers(selector)
    return changed


def _without_counts(objects: Sequence[WalkedObject], seen: dict[int, Seen], tally: Tally) -> Changed:
    """Take counts, and what gives them back, out of all trees, in place."""
    by_number = [found.value for found in objects if numbers_nodes(found.value)]
    fixed = {id(inner.value) for model in by_number for inner in objects_in(model)}
    scored = {id(i.value) for model in by_number if is_a(model, "IsolationForest") for i in objects_in(model)}
    lengths = sum(without_inner_path_lengths(model) for model in by_number if is_a(model, "IsolationForest"))
    changed: Changed = Counter({("_average_path_length_per_tree", "numbers of inner nodes set to 0"): lengths})
    values = ColumnValues()
    for holder in _holders(objects):
        owner, tree = holder.walked.value, holder.tree
        watched = seen.get(id(owner))
        new = unchanged(tree) if watched is None else shortened(tree, watched, values)
        wanted = Wanted(
            classifier=_is_classifier(owner, tree),
            decimals=tally.level.decimals,
            labels=tally.level >= LABELS,
            without_values=id(owner) in scored,
            reorder=id(owner) not in fixed,
        )
        done = rewritten(tree, new.thresholds, new.missing, wanted)
        setattr(owner, holder.name, done.tree)
        tally.add(done, new, wanted)
        changed += _changed(done, new, wanted)
    return changed


def _changed(done: Rewritten, new: Shortened, wanted: Wanted) -> Changed:
    """Return what became of one tree."""
    leaves = done.n_leaves if wanted.classifier else 0
    rounded = f"leaves rounded to {wanted.decimals} decimals"
    return Counter(
        {
            ("n_node_samples, weighted_n_node_samples", "nodes: 1 at a leaf, sums above"): done.n_counted,
            ("impurity", "nodes set to 0"): done.n_impurities,
            ("value", "inner nodes set to 0"): done.n_inner_values,
            ("value at leaves", "leaves set to 0, which scores do not use"): done.n_leaves * wanted.without_values,
            ("value at leaves", rounded): leaves * (wanted.decimals is not None),
            ("value at leaves", "leaves with their label alone"): leaves * wanted.labels,
            ("value at leaves", "leaves with fractions in place of totals"): done.n_totals,
            ("leaves", "merged into their sibling, which had the same label"): done.n_merged,
            ("missing_go_to_left", "splits set to 0"): done.n_directions,
            ("threshold", "splits with the shortest decimal that sends the same rows left"): new.n_shortened,
            ("order of nodes", "trees made depth-first"): int(done.reordered),
        }
    )


def _is_classifier(owner: Any, tree: Any) -> bool:
    """Whether a tree's leaves hold class fractions."""
    from sklearn.base import is_classifier

    return bool(is_classifier(owner)) or tree.max_n_classes > 1


def _n_rows(objects: Sequence[WalkedObject], tables: Sequence[Any] | None) -> frozenset[int]:
    """Return on how many rows a model's parts were trained, as far as they or the data say."""
    published = [getattr(found.value, "__dict__", {}).get("_n_samples") for found in objects]
    given = [table.shape[0] if hasattr(table, "shape") else len(table) for table in tables or ()]
    return frozenset(int(count) for count in [*published, *given] if isinstance(count, int | np.integer))


def _require_same(differences: Sequence[Difference], level: Level, tolerance: float) -> None:
    """Refuse a result that answers otherwise where it must not."""
    changed = [one for one in differences if not one.identical and (one.largest is None or one.largest > tolerance)]
    if changed and level <= COUNTS:
        raise DataError(
            f"{changed[0]}, which must not be at level {level}: there is no result; load and harden the model with the "
            "scikit-learn that trained it"
        )
