"""Each rule's three outcomes, on findings by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from builders import FINDINGS, PART, changed
from pytest_draft.facts.certificate import Bounds
from pytest_draft.facts.entropy import Between, Entropy
from pytest_draft.facts.examination import Examination
from pytest_draft.facts.figures import Baseline, Distance, Exact
from pytest_draft.facts.files import ArtifactFacts
from pytest_draft.facts.findings import Findings
from pytest_draft.facts.privacy import Privacy
from pytest_draft.policy.rule import Outcome, combined, common
from pytest_draft.policy.rules import RULES

MISSING = Baseline(None, None, 0, 20)
BOUNDED = changed(FINDINGS, error=Distance(0.1, 0.2, None))
NUMERIC = changed(FINDINGS, numeric=True)
BETWEEN = changed(NUMERIC, perfect=Bounds(10, 15), singled_out=Bounds(4, 6))
PERFECT = changed(FINDINGS, error=Distance(0.0, 0.0, 0.0), perfect=40)


LAPLACE = Privacy("laplace", 5.0, scale=2.0, rounding="sum")
GAUSSIAN = Privacy("gaussian", 0.5, 1e-5, 3.0, "sum")
LABELS = Privacy("permute-and-flip", 1.0)
EXACT = replace(LAPLACE, exact=True)
BROKEN = replace(LAPLACE, broken_by=("its noise can be replayed", "its bounds are the data's"))
KEPT = (LAPLACE, GAUSSIAN, LABELS)
CUT_NOISE = replace(LAPLACE, rounding="noise")
NOT_KEPT = (None, EXACT, BROKEN, replace(BROKEN, exact=True), CUT_NOISE)


def outcome(rule: str, evidence: Findings | ArtifactFacts, **thresholds: float) -> Outcome:
    return RULES[rule].check(evidence, thresholds)


def declaring(privacy: Privacy | None) -> ArtifactFacts:
    return ArtifactFacts("model.joblib", n_trees=10, bootstrap=False, privacy=privacy)


@pytest.mark.parametrize("privacy", KEPT, ids=lambda privacy: privacy.mechanism)
def test_a_declared_privacy_that_nothing_contradicts_is_what_is_required(privacy):
    found = outcome("dp-required", declaring(privacy))
    assert found.result == "passed"
    assert f"epsilon {privacy.epsilon:g}" in found.sentence
    assert ("delta 1e-05" in found.sentence) == (privacy is GAUSSIAN)


@pytest.mark.parametrize("privacy", NOT_KEPT, ids=["none", "exact", "broken", "exact and broken", "cut noise"])
def test_no_privacy_and_one_that_the_file_contradicts_fail_what_requires_or_caps_it(privacy):
    artifact = declaring(privacy)
    required = outcome("dp-required", artifact)
    assert required.result == "failed"
    assert ("declares no differential privacy" in required.sentence) == (privacy is None)
    assert all(phrase in required.sentence for phrase in artifact.contradictions)
    assert outcome("epsilon-cap", artifact, max_epsilon=100.0, max_delta=1.0) == required


@pytest.mark.parametrize(
    ("privacy", "max_epsilon", "max_delta", "expected"),
    [
        (LAPLACE, 5.0, 0.0, "passed"),
        (LAPLACE, 4.999, 0.0, "failed"),
        (LAPLACE, 0.0, 1.0, "failed"),
        (LABELS, 1.0, 0.0, "passed"),
        (LABELS, 0.9, 0.0, "failed"),
        (GAUSSIAN, 0.5, 1e-5, "passed"),
        (GAUSSIAN, 0.5, 0.0, "failed"),
        (GAUSSIAN, 0.5, 9e-6, "failed"),
        (GAUSSIAN, 0.4, 1e-5, "failed"),
    ],
)
def test_more_epsilon_or_delta_than_the_cap_fails(privacy, max_epsilon, max_delta, expected):
    found = outcome("epsilon-cap", declaring(privacy), max_epsilon=max_epsilon, max_delta=max_delta)
    assert found.result == expected


def test_a_crossed_cap_says_by_how_much():
    found = outcome("epsilon-cap", declaring(LAPLACE), max_epsilon=2.0, max_delta=0.0)
    assert found.sentence == "the file declares epsilon 5; max_epsilon allows at most 2"


@pytest.mark.parametrize("privacy", [*KEPT, BROKEN, CUT_NOISE])
def test_an_epsilon_is_not_contradicted_without_exact_counts(privacy):
    assert outcome("declared-epsilon-but-exact-counts", declaring(privacy)).result == "passed"


def test_exact_counts_contradict_a_declared_epsilon():
    found = outcome("declared-epsilon-but-exact-counts", declaring(EXACT))
    assert found.result == "failed"
    assert found.sentence == "the file declares epsilon 5, but the counts in the file are exact"


@pytest.mark.parametrize(
    ("findings", "max_error", "expected"),
    [
        (FINDINGS, 0.11, "failed"),
        (FINDINGS, 0.1, "failed"),
        (FINDINGS, 0.09, "passed"),
        (FINDINGS, 0.0, "passed"),
        (PERFECT, 0.0, "failed"),
        (BOUNDED, 0.25, "failed"),
        (BOUNDED, 0.2, "failed"),
        (BOUNDED, 0.15, "inconclusive"),
        (BOUNDED, 0.1, "inconclusive"),
        (BOUNDED, 0.09, "passed"),
    ],
)
def test_an_error_of_at_most_the_budget_fails(findings, max_error, expected):
    assert outcome("reconstruction-error", findings, max_error=max_error).result == expected


@pytest.mark.parametrize(
    ("key", "share", "expected"),
    [
        ("max_error_of_split_half", 0.5, "failed"),
        ("max_error_of_split_half", 0.49, "passed"),
        ("max_error_of_random", 0.25, "failed"),
        ("max_error_of_random", 0.24, "passed"),
    ],
)
def test_an_error_is_measured_by_its_baseline(key, share, expected):
    found = outcome("reconstruction-error", FINDINGS, **{key: share})
    assert found.result == expected
    assert f"what {'random guesses' if key.endswith('random') else 'other rows like these'} get" in found.sentence


@pytest.mark.parametrize(
    ("key", "at", "impossible"),
    [
        ("max_error", 0.9, True),
        ("max_error", 0.4, True),
        ("max_error", 0.39, False),
        ("max_error_of_random", 1.0, True),
        ("max_error_of_random", 0.9, False),
        ("max_error_of_split_half", 1.0, False),
    ],
)
def test_a_threshold_that_random_guesses_cross_is_told_as_impossible(key, at, impossible):
    found = outcome("reconstruction-error", FINDINGS, **{key: at})
    assert found.result == "failed"
    assert found.sentence.startswith("no model can pass: random guesses get 0.4000") == impossible
    assert (found.remedy == f"give a smaller {key}: it is the error at which the attacker has succeeded") == impossible


@pytest.mark.parametrize("name", ["split_half", "random"])
def test_an_error_without_its_baseline_is_inconclusive_unless_it_is_zero(name):
    key = f"max_error_of_{name}"
    assert outcome("reconstruction-error", changed(FINDINGS, **{name: MISSING}), **{key: 0.5}).result == "inconclusive"
    assert outcome("reconstruction-error", changed(PERFECT, **{name: MISSING}), **{key: 0.5}).result == "failed"


def test_a_budget_that_is_crossed_fails_beside_one_without_its_baseline():
    findings = changed(FINDINGS, split_half=MISSING)
    both = {"max_error_of_split_half": 0.5}
    assert outcome("reconstruction-error", findings, max_error=0.1, **both).result == "failed"
    assert outcome("reconstruction-error", findings, max_error=0.0, **both).result == "inconclusive"


@pytest.mark.parametrize(("most", "expected"), [(9, "failed"), (10, "passed"), (40, "passed"), (0, "failed")])
def test_more_perfect_rows_than_the_budget_fail(most, expected):
    found = outcome("perfect-rows", FINDINGS, max_perfect_rows=most)
    assert found.result == expected
    assert "10 of 40 rows" in found.sentence


@pytest.mark.parametrize(
    ("perfect", "share", "expected"),
    [(22, 0.5, "passed"), (23, 0.5, "failed"), (4, 0.0, "passed"), (5, 0.0, "failed"), (39, 1.0, "passed")],
)
def test_perfect_rows_are_measured_by_what_the_baseline_leaves(perfect, share, expected):
    findings = changed(FINDINGS, perfect=perfect)  # 4 by the baseline, 36 beyond it
    assert outcome("perfect-rows", findings, max_share_beyond_split_half=share).result == expected


def test_every_row_perfect_fails_whatever_share_is_allowed():
    assert outcome("perfect-rows", PERFECT, max_share_beyond_split_half=1.0).result == "failed"


def test_perfect_rows_without_the_baseline_are_inconclusive_unless_all_are():
    for findings, expected in ((FINDINGS, "inconclusive"), (PERFECT, "failed")):
        missing = changed(findings, split_half=MISSING)
        assert outcome("perfect-rows", missing, max_share_beyond_split_half=0.5).result == expected


@pytest.mark.parametrize(("most", "expected"), [(3, "failed"), (4, "passed")])
def test_more_singled_out_rows_than_the_budget_fail(most, expected):
    found = outcome("singled-out-rows", FINDINGS, max_singled_out_rows=most)
    assert found.result == expected
    assert "4 of 30" in found.sentence


@pytest.mark.parametrize(
    ("rule", "thresholds"),
    [
        ("reconstruction-error", {"max_error": 0.15}),
        ("perfect-rows", {"max_perfect_rows": 7}),
        ("singled-out-rows", {"max_singled_out_rows": 1}),
    ],
)
def test_a_failure_says_the_figure_and_the_limit_in_one_line(rule, thresholds):
    (limit,) = thresholds.values()
    sentence = outcome(rule, FINDINGS, **thresholds).sentence
    assert f"; limit: {limit}" in sentence
    assert "\n" not in sentence


RELATIVE = [
    ("reconstruction-error", "max_error_of_split_half"),
    ("reconstruction-error", "max_error_of_random"),
    ("perfect-rows", "max_share_beyond_split_half"),
]
ABSOLUTE = [("reconstruction-error", "max_error", 0.05), ("perfect-rows", "max_perfect_rows", 15)]


@pytest.mark.parametrize("name", ["seen", "informative", "mostly_determined", "fully_determined"])
@pytest.mark.parametrize(("rule", "key"), RELATIVE)
def test_relative_thresholds_are_held_against_each_part_beside_its_own_baselines(rule, key, name):
    thresholds = {key: 0.2}
    assert outcome(rule, FINDINGS, **thresholds).result == "passed"
    crossed = outcome(rule, changed(FINDINGS, **{name: PART}), **thresholds)
    assert crossed.result == "failed"
    assert " on a part; " in crossed.sentence
    no_better = changed(PART, error=Distance(0.2, 0.2, 0.2), perfect=4)
    kept = outcome(rule, changed(FINDINGS, **{name: no_better}), **thresholds)
    assert kept.result == "passed"
    assert "; the other limit (for a part, a slice, a scale or labels) holds, too" in kept.sentence


@pytest.mark.parametrize(("rule", "key"), RELATIVE)
def test_a_part_without_its_baselines_is_never_a_pass(rule, key):
    missing = changed(PART, error=Distance(0.3, 0.3, 0.3), perfect=0, random=MISSING, split_half=MISSING)
    found = outcome(rule, changed(FINDINGS, informative=missing), **{key: 0.2})
    assert found.result == "inconclusive"
    assert " on a part" in found.sentence


@pytest.mark.parametrize(("rule", "key", "budget"), ABSOLUTE)
def test_absolute_thresholds_are_held_against_parts_with_all_columns_only(rule, key, budget):
    assert outcome(rule, FINDINGS, **{key: budget}).result == "passed"
    assert outcome(rule, changed(FINDINGS, mostly_determined=PART), **{key: budget}).result == "passed"
    assert outcome(rule, changed(FINDINGS, seen=PART), **{key: budget}).result == "failed"


RESULTS = ("failed", "inconclusive", "passed")


@pytest.mark.parametrize("one", RESULTS)
@pytest.mark.parametrize("other", RESULTS)
def test_the_gravest_outcome_wins_whatever_the_order(one, other):
    expected = min(one, other, key=RESULTS.index)
    assert combined([Outcome(one, "one"), Outcome(other, "other")]).result == expected


def test_passes_are_told_together():
    assert combined([Outcome("passed", "one"), Outcome("passed", "other")]).sentence == "one; other"


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_says_why_it_exists_and_what_its_keys_mean(rule):
    assert RULES[rule].id == rule
    assert RULES[rule].rationale
    assert all(key.help for key in RULES[rule].keys.values())
    assert all(key.strictest in ((common,) if key.listed else (min, max)) for key in RULES[rule].keys.values())


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_on_the_artifact_says_what_to_do_and_one_on_findings_leaves_that_to_the_forest(rule):
    assert RULES[rule].needs in (Findings, ArtifactFacts, Entropy, Examination)
    given_others = ("determined-rows", "given-all-other-rows")
    assert RULES[rule].remedy or RULES[rule].needs is Findings or rule in given_others
    assert RULES[rule].attack == (
        RULES[rule].needs is Findings or rule in ("certain-rows", "sensitive-columns", *given_others)
    )


def entropy(ratio: Between, row: Between) -> Entropy:
    return Entropy(20.0, ratio, row, 0.8, "the tree", (0.8, 0.8, 0.8), 1, (0.5,) * 101)


@pytest.mark.parametrize(
    ("most", "result"),
    [(0.19, "failed"), (0.2, "inconclusive"), (0.29, "inconclusive"), (0.3, "passed"), (1, "passed")],
)
def test_an_entropy_reduction_fails_where_more_is_surely_gone_and_passes_where_surely_no_more_is(most, result):
    found = RULES["entropy-reduction"].check(
        entropy(Between(0.7, 0.8), Between(0.1, 0.1)), {"max_entropy_reduction": most}
    )
    assert found.result == result
    assert "0.2000" in found.sentence or result == "passed"


@pytest.mark.parametrize(("most", "result"), [(0.5, "failed"), (0.6, "passed")])
def test_the_most_exposed_row_has_a_threshold_of_its_own(most, result):
    found = RULES["entropy-reduction"].check(
        entropy(Between(1.0, 1.0), Between(0.4, 0.4)), {"max_entropy_reduction": 0.0, "max_row_entropy_reduction": most}
    )
    assert found.result == result
    assert "most exposed row" in found.sentence


@pytest.mark.parametrize(
    ("most", "result"), [(9, "failed"), (10, "inconclusive"), (14, "inconclusive"), (15, "passed")]
)
def test_perfect_rows_that_are_only_bounded_pass_by_their_upper_bound(most, result):
    found = outcome("perfect-rows", BETWEEN, max_perfect_rows=most)
    assert found.result == result
    assert "to within 1 %" in found.sentence
    assert outcome("perfect-rows", NUMERIC, max_perfect_rows=10).result == "passed"


def test_bounds_hold_beside_the_split_half_baseline_too():
    assert outcome("perfect-rows", BETWEEN, max_share_beyond_split_half=0.25).result == "inconclusive"  # 13 rows
    assert outcome("perfect-rows", BETWEEN, max_share_beyond_split_half=0.5).result == "passed"
    assert outcome("perfect-rows", BETWEEN, max_share_beyond_split_half=0.1).result == "failed"


@pytest.mark.parametrize(("most", "result"), [(3, "failed"), (4, "inconclusive"), (5, "inconclusive"), (6, "passed")])
def test_singled_out_rows_that_are_only_bounded_pass_by_their_upper_bound(most, result):
    found = outcome("singled-out-rows", BETWEEN, max_singled_out_rows=most)
    assert found.result == result
    assert "to within 1 %" in found.sentence


def test_no_tolerance_is_told_where_all_columns_are_discrete():
    for rule, threshold in (("perfect-rows", "max_perfect_rows"), ("singled-out-rows", "max_singled_out_rows")):
        for most in (0, 40):
            assert "range" not in outcome(rule, FINDINGS, **{threshold: most}).sentence


BY_RANK = changed(
    PART, of="everything", on=" by rank", error=Distance(0.3, 0.3, 0.3), perfect=0, numeric=True, scale="rank"
)
EXACT_VALUES = "max_exact_values_beyond_split_half"


def by_rank(exact: Exact | None) -> Findings:
    return changed(NUMERIC, rescaled=(changed(BY_RANK, exact=exact),))


@pytest.mark.parametrize(
    ("share", "split_half", "allowed", "expected"),
    [
        (0.4, 0.2, 0.24, "failed"),
        (0.4, 0.2, 0.26, "passed"),
        (0.2, 0.2, 0.0, "passed"),
        (0.1, 0.2, 0.0, "passed"),
        (1.0, 0.2, 0.99, "failed"),
        (1.0, 1.0, 0.0, "passed"),  # a column of one value
    ],
)
def test_exact_values_beyond_those_of_others_fail(share, split_half, allowed, expected):
    found = outcome("perfect-rows", by_rank(Exact(400, share, split_half)), **{EXACT_VALUES: allowed})
    assert found.result == expected
    assert f"{share:.1%} of 400 numeric values exactly by rank; limit: " in found.sentence


def test_exact_values_that_were_not_counted_are_no_pass_and_beat_no_failure():
    assert outcome("perfect-rows", by_rank(None), **{EXACT_VALUES: 0.25}).result == "inconclusive"
    assert outcome("perfect-rows", by_rank(None), **{EXACT_VALUES: 0.25, "max_perfect_rows": 9}).result == "failed"


@pytest.mark.parametrize("findings", [FINDINGS, NUMERIC], ids=["none is numeric", "not measured"])
def test_values_of_which_it_is_not_known_how_many_come_back_exactly_are_no_pass(findings):
    for others in ({}, {"max_perfect_rows": 20}):
        assert outcome("perfect-rows", findings, **{EXACT_VALUES: 0.0}, **others).result == "inconclusive"


@pytest.mark.parametrize("scale", ["inner range", "rank"])
@pytest.mark.parametrize(("rule", "key"), RELATIVE)
def test_relative_thresholds_are_held_against_other_scales_beside_their_baselines(rule, key, scale):
    leaks = changed(PART, on=" on a scale", numeric=True, scale=scale)
    crossed = outcome(rule, changed(NUMERIC, rescaled=(leaks,)), **{key: 0.2})
    assert outcome(rule, NUMERIC, **{key: 0.2}).result == "passed"
    assert crossed.result == "failed"
    assert " on a scale; " in crossed.sentence
    assert ("of the ranks)" in crossed.sentence) == (rule == "perfect-rows" and scale == "rank")


@pytest.mark.parametrize(("rule", "key", "budget"), ABSOLUTE)
def test_absolute_thresholds_are_about_the_papers_number(rule, key, budget):
    assert outcome(rule, changed(NUMERIC, rescaled=(PART,)), **{key: budget}).result == "passed"


@pytest.mark.parametrize("scale", ["inner range", "rank"])
def test_the_worst_row_is_held_against_other_scales_of_the_whole_table(scale):
    """By range one outlier is wrong by half of all; on a scale that it does not stretch, no row is."""
    stretched = changed(NUMERIC, error=Distance(0.01, 0.01, 0.5))
    whole = changed(
        PART, of="everything", on=" on a scale", rows=NUMERIC.whole.rows, columns=NUMERIC.whole.columns, scale=scale
    )
    near, far = (changed(whole, error=Distance(worst, worst, worst)) for worst in (0.02, 0.4))
    key = "max_error_of_worst_row"

    assert outcome("worst-row", stretched, **{key: 0.1}).result == "passed"
    assert outcome("worst-row", changed(stretched, rescaled=(far,)), **{key: 0.1}).result == "passed"
    failed = outcome("worst-row", changed(stretched, rescaled=(far, near)), **{key: 0.1})
    assert (failed.result, " of 0.0200 on a scale;" in failed.sentence) == ("failed", True)
    of_a_part = changed(near, rows=NUMERIC.whole.rows - 1)
    assert outcome("worst-row", changed(stretched, rescaled=(of_a_part,)), **{key: 0.1}).result == "passed"
    not_known = changed(near, error=Distance(0.0, 1.0, None))
    assert outcome("worst-row", changed(stretched, rescaled=(not_known,)), **{key: 0.1}).result == "inconclusive"
