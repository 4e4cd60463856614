"""Which cells the DP paper's results have: in goes a part (quick, cut or all), out come the cells of each result.

All forests have seeds of the authors' (0 to 4). Rows are the table's first ones, so that forests are the authors' own,
number by number, or drawn at random.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from studies.cells import Plain
from studies.papers.plots import PANELS
from studies.papers.result import Cells

NAMES = tuple(PANELS)
TREES, DEPTHS, EPSILONS = (1, 5, 10, 20, 30), (3, 5, 7), (0.1, 1.0, 5.0, 10.0, 20.0, 30.0)
SIZES = (25, 50, 100, 200, 300, 400, 500)
INFORMED_EPSILONS = (0.1, 1.0, 5.0, 10.0, 20.0, 30.0, 1000.0)

ATTRIBUTES = {"compas": 7, "adult": 14, "default_credit": 16}
"""Attributes with a one-hot group as one."""

EFFORT = 0.5
"""Of each search: about half a second of one core."""

_CUT_EPSILONS = (1.0, 5.0, 30.0)
_CUT_TREES = (5, 10, 30)
_CUT_SIZES: Sequence[int] = (25, 100, 300, 500)
_QUICK_EFFORT = 0.1


def forests(
    names: Iterable[str] = NAMES,
    trees: Iterable[int] = (10,),
    depths: Iterable[int] = (5,),
    epsilons: Iterable[float] = (5.0,),
    seeds: Iterable[int] = range(1),
    *,
    rows: int = 100,
    drawn: bool = False,
    size: str = "known",
    known: int = 0,
    effort: float = EFFORT,
) -> list[dict[str, Plain]]:
    """Return all combinations as cells of `studies.papers.dp_cells.forests`."""
    return [
        {
            "data": name,
            "trees": n_trees,
            "depth": depth,
            "epsilon": epsilon,
            "seed": seed,
            "rows": rows,
            "drawn": drawn,
            "size": size,
            "known": known,
            "effort": effort,
        }
        for name in names
        for n_trees in trees
        for depth in depths
        for epsilon in epsilons
        for seed in seeds
    ]


def grid(part: str) -> Cells:
    """Return the cells of tables I, II and VI and of figures 3, 4 and 7 to 9."""
    if part == "quick":
        return forests(("compas",), (1, 5), (3,), (5.0,), effort=_QUICK_EFFORT)
    if part == "all":
        return forests(NAMES, TREES, DEPTHS, EPSILONS, range(5))
    return forests(NAMES, TREES, DEPTHS, EPSILONS)


def distributions(part: str) -> Cells:
    """Return the cells of figure 9, which are among those of `grid`."""
    if part == "quick":
        return grid("quick")
    return forests(("adult",), epsilons=(0.1, 1.0, 30.0))


def individuals(part: str) -> Cells:
    """Return the cells of table III; rows are drawn at random."""
    if part == "quick":
        return forests(("compas",), epsilons=(30.0,), drawn=True, effort=_QUICK_EFFORT)
    if part == "all":
        return forests(epsilons=EPSILONS, seeds=range(5), drawn=True)
    return forests(epsilons=EPSILONS, seeds=range(3), drawn=True)


def size_unknown(part: str) -> Cells:
    """Return the cells of table IV."""
    if part == "quick":
        return forests(("compas",), (5,), (3,), (30.0,), size="unknown", effort=_QUICK_EFFORT)
    if part == "all":
        return forests(NAMES, TREES, DEPTHS, EPSILONS, range(5), size="unknown")
    return forests(NAMES, _CUT_TREES, (5,), _CUT_EPSILONS, size="unknown")


def more_rows(part: str) -> Cells:
    """Return the cells of table VII and figures 10 and 11; rows are drawn at random."""
    if part == "quick":
        return [
            *forests(("compas",), rows=25, drawn=True, effort=_QUICK_EFFORT),
            *forests(("compas",), rows=50, drawn=True, effort=_QUICK_EFFORT),
        ]
    sizes: Sequence[int]
    efforts: Sequence[float]
    several: Sequence[int]
    if part == "cut":
        sizes, efforts, several, seeds = _CUT_SIZES, (0.1, EFFORT), _CUT_SIZES[:2], 2
    else:
        sizes, efforts, several, seeds = SIZES, (0.1, EFFORT, 2.0, 10.0), SIZES, 5
    return [
        cell
        for size in sizes
        for effort in efforts
        if effort == EFFORT or size in several
        for cell in forests(rows=size, seeds=range(seeds), drawn=True, effort=effort)
    ]


def known_attributes(part: str) -> Cells:
    """Return the cells of figure 12."""
    if part == "quick":
        return [cell for n in (0, 3) for cell in forests(("compas",), known=n, effort=_QUICK_EFFORT)]
    step, seeds = (4, 3) if part == "cut" else (1, 5)
    return [
        cell
        for name, attributes in ATTRIBUTES.items()
        for n in range(0, attributes, 3 if part == "cut" and name == "compas" else step)
        for cell in forests((name,), seeds=range(seeds), known=n)
    ]


def without_noise(part: str) -> Cells:
    """Return the cells of figure 2; a missing privacy budget stands for the true counts."""
    sizes: Sequence[int]
    epsilons: Sequence[float | None]
    sizes, epsilons, seeds, effort = {
        "quick": ((5,), (None, 30.0), 1, _QUICK_EFFORT),
        "cut": ((1, 5, 10, 30), (None, *_CUT_EPSILONS), 3, EFFORT),
        "all": (TREES, (None, *EPSILONS), 5, EFFORT),
    }[part]
    return [
        {"data": "compas", "trees": n, "depth": 5, "epsilon": epsilon, "seed": seed, "effort": effort, "limit": 20.0}
        for n in sizes
        for epsilon in epsilons
        for seed in range(seeds)
    ]


def informed(part: str) -> Cells:
    """Return the cells of figure 13."""
    names, epsilons, seeds = {
        "quick": (("compas",), (30.0,), 1),
        "cut": (NAMES, INFORMED_EPSILONS, 2),
        "all": (NAMES, INFORMED_EPSILONS, 10),
    }[part]
    return [
        {"data": name, "epsilon": epsilon, "seed": seed}
        for name in names
        for epsilon in epsilons
        for seed in range(seeds)
    ]
