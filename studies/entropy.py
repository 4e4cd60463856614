"""How much greedy and optimal models give away: in go tables of zeros and ones, out come trends and figures.

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

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import product
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
from studies import entropy_figures, entropy_trends
from studies.cells import Plain, Study
from studies.learners import cart, dl85, greedy_rules, optimal_rules, optimal_trees
from studies.options import add_cells, add_seeds, add_tables, datasets_of, rows_of

BoolArray = NDArray[np.bool_]
Learner = Literal["CART", "optimal trees", "DL8.5", "greedy rules", "optimal rules"]
Model: TypeAlias = "Tree | RuleList"

LEARNERS: tuple[Learner, ...] = ("CART", "optimal trees", "greedy rules", "optimal rules", "DL8.5")
"""All learners; the last one needs pydl8.5."""

DRAWN = {"adult": 0.1}
"""Shares of the tables' rows that are drawn before they are split; the paper's."""

TEST_SHARE = 0.2
"""Share of the drawn rows that are held back for the test accuracy; the paper's."""

SHARES = np.linspace(0.0, 1.0, 101)
"""Where the distribution of the rows' ratios is told."""

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
    dist: float
    """`dist_g` and `dist`: of definitions 4 and 2, each column a Boolean; `dist` is NaN where it is not known."""
    dist_g_one_hot: float
    """Of definition 4 in the inferred domain."""
    lowest: float
    median: float
    highest: float
    """`lowest`, `median` and `highest`: ``Dist_G`` of a row by itself, each column a Boolean."""
    certified: bool
    """Whether the model is proven to be optimal, or claimed by DL8.5 to be; False for greedy ones."""
    seconds: float
    """Of learning; a search that yields models of all sizes counts for each of them."""


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


def study(
    folder: Path,
    names: Sequence[str],
    seeds: Sequence[int],
    depths: Sequence[int],
    supports: Sequence[float],
    seconds: float,
    *,
    learners: Sequence[Learner] = LEARNERS[:-1],
) -> Study:
    """Return one cell for each search, which yields models of all depths.

    Parameters
    ----------
    folder : Path
        Of ``compas.csv`` and the like: zeros and ones, the label last.
    seeds : sequence of int
        The authors' are 0 to 4.
    seconds : float
        Limit of each search for an optimal model.
    learners : sequence of str

    Raises
    ------
    DraftError
        Where a table is not of zeros and ones, or a learner is not installed.
    """
    if "DL8.5" in learners:
        dl85.pydl85()
    for name in names:
        _split(folder / f"{name}.csv", 0)
    limits: dict[str, Plain] = {"depths": " ".join(map(str, sorted(set(depths)))), "limit": float(seconds)}
    cells: list[dict[str, Plain]] = [
        {"table": name, "seed": seed, "support": support, "learner": learner, **limits}
        for name, seed, support, learner in product(names, seeds, supports, learners)
    ]
    return Study("entropy", cell, cells, {"table": {name: folder / f"{name}.csv" for name in names}})


def cell(table: Path, seed: int, support: float, learner: Learner, depths: str, limit: float) -> dict[str, str]:
    """Return the models of one learner, as JSON: for each depth a line and its quantiles."""
    found = _lines(table, seed, support, learner, [int(depth) for depth in depths.split()], limit)
    return {"models": json.dumps([[asdict(line), quantiles.tolist()] for line, quantiles in found])}


def write(rows: pd.DataFrame, output: Path) -> None:
    """Write ``models.csv`` and ``rows.csv``.

    Parameters
    ----------
    rows : DataFrame
        Of `study`.
    output : Path
        Folder; made where there is none.
    """
    found = [one for models in rows["models"] for one in json.loads(models)]
    models = pd.DataFrame([line for line, _ in found], columns=[field.name for field in fields(Line)])
    largest = (models["depth"] == models["depth"].max()) & (models["support"] == models["support"].min())
    curves = [
        (line["data"], line["learner"], line["seed"], *pair)
        for (line, quantiles), chosen in zip(found, largest, strict=True)
        if chosen
        for pair in zip(SHARES, quantiles, strict=True)
    ]
    output.mkdir(parents=True, exist_ok=True)
    models.to_csv(output / "models.csv", index=False)
    pd.DataFrame(curves, columns=["data", "learner", "seed", "share", "ratio"]).to_csv(output / "rows.csv", index=False)


def report(output: Path, published: Path | None) -> None:
    """Print the trends of what `write` wrote, and draw its figures."""
    models, rows = pd.read_csv(output / "models.csv"), pd.read_csv(output / "rows.csv")
    for line in entropy_trends.summary(models):
        print(line)
    if published is not None:
        for line in entropy_trends.beside_published(models, published):
            print(line)
    for path in entropy_figures.draw(models, rows, output):
        print(path)


def _lines(
    table: Path, seed: int, support: float, learner: Learner, depths: Sequence[int], seconds: float
) -> list[tuple[Line, NDArray[np.float64]]]:
    """Return the models of one learner, measured, each with quantiles of its rows' ratios."""
    split = _split(table, seed)
    domains = _booleans(split.columns), infer(split.columns, split.features.astype(np.float64))
    result = []
    for depth, model, certified, spent in _models(split, seed, support, learner, depths, seconds):
        size = model.n_rules - 1 if isinstance(model, RuleList) else model.n_nodes - len(model.leaves)
        parts, aware = (_parts(model, domain) for domain in domains)
        ratios = parts.row_ratios
        line = Line(
            data=table.stem,
            learner=learner,
            seed=seed,
            support=support,
            depth=depth,
            size=size,
            majority=float(max(split.labels.mean(), 1 - split.labels.mean())),
            train_accuracy=_accuracy(model, split.features, split.labels),
            test_accuracy=_accuracy(model, split.test_features, split.test_labels),
            dist_g=parts.dist_g,
            dist=np.nan if parts.dist is None else parts.dist,
            dist_g_one_hot=aware.dist_g,
            lowest=float(ratios[0]),
            median=float(np.median(ratios)),
            highest=float(ratios[-1]),
            certified=certified,
            seconds=spent,
        )
        result.append((line, np.quantile(ratios, SHARES, method="inverted_cdf")))
    return result


def _models(
    split: _Split, seed: int, support: float, learner: Learner, depths: Sequence[int], seconds: float
) -> Iterator[tuple[int, Model, bool, float]]:
    """Yield depth, model, whether it is certified, and seconds."""
    least = max(1, int(support * len(split.labels)))
    begun = time.monotonic()
    if learner == "optimal rules":
        lists = optimal_rules.learn(split.features, split.labels, max(depths), least, TimeBox(seconds))
        spent = time.monotonic() - begun
        yield from ((depth, lists[depth - 1].rules, lists[depth - 1].certified, spent) for depth in depths)
        return
    if learner == "optimal trees":
        trees = optimal_trees.learn(split.features, split.labels, max(depths), least, TimeBox(seconds))
        spent = time.monotonic() - begun
        yield from ((depth, trees[depth - 1].tree, trees[depth - 1].certified, spent) for depth in depths)
        return
    for depth in depths:
        begun = time.monotonic()
        model: Model
        certified = False
        if learner == "CART":
            model = cart.learn(split.features, split.labels, depth, least, 1 + seed)
        elif learner == "DL8.5":
            found = dl85.learn(split.features, split.labels, depth, least, seconds)
            model, certified = found.tree, found.certified
        else:
            model = greedy_rules.learn(split.features, split.labels, depth, least)
        yield depth, model, certified, time.monotonic() - begun


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


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the options of this study."""
    add_tables(command, ["compas", "adult"], None)
    add_seeds(command, [0, 1, 2, 3, 4])
    command.add_argument("--depths", type=int, nargs="+", default=list(range(1, 11)))
    command.add_argument("--supports", type=float, nargs="+", default=[0.01, 0.02, 0.03, 0.04, 0.05])
    command.add_argument("--learners", nargs="+", default=list(LEARNERS[:-1]), choices=list(LEARNERS))
    command.add_argument("--budget", type=float, default=600.0, help="seconds of each search for an optimal model")
    command.add_argument("--output", type=Path, required=True, help="folder for tables and figures")
    command.add_argument("--published", type=Path, help="folder of the authors' results, to be compared with")
    add_cells(command)


def command(a: argparse.Namespace) -> None:
    """Run this study."""
    entropy_figures.matplotlib_pyplot()
    asked = study(datasets_of(a, a.names), a.names, a.seeds, a.depths, a.supports, a.budget, learners=a.learners)
    write(rows_of(asked, a), a.output)
    report(a.output, a.published)
