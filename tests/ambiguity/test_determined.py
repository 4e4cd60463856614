"""Determined rows against enumeration of all that the rows of a block can be."""

from __future__ import annotations

import itertools
import math

import joblib
import numpy as np
import pytest
from sklearn.ensemble import BaggingClassifier, ExtraTreesClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.tree import DecisionTreeClassifier

from pytest_draft.ambiguity.block_search import FIXED, OTHER, UNDECIDED
from pytest_draft.ambiguity.blocks import Blocks, left_open
from pytest_draft.ambiguity.boxes import boxes_of
from pytest_draft.ambiguity.determined import SIZES, determined_rows, share_interval
from pytest_draft.artifact import read
from pytest_draft.artifact.forest import Forest
from pytest_draft.artifact.occurrences import occurrences
from pytest_draft.attack.descent import leaf_positions
from pytest_draft.domain import Attribute, Domain
from pytest_draft.timebox import TimeBox
from small_models import booleans, domain_of

ONE_HOT = domain_of(
    Attribute("g", "one-hot", (0, 1, 2)), Attribute("b", "binary", (3,)), Attribute("c", "binary", (4,))
)
DROPPED = domain_of(
    Attribute("g", "one-hot", (0, 1), dropped=True), *(Attribute(f"b{i}", "binary", (i,)) for i in (2, 3))
)
CONSTANT = domain_of(
    Attribute("b", "binary", (0,)), Attribute("k", "ordinal", (1,), 7.0, 7.0), Attribute("c", "binary", (2,))
)
ORDINAL = domain_of(Attribute("o", "ordinal", (0,), 0.0, 5.0), Attribute("b", "binary", (1,)))
CODES = domain_of(
    Attribute("o", "ordinal", (0,), 1.0, 9.0, values=(1.0, 2.0, 5.0, 9.0)), Attribute("b", "binary", (1,))
)
MISSING = domain_of(Attribute("o", "ordinal", (0,), 0.0, 3.0, missing=True), Attribute("b", "binary", (1,)))


def group_of(n_values: int, *others: Attribute, dropped: bool = False) -> Domain:
    """A one-hot group before other attributes."""
    return domain_of(Attribute("g", "one-hot", tuple(range(n_values - dropped)), dropped=dropped), *others)


LARGE_GROUPS = {
    "65": group_of(65, Attribute("b", "binary", (65,))),
    "100": group_of(100),
    "130": group_of(130, Attribute("b", "binary", (130,))),
    "dropped": group_of(66, Attribute("b", "binary", (65,)), dropped=True),
}
WITH_ORDERED = {
    "65": group_of(65, Attribute("o", "ordinal", (65,), 0.0, 3.0)),
    "100": group_of(100, Attribute("o", "ordinal", (100,), 0.0, 2.0)),
    "many ordered": domain_of(Attribute("o", "ordinal", (0,), 0.0, 79.0, missing=True), Attribute("b", "binary", (1,))),
}
DISCRETE = {"binary": booleans(4), "one-hot": ONE_HOT, "dropped": DROPPED, "constant": CONSTANT}
ORDERED = {"ordinal": ORDINAL, "codes": CODES, "missing": MISSING}


def vectors_of(domain: Domain) -> np.ndarray:
    """All that the domain allows, missing values included."""
    parts = []
    for attribute in domain.attributes:
        part = attribute.encoded(np.arange(attribute.n_states))
        if attribute.missing:
            part[-1] = np.nan
        parts.append(part)
    rows = []
    for states in itertools.product(*(range(len(part)) for part in parts)):
        row = np.empty(domain.n_columns, dtype=np.float32)
        for attribute, part, state in zip(domain.attributes, parts, states, strict=True):
            row[list(attribute.columns)] = part[state]
        rows.append(row)
    return np.array(rows)


def made(tmp_path, model, domain, rng, n_rows, n_classes=2, vectors=None):
    """A fitted forest as it is read from its file, its rows and labels, and how often each tree saw them."""
    pool = vectors_of(domain) if vectors is None else vectors
    rows = pool[rng.integers(len(pool), size=n_rows)]
    labels = np.arange(n_rows) % n_classes
    joblib.dump(model.fit(rows, labels), tmp_path / "model.joblib")
    forest = read(str(tmp_path / "model.joblib")).forest
    return forest, rows, labels, occurrences(forest)


def midpoints_hold(forest: Forest, domain: Domain, rows: np.ndarray, times: np.ndarray) -> bool:
    """Whether each finite threshold of a column in no group is the midpoint of the nearest values on its two sides."""
    for t, tree in enumerate(forest.trees):
        here = {0: np.flatnonzero(times[t] > 0)}
        for node in range(tree.n_nodes):
            if tree.left[node] < 0:
                continue
            of_node, threshold = here[node], tree.threshold[node]
            values = rows[of_node, tree.feature[node]].astype(np.float64)
            below = np.where(np.isnan(values), tree.missing_left[node], values <= threshold)
            here[int(tree.left[node])], here[int(tree.right[node])] = of_node[below], of_node[~below]
            if not math.isfinite(threshold):
                continue
            left, right = values[below & ~np.isnan(values)], values[~below & ~np.isnan(values)]
            if not len(left) or not len(right) or left.max() / 2 + right.min() / 2 != threshold:
                return False
    return True


def enumerated(forest, domain, rows, labels, times, block, n_classes, midpoints, known=(), aside=()):
    """Of each row of a block, whether its values occur at least as often in every assignment that fits."""
    vectors = vectors_of(domain)
    leaf = [leaf_positions(tree, np.ascontiguousarray(vectors.T)) for tree in forest.trees]
    true_leaf = [leaf_positions(tree, np.ascontiguousarray(rows.T)) for tree in forest.trees]
    columns = domain.columns_of(known)
    can_be = [
        [
            (v, c)
            for v in range(len(vectors))
            for c in range(n_classes)
            if np.array_equal(vectors[v, columns], rows[row, columns], equal_nan=True)
        ]
        for row in block
    ]
    wanted = []
    for t, tree in enumerate(forest.trees):
        draws = np.zeros((len(tree.leaves), n_classes + 1), dtype=int)
        for row in block:
            draws[true_leaf[t][row], labels[row]] += times[t, row]
            draws[true_leaf[t][row], -1] += times[t, row] > 0
        wanted.append(draws)

    asked = domain.columns_of(a for a in range(len(domain.attributes)) if a not in aside)

    def key(row):
        return rows[row, asked].tobytes()

    fixed = np.ones(len(block), dtype=bool)
    partial: list[tuple[int, int]] = []

    def place(i: int) -> None:
        if i == len(block):
            if any(draws.any() for draws in wanted):
                return
            changed = rows.copy()
            changed[block] = vectors[[v for v, _ in partial]]
            if midpoints and not midpoints_hold(forest, domain, changed, times):
                return
            got = [changed[row, asked].tobytes() for row in block]
            for k, row in enumerate(block):
                fixed[k] &= got.count(key(row)) >= sum(key(other) == key(row) for other in block)
            return
        for v, c in can_be[i]:
            ways = [(t, leaf[t][v], times[t, block[i]]) for t in range(len(leaf)) if times[t, block[i]] > 0]
            if all(wanted[t][j, c] >= w and wanted[t][j, -1] > 0 for t, j, w in ways):
                for t, j, w in ways:
                    wanted[t][j, c] -= w
                    wanted[t][j, -1] -= 1
                partial.append((v, c))
                place(i + 1)
                partial.pop()
                for t, j, w in ways:
                    wanted[t][j, c] += w
                    wanted[t][j, -1] += 1

    place(0)
    return fixed


MODELS = {
    "whole": lambda s: RandomForestClassifier(4, max_depth=3, bootstrap=False, random_state=s, max_features=1),
    "bootstrap": lambda s: RandomForestClassifier(5, max_depth=3, random_state=s, max_features=1),
    "many": lambda s: RandomForestClassifier(20, random_state=s),
    "leaves": lambda s: RandomForestClassifier(8, min_samples_leaf=3, random_state=s),
    "extra": lambda s: ExtraTreesClassifier(6, max_depth=3, random_state=s),
    "bagging": lambda s: BaggingClassifier(
        DecisionTreeClassifier(max_depth=3), 5, bootstrap=False, max_samples=8, random_state=s
    ),
}


@pytest.mark.nightly(quick=6)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("domain", DISCRETE)
def test_equals_enumeration(tmp_path, domain, model, n_classes):
    seen = set()
    for seed in range(4):
        rng = np.random.default_rng([seed, n_classes])
        made_up = made(tmp_path, MODELS[model](seed), DISCRETE[domain], rng, 14, n_classes)
        blocks = Blocks.of(made_up[0], DISCRETE[domain], *made_up[1:])
        assert blocks is not None
        for size in (1, 2, 3):
            block = rng.choice(14, size, replace=False)
            state = blocks.examined(block, np.ones(size, dtype=bool), TimeBox(60.0))
            expected = enumerated(made_up[0], DISCRETE[domain], *made_up[1:], block, n_classes, midpoints=False)
            assert state.tolist() == np.where(expected, FIXED, OTHER).tolist()
            seen |= set(expected.tolist())
    assert seen  # not nothing


LARGE_MODELS = {
    "bootstrap": lambda s: RandomForestClassifier(3, random_state=s, max_features=1),
    "shallow": lambda s: RandomForestClassifier(8, max_depth=30, random_state=s, max_features=1),
    "bagging": lambda s: BaggingClassifier(
        DecisionTreeClassifier(max_features=1), 4, bootstrap=False, max_samples=0.5, random_state=s
    ),
}


def made_of_large(tmp_path, model, domain):
    """As `made`, with three rows for each vector; and which vectors stay in a row's leaves, (n_rows, n_vectors)."""
    vectors, rng = vectors_of(domain), np.random.default_rng(0)
    made_up = made(tmp_path, LARGE_MODELS[model](0), domain, rng, 3 * len(vectors))
    assert boxes_of(made_up[0], domain).bin_of[0].max() >= 64
    leaf, of_vector = (
        np.stack([leaf_positions(tree, np.ascontiguousarray(some.T)) for tree in made_up[0].trees])
        for some in (made_up[1], vectors)
    )
    seen = made_up[3] > 0
    return made_up, ((leaf[:, :, None] == of_vector[:, None]) | ~seen[:, :, None]).all(axis=0)


def blocks_of_large(stays):
    """Single rows and pairs: of those that can be something else in their leaves, and of all others."""
    rng, is_open = np.random.default_rng(0), stays.sum(axis=1) > 1
    for _ in range(2):
        some, others = rng.choice(np.flatnonzero(is_open)), rng.choice(np.flatnonzero(~is_open))
        yield from (np.array([some]), np.array([others]), np.array([some, others]))


@pytest.mark.nightly(quick=3)
@pytest.mark.parametrize("model", LARGE_MODELS)
@pytest.mark.parametrize("domain", LARGE_GROUPS)
def test_equals_enumeration_of_large_groups(tmp_path, domain, model):
    """Of groups with more values than a word has bits."""
    domain = LARGE_GROUPS[domain]
    made_up, stays = made_of_large(tmp_path, model, domain)
    blocks = Blocks.of(made_up[0], domain, *made_up[1:])
    assert blocks is not None
    seen = set()
    for block in blocks_of_large(stays):
        state = blocks.examined(block, np.ones(len(block), dtype=bool), TimeBox(60.0))
        expected = enumerated(made_up[0], domain, *made_up[1:], block, 2, midpoints=False)
        assert state.tolist() == np.where(expected, FIXED, OTHER).tolist()
        seen |= set(expected.tolist())
    assert seen == {True, False}


@pytest.mark.parametrize("attributes", [{"known": (0,)}, {"known": (1,)}, {"aside": (0,)}, {"aside": (1,)}])
def test_equals_enumeration_of_some_attributes_beside_a_large_group(tmp_path, attributes):
    domain = LARGE_GROUPS["65"]
    made_up, stays = made_of_large(tmp_path, "shallow", domain)
    blocks = Blocks.of(made_up[0], domain, *made_up[1:], **attributes)
    assert blocks is not None
    for block in blocks_of_large(stays):
        state = blocks.examined(block, np.ones(len(block), dtype=bool), TimeBox(60.0))
        expected = enumerated(made_up[0], domain, *made_up[1:], block, 2, midpoints=False, **attributes)
        assert state.tolist() == np.where(expected, FIXED, OTHER).tolist()


@pytest.mark.parametrize("model", LARGE_MODELS)
@pytest.mark.parametrize("domain", LARGE_GROUPS)
def test_what_is_left_open_of_large_groups(tmp_path, domain, model):
    domain = LARGE_GROUPS[domain]
    (forest, rows, _, times), stays = made_of_large(tmp_path, model, domain)
    differs = domain.indices(rows)[:, None] != domain.indices(vectors_of(domain))
    expected = (stays[:, :, None] & differs).any(axis=1).mean(axis=0)
    assert expected.any()
    assert left_open(forest, domain, rows, times) == pytest.approx(expected)


@pytest.mark.parametrize("model", ["whole", "bootstrap", "many"])
def test_equals_enumeration_with_known_attributes(tmp_path, model):
    for seed in range(6):
        rng = np.random.default_rng(seed)
        forest, rows, labels, times = made(tmp_path, MODELS[model](seed), ONE_HOT, rng, 12)
        blocks = Blocks.of(forest, ONE_HOT, rows, labels, times, known=(0,))
        assert blocks is not None
        block = rng.choice(12, 3, replace=False)
        state = blocks.examined(block, np.ones(3, dtype=bool), TimeBox(60.0))
        expected = enumerated(forest, ONE_HOT, rows, labels, times, block, 2, midpoints=False, known=(0,))
        assert state.tolist() == np.where(expected, FIXED, OTHER).tolist()


@pytest.mark.parametrize("model", ["whole", "bootstrap", "many", "leaves"])
@pytest.mark.parametrize("aside", [(0,), (1,), (1, 2)])
def test_equals_enumeration_of_some_attributes(tmp_path, model, aside):
    rng = np.random.default_rng(len(aside))
    forest, rows, labels, times = made(tmp_path, MODELS[model](3), ONE_HOT, rng, 12)
    blocks = Blocks.of(forest, ONE_HOT, rows, labels, times, aside=aside)
    assert blocks is not None
    for _ in range(6):
        block = rng.choice(12, 3, replace=False)
        state = blocks.examined(block, np.ones(3, dtype=bool), TimeBox(60.0))
        expected = enumerated(forest, ONE_HOT, rows, labels, times, block, 2, midpoints=False, aside=aside)
        assert state.tolist() == np.where(expected, FIXED, OTHER).tolist()


def test_a_column_that_no_tree_tests_hides_the_others_unless_set_aside(tmp_path):
    rng = np.random.default_rng(0)
    rows = vectors_of(booleans(4))[rng.integers(16, size=60)]
    labels = rng.integers(2, size=60)
    model = RandomForestClassifier(60, max_features=None, random_state=0).fit(rows * [1, 1, 1, 0], labels)
    joblib.dump(model, tmp_path / "model.joblib")
    forest = read(str(tmp_path / "model.joblib")).forest
    assert left_open(forest, booleans(4), rows, occurrences(forest)).tolist() == [0, 0, 0, 1]
    strict, others = (
        determined_rows(
            forest, booleans(4), rows, labels, TimeBox(60.0), times=occurrences(forest), aside=a, sizes=(8,)
        )
        for a in ((), (3,))
    )
    assert all(one.moving == one.rows for one in strict)
    assert all(one.determined == one.rows for one in others)
    with pytest.raises(ValueError, match="nothing is asked for"):
        determined_rows(forest, booleans(4), rows, labels, TimeBox(60.0), times=occurrences(forest), aside=range(4))


@pytest.mark.nightly(quick=2)
@pytest.mark.parametrize("model", ["whole", "bootstrap", "many", "leaves"])
@pytest.mark.parametrize("domain", ORDERED)
def test_is_true_of_ordered_columns(tmp_path, domain, model):
    n_sure = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        forest, rows, labels, times = made(tmp_path, MODELS[model](seed), ORDERED[domain], rng, 14)
        blocks = Blocks.of(forest, ORDERED[domain], rows, labels, times)
        assert blocks is not None
        for size in (1, 2, 3):
            block = rng.choice(14, size, replace=False)
            state = blocks.examined(block, np.ones(size, dtype=bool), TimeBox(60.0))
            expected = enumerated(forest, ORDERED[domain], rows, labels, times, block, 2, midpoints=True)
            assert expected[state == FIXED].all()
            assert not expected[state == OTHER].any()
            n_sure += int((state != UNDECIDED).sum())
    assert n_sure > 18


@pytest.mark.parametrize("domain", WITH_ORDERED)
def test_is_true_of_many_values_with_ordered_columns(tmp_path, domain):
    domain = WITH_ORDERED[domain]
    made_up, stays = made_of_large(tmp_path, "shallow", domain)
    blocks = Blocks.of(made_up[0], domain, *made_up[1:])
    assert blocks is not None
    found = set()
    for block in blocks_of_large(stays):
        state = blocks.examined(block, np.ones(len(block), dtype=bool), TimeBox(60.0))
        expected = enumerated(made_up[0], domain, *made_up[1:], block, 2, midpoints=True)
        assert expected[state == FIXED].all()
        assert not expected[state == OTHER].any()
        found |= set(state.tolist())
    assert FIXED in found


NUMERIC = domain_of(Attribute("x", "numeric", (0,), 0.0, 6.0), Attribute("b", "binary", (1,)))
GRID = np.array([(x, b) for x in np.arange(0, 6.1, 0.5) for b in (0, 1)], dtype=np.float32)


@pytest.mark.nightly(quick=1)
@pytest.mark.parametrize("model", ["whole", "bootstrap", "many", "extra"])
def test_is_true_of_numeric_columns(tmp_path, monkeypatch, model):
    """Against all assignments of values on a grid on which the true values lie."""
    monkeypatch.setitem(globals(), "vectors_of", lambda domain: GRID)
    found = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        forest, rows, labels, times = made(
            tmp_path, MODELS[model](seed), NUMERIC, rng, 9, vectors=rng.permutation(GRID)[:9]
        )
        blocks = Blocks.of(forest, NUMERIC, rows, labels, times)
        assert blocks is not None
        for size in (1, 2, 3):
            block = rng.choice(9, size, replace=False)
            state = blocks.examined(block, np.ones(size, dtype=bool), TimeBox(60.0))
            expected = enumerated(forest, NUMERIC, rows, labels, times, block, 2, midpoints=model != "extra")
            assert expected[state == FIXED].all()
            found += state.tolist()
    assert (FIXED in found and OTHER in found) or model == "extra"


def test_a_value_that_takes_an_extreme_alone_is_determined(tmp_path):
    rows = np.array([[0.1], [1.3], [2.9], [4.0]], dtype=np.float32)
    joblib.dump(
        RandomForestClassifier(1, bootstrap=False, random_state=0).fit(rows, [0, 1, 0, 1]), tmp_path / "m.joblib"
    )
    forest = read(str(tmp_path / "m.joblib")).forest
    domain = domain_of(Attribute("x", "numeric", (0,), 0.0, 5.0))
    blocks = Blocks.of(forest, domain, rows, np.array([0, 1, 0, 1]), occurrences(forest))
    assert blocks is not None
    one = np.ones(1, dtype=bool)
    assert [int(blocks.examined(np.array([row]), one, TimeBox(60.0))[0]) for row in range(4)] == [FIXED] * 4
    # Of the two next to one threshold, the others tell both; those two alone can move in opposite directions.
    assert blocks.examined(np.array([0, 1]), np.ones(2, dtype=bool), TimeBox(60.0)).tolist() == [FIXED] * 2
    joblib.dump(RandomForestClassifier(1, bootstrap=False, random_state=0).fit(rows[:2], [0, 1]), tmp_path / "m.joblib")
    forest = read(str(tmp_path / "m.joblib")).forest
    blocks = Blocks.of(forest, domain, rows[:2], np.array([0, 1]), occurrences(forest))
    assert blocks is not None
    assert blocks.examined(np.array([0, 1]), np.ones(2, dtype=bool), TimeBox(60.0)).tolist() == [UNDECIDED] * 2


def test_what_midpoints_may_forbid_is_not_said_to_move(tmp_path):
    """Thresholds of extremely randomised trees give extremes away, which nobody looked at: undecided, not moving."""
    rng = np.random.default_rng(0)
    forest, rows, labels, times = made(tmp_path, MODELS["extra"](0), NUMERIC, rng, 14, vectors=GRID)
    blocks = Blocks.of(forest, NUMERIC, rows, labels, times)
    assert blocks is not None
    state = blocks.examined(np.arange(4), np.ones(4, dtype=bool), TimeBox(60.0))
    assert UNDECIDED in state


def test_a_regressors_means_are_not_looked_at(tmp_path):
    """Rows that counts alone let change places are undecided: their targets may hold them where they are."""
    rows = vectors_of(booleans(2))
    joblib.dump(
        RandomForestRegressor(2, bootstrap=False, random_state=0).fit(rows, [0.0, 1.5, 3.0, 9.0]), tmp_path / "m"
    )
    forest = read(str(tmp_path / "m")).forest
    blocks = Blocks.of(forest, booleans(2), rows, np.zeros(4, dtype=np.int64), occurrences(forest))
    assert blocks is not None
    assert OTHER not in blocks.examined(np.arange(4), np.ones(4, dtype=bool), TimeBox(60.0))


@pytest.mark.parametrize("bootstrap", [False, True])
def test_duplicates_are_counted(tmp_path, bootstrap):
    """Of rows that all are one vector the file determines as many as there are, where every vector is told apart."""
    rows = np.repeat(vectors_of(booleans(2)), 5, axis=0)
    labels = np.arange(20) % 2
    model = RandomForestClassifier(60, bootstrap=bootstrap, max_features=1, random_state=0).fit(rows, labels)
    joblib.dump(model, tmp_path / "m.joblib")
    forest = read(str(tmp_path / "m.joblib")).forest
    blocks = Blocks.of(forest, booleans(2), rows, labels, occurrences(forest))
    assert blocks is not None
    for block in (np.arange(5), np.array([0, 5, 10, 15, 16])):
        assert blocks.examined(block, np.ones(5, dtype=bool), TimeBox(60.0)).tolist() == [FIXED] * 5


@pytest.fixture
def fitted(tmp_path):
    return made(
        tmp_path, RandomForestClassifier(10, max_depth=3, random_state=0), ONE_HOT, np.random.default_rng(5), 40, 3
    )


def test_shares_by_size(fitted):
    found = determined_rows(fitted[0], ONE_HOT, *fitted[1:3], TimeBox(60.0), times=fitted[3])
    assert [(one.block_size, one.neighbours) for one in found] == [(s, n) for s in SIZES for n in (False, True)]
    for one in found:
        assert one.determined + one.moving == one.rows
        assert one.lower <= one.determined / one.rows <= one.upper
        assert one.neighbours is False or one.rows <= 40
    again = determined_rows(fitted[0], ONE_HOT, *fitted[1:3], TimeBox(60.0), times=fitted[3])
    assert again == found


def test_rows_and_attributes_that_are_known(fitted):
    forest, rows, labels, times = fitted
    one_left = np.arange(40) != 7
    found = determined_rows(
        forest, ONE_HOT, rows, labels, TimeBox(60.0), times=times, known_rows=one_left, sizes=(1, 8)
    )
    assert len({(one.determined, one.moving) for one in found if one.neighbours}) == 1
    assert all(one.rows == 1 for one in found if one.neighbours)
    everything = determined_rows(forest, ONE_HOT, rows, labels, TimeBox(60.0), times=times, known=(0, 1, 2), sizes=(8,))
    assert all(one.determined == one.rows for one in everything)
    assert (
        determined_rows(forest, ONE_HOT, rows, labels, TimeBox(60.0), times=times, known_rows=np.ones(40, bool)) == ()
    )


def test_one_row(tmp_path):
    forest, rows, labels, times = made(tmp_path, RandomForestClassifier(3), booleans(2), np.random.default_rng(0), 1)
    found = determined_rows(forest, booleans(2), rows, labels, TimeBox(60.0), times=times)
    assert len(found) == 2 * len(SIZES)
    assert all(one.determined == 0 and one.moving == one.rows for one in found)


def test_nothing_follows_from_rows_that_do_not_explain_the_counts(fitted):
    forest, rows, labels, times = fitted
    assert determined_rows(forest, ONE_HOT, rows, (labels + 1) % 3, TimeBox(60.0), times=times) == ()
    outside = rows.copy()
    outside[0, :3] = 1
    assert determined_rows(forest, ONE_HOT, outside, labels, TimeBox(60.0), times=times) == ()


def test_the_time_box_ends_it(fitted):
    ticks = itertools.count(0.0, 1.0)
    box = TimeBox(30.0, clock=lambda: next(ticks))
    found = determined_rows(fitted[0], ONE_HOT, *fitted[1:3], box, times=fitted[3])
    assert (8, False) in {(one.block_size, one.neighbours) for one in found}
    assert sum(one.rows for one in found) < 400
    used_up = TimeBox(60.0, effort=1.0)
    used_up.spend(1.0)
    assert determined_rows(fitted[0], ONE_HOT, *fitted[1:3], used_up, times=fitted[3]) == ()


@pytest.mark.parametrize("sizes", [(0,), (200,)])
def test_blocks_have_some_rows(fitted, sizes):
    with pytest.raises(ValueError, match="blocks have"):
        determined_rows(fitted[0], ONE_HOT, *fitted[1:3], TimeBox(60.0), times=fitted[3], sizes=sizes)


def test_intervals():
    all_of = share_interval(np.full(50, 8.0), np.full(50, 8.0))
    assert 0.9 < all_of[0] < 1.0 == all_of[1]
    mixed = share_interval(np.tile([8.0, 0.0], 25), np.full(50, 8.0))
    even = share_interval(np.full(50, 4.0), np.full(50, 8.0))
    assert mixed[1] - mixed[0] > 2 * (even[1] - even[0])  # rows of a block are alike
    assert share_interval(np.array([1.0, 0.0, 1.0]), np.ones(3), population=3) == (2 / 3, 2 / 3)
    part = share_interval(np.tile([1.0, 0.0], 50), np.ones(100), population=110)
    assert part[1] - part[0] < 0.1


def test_intervals_cover_the_share():
    rng = np.random.default_rng(0)
    hit = 0
    for _ in range(400):
        chance = rng.beta(2, 2, size=30)  # of each block
        low, high = share_interval(rng.binomial(8, chance).astype(float), np.full(30, 8.0))
        hit += low <= 0.5 <= high
    assert hit > 0.91 * 400
