"""The search, with settings whose leaves, scores and verdicts are made up."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import pytest

from pytest_draft.advice.choice import best, pick, presumed
from pytest_draft.advice.facts import Judgement, Score, Setting, Tried
from pytest_draft.advice.search import FRESH, search
from pytest_draft.timebox import TimeBox


class Clock:
    """A clock that only goes on when it is told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def line(family: str, trees: int, sizes: list[int]) -> tuple[Setting, ...]:
    return tuple(Setting(family, size, trees, ((family, size),)) for size in sizes)


OWN = Setting("as it is", None, 100, ())
WIDE = (OWN, *line("max_leaf_nodes", 100, [50, 30, 20, 12, 8, 5, 3, 2]))
NARROW = (Setting("as it is", None, 10, ()), *line("max_leaf_nodes", 10, [50, 30, 20, 12, 8, 5, 3, 2]))
LINES = [WIDE, NARROW]


def size(setting: Setting) -> int:
    return setting.trees * (80 if setting.value is None else int(setting.value))


def judged(verdict: str, setting: Setting, seconds: float, ratio: float = 1.0, seed: int = 0) -> Judgement:
    return Judgement(
        verdict, ratio, "" if verdict == "passed" else "a rule: a reason", size(setting), 1.0, seconds, seed
    )


class Made:
    """Means by which what has at most `bar` leaves passes, and scores are `score` of the leaves."""

    def __init__(self, bar: float, clock: Clock, score=lambda leaves: 0.7, error: float = 0.02, cost: float = 5.0):
        self.bar, self.clock, self.score_of, self.error, self.cost = bar, clock, score, error, cost
        self.swept: list[Setting] = []
        self.fresh: list[tuple[Setting, int]] = []
        self.unlucky: dict[Setting, list[str]] = {}
        self.stop_at: int | None = None

    def leaves(self, setting):
        return size(setting)

    def score(self, setting):
        self.clock.now += 1.0
        return Score(self.score_of(size(setting)), self.error, 10)

    def judge(self, setting, seconds):
        self.clock.now += self.cost
        self.swept.append(setting)
        if self.stop_at is not None and len(self.swept) >= self.stop_at:
            raise KeyboardInterrupt
        verdict = "passed" if size(setting) <= self.bar else "failed"
        return judged(verdict, setting, seconds, self.bar / size(setting))

    def judge_fresh(self, setting, seconds, number):
        self.clock.now += self.cost
        self.fresh.append((setting, number))
        verdicts = self.unlucky.get(setting, [])
        return judged(verdicts[number] if number < len(verdicts) else "passed", setting, seconds, seed=number + 1)


def run(made: Made, clock: Clock, minutes: float = 10.0, lines=None):
    return search(OWN, lines or LINES, made, TimeBox(60 * minutes, clock=clock), 60.0)


@pytest.mark.parametrize("bar", [1_000, 700, 2_500])
def test_a_line_that_may_gain_is_bisected_to_two_neighbours_of_which_only_the_smaller_passes(bar):
    clock = Clock()
    found = run(Made(bar, clock, score=lambda leaves: leaves), clock)
    known = {size(s): one.hardened.verdict for s, one in found.tried.items() if one.hardened}
    assert all((verdict == "passed") == (leaves <= bar) for leaves, verdict in known.items())
    sizes = sorted(size(s) for s in WIDE)
    largest = max(leaves for leaves in sizes if leaves <= bar)
    assert known[largest] == "passed"
    assert known[sizes[sizes.index(largest) + 1]] != "passed"


@pytest.mark.parametrize("bar", [1_000, 45, 20, 8_000])
def test_the_first_that_passes_is_found_in_few_judgements(bar):
    clock = Clock()
    made = Made(bar, clock)
    run(made, clock)
    first = next(index for index, setting in enumerate(made.swept) if size(setting) <= bar)
    assert first <= 3


@pytest.mark.parametrize("error", [0.02, 0.2, 0.0])
def test_what_scores_no_better_than_what_passes_by_a_standard_error_is_not_judged(error):
    clock = Clock()
    made = Made(1_000, clock, error=error)
    found = run(made, clock)
    assert found.finished
    assert found.pick is not None
    assert len(made.swept) <= 5  # the first that passes, and the pick with the fewest leaves


@pytest.mark.parametrize("bar", [150, 199, 200, 640, 2_400, 9_000])
def test_wherever_the_bar_lies_it_is_found_in_few_judgements(bar):
    clock = Clock()
    made = Made(bar, clock, score=lambda leaves: leaves)
    found = run(made, clock)
    assert found.finished
    assert size(found.pick) == max(size(s) for one in LINES for s in one if size(s) <= bar)
    assert len(made.swept) <= 12


def test_of_what_passes_the_fewest_leaves_within_one_standard_error_are_taken():
    clock = Clock()
    made = Made(2_500, clock, score=lambda leaves: 0.7 + 0.03 * math.log10(leaves), error=0.02)
    found = run(made, clock)
    top = found.tried[best([one for one in found.tried.values() if one.passed]).setting].score.mean
    least = min(size(s) for one in LINES for s in one if 0.7 + 0.03 * math.log10(size(s)) >= top - 0.02)
    assert size(found.pick) == least
    assert found.tried[found.pick].hardened.verdict == "passed"  # and it was judged itself
    assert [number for setting, number in made.fresh if setting == found.pick] == [0, 1, 2]


def test_the_best_score_is_no_pick_where_it_does_not_pass():
    clock = Clock()
    found = run(Made(300, clock, score=lambda leaves: leaves / 10_000, error=0.001), clock)
    assert size(found.pick) == 300
    assert size(best(found.tried.values()).setting) == 8_000


@pytest.mark.parametrize("verdict", ["failed", "inconclusive"])
@pytest.mark.parametrize("at", range(FRESH))
def test_where_a_fresh_judgement_does_not_pass_the_best_of_what_is_left_is_taken(verdict, at):
    clock = Clock()
    made = Made(500, clock, score=lambda leaves: leaves)  # the most leaves that pass are the pick
    first = Setting("max_leaf_nodes", 5, 100, (("max_leaf_nodes", 5),))
    second = Setting("max_leaf_nodes", 50, 10, (("max_leaf_nodes", 50),))
    for one in (first, second):
        made.unlucky[one] = ["passed"] * at + [verdict]
    found = run(made, clock)
    assert size(found.pick) == 300
    assert len(found.tried[found.pick].fresh) == FRESH
    for fallen in (found.tried[first], found.tried[second]):
        assert not fallen.passed
        assert fallen.hardened.verdict == "passed"
        assert len(fallen.fresh) == at + 1


@pytest.mark.parametrize("worse", [0.5, 0.6, 0.0])
def test_where_a_pick_falls_one_of_another_line_is_taken_before_a_stricter_one_that_scores_worse(worse):
    clock = Clock()
    made = Made(800, clock, score=lambda leaves: 0.7 if leaves >= 500 else worse, error=0.01)
    made.unlucky = {setting: ["failed"] for setting in WIDE if size(setting) == 500}
    found = run(made, clock)
    assert (size(found.pick), found.pick.trees) == (500, 10)


def test_inconclusive_never_counts_as_passed():
    class Unsure(Made):
        def judge(self, setting, seconds):
            self.clock.now += self.cost
            return judged("inconclusive", setting, seconds, 5.0)

    clock = Clock()
    found = run(Unsure(1_000, clock), clock)
    assert found.pick is None
    assert found.candidate is None


def test_where_nothing_passes_all_lines_are_swept_to_their_strictest():
    clock = Clock()
    made = Made(1, clock)
    found = run(made, clock)
    assert found.pick is None
    assert found.finished
    assert {one[-1] for one in LINES} <= set(made.swept)


@pytest.mark.parametrize("at", range(1, 5))
def test_an_interrupt_keeps_what_was_found_out(at):
    clock = Clock()
    made = Made(1_000, clock, score=lambda leaves: leaves)
    made.stop_at = at
    found = run(made, clock)
    assert found.interrupted
    assert not found.finished
    assert sum(one.hardened is not None for one in found.tried.values()) == at - 1
    assert found.pick is None
    passed = [one for one in found.tried.values() if one.passed and one.score]
    assert (found.candidate is not None) == bool(passed)


def test_an_interrupt_after_the_pick_was_confirmed_leaves_it_confirmed():
    class Late(Made):
        def judge(self, setting, seconds):
            if len(self.fresh) == FRESH:
                raise KeyboardInterrupt
            return replace(super().judge(setting, seconds), seconds=seconds)  # fills its box

    clock = Clock()
    found = run(Late(1_000, clock, cost=14.0, score=lambda leaves: leaves / 10_000, error=0.001), clock, minutes=2.9)
    assert found.interrupted
    assert found.pick is not None


def test_time_for_the_last_judgements_is_kept():
    clock = Clock()
    made = Made(1_000, clock, cost=14.0)
    found = run(made, clock, minutes=4)
    assert found.pick is not None
    assert clock.now <= 4 * 60 + 14


def test_time_that_was_kept_and_is_left_goes_into_the_sweep():
    class Slow(Made):
        def judge(self, setting, seconds):
            return replace(super().judge(setting, seconds), seconds=seconds)  # fills its box

        def judge_fresh(self, setting, seconds, number):
            self.at.append(len(self.swept))
            return super().judge_fresh(setting, seconds, number)

    clock = Clock()
    made = Slow(1_000, clock, cost=14.0, score=lambda leaves: leaves / 10_000, error=0.001)
    made.at = []
    found = run(made, clock, minutes=2.9)
    assert found.finished
    assert found.pick is not None
    assert made.at[0] < len(made.swept)  # swept on after the first pick was judged with fresh seeds
    assert clock.now <= 2.9 * 60 + 14


def test_without_time_for_them_nothing_is_confirmed_and_the_candidate_is_told():
    clock = Clock()
    made = Made(100_000, clock, cost=40.0)
    found = run(made, clock, minutes=2)
    assert found.pick is None
    assert not found.finished
    assert found.candidate is not None
    assert clock.now <= 2 * 60 + 40


class Odd(Made):
    """Verdicts and scores by lot."""

    def __init__(self, seed: int, clock: Clock) -> None:
        self.draw, self.verdicts = random.Random(seed), {}
        super().__init__(1, clock, score=lambda leaves: self.draw.random())

    def judge(self, setting, seconds):
        self.clock.now += self.cost
        verdict = self.draw.choice(["passed", "failed", "inconclusive"])
        return judged(self.verdicts.setdefault(setting, verdict), setting, seconds)

    def judge_fresh(self, setting, seconds, number):
        self.clock.now += self.cost
        return judged(self.draw.choice(["passed", "passed", "failed"]), setting, seconds, seed=number)


@pytest.mark.parametrize("seed", range(20))
def test_whatever_the_verdicts_a_pick_has_passed_four_times(seed):
    clock = Clock()
    found = run(Odd(seed, clock), clock)
    if found.pick is not None:
        one = found.tried[found.pick]
        assert [judgement.verdict for judgement in (one.hardened, *one.fresh)] == ["passed"] * 4
    assert clock.now <= 620


def tried(setting: Setting, verdict: str | None, mean: float | None, error: float = 0.02) -> Tried:
    score = None if mean is None else Score(mean, error, 10)
    return Tried(setting, size(setting), score, None if verdict is None else judged(verdict, setting, 15))


def test_what_stands_behind_a_pass_is_presumed_to_pass_until_something_else_is_known():
    known = {
        WIDE[3]: tried(WIDE[3], "passed", 0.7),
        WIDE[5]: tried(WIDE[5], "failed", 0.7),
        WIDE[7]: tried(WIDE[7], "passed", 0.7),
    }
    assert presumed([WIDE], known) == {WIDE[4], WIDE[8]}


def test_a_pick_needs_a_score_and_its_error_decides():
    known = {
        WIDE[2]: tried(WIDE[2], "passed", 0.80, 0.03),
        WIDE[4]: tried(WIDE[4], "passed", 0.77, 0.5),
        WIDE[5]: tried(WIDE[5], "passed", 0.76, 0.5),
        WIDE[8]: tried(WIDE[8], "passed", None),
    }
    assert pick([WIDE], known).setting == WIDE[4]
    assert pick([WIDE], known, without={WIDE[4], WIDE[5]}).setting == WIDE[2]
    assert pick([WIDE], {WIDE[8]: known[WIDE[8]]}) is None
