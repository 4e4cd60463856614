"""Membership: what is proved, against all datasets that explain small files; scores on files that tell much."""

from __future__ import annotations

import itertools
from dataclasses import replace

import joblib
import numpy as np
import pytest
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeClassifier

from by_hand import over
from pytest_draft.artifact import occurrences, read
from pytest_draft.artifact.rules.rule_list import RuleList
from pytest_draft.attack.boosted.staged import missed, with_amounts
from pytest_draft.attack.descent import leaf_positions
from pytest_draft.attack.membership import ANSWER, DRAWS, SIZES, membership
from pytest_draft.domain import Attribute, Domain
from pytest_draft.errors import OutOfTimeError
from pytest_draft.evaluate.membership import area_of
from pytest_draft.facts.rules import ListedRule, literals
from pytest_draft.hardening.model import hardened
from pytest_draft.timebox import TimeBox

BINARY = [Attribute(f"b{c}", "binary", (c,)) for c in range(3)]


def domain_of(n_columns: int) -> Domain:
    return Domain(tuple(f"b{c}" for c in range(n_columns)), tuple(BINARY[:n_columns]), "by hand")


@pytest.fixture
def file_of(tmp_path):
    """Return a function that gives the forest in a fitted model's file."""

    def read_again(model):
        joblib.dump(model, tmp_path / "model.joblib")
        return read(tmp_path / "model.joblib").forest

    return read_again


def explaining(forest, kinds, answers, times, n_rows):
    """Return all datasets, as the kind of each position, whose leaves hold what the file says."""
    datasets = np.array(list(itertools.product(range(len(kinds)), repeat=n_rows)))
    fits = np.ones(len(datasets), dtype=bool)
    columns = np.ascontiguousarray(kinds.T)
    for t, tree in enumerate(forest.trees):
        leaf = leaf_positions(tree, columns)[datasets]
        drawn = np.broadcast_to(times[t], datasets.shape)
        for position, node in enumerate(tree.leaves):
            here = (leaf == position) * drawn
            fits &= (here > 0).sum(axis=1) == tree.n_distinct[node]
            if forest.classes is None:
                total = here.sum(axis=1)
                fits &= total == tree.weight[node]
                of_row = answers[datasets]
                with np.errstate(invalid="ignore"):
                    mean = (here * of_row).sum(axis=1) / total
                    spread = (here * of_row**2).sum(axis=1) / total - mean**2
                fits &= np.abs(mean - tree.value[node, 0]) < 1e-9
                fits &= np.abs(spread - tree.impurity[node]) < 1e-9
            else:
                counts = forest.counts(t)[node]
                for label, number in enumerate(counts):
                    fits &= (here * (answers[datasets] == label)).sum(axis=1) == number
    return datasets[fits]


def small_model(kind: int, rng):
    seed, limits = int(rng.integers(1 << 30)), {"max_depth": int(rng.integers(1, 4))}
    return [
        lambda: RandomForestClassifier(int(rng.integers(2, 4)), random_state=seed, **limits),
        lambda: RandomForestClassifier(3, max_samples=0.7, random_state=seed),
        lambda: ExtraTreesClassifier(2, random_state=seed, **limits),
        lambda: ExtraTreesClassifier(2, bootstrap=True, random_state=seed),
        lambda: RandomForestRegressor(int(rng.integers(2, 4)), random_state=seed, **limits),
        lambda: BaggingClassifier(
            DecisionTreeClassifier(**limits), 2, max_samples=0.6, bootstrap=False, random_state=seed
        ),
    ][kind]()


@pytest.mark.nightly(quick=60)
@pytest.mark.parametrize("instance", range(300))
def test_what_is_proved_holds_in_every_dataset_that_explains_the_file(file_of, instance):
    rng = np.random.default_rng([instance, 45])
    model = small_model(instance % 6, rng)
    regressor = isinstance(model, RandomForestRegressor)
    values, n_rows = ((0.0, 1.0, 3.0), 3) if regressor else ((0, 1), int(rng.integers(2, 5)))
    n_columns = 2 if regressor or n_rows == 4 else 3
    kinds = np.array(
        [
            *itertools.product((0, 1), repeat=n_columns),
        ]
        * len(values),
        dtype=np.float32,
    )
    answers = np.repeat(np.array(values, dtype=float), 2**n_columns)
    chosen = rng.integers(0, len(kinds), n_rows)
    if not regressor:
        chosen[:2] = chosen[0] % 2**n_columns, chosen[1] % 2**n_columns + 2**n_columns  # of both classes
    model.fit(kinds[chosen], answers[chosen] if regressor else answers[chosen].astype(int))
    forest = file_of(model)
    times = occurrences(forest)
    found = membership(forest, kinds, answers, times, n_rows, domain_of(n_columns), TimeBox(60))
    datasets = explaining(forest, kinds, answers, times, n_rows)
    assert (datasets == chosen).all(axis=1).any()
    in_some = np.isin(np.arange(len(kinds)), datasets)
    in_all = np.array([(datasets == kind).any(axis=1).all() for kind in range(len(kinds))])
    assert not (in_some & ~found.possible).any()
    assert not (found.certain & ~in_all).any()
    without = membership(forest, kinds, answers, None, n_rows, domain_of(n_columns), TimeBox(60))
    assert not (in_some & ~without.possible).any()
    assert not (without.certain & ~in_all).any()
    if not regressor and not forest.draws.drawn:
        shares = file_of(hardened(model, "counts")[0])
        left = membership(shares, kinds, answers, None, n_rows, domain_of(n_columns), TimeBox(60))
        assert not (in_some & ~left.possible).any()
        assert not (left.certain & ~in_all).any()


@pytest.mark.nightly(quick=2)
@pytest.mark.parametrize("instance", range(12))
def test_what_boosted_trees_exclude_is_in_no_dataset_that_explains_them(file_of, instance):
    rng = np.random.default_rng([instance, 46])
    regressor = bool(instance % 2)
    kinds = np.array([*itertools.product((0, 1), repeat=2)] * (3 if regressor else 2), dtype=np.float32)
    answers = np.repeat([0.0, 1.0, 3.0] if regressor else [0.0, 1.0], 4)
    n_rows = 3 if regressor else 4
    chosen = rng.integers(0, len(kinds), n_rows)
    if not regressor:
        chosen[:2] = chosen[0] % 4, 4 + chosen[1] % 4
    kind = GradientBoostingRegressor if regressor else GradientBoostingClassifier
    model = kind(n_estimators=3, max_depth=2, subsample=0.75, random_state=instance, min_samples_split=2)
    forest = file_of(model.fit(kinds[chosen], answers[chosen] if regressor else answers[chosen].astype(int)))
    labels = np.zeros(len(kinds), np.int64) if regressor else answers.astype(np.int64)
    columns = kinds.T.astype(np.float64)
    forest = with_amounts(forest, np.ascontiguousarray(columns[:, chosen]), labels[chosen])
    times = occurrences(forest) if forest.draws.of_trees is not None else None
    found = membership(forest, kinds, answers, times, n_rows, domain_of(2), TimeBox(60))
    assert found.possible[chosen].all()
    for dataset in itertools.product(range(len(kinds)), repeat=n_rows):
        those = list(dataset)
        if not found.possible[those].all():
            given = answers[those] if regressor else None
            assert missed(forest, np.ascontiguousarray(columns[:, those]), labels[those], given)


def table(seed: int = 0, n_rows: int = 240):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n_rows, 5)).astype(np.float32)
    return rows, (rows[:, 0] + rng.normal(size=n_rows) > 0).astype(np.int64)


def numeric(n_columns: int = 5) -> Domain:
    attributes = tuple(Attribute(f"x{c}", "numeric", (c,), -9.0, 9.0) for c in range(n_columns))
    return Domain(tuple(one.name for one in attributes), attributes, "by hand")


def asked(forest, rows, answers, times="seeds", n_rows=120, domain=None):
    known = occurrences(forest) if isinstance(times, str) else times
    return membership(forest, rows, np.asarray(answers, float), known, n_rows, domain or numeric(), TimeBox(60))


@pytest.fixture
def forest(file_of):
    rows, labels = table()
    return file_of(RandomForestClassifier(60, random_state=0).fit(rows[:120], labels[:120]))


def test_the_seeds_tell_members_from_others_and_prove_others_out(forest):
    rows, labels = table()
    found, without = asked(forest, rows, labels), asked(forest, rows, labels, None)
    assert found.possible[:120].all()
    assert found.possible[120:].mean() < 0.5
    assert without.possible.all()
    assert DRAWS not in without.scores
    by_seeds, usual = (
        area_of(one.scores[name][:120], one.scores[name][120:]) for one, name in ((found, DRAWS), (without, ANSWER))
    )
    assert by_seeds > 0.95 > usual + 0.05


def test_neither_order_nor_names_nor_columns_matter(forest, file_of):
    rows, labels = table()
    found, order = asked(forest, rows, labels), np.random.default_rng(0).permutation(len(rows))
    turned = [3, 1, 4, 0, 2]
    where = np.argsort(turned)
    trees = tuple(replace(one, feature=np.where(one.feature >= 0, where[one.feature], -1)) for one in forest.trees)
    names = file_of(RandomForestClassifier(60, random_state=0).fit(rows[:120], np.array(["no", "yes"])[labels[:120]]))
    for other, same in (
        (asked(forest, rows[order], labels[order]), order),
        (asked(replace(forest, trees=trees), rows[:, turned], labels), slice(None)),
        (asked(names, rows, labels), slice(None)),
    ):
        assert (other.possible == found.possible[same]).all()
        for name, score in found.scores.items():
            assert other.scores[name] == pytest.approx(score[same], rel=1e-4, abs=1e-4)


def test_without_bootstrap_each_leaf_must_hold_the_label(file_of):
    rows, labels = table()
    found = asked(file_of(ExtraTreesClassifier(20, random_state=0).fit(rows[:120], labels[:120])), rows, labels)
    assert found.possible[:120].all()
    assert found.possible[120:].mean() < 0.5
    assert area_of(found.scores[SIZES][:120], found.scores[SIZES][120:]) > 0.9


def test_a_row_alone_in_its_box_is_certain(file_of):
    kinds = np.array(list(itertools.product((0, 1), repeat=2)), dtype=np.float32)
    model = DecisionTreeClassifier(random_state=0).fit(kinds, [0, 1, 1, 0])
    found = asked(file_of(model), np.vstack([kinds, kinds]), [0, 1, 1, 0, 1, 0, 0, 1], n_rows=4, domain=domain_of(2))
    assert found.certain.tolist() == found.possible.tolist() == [True] * 4 + [False] * 4


def test_a_rule_list_says_of_whom_there_is_nobody():
    listed = ListedRule(literals(0, 1), 1, (0, 3)), ListedRule((), 0, (2, 1))
    rules = RuleList("by hand", listed, ("b0",), 1, (0, 1))
    rows = np.array([[1], [1], [0], [0]], dtype=np.float32)
    found = asked(rules, rows, [0, 1, 0, 1], None, 6, domain_of(1))
    assert found.possible.tolist() == [False, True, True, True]
    assert not found.certain.any()
    assert found.scores[ANSWER][1:] == pytest.approx([1, 2 / 3, 1 / 3], abs=1e-4)


def test_it_ends_with_its_time_box(forest):
    rows, labels = table()
    with pytest.raises(OutOfTimeError):
        membership(forest, rows, labels.astype(float), None, 120, numeric(), over())
