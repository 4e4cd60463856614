"""How much of the uncertainty about its training rows a model removes: an `Entropy` from model and domain.

Nothing is searched (Ferry et al., Probabilistic Dataset Reconstruction from Interpretable Models, SaTML 2024). Of each
row the file reveals in which leaf of a tree it is, or by which rule it was captured; the *entropy ratio* is what is
left of the uncertainty about it, and one minus that is the *entropy reduction*:

- ``Dist`` (definition 2): the mean, over rows and attributes, of an attribute's entropy over that of its domain.
- ``Dist_G`` (definition 4, equations 11 and 16): the joint entropy of all values over that of the domain.

All values that the domain allows are taken for equally likely, as in the paper. Attributes with one value have no
entropy to take away, and are left out of ``Dist``.

Several trees reveal more together than each by itself. What is left of the entropy lies between two bounds:

- No more than under what any single tree reveals, nor than under what each row can be by itself
  (`structure.most_left`).
- No less than what the true rows' own cells leave open: somebody who knows each row's cell knows no less
  (`remaining_entropy`).

An attack's problem can narrow them (`pytest_draft.audit.structure`). Rows come in no order in all of this, as in the
paper, where a row stands for whoever is in its leaf.

Of an attribute with more than two values, a threshold can reveal more than its sides. The paper leaves that out; here
it widens the bounds (`pytest_draft.audit.remaining_entropy.Remaining`), so ``Dist_G`` is only the most that can be
left.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from pytest_draft.arrays import BoolArray, FloatArray, IntArray
from pytest_draft.artifact.forest import Forest, Tree
from pytest_draft.artifact.forest.occurrences import occurrences
from pytest_draft.artifact.rules.rule_list import RuleList
from pytest_draft.attack.descent import leaf_positions
from pytest_draft.attack.groups import KnownRows
from pytest_draft.audit.leaf_counting import attribute_sizes, leaf_sizes
from pytest_draft.audit.remaining_entropy import Remaining, ordered_tests, remaining_under_rules, remaining_under_trees
from pytest_draft.audit.rule_counting import captures
from pytest_draft.audit.structure import with_numbers
from pytest_draft.data import TrainingData
from pytest_draft.data.individuals import hundredths
from pytest_draft.domain import Domain
from pytest_draft.errors import DataError, NotCoveredError, OutOfTimeError, one_line
from pytest_draft.facts.entropy import MOST_EXPOSED, Between, Entropy, RowGroup
from pytest_draft.facts.slices import LEAST_ROWS
from pytest_draft.matching import different_rows
from pytest_draft.timebox import TimeBox

_UNITS_PER_LEAF_VALUE = 2e-7
"""Measured: one leaf's bounds in one column."""

_MEASURED_ON = {0: "the rule list", 1: "the tree"}
"""By number of trees."""

_FAR_APART = 0.1
"""Of a range: a column whose values are all further apart is not one of any values."""


@dataclass(frozen=True, eq=False)
class _Evidence:
    """What the regions of a model, leaves or rules, say of its training rows."""

    parts: Sequence[ModelParts]
    """Of a rule list, or of each tree that was looked at."""
    reasons: tuple[str, ...] = ()
    """Why no rule passes by this."""
    row_ratios: FloatArray | None = None
    """Of the parts that leave least, in the rows' order; None where it is not known which row is where."""
    left: tuple[Remaining, IntArray] | None = None
    """What is left of each different row for who knows its place, and how often it is there; None where not known."""


def audit_entropy(
    model: Forest | RuleList,
    domain: Domain,
    data: TrainingData | None,
    timebox: TimeBox,
    inside: BoolArray | None = None,
) -> Entropy:
    """Say how much a rule list, or the trees of a forest, each by itself and at least together, reveal of training
    rows.

    Parameters
    ----------
    model : Forest or RuleList
        With the numbers of rows in its leaves; a rule list of the domain's columns.
    domain : Domain
        For a rule list without missing values.
    data : TrainingData or None
        Needed where the file does not say how many rows each rule captured.
    timebox : TimeBox
        Where it ends, the trees that are left are not looked at.
    inside : ndarray of bool, shape (n_rows,), or None
        Which rows are inliers.

    Raises
    ------
    NotCoveredError
        Where the leaves hold noise, their numbers of rows were removed, the file does not give the number of rows, a
        rule list's domain has missing values, or a domain has one vector only.
    DataError
        Where the domain allows no row of some part; or the numbers of rows are neither in the file nor given.
    """
    if not (attribute_sizes(domain) > 1).any():
        raise NotCoveredError("the domain allows one vector only, so there is no uncertainty to take away")
    if isinstance(model, RuleList):
        n_trees, found = 0, _by_rules(model, domain, data, timebox)
    else:
        n_trees, found = model.n_trees, _by_trees(with_numbers(model, data, timebox), domain, data, timebox)
    ratios = [parts.dist_g for parts in found.parts]
    best = int(np.argmin(ratios))
    parts, row_ratios = found.parts[best], found.row_ratios
    ratio, lowest_row = Between(parts.least, parts.dist_g), parts.lowest_row
    if n_trees > 1:
        ratio = Between(0.0, ratio.upper)
        lowest_row = Between(0.0, min(parts.lowest_row.upper for parts in found.parts))
    groups: list[RowGroup] = []
    exposed: list[int] = []
    if row_ratios is not None and data is not None:
        groups = list(_groups(row_ratios, data, model.classes, inside))
        exposed = np.argsort(row_ratios, kind="stable")[:MOST_EXPOSED].tolist()
    entropy = Entropy(
        bits=parts.domain_bits,
        ratio=ratio,
        lowest_row=lowest_row,
        dist=parts.dist,
        measured_on=_MEASURED_ON.get(n_trees, f"the most revealing tree (number {best} of {n_trees}, from 0)"),
        trees=(min(ratios), float(np.mean(ratios)), max(ratios)) if n_trees else None,
        examined=len(ratios) if n_trees else 0,
        quantiles=hundredths(parts.row_ratios),
        groups=tuple(groups),
        most_exposed=tuple(exposed),
        reasons=found.reasons + (() if data is None else _few_values(domain, data)),
        telling=bool(ordered_tests(model, domain)),
    )
    return entropy if found.left is None else _raised(entropy, *found.left)


def _by_rules(rules: RuleList, domain: Domain, data: TrainingData | None, timebox: TimeBox) -> _Evidence:
    """Count what each rule captured: the rows of the file's own counts, or else of the data."""
    captured = None if data is None else rules.captured(data.rows)
    counted = None if data is None else rules.counts_of(data.rows, data.labels)
    counts = counted if rules.counts is None else rules.counts
    if counts is None:
        raise DataError("the file does not tell how many rows each rule captured: add --draft-data")
    reasons: tuple[str, ...] = ()
    if counted is not None and (wrong := int((counts != counted).any(axis=1).sum())):
        reasons = (
            f"this rule list was not trained on these rows: {wrong:,} of its {rules.n_rules:,} rules captured "
            "other numbers of them",
        )
    parts = parts_of(rules, counts.sum(axis=1), domain, timebox)
    if not parts.exact:
        reasons += (
            "the time was out before all vectors were counted that its rules capture, so its entropy reduction is only "
            "a lower bound: give it more with --draft-budget",
        )
    if captured is None or data is None or reasons:
        return _Evidence([parts], reasons)
    left = None
    if ordered_tests(rules, domain) and not domain.outside(data.rows.astype(float)):
        first, _, times = different_rows(data.rows)
        with suppress(OutOfTimeError, RecursionError):
            left = remaining_under_rules(rules, domain, data.rows[first], captured[first], timebox), times
    return _Evidence([parts], reasons, parts.ratios[captured], left)


def _by_trees(forest: Forest, domain: Domain, data: TrainingData | None, timebox: TimeBox) -> _Evidence:
    """Count what each leaf can hold, tree by tree while there is time, and what all of them leave of the data."""
    if not forest.observation.exact or not forest.trees[0].n_distinct[0]:
        raise NotCoveredError(forest.observation.no_rows)
    n_rows = forest.n_samples if forest.n_samples is not None else (None if data is None else data.n_rows)
    if n_rows is None:
        raise NotCoveredError("the file does not tell the number of training rows: add --draft-data")
    found: list[ModelParts] = []
    for tree in forest.trees:
        rows = tree.n_distinct[tree.leaves]
        cost = _UNITS_PER_LEAF_VALUE * len(rows) * domain.n_columns
        if not timebox.allows(cost):
            break
        timebox.spend(cost)
        found.append(parts_of(tree, rows, domain, timebox, max(0, n_rows - int(rows.sum()))))
    if not found:
        raise NotCoveredError("the time was out before its first tree was looked at: give it more with --draft-budget")
    if data is None:
        return _Evidence(found)
    drawn = _drawn(forest, data.n_rows) if data.n_rows == n_rows else None
    reasons = _doubts(forest, data, n_rows, drawn, timebox)
    if reasons or drawn is None:
        return _Evidence(found, reasons)
    row_ratios = left = None
    if forest.draws.each_once:
        best = int(np.argmin([parts.dist_g for parts in found]))
        row_ratios = found[best].ratios[leaf_positions(forest.trees[best], np.ascontiguousarray(data.rows.T))]
    if forest.n_trees > 1 or not found[0].exact_beside_thresholds:
        first, of_row, times = different_rows(data.rows)
        seen = np.zeros((forest.n_trees, len(first)), dtype=bool)
        for there, often in zip(seen, drawn, strict=True):
            there[of_row[often > 0]] = True
        with suppress(OutOfTimeError):
            left = remaining_under_trees(forest.trees, domain, data.rows[first], seen, timebox), times
    return _Evidence(found, reasons, row_ratios, left)


def _groups(
    ratios: FloatArray, data: TrainingData, classes: tuple[object, ...] | None, inside: BoolArray | None
) -> Iterator[RowGroup]:
    """Yield the figures of the rows of each class, then of inliers and outliers; of none where there is no row.

    Figures on a class that few have would be figures on single people, and say that there are such people.
    """
    of_class = [(f"class {one_line(name, 60)}", data.labels == label) for label, name in enumerate(classes or ())]
    some = [(name, which) for name, which in of_class if which.sum() >= LEAST_ROWS]
    if inside is not None:
        some += [("inliers", inside), ("outliers", ~inside)]
    for name, which in some:
        if which.any():
            yield RowGroup(name, int(which.sum()), float(ratios[which].mean()), float(ratios[which].min()))


def _drawn(forest: Forest, n_rows: int) -> IntArray | None:
    """Return how often each tree saw each row, shape (n_trees, n_rows); None where the file does not say."""
    if forest.draws.each_once:
        return np.broadcast_to(np.int64(1), (forest.n_trees, n_rows))
    try:
        return occurrences(forest)
    except NotCoveredError:
        return None


def _doubts(
    forest: Forest, data: TrainingData, n_rows: int, drawn: IntArray | None, timebox: TimeBox
) -> tuple[str, ...]:
    """Say whether the numbers of rows in the leaves are those of the given rows."""
    if data.n_rows != n_rows:
        return (f"this forest was trained on {n_rows:,} rows, and the data hold {data.n_rows:,}",)
    if drawn is None:
        return ("the file does not tell which rows each tree saw, so it is not known whether these trained it",)
    labels = np.zeros_like(data.labels) if forest.classes is None else data.labels
    everyone = KnownRows(data.rows, labels, drawn)
    for t, tree in enumerate(forest.trees):
        if timebox.over:
            return ("the time was out before it was known whether this forest was trained on these rows",)
        table = everyone.at_leaves(tree, drawn[t], forest.n_classes)
        wrong = (table != forest.counts(t)[tree.leaves]).any(axis=1)
        if wrong.any():
            order = ", or not in this order, which tells what each tree saw" if forest.draws.drawn else ""
            return (
                f"this forest was not trained on these rows{order}: {int(wrong.sum()):,} leaves of tree {t} hold "
                "other numbers of them",
            )
    return ()


def _few_values(domain: Domain, data: TrainingData) -> tuple[str, ...]:
    """Say which numeric columns hold few values, far apart: each was counted as if it could hold any in between."""
    names = []
    for attribute in domain.attributes:
        if attribute.kind == "numeric":
            values = np.unique(data.rows[:, attribute.columns[0]].astype(np.float64))
            steps = np.diff(values[~np.isnan(values)])
            if len(steps) and steps.min() > _FAR_APART * (attribute.high - attribute.low):
                names.append(attribute.name)
    if not names:
        return ()
    return (
        "numeric columns that hold few different values were counted as if they could hold any in between, so the "
        f"entropy reduction is only a lower bound: encode {one_line(', '.join(names))} as whole numbers",
    )


def _raised(entropy: Entropy, left: Remaining, times: IntArray) -> Entropy:
    """Raise the lower bounds to what is left for somebody who knows more than the model reveals."""
    ratio, row = entropy.ratio, entropy.lowest_row
    least = left.of_all(times) / (int(times.sum()) * entropy.bits)
    return replace(
        entropy,
        ratio=Between(min(max(least, ratio.lower), ratio.upper), ratio.upper),
        lowest_row=Between(min(max(left.lowest() / entropy.bits, row.lower), row.upper), row.upper),
    )


@dataclass(frozen=True, eq=False)
class ModelParts:
    """What a model reveals of a row, by the part that it is in: a leaf of a tree, or a rule of a list.

    Raises
    ------
    DataError
        Where there is no row, or the domain allows none in a part that holds one.
    """

    rows: IntArray
    """Shape (n_parts,). Training rows in each part."""
    bits: FloatArray
    """Shape (n_parts,). log2 of the number of vectors that a row there can be; minus infinity for none."""
    shares: FloatArray
    """Shape (n_parts,). Mean of its attributes' entropies, each over that of the attribute's domain; NaN where not
    known.
    """
    domain_bits: float
    """log2 of the number of vectors of the domain, more than 0."""
    bits_at_thresholds: FloatArray
    """Shape (n_parts,). What of `bits` thresholds may reveal besides their sides."""
    unseen: int = 0
    """Training rows of which the model reveals nothing."""
    exact: bool = True
    """Whether all bits are exact; else some are upper bounds."""

    def __post_init__(self) -> None:
        if not self.domain_bits > 0:
            raise ValueError("a domain of one vector holds no uncertainty that could be taken away")
        if not self.n_rows:
            raise DataError("the file counts no training row, so there is nothing to be uncertain of")
        if (self.bits[self.rows > 0] < 0).any():
            raise DataError("the domain allows no row in some place where the file counts one: correct the domain")

    @property
    def n_rows(self) -> int:
        """Training rows in all."""
        return int(self.rows.sum()) + self.unseen

    @cached_property
    def ratios(self) -> FloatArray:
        """``Dist_G`` of a row in each part that holds one, 0 in others, shape (n_parts,)."""
        ratios: FloatArray = np.minimum(1.0, np.where(self.rows > 0, self.bits, 0.0) / self.domain_bits)
        return ratios

    @property
    def dist_g(self) -> float:
        """``Dist_G`` of the whole training data (equations 11 and 16); an upper bound where not `exact`."""
        return min(1.0, float((self.rows @ self.ratios + self.unseen) / self.n_rows))

    @property
    def dist(self) -> float | None:
        """``Dist`` of the whole training data (definition 2); None where a part's is not known."""
        held = self.rows > 0
        if np.isnan(self.shares[held]).any():
            return None
        return float((self.rows[held] @ self.shares[held] + self.unseen) / self.n_rows)

    @property
    def least(self) -> float:
        """A lower bound of ``Dist_G``, thresholds and all."""
        held = self.rows > 0
        at_thresholds = float(self.rows[held] @ self.bits_at_thresholds[held]) / (self.n_rows * self.domain_bits)
        return max(0.0, self.dist_g - at_thresholds) if self.exact else 0.0

    @property
    def lowest_row(self) -> Between:
        """``Dist_G`` of the most exposed row: the same bounds."""
        held = self.rows > 0
        lower = (self.bits[held] - self.bits_at_thresholds[held]).min() / self.domain_bits if self.exact else 0.0
        upper = self.ratios[held].min()
        return Between(max(0.0, min(float(lower), float(upper))), float(upper))

    @property
    def exact_beside_thresholds(self) -> bool:
        """Whether all is exact, and no threshold reveals more than its sides."""
        return self.exact and not self.bits_at_thresholds[self.rows > 0].any()

    @property
    def row_ratios(self) -> FloatArray:
        """``Dist_G`` of each row by itself, ascending, shape (n_rows,)."""
        return np.sort(np.concatenate([np.repeat(self.ratios, self.rows), np.ones(self.unseen)]))


def parts_of(model: Tree | RuleList, rows: IntArray, domain: Domain, timebox: TimeBox, unseen: int = 0) -> ModelParts:
    """Return what one tree or a rule list reveals of its training rows.

    Parameters
    ----------
    model : Tree or RuleList
        A rule list of the domain's columns (`RuleList.resolved`).
    rows : ndarray of int64, shape (n_parts,)
        Different training rows at each leaf, or training rows that each rule captured.
    domain : Domain
        For a rule list without missing values.
    timebox : TimeBox
        Of the counting for a rule list: where it ends, bits are upper bounds.
    unseen : int
        Training rows that the tree was not grown on.
    """
    values, ordered = attribute_sizes(domain), list(ordered_tests(model, domain))
    bits, shares, bits_at_thresholds = np.zeros((3, len(rows)))
    exact = True
    if isinstance(model, Tree):
        for leaves, left in leaf_sizes(model, domain):
            bits[leaves], shares[leaves] = _entropies(left, values)
            bits_at_thresholds[leaves] = _entropies(left[:, ordered], values[ordered])[0]
    else:
        found = captures(model, domain, timebox)
        sizes = [np.full(len(values), math.nan) if part.sizes is None else np.array(part.sizes) for part in found]
        shares = _entropies(np.stack(sizes), values)[1]
        bits = np.array([part.bits for part in found])
        bits_at_thresholds = bits if ordered else bits_at_thresholds
        exact = all(part.exact for part in found)
    return ModelParts(rows, bits, shares, float(np.log2(values).sum()), bits_at_thresholds, unseen, exact)


def _entropies(left: FloatArray, whole: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the joint entropy, and the mean share of the attributes' own, of independent attributes, part by part."""
    with np.errstate(divide="ignore"):
        bits = np.log2(left)
    open_ = whole > 1
    shares = np.mean(bits[:, open_] / np.log2(whole[open_]), axis=1) if open_.any() else np.full(len(left), math.nan)
    return bits.sum(axis=1), shares
