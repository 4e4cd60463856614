"""Cells from a generator: against enumeration where a domain is small, against the forest's counts where it is not."""

from __future__ import annotations

import math
from dataclasses import replace

import joblib
import numpy as np
import pandas as pd
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier

from profiles import examples
from pytest_draft.artifact import read
from pytest_draft.attack.descent import leaf_positions
from pytest_draft.attack.enumeration import MAX_VECTORS, TooManyError, build
from pytest_draft.attack.groups import KnownValues, group_by_occurrences
from pytest_draft.attack.large_domains import candidates as generate
from pytest_draft.attack.large_domains.candidates import build_any
from pytest_draft.attack.large_domains.domain_reduction import Reach
from pytest_draft.attack.large_domains.regions import Regions
from pytest_draft.attack.observations import observations
from pytest_draft.attack.search import Search
from pytest_draft.attack.solve import reconstruct
from pytest_draft.data import TrainingData
from pytest_draft.domain import Attribute, Domain, declared
from pytest_draft.errors import InfeasibleError, NotCoveredError, OutOfTimeError
from pytest_draft.examine.inputs import complete, open_files
from pytest_draft.examine.kinds import kind_of
from pytest_draft.examine.record import FlowRecord
from pytest_draft.facts.adversary import Adversary
from pytest_draft.facts.case import Case
from pytest_draft.knowledge import exchangeable_groups, grant
from pytest_draft.matching import encoded_weights, matched_distance
from pytest_draft.timebox import TimeBox

pytestmark = pytest.mark.nightly

ATTRIBUTES = (
    ("binary", 1, 0, 1),
    ("one-hot", 3, 0, 1),
    ("ordinal", 1, -2, 1),
    ("ordinal", 1, 5, 5),
    ("one-hot", 5, 0, 1),
)


def search(seconds=60.0, effort=math.inf, **given):
    return Search(TimeBox(seconds, effort), **given)


def made(kinds):
    """Return a domain of attributes of some kinds."""
    attributes, n_columns = [], 0
    for kind, width, low, high in kinds:
        columns = tuple(range(n_columns, n_columns + width))
        attributes.append(Attribute(f"a{len(attributes)}", kind, columns, float(low), float(high)))
        n_columns += width
    return Domain(tuple(f"c{i}" for i in range(n_columns)), tuple(attributes), "made")


def trained(path, rows, labels, **parameters):
    """Return the forest of a file."""
    model = RandomForestClassifier(**parameters).fit(rows, labels)
    joblib.dump(model, path)
    return read(path).forest


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """Return a strategy of small released forests: domain, rows, labels, forest and groups."""
    path = tmp_path_factory.mktemp("small") / "model.joblib"

    @st.composite
    def drawn(draw):
        random = np.random.default_rng(draw(st.integers(0, 100_000), label="seed"))
        kinds = [ATTRIBUTES[i] for i in draw(st.lists(st.integers(0, 4), min_size=2, max_size=4), label="attributes")]
        domain, n_rows = made(kinds), draw(st.integers(3, 12), label="rows")
        rows, labels = domain.uniform(n_rows, random), random.integers(0, draw(st.integers(2, 3)), n_rows)
        labels[:2] = [0, 1]
        forest = trained(
            path,
            rows,
            labels,
            n_estimators=draw(st.integers(1, 6), label="trees"),
            max_depth=draw(st.sampled_from([1, 3, None]), label="depth"),
            bootstrap=draw(st.booleans(), label="bagging"),
            random_state=0,
        )
        told = draw(st.sampled_from(["", "+columns:1", "+rows:1"]), label="side knowledge")
        data = TrainingData(rows, labels, domain.columns, None, "made")
        knowledge = grant(Adversary.parse("artifact" + told), data, domain, forest, 0)
        unknown = np.arange(n_rows) if knowledge is None else knowledge.unknown
        return domain, rows[unknown], labels[unknown], forest, exchangeable_groups(forest, "artifact" + told, knowledge)

    return drawn()


def seen_leaves(problem):
    """Return the candidates as group, class, and leaf in each tree that saw the group."""
    seen = problem.groups.weight[:, problem.group] > 0
    leaf = np.where(seen, problem.cells.signature[:, problem.cell], -1)
    return set(zip(problem.group.tolist(), problem.label.tolist(), map(bytes, leaf.T.astype(np.int32)), strict=True))


def cells_held(problem):
    """Return, by group, class and leaves, the values that a candidate's cell allows and how many vectors it holds."""
    cells = problem.cells
    return {
        (g, c, cells.signature[:, k].tobytes()): (cells.allowed[k].tobytes(), int(cells.n_vectors[k]))
        for g, c, k in zip(problem.group.tolist(), problem.label.tolist(), problem.cell.tolist(), strict=True)
    }


def joined(domain, forest, groups, *, by_counts):
    counts, distinct, _ = observations(forest, groups)
    reach = Reach.of(Regions.of(forest, domain, counts, distinct), groups)
    reach.tighten(TimeBox(60), by_counts=by_counts)
    return reach.join(10**6, TimeBox(60))


def test_the_generator_finds_the_cells_that_enumeration_finds(small):
    @settings(max_examples=examples(120), deadline=None, derandomize=True)
    @given(small)
    def agrees(case):
        domain, _, _, forest, groups = case
        enumerated = build(forest, domain, groups, TimeBox(60), thresholds=False)  # which the generator leaves out
        counts, distinct, _ = observations(forest, groups)
        regions = Regions.of(forest, domain, counts, distinct)
        group, label, box = joined(domain, forest, groups, by_counts=False)
        cells, cell = regions.cells(box, groups.values, group)
        generated = replace(enumerated, cells=cells, group=group, cell=cell, label=label)
        assert len(group) == len(seen_leaves(generated))  # none twice
        assert seen_leaves(generated) == seen_leaves(enumerated)
        everywhere = bool((groups.weight > 0).all())
        event(f"every tree saw every row: {everywhere}")
        if everywhere:
            mine, other = cells_held(generated), cells_held(enumerated)
            assert mine.keys() == other.keys()
            assert all(mine[key] == other[key] for key in mine)

    agrees()


def test_weighing_counts_strikes_out_no_row_of_the_truth(small):
    @settings(max_examples=examples(120), deadline=None, derandomize=True)
    @given(small)
    def keeps(case):
        domain, rows, labels, forest, groups = case
        counts, distinct, _ = observations(forest, groups)
        regions = Regions.of(forest, domain, counts, distinct)
        group, label, box = joined(domain, forest, groups, by_counts=True)
        signature = regions.signature(box)
        truth = np.stack([leaf_positions(tree, np.ascontiguousarray(rows.T)) for tree in forest.trees])
        for row, g in enumerate(groups.of_row.tolist()):
            seen = groups.weight[:, g] > 0
            mine = (group == g) & (label == labels[row])
            assert (signature[seen][:, mine] == truth[seen, row][:, None]).all(axis=0).any()
        assert len(group) <= len(joined(domain, forest, groups, by_counts=False)[0])

    keeps()


def test_a_generated_problem_has_the_answer_of_an_enumerated_one(small):
    @settings(max_examples=examples(80), deadline=None, derandomize=True)
    @given(small)
    def agrees(case):
        domain, _, _, forest, groups = case
        known = reconstruct(build(forest, domain, groups, TimeBox(60), thresholds=False), search())
        problem = build_any(forest, domain, groups, search(), enumerate_small=False)
        found = reconstruct(problem, search())
        event(found.status)
        assert problem.complete
        assert found.residual == known.residual == 0
        assert (found.status == "unique") == (known.status == "unique")
        assert found.ordered == known.ordered
        if found.status == "unique":
            order = [np.arange(len(rows)) if found.ordered else np.lexsort(rows.T) for rows in (found.rows, known.rows)]
            assert (found.rows[order[0]] == known.rows[order[1]]).all()
        assert not domain.outside(found.rows.astype(np.float64))
        if groups.values is not None:
            assert (found.rows[:, list(groups.values.columns)] == groups.values.of_group[groups.of_row]).all()

    agrees()


def missed(forest, groups, rows, labels):
    """Recount the leaves of the unknown rows, and return how far they are from what the forest shows."""
    counts, distinct, _ = observations(forest, groups)
    total = 0
    for t, tree in enumerate(forest.trees):
        leaf = leaf_positions(tree, np.ascontiguousarray(rows.T))
        times = groups.weight[t, groups.of_row]
        table = np.zeros_like(counts[t])
        np.add.at(table, (leaf, labels), times)
        total += int(np.abs(table - counts[t]).sum())
        if distinct is not None:
            total += int(np.abs(np.bincount(leaf, times > 0, len(table)) - distinct[t]).sum())
    return total


def wide(n_rows, n_columns, seed=0):
    """Return correlated binary rows, their labels and their domain, too large to enumerate."""
    rng = np.random.default_rng([seed, n_rows, n_columns])
    factors = rng.normal(size=(n_rows, 5))
    rows = factors @ rng.normal(size=(5, n_columns)) + rng.normal(size=(n_rows, n_columns)) > 0.5
    labels = (factors[:, 0] + rows[:, 0] > 0.5).astype(np.int64)
    names = [f"c{i}" for i in range(n_columns)]
    domain = declared(names, {name: {"kind": "binary"} for name in names}, "wide")
    assert domain.n_vectors > MAX_VECTORS
    return rows.astype(np.float32), labels, domain


def test_thirty_columns_and_known_seeds_give_all_rows_with_proof(tmp_path):
    rows, labels, domain = wide(40, 30)
    forest = trained(tmp_path / "m.joblib", rows, labels, n_estimators=60, random_state=1)
    problem = build_any(forest, domain, exchangeable_groups(forest, "artifact"), search())
    found = reconstruct(problem, search())
    assert problem.complete
    assert found.residual == missed(forest, problem.groups, found.consistent, found.labels) == 0
    assert (found.labels == labels).all()
    told = ~found.free
    assert ((found.rows == rows) | ~told).all()
    assert told.mean() > 0.9
    assert found.certificate is not None
    assert found.certificate.guaranteed_vectors.lower <= (found.rows == rows).all(axis=1).sum()


def test_rows_that_nothing_explains_are_proved_infeasible(tmp_path):
    rows, labels, domain = wide(30, 30)
    forest = trained(tmp_path / "m.joblib", rows, labels, n_estimators=30, bootstrap=False, random_state=1)
    groups = exchangeable_groups(forest, "artifact")
    heavy = replace(groups, weight=groups.weight * 31)
    with pytest.raises(InfeasibleError):
        build_any(forest, domain, heavy, search())


def test_too_much_memory_is_refused_with_its_reason(tmp_path, monkeypatch):
    rows, labels, domain = wide(30, 30)
    forest = trained(tmp_path / "m.joblib", rows, labels, n_estimators=5, random_state=1)
    groups = exchangeable_groups(forest, "artifact")
    monkeypatch.setattr(generate, "MAX_BYTES", 1000)
    with pytest.raises(TooManyError, match=r"the leaves of \d+ nodes in 30 columns would take"):
        build_any(forest, domain, groups, search())
    now = iter([0.0])
    with pytest.raises(OutOfTimeError):
        monkeypatch.undo()
        build_any(forest, domain, groups, Search(TimeBox(1, clock=lambda: next(now, 2.0))))


def test_numeric_columns_and_small_domains_go_where_they_went(tmp_path):
    domain = made([ATTRIBUTES[0], ATTRIBUTES[2]])
    rows = domain.vectors()
    labels = np.arange(len(rows)) % 2
    forest = trained(tmp_path / "m.joblib", rows, labels, n_estimators=5, bootstrap=False, random_state=1)
    groups = exchangeable_groups(forest, "artifact")
    small, known = build_any(forest, domain, groups, search()), build(forest, domain, groups, TimeBox(60))
    assert np.array_equal(small.cells.signature, known.cells.signature)
    numeric = replace(domain, attributes=(domain.attributes[0], Attribute("a1", "numeric", (1,), -2.0, 1.0)))
    with pytest.raises(NotCoveredError, match="numeric"):
        build_any(forest, numeric, groups, search())


@pytest.mark.parametrize("bootstrap", [True, False])
@pytest.mark.parametrize("adversary", ["artifact", "artifact+columns:8", "artifact+rows:20%", "published"])
def test_where_rows_can_be_too_much_they_are_searched_one_by_one(tmp_path, monkeypatch, bootstrap, adversary):
    monkeypatch.setattr(generate, "MOST_JOINED", 0)
    rows, labels, domain = wide(30, 30)
    path = tmp_path / "m.joblib"
    trained(path, rows, labels, n_estimators=40, bootstrap=bootstrap, random_state=1)
    table = pd.DataFrame(rows.astype(int), columns=domain.columns).assign(label=labels)
    case = Case(str(path), target="label", adversary=adversary)
    record = FlowRecord(case)
    inputs = complete(open_files(case, table, record), case, record)
    answers = []
    for workers in (1, 2):
        one = search(600.0, effort=1.0, workers=workers)
        found = kind_of(inputs).attack(inputs, one).rebuild(one)
        answers.append((found.rows, found.consistent, found.status))
    assert all(np.array_equal(*both) for both in zip(*answers, strict=True))
    knowledge = inputs.knowledge
    right = inputs.data.rows if knowledge is None else inputs.data.rows[knowledge.unknown]
    assert len(found.rows) == len(right)
    assert found.status in ("consistent", "likeliest", "not converged")
    assert found.certificate is None
    assert not inputs.domain.outside(found.rows.astype(np.float64))
    if knowledge is not None and knowledge.columns:
        assert (found.rows[:, list(knowledge.columns)] == right[:, list(knowledge.columns)]).all()
    weights = encoded_weights(inputs.domain, () if knowledge is None else knowledge.attributes)
    guess = np.tile(np.median(inputs.data.rows, axis=0), (len(right), 1))
    error, at_best = (matched_distance(right, one, weights, TimeBox(60)).upper for one in (found.rows, guess))
    assert error < 0.9 * at_best


@settings(max_examples=examples(60), deadline=None, derandomize=True)
@given(st.data())
def test_a_region_is_in_the_leaf_that_its_vectors_reach(by_hand, data):
    random = np.random.default_rng(data.draw(st.integers(0, 100_000)))
    domain = made([ATTRIBUTES[0], ("ordinal", 1, 0, 150), ("one-hot", 70, 0, 1)])

    def grown(depth):
        if not depth or random.random() < 0.1:
            return [1, 1]
        column = int(random.choice([0, 1, 1, *random.integers(2, domain.n_columns, 3)]))
        threshold = (
            random.integers(-1, 152) + random.choice([0, 0.5]) if column == 1 else random.choice([-0.5, 0, 0.5, 1])
        )
        return (column, float(threshold), grown(depth - 1), grown(depth - 1))

    forest = by_hand(domain.n_columns, *(grown(5) for _ in range(3)))
    counts, distinct, _ = observations(forest, group_by_occurrences(np.ones((3, 2), dtype=np.int64)))
    regions = Regions.of(forest, domain, counts, distinct)
    values = np.column_stack([random.integers(attribute.n_values, size=200) for attribute in domain.attributes])
    encoded = [attribute.encoded(values[:, a]) for a, attribute in enumerate(domain.attributes)]
    reached = np.stack(
        [leaf_positions(t, np.ascontiguousarray(np.concatenate(encoded, axis=1).T)) for t in forest.trees]
    )
    columns = tuple(range(domain.n_columns))
    known = KnownValues((0, 1, 2), columns, np.concatenate(encoded, axis=1).astype(np.float32))
    vectors = regions.with_values(known, len(values))
    assert (regions.signature(vectors) == reached).all()
    for t, first in enumerate(regions.leaf_start[:-1].tolist()):
        leaves = regions.box[first : regions.leaf_start[t + 1]]
        position = regions.position[regions.leaf_node[first : regions.leaf_start[t + 1]]]
        mine = leaves[np.argsort(position)][reached[t]]
        assert (regions.signature(mine)[t] == reached[t]).all()
        assert (vectors & ~mine == 0).all()
    cells, cell = regions.cells(vectors, None, np.zeros(200, dtype=np.int64))
    assert cells.allowed[cell[:, None], values + cells.offsets[:-1]].all()
    assert (cells.signature[:, cell] == reached).all()
