"""Forests as the papers train and attack them: in go a table and a cell, out come the figures of an attack.

The adversary knows what the papers grant it: the domain of the attributes with their one-hot groups, no more, and of
the file the structure and the counts. Nothing is refitted, so that the trees' own seeds tell nothing that is not asked
for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier

from pytest_draft.arrays import Rows
from pytest_draft.artifact import Forest
from pytest_draft.attack.enumeration import build
from pytest_draft.attack.fractions.rebuild import rebuild_from_outputs
from pytest_draft.attack.search import Search
from pytest_draft.attack.solve import reconstruct
from pytest_draft.data import TrainingData
from pytest_draft.domain import Attribute, Domain
from pytest_draft.errors import InfeasibleError, OutOfTimeError
from pytest_draft.evaluate.baselines import random_baseline
from pytest_draft.examine.stripped import row_problem
from pytest_draft.facts.adversary import Adversary
from pytest_draft.knowledge import exchangeable_groups, grant
from pytest_draft.matching import encoded_weights, matched_distance, row_identities, unmatched
from pytest_draft.timebox import TimeBox
from studies.cells import Plain
from studies.files import through_file
from studies.public_data import divided

ONE_HOT: dict[str, tuple[range, ...]] = {
    "compas": (range(1, 6), range(9, 13)),
    "adult": (range(3, 9),),
    "default_credit": (range(4), range(5, 8)),
}
"""One-hot groups that the papers declare, as columns; every other column is an attribute of its own."""

_MATCHING_SECONDS = 600.0
"""Guard of matching rebuilt with true rows, which is no part of the attack."""

_RANDOM_GUESSES = 100
"""Of the random baseline (DRAFT, ICML 2024, section 7.1)."""


@dataclass(frozen=True, eq=False, repr=False)
class Target:
    """A forest as its file tells it, with what it was trained on."""

    forest: Forest
    domain: Domain
    data: TrainingData
    train_accuracy: float
    test_accuracy: float
    """`train_accuracy` and `test_accuracy`: on the training rows, and on all others; not a number where there are no
    others.
    """

    def __repr__(self) -> str:
        return f"Target({self.data.n_rows} rows, {self.forest.n_trees} trees)"


def papers_domain(name: str, columns: Sequence[str]) -> Domain:
    """Return the domain that the papers grant: binary columns, some of them in one-hot groups.

    Parameters
    ----------
    name : str
        Of `ONE_HOT`.
    """
    grouped: list[tuple[int, ...]] = [tuple(group) for group in ONE_HOT[name]]
    alone: list[tuple[int, ...]] = [(i,) for i in range(len(columns)) if not any(i in group for group in grouped)]
    attributes = [
        Attribute(columns[group[0]], "one-hot" if len(group) > 1 else "binary", group)
        for group in sorted(grouped + alone)
    ]
    return Domain(tuple(columns), tuple(attributes), "granted by the paper")


def target_of(
    path: Path, n_rows: int, trees: int, depth: int, seed: int, *, bagging: bool, domain: Domain | None = None
) -> Target:
    """Train a forest on rows drawn at random, and read it back through a file.

    Parameters
    ----------
    path : Path
        A CSV file named as in `ONE_HOT`.
    n_rows : int
        0 for all, in their order.
    depth : int
        Largest; 0 for no limit.
    seed : int
        Of the rows and of the forest.
    domain : Domain or None
        None for that of the papers.
    """
    table = pd.read_csv(path)
    rows = table.sample(n_rows, random_state=seed) if n_rows else table
    others = table.drop(rows.index)
    features, label = divided(rows, path.stem)
    model = RandomForestClassifier(trees, max_depth=depth or None, bootstrap=bagging, random_state=seed)
    model.fit(features, label)
    if domain is None:
        domain = papers_domain(path.stem, list(features.columns))
    data = TrainingData(
        features.to_numpy(np.float32),
        np.searchsorted(model.classes_, label.to_numpy()).astype(np.int64),
        tuple(features.columns),
        None,
        path.name,
    )
    return Target(
        through_file(model),
        domain,
        data,
        float(model.score(features, label)),
        float(model.score(*divided(others, path.stem))) if len(others) else float("nan"),
    )


def attacked(target: Target, adversary: str, limit: float, seed: int) -> dict[str, Plain]:
    """Attack a forest on one thread, and measure what was rebuilt.

    Parameters
    ----------
    adversary : str
        Such as ``published+columns:3``; ``artifact`` stands for known occurrences, as the stored seeds tell them.
    limit : float
        Time box of building and searching, in seconds.
    seed : int
        Of the search, and of what of the data is known.

    Returns
    -------
    dict
        ``error``: the papers', on what is unknown, None without an answer; ``perfect`` rows, ``unknown_rows``,
        ``status``, ``seconds`` spent, and whether ``clock_ended`` the search.
    """
    box = TimeBox(limit)
    knowledge = grant(Adversary.parse(adversary), target.data, target.domain, target.forest, seed)
    status, rows = "no solution", None
    try:
        groups = exchangeable_groups(target.forest, adversary, knowledge, box)
        if groups.draws_known:
            rebuilt = reconstruct(build(target.forest, target.domain, groups, box), Search(box, seed))
        else:
            problem = row_problem(target.forest, target.domain, len(target.data.rows), knowledge)
            rebuilt = rebuild_from_outputs(problem, Search(box, seed))
        status, rows = str(rebuilt.status), rebuilt.rows
    except InfeasibleError:
        status = "infeasible"
    except OutOfTimeError:
        pass
    spent, ended = box.elapsed, box.clock_ended
    truth = target.data.rows if knowledge is None else target.data.rows[knowledge.unknown]
    known = () if knowledge is None else knowledge.attributes
    return {
        **measured(truth, rows, target.domain, known),
        "status": status,
        "seconds": spent,
        "clock_ended": ended,
    }


def measured(truth: Rows, rows: Rows | None, domain: Domain, known: Sequence[int] = ()) -> dict[str, Plain]:
    """Return ``error``, ``perfect`` and ``unknown_rows`` of what was rebuilt; no error without it.

    Rows are matched at the least cost over all columns; the error is the share of wrong values in those of unknown
    attributes (DRAFT, ICML 2024, section 7.1 and appendix G).

    Parameters
    ----------
    truth : ndarray of float32, shape (n_rows, n_columns)
    rows : ndarray of float32, shape (n_rows, n_columns), or None
    known : sequence of int
        Positions of known attributes.
    """
    if rows is None:
        return {"error": None, "perfect": 0, "unknown_rows": len(truth)}
    perfect = len(truth) - len(unmatched(*row_identities(truth, rows))[0])
    return {"error": error_of(truth, rows, domain, known), "perfect": perfect, "unknown_rows": len(truth)}


def error_of(truth: Rows, rows: Rows, domain: Domain, known: Sequence[int] = ()) -> float:
    """Return the papers' error, as `measured` does; where rows are too many for a matching, what it is at most."""
    return matched_distance(truth, rows, encoded_weights(domain, known), TimeBox(_MATCHING_SECONDS)).upper


def random_error(target: Target, seed: int) -> float | None:
    """Return the mean error of rows guessed from the domain (DRAFT, ICML 2024, section 7.1)."""
    weights, box = encoded_weights(target.domain), TimeBox(_MATCHING_SECONDS)
    return random_baseline(target.data.rows, target.domain, weights, seed, box, draws=_RANDOM_GUESSES).error
