"""Rows that occurrences tell apart: from the histogram to every row, no less than whoever ignores the occurrences."""

from __future__ import annotations

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

from pytest_draft.artifact import read
from pytest_draft.attack import enumeration
from pytest_draft.attack.counts.kinds import Kinds
from pytest_draft.attack.counts.messages import believe
from pytest_draft.attack.enumeration import build
from pytest_draft.attack.large_domains.candidates import build_any
from pytest_draft.attack.problem import Problem
from pytest_draft.attack.search import Search
from pytest_draft.attack.solve import reconstruct
from pytest_draft.domain import infer
from pytest_draft.examine.attack import WITHOUT_SEEDS
from pytest_draft.examine.flow import examine
from pytest_draft.facts.case import Case
from pytest_draft.knowledge import exchangeable_groups
from pytest_draft.matching import encoded_weights, matched_distance
from pytest_draft.timebox import TimeBox

NAMES = tuple(f"c{i}" for i in range(9))


def people(n_rows: int, seed: int):
    """Return rows of three sorts of people, and an answer that depends on them."""
    rng = np.random.default_rng(seed)
    sort = rng.integers(0, 3, n_rows)
    chance = np.random.default_rng(7).random((3, len(NAMES)))
    rows = (rng.random((n_rows, len(NAMES))) < chance[sort]).astype(float)
    return rows, (rows[:, 0] + rows[:, 3] + rng.random(n_rows) > 1.3).astype(int)


@pytest.fixture
def bagged(tmp_path):
    """Return a function that trains and writes a forest, and gives it as its file shows it, with its rows."""

    def trained(n_rows, seed=0, **parameters):
        rows, answers = people(n_rows, seed)
        joblib.dump(RandomForestClassifier(**parameters, random_state=seed).fit(rows, answers), tmp_path / "m.joblib")
        return read(tmp_path / "m.joblib").forest, infer(NAMES, rows), rows.astype(np.float32), answers

    return trained


def problem_of(forest, domain, adversary="artifact") -> Problem:
    return build(forest, domain, exchangeable_groups(forest, adversary), TimeBox(60))


def search(effort: float = 1.0, **rest) -> Search:
    return Search(TimeBox(120, effort), **rest)


def judged(forest, rows, answers, folder, adversary):
    """Write a model and its data, and judge it."""
    joblib.dump(forest, folder / "m.joblib")
    table = pd.DataFrame(rows, columns=NAMES).assign(answer=answers)
    table.to_csv(folder / "train.csv", index=False)
    case = Case(
        str(folder / "m.joblib"), str(folder / "train.csv"), "answer", adversary=adversary, seconds=120, effort=1.0
    )
    return examine(case)


@pytest.mark.nightly
@pytest.mark.parametrize("kind", [RandomForestClassifier, ExtraTreesClassifier])
def test_a_file_without_seeds_is_judged_by_what_it_holds_and_says_so(kind, tmp_path):
    rows, answers = people(24, 0)
    forest = kind(8, bootstrap=True, max_depth=3, random_state=0).fit(rows, answers)
    for tree in forest.estimators_:
        tree.random_state = None
    found, guess = judged(forest, rows, answers, tmp_path, "artifact")
    weaker, same = judged(forest, rows, answers, tmp_path, "published")
    assert WITHOUT_SEEDS in found.notes
    assert WITHOUT_SEEDS not in weaker.notes
    assert found.solver_status == weaker.solver_status == "likeliest"
    np.testing.assert_array_equal(guess.rows, same.rows)
    assert found.findings == weaker.findings


@pytest.mark.nightly
def test_a_file_that_lacks_some_seeds_gets_no_verdict(tmp_path):
    rows, answers = people(24, 0)
    forest = RandomForestClassifier(8, max_depth=3, random_state=0).fit(rows, answers)
    forest.estimators_[3].random_state = None
    found, _ = judged(forest, rows, answers, tmp_path, "artifact")
    assert found.solver_status == "not covered"


@pytest.mark.nightly
def test_a_file_with_seeds_has_no_such_note(tmp_path):
    rows, answers = people(24, 0)
    forest = RandomForestClassifier(8, max_depth=3, random_state=0).fit(rows, answers)
    assert WITHOUT_SEEDS not in judged(forest, rows, answers, tmp_path, "artifact")[0].notes


def in_any_order(rows):
    return sorted(map(tuple, rows.tolist()))


@pytest.mark.nightly(quick=1)
@pytest.mark.parametrize("limit", [{"max_depth": 5}, {"min_samples_leaf": 2}])
def test_rows_that_the_counts_tell_are_found_although_each_can_be_much(limit, bagged):
    forest, domain, rows, _ = bagged(50, n_estimators=40, **limit)
    found = reconstruct(problem_of(forest, domain), search())
    assert found.residual == 0
    assert in_any_order(found.rows) == in_any_order(rows)


@pytest.mark.nightly
def test_who_knows_the_occurrences_gets_no_less_than_who_does_not(bagged):
    # In expectation: by .01 on average over forests whose counts leave much open, at a small effort.
    more = []
    for seed, shape in enumerate([(5, 2), (10, 3), (20, 4)]):
        forest, domain, rows, _ = bagged(30, seed, n_estimators=shape[0], max_depth=shape[1])
        errors = {}
        for adversary in ("artifact", "published"):
            found = reconstruct(problem_of(forest, domain, adversary), search(0.8))
            errors[adversary] = matched_distance(rows, found.rows, encoded_weights(domain), TimeBox(60)).upper
        more.append(errors["artifact"] - errors["published"])
    assert np.mean(more) <= 0.01


@pytest.mark.nightly
@pytest.mark.parametrize("listed", [1_000, 3_000])
def test_where_there_are_too_many_ways_to_list_the_likeliest_of_each_row_are(listed, bagged, monkeypatch):
    forest, domain, rows, _ = bagged(60, n_estimators=20, max_depth=4)
    whole = problem_of(forest, domain)
    monkeypatch.setattr(enumeration, "MAX_CANDIDATES", listed)
    monkeypatch.setattr(enumeration, "LISTED_CANDIDATES", listed)
    assert whole.n_candidates > listed
    problem = build_any(forest, domain, exchangeable_groups(forest, "artifact"), search())
    assert not problem.complete
    assert problem.n_candidates <= listed
    assert set(np.unique(problem.group)) == set(range(problem.groups.n_groups))
    found = reconstruct(problem, search())
    assert found.status in ("not converged", "consistent")
    assert found.certificate is None
    error = matched_distance(rows, found.rows, encoded_weights(domain), TimeBox(60)).upper
    random = matched_distance(rows, domain.uniform(60, np.random.default_rng(0)), encoded_weights(domain), TimeBox(60))
    assert error < 0.7 * random.upper


@pytest.mark.nightly
def test_a_search_that_effort_ends_is_the_same_with_any_number_of_threads(bagged):
    forest, domain, _, _ = bagged(30, n_estimators=10, max_depth=3)
    problem = problem_of(forest, domain)
    first, second = (reconstruct(problem, search(0.8, workers=workers)) for workers in (1, 2))
    np.testing.assert_array_equal(first.rows, second.rows)
    assert first.residual == second.residual


@pytest.mark.nightly
def test_datasets_drawn_from_what_is_believed_have_each_row_once(bagged):
    forest, domain, _, _ = bagged(40, n_estimators=8, max_depth=3)
    problem = problem_of(forest, domain)
    believed = believe(problem, np.ones(problem.n_candidates), search())
    kinds, rng = Kinds.of(problem), np.random.default_rng(0)
    for rows in (believed.likeliest, *(believed.drawn(rng) for _ in range(3))):
        chosen = np.repeat(np.arange(problem.n_candidates), rows)
        assert (problem.group[chosen] == np.sort(problem.groups.of_row)).all()
        assert kinds.missed(chosen) == problem.system.missed(rows)
    assert believed.missed == problem.system.missed(believed.likeliest)
    np.testing.assert_allclose(np.bincount(problem.group, believed.mass), problem.groups.size)
    many = np.mean([believed.drawn(rng) for _ in range(2_000)], axis=0)
    np.testing.assert_allclose(many, believed.mass, atol=0.06)


@pytest.mark.nightly
def test_what_leaves_say_of_the_histogram_is_nearer_to_it_than_the_prior(bagged):
    forest, domain, rows, answers = bagged(60, n_estimators=10, max_depth=4)
    problem = problem_of(forest, domain)
    kinds = Kinds.of(problem)
    cell = np.array([np.flatnonzero(fits)[0] for fits in _holds(problem, domain.indices(rows))])
    number = answers * problem.cells.n_cells + cell
    of_kind = np.unique(problem.label * problem.cells.n_cells + problem.cell)
    truth = np.bincount(np.searchsorted(of_kind, number), minlength=len(of_kind)) / len(rows)
    prior = np.full(len(of_kind), 1 / len(of_kind))
    likely = kinds.likely(prior, TimeBox(60))
    assert likely.sum() == pytest.approx(1)
    assert np.abs(likely - truth).sum() < 0.7 * np.abs(prior - truth).sum()
    np.testing.assert_array_equal(kinds.likely(prior, TimeBox(60, 1e-9)), prior)


def _holds(problem, values):
    """Return which cells hold each row, shape (n_rows, n_cells)."""
    places = values + problem.cells.offsets[:-1]
    return problem.cells.allowed[:, places].all(axis=2).T
