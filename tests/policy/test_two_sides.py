"""A verdict from two sides: what an attack got, and what anybody can get."""

from __future__ import annotations

from dataclasses import replace

import pytest

from builders import FINDINGS, INFORMED, PART, changed
from made_up_facts import filled
from pytest_draft.facts.ambiguity import Ambiguity, Attacker, Ideal
from pytest_draft.facts.case import Case
from pytest_draft.facts.certificate import Bounds
from pytest_draft.facts.examination import Examination, unexamined
from pytest_draft.facts.figures import Baseline, Distance, Exact, Numeric
from pytest_draft.facts.files import ArtifactFacts
from pytest_draft.policy.bar import Bar
from pytest_draft.policy.ideal import rows_of_ideal
from pytest_draft.policy.policy import Policy, default_policy
from pytest_draft.policy.remedies import Command
from pytest_draft.policy.rule import Outcome
from pytest_draft.policy.verdict import check_rule

MANY = Ambiguity(("population", "uniform"), 8, 0.1, 400.0, 0.2, 0)
FAR = Ideal(0.18, 3.0, 40, None, 0.2, 2.0)
SLOW = "the attack did not converge in 36 s"
SPLIT = FINDINGS.whole.split_half.error
"""0.2: the default policy fails at half of it."""


def found(ideal: Ideal | None = FAR, ambiguity: Ambiguity | None = MANY, reasons=(SLOW,), short=(SLOW,), **changes):
    findings = changed(FINDINGS, error=Distance(0.3, 0.3, 0.4), perfect=2, singled_out=1)
    findings = changed(findings, ideal=ideal, ambiguity=ambiguity, **changes)
    read = replace(unexamined(Case("m.joblib")), artifact=ArtifactFacts("m.joblib", holds="a forest"))
    return replace(read, findings=findings, reasons=reasons, shortfalls=short)


def result(examination: Examination, rule: str = "reconstruction-error") -> str:
    return check_rule(examination, default_policy(), rule).result


@pytest.mark.parametrize("rule", ["reconstruction-error", "perfect-rows"])
def test_a_pass_needs_no_attack_that_converged_where_nobody_gets_close(rule):
    assert result(found(), rule) == "passed"
    assert result(found(ambiguity=None), rule) == "inconclusive"


@pytest.mark.parametrize("rule", ["reconstruction-error", "perfect-rows", "determined-rows"])
def test_no_bound_lifts_any_other_doubt(rule):
    doubt = "this forest was not trained on these rows"
    examination = found(reasons=(SLOW, doubt))
    assert result(examination, rule) == "inconclusive"
    assert doubt in check_rule(examination, default_policy(), rule).sentence


def test_whoever_could_get_close_makes_it_inconclusive_with_both_figures_and_the_bar():
    check = check_rule(found(ideal=replace(FAR, least_error=0.05)), default_policy(), "reconstruction-error")
    assert check.result == "inconclusive"
    assert all(figure in check.sentence for figure in ("0.3000", "0.0500", f"{SPLIT / 2:.4f}"))
    rows = check_rule(found(ideal=replace(FAR, most_perfect_rows=39.0)), default_policy(), "perfect-rows")
    assert rows.result == "inconclusive"
    assert "the best possible attack may rebuild 39, so no answer" in rows.sentence


def test_an_attack_that_converged_is_no_pass_where_others_could_get_close():
    assert result(found(ideal=replace(FAR, least_error=0.05), reasons=(), short=())) == "inconclusive"


def test_a_failure_stands_whatever_the_bounds():
    assert result(found(error=Distance(0.01, 0.01, 0.1))) == "failed"


def test_no_pass_rests_on_a_bound_that_the_attack_betters():
    beaten = found(ideal=replace(FAR, least_error=0.35, error_without_file=0.4))
    assert result(beaten) == "inconclusive"
    assert "no pass rests on it" in check_rule(beaten, default_policy(), "reconstruction-error").sentence


def test_more_perfect_rows_than_by_chance_are_distrusted_and_no_more_than_that_are_not():
    assert (
        result(found(ideal=replace(FAR, most_perfect_rows=0.5, perfect_rows_without_file=0.5)), "perfect-rows")
        == "passed"
    )
    distrusted = found(ideal=replace(FAR, most_perfect_rows=0.05, perfect_rows_without_file=0.05))
    assert result(distrusted, "perfect-rows") == "inconclusive"
    assert "no pass rests on it" in check_rule(distrusted, default_policy(), "perfect-rows").sentence


@pytest.mark.parametrize(("least", "outcome"), [(0.06, "inconclusive"), (0.05, "inconclusive"), (0.081, "passed")])
def test_whoever_crosses_a_bar_may_be_brought_a_tenth_closer_and_no_more(least, outcome):
    """Somebody who gets .09 without the file crosses the bar of .1 with it and without."""
    near = Ideal(least, 3.0, 40, None, max(least, 0.09), 2.0)
    assert result(found(ideal=near)) == outcome
    assert result(found(ideal=changed(near, error_without_file=0.3))) == "inconclusive"
    if outcome == "passed":
        sentence = check_rule(found(ideal=near), default_policy(), "reconstruction-error").sentence
        assert "nearly as far without the file (0.0810 with it, 0.0900 without)" in sentence


@pytest.mark.parametrize(("most", "outcome"), [(55.0, "passed"), (55.3, "passed"), (56.0, "inconclusive")])
def test_whoever_meets_too_many_rows_may_be_given_a_tenth_of_the_others_and_no_more(most, outcome):
    """Of 100 rows he meets 50 and a few without the file, where the bar is 25 and some."""
    examination = found(ideal=replace(FAR, most_perfect_rows=most, perfect_rows_without_file=50.6, rows=100), rows=100)
    assert result(examination, "perfect-rows") == outcome


@pytest.mark.parametrize(
    ("most", "said"),
    [
        (30.3, "; the best possible attack may rebuild 31, so no answer"),
        (5.7, "; no attacker considered rebuilds more than 5"),
    ],
)
def test_rows_are_whole_and_never_of_other_rows_than_the_threshold(most, said):
    ideal = replace(FAR, most_perfect_rows=most)
    sample = changed(PART, rows=40, error=Distance(0.3, 0.3, 0.3), perfect=0, split_half=Baseline(0.2, 1.0, 5, 40))
    bar = Bar(20.5, "at most 20 are allowed")
    outcome = rows_of_ideal(Outcome("passed", "nothing"), bar, ideal, replace(sample, ideal=ideal))
    assert outcome.sentence == f"nothing{said}"
    with pytest.raises(ValueError, match="a limit of 200 rows beside figures of 40"):
        replace(sample, ideal=replace(ideal, rows=200))


def attackers(*figures: tuple[float, float]) -> Ideal:
    each = tuple(Attacker("uniform", least, 3.0, without, 2.0) for least, without in figures)
    least, without = min(figures)
    return Ideal(least, 3.0, 40, None, without, 2.0, each)


def test_the_bar_is_held_against_every_attacker():
    """The one who gets closest gains little; another one, who would cross the bar too, gains much."""
    assert result(found(ideal=attackers((0.04, 0.041), (0.15, 0.3)))) == "passed"
    both = attackers((0.04, 0.041), (0.08, 0.3))
    assert result(found(ideal=both)) == "inconclusive"
    said = check_rule(found(ideal=both), default_policy(), "reconstruction-error").sentence
    assert "may get as close as 0.0800, so no answer" in said


def test_what_only_an_attack_leaves_open_names_the_command_that_gives_it_more_time():
    given = Case("m.joblib", "my train.csv", "income", seconds=60.0, seed=3)
    command = "python -m pytest --draft-forest m.joblib --draft-data 'my train.csv' --draft-target income "
    command += "--draft-seed 3 --draft-budget 240"
    near = changed(found(ideal=replace(FAR, least_error=0.05)), case=given)
    to_see = "to see with more time whether it"
    said = check_rule(near, default_policy(), "reconstruction-error")
    assert said.remedy == f"{to_see} fails: {command}"
    assert said.commands == (Command(command, f"{to_see} fails"),)
    open_ = changed(found(ideal=None, ambiguity=None), case=given)
    assert check_rule(open_, default_policy(), "reconstruction-error").remedy == f"{to_see} passes: {command}"
    assert check_rule(found(ideal=None), default_policy(), "reconstruction-error").remedy is None  # data in memory
    without = "4 s ended before there was a dataset"
    nothing = replace(open_, findings=None, solver_status="no solution", reasons=(without,), shortfalls=())
    for rule in ("reconstruction-error", "perfect-rows"):
        assert check_rule(nothing, default_policy(), rule).remedy == f"{to_see} passes: {command}"
    unread = replace(nothing, reasons=(without, "another reason"))
    assert check_rule(unread, default_policy(), "reconstruction-error").commands == ()
    refused = replace(nothing, solver_status="refused")
    assert check_rule(refused, default_policy(), "reconstruction-error").commands == ()
    converged = changed(near, shortfalls=(), reasons=())
    assert check_rule(converged, default_policy(), "reconstruction-error").commands == ()  # more time changes nothing
    forest = replace(converged, artifact=replace(near.artifact, kind="RandomForestClassifier"))
    helps = [one.line.split()[3] for one in check_rule(forest, default_policy(), "reconstruction-error").commands]
    assert helps == ["advise", "harden"]
    short = replace(forest, shortfalls=near.shortfalls, reasons=near.reasons)
    assert check_rule(short, default_policy(), "reconstruction-error").commands[-1] == said.commands[-1]
    damaged = changed(near, reasons=(*near.reasons, "another reason"))
    assert check_rule(damaged, default_policy(), "reconstruction-error").remedy is None


def test_too_few_datasets_can_be_tried_one_by_one():
    few = found(ambiguity=replace(MANY, bits=12.0))
    assert result(few) == result(few, "perfect-rows") == "inconclusive"
    assert "2^12 tables" in check_rule(few, default_policy(), "reconstruction-error").sentence


@pytest.mark.parametrize(
    ("bits", "ended", "said"),
    [
        (0.0, True, "only one table (yours) is known to explain this file; "),
        (0.4, True, "only 2 tables are known to explain this file; "),
        (3.0, True, "only 2^3 tables are known to explain this file; "),
        (0.0, False, "the time ran out when one table (yours) was known to explain the file; "),
        (12.0, False, "the time ran out when 2^12 tables were known to explain the file; "),
        (None, False, "the time ran out before it was counted how many tables explain the file; "),
        (None, True, "how many tables explain the file was not counted, as the verdict was certain without; "),
    ],
)
@pytest.mark.parametrize("of", ["other datasets", "all other rows", "both"])
def test_how_many_datasets_are_known_is_said_and_that_the_time_ended_the_count(bits, ended, said, of):
    if (bits is None and of != "all other rows") or (not ended and of == "other datasets"):
        pytest.skip("of other datasets a lower bound is always known")
    known = replace(INFORMED, matched_error=0.17, bits=bits, bits_ended=ended)
    examination = found(
        ambiguity=None if of == "all other rows" else replace(MANY, bits=bits),
        informed=None if of == "other datasets" else known,
    )
    sentence = check_rule(examination, default_policy(), "reconstruction-error").sentence
    assert sentence.startswith(said)
    assert "2^0" not in sentence
    assert ("--draft-budget" in sentence.partition(SLOW)[0]) == (not ended)


@pytest.mark.parametrize("ended", [True, False])
def test_a_count_that_the_time_ended_is_enough_where_another_one_is(ended):
    cut = replace(INFORMED, matched_error=0.17, bits=0.0, bits_ended=ended)
    assert result(found(ambiguity=MANY, informed=cut)) == "passed"


def test_an_attack_that_rebuilds_all_rows_needs_no_bound():
    whole = {"error": Distance(0.0, 0.0, 0.0), "perfect": 40, "singled_out": 30}
    told = found(None, None, (), (), informed=replace(INFORMED, bits=0.0))
    everything = replace(told, findings=changed(told.findings, **whole))
    every_row = Policy("ours", "ours.toml", {"perfect-rows": {"max_perfect_rows": 40}})
    assert check_rule(everything, every_row, "perfect-rows").result == "passed"
    assert (
        check_rule(told, every_row, "perfect-rows").result == "inconclusive"
    )  # 2^0 datasets, of which it found another
    assert result(everything) == "failed"


def test_a_part_without_a_bound_needs_an_attack_that_converged():
    part = changed(PART, error=Distance(0.3, 0.3, 0.4), perfect=2)
    assert result(found(seen=part)) == "inconclusive"
    assert result(found(seen=part, reasons=(), short=())) == "passed"
    assert result(found(seen=changed(part, ideal=replace(FAR, rows=20)))) == "passed"
    assert result(found(fully_determined=part)) == "passed"  # of the best attack these are rows that can be certain
    assert result(found(fully_determined=PART)) == "failed"


def test_rows_that_are_missing_in_other_datasets_are_not_certain():
    proving = {"certain_unique": Bounds(0, 30)}
    assert result(found(**proving), "perfect-rows") == "passed"
    shared = replace(MANY, shared_unique_rows=9)
    assert result(found(ambiguity=shared, **proving), "perfect-rows") == "inconclusive"


@pytest.mark.parametrize(
    ("told", "shared", "outcome"),
    [
        (0.0, 30, "passed"),
        (0.05, 30, "passed"),
        (0.075, 2, "passed"),
        (0.075, 3, "inconclusive"),
        (1.0, 30, "inconclusive"),
    ],
)
def test_rows_that_nothing_proves_are_bounded_by_what_is_told_and_what_others_share(told, shared, outcome):
    """Of 40 rows, two unique ones may be proved; 5 % of them are two."""
    informed = replace(INFORMED, told_rows=told)
    known = found(ambiguity=replace(MANY, shared_unique_rows=shared), informed=informed)
    assert result(known, "perfect-rows") == outcome
    only_told = found(ambiguity=None, informed=informed, ideal=None, reasons=(), short=())
    assert result(only_told, "perfect-rows") == ("passed" if told <= 0.05 else "inconclusive")


def test_a_part_in_which_nothing_is_guessed_needs_its_baseline_all_the_same():
    unmeasured = changed(PART, error=Distance(0.3, 0.3, 0.4), perfect=2, split_half=Baseline(None, None, 0, 10))
    assert result(found(fully_determined=unmeasured)) == "inconclusive"


@pytest.mark.parametrize(("short", "outcome"), [((), "passed"), ((SLOW,), "inconclusive")])
def test_values_that_no_bound_is_about_pass_by_an_attack_that_converged_only(short, outcome):
    ranks = changed(
        PART, of="everything", error=Distance(0.3, 0.3, 0.4), perfect=2, scale="rank", exact=Exact(40, 0.1, 0.1)
    )
    rule = Policy("ours", "by hand", {"perfect-rows": {"max_exact_values_beyond_split_half": 0.25}})
    values = found(reasons=short, short=short, rescaled=(changed(ranks, ideal=replace(FAR, rows=20)),))
    values = replace(values, findings=replace(values.findings, numeric=filled(Numeric)))
    assert check_rule(values, rule, "perfect-rows").result == outcome
    bounded = changed(values.findings, rescaled=(changed(ranks, ideal=replace(FAR, most_exact=0.2, rows=20)),))
    assert check_rule(replace(values, findings=bounded), rule, "perfect-rows").result == "passed"
