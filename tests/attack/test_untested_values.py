"""What trees say by the columns that they do not test."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import joblib
import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

from pytest_draft.artifact import read
from pytest_draft.attack import node_choices as choosing
from pytest_draft.attack import untested_values as module
from pytest_draft.attack.enumeration import _only_bits, build
from pytest_draft.attack.search import Search
from pytest_draft.attack.solve import reconstruct
from pytest_draft.attack.untested_values import Choices
from pytest_draft.domain import declared
from pytest_draft.knowledge import exchangeable_groups
from pytest_draft.timebox import TimeBox

N_ROWS = 100
COLUMNS = tuple("abcdef")  # so few that many rows are equal, and any spread of a guess finds its match
UNTESTED = {  # what the last columns are declared as, their number, and the value that all rows have
    "binary": ({"f": {"kind": "binary"}}, np.zeros((N_ROWS, 1))),
    "one-hot": ({"def": {"kind": "one-hot", "columns": list("def")}}, np.eye(3)[np.zeros(N_ROWS, int)]),
    "ordinal": ({"f": {"kind": "ordinal", "low": -2, "high": 2}}, np.zeros((N_ROWS, 1))),
    "two binary": ({"e": {"kind": "binary"}, "f": {"kind": "binary"}}, np.zeros((N_ROWS, 2))),
}


def _table(spec, last, seed=0):
    """Rows of which the last columns are given, labels that depend on the others, and the declared domain."""
    rng = np.random.default_rng(seed)
    rows = (rng.random((N_ROWS, len(COLUMNS))) < 0.4).astype(float)
    rows[:, len(COLUMNS) - last.shape[1] :] = last
    labels = (rows[:, :3].sum(axis=1) + (rng.random(N_ROWS) < 0.3) > 1).astype(int)
    others = {name: {"kind": "binary"} for name in COLUMNS[: len(COLUMNS) - last.shape[1]]}
    return rows, labels, declared(COLUMNS, others | spec, "by hand")


def _perfect(rows, rebuilt):
    found = Counter(map(bytes, rows.astype(np.float32))) & Counter(map(bytes, rebuilt.astype(np.float32)))
    return found.total()


def _attacked(model, domain, path, adversary):
    """Attack as the gate does."""
    joblib.dump(model, path)
    forest = read(path).forest
    problem = build(forest, domain, exchangeable_groups(forest, adversary), TimeBox(60))
    return reconstruct(problem, Search(TimeBox(60)), None, Choices.of(forest, problem, seeds_known=False))


@pytest.mark.nightly(quick=1)
@pytest.mark.parametrize("bootstrap", [True, False])
@pytest.mark.parametrize("kind", UNTESTED)
def test_a_column_that_no_tree_tests_is_rebuilt_as_a_constant(kind, bootstrap, publish):
    rows, labels, domain = _table(*UNTESTED[kind])
    model = RandomForestClassifier(60, bootstrap=bootstrap, random_state=3).fit(rows, labels)

    found = publish(model, domain).attack()

    assert found.reproduced_trees == 60
    assert _perfect(rows, found.rows) == N_ROWS
    assert found.free.any(), "what no tree tests is a guess, and stays marked as one"


@pytest.mark.nightly
def test_without_seeds_an_untested_column_is_still_rebuilt_as_a_constant(tmp_path):
    rows, labels, domain = _table(*UNTESTED["binary"], seed=1)
    model = RandomForestClassifier(60, bootstrap=False, random_state=4).fit(rows, labels)

    found = _attacked(model, domain, tmp_path / "model.joblib", "published")

    assert found.reproduced_trees is None
    assert not found.rows[:, -1].any()


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(3))
def test_a_column_that_varies_in_two_rows_only_is_rebuilt(seed, publish):
    last = np.zeros((N_ROWS, 1))
    last[[7 * seed, 7 * seed + 5]] = 1
    rows, labels, domain = _table({"f": {"kind": "binary"}}, last, seed)
    model = RandomForestClassifier(40, random_state=seed).fit(rows, labels)

    assert _perfect(rows, publish(model, domain).attack().rows) >= N_ROWS - 1


@pytest.mark.nightly
def test_a_confirmed_first_guess_ends_the_search(publish):
    rows, labels, domain = _table(*UNTESTED["binary"])
    target = publish(RandomForestClassifier(30, random_state=0).fit(rows, labels), domain)
    asked = []

    def evidence(rebuilt, _):
        asked.append(len(rebuilt))
        return 30

    search = Search(TimeBox(60))
    found = reconstruct(target.problem, search, evidence, Choices.of(target.forest, target.problem, seeds_known=True))

    assert found.reproduced_trees == 30
    assert len(asked) == 1


@pytest.mark.nightly
def test_values_that_no_evidence_speaks_of_are_not_tried_one_by_one(publish):
    rows, labels, domain = _table(*UNTESTED["binary"])
    target = publish(RandomForestClassifier(30, random_state=0).fit(rows, labels), domain)
    asked = []

    def evidence(rebuilt, _):
        asked.append(len(rebuilt))
        return 0

    reconstruct(
        target.problem, Search(TimeBox(60)), evidence, Choices.of(target.forest, target.problem, seeds_known=True)
    )

    assert len(asked) <= 30, f"{len(asked)} datasets were refitted"


@pytest.mark.nightly
@pytest.mark.parametrize("n_constant, better, tied", [(0, 0, 0), (2, 1, 0), (3, 1, 2), (6, 0, 1), (7, 0, 0), (5, 2, 0)])
def test_the_chance_of_a_choice_is_that_of_drawing_columns_until_one_varies(n_constant, better, tied):
    rng, n, drawn, trials = np.random.default_rng(5), 8, 3, 40_000
    quality = np.array([5.0] * better + [3.0] * (1 + tied) + [1.0] * (n - n_constant - better - 1 - tied))
    quality = np.append(quality, np.full(n_constant, -np.inf))  # constant columns
    taken = 0
    for _ in range(trials):
        order = rng.permutation(n)
        visited = drawn
        while not np.isfinite(quality[order[:visited]]).any():
            visited += 1
        taken += order[quality[order[:visited]].argmax()] == better  # the first of equals
    none_of = np.zeros((1, n + 2))
    some = np.arange(n - drawn + 1)
    none_of[0, some] = np.exp(module._log_ways(n - some, drawn) - module._log_ways(n, drawn))
    nodes = choosing.ChoosingNodes(*(np.zeros(1, dtype=np.int64) for _ in range(9)))
    rules = choosing.ChoiceRules(0, 1, np.ones((1, n), dtype=bool), none_of)

    number = np.array([n_constant, n - n_constant - tied - 1 - better, tied + 1, better])
    chance = np.exp(choosing._log_chance.py_func(nodes, rules, 0, number, choosing._TIED))

    assert chance == pytest.approx(taken / trials, abs=4 * np.sqrt(0.25 / trials))


@pytest.mark.nightly
def test_sweeps_keep_count_of_what_nodes_hold_and_change_open_values_only(publish, monkeypatch):
    rows, labels, domain = _table(*UNTESTED["ordinal"])
    target = publish(
        RandomForestClassifier(3, max_depth=3, min_samples_leaf=2, random_state=0).fit(rows, labels), domain
    )
    found = target.attack()
    chains = []

    class Kept(choosing.OpenValues):
        def __init__(self, *given):
            super().__init__(*given)
            chains.append(self)

    monkeypatch.setattr(module, "OpenValues", Kept)
    choices = Choices.of(target.forest, target.problem, seeds_known=True)
    belief = tuple(np.ones(attribute.n_values) for attribute in domain.attributes)
    rng = np.random.default_rng(0)
    fills = choices.filled(found.cells, found.labels, found.consistent, belief, 4, rng, TimeBox(60))

    chain = chains[0]
    fresh = choosing.OpenValues(chain.nodes, chain.columns, chain.rules, chain.kept.value, chain.kept.labels)
    assert np.allclose(chain.kept.held, fresh.kept.held)
    for name in ("rows_held", "status", "number"):
        assert np.array_equal(getattr(chain.kept, name), getattr(fresh.kept, name)), name
    assert len(fills) == 5 and any((fill != fills[0]).any() for fill in fills)
    fixed = ~found.free
    before = domain.indices(found.consistent)[fixed]
    assert all((domain.indices(fill)[fixed] == before).all() for fill in fills)


def test_values_of_the_truth_are_among_the_likelier_ones(publish):
    """The truth explains what nodes chose better than tables with other open values do."""
    rows, labels, domain = _table(*UNTESTED["binary"], seed=2)
    target = publish(RandomForestClassifier(20, bootstrap=False, random_state=0).fit(rows, labels), domain)
    found = target.attack()
    choices = Choices.of(target.forest, target.problem, seeds_known=True)
    nodes = choices._nodes(found.cells, found.labels)

    def score(rebuilt):
        chain = choosing.OpenValues(nodes, choices._coded, choices._rules, domain.indices(rebuilt), found.labels)
        return sum(
            choosing._log_chance(
                nodes,
                choices._rules,
                node,
                chain.kept.number[node],
                chain.kept.status[node, chosen] if chosen >= 0 else choosing._WORSE,
            )
            for node, chosen in enumerate(nodes.chosen)
        )

    rng = np.random.default_rng(1)
    for share in (0.02, 0.1, 0.5):
        other = found.rows.copy()
        other[:, -1] = rng.permutation(np.arange(N_ROWS) < share * N_ROWS)
        assert score(other) < score(found.rows)


def test_forests_that_do_not_say_how_they_chose_are_not_asked(publish):
    rows, labels, domain = _table(*UNTESTED["ordinal"])
    ordinal = publish(ExtraTreesClassifier(3, random_state=0).fit(rows, labels), domain)
    assert Choices.of(ordinal.forest, ordinal.problem, seeds_known=True) is None

    target = publish(RandomForestClassifier(3, random_state=0).fit(rows, labels), domain)
    assert Choices.of(target.forest, target.problem, seeds_known=True) is not None
    for missing in ("max_features", "criterion", "min_samples_leaf"):
        parameters = {name: value for name, value in target.forest.parameters.items() if name != missing}
        untold = replace(target.forest, parameters=parameters)
        assert Choices.of(untold, target.problem, seeds_known=True) is None


@pytest.mark.parametrize("kept", [[], [0], [3, 7, 8, 9, 15, 16, 21], list(range(22))])
def test_packed_bits_are_kept_as_unpacked_ones_are(kept):
    bits = np.random.default_rng(0).integers(0, 2, (3, 2, 22), dtype=np.uint8)
    found = _only_bits(np.packbits(bits, axis=2), np.array(kept, dtype=np.int64))
    assert np.array_equal(found, np.packbits(bits[:, :, kept], axis=2))
