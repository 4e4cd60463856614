"""Trees, rule lists and domains that are small enough to list all that they allow."""

from __future__ import annotations

import math

import numpy as np

from pytest_draft.artifact.forest import Tree
from pytest_draft.artifact.rules.rule_list import RuleList
from pytest_draft.audit.leaf_counting import leaf_sizes
from pytest_draft.domain import Attribute, Domain
from pytest_draft.facts.rules import ListedRule, Literal, between


def tree_of(nodes: list[tuple[int, float, int, int] | None]) -> Tree:
    """Return a tree of (column, threshold, left, right) nodes and leaves."""
    inner = [node or (-1, -2.0, -1, -1) for node in nodes]
    column, threshold, left, right = (np.array(values) for values in zip(*inner, strict=True))
    n = len(nodes)
    empty = np.zeros(n, dtype=np.int64)
    return Tree(left, right, column, threshold, np.zeros(n, bool), np.zeros((n, 1)), np.zeros(n), empty, None)


def domain_of(*attributes: Attribute) -> Domain:
    columns = sum(len(attribute.columns) for attribute in attributes)
    return Domain(tuple(f"c{column}" for column in range(columns)), attributes, "by hand")


def booleans(n: int) -> Domain:
    return domain_of(*(Attribute(f"a{a}", "binary", (a,)) for a in range(n)))


def is_one(column: int) -> Literal:
    return Literal(column, 0.5, math.inf)


RULE_LIST_1 = RuleList(
    "by hand",
    (
        ListedRule((is_one(0), is_one(1)), True, (0, 2)),
        ListedRule((is_one(2),), False, (2, 0)),
        ListedRule((), True, (0, 1)),
    ),
    ("c0", "c1", "c2"),
    3,
    (False, True),
)


def random_domain(rng: np.random.Generator) -> Domain:
    """Return a domain of at most 200 vectors: binary, ordinal and one-hot attributes."""
    attributes: list[Attribute] = []
    size, column = 1, 0
    for a in range(int(rng.integers(1, 6))):
        kind = rng.choice(["binary", "ordinal", "one-hot"])
        n = 2 if kind == "binary" else int(rng.integers(2, 5))
        if size * n > 200:
            break
        low = float(rng.integers(-2, 3)) if kind == "ordinal" else 0.0
        columns = tuple(range(column, column + (n if kind == "one-hot" else 1)))
        attributes.append(Attribute(f"a{a}", kind, columns, low, low + n - 1 if kind == "ordinal" else 1.0))
        size, column = size * n, column + len(columns)
    return domain_of(*attributes)


def random_tree(domain: Domain, rows: np.ndarray, rng: np.random.Generator) -> Tree:
    """Return a tree of random splits, each of which divides some of the rows."""
    nodes: list[tuple[int, float, int, int] | None] = [None]

    def grow(node: int, here: np.ndarray, depth: int) -> None:
        varying = [c for c in range(domain.n_columns) if len(np.unique(here[:, c])) > 1]
        if depth == 4 or not varying or rng.random() < 0.2:
            return
        column = int(rng.choice(varying))
        values = np.unique(here[:, column])
        cut = int(rng.integers(len(values) - 1))
        threshold = float(values[cut] + values[cut + 1]) / 2
        left, right = len(nodes), len(nodes) + 1
        nodes[node] = (column, threshold, left, right)
        nodes.extend([None, None])
        below = here[:, column] <= threshold
        grow(left, here[below], depth + 1)
        grow(right, here[~below], depth + 1)

    grow(0, rows, 0)
    return tree_of(nodes)


def random_rules(domain: Domain, rng: np.random.Generator, n_rules: int) -> RuleList:
    """Return rules of up to three tests, which may contradict each other."""

    def literal() -> Literal:
        column = int(rng.integers(domain.n_columns))
        owner = next(a for a in domain.attributes if column in a.columns)
        value = float(rng.integers(owner.low, owner.high + 1))
        low, high = [(-math.inf, value), (value - 0.5, math.inf), between(value, value)][int(rng.integers(3))]
        return Literal(column, low, high, bool(rng.integers(2)))

    rules = [ListedRule(tuple(literal() for _ in range(rng.integers(1, 4))), 0) for _ in range(n_rules)]
    return RuleList("random", (*rules, ListedRule((), 0)), domain.columns, domain.n_columns, (0,))


def sizes_of(tree: Tree, domain: Domain) -> np.ndarray:
    """Return the sizes of all leaves, in the order of the leaves."""
    leaves, sizes = (np.concatenate(parts) for parts in zip(*leaf_sizes(tree, domain), strict=True))
    return sizes[np.argsort(leaves)]
