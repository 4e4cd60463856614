"""What a rule says of labels: in go findings and thresholds that count the label, out come outcomes.

A label is no attribute of a row, and errors leave it out. But somebody whose features are public may have nothing to
hide but the label. So a policy can hold the same thresholds against rows with their labels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pytest_draft.facts.findings import Findings, Part
from pytest_draft.policy.rule import Outcome, Thresholds


def of_labelled(
    findings: Findings,
    thresholds: Thresholds,
    names: Mapping[str, str],
    judge: Callable[[Part, Thresholds], list[Outcome]],
) -> list[Outcome]:
    """Return what thresholds with labels say; nothing, where a policy has none of them.

    Parameters
    ----------
    thresholds : mapping of str to object
    names : mapping of str to str
        Of the thresholds with labels, and of those that they are like.
    judge : callable
        Holds thresholds of the latter names against a part.
    """
    held = {name: thresholds[key] for key, name in names.items() if key in thresholds}
    if not held:
        return []
    if findings.labelled is None:
        return [Outcome("passed", "the model tells no classes apart, so that there are no labels to rebuild")]
    return judge(findings.labelled.part, held)
