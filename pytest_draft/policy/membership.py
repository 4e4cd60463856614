"""Rule ``membership``: how well whoever has the file and a person's row finds out whether that row is in the data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from pytest_draft.facts.examination import Examination
from pytest_draft.facts.membership import LEAST_STRANGERS, Estimate, Membership
from pytest_draft.policy.bar import Bar
from pytest_draft.policy.remedies import smaller
from pytest_draft.policy.rule import (
    Key,
    NotApplicable,
    Outcome,
    Rule,
    Thresholds,
    combined,
    not_found_out,
    unless_doubted,
)


def check(examination: Examination, thresholds: Thresholds) -> Outcome:
    """Fail when members of the training data are told from other people."""
    found, artifact = examination.membership, examination.artifact
    if found is None:
        return not_found_out(examination, examination.not_membership)
    outcome = combined(list(_outcomes(found, thresholds)))
    if artifact.n_trees is not None:
        seeds = "; without its seeds (python -m pytest_draft harden) it tells less" * found.draws_known
        outcome = replace(outcome, remedy=f"{smaller(artifact)}, and judge the new file{seeds}")
    return unless_doubted(outcome, found.doubts)


def _outcomes(found: Membership, thresholds: Thresholds) -> Iterator[Outcome]:
    """Judge those whose row nobody shares, if there are others: rows that many have are likelier in any data."""
    part, who = found.unique or found.everyone, "members" + " whose row nobody shares" * (found.unique is not None)
    beside = f"{found.strangers:,} rows {found.others}"
    for key, figure, chance, shown in (
        ("max_found_share", part.found, 0.01, f"of the {who} {{:.0%}} score higher than 99 % of others ({beside})"),
        ("max_auc", part.auc, 0.5, f"of pairs of {who} and others, the member scores higher in {{:.0%}} ({beside})"),
    ):
        if key in thresholds:
            yield _judged(figure, thresholds[key], chance, shown)
    if (share := thresholds.get("max_proved_share")) is not None:
        shown = f"the file proves of {found.proved_in:,} of {found.rows:,} members that they are in the data"
        yield Bar(share, f"limit: {100 * share:g} %", by_proof=True).judge(found.share_in, shown)


def _judged(figure: Estimate | None, limit: float, chance: float, shown: str) -> Outcome:
    """Judge a figure: it fails where it crosses its limit and is surely more than chance."""
    if figure is None:
        return Outcome("inconclusive", f"fewer than {LEAST_STRANGERS[0.01]} other people are known to compare with")
    bar, said = Bar(limit, f"limit: {100 * limit:g} %", base=chance), shown.format(figure.value)
    if bar.crossed_by(figure.value) and figure.low <= chance:
        return Outcome("inconclusive", f"{said}; {bar.said}; that may be chance: give more rows with --draft-holdout")
    return bar.judge(figure.value, said)


RULE = Rule(
    id="membership",
    needs=Examination,
    keys={
        "max_found_share": Key.share(
            "fail when a larger share of the members scores higher than 99 % of other people do"
        ),
        "max_auc": Key.share("fail when a member scores higher than somebody else more often than this"),
        "max_proved_share": Key.share(
            "fail when the file proves of a larger share of the members that they are in the data"
        ),
    },
    check=check,
    attacker="somebody who knows a person's whole row",
    unless=(NotApplicable.NO_LABELS, NotApplicable.NOISE),
    rationale=(
        "That somebody is in the data can be the secret: a list of patients, of debtors, of people who were arrested. "
        "With the stored seeds it can be asked whether a row can stand anywhere among the training rows; without "
        "them, the leaves and answers of a member look different from those of others. What counts is how many are "
        "found while hardly anybody else is taken for one (Carlini et al., Membership Inference Attacks From First "
        "Principles, S&P 2022)."
    ),
    remedy="retrain with fewer and shorter rules, so that more people share each, and judge the new file",
)
