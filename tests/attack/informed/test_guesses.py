"""Guesses by what a file holds of each row: where they lie, and what they are made from."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from profiles import examples
from pytest_draft.attack.groups import KnownRows
from pytest_draft.attack.informed.boxes import Held
from pytest_draft.attack.informed.guesses import Guesser, best_by_others, guesses_of
from pytest_draft.domain import Attribute, Domain
from pytest_draft.matching import encoded_weights
from small_models import domain_of

NAN = np.nan

MIXED = domain_of(
    Attribute("size", "numeric", (0,), -5.0, 60.0, missing=True),
    Attribute("weight", "numeric", (1,), 0.0, 9.0),
    Attribute.coded("grade", 2, (1.0, 2.0, 5.0, 11.0), missing=True),
    Attribute("rank", "ordinal", (3,), 0.0, 6.0),
    Attribute("colour", "one-hot", (4, 5), dropped=True),
    Attribute("flag", "binary", (6,)),
    Attribute("answer", "binary", (7,), missing=True),
)

SEEDS = examples(40, 5)


def some_rows(rng: np.random.Generator, n_rows: int) -> np.ndarray:
    """Return rows of `MIXED`: few values, so that many are alike, and missing ones."""
    rows = np.zeros((n_rows, MIXED.n_columns), dtype=np.float32)
    rows[:, 0] = np.round(rng.normal(20, 8, n_rows), int(rng.integers(0, 3))).clip(-5, 60)
    rows[:, 1] = rng.integers(0, 10, n_rows)
    rows[:, 2] = rng.choice([1, 2, 5, 11], n_rows)
    rows[:, 3] = (rows[:, 1] / 2).astype(int) + rng.integers(0, 3, n_rows)
    rows[np.arange(n_rows), 4 + rng.integers(0, 2, n_rows)] = rng.integers(0, 2, n_rows)
    rows[:, 6:] = rng.integers(0, 2, (n_rows, 2))
    for column in (0, 2, 7):
        rows[rng.random(n_rows) < 0.2, column] = NAN
    return rows


def boxes(domain: Domain, rows: np.ndarray, rng: np.random.Generator) -> Held:
    """Return boxes around all rows: anything, some values, or just the row's own; some may be missing instead."""
    lower, upper = (np.empty(rows.shape) for _ in range(2))
    may_miss = np.zeros(rows.shape, dtype=bool)
    for attribute in domain.attributes:
        for column in attribute.columns:
            own = rows[:, column].astype(np.float64)
            size = rng.choice([0.0, 0.2, 0.5, 2.0], (2, len(rows))) * (attribute.high - attribute.low)
            middle = np.where(np.isnan(own), rng.uniform(attribute.low, attribute.high, len(rows)), own)
            lower[:, column] = np.maximum(middle - size[0], attribute.low)
            upper[:, column] = np.minimum(middle + size[1], attribute.high)
            may_miss[:, column] = attribute.missing & (np.isnan(own) | (rng.random(len(rows)) < 0.4))
            only_missing = np.isnan(own) & (rng.random(len(rows)) < 0.3)
            lower[only_missing, column], upper[only_missing, column] = np.inf, -np.inf
    return Held(domain, np.arange(len(rows)), lower, upper, may_miss)


def held_by_hand(domain: Domain, *bounds: tuple[float, float, bool]) -> Held:
    """Return boxes in the first column, and everything in the others."""
    lower = np.array([[a.low for a in domain.attributes for _ in a.columns]] * len(bounds))
    upper = np.array([[a.high for a in domain.attributes for _ in a.columns]] * len(bounds))
    may_miss = np.array([[a.missing for a in domain.attributes for _ in a.columns]] * len(bounds))
    for i, (low, high, missing) in enumerate(bounds):
        lower[i, 0], upper[i, 0], may_miss[i, 0] = low, high, missing
    return Held(domain, np.arange(len(bounds)), lower, upper, may_miss)


def guesser(held: Held, rows: np.ndarray, donors=None) -> Guesser:
    donors = np.arange(len(rows)) if donors is None else np.asarray(donors)
    return Guesser(held, rows, donors, encoded_weights(held.domain))


def all_guesses(found: Guesser) -> dict[str, np.ndarray]:
    everyone = KnownRows(found.rows, np.zeros(len(found.rows), np.int64), np.ones((1, len(found.rows)), np.int64))
    guesses = guesses_of(found.held, everyone, np.arange(len(found.held.rows)), found.donors)
    copied = found.copied(guesses[0], found.near(guesses[0]), np.random.default_rng(0))
    return dict(zip(("inside", "neighbours", "together", "copied"), (*guesses, copied), strict=True))


def require_inside(held: Held, guess: np.ndarray) -> None:
    """Refuse a guess outside of its box, or one that is no value of the domain."""
    for attribute in held.domain.attributes:
        columns = list(attribute.columns)
        value = guess[:, columns]
        if attribute.kind in ("numeric", "ordinal"):
            low, high, missing = held.lower[:, columns[0]], held.upper[:, columns[0]], np.isnan(value[:, 0])
            assert held.may_miss[missing, columns[0]].all(), attribute.name
            present = value[~missing, 0].astype(np.float64)
            assert (present >= np.float32(low[~missing]) - 1e-6).all(), attribute.name
            assert (present <= np.float32(high[~missing]) + 1e-6).all(), attribute.name
        if attribute.kind == "one-hot":
            assert (value.sum(axis=1) <= 1).all()


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(SEEDS))
def test_every_guess_lies_in_its_box(seed):
    rng = np.random.default_rng(seed)
    rows = some_rows(rng, int(rng.integers(2, 60)))
    held = boxes(MIXED, rows, rng)
    for name, guess in all_guesses(guesser(held, rows)).items():
        assert guess.shape == rows.shape, name
        require_inside(held, guess)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_what_is_told_is_guessed(seed):
    rng = np.random.default_rng([seed, 1])
    rows = some_rows(rng, 40)
    held = boxes(MIXED, rows, rng)
    told = held.determined()
    assert 0.02 < told.mean() < 0.98
    for name, guess in all_guesses(guesser(held, rows)).items():
        for a, attribute in enumerate(MIXED.attributes):
            columns = list(attribute.columns)
            right = np.isclose(guess[:, columns], rows[:, columns], rtol=1e-6, atol=1e-6, equal_nan=True).all(axis=1)
            assert right[told[:, a]].all(), (name, attribute.name)


@pytest.mark.nightly(quick=4)
@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_rows_own_values_are_no_part_of_its_guess(seed):
    """Whatever else a row could be, by its box: whoever knows only the others guesses the same."""
    rng = np.random.default_rng([seed, 2])
    rows = some_rows(rng, 30)
    held = boxes(MIXED, rows, rng)
    before = all_guesses(guesser(held, rows))
    for row in rng.choice(len(rows), 6, replace=False):
        changed = rows.copy()
        for a, attribute in enumerate(MIXED.attributes):
            columns = list(attribute.columns)
            if attribute.kind == "numeric":
                low, high = held.lower[row, columns[0]], held.upper[row, columns[0]]
                values = [] if low > high else list(rng.uniform(low, high, 3))
                values += [NAN] * int(held.may_miss[row, columns[0]])
                changed[row, columns] = values[int(rng.integers(len(values)))]
                continue
            states = np.flatnonzero(held.states(a)[row])
            state = int(rng.choice(states))
            missing = attribute.missing and state == attribute.n_states - 1
            changed[row, columns] = NAN if missing else attribute.encoded(np.array([state]))[0]
        after = all_guesses(guesser(held, changed))
        for name in before:
            assert np.array_equal(before[name][row], after[name][row], equal_nan=True), name


NUMERIC = domain_of(Attribute("size", "numeric", (0,), 0.0, 100.0, missing=True), Attribute("flag", "binary", (1,)))


def sizes(*values: float) -> np.ndarray:
    return np.column_stack([values, np.zeros(len(values))]).astype(np.float32)


@pytest.mark.parametrize(
    ("box", "expected"),
    [
        ((0.0, 100.0, False), 20.0),  # 10, 20, 20, 50: without the row's own 30, the lower of the two in the middle
        ((15.0, 60.0, False), 20.0),
        ((25.0, 60.0, False), 50.0),
        ((25.0, 45.0, False), 35.0),  # nobody else's: the middle of the box
        ((30.0, 30.0, False), 30.0),
        ((25.0, 60.0, True), NAN),  # of the others two are missing, one lies inside
        ((15.0, 60.0, True), 20.0),
    ],
)
def test_a_numeric_value_is_the_median_of_the_others_inside(box, expected):
    rows = sizes(30, 10, 20, 20, 50, NAN, NAN)
    everything = (0.0, 100.0, True)
    guess = guesser(held_by_hand(NUMERIC, box, *[everything] * 6), rows).inside()
    assert np.array_equal(guess[0, 0], expected, equal_nan=True)


def test_a_missing_value_counts_for_the_others_and_not_for_itself():
    everything = (0.0, 100.0, True)
    rows = sizes(NAN, NAN, 10)
    guess = guesser(held_by_hand(NUMERIC, *[everything] * 3), rows).inside()
    assert np.array_equal(guess[:, 0], [10, 10, NAN], equal_nan=True)
    only = (np.inf, -np.inf, True)
    guess = all_guesses(guesser(held_by_hand(NUMERIC, only, everything, everything), rows))
    assert all(np.isnan(one[0, 0]) for one in guess.values())


ORDERED = domain_of(Attribute.coded("grade", 0, (1.0, 2.0, 5.0, 11.0), missing=True), Attribute("flag", "binary", (1,)))


@pytest.mark.parametrize(
    ("box", "expected"),
    [
        ((1.0, 11.0, False), 2.0),  # others: 1, 2, 2, 11, 11, and two missing
        ((3.0, 11.0, False), 11.0),
        ((3.0, 6.0, False), 5.0),  # the row's own, which nobody else has: nothing else is left
        ((4.0, 11.0, True), NAN),
        ((2.5, 6.0, True), NAN),
    ],
)
def test_an_ordinal_value_with_gaps_is_one_that_is_left_and_that_others_have(box, expected):
    rows = sizes(5, 1, 2, 2, 2, 11, 11, NAN, NAN, NAN)
    guess = guesser(held_by_hand(ORDERED, box, *[(1.0, 11.0, True)] * 9), rows).inside()
    assert np.array_equal(guess[0, 0], expected, equal_nan=True)


def test_ordered_values_are_guessed_by_their_middle_and_others_by_the_commonest():
    ordered = domain_of(Attribute("rank", "ordinal", (0,), 0.0, 6.0))
    rows = np.array([[6], [0], [0], [0], [2], [3], [4], [5]], dtype=np.float32)
    assert guesser(held_by_hand(ordered, *[(0.0, 6.0, False)] * 8), rows).inside()[0, 0] == 2  # of 0 0 0 2 3 4 5
    assert guesser(held_by_hand(ordered, (3.0, 6.0, False), *[(0.0, 6.0, False)] * 7), rows).inside()[0, 0] == 4


def test_a_dropped_value_of_a_group_can_be_guessed_and_left_out():
    group = domain_of(Attribute("colour", "one-hot", (0, 1), dropped=True))
    rows = np.array([[1, 0], [0, 0], [0, 0], [0, 1], [1, 0]], dtype=np.float32)
    everything = held_by_hand(group, *[(0.0, 1.0, False)] * 5)
    assert guesser(everything, rows).inside()[0].tolist() == [0, 0]  # of the others two have no column
    first = replace(everything, lower=everything.lower.copy(), upper=everything.upper.copy())
    first.lower[0, 0] = 1
    assert all(guess[0].tolist() == [1, 0] for guess in all_guesses(guesser(first, rows)).values())
    first.lower[0, 0], first.upper[0, 0] = 0, 0
    assert guesser(first, rows).inside()[0].tolist() == [0, 0]


def test_neighbours_are_those_nearest_to_the_whole_box():
    pair = domain_of(Attribute("size", "numeric", (0,), 0.0, 100.0), Attribute("age", "numeric", (1,), 0.0, 100.0))
    low, high = [(10.0, s) for s in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10)], [(90.0, s) for s in range(50, 80)]
    rows = np.array([(10.0, 40.0), *low, *high], dtype=np.float32)
    held = held_by_hand(pair, (10.0, 10.0, False), *[(0.0, 100.0, False)] * 40)
    found = guesser(held, rows)
    inside = found.inside()
    near = found.near(inside)
    assert sorted(near[0]) == list(range(1, 11))
    assert inside[0, 1] > 50
    assert found.neighbours(inside, near)[0, 1] == 5.5
    assert found.copied(inside, near, np.random.default_rng(3))[0].tolist() in rows[1:11].tolist()


def test_columns_that_go_together_tell_of_each_other():
    pair = domain_of(Attribute("size", "numeric", (0,), 0.0, 100.0), Attribute("age", "numeric", (1,), 0.0, 1e4))
    size = np.random.default_rng(0).uniform(0, 100, 60)
    rows = np.column_stack([size, size**2]).astype(np.float32)  # by ranks as good as a line
    held = held_by_hand(pair, *[(value, value, False) for value in rows[:, 0].astype(float)])
    guesses = all_guesses(guesser(held, rows))
    error = {name: np.abs(guess[:, 1] - rows[:, 1]).mean() for name, guess in guesses.items()}
    assert error["together"] < 0.1 * error["inside"]


def test_the_guess_of_each_value_is_by_whoever_does_best_on_the_others():
    truth = np.array([[0.0], [0.0], [1.0]], dtype=np.float32)
    domain = domain_of(Attribute("size", "numeric", (0,), 0.0, 1.0))
    one = np.array([[0.0], [0.3], [0.7]], dtype=np.float32)
    other = np.array([[0.9], [0.1], [0.9]], dtype=np.float32)
    best = best_by_others([one, other], truth, encoded_weights(domain), domain)
    # Of the first row the other guesser is better on the rest; of the others the first one, by the first row.
    assert best[:, 0].tolist() == pytest.approx([0.9, 0.3, 0.7])


@pytest.mark.parametrize("n_rows", [1, 2, 3])
def test_few_rows_and_more_columns_than_rows_are_guessed_all_the_same(n_rows):
    rng = np.random.default_rng(n_rows)
    rows = some_rows(rng, n_rows)
    held = boxes(MIXED, rows, rng)
    for guess in all_guesses(guesser(held, rows)).values():
        require_inside(held, guess)
    wide = domain_of(*(Attribute(f"n{a}", "numeric", (a,), 0.0, 1.0) for a in range(30)))
    many = rng.uniform(0, 1, (n_rows, 30)).astype(np.float32)
    for guess in all_guesses(guesser(boxes(wide, many, rng), many)).values():
        assert guess.shape == many.shape
        assert not np.isnan(guess).any()


def test_rows_that_are_all_alike_are_guessed_right():
    rows = np.repeat(some_rows(np.random.default_rng(3), 1), 12, axis=0)
    rows[:, [0, 2, 7]] = [[21.0, 5.0, 1.0]]
    lower, upper, may_miss = [], [], []
    for attribute in MIXED.attributes:
        for _ in attribute.columns:
            lower.append(attribute.low), upper.append(attribute.high), may_miss.append(attribute.missing)
    held = Held(MIXED, np.arange(12), *(np.tile(bound, (12, 1)) for bound in (lower, upper, may_miss)))
    for name, guess in all_guesses(guesser(held, rows)).items():
        assert np.allclose(guess, rows, atol=1e-4), name


def test_rows_are_guessed_from_donors_alone():
    rng = np.random.default_rng(5)
    rows = some_rows(rng, 40)
    held, donors = boxes(MIXED, rows, rng), np.arange(0, 40, 2)
    before = all_guesses(guesser(held, rows, donors))
    elsewhere = rows.copy()
    elsewhere[1::2] = some_rows(rng, 20)
    after = all_guesses(guesser(held, elsewhere, donors))
    for name in before:
        assert np.array_equal(before[name], after[name], equal_nan=True), name
