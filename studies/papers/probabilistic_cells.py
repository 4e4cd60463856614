"""What is computed in a cell of the probabilistic paper's results: in go its parameters, out come measured models.

Section V of Ferry et al., Probabilistic Dataset Reconstruction from Interpretable Models (SaTML 2024): trees and rule
lists of one test a rule, greedy and optimal in training accuracy, over limits of size and of the least share of the
training rows that a leaf or rule holds; of each model, what it leaves of the uncertainty about its training rows.

As in the paper each column is a Boolean of its own. Beside that stands what a gate measures, in the domain that it
infers, where a one-hot group is one attribute. Models are those of the authors' scripts where these fix them: their
draws, splits and seeds. A limit is met by ``int(share * rows)`` rows for all learners; the authors' greedy lists
round up.

Several optimal models can give away different amounts, by more than greedy and optimal ones differ: of equally good
lists of 10 rules for COMPAS some leave .731 and some .766. Here the first found of the smallest is measured; the paper
does not say which.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split
from sklearn.utils.random import sample_without_replacement

from pytest_draft.artifact.forest import Tree
from pytest_draft.artifact.rules.rule_list import RuleList
from pytest_draft.attack.descent import leaf_positions
from pytest_draft.audit.entropy import ModelParts, parts_of
from pytest_draft.domain import Domain, declared, infer
from pytest_draft.errors import DataError, one_line
from pytest_draft.timebox import TimeBox
from studies.cells import Plain
from studies.learners import cart, greedy_rules, optimal_rules, optimal_trees
from studies.papers.load import load

BoolArray = NDArray[np.bool_]
Learner = Literal["CART", "optimal trees", "greedy rules", "optimal rules"]
Model: TypeAlias = "Tree | RuleList"

DRAWN = {"adult": 0.1}
"""Shares of the tables' rows that are drawn before they are split; the paper's."""

TEST_SHARE = 0.2
"""Share of the drawn rows that are held back for the test accuracy; the paper's."""

_COUNTING_SECONDS = 60.0
"""Limit of counting the worlds of one rule list; that it is met is an error, as a bound is no figure."""


@dataclass(frozen=True)
class Line:
    """One model, measured."""

    data: str
    learner: str
    seed: int
    support: float
    """Least share of the training rows in a leaf or rule."""
    depth: int
    """Limit of a tree's depth, or of a list's rules without the default."""
    size: int
    """Splits of a tree, or rules of a list without the default."""
    majority: float
    """Share of the training rows that are of the more frequent class."""
    train_accuracy: float
    test_accuracy: float
    dist_g: float
    """Of definition 4, each column a Boolean."""
    dist_g_one_hot: float
    """Of definition 4 in the inferred domain."""
    lowest: float
    median: float
    highest: float
    """`lowest`, `median` and `highest`: ``Dist_G`` of a row by itself, each column a Boolean."""
    certified: bool
    """Whether the model is proven to be optimal; False for greedy ones."""


@dataclass(frozen=True, eq=False, repr=False)
class _Split:
    """The rows of one seed; their text tells none of them."""

    columns: tuple[str, ...]
    features: BoolArray
    labels: BoolArray
    test_features: BoolArray
    test_labels: BoolArray

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.labels)} training rows, {len(self.test_labels)} others)"


def models(*, data: Path, learner: Learner, seed: int, support: float, depths: str, limit: float) -> dict[str, Plain]:
    """Learn models of several limits of size, and measure what each gives away.

    Parameters
    ----------
    data : Path
        A CSV file of zeros and ones, the label last.
    seed : int
        The authors' are 0 to 4.
    depths : str
        Numbers with blanks between them.
    limit : float
        Of each search for an optimal model, in seconds.

    Returns
    -------
    dict
        ``models``: a list of `Line` as JSON; and the ``load``.
    """
    split = _split(data, seed)
    domains = _booleans(split.columns), infer(split.columns, split.features.astype(np.float64))
    lines = []
    for depth, model, certified in _models(
        split, seed, support, learner, [int(depth) for depth in depths.split()], limit
    ):
        size = model.n_rules - 1 if isinstance(model, RuleList) else model.n_nodes - len(model.leaves)
        parts, aware = (_parts(model, domain) for domain in domains)
        ratios = parts.row_ratios
        line = Line(
            data=data.stem,
            learner=learner,
            seed=seed,
            support=support,
            depth=depth,
            size=size,
            majority=float(max(split.labels.mean(), 1 - split.labels.mean())),
            train_accuracy=_accuracy(model, split.features, split.labels),
            test_accuracy=_accuracy(model, split.test_features, split.test_labels),
            dist_g=parts.dist_g,
            dist_g_one_hot=aware.dist_g,
            lowest=float(ratios[0]),
            median=float(np.median(ratios)),
            highest=float(ratios[-1]),
            certified=certified,
        )
        lines.append(asdict(line))
    return {"models": json.dumps(lines), "load": load()}


def _models(
    split: _Split, seed: int, support: float, learner: Learner, depths: Sequence[int], seconds: float
) -> Iterator[tuple[int, Model, bool]]:
    """Yield depth, model, and whether it is certified."""
    least = max(1, int(support * len(split.labels)))
    if learner == "optimal rules":
        lists = optimal_rules.learn(split.features, split.labels, max(depths), least, TimeBox(seconds))
        yield from ((depth, lists[depth - 1].rules, lists[depth - 1].certified) for depth in depths)
    elif learner == "optimal trees":
        trees = optimal_trees.learn(split.features, split.labels, max(depths), least, TimeBox(seconds))
        yield from ((depth, trees[depth - 1].tree, trees[depth - 1].certified) for depth in depths)
    elif learner == "CART":
        yield from ((d, cart.learn(split.features, split.labels, d, least, 1 + seed), False) for d in depths)
    else:
        yield from ((d, greedy_rules.learn(split.features, split.labels, d, least), False) for d in depths)


def _split(path: Path, seed: int) -> _Split:
    """Return the training and test rows of a table."""
    table = pd.read_csv(path)
    values = table.to_numpy()
    if not np.isin(values, (0, 1)).all():
        raise DataError(f"{one_line(path.name)}: this study takes columns of zeros and ones; binarize the others")
    values = values.astype(bool)
    if path.stem in DRAWN:
        n_drawn = int(DRAWN[path.stem] * len(values))
        values = values[sample_without_replacement(len(values), n_drawn, random_state=seed)]
    train, test = train_test_split(values, test_size=TEST_SHARE, random_state=seed)
    return _Split(tuple(table.columns[:-1]), train[:, :-1], train[:, -1], test[:, :-1], test[:, -1])


def _booleans(columns: tuple[str, ...]) -> Domain:
    """Return the paper's domain."""
    return declared(columns, {name: {"kind": "binary"} for name in columns}, "each column a Boolean")


def _parts(model: Model, domain: Domain) -> ModelParts:
    """Return what a model tells of its training rows."""
    if isinstance(model, Tree):
        return parts_of(model, np.rint(model.weight[model.leaves]).astype(np.int64), domain, TimeBox(10))
    counts = model.counts
    if counts is None:
        raise ValueError("a rule list without counts tells nothing of its rows")
    parts = parts_of(model.resolved(domain.columns), counts.sum(axis=1), domain, TimeBox(_COUNTING_SECONDS))
    if not parts.exact:
        raise RuntimeError(f"counting the worlds of {model.n_rules} rules took more than {_COUNTING_SECONDS:g} s")
    return parts


def _accuracy(model: Model, features: BoolArray, labels: BoolArray) -> float:
    """Return the share of rows whose label a model predicts."""
    if isinstance(model, RuleList):
        predictions = np.array([rule.prediction for rule in model.rules])[model.captured(features.astype(np.float64))]
    else:
        at = leaf_positions(model, np.ascontiguousarray(features.T, dtype=np.float32))
        predictions = model.value[model.leaves].argmax(axis=1)[at]
    return float(np.mean(predictions == labels))
