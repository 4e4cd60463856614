"""No check is green that was not made: figures are taken away one by one from examinations that pass."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from types import NoneType
from typing import Any, get_args, get_type_hints

import pytest

from builders import FINDINGS, INFORMED, PART, changed, examination
from made_up_facts import filled
from pytest_draft.facts.ambiguity import Ambiguity, Ideal
from pytest_draft.facts.case import Case
from pytest_draft.facts.certificate import Bounds, Certificate
from pytest_draft.facts.contents import SingleValues, StoredFacts
from pytest_draft.facts.entropy import Between, Entropy
from pytest_draft.facts.examination import Examination
from pytest_draft.facts.figures import Baseline, Closeness, Distance, Exact, Numeric, Significance
from pytest_draft.facts.files import ArtifactFacts
from pytest_draft.facts.findings import Labelled, Measure
from pytest_draft.facts.label_told import LabelTold, Told
from pytest_draft.facts.membership import Estimate, Membership, ToldApart
from pytest_draft.facts.privacy import Privacy
from pytest_draft.facts.published import Published
from pytest_draft.facts.slices import Measured, SliceBaseline, SliceFigures
from pytest_draft.facts.structure import AT_LEAST, StructureFacts
from pytest_draft.policy.policy import Policy
from pytest_draft.policy.rule import NotApplicable, NowAndEarlier, combined
from pytest_draft.policy.rules import RULES
from pytest_draft.policy.verdict import Check, check_rule

SHARE = 0.01
LIMITS: dict[str, dict[str, Any]] = {
    "reconstruction-error": {
        "max_error": SHARE,
        "max_error_of_split_half": SHARE,
        "max_error_of_random": SHARE,
        "max_error_with_labels": SHARE,
        "max_error_with_labels_of_split_half": SHARE,
    },
    "perfect-rows": {
        "max_perfect_rows": 30,
        "max_share_beyond_split_half": 0.9,
        "max_exact_values_beyond_split_half": 0.9,
        "max_certain_unique_rows": 20,
        "max_perfect_rows_with_labels": 30,
        "max_share_with_labels_beyond_split_half": 0.9,
    },
    "singled-out-rows": {"max_singled_out_rows": 20},
    "certain-rows": {"max_certain_rows": 20},
    "determined-rows": {"max_determined_share": 0.9},
    "given-all-other-rows": {
        "max_error_of_split_half": SHARE,
        "max_row_error_of_without_file": SHARE,
        "max_told_rows_share": 0.9,
        "max_exact_values_share": 0.9,
    },
    "worst-row": {"max_error_of_worst_row": SHARE},
    "leak-p-value": {"min_p_value": SHARE},
    "entropy-reduction": {"max_entropy_reduction": 0.9, "max_row_entropy_reduction": 0.9},
    "smallest-leaf": {"min_rows": 1},
    "pure-leaves": {"max_share": 0.9},
    "leaves-of-one-person": {"max_share": 0.9, "max_rows": 20},
    "label-told": {
        "max_told_share": 0.9,
        "least_difference": 0.1,
        "max_certain_share": 0.9,
        "max_exact_share": 0.9,
        "max_highest_targets": 5,
    },
    "membership": {"max_found_share": 0.9, "max_auc": 0.9, "max_proved_share": 0.9},
    "epsilon-cap": {"max_epsilon": 9.0},
    "time-box": {"min_seconds": 1.0},
    "allowed-models": {"kinds": ["Forest"]},
    "artifact-pinned": {"sha256": ["text"]},
}
"""Limits that the examinations below keep, all thresholds of a rule at once."""

PASSED = Distance(0.1, 0.1, 0.3)
IDEAL = Ideal(0.08, 12.0, 40, 0.3, 0.2, 2.0)
NUMBERS = replace(INFORMED, exact_numeric=0.2, exact_numeric_without_file=0.1)
MEASURED = Measured(12, PASSED, 3, Between(0.2, 0.2), 2, 9, SliceBaseline(0.4, 0.1, 20), SliceBaseline(0.2, 0.1, 20))


def part(on: str, **changes: Any) -> Measure:
    return changed(PART, on=on, error=PASSED, perfect=3, ideal=replace(IDEAL, rows=20), informed=NUMBERS, **changes)


RANKS = part(" by rank", scale="rank", numeric=True, exact=Exact(40, 0.1, 0.05))
FULL = changed(
    FINDINGS,
    informative=part(" on a part"),
    seen=part(" on those seen"),
    significance=filled(Significance, p_value=0.5, overlaps=False),
    rescaled=(replace(RANKS, of="everything"),),
    slices=(SliceFigures("women", 12, MEASURED), SliceFigures("women", 12, MEASURED, " by rank")),
    certain_rows=2,
    certain_unique=2,
    labelled=Labelled(changed(FINDINGS.whole, error=PASSED, perfect=8, split_half=Baseline(0.2, 3.0, 20, 20)), 10, 6),
    ideal=IDEAL,
    informed=NUMBERS,
    ambiguity=Ambiguity(("uniform",), 8, 0.1, 400.0, 0.2, 1),
)
FULL = replace(FULL, numeric=Numeric(3, 0, False, *[Closeness()] * 3, Baseline(0.3, 0.0, 1, 40)))
CERTAIN = Bounds(2, 2)
LABELS = LabelTold("labels", 40, 40, "the model", "a predictor", Told("", 40, 20, 18, 4, 3, 1))
TARGETS = replace(LABELS, of="targets", exact=Told("", 40, 4, 2, 3), exact_in_leaves=4, highest=5, highest_exact=1)
APART = ToldApart(40, *[Estimate(0.6, 0.55, 0.7)] * 3)
MEMBERS = Membership("of the holdout", 40, 40, 1_000, True, "draws", APART, APART, 4, 300, 0.01)
ARTIFACT = ArtifactFacts(
    "m.joblib",
    sha256="text",
    holds="a forest",
    kind="Forest",
    n_trees=5,
    published=Published(0, "rows", None),
    contents=StoredFacts(1, (40,), single_values=SingleValues(("a",), 0.1, 0.1)),
    structure=StructureFacts("leaf", len(AT_LEAST), 3, 3.0, (1,) * len(AT_LEAST), Between(0, 0), (0, 0), Between(0, 0)),
)
NUMERIC = replace(
    examination(),
    case=Case("m.joblib", "train.csv"),
    artifact=ARTIFACT,
    findings=FULL,
    informed=NUMBERS,
    label_told=LABELS,
    membership=MEMBERS,
    certificate=Certificate(40, CERTAIN, CERTAIN, CERTAIN, CERTAIN, CERTAIN),
    entropy=Entropy(8.0, Between(0.5, 0.5), Between(0.4, 0.4), 0.5, "the tree", None, 1, (0.5,) * 101),
)


def with_findings(examined: Examination, **changes: Any) -> Examination:
    assert examined.findings is not None
    return replace(examined, findings=changed(examined.findings, **changes))


DISCRETE = replace(
    with_findings(NUMERIC, rescaled=(), slices=FULL.slices[:1], informed=INFORMED, informative=None, seen=None),
    informed=INFORMED,
)
DISCRETE = replace(DISCRETE, findings=replace(DISCRETE.findings, numeric=None))
REGRESSOR = replace(
    with_findings(NUMERIC, labelled=None), artifact=replace(ARTIFACT, regressor=True), label_told=TARGETS
)
BY_ATTACK = replace(
    with_findings(DISCRETE, ambiguity=None, ideal=None, informed=None, labelled=FULL.labelled), informed=None
)
SHORT = "the attack did not converge"
BY_BOUNDS = replace(NUMERIC, reasons=(SHORT,), shortfalls=(SHORT,))
PRIVATE = replace(
    with_findings(BY_ATTACK, certain_rows=None, certain_unique=None),
    artifact=replace(ARTIFACT, privacy=Privacy("laplace", 5.0, scale=2.0, rounding="sum"), structure=None),
    certificate=None,
    membership=None,
)
KNOWING_ALL = replace(BY_ATTACK, case=replace(NUMERIC.case, adversary="artifact+informed"))
KINDS = {
    "numeric": NUMERIC,
    "discrete": DISCRETE,
    "regressor": REGRESSOR,
    "by the attack alone": BY_ATTACK,
    "by bounds alone": BY_BOUNDS,
    "private": PRIVATE,
    "who knows all others": KNOWING_ALL,
}


def judged(examined: Examination, rule: str) -> Check:
    policy = Policy("ours", "by hand", {rule: LIMITS.get(rule, {})})
    return check_rule(examined, policy, rule, NowAndEarlier({}))


def without_one(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Yield what is left of some facts without one figure that can be missing, and which it was, for each of them."""
    hints = get_type_hints(type(value))
    for field in fields(value):
        held, here = getattr(value, field.name), (*path, field.name)
        name = f"{type(value).__name__}.{field.name}"
        if held is not None and NoneType in get_args(hints[field.name]):
            yield from without(value, field.name, None, name)
        if is_dataclass(held) and not isinstance(held, (Case, type)):
            for inner, left in without_one(held, here):
                yield from without(value, field.name, left, inner)
        if isinstance(held, tuple) and held and is_dataclass(held[0]):
            for inner, left in without_one(held[0], here):
                yield from without(value, field.name, (left, *held[1:]), inner)


def without(value: Any, name: str, to: Any, what: str) -> Iterator[tuple[str, Any]]:
    try:
        yield what, replace(value, **{name: to})
    except ValueError:  # one of the two figures that are only there together
        return


SAYS_SO = {
    "Distance.worst",  # then the error is one of its bounds
    "Published.draws",  # nothing was drawn at random
    "StoredFacts.single_values",  # there are none
    "Informed.exact_numeric_without_file",  # taken for 0, which is stricter
}
"""Figures that are missing because there is nothing to measure, or of which the worst is taken for granted."""

BOUNDED = {
    ("reconstruction-error", "Measure.ideal"),  # by what somebody gets who knows all others
    ("perfect-rows", "Measure.informed"),  # by other datasets that explain the file
    ("perfect-rows", "Informed.exact_numeric"),
    ("perfect-rows", "Baseline.error"),
    ("perfect-rows", "Findings.numeric"),  # the figures by rank are there
    ("label-told", "Told.certain"),  # what is certain is right, so it is told, too
    ("label-told", "Told.certain_gained"),
    ("membership", "Membership.unique"),  # then everyone is judged
    ("given-all-other-rows", "Examination.findings"),  # without an attack, of all columns only
}
"""Rules that pass by another figure."""


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("kind", KINDS)
def test_no_check_passes_without_a_figure_by_which_it_passed(kind, rule):
    check = judged(KINDS[kind], rule)
    taken_away = list(without_one(KINDS[kind])) if check.result == "passed" else []
    for what, left in taken_away:
        after = judged(left, rule)
        if after.result == "passed" and after.sentence != check.sentence:
            assert what in SAYS_SO or (rule, what) in BOUNDED, (what, after.sentence)


@pytest.mark.parametrize(
    "rule", [rule for rule in RULES if rule not in ("time-box", "allowed-models", "artifact-pinned")]
)
def test_of_a_file_that_was_read_and_nothing_more_no_check_passes(rule):
    bare = replace(examination(), artifact=ArtifactFacts("m.joblib", sha256="text", holds="a forest", kind="Forest"))
    assert judged(bare, rule).result != "passed"
    assert judged(examination(), rule).result == "inconclusive"


NOT_APPLICABLE = {
    "numeric": {"declared-epsilon-but-exact-counts": NotApplicable.NO_EPSILON},
    "private": dict.fromkeys(
        (
            "certain-rows",
            "determined-rows",
            "given-all-other-rows",
            "smallest-leaf",
            "pure-leaves",
            "leaves-of-one-person",
            "membership",
        ),
        NotApplicable.NOISE,
    ),
    "who knows all others": {
        "declared-epsilon-but-exact-counts": NotApplicable.NO_EPSILON,
        **dict.fromkeys(("determined-rows", "given-all-other-rows"), NotApplicable.OTHERS_KNOWN),
    },
}


@pytest.mark.parametrize("kind", NOT_APPLICABLE)
def test_a_rule_is_not_applicable_for_a_reason_of_the_list_only(kind):
    checks = [judged(KINDS[kind], rule) for rule in RULES]
    found = {check.rule: check.sentence for check in checks if check.result == "not applicable"}
    assert found == {rule: reason.value for rule, reason in NOT_APPLICABLE[kind].items()}


@pytest.mark.parametrize(
    ("kind", "rule", "thresholds", "reason"),
    [
        ("regressor", "reconstruction-error", {"max_error_with_labels": SHARE}, NotApplicable.NO_CLASSES),
        ("regressor", "perfect-rows", {"max_perfect_rows_with_labels": 30}, NotApplicable.NO_CLASSES),
        ("discrete", "perfect-rows", {"max_exact_values_beyond_split_half": 0.9}, NotApplicable.NO_NUMBERS),
        ("discrete", "given-all-other-rows", {"max_exact_values_share": 0.9}, NotApplicable.NO_NUMBERS),
        ("discrete", "label-told", {"max_exact_share": 0.9}, NotApplicable.NO_TARGETS),
        ("discrete", "label-told", {"max_highest_targets": 5}, NotApplicable.NO_TARGETS),
        ("private", "perfect-rows", {"max_certain_unique_rows": 0}, NotApplicable.NOISE),
    ],
)
def test_a_threshold_that_makes_no_sense_is_left_out_and_alone_makes_its_rule_not_applicable(
    kind, rule, thresholds, reason
):
    def check(examined: Examination, **others: float) -> Check:
        return check_rule(examined, Policy("ours", "by hand", {rule: {**thresholds, **others}}), rule)

    alone = check(KINDS[kind])
    assert (alone.result, alone.sentence) == ("not applicable", reason.value)
    others = {
        key: at
        for key, at in LIMITS[rule].items()
        if key not in thresholds and reason not in RULES[rule].keys[key].unless
    }
    assert check(KINDS[kind], **dict([next(iter(others.items()))])).result == "passed"
    assert (
        check(replace(KINDS[kind], artifact=replace(KINDS[kind].artifact, unjudged="other trees"))).result != "passed"
    )


@pytest.mark.parametrize(
    "change", [{"broken_by": ("the seeds replay its noise",)}, {"rounding": "noise"}, {"exact": True}]
)
def test_noise_that_can_be_taken_away_hides_nothing(change):
    privacy = replace(PRIVATE.artifact.privacy, **change)
    open_ = replace(PRIVATE, artifact=replace(PRIVATE.artifact, privacy=privacy))
    for rule in NOT_APPLICABLE["private"]:
        assert judged(open_, rule).result == "inconclusive"


def test_a_rule_that_is_not_applicable_fails_all_the_same_where_all_rows_come_back():
    whole = with_findings(PRIVATE, error=Distance(0.0, 0.0, 0.0), perfect=40)
    assert judged(whole, "determined-rows").result == "failed"


def test_without_an_attack_there_is_no_time_box():
    without = replace(NUMERIC, case=replace(NUMERIC.case, attack=False))
    assert judged(without, "time-box").result == "not applicable"


def test_nothing_is_no_pass():
    assert combined([]).result == "inconclusive"
