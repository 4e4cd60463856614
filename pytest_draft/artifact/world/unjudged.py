"""Finds fitted trees outside the model that is judged: where in the file they are.

A reader looks at the trees of one model, by name. Others can stand anywhere: in the estimator that a search was given,
in a template, in an attribute that somebody added. Whatever has the form of a fitted tree is reported, so that it is
judged or nothing is said of the file: an estimator with a ``tree_``, a tree by itself, an array of its nodes, a
dictionary or an object of arrays by the names that such arrays have, a rule list, and numbers that lead from nodes to
their children.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pytest_draft.arrays import AnyArray
from pytest_draft.artifact.records import CONTAINERS, Array, Items, Mapping, Record
from pytest_draft.artifact.rules.corels import is_corels
from pytest_draft.artifact.rules.greedy import GREEDY
from pytest_draft.artifact.walking import shortened
from pytest_draft.artifact.world.contents import Contents, Stored
from pytest_draft.errors import one_line

TREE = ("sklearn.tree._tree", "Tree")
PREDICTOR = ("sklearn.ensemble._hist_gradient_boosting.predictor", "TreePredictor")

_CHILDREN = (
    frozenset(("left_child", "right_child")),
    frozenset(("children_left", "children_right")),
    frozenset(("left_children", "right_children")),  # XGBoost's own JSON
)
_SIDES = frozenset(("left", "right"))
_SPLITS = frozenset(
    ("feature", "feature_idx", "column", "split_feature", "split_index", "threshold", "num_threshold", "split")
)
"""With both sides, one of these makes a node, such as one of scikit-learn's histogram-based trees."""

_FEWEST_NODES = 5
"""A shorter array can lead from parents to children by chance: a stump's are 1, -1, -1."""

_MOST_COLUMNS = 64
"""Of wider tables no column is tried as numbers of children: trees in arrays have a column for each field of a node."""

_MOST_SHOWN = 3
"""Places that are named; of the others only the number is."""

_BETWEEN_LOOKS = 4096
"""Steps between two looks at the clock."""

MOST_STEPS = 8_000_000
"""References that are followed at most; a file of 500 trees has about 20,000."""

MOST_VALUES = 2**26
"""Values at most that are looked at for numbers of children."""

MOST_SECONDS = 20.0
"""Seconds at most for the whole search; where they end it, "at least" is said."""


@dataclass(frozen=True)
class Unjudged:
    """Fitted trees, or what has their form, that stand in a file beside its model."""

    places: tuple[tuple[str, int], ...] = ()
    """The attribute that holds some, and how many."""
    complete: bool = True
    """Whether the whole file was searched."""

    @property
    def why(self) -> str | None:
        """Why nothing is decided by the model alone, and what to do; None where its trees are all that there are."""
        if self.places:
            number = sum(number for _, number in self.places)
            shown = [f"{number:,} in {one_line(path)}" for path, number in self.places[:_MOST_SHOWN]]
            more = f" and {len(self.places) - _MOST_SHOWN:,} more places" if len(self.places) > _MOST_SHOWN else ""
            at_least = "" if self.complete else "at least "
            are, were = ("is", "was") if number == 1 else ("are", "were")
            return (
                f"the file holds {at_least}{number:,} fitted tree{'s' * (number != 1)} that {are} no part of the "
                f"model and {were} not judged ({', '.join(shown)}{more}): save the model without them (of a search its "
                "best_estimator_ alone; else delete the attribute, or put sklearn.base.clone of the estimator there, "
                "which is not fitted), or judge each in a file of its own if it is to be released"
            )
        if not self.complete:
            return "it was not searched to its end for further fitted trees, for its size: save the forest alone"
        return None


ALONE = Unjudged()


def unjudged_trees(
    root: object,
    parts: Iterable[object],
    judged: Iterable[object],
    contents: Contents,
    *,
    elsewhere: Iterable[object] = (),
    most_steps: int = MOST_STEPS,
    seconds: float = MOST_SECONDS,
    clock: Callable[[], float] = time.monotonic,
) -> Unjudged:
    """Find the fitted trees of a file that are not its model's.

    Parameters
    ----------
    root : object
        What the interpreter made of the file.
    parts : iterable
        All records that a reader has looked at: others are recognised by their attributes.
    judged : iterable
        Those of them that are the model: its estimators and trees.
    contents : Contents
        All arrays of the file.
    elsewhere : iterable
        Records of models that are judged by themselves: what they hold is reported there.
    most_steps : int
        References that are followed.
    seconds : float
        How long it may take.
    clock : callable
        Monotonic, in seconds.
    """
    ends = clock() + seconds
    search = _Search({id(root), *map(id, parts)}, judged, most_steps, frozenset(map(id, elsewhere)))
    complete = search.run(root, lambda: clock() < ends)
    found, values = search.found, 0
    for stored in contents.arrays if complete else ():
        values += math.prod(stored.shape)
        if values > MOST_VALUES or clock() >= ends:
            complete = False
            break
        if _leads_to_children(stored) and search.paths.isdisjoint(_prefixes(stored.path)):
            found[stored.path] += 1
    return Unjudged(tuple(found.items()), complete)


class _Search:
    """A walk over all that a file holds, each object once, without recursion; see `unjudged_trees`.

    `found` are trees by the attribute that holds them, one of an object that a reader has looked at; `paths` say where
    each stands, and each record that was not looked into.
    """

    def __init__(
        self, parts: set[int], judged: Iterable[object], most_steps: int, elsewhere: frozenset[int] = frozenset()
    ) -> None:
        self._elsewhere = elsewhere
        self._judged = {id(record): record for record in judged}
        for record in list(self._judged.values()):
            if isinstance(record, Record) and record.cls.key in (TREE, PREDICTOR):
                arrays = (record.named.get(name) for name in ("nodes", "values"))
                self._judged.update((id(array), array) for array in arrays)
        self._parts = parts | self._judged.keys()
        self._steps = most_steps
        self.found: Counter[str] = Counter()
        self.paths: set[str] = set()

    def run(self, root: object, may_go_on: Callable[[], bool]) -> bool:
        """Search; return whether all was seen."""
        seen: dict[int, object] = {id(root): root}
        ahead: list[tuple[str, str, object]] = [("", "", root)]
        looks = 0
        while ahead:
            path, holder, value = ahead.pop()
            looks += 1
            if self._steps < 0 or (looks % _BETWEEN_LOOKS == 0 and not may_go_on()):
                return False
            inner = self._inside(value)
            if id(value) not in self._judged and (number := _trees_in(value)):
                self.found[holder or "the file's own object"] += number
                self.paths.add(path)
                inner = [] if isinstance(value, Array) else [part for part in inner if not _is_of_tree(*part)]
            is_part = id(value) in self._parts
            following = []
            for name, child in inner:
                if id(child) not in seen:
                    seen[id(child)] = child  # and kept, so that its id stays its own
                    below = shortened(path + name if path else name.removeprefix("."))
                    if id(child) in self._elsewhere:
                        self.paths.add(below)
                        continue
                    following.append((below, below if is_part else holder, child))
            ahead += reversed(following)
        return True

    def _inside(self, value: object) -> list[tuple[str, object]]:
        """Return the containers in a container, and how their paths go on: never by a dictionary's key."""
        if isinstance(value, Record):
            parts = [("(arguments)", value.args), ("(items)", value.appended), ("(items)", value.set_items)]
            if not isinstance(value.state, Mapping):
                parts.append(("(state)", value.state))
                return [(name, part) for name, part in parts if isinstance(part, CONTAINERS) and part]
            named = [(f".{key}" if type(key) is str else "(state)", child) for key, child in value.state.pairs]
            keys = [("(state)", key) for key, _ in value.state.pairs]
            self._steps -= len(named)
            return [(name, part) for name, part in (*named, *keys, *parts) if isinstance(part, CONTAINERS) and part]
        if isinstance(value, Mapping):
            self._steps -= len(value.pairs)
            keys = [("(keys)", key) for key, _ in value.pairs if isinstance(key, CONTAINERS)]
            return keys + _numbered([child for _, child in value.pairs])
        items = value.items if isinstance(value, (Array, Items)) else value
        if not isinstance(items, (list, tuple)):
            return []
        self._steps -= len(items)
        return _numbered(items)


def _numbered(items: Sequence[object]) -> list[tuple[str, object]]:
    return [(f"[{index}]", item) for index, item in enumerate(items) if isinstance(item, CONTAINERS)]


def _prefixes(path: str) -> Iterator[str]:
    """Return a path, and those of all that it is in."""
    yield path
    for index, letter in enumerate(path):
        if letter in ".[(":
            yield path[:index]


def _trees_in(value: object) -> int:
    """Return how many trees something is by its form; 0 for anything else."""
    if isinstance(value, Array):
        return int(value.data is not None and _are_nodes(value.data.dtype.names or ()))
    if isinstance(value, Mapping):
        return int(is_corels(value) or _is_split(value))
    if not isinstance(value, Record):
        return 0
    named = value.named
    inner = named.get("tree_")
    if value.cls.key == TREE or (isinstance(inner, Record) and inner.cls.key == TREE):
        return 1
    if is_corels(value) or (value.cls.key in GREEDY and named.get("rules_") is not None):
        return 1
    if not isinstance(value.state, Mapping) or not _is_split(value.state):
        return 0
    counts = named.get("counts_")  # those of a private forest of pytest_draft.dp, tree by tree
    return max(1, counts.shape[0]) if isinstance(counts, Array) and len(counts.shape) == 3 else 1


def _is_of_tree(name: str, part: object) -> bool:
    """Return whether a part of what was found has been counted with it."""
    plain = name.strip("._").lower()
    is_tree = isinstance(part, Record) and part.cls.key == TREE
    return is_tree or plain in ("nodes", "rl", "rules") or any(plain in pair for pair in (*_CHILDREN, _SIDES))


def _are_nodes(names: Iterable[object]) -> bool:
    """Return whether some names are those of a tree's nodes."""
    plain = {name.strip("_").lower() for name in names if type(name) is str}
    return any(pair <= plain for pair in _CHILDREN) or (plain >= _SIDES and not plain.isdisjoint(_SPLITS))


def _is_split(mapping: Mapping) -> bool:
    """Return whether a dictionary has a tree's arrays, or is a node with its children."""
    sides = [
        value
        for key, value in mapping.pairs
        if type(key) is str and any(key.strip("_").lower() in pair for pair in (*_CHILDREN, _SIDES))
    ]
    return _are_nodes(key for key, _ in mapping.pairs) and any(isinstance(side, CONTAINERS) for side in sides)


def _leads_to_children(stored: Stored) -> bool:
    """Return whether an array's numbers, or a column's or a row's, lead from a tree's nodes to their children."""
    if len(stored.shape) > 2 or math.prod(stored.shape) < _FEWEST_NODES or stored.is_sparse:
        return False
    try:
        values = stored.values()
        if values.dtype.kind == "O":
            values = values.astype(np.float64)
    except (ValueError, TypeError, OverflowError):
        return False
    if values.dtype.kind not in "if":
        return False
    if values.ndim == 1:
        return _are_children(values)
    tables = [table for table in (values, values.T) if table.shape[1] <= _MOST_COLUMNS]
    return any(_are_children(table[:, i]) for table in tables for i in range(table.shape[1]))


def _are_children(values: AnyArray) -> bool:
    """Return whether each node of a binary tree has a child of its own here, and each leaf -1."""
    n = len(values)
    if n < _FEWEST_NODES or n % 2 == 0 or 2 * int(np.count_nonzero(values == -1)) != n + 1:
        return False
    parents = np.flatnonzero(values != -1)
    children = values[parents]
    inside = np.isfinite(children) & (children > parents) & (children < n)
    return bool(inside.all()) and len(np.unique(children)) == len(children) and bool((children % 1 == 0).all())
