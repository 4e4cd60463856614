"""Counts that somebody took out half-way: in go shares or impurities of inner nodes, out come the counts of each node.

The share of a class at a node lies between those at its children, where their weights put it:
w_left / w = (f - f_right) / (f_left - f_right). The impurity says the same of the share, up to two solutions. Down from
the root these ratios give all weights up to one factor, and counts are whole: each leaf's smallest ones follow from the
shares in it, a node's from those of its children, and what is too large for the root is no solution. All of that is
exact arithmetic; a double is taken for the quotient of small numbers that it is.

Where both children of a node answer the same, the ratio of their weights does not show. How many rows the node holds
still does, by the nodes above; where only one division of these among the children is possible, it is that one, and
else the node is taken for a leaf (`Restoration.cut`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from pytest_draft.arrays import BoolArray, FloatArray, IntArray
from pytest_draft.artifact.forest import Tree

_LARGEST = 10**6
"""Most rows that a denominator is looked for up to."""

_MOST_PAIRS = 300_000
"""Most pairs of ways to count the children's rows that are looked at, in all trees: 20 to 100 us each."""

_SAMPLE = 20
"""Trees by which the weight of all roots is found where the file does not tell it."""

_STATES = 16
"""Most ways to count a node's rows that are kept: those with the fewest."""

_TWINS = 32
"""Most ways to count what is below a node that are looked at; of more it is not said which is right."""

_SHARE = 1e-15
"""How far a share in double precision is off."""

_IMPURITY = 4e-15
"""How far an impurity in double precision is off."""

_MEAN = 1e-11
"""How far a mean target in double precision is off, relative to the largest."""

_DEVIATIONS = 6
"""By how many standard deviations the share of a class among drawn rows differs from the average at most."""

Vector = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Evidence:
    """What a tree tells of its nodes besides its leaves."""

    tree: Tree
    """With shares of classes, or mean targets, where `known`."""
    known: BoolArray
    """Shape (n_nodes,). Whether a node's value is what its rows are on average."""
    impurity: FloatArray | None = None
    """Shape (n_nodes,). Where it is used for inner nodes that are not `known`."""
    entropy: bool = False
    """Whether impurities are entropies, in bits; otherwise Gini's."""
    near: float = 0.0
    """How far the share of a leaf that is not `known` can be from its value."""


@dataclass(frozen=True, eq=False)
class Restoration:
    """The counts of one tree."""

    counts: IntArray
    """Shape (n_nodes, n_classes). Of regressors in one column; 0 below nodes that were cut."""
    cut: BoolArray
    """Shape (n_nodes,). Inner nodes whose children's counts are not told."""


@dataclass(frozen=True, eq=False, slots=True)
class _State:
    """One way to count the rows at and below a node: the smallest whole numbers, of which any multiple may be true."""

    counts: Vector
    weight: int
    least: int = 1  # the smallest multiple that is possible
    below: tuple[_State, _State] | None = None
    parts: tuple[int, int] = (1, 1)  # multiples of the children's, or, where these are free, what each brings
    free: bool = False
    twins: tuple[_State, ...] = ()  # those with the same counts, and other ones below


def restore(forest: Sequence[Evidence], total: int | None, *, same_rows: bool) -> list[Restoration | None]:
    """Restore the counts of a forest's trees.

    Parameters
    ----------
    forest : sequence of Evidence
    total : int or None
        Weight of each tree's root; where it is not known, the smallest that explains the most trees.
    same_rows : bool
        Whether each tree saw all rows, so that the roots count the same.

    Returns
    -------
    list of Restoration or None
        None for trees that do not tell their counts, or not which of several.
    """
    effort = _Effort()
    if total is None:
        total = _common_total([_root_states(evidence, effort, _LARGEST) for evidence in forest[:_SAMPLE]])
    found = [_root_states(evidence, effort, total) for evidence in forest]
    fitting = [[s for s in states if total % s.weight == 0 and total // s.weight >= s.least] for states in found]
    fitting = [
        [states[place] for place in places]
        for states, places in zip(
            fitting,
            _like_the_others(
                [[_times(s.counts, total // s.weight) for s in states] for states in fitting], same_rows=same_rows
            ),
            strict=True,
        )
    ]
    return [
        _spread(evidence.tree, states[0], total // states[0].weight) if len(states) == 1 else None
        for evidence, states in zip(forest, fitting, strict=True)
    ]


def _common_total(found: Sequence[Sequence[_State]]) -> int:
    """Return the weight that most roots have, or the smallest multiple of it that explains the most."""
    votes = Counter(weight for states in found for weight in {state.weight for state in states})
    if not votes:
        return 1
    most = max(votes.values())
    size = min(weight for weight, n in votes.items() if n == most)
    if 2 * most > sum(map(bool, found)):
        candidates = {size * times for times in range(1, 5)}
    else:
        candidates = set(votes) | {math.lcm(size, weight) for weight in votes}

    def explained(size: int) -> int:
        return sum(any(size % s.weight == 0 and size // s.weight >= s.least for s in states) for states in found)

    return max(sorted(size for size in candidates if size <= _LARGEST), key=explained, default=size)


def _like_the_others(roots: Sequence[Sequence[Vector]], *, same_rows: bool) -> list[list[int]]:
    """Return which of the possible counts of each root agree with the other trees'.

    Trees that saw all rows agree in all classes. Of drawn rows the shares differ by chance.
    """
    votes = Counter(root for possible in roots for root in set(possible))
    if not votes:
        return [[] for _ in roots]
    if same_rows:
        common = max(votes, key=lambda root: votes[root])
        return [[place for place, root in enumerate(possible) if root == common] for possible in roots]
    sure = [possible[0] for possible in roots if len(possible) == 1] or list(votes)
    size = sum(sure[0])
    expected = np.mean(sure, axis=0) / size
    apart = _DEVIATIONS * np.sqrt(expected * (1 - expected) / size) + 1 / size
    return [
        [place for place, root in enumerate(possible) if (np.abs(np.array(root) / size - expected) <= apart).all()]
        for possible in roots
    ]


# Up the tree


class _Effort:
    """Turns shares in double precision into whole numbers, remembers them, and ends where there is too much to do."""

    def __init__(self) -> None:
        self.left = _MOST_PAIRS
        self._known: dict[bytes, Vector | None] = {}

    def of(self, value: FloatArray) -> Vector | None:
        """Return the smallest whole numbers in the proportion of shares; None where there are no small ones."""
        key = value.tobytes()
        if key not in self._known:
            self._known[key] = _whole(value.tolist())
        return self._known[key]


def _whole(shares: list[float]) -> Vector | None:
    quotients = [Fraction(share).limit_denominator(_LARGEST) for share in shares]
    if any(abs(float(q) - share) > _SHARE for q, share in zip(quotients, shares, strict=True)):
        return None
    common = math.lcm(*(q.denominator for q in quotients))
    counts = tuple(int(q * common) for q in quotients)
    return counts if sum(counts) == common and common <= _LARGEST else None


def _root_states(evidence: Evidence, effort: _Effort, limit: int) -> list[_State]:
    """Return the ways to count the rows of a tree, those with the fewest first."""
    tree = evidence.tree
    means = tree.value[:, 0] if tree.value.shape[1] == 1 else None
    states: list[list[_State]] = [[] for _ in range(tree.n_nodes)]
    left, right = tree.left.tolist(), tree.right.tolist()
    for node in range(tree.n_nodes - 1, -1, -1):
        if left[node] < 0 and not evidence.known[node]:
            states[node] = _leaf_states(evidence, node)
            continue
        if left[node] < 0:
            counts = (1,) if means is not None else effort.of(tree.value[node])
            states[node] = [] if counts is None else [_State(counts, sum(counts))]
            continue
        children = states[left[node]], states[right[node]]
        states[left[node]] = states[right[node]] = []  # not needed any more but from above
        effort.left -= len(children[0]) * len(children[1])
        if not all(children) or effort.left < 0:
            return []
        if means is not None:
            solve = _by_means(means[node], means[left[node]], means[right[node]], float(np.abs(means).max()))
        elif evidence.known[node]:
            wanted = effort.of(tree.value[node])
            if wanted is None:
                return []
            solve = _by_shares(wanted)
        elif evidence.impurity is not None:
            solve = _by_impurity(float(evidence.impurity[node]), entropy=evidence.entropy)
        else:
            return []
        made: dict[Vector, _State] = {}
        for state in (state for one in children[0] for other in children[1] for state in solve(one, other)):
            if state.weight * state.least <= limit:
                twin = made.get(state.counts)
                made[state.counts] = state if twin is None else _with_twin(twin, state)
        states[node] = sorted(made.values(), key=_size)[:_STATES]
    return states[0]


def _leaf_states(evidence: Evidence, node: int) -> list[_State]:
    """Return what a leaf of two classes can hold by its impurity, near what it answers."""
    value = evidence.tree.value[node]
    if evidence.impurity is None or len(value) != 2:
        return []
    if evidence.impurity[node] < _IMPURITY:
        first = int(value[0] >= value[1])
        return [_State((first, 1 - first), 1)]
    solve = _by_impurity(float(evidence.impurity[node]), entropy=evidence.entropy)
    states = solve(_State((1, 0), 1), _State((0, 1), 1))
    near = [s for s in states if abs(s.counts[0] / s.weight - value[0]) <= evidence.near + _IMPURITY]
    return list({state.counts: replace(state, below=None) for state in near}.values())


def _with_twin(one: _State, other: _State) -> _State:
    twins = one.twins or (one,)
    if any(twin.below == other.below and twin.parts == other.parts for twin in twins):
        return one
    return replace(one, least=min(one.least, other.least), twins=(*twins, other)[: _TWINS + 1])


def _size(state: _State) -> int:
    return state.weight * state.least


Solve = Callable[[_State, _State], Iterator[_State]]


def _joined(left: _State, right: _State, parts: tuple[int, int]) -> _State:
    counts = tuple(parts[0] * a + parts[1] * b for a, b in zip(left.counts, right.counts, strict=True))
    least = max(-(-left.least // parts[0]), -(-right.least // parts[1]))
    return _State(counts, sum(counts), least, (left, right), parts)


def _free(left: _State, right: _State) -> _State:
    """Return the state above children that answer the same, whose weights can stand in any proportion."""
    ours, theirs = math.gcd(*left.counts), math.gcd(*right.counts)
    common = math.gcd(ours, theirs)
    counts = tuple(count // ours * common for count in left.counts)
    least = -(-(ours * left.least + theirs * right.least) // common)
    return _State(counts, sum(counts), least, (left, right), (ours // common, theirs // common), free=True)


def _is_same(left: _State, right: _State) -> bool:
    return all(a * right.weight == b * left.weight for a, b in zip(left.counts, right.counts, strict=True))


def _by_shares(wanted: Vector) -> Solve:
    size = sum(wanted)

    def solve(left: _State, right: _State) -> Iterator[_State]:
        over = [a * size - w * left.weight for a, w in zip(left.counts, wanted, strict=True)]
        under = [w * right.weight - b * size for b, w in zip(right.counts, wanted, strict=True)]
        place = max(range(len(wanted)), key=lambda c: abs(over[c]) + abs(under[c]))
        if not over[place] and not under[place]:
            yield _free(left, right)
        elif over[place] * under[place] > 0:
            common = math.gcd(over[place], under[place])
            parts = abs(under[place]) // common, abs(over[place]) // common
            if all(parts[0] * a == parts[1] * b for a, b in zip(over, under, strict=True)):
                yield _joined(left, right, parts)

    return solve


def _by_means(mean: float, left_mean: float, right_mean: float, scale: float) -> Solve:
    def solve(left: _State, right: _State) -> Iterator[_State]:
        if left_mean == right_mean:
            if abs(mean - left_mean) <= _MEAN * scale:
                yield _free(left, right)
            return
        share = (mean - right_mean) / (left_mean - right_mean)

        def is_right(state: _State) -> bool:
            assert state.below is not None
            part = state.parts[0] * left.weight / state.weight
            return abs(part * left_mean + (1 - part) * right_mean - mean) <= _MEAN * scale

        yield from _simplest(left, right, share, is_right)

    return solve


def _by_impurity(wanted: float, *, entropy: bool) -> Solve:
    impurity = _entropy if entropy else _gini

    def solve(left: _State, right: _State) -> Iterator[_State]:
        def has_impurity(state: _State) -> bool:
            return abs(impurity([count / state.weight for count in state.counts]) - wanted) <= _IMPURITY

        if _is_same(left, right):
            state = _free(left, right)
            if has_impurity(state):
                yield state
            return
        ours = [count / left.weight for count in left.counts]
        theirs = [count / right.weight for count in right.counts]
        for share in (_entropy_shares if entropy else _gini_shares)(ours, theirs, wanted):
            # Next to its highest point an impurity tells half as many digits of the share.
            off = 1e-7 + 1e-7 / math.dist(ours, theirs)

            def is_right(state: _State, share: float = share, off: float = off) -> bool:
                return abs(state.parts[0] * left.weight / state.weight - share) <= off and has_impurity(state)

            yield from _simplest(left, right, share, is_right)

    return solve


def _simplest(left: _State, right: _State, share: float, is_right: Callable[[_State], bool]) -> Iterator[_State]:
    """Yield the state with the smallest counts in which the left child has nearly a share of the weight."""
    if not 0 < share < 1:
        return
    ratio = share / (1 - share) * right.weight / left.weight
    before, last = (0, 1), (1, 0)
    for _ in range(40):  # convergents of the ratio
        whole = math.floor(ratio)
        before, last = last, (whole * last[0] + before[0], whole * last[1] + before[1])
        if max(last) > _LARGEST:
            return
        if min(last) > 0:
            state = _joined(left, right, last)
            if is_right(state):
                yield state
                return
        if ratio - whole < 1e-15:
            return
        ratio = 1 / (ratio - whole)


def _gini(shares: Sequence[float]) -> float:
    return 1.0 - sum(share * share for share in shares)


def _entropy(shares: Sequence[float]) -> float:
    return -sum(share * math.log2(share) for share in shares if share > 0)


def _gini_shares(left: Sequence[float], right: Sequence[float], wanted: float) -> Iterator[float]:
    """Yield the shares of the left child's weight by which the mixture has an impurity: a quadratic equation."""
    apart = [a - b for a, b in zip(left, right, strict=True)]
    square = sum(d * d for d in apart)
    linear = sum(b * d for b, d in zip(right, apart, strict=True))
    rest = _gini(right) - wanted
    root = math.sqrt(max(0.0, linear * linear + square * rest))
    yield (-linear + root) / square
    if root:
        yield (-linear - root) / square


def _entropy_shares(left: Sequence[float], right: Sequence[float], wanted: float) -> Iterator[float]:
    """Yield the shares of the left child's weight by which the mixture has an entropy.

    It is concave in them: from either end, Newton's steps never go too far.
    """
    for start, toward in ((0.0, 1.0), (1.0, -1.0)):
        share = start + toward * 1e-9
        for _ in range(100):
            mixed = [(a - b, share * a + (1 - share) * b) for a, b in zip(left, right, strict=True)]
            lacking = wanted - _entropy([f for _, f in mixed])
            slope = -toward * sum(apart * math.log2(f) for apart, f in mixed if f > 0)
            if lacking <= 0 or slope <= 0 or lacking < 1e-16 * slope:
                break
            share += toward * lacking / slope
            if not 0 < share < 1:
                break
        if 0 < share < 1 and abs(lacking) < _IMPURITY and share != start + toward * 1e-9:
            yield share


# Down the tree


def _spread(tree: Tree, root: _State, times: int) -> Restoration | None:
    """Return the counts of all nodes, from the root down; None where they cannot be divided among the children.

    Where several ways are left to count what is below a node, they are followed together as long as they agree.
    """
    counts = np.zeros((tree.n_nodes, len(root.counts)), dtype=np.int64)
    cut = np.zeros(tree.n_nodes, dtype=np.bool_)
    todo = [(0, [(root, times)])]
    while todo:
        node, ways = todo.pop()
        counts[node] = _times(ways[0][0].counts, ways[0][1])
        if tree.left[node] < 0:
            continue
        divided = _divided(ways)
        if not divided:
            return None
        if len(divided) > 1:
            cut[node] = True
            continue
        ((left, right),) = divided.values()
        todo += [(int(tree.left[node]), left), (int(tree.right[node]), right)]
    return Restoration(counts, cut)


Ways = list[tuple[_State, int]]


def _divided(ways: Ways) -> dict[tuple[Vector, Vector], tuple[Ways, Ways]]:
    """Return what the children of a node can count, up to two possibilities, and the ways to count what is below."""
    divided: dict[tuple[Vector, Vector], tuple[Ways, Ways]] = {}
    for state, times in ways:
        for twin in state.twins or (state,):
            assert twin.below is not None
            left, right = twin.below
            shares = [(twin.parts[0] * times, twin.parts[1] * times)] if twin.least <= times else []
            if twin.free and shares:
                shares = _divisions(times, twin.parts, (left.least, right.least))
            for ours, theirs in shares:
                found = divided.setdefault((_times(left.counts, ours), _times(right.counts, theirs)), ([], []))
                found[0].append((left, ours))
                found[1].append((right, theirs))
            if len(divided) > 1 or len(state.twins) > _TWINS:
                return {**divided, ((), ()): ([], [])}
    return divided


def _divisions(total: int, parts: tuple[int, int], least: tuple[int, int]) -> list[tuple[int, int]]:
    """Return up to two ways to write a total as multiples of two parts that are large enough."""
    found: list[tuple[int, int]] = []
    for ours in range(least[0], total // parts[0] + 1):
        theirs, rest = divmod(total - ours * parts[0], parts[1])
        if theirs < least[1]:
            break
        if not rest:
            found.append((ours, theirs))
            if len(found) == 2:
                break
    return found


def _times(counts: Vector, times: int) -> Vector:
    return tuple(count * times for count in counts)
