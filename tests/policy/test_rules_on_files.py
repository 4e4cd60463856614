"""Rules on what stands in a file, on facts by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_draft.facts.case import Case
from pytest_draft.facts.contents import Copy, Rarest, StoredFacts, Vector
from pytest_draft.facts.entropy import Between
from pytest_draft.facts.examination import Examination, unexamined
from pytest_draft.facts.files import ArtifactFacts
from pytest_draft.facts.privacy import Privacy
from pytest_draft.facts.published import Published
from pytest_draft.facts.structure import StructureFacts
from pytest_draft.policy.rule import NotApplicable
from pytest_draft.policy.rules import RULES

STORED = StoredFacts(3, (40,))
STRUCTURE = StructureFacts(
    what="leaf",
    leaves=100,
    smallest=2,
    median_smallest=3.5,
    sizes=(0, 60, 40, 0, 0, 0, 0, 0),
    alone=Between(0.25, 0.5),
    alone_rows=(10, 20),
    disclosed_class=Between(0.75, 0.75),
)
FACTS = ArtifactFacts(
    "model.joblib",
    n_trees=7,
    bootstrap=True,
    published=Published(7, "rows", "rows of each class"),
    contents=STORED,
    structure=STRUCTURE,
)
LAPLACE = Privacy("laplace", 5.0, scale=2.0, rounding="sum")
THRESHOLDS = {
    "smallest-leaf": {"min_rows": 5},
    "pure-leaves": {"max_share": 0.5},
    "leaves-of-one-person": {"max_rows": 9},
}
ON_LEAVES = ("smallest-leaf", "pure-leaves", "leaves-of-one-person")
ON_FILES = ("seeds-published", "counts-published", "per-row-vectors", "verbatim-data", *THRESHOLDS)


def outcome(rule: str, facts: ArtifactFacts, **thresholds: float):
    if RULES[rule].needs is Examination:  # of one that ended before anything was compared
        facts = replace(unexamined(Case("model.joblib")), artifact=replace(facts, holds="RandomForestClassifier"))
    return RULES[rule].check(facts, RULES[rule].in_force(thresholds or THRESHOLDS.get(rule, {})))


def storing(**changes) -> ArtifactFacts:
    return replace(FACTS, contents=replace(STORED, **changes))


def built(**changes) -> ArtifactFacts:
    return replace(FACTS, structure=replace(STRUCTURE, **changes))


@pytest.mark.parametrize("rule", ON_FILES)
def test_what_is_not_known_of_a_file_is_inconclusive(rule):
    unknown = replace(FACTS, published=None, contents=None, structure=None)
    assert outcome(rule, unknown).result == "inconclusive"


@pytest.mark.parametrize("rule", ON_FILES)
def test_only_what_every_forest_has_is_a_warning_and_no_rule_needs_an_attack(rule):
    assert RULES[rule].severity == ("warning" if rule in ("seeds-published", "counts-published") else "error")
    assert not RULES[rule].attack


@pytest.mark.parametrize(
    ("published", "result", "words"),
    [
        (
            Published(7, "rows", None),
            "failed",
            "seeds of all 7 trees; each seed tells how often each training row was drawn",
        ),
        (Published(2, "rows", None), "failed", "2 of 7 trees"),
        (Published(7, "noise", None), "failed", "replays the noise"),
        (Published(0, "rows", None), "passed", "no seed"),
        (Published(7, None, None), "passed", "nothing was drawn at random"),
        (Published(7, "thresholds", None), "failed", "how its thresholds were drawn"),
    ],
)
def test_a_seed_fails_where_something_was_drawn_by_it(published, result, words):
    found = outcome("seeds-published", replace(FACTS, published=published))
    assert found.result == result
    assert words in found.sentence


@pytest.mark.parametrize("counts", ["rows of each class", "rows and mean targets", None])
def test_counts_without_noise_fail_and_are_nobodys_until_data_explain_them(counts):
    found = outcome("counts-published", replace(FACTS, published=Published(0, None, counts)))
    assert found.result == ("failed" if counts else "passed")
    if counts:
        what = {"rows and mean targets": "rows and their mean target"}.get(counts, counts)
        assert found.sentence == (
            f"the file stores the number of {what} at every node of 7 trees; whether your table agrees with it "
            "is not known"
        )


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"kind": "RandomForestClassifier"}, True),
        ({"kind": "ExtraTreeRegressor"}, True),
        ({"kind": "AdaBoostClassifier"}, False),  # which harden does not take
        ({"kind": "RandomForestClassifier", "privacy": LAPLACE}, False),
    ],
)
def test_counts_are_taken_out_by_a_command_where_it_takes_the_model(changes, told):
    found = outcome("counts-published", replace(FACTS, **changes))
    assert found.result == "failed"
    assert ("python -m pytest_draft harden" in (found.remedy or "")) == told
    assert "harden" not in RULES["counts-published"].remedy


@pytest.mark.parametrize(
    ("answers", "decimals", "words"),
    [
        ("shares", None, "only exact shares of the classes in its leaves"),
        ("rounded shares", 2, "only shares of the classes to 2 decimals in its leaves"),
        ("rounded shares", 1, "only shares of the classes to 1 decimal in its leaves"),
        ("labels", None, "only labels in its leaves"),
        ("mean targets", None, "only mean targets in its leaves"),
    ],
)
def test_what_leaves_answer_is_no_count_and_passes_unless_more_is_left(answers, decimals, words):
    told = Published(0, "rows", None, answers=answers, decimals=decimals)
    found = outcome("counts-published", replace(FACTS, published=told))
    assert (found.result, found.sentence) == ("passed", f"the file holds no counts of training rows, {words}")
    more = outcome("counts-published", replace(FACTS, published=replace(told, left=True)))
    assert more.result == "inconclusive"
    assert "parts of the counts are left at its nodes" in more.sentence
    assert "remove n_node_samples, weighted_n_node_samples, impurity" in more.remedy


@pytest.mark.parametrize("rule", ON_LEAVES)
@pytest.mark.parametrize("answers", ["labels", "mean targets"])
def test_sizes_of_leaves_that_the_file_does_not_tell_are_not_known(rule, answers):
    found = outcome(rule, replace(FACTS, published=Published(0, "rows", None, answers=answers), structure=None))
    assert found.result == "inconclusive"
    assert f"the file tells {answers} in its leaves only" in found.sentence


@pytest.mark.parametrize("answers", ["shares", "rounded shares"])
def test_shares_tell_that_no_leaf_is_pure_and_not_how_large_one_is(answers):
    told = replace(FACTS, published=Published(0, "rows", None, answers=answers), structure=None)
    assert [outcome(rule, told).result for rule in ON_LEAVES] == ["inconclusive", "passed", "inconclusive"]


def test_leaves_that_give_one_class_a_share_of_one_are_no_pass_of_pure_leaves():
    told = Published(0, "rows", None, answers="shares", certain_leaves=30)
    found = outcome("pure-leaves", replace(FACTS, published=told, structure=None))
    assert found.result == "inconclusive"
    assert "30 leaves give one class a share of 1" in found.sentence


def test_an_array_by_row_is_named_with_its_shape():
    vector = Vector("oob_decision_function_", (40, 2))
    found = outcome("per-row-vectors", storing(by_row=(vector,), perhaps_by_row=(Vector("b", (40,)),)))
    assert found.result == "failed"
    assert found.sentence == (
        "the file has 1 array, oob_decision_function_ (40 x 2), with an entry for each of 40 training rows"
    )
    many = outcome("per-row-vectors", storing(by_row=(vector,) * 5, n_rows=(40, 50)))
    assert "5 arrays, " in many.sentence
    assert "and 2 more, with an entry for each of 40 or 50" in many.sentence
    assert outcome("per-row-vectors", storing(perhaps_by_row=(vector,))).result == "inconclusive"
    assert outcome("per-row-vectors", storing(n_rows=())).result == "inconclusive"
    assert outcome("per-row-vectors", storing()).result == "passed"


def test_a_copy_fails_whatever_is_in_doubt_and_a_doubt_is_no_pass():
    copies = (Copy("steps[0][1]._fit_X", (40, 3), 40, 3), Copy("y", (40,), 0, 1))
    found = outcome("verbatim-data", storing(copies=copies, doubts=("a text",)))
    assert found.result == "failed"
    assert found.sentence == (
        "the file holds training data: steps[0][1]._fit_X (40 x 3) holds 40 training rows and 3 training columns; "
        "y (40) holds 1 training column"
    )
    assert "and 5 more" in outcome("verbatim-data", storing(copies=copies * 4)).sentence
    assert outcome("verbatim-data", storing(doubts=("a text",))).result == "inconclusive"
    for arrays in (0, 1, 2):
        assert outcome("verbatim-data", storing(arrays=arrays)).result == "passed"


@pytest.mark.parametrize(
    ("least", "most", "asked", "result"),
    [
        (1, 1, {}, "failed"),
        (2, 2, {}, "passed"),
        (4, 4, {"min_rows_of_a_category": 5}, "failed"),
        (5, 5, {"min_rows_of_a_category": 5}, "passed"),
        (1, 9, {"min_rows_of_a_category": 5}, "inconclusive"),
        (1, 4, {"min_rows_of_a_category": 5}, "failed"),
        (1, 1, {"min_rows_of_a_category": 0}, "passed"),
    ],
)
def test_a_value_that_an_encoder_knows_needs_enough_rows(least, most, asked, result):
    facts = storing(rarest=(Rarest("others", 30, 30), Rarest("encoder.categories_[0]", least, most)))
    found = outcome("verbatim-data", facts, **asked)
    assert found.result == result
    assert ("encoder.categories_[0]" in found.sentence) == (result != "passed")
    assert "\n" not in found.sentence


@pytest.mark.parametrize(("least", "result"), [(3, "failed"), (2, "passed"), (0, "passed")])
def test_a_leaf_of_fewer_rows_than_asked_for_fails(least, result):
    found = outcome("smallest-leaf", FACTS, min_rows=least)
    assert found.result == result
    assert "the smallest of 100 leaves holds 2 different training rows (the median tree's: 3.5)" in found.sentence


@pytest.mark.parametrize(("most", "result"), [(0.74, "failed"), (0.75, "passed"), (1, "passed")])
def test_a_larger_share_of_rows_in_leaves_of_one_class_than_allowed_fails(most, result):
    assert outcome("pure-leaves", FACTS, max_share=most).result == result


@pytest.mark.parametrize(("most", "result"), [(0.1, "failed"), (0.5, "inconclusive"), (1.0, "passed")])
def test_a_share_that_is_only_bounded_decides_by_its_bounds(most, result):
    assert outcome("pure-leaves", built(disclosed_class=Between(0.2, 1.0)), max_share=most).result == result


@pytest.mark.parametrize(
    ("thresholds", "result"),
    [
        ({"max_share": 0.2}, "failed"),
        ({"max_share": 0.25}, "inconclusive"),
        ({"max_share": 0.5}, "passed"),
        ({"max_rows": 9}, "failed"),
        ({"max_rows": 10}, "inconclusive"),
        ({"max_rows": 20}, "passed"),
        ({"max_rows": 20, "max_share": 0.2}, "failed"),
        ({"max_rows": 15, "max_share": 0.6}, "inconclusive"),
    ],
)
def test_rows_that_are_alone_in_a_leaf_are_held_against_a_share_and_a_number(thresholds, result):
    assert outcome("leaves-of-one-person", FACTS, **thresholds).result == result


def test_rules_are_called_rules_and_a_single_tree_is_no_forest():
    rules = replace(built(what="rule", alone=Between(0.25, 0.25), alone_rows=(10, 10)), n_trees=None)
    assert "the smallest of 100 rules holds" in outcome("smallest-leaf", rules, min_rows=1).sentence
    assert "10 training rows are alone in a rule;" in outcome("leaves-of-one-person", rules, max_rows=3).sentence
    assert "rules that captured one class only;" in outcome("pure-leaves", rules, max_share=1).sentence
    tree = replace(FACTS, n_trees=1)
    assert outcome("pure-leaves", tree, max_share=1).sentence.count("tree") == 0


@pytest.mark.parametrize("rule", ON_LEAVES)
def test_how_many_rows_are_in_a_leaf_behind_noise_is_not_for_a_rule_to_know(rule):
    assert outcome(rule, replace(FACTS, structure=None, privacy=LAPLACE, published=None)).result == "inconclusive"
    assert RULES[rule].unless == (NotApplicable.NOISE,)


@pytest.mark.parametrize("rule", ON_FILES)
def test_where_two_budgets_meet_the_stricter_one_fails_more(rule):
    for key in RULES[rule].keys.values():
        assert key.strictest is (max if "fewer" in key.help else min)
