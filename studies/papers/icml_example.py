"""ICML 2024, figure 1 and table 1: in go forests on the paper's four rows, out comes how many datasets they allow."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier

from pytest_draft.arrays import IntArray
from pytest_draft.artifact import Forest
from pytest_draft.attack.descent import leaf_positions
from pytest_draft.data import TrainingData
from pytest_draft.domain import Attribute, Domain
from studies.files import through_file
from studies.papers.icml_forests import curve_of
from studies.papers.plots import panels
from studies.papers.result import Cells, PaperResult, Plain, Section, about_run, mean_text, settings, values_of, where
from studies.papers.targets import Target, attacked

ROWS = ((0, 0, 0, 1), (1, 0, 0, 0), (0, 1, 0, 0), (1, 0, 1, 1))
"""f_1 to f_4 of table 1."""

LABELS = (0, 0, 1, 1)
"""c of table 1."""

_COLUMNS = ("f1", "f2", "f3", "f4")
_DOMAIN = Domain(_COLUMNS, tuple(Attribute(name, "binary", (i,)) for i, name in enumerate(_COLUMNS)), "table 1")
_FIGURE, _DEFAULT = "figure 1", "default"
_SECONDS = 10.0
_SEEDS_TRIED = 10_000


def compute(*, forest: str, trees: int, seed: int, seconds: float) -> dict[str, Plain]:
    """Train trees on table 1, count the datasets that they allow, and attack them."""
    read_forest = figure_1() if forest == _FIGURE else _grown(trees, seed)
    data = TrainingData(
        np.array(ROWS, dtype=np.float32), np.array(LABELS, dtype=np.int64), _COLUMNS, None, "table 1 of the paper"
    )
    target = Target(read_forest, _DOMAIN, data, float("nan"), float("nan"))
    return {
        **attacked(target, "published", seconds, seed),
        "datasets": consistent_datasets(read_forest),
        **about_run(),
    }


def _grown(trees: int, seed: int) -> Forest:
    model = RandomForestClassifier(trees, bootstrap=False, random_state=seed)
    return through_file(model.fit(np.array(ROWS, dtype=np.float32), np.array(LABELS)))


def figure_1() -> Forest:
    """Return two trees as section 4 describes those of figure 1, from the first seed that grows them.

    The first tests f_3 and f_2, so that two rows of class 0 have value 0 in both. The second tests f_2 first, which
    one of the two rows of class 1 has, and after it f_1 and f_4.
    """
    for seed in range(_SEEDS_TRIED):
        forest = _grown(2, seed)
        tested = [tree.feature[tree.left >= 0].tolist() for tree in forest.trees]
        if tested[0] == [2, 1] and tested[1][:1] == [1] and sorted(tested[1][1:]) == [0, 3]:
            return forest
    raise RuntimeError(f"none of {_SEEDS_TRIED:,} seeds grows the trees of figure 1; scikit-learn draws otherwise")


def consistent_datasets(forest: Forest) -> int:
    """Return how many datasets of binary rows, in no order, give a forest's leaf counts, by enumeration.

    Parameters
    ----------
    forest : Forest
        On columns of `ROWS`, without bagging.
    """
    vectors = np.array(list(itertools.product((0, 1), repeat=len(_COLUMNS))), dtype=np.float32)
    leaf = [leaf_positions(tree, np.ascontiguousarray(vectors.T)) for tree in forest.trees]
    return prod(_ways(forest, leaf, c) for c in range(forest.n_classes))


def _ways(forest: Forest, leaf: list[Any], c: int) -> int:
    """Return how many multisets of vectors give the leaves their counts of one class."""
    counts: list[IntArray] = [forest.counts(t)[tree.leaves, c] for t, tree in enumerate(forest.trees)]
    n_vectors, n_rows = len(leaf[0]), int(counts[0].sum())
    return sum(
        all(
            np.array_equal(np.bincount(of_tree[list(chosen)], minlength=len(count)), count)
            for of_tree, count in zip(leaf, counts, strict=True)
        )
        for chosen in itertools.combinations_with_replacement(range(n_vectors), n_rows)
    )


def cells(part: str) -> Cells:
    """Return the two trees of figure 1, and forests of more and more trees by scikit-learn's defaults."""
    sizes, seeds = ((2,), 2) if part == "quick" else ((1, 2, 3, 5, 10, 20), 20)
    return [
        {"forest": _FIGURE, "trees": 2, "seed": 0, "seconds": _SECONDS},
        *(
            {"forest": _DEFAULT, "trees": size, "seed": seed, "seconds": _SECONDS}
            for size in sizes
            for seed in range(seeds)
        ),
    ]


def sections(rows: pd.DataFrame, authors: Mapping[str, pd.DataFrame]) -> list[Section]:
    """Return how many datasets the trees allow, and how close the attack comes."""
    lines = []
    for forest, size in settings(rows, ["forest", "trees"]):
        same = where(rows, forest=forest, trees=size)
        datasets, errors = values_of(same, "datasets"), values_of(same, "error")
        lines.append(
            {
                "forest": "as figure 1's" if forest == _FIGURE else "grown by default",
                "trees": size,
                "consistent datasets": mean_text(datasets, 1),
                "least": f"{datasets.min():.0f}",
                "most": f"{datasets.max():.0f}",
                "only the true one": f"{int((datasets == 1).sum())} of {len(same)}",
                "proved unique": f"{int((same['status'] == 'unique').sum())} of {len(same)}",
                "error": mean_text(errors),
                "perfect rows of 4": f"{same['perfect'].mean():.1f}",
                "no answer": f"{len(same) - len(errors)} of {len(same)}",
                "published": "the trees and rows alone",
            }
        )
    return [
        Section(
            "Datasets that the trees allow",
            "*Consistent datasets* are counted by enumeration, without the engine, of the 18,496 of two rows of each "
            "class; *proved unique* is what the engine says.",
            pd.DataFrame(lines),
        )
    ]


def draw(rows: pd.DataFrame, authors: Mapping[str, pd.DataFrame]) -> Any:
    """Draw the error over the number of trees."""
    grown = where(rows, forest=_DEFAULT)
    unique = grown.assign(several=(pd.to_numeric(grown["datasets"]) > 1).astype(float))
    curves = [
        curve_of(grown, "trees", "error", "reconstruction error", 0),
        curve_of(unique, "trees", "several", "share of forests that allow several datasets", 1),
    ]
    return panels({"The four rows of table 1": curves}, "trees", "error, share")


RESULT = PaperResult(
    name="icml-figure-1-table-1",
    title="ICML 2024, figure 1 and table 1: four rows and two trees",
    measured=(
        "DRAFT (ICML 2024, section 4) shows the idea on four rows of four binary attributes: what two trees tell of "
        "them, and that neither tells all. The paper gives no figure of success. Here two trees as its text describes "
        "them (the first without f1, the second without f3), and forests grown on the same rows by scikit-learn's "
        "defaults without bagging: how many datasets agree with all counts, and what the attack rebuilds."
    ),
    compute=compute,
    cells=cells,
    cut="Nothing is cut; 20 seeds for each number of trees.",
    tables=(),
    published=(),
    sections=sections,
    draw=draw,
)
