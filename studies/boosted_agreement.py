"""The attack on boosted trees and enumeration on the same boosters: in goes a number of instances, out comes a table.

Every instance is small enough to list all tables of its domain that satisfy each statement and count of its file. What
the attack proves must hold in all of them and in the training rows, what it rebuilds must be one of them, and nothing
may depend on how columns or classes are written.
"""

from __future__ import annotations

import argparse
from collections import Counter
from dataclasses import dataclass, field, replace

import numpy as np

from pytest_draft.arrays import IntArray
from pytest_draft.artifact import Forest
from pytest_draft.artifact.forest.observations import BoostedSums
from pytest_draft.attack.boosted.rebuild import rebuild_boosted
from pytest_draft.attack.boosted.staged import missed
from pytest_draft.attack.search import Search
from pytest_draft.domain import Domain
from pytest_draft.errors import InfeasibleError
from pytest_draft.facts.reconstruction import Reconstruction
from pytest_draft.timebox import TimeBox
from studies.agreement_enumeration import TooManyError
from studies.boosted_agreement_enumeration import Listed
from studies.boosted_agreement_instances import (
    LIBRARIES,
    TASKS,
    BoostedInstance,
    NothingFittedError,
    drawn,
    installed,
)
from studies.options import add_instances

_SECONDS = 60.0
"""Guard of each attack: an instance takes a fraction of it, so that the clock decides nothing."""

_STRANGERS = 5
"""Other tables that are tried on each booster."""

_CHECKED = 50
"""Of the listed tables: so many are counted again by the attack's own equations."""


@dataclass
class Compared:
    """What the comparison of one instance found."""

    tables: int
    """By enumeration: 0, 1, or 2 for several."""
    disagreements: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)
    """`disagreements` and `open`: what is wrong, and what holds by enumeration and the attack did not find."""

    def expect(self, holds: bool, fact: str) -> None:
        """Note a disagreement unless something holds."""
        if not holds:
            self.disagreements.append(fact)

    def hope(self, holds: bool, fact: str) -> None:
        """Note what the attack did not find."""
        if not holds:
            self.open.append(fact)


def compared(instance: BoostedInstance, rng: np.random.Generator) -> Compared:
    """Let attack and enumeration answer, and compare.

    Raises
    ------
    TooManyError
        Where there are too many tables to list.
    """
    forest, n_rows = instance.forest, len(instance.rows)
    listed = Listed.of(forest, instance.domain.vectors(), n_rows)
    found = Compared(1 if listed.only else 2 if len(listed.tables) else 0)
    truth = listed.kinds(instance.rows, instance.labels)
    if not instance.changed:
        found.expect(listed.listed(truth), "the truth is listed")
        found.expect(not _missed(forest, instance.rows, instance.labels), "the truth misses nothing")
    _expect_strangers(found, instance, listed, rng)
    rebuilt = _rebuilt(forest, instance.domain, n_rows)
    if rebuilt is None or rebuilt.residual:
        found.expect(rebuilt is not None or not len(listed.tables), "a table is there where none was said to be")
        found.expect(rebuilt is None or rebuilt.status == "not converged", "a residual is said")
        found.expect(rebuilt is None or rebuilt.certificate is None, "nothing is proved of what misses statements")
        found.hope(not len(listed.tables), "a table that misses nothing")
        return found
    _expect_rebuilt(found, instance, listed, rebuilt)
    _expect_same(found, instance, rebuilt, rng)
    return found


def _rebuilt(forest: Forest, domain: Domain, n_rows: int) -> Reconstruction | None:
    """Return what the attack rebuilds; None where it says that no table is possible."""
    try:
        return rebuild_boosted(forest, domain, n_rows, Search(TimeBox(_SECONDS)))
    except InfeasibleError:
        return None


def _missed(forest: Forest, rows: np.ndarray, labels: IntArray) -> int:
    return missed(forest, np.ascontiguousarray(rows.T.astype(np.float64)), labels)


def _expect_strangers(found: Compared, instance: BoostedInstance, listed: Listed, rng: np.random.Generator) -> None:
    """Expect that rows miss a statement where they are no listed table, and none where they are."""
    n_rows = len(instance.rows)
    for _ in range(_STRANGERS):
        rows = instance.domain.uniform(n_rows, rng)
        labels = rng.integers(listed.group.shape[1], size=n_rows)
        there = listed.listed(listed.kinds(rows, labels))
        found.expect((_missed(instance.forest, rows, labels) == 0) == there, "strangers miss statements")
    first = np.unique(listed.group.ravel(), return_index=True)[1]
    of_cell = np.unique(listed.cell, return_index=True)[1]
    for table in listed.tables[rng.permutation(len(listed.tables))[:_CHECKED]]:
        cell, label = np.divmod(np.repeat(first, table), listed.group.shape[1])
        rows = listed.vectors[of_cell[cell]]
        found.expect(not _missed(instance.forest, rows, label), "a listed table misses nothing")


def _expect_rebuilt(found: Compared, instance: BoostedInstance, listed: Listed, rebuilt: Reconstruction) -> None:
    """Expect that what is rebuilt is a table, and that what is proved holds in all of them and in the truth."""
    if rebuilt.consistent is None or rebuilt.labels is None:
        raise ValueError("nothing was rebuilt")
    kinds = listed.kinds(rebuilt.consistent, rebuilt.labels)
    found.expect(listed.listed(kinds), "the rebuilt table is listed")
    if not len(listed.tables):
        return
    found.expect(rebuilt.status != "unique" or listed.only, "unique")
    found.hope(rebuilt.status == "unique" or not listed.only, "unique")
    if rebuilt.status == "unique" and not instance.changed:
        truth = listed.kinds(instance.rows, instance.labels)
        found.expect(bool((kinds == truth).all()), "the unique table is the truth")
    said = rebuilt.certificate
    least, cells = listed.least_kinds(), listed.least_cells()
    if said is None:
        found.hope(False, "a certificate")
        return
    vectors = int((cells * listed.single).sum())
    figures = {
        "certain cells": (said.certain_cells, int(least.sum())),
        "certain rows": (said.certain_rows, int((least.sum(axis=1) * listed.single).sum())),
        "guaranteed overlap": (said.guaranteed_overlap, listed.least_shared(kinds)),
        "certain vectors": (said.certain_vectors, vectors),
        "guaranteed vectors": (said.guaranteed_vectors, listed.least_vectors_shared(kinds)),
    }
    for name, (bounds, true) in figures.items():
        found.expect(bounds.lower <= true <= bounds.upper, name)
        found.hope(bounds.lower == true, name)
    if rebuilt.proved is None:
        raise ValueError("nothing is said to be proved")
    proved = listed.kinds(rebuilt.proved, np.zeros(len(rebuilt.proved), dtype=np.int64)).sum(axis=1)
    found.expect(bool((proved <= cells * listed.single).all()), "proved rows are in every table")
    if not instance.changed:
        truth = listed.kinds(instance.rows, instance.labels).sum(axis=1)
        found.expect(bool((proved <= truth).all()), "proved rows are training rows")


Figures = tuple[object, ...]


def _figures(rebuilt: Reconstruction | None) -> Figures:
    """Return what a verdict rests on."""
    if rebuilt is None:
        return ("infeasible",)
    said = rebuilt.certificate
    lower = () if said is None else (said.certain_cells.lower, said.certain_rows.lower, said.certain_vectors.lower)
    return (rebuilt.status, rebuilt.residual, *lower)


def _expect_same(found: Compared, instance: BoostedInstance, rebuilt: Reconstruction, rng: np.random.Generator) -> None:
    """Expect the same figures where only the writing changes."""
    forest, domain, n_rows, own = instance.forest, instance.domain, len(instance.rows), _figures(rebuilt)
    order = rng.permutation(domain.n_columns)
    other = _figures(_rebuilt(_moved(forest, np.argsort(order)), _permuted(domain, order), n_rows))
    found.expect(other == own, "columns in another order")
    if forest.classes is not None:
        found.expect(_figures(_rebuilt(_relabelled(forest), domain, n_rows)) == own, "other names of classes")
    twin = _rebuilt(forest, _with_twin(domain, int(rng.integers(len(domain.attributes)))), n_rows)
    if twin is None or twin.certificate is None or rebuilt.certificate is None:
        found.expect((twin is None or twin.certificate is None) == (rebuilt.certificate is None), "a column twice")
    else:
        found.expect(twin.certificate.certain_cells.lower == rebuilt.certificate.certain_cells.lower, "a column twice")
    again = instance.refitted(rng.permutation(n_rows))
    if not instance.altered and _same_trees(again, forest):
        found.expect(_figures(_rebuilt(again, domain, n_rows)) == own, "rows in another order")


def _moved(forest: Forest, to: IntArray) -> Forest:
    """Return a forest that knows its columns by other positions."""
    trees = [
        replace(tree, feature=np.where(tree.left >= 0, to[np.maximum(tree.feature, 0)], tree.feature))
        for tree in forest.trees
    ]
    return replace(forest, trees=tuple(trees), feature_names=None)


def _permuted(domain: Domain, order: IntArray) -> Domain:
    """Return a domain with its columns in another order."""
    to = np.argsort(order)
    attributes = [replace(one, columns=tuple(int(to[c]) for c in one.columns)) for one in domain.attributes]
    return replace(domain, columns=tuple(domain.columns[c] for c in order), attributes=tuple(attributes))


def _with_twin(domain: Domain, a: int) -> Domain:
    """Return a domain with one attribute twice; trees test the first only."""
    one, n = domain.attributes[a], domain.n_columns
    own = tuple(range(n, n + len(one.columns)))
    names = tuple(f"twin_{i}" for i in range(len(own)))
    twin = replace(one, name="twin", columns=own)
    return replace(domain, columns=(*domain.columns, *names), attributes=(*domain.attributes, twin))


def _relabelled(forest: Forest) -> Forest:
    """Return what a library would have made of classes in the opposite order."""
    said = forest.observation
    if not isinstance(said, BoostedSums) or forest.classes is None:
        raise ValueError("these trees tell no classes apart")
    classes = tuple(reversed(forest.classes))
    if said.loss == "logistic":
        turned = [replace(own, weight=own.weight * [1, -1, 1, 1]) for own in said.statements]
        trees = [replace(tree, value=-tree.value) for tree in forest.trees]
        sums = replace(said, base=-said.base, statements=tuple(turned))
        return replace(forest, trees=tuple(trees), observation=sums, classes=classes)
    n = said.n_scores
    order = [t - t % n + n - 1 - t % n for t in range(forest.n_trees)]
    sums = replace(said, base=said.base[::-1].copy(), statements=tuple(said.statements[t] for t in order))
    return replace(forest, trees=tuple(forest.trees[t] for t in order), observation=sums, classes=classes)


def _same_trees(one: Forest, other: Forest) -> bool:
    """Return whether trees ask the same questions."""
    return one.n_trees == other.n_trees and all(
        a.n_nodes == b.n_nodes
        and bool((a.feature == b.feature).all())
        and np.array_equal(a.threshold, b.threshold, equal_nan=True)
        for a, b in zip(one.trees, other.trees, strict=True)
    )


def run(n_instances: int, seed: int) -> int:
    """Compare generated instances, print a table, and return how many disagree."""
    libraries = installed()
    missing = [name for name in LIBRARIES if name not in libraries]
    if missing:
        print(f"not installed: {', '.join(missing)}")
    verdicts: dict[str, list[Compared]] = {name: [] for name in libraries}
    redrawn: Counter[str] = Counter()
    n_done = number = 0
    while n_done < n_instances:
        library = libraries[n_done % len(libraries)]
        task = TASKS[n_done // len(libraries) % len(TASKS)]
        number += 1
        try:
            instance = drawn(library, task, [seed, number - 1])
            verdict = compared(instance, np.random.default_rng([seed, number - 1, 1]))
        except TooManyError:
            redrawn[f"too many tables to list: {library}, {task}"] += 1
            continue
        except NothingFittedError:
            redrawn[f"no tree with a split: {library}"] += 1
            continue
        n_done += 1
        verdicts[library].append(verdict)
        for fact in verdict.disagreements:
            print(f"disagreement, seed [{seed}, {number - 1}], {library}, {task}: {fact}", flush=True)
    print("                     instances  no table  one  several  agree  wrong")
    everything = [one for part in verdicts.values() for one in part]
    for name, some in [*verdicts.items(), ("all", everything)]:
        print(_line(name, some))
    for fact, times in sorted(Counter(fact for one in everything for fact in one.open).items()):
        print(f"not found or proved in {times}: {fact}")
    for why, times in sorted(redrawn.items()):
        print(f"redrawn {times} times, {why}")
    return sum(bool(one.disagreements) for one in everything)


def _line(name: str, verdicts: list[Compared]) -> str:
    none, one = (sum(verdict.tables == number for verdict in verdicts) for number in (0, 1))
    wrong = sum(bool(verdict.disagreements) for verdict in verdicts)
    return (
        f"{name:<20} {len(verdicts):>9} {none:>9} {one:>4} {len(verdicts) - none - one:>8} "
        f"{len(verdicts) - wrong:>6} {wrong:>6}"
    )


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the options of this study."""
    add_instances(command, 200)


def command(a: argparse.Namespace) -> int:
    """Run this study."""
    return run(a.instances, a.seed)
