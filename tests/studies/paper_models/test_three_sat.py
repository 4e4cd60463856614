"""Hard instances with known answers: the reduction of 3-SAT to reconstruction (DRAFT, ICML 2024, Theorem 5.1)."""

from __future__ import annotations

from itertools import count, islice

import numpy as np
import pytest
from ortools.sat.python import cp_model

from profiles import examples
from pytest_draft.attack.enumeration import build
from pytest_draft.attack.groups import group_by_occurrences
from pytest_draft.attack.search import Search
from pytest_draft.attack.solve import reconstruct
from pytest_draft.domain import declared
from pytest_draft.errors import InfeasibleError
from pytest_draft.timebox import TimeBox
from studies.paper_models import cp_without_bagging, milp

PAPERS_FORMULA = [(1, -2, -3), (1, 2, 4), (-2, -3, -4)]
"""Formula (1) of appendix A: literals are 1-based, negative where complemented."""


def random_formula(rng, n_variables, n_clauses):
    """Return clauses of three different variables, each complemented by a fair coin."""
    return [tuple((rng.permutation(n_variables)[:3] + 1) * rng.choice([-1, 1], 3)) for _ in range(n_clauses)]


def satisfiable(formula):
    """Decide a formula by CP-SAT itself."""
    model = cp_model.CpModel()
    values = [model.new_bool_var("") for _ in range(max(abs(literal) for clause in formula for literal in clause))]
    for clause in formula:
        model.add_bool_or(
            [values[abs(literal) - 1] if literal > 0 else ~values[abs(literal) - 1] for literal in clause]
        )
    status = cp_model.CpSolver().solve(model)
    assert status in (cp_model.OPTIMAL, cp_model.INFEASIBLE)
    return status == cp_model.OPTIMAL


def satisfies(values, clause):
    return any(values[abs(literal) - 1] == (literal > 0) for literal in clause)


def clause_tree(clause, indicator, n_clauses):
    """Return the tree of one clause: its indicator, then a perfect tree over its variables."""

    def below(values):
        if len(values) == 3:
            return [int(any(value == (literal > 0) for value, literal in zip(values, clause, strict=True)))]
        column = int(abs(clause[len(values)])) - 1
        return (column, below([*values, 0]), below([*values, 1]))

    return (indicator, [6 * n_clauses - 6], below([]))


def auxiliary_tree(n_variables, n_clauses):
    """Return the tree that lets exactly one row have all indicators."""
    tree = [1]
    for depth in reversed(range(n_clauses)):
        left = {0: 6 * n_clauses - 6, 1: 6}.get(depth, 0)
        tree = (n_variables + depth, [left], tree)
    return tree


@pytest.fixture(scope="session")
def reduced(by_hand):
    """Return a function that gives the forest, the domain and the number of rows for a formula."""

    def reduction(formula, n_variables):
        n_clauses = len(formula)
        names = [f"u{i}" for i in range(n_variables)] + [f"clause{i}" for i in range(n_clauses)]
        trees = [clause_tree(clause, n_variables + i, n_clauses) for i, clause in enumerate(formula)]
        forest = by_hand(len(names), *trees, auxiliary_tree(n_variables, n_clauses))
        return forest, declared(names, {name: {"kind": "binary"} for name in names}, "3-SAT"), 6 * n_clauses + 1

    return reduction


def rebuilt_by_engine(forest, domain, n_rows):
    """Return the engine's rows; None where it proves that there are none."""
    groups = group_by_occurrences(np.ones((forest.n_trees, n_rows), int))
    try:
        found = reconstruct(build(forest, domain, groups, TimeBox(600)), Search(TimeBox(600)))
    except InfeasibleError:
        return None
    if found.status == "infeasible":
        return None
    assert found.residual == 0, f"not decided: {found.status}"
    return found.rows


def rebuilt_by(model):
    """Return a function like `rebuilt_by_engine` for a model of the papers."""

    def rebuilt(forest, domain, n_rows):
        outcome = model.solve(forest, domain, n_rows, TimeBox(600))
        assert outcome.status != "no solution"
        assert outcome.residual in (0, None)
        return None if outcome.dataset is None else outcome.dataset.rows

    return rebuilt


ATTACKS = {"engine": rebuilt_by_engine, "cp": rebuilt_by(cp_without_bagging), "milp": rebuilt_by(milp)}


def formulas(n_variables, n_clauses, wanted, number):
    """Return the first random formulas with an answer."""
    seeds = ([n_variables, n_clauses, seed] for seed in count())
    drawn = (random_formula(np.random.default_rng(seed), n_variables, n_clauses) for seed in seeds)
    return islice((formula for formula in drawn if satisfiable(formula) == wanted), number)


def solutions(rows, n_variables):
    """Return the assignments that rows with all indicators hold."""
    return rows[(rows[:, n_variables:] == 1).all(axis=1), :n_variables]


@pytest.mark.parametrize("attack", ["engine", "cp"])
@pytest.mark.parametrize("wanted", [True, False], ids=["satisfiable", "unsatisfiable"])
@pytest.mark.parametrize(
    ("n_variables", "n_clauses"), [(4, 12), (3, 13), (3, 14)], ids=["below 4.26", "at 4.26", "above 4.26"]
)
def test_a_dataset_is_found_exactly_when_the_formula_is_satisfiable(reduced, attack, wanted, n_variables, n_clauses):
    for formula in formulas(n_variables, n_clauses, wanted, examples(3)):
        rows = ATTACKS[attack](*reduced(formula, n_variables))
        assert (rows is not None) == wanted
        if wanted:
            (solution,) = solutions(rows, n_variables)
            assert all(satisfies(solution, clause) for clause in formula)


@pytest.mark.parametrize("attack", ATTACKS)
def test_the_papers_own_formula_is_solved(reduced, attack):
    forest, domain, n_rows = reduced(PAPERS_FORMULA, 4)
    assert (n_rows, domain.n_columns, forest.n_trees) == (19, 7, 4)
    rows = ATTACKS[attack](forest, domain, n_rows)
    (solution,) = solutions(rows, 4)
    assert all(satisfies(solution, clause) for clause in PAPERS_FORMULA)
