"""Rule ``epsilon-cap``: how large the epsilon may be that the file declares."""

from __future__ import annotations

from pytest_draft.facts.files import ArtifactFacts
from pytest_draft.policy import dp_required
from pytest_draft.policy.bar import Bar
from pytest_draft.policy.rule import Key, Outcome, Rule, Thresholds, combined


def check(artifact: ArtifactFacts, thresholds: Thresholds) -> Outcome:
    """Fail when more is declared than allowed, and when nothing is, or something that the file contradicts."""
    declared = dp_required.check(artifact, {})
    if artifact.privacy is None or declared.result != "passed":
        return declared
    return combined(
        [
            _against("epsilon", artifact.privacy.epsilon, thresholds["max_epsilon"]),
            _against("delta", artifact.privacy.delta, thresholds["max_delta"]),
        ]
    )


def _against(name: str, declared: float, most: float) -> Outcome:
    bar = Bar(most, f"max_{name} allows at most {most:g}")
    return bar.judge(declared, f"the file declares {name} {declared:g}")


RULE = Rule(
    id="epsilon-cap",
    needs=ArtifactFacts,
    keys={
        "max_epsilon": Key(False, None, min, "fail when the declared epsilon is larger than this"),
        "max_delta": Key.share("fail when the declared delta is larger than this", default=0.0),
    },
    check=check,
    rationale=(
        "Epsilon bounds what the file tells of one person: with a large one the bound says little, and the attack of "
        "DRAFT-DP (SaTML 2026, section IV-B, result 4) usually finds what is specific to the training data from 5 on. "
        "Delta is the probability that is left out of the bound: without a cap of its own it must be 0."
    ),
    remedy=(
        "train a differentially private forest within these limits and judge the new file; a smaller number written "
        "beside the same counts protects nobody"
    ),
)
