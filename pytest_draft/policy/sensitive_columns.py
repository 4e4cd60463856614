"""Rule ``sensitive-columns``: of how many people a file may tell a column that the policy names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from pytest_draft.facts.examination import Examination
from pytest_draft.facts.informed import cut_short
from pytest_draft.facts.label_told import Sensitive, lower_end
from pytest_draft.policy.given_all_other_rows import as_known
from pytest_draft.policy.label_told import LEAST_PEOPLE, beyond, counting
from pytest_draft.policy.rule import Key, NotApplicable, Outcome, Rule, Thresholds, combined, unless_doubted

_KNOWN = "other columns and label"


def check(examination: Examination, thresholds: Thresholds) -> Outcome:
    """Fail when a sensitive column is told of more people than could be told without their rows in the file."""
    found = [
        replace(outcome, sentence=f"{one.name}: {outcome.sentence}")
        for one in examination.sensitive
        for outcome in _outcomes(one, examination, thresholds)
    ]
    nothing = "; ".join(examination.reasons) or 'the policy names no such column: add, say, sensitive = ["diagnosis"]'
    return combined(found) if found else Outcome("inconclusive", nothing)


def _outcomes(one: Sensitive, examination: Examination, thresholds: Thresholds) -> Iterator[Outcome]:
    labels, informed = examination.label_told, examination.informed
    if (share := thresholds.get("max_told_share")) is not None and (one.told is None or labels is None):
        yield Outcome(
            "inconclusive", f"it is not known what the file tells of it: {one.not_told or examination.label_not_told}"
        )
    elif share is not None and one.told is not None and labels is not None:
        counts, known = counting(one.told, thresholds["least_difference"]), _KNOWN if one.attributes else "features"
        outcome = beyond(one.told, "it", "the people", labels, share, counts, known)
        yield unless_doubted(outcome, labels.doubts)
    if (share := thresholds.get("max_told_given_others_share")) is None or not one.attributes:
        return
    column = None if informed is None else informed.column(one.attributes)
    if informed is None or column is None:
        why = examination.not_informed or "; ".join(examination.reasons) or "it was not found out"
        yield Outcome("inconclusive", f"what somebody is told of it who knows all other rows is not known: {why}")
        return
    told, missed = (round(of * informed.rows) for of in (column.told, 1 - column.near_without_file))
    failed = (gained := told + missed - informed.rows) >= LEAST_PEOPLE and lower_end(gained, missed) > share
    said = (
        f"the file proves it of {column.told:.1%} of the people to somebody who knows all other rows; without the file "
        f"they guess that of {column.near_without_file:.1%}; limit: {100 * share:g} % of the rest"
    )
    outcome = as_known(examination, informed, Outcome("failed" if failed else "passed", said))
    open_still = examination.not_informed or cut_short(examination.shortfalls)
    yield Outcome("inconclusive", open_still) if outcome.result == "passed" and open_still else outcome


RULE = Rule(
    id="sensitive-columns",
    needs=Examination,
    keys={
        "max_told_share": Key.share(
            "fail when a column is told of a larger share of the people of whom it cannot be told without their rows",
            unless=(NotApplicable.NO_LABELS,),
        ),
        "least_difference": Key.share("max_told_share counts as that of label-told, by this difference", default=0.1),
        "max_told_given_others_share": Key.share(
            "fail when the file proves it, to somebody who knows all other rows, of a larger share of those of whom it "
            "is not guessed without the file",
            unless=(NotApplicable.NOISE, NotApplicable.OTHERS_KNOWN, NotApplicable.FREQUENCIES),
        ),
    },
    check=check,
    attacker=f"somebody who knows a person's {_KNOWN}",
    attack=True,
    rationale=(
        "One column does the harm: a diagnosis, an income, a religion; employers and neighbours know the rest. Each "
        "value that it can have completes the row, and trees that have seen the person answer as they learned it only "
        "for some values, often for one (Fredrikson et al., 2014; Yeom et al., 2018). What the other columns tell of "
        "anybody is no leak, and does not count."
    ),
    remedy=(
        "leave the column out of the model, or retrain with fewer and smaller trees, so that more people share each "
        "leaf, and judge the new file"
    ),
)
