"""What a model reveals of a row by the leaf or rule that it falls into: `ModelParts`.

A part is a leaf of a tree, or what a rule of a list captures. All values that the domain allows are taken for equally
likely (Ferry et al., Probabilistic Dataset Reconstruction from Interpretable Models, SaTML 2024).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pytest_draft.arrays import FloatArray, IntArray
from pytest_draft.artifact.forest import Tree
from pytest_draft.artifact.rules.rule_list import RuleList
from pytest_draft.audit.leaf_counting import attribute_sizes, leaf_sizes
from pytest_draft.audit.remaining_entropy import ordered_tests
from pytest_draft.audit.rule_counting import captures
from pytest_draft.domain import Domain
from pytest_draft.errors import DataError
from pytest_draft.facts.entropy import Between
from pytest_draft.timebox import TimeBox


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
