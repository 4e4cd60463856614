"""How much of the uncertainty about its training rows a model takes away: in go model and domain, out comes `Entropy`.

Nothing is searched (Ferry et al., Probabilistic Dataset Reconstruction from Interpretable Models, SaTML 2024). Of each
row the file tells in which leaf of a tree it is, or by which rule it was captured; the *entropy ratio* is what is left
of the uncertainty about it, and one minus that is the *entropy reduction*:

- ``Dist`` (definition 2): the mean, over rows and attributes, of an attribute's entropy over that of its domain.
- ``Dist_G`` (definition 4, equations 11 and 16): the joint entropy of all values over that of the domain.

All values that the domain allows are taken for equally likely, as in the paper. Attributes with one value have no
entropy to take away, and are left out of ``Dist``.

Several trees tell more together than each by itself. A world is then a consistent dataset: how many rows each cell
holds, and a vector of the cell for each of them. What is left of its entropy lies between two bounds:

- No more than under what any single tree tells, nor than under what each row can be by itself (`most_left`).
- No less than what the true rows' own cells leave open: whoever knew each row's cell would know no more (`_by_cell`).

Where it is proved how many rows each cell holds (`Reconstruction.status` ``unique``), no more is left than the vectors
of these cells; without bagging the worlds are just these, and their entropy is known exactly. Rows come in no order in
all of this, as in the paper, where a row stands for whoever is in its leaf.

On a numeric attribute a threshold can tell more than its sides: where two of the training values lie. The paper leaves
that out. Here it widens the bounds: no threshold tells more than one value, to within the tolerance (`Parts.besides`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pytest_draft.artifact.forest import Forest, Tree
from pytest_draft.artifact.rule_list import RuleList
from pytest_draft.attack.problem import Problem, leaf_positions
from pytest_draft.attack.reconstruct import Reconstruction
from pytest_draft.data import TrainingData
from pytest_draft.domain import Domain
from pytest_draft.errors import DataError, NotCoveredError, one_line
from pytest_draft.evaluate.worlds import (
    NUMERIC_VALUES,
    FloatArray,
    attribute_sizes,
    captures,
    cell_sizes,
    leaf_sizes,
    numeric_bounds,
    numeric_tests,
)
from pytest_draft.matching import row_identities
from pytest_draft.timebox import TimeBox

IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Between:
    """A share that is known to lie between two others.

    Attributes
    ----------
    lower, upper : float
        Both proved; the same where it is known exactly.
    """

    lower: float
    upper: float

    def __post_init__(self) -> None:
        if not 0 <= self.lower <= self.upper <= 1:
            raise ValueError(f"no bounds of a share: {self.lower} and {self.upper}")

    @property
    def exact(self) -> float | None:
        """The share; None where it is only bounded."""
        return self.lower if self.lower == self.upper else None

    @property
    def rest(self) -> Between:
        """What is missing to 1."""
        return Between(1 - self.upper, 1 - self.lower)


@dataclass(frozen=True, eq=False)
class Parts:
    """What a model tells of a row, by the part that it is in: a leaf of a tree, or a rule of a list.

    Attributes
    ----------
    rows : ndarray of int64, shape (n_parts,)
        Training rows in each part.
    bits : ndarray of float64, shape (n_parts,)
        log2 of the number of vectors that a row there can be; minus infinity for none.
    shares : ndarray of float64, shape (n_parts,)
        Mean of its attributes' entropies, each over that of the attribute's domain; NaN where not known.
    domain_bits : float
        log2 of the number of vectors of the domain, more than 0.
    numeric_bits : ndarray of float64, shape (n_parts,)
        What of `bits` is about numeric attributes that are tested.
    besides : float
        The most bits that thresholds on numeric attributes tell of all rows besides.
    unseen : int
        Training rows of which the model tells nothing.
    exact : bool
        Whether all bits are exact; else some are upper bounds.

    Raises
    ------
    DataError
        Where there is no row, or the domain allows none in a part that holds one.
    """

    rows: IntArray
    bits: FloatArray
    shares: FloatArray
    domain_bits: float
    numeric_bits: FloatArray
    besides: float = 0.0
    unseen: int = 0
    exact: bool = True

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
        return max(0.0, self.dist_g - self.besides / (self.n_rows * self.domain_bits)) if self.exact else 0.0

    @property
    def lowest_row(self) -> Between:
        """``Dist_G`` of the most exposed row: the same bounds."""
        held = self.rows > 0
        lower = (self.bits - self.numeric_bits)[held].min() / self.domain_bits if self.exact else 0.0
        upper = self.ratios[held].min()
        return Between(max(0.0, min(float(lower), float(upper))), float(upper))

    @property
    def row_ratios(self) -> FloatArray:
        """``Dist_G`` of each row by itself, ascending, shape (n_rows,)."""
        return np.sort(np.concatenate([np.repeat(self.ratios, self.rows), np.ones(self.unseen)]))


def parts_of_tree(tree: Tree, rows: IntArray, domain: Domain, unseen: int = 0) -> Parts:
    """Return what one tree tells of its training rows.

    Parameters
    ----------
    tree : Tree
    rows : ndarray of int64, shape (n_leaves,)
        Different training rows at each leaf.
    domain : Domain
    unseen : int
        Training rows that the tree was not grown on.

    Returns
    -------
    Parts
    """
    whole, left = attribute_sizes(domain), leaf_sizes(tree, domain)
    bits, shares = _entropies(left, whole)
    tested = numeric_tests([tree], domain)
    numeric = _entropies(left[:, list(tested)], whole[list(tested)])[0]
    return Parts(rows, bits, shares, float(np.log2(whole).sum()), numeric, _besides(tested), unseen)


def parts_of_rules(rules: RuleList, rows: IntArray, domain: Domain, timebox: TimeBox) -> Parts:
    """Return what a rule list tells of its training rows.

    Parameters
    ----------
    rules : RuleList
        Of the domain's columns (`RuleList.resolved`).
    rows : ndarray of int64, shape (n_rules,)
        Training rows that each rule captured.
    domain : Domain
        Without missing values.
    timebox : TimeBox
        Of the counting: where it ends, bits are upper bounds.

    Returns
    -------
    Parts
    """
    whole, found = attribute_sizes(domain), captures(rules, domain, timebox)
    sizes = [np.full(len(whole), math.nan) if part.sizes is None else np.array(part.sizes) for part in found]
    _, shares = _entropies(np.stack(sizes), whole)
    bits = np.array([part.bits for part in found])
    tested = numeric_bounds(rules, domain)
    numeric = np.full(len(bits), np.log2(whole[list(tested)]).sum())
    exact = all(part.exact for part in found)
    return Parts(rows, bits, shares, float(np.log2(whole).sum()), numeric, _besides(tested), exact=exact)


def _besides(tested: Mapping[int, int]) -> float:
    """Return the most bits that thresholds tell besides their sides, given their number by numeric attribute."""
    return sum(tested.values()) * math.log2(NUMERIC_VALUES)


def _entropies(left: FloatArray, whole: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the joint entropy, and the mean share of the attributes' own, of independent attributes, part by part."""
    with np.errstate(divide="ignore"):
        bits = np.log2(left)
    open_ = whole > 1
    shares = np.mean(bits[:, open_] / np.log2(whole[open_]), axis=1) if open_.any() else np.full(len(left), math.nan)
    return bits.sum(axis=1), shares


MOST_EXPOSED = 10
"""How many of the most exposed rows are named, by index."""

_UNITS_PER_LEAF_VALUE = 1e-7  # measured: one leaf's bounds in one column


@dataclass(frozen=True)
class RowGroup:
    """The entropy ratios of some training rows.

    Attributes
    ----------
    name : str
        Which rows: a class, inliers or outliers.
    rows : int
        At least one.
    mean, lowest : float
        Of the rows' own ratios.
    """

    name: str
    rows: int
    mean: float
    lowest: float


@dataclass(frozen=True)
class Entropy:
    """How much uncertainty a model leaves about its training rows. All ratios: 1 tells nothing, 0 tells all.

    Attributes
    ----------
    bits : float
        log2 of the number of vectors that the domain allows: the uncertainty of a row before.
    ratio : Between
        ``Dist_G`` of the whole training data, by all that the model tells.
    lowest_row : Between
        ``Dist_G`` of the most exposed row.
    dist : float or None
        ``Dist``, by what `told_by` says; None where it could not be counted in time.
    told_by : str
        What the figures on rows are about: the tree, the rule list, the most telling tree, or all trees together.
    trees : tuple of float or None
        Lowest, mean and highest ``Dist_G`` of the trees by themselves; None for a rule list.
    examined : int
        How many trees these are.
    quantiles : tuple of float, length 101
        Of the rows' ratios: the lowest, that of each further hundredth of the rows, the highest (the paper's figure 4).
    groups : tuple of RowGroup
        By class, and by inliers and outliers; empty where it is not known which row is where.
    most_exposed : tuple of int
        Indices of the rows with the lowest ratios, at most `MOST_EXPOSED`.
    reasons : tuple of str
        Why no rule passes by this; empty where nothing stands in the way.
    """

    bits: float
    ratio: Between
    lowest_row: Between
    dist: float | None
    told_by: str
    trees: tuple[float, float, float] | None
    examined: int
    quantiles: tuple[float, ...]
    groups: tuple[RowGroup, ...] = ()
    most_exposed: tuple[int, ...] = ()
    reasons: tuple[str, ...] = ()


def audit_rules(
    rules: RuleList,
    domain: Domain,
    data: TrainingData | None,
    timebox: TimeBox,
    inside: NDArray[np.bool_] | None = None,
) -> Entropy:
    """Say how much a rule list tells of its training rows.

    Parameters
    ----------
    rules : RuleList
        Of the domain's columns.
    domain : Domain
        Without missing values.
    data : TrainingData or None
        Needed where the file does not tell how many rows each rule captured.
    timebox : TimeBox
    inside : ndarray of bool, shape (n_rows,), or None
        Which rows are inliers.

    Returns
    -------
    Entropy

    Raises
    ------
    NotCoveredError
        Where the domain has missing values, or one vector only.
    DataError
        Where the domain allows no row that a rule captured; or the numbers of rows are neither told nor given.
    """
    _require_uncertain(domain)
    captured = None if data is None else rules.captured(data.rows)
    told = rules.counts
    if told is None and (captured is None or data is None):
        raise DataError("the file does not tell how many rows each rule captured: add --draft-data")
    reasons: tuple[str, ...] = ()
    if captured is not None and data is not None:
        counted = np.zeros((rules.n_rules, len(rules.classes)), dtype=np.int64)
        np.add.at(counted, (captured, data.labels), 1)
        if told is None:
            told = counted
        elif wrong := int((told != counted).any(axis=1).sum()):
            reasons = (
                f"this rule list was not trained on these rows: {wrong:,} of its {rules.n_rules:,} rules captured "
                "other numbers of them",
            )
    assert told is not None
    parts = parts_of_rules(rules, told.sum(axis=1), domain, timebox)
    if not parts.exact:
        reasons += (
            "the time was out before all vectors were counted that its rules capture, so its entropy reduction is only "
            "a lower bound: give it more with --draft-budget",
        )
    row_ratios = None if captured is None or reasons else parts.ratios[captured]
    return _entropy(parts, "the rule list", row_ratios, data, _names(rules.classes), inside, reasons)


def audit_forest(
    forest: Forest, domain: Domain, data: TrainingData | None, timebox: TimeBox, inside: NDArray[np.bool_] | None = None
) -> Entropy:
    """Say how much the trees of a forest tell of its training rows, each by itself and at least together.

    Parameters
    ----------
    forest : Forest
        With the numbers of rows in its leaves.
    domain : Domain
    data : TrainingData or None
    timebox : TimeBox
        Where it ends, the trees that are left are not looked at.
    inside : ndarray of bool, shape (n_rows,), or None
        Which rows are inliers.

    Returns
    -------
    Entropy

    Raises
    ------
    NotCoveredError
        Where the leaves hold noise, the file does not tell the number of rows, or the domain has one vector only.
    DataError
        Where the domain allows no row of some leaf.
    """
    if forest.is_private:
        raise NotCoveredError("its leaves do not hold the numbers of rows, but what a mechanism released")
    _require_uncertain(domain)
    n_rows = forest.n_samples if forest.n_samples is not None else (None if data is None else data.n_rows)
    if n_rows is None:
        raise NotCoveredError("the file does not tell the number of training rows: add --draft-data")
    found: list[Parts] = []
    for tree in forest.trees:
        if found and timebox.over:
            break
        rows = tree.n_distinct[tree.leaves]
        timebox.spend(_UNITS_PER_LEAF_VALUE * len(rows) * domain.n_columns)
        found.append(parts_of_tree(tree, rows, domain, max(0, n_rows - int(rows.sum()))))
    ratios = [parts.dist_g for parts in found]
    best = int(np.argmin(ratios))
    reasons = () if data is None else _doubts(forest, data, n_rows, timebox)
    placed = data is not None and not reasons and not forest.bootstrap and forest.row_times is None
    row_ratios = None
    if placed and data is not None:
        tree = forest.trees[best]
        row_ratios = found[best].ratios[leaf_positions(tree, np.ascontiguousarray(data.rows.T))]
    one = forest.n_trees == 1
    told_by = "the tree" if one else f"tree {best} of {forest.n_trees}, the most telling one"
    entropy = _entropy(found[best], told_by, row_ratios, data, _names(forest.classes), inside, reasons)
    entropy = replace(entropy, trees=(min(ratios), float(np.mean(ratios)), max(ratios)), examined=len(found))
    if one:
        return entropy
    lowest = min(parts.lowest_row.upper for parts in found)
    floor, row_floor = (0.0, 0.0) if data is None or reasons else _by_cell(forest, domain, data)
    return replace(
        entropy,
        ratio=Between(min(floor, entropy.ratio.upper), entropy.ratio.upper),
        lowest_row=Between(min(row_floor, lowest), lowest),
    )


def together(entropy: Entropy, problem: Problem, reconstruction: Reconstruction | None = None) -> Entropy:
    """Narrow what is left under all trees together by what the attack knows.

    Parameters
    ----------
    entropy : Entropy
        Of a forest of several trees.
    problem : Problem
        With exact noise, and all rows unknown.
    reconstruction : Reconstruction or None
        Where it is ``unique`` and each tree saw all rows, the entropy is known exactly.

    Returns
    -------
    Entropy
    """
    upper = min(entropy.ratio.upper, most_left(problem) / (problem.groups.n_rows * entropy.bits))
    if reconstruction is not None and reconstruction.status == "unique" and reconstruction.cells is not None:
        ratios = np.minimum(1.0, np.log2(problem.cells.n_vectors[reconstruction.cells]) / entropy.bits)
        exact = float(ratios.mean())
        if not _each_saw_all(problem):
            upper = min(upper, exact)
            return replace(entropy, ratio=Between(min(entropy.ratio.lower, upper), upper))
        return replace(
            entropy,
            ratio=Between(exact, exact),
            lowest_row=Between(float(ratios.min()), float(ratios.min())),
            told_by="all trees together",
            dist=None,
            quantiles=_quantiles(ratios),
            groups=(),
            most_exposed=(),
        )
    return replace(entropy, ratio=Between(min(entropy.ratio.lower, upper), upper))


def most_left(problem: Problem) -> float:
    """Return an upper bound of the joint entropy, in bits, by what each row can be after domain reduction.

    Without bagging a row is of a known class, and in a known leaf of one tree: the tree that leaves least is taken.
    With known occurrences, a row is known by the trees that have drawn it.

    Parameters
    ----------
    problem : Problem
        With exact noise and all candidates.
    """
    vectors = problem.cells.n_vectors[problem.cell].astype(np.float64)
    groups = problem.groups
    if _each_saw_all(problem):
        bits = []
        for t, counts in enumerate(problem.counts):
            held = np.zeros(counts.shape)
            np.add.at(held, (problem.cells.signature[t, problem.cell], problem.label), vectors)
            some = counts > 0
            bits.append(float(counts[some] @ np.log2(held[some])))
        return min(bits)
    pairs = np.unique(np.stack([problem.group, problem.cell]), axis=1)
    of_group = np.bincount(pairs[0], problem.cells.n_vectors[pairs[1]].astype(np.float64), minlength=groups.n_groups)
    return float(groups.size @ np.log2(of_group))


def _each_saw_all(problem: Problem) -> bool:
    """Return whether each tree saw each row once."""
    return problem.groups.n_groups == 1 and bool((problem.groups.weight == 1).all())


def _require_uncertain(domain: Domain) -> None:
    if not (attribute_sizes(domain) > 1).any():
        raise NotCoveredError("the domain allows one vector only, so there is no uncertainty to take away")


def _entropy(
    parts: Parts,
    told_by: str,
    row_ratios: FloatArray | None,
    data: TrainingData | None,
    names: Sequence[str],
    inside: NDArray[np.bool_] | None,
    reasons: tuple[str, ...],
) -> Entropy:
    """Return the figures of one tree or rule list; those on single rows where it is known where each is."""
    groups: list[RowGroup] = []
    exposed: tuple[int, ...] = ()
    if row_ratios is not None and data is not None:
        groups = list(_groups(row_ratios, data, names, inside))
        exposed = tuple(np.argsort(row_ratios, kind="stable")[:MOST_EXPOSED].tolist())
    return Entropy(
        bits=parts.domain_bits,
        ratio=Between(parts.least, parts.dist_g),
        lowest_row=parts.lowest_row,
        dist=parts.dist,
        told_by=told_by,
        trees=None,
        examined=0,
        quantiles=_quantiles(parts.row_ratios),
        groups=tuple(groups),
        most_exposed=exposed,
        reasons=reasons,
    )


def _groups(
    ratios: FloatArray, data: TrainingData, names: Sequence[str], inside: NDArray[np.bool_] | None
) -> Iterator[RowGroup]:
    """Yield the figures of the rows of each class, then of inliers and outliers; of none where there is no row."""
    some = [(f"class {name}", data.labels == label) for label, name in enumerate(names)]
    if inside is not None:
        some += [("inliers", inside), ("outliers", ~inside)]
    for name, which in some:
        if which.any():
            yield RowGroup(name, int(which.sum()), float(ratios[which].mean()), float(ratios[which].min()))


def _names(classes: tuple[object, ...] | None) -> list[str]:
    return [] if classes is None else [one_line(label, 60) for label in classes]


def _quantiles(ratios: FloatArray) -> tuple[float, ...]:
    found = np.quantile(ratios, np.linspace(0, 1, 101), method="inverted_cdf")
    return tuple(found.tolist())


def _doubts(forest: Forest, data: TrainingData, n_rows: int, timebox: TimeBox) -> tuple[str, ...]:
    """Say whether the numbers of rows in the leaves can be those of the given rows, whatever their order."""
    if data.n_rows != n_rows:
        return (f"this forest was trained on {n_rows:,} rows, and the data hold {data.n_rows:,}",)
    label = data.labels.astype(np.float32)[:, None]
    (identity,) = row_identities(np.hstack([data.rows, label]))
    _, first, times = np.unique(identity, return_index=True, return_counts=True)
    columns, labels = np.ascontiguousarray(data.rows[first].T), data.labels[first]
    once = not forest.bootstrap and forest.row_times is None
    for t, tree in enumerate(forest.trees):
        if timebox.over:
            return ("the time was out before it was known whether this forest was trained on these rows",)
        table = np.zeros((len(tree.leaves), forest.n_classes), dtype=np.int64)
        np.add.at(table, (leaf_positions(tree, columns), labels), times)
        if once:
            wrong = (table != forest.counts(t)[tree.leaves]).any(axis=1)
        else:
            wrong = table.sum(axis=1) < tree.n_distinct[tree.leaves]
        if wrong.any():
            return (
                f"this forest was not trained on these rows: {int(wrong.sum()):,} leaves of tree {t} hold other "
                "numbers of them",
            )
    return ()


def _by_cell(forest: Forest, domain: Domain, data: TrainingData) -> tuple[float, float]:
    """Return lower bounds of ``Dist_G``, of all rows and of the most exposed one.

    They are what is left for somebody who knows the leaf of each true row in every tree, and what each threshold on a
    numeric attribute can tell.
    """
    (identity,) = row_identities(data.rows)
    _, first, times = np.unique(identity, return_index=True, return_counts=True)
    sizes, whole = cell_sizes(forest, domain, data.rows[first]), attribute_sizes(domain)
    tested = numeric_tests(forest.trees, domain)
    bits = np.log2(np.maximum(1.0, sizes))
    by_row = bits.sum(axis=1) - bits[:, list(tested)].sum(axis=1)
    total, most = float(times @ bits.sum(axis=1)) - _besides(tested), float(np.log2(whole).sum())
    return max(0.0, total / (data.n_rows * most)), max(0.0, float(by_row.min()) / most)
