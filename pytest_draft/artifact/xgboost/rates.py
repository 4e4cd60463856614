"""The learning rate and lambda of an XGBoost model, which its file may not hold, from what its nodes say.

The gradients of a node are its children's together. With its step b = -G / (H + lambda) and its sum of hessians H a
node says G if lambda is known, and so does a leaf if the learning rate is, too. So each node that splits is one
equation of these two numbers; where no numbers solve all of them, the steps are not what they are taken for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pytest_draft.arrays import FloatArray
from pytest_draft.artifact.xgboost.trees import XGBoostTree

SINGLE = 2.0**-24
"""Relative error of rounding to single precision."""

_WORST = 2.0
"""How many times its bound on rounding an equation may be off."""

_SURE = 0.02
"""An error of lambda, relative to 1 or to itself, from which on the equations do not tell it."""

_ROUNDS = 20


@dataclass(frozen=True)
class Rates:
    """The learning rate and lambda, with how far each can be off."""

    learning_rate: float
    reg_lambda: float
    learning_rate_error: float = 0.0
    reg_lambda_error: float = 0.0


def rates_of(trees: Sequence[XGBoostTree], limit: float, stated: Rates | None) -> Rates | None:
    """Find the rates that explain all nodes.

    Parameters
    ----------
    limit : float
        ``max_delta_step``: steps of this size were cut off and say nothing; infinite for none.
    stated : Rates or None
        What the file says of them. It can be about another training.

    Returns
    -------
    Rates or None
        None where none do, or where the nodes do not tell them.
    """
    equations = _Equations.of(trees, limit)
    if stated is not None and equations.hold(stated):
        return stated
    if not len(equations.right):
        return None
    # The default, where nodes are too few or too alike to tell lambda.
    found = equations.solved() or equations.with_lambda(1.0, 0.0)
    return found if found is not None and equations.hold(found) else None


@dataclass(frozen=True, eq=False, repr=False)
class _Equations:
    """Of each node that splits: a (leaf_hessian + lambda leaf) + lambda inner = right, with a = 1 / learning rate."""

    leaf_hessian: FloatArray
    leaf: FloatArray
    inner: FloatArray
    right: FloatArray
    magnitude: tuple[FloatArray, ...]
    """Sums of magnitudes of what is added up: of steps times hessians, steps, and the same of what leaves add."""

    @classmethod
    def of(cls, trees: Sequence[XGBoostTree], limit: float) -> _Equations:
        parts = zip(*(_columns(tree, limit) for tree in trees), strict=True)
        leaf_hessian, leaf, inner, right, *magnitude = (np.concatenate(part) for part in parts)
        return cls(leaf_hessian, leaf, inner, right, tuple(magnitude))

    def _scale(self, a: float, reg_lambda: float) -> FloatArray:
        """Return what rounding can add to each."""
        hessian, step, leaf_hessian, leaf = self.magnitude
        # A step and a sum of hessians are rounded once, what a leaf adds twice.
        return SINGLE * (2 * hessian + reg_lambda * step + a * (3 * leaf_hessian + 2 * reg_lambda * leaf)) + 1e-300

    def _off(self, a: float, reg_lambda: float) -> FloatArray:
        return a * (self.leaf_hessian + reg_lambda * self.leaf) + reg_lambda * self.inner - self.right

    def hold(self, rates: Rates) -> bool:
        """Return whether all are solved but for rounding."""
        a, reg_lambda = 1 / rates.learning_rate, rates.reg_lambda
        _, step, leaf_hessian, leaf = self.magnitude
        error = rates.reg_lambda_error * (step + a * leaf) + rates.learning_rate_error * a**2 * (
            leaf_hessian + reg_lambda * leaf
        )
        return bool((np.abs(self._off(a, reg_lambda)) <= _WORST * self._scale(a, reg_lambda) + error).all())

    def solved(self) -> Rates | None:
        """Return both numbers, rounded to short ones where the equations allow it; None where they do not tell them."""
        scale = self._scale(1.0, 1.0)
        lines = np.stack([self.leaf_hessian, self.leaf, self.inner], axis=1) / scale[:, None]
        a, _, reg_lambda = np.linalg.lstsq(lines, self.right / scale, rcond=None)[0]
        error = np.inf
        for _ in range(_ROUNDS):
            if not (np.isfinite(a) and np.isfinite(reg_lambda) and 1e-6 < a < 1e9 and abs(reg_lambda) < 1e9):
                return None
            scale = self._scale(a, abs(reg_lambda))
            lines = np.stack([self.leaf_hessian + reg_lambda * self.leaf, a * self.leaf + self.inner], axis=1)
            lines /= scale[:, None]
            size = np.linalg.norm(lines, axis=0)
            if not (size > 0).all():
                return None
            step, _, rank, values = np.linalg.lstsq(lines / size, -self._off(a, reg_lambda) / scale, rcond=None)
            if rank < 2:
                return None
            a, reg_lambda = a + step[0] / size[0], reg_lambda + step[1] / size[1]
            error = _WORST * 2 / (values[-1] * size[1])
        if not error <= _SURE * max(1.0, abs(reg_lambda)):
            return None
        reg_lambda, error = _shortened(reg_lambda, error)
        return None if reg_lambda < 0 else self.with_lambda(reg_lambda, error)

    def with_lambda(self, reg_lambda: float, error: float) -> Rates | None:
        """Return the learning rate, too, where lambda is known; None where no equation tells it."""
        known = self.leaf_hessian + reg_lambda * self.leaf
        a, scale = 1.0, self._scale(1.0, reg_lambda)
        size = 0.0
        for _ in range(3):
            weighted = known / scale
            size = float(weighted @ weighted)
            if not size > 0:
                return None
            a = float(weighted @ ((self.right - reg_lambda * self.inner) / scale)) / size
            if not 1e-6 < a < 1e9:
                return None
            scale = self._scale(a, reg_lambda)
        off_by_lambda = float(np.abs(known / scale / size) @ (np.abs(a * self.leaf + self.inner) / scale)) * error
        learning_rate, rate_error = _shortened(1 / a, (_WORST * 2 / np.sqrt(size) + off_by_lambda) / a**2)
        if not (learning_rate > 0 and rate_error <= _SURE * learning_rate):
            return None
        return Rates(learning_rate, reg_lambda, rate_error, error)


def _columns(tree: XGBoostTree, limit: float) -> Iterator[FloatArray]:
    """Yield the parts of the equations of a tree's nodes."""
    own, left, right = tree.inner, tree.tree.left, tree.tree.right
    is_inner, value = left >= 0, tree.tree.value[:, 0]
    step = np.where(is_inner, tree.step, 0.0)
    cut = (np.abs(tree.step) >= limit * (1 - 1e-6)) if np.isfinite(limit) else np.zeros(len(left), np.bool_)
    if np.isfinite(limit):  # a leaf was cut off if it adds most: the learning rate is not known yet
        most = np.abs(value).max(initial=0.0)
        cut |= ~is_inner & (np.abs(value) >= most * (1 - 1e-6))
    own = own[~(cut[own] | cut[left[own]] | cut[right[own]])]
    ends = (left[own], right[own])
    hessian = tree.hessian
    yield sum((value * hessian)[end] for end in ends) + np.zeros(len(own))
    yield sum(value[end] for end in ends) + np.zeros(len(own))
    yield sum(step[end] for end in ends) - step[own]
    yield (step * hessian)[own] - sum((step * hessian)[end] for end in ends)
    sizes = np.abs(step), np.abs(value)
    yield (sizes[0] * hessian)[own] + sum((sizes[0] * hessian)[end] for end in ends)
    yield sizes[0][own] + sum(sizes[0][end] for end in ends)
    yield sum((sizes[1] * hessian)[end] for end in ends) + np.zeros(len(own))
    yield sum(sizes[1][end] for end in ends) + np.zeros(len(own))


def _shortened(found: float, error: float) -> tuple[float, float]:
    """Return a number of at most four digits within an error, in single precision and without one; else the number."""
    if abs(found) <= error:
        return 0.0, 0.0
    for digits in range(1, 5):
        short = float(f"{found:.{digits}g}")
        if abs(short - found) <= error:
            return float(np.float32(short)), 0.0
    return found, error
