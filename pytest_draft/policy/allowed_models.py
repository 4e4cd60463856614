"""Rule ``allowed-models``: which kinds of models may be released at all."""

from __future__ import annotations

from pytest_draft.errors import one_line
from pytest_draft.facts.examination import Examination
from pytest_draft.policy.rule import Key, Outcome, Rule, Thresholds, common


def check(examination: Examination, thresholds: Thresholds) -> Outcome:
    """Fail when the model is of another kind."""
    kind, allowed = examination.artifact.kind, thresholds["kinds"]
    if kind is None:
        return Outcome("inconclusive", "; ".join(examination.reasons) or "it is not known what the file holds")
    sentence = f"the file holds a {one_line(kind)}; allowed are {', '.join(map(one_line, allowed)) or 'none'}"
    if kind in allowed and examination.artifact.unjudged is not None:
        return Outcome("inconclusive", examination.artifact.unjudged)
    return Outcome("passed" if kind in allowed else "failed", sentence)


RULE = Rule(
    id="allowed-models",
    needs=Examination,
    keys={
        "kinds": Key(False, None, common, "class names of the models that are allowed; any other fails", listed=True)
    },
    check=check,
    rationale=(
        "What a policy's thresholds mean was thought through for some kinds of models. Another kind needs a decision "
        "of its own (EU AI Act, article 10)."
    ),
    remedy="train one of the allowed kinds, or have the policy's owner decide about this one",
)
