"""Rule ``verbatim-data``: whether training rows, columns or rare values stand in the file as they are."""

from __future__ import annotations

from pytest_draft.facts.contents import (
    ALONE,
    CLASSES,
    COLUMN_NAMES,
    SPLIT_POINTS,
    Copy,
    Rarest,
    SingleValues,
    StoredFacts,
)
from pytest_draft.facts.files import ArtifactFacts
from pytest_draft.policy.bar import Bar
from pytest_draft.policy.rule import Key, NotApplicable, Outcome, Rule, Thresholds, combined

_MOST_SHOWN = 3  # copies or doubts that a sentence names; of other copies it tells how many there are


def check(artifact: ArtifactFacts, thresholds: Thresholds) -> Outcome:
    """Fail when an array holds training data, or the file names a value that too few rows have."""
    found = artifact.contents
    if found is None:
        return Outcome("inconclusive", "the file was not compared with the training data")
    outcomes = [_judge_copies(found)]
    if found.single_values is not None:
        outcomes.append(
            _judge_single_values(found.single_values, float(thresholds["max_single_values_beyond_split_half"]))
        )
    if found.rarest:
        outcomes.append(_judge_categories(found.rarest, int(thresholds["min_rows_of_a_category"])))
    return combined(outcomes)


def _judge_copies(stored: StoredFacts) -> Outcome:
    if stored.copies:
        named = "; ".join(_shown(copy) for copy in stored.copies[:_MOST_SHOWN])
        more = f"; and {len(stored.copies) - _MOST_SHOWN:,} more" if len(stored.copies) > _MOST_SHOWN else ""
        return Outcome("failed", f"the file holds training data: {named}{more}", _without(stored.copies))
    if (why := stored.why_not_judged) is not None:
        return Outcome("inconclusive", why)
    if stored.doubts:
        return Outcome("inconclusive", "; ".join(stored.doubts[:_MOST_SHOWN]))
    if not stored.arrays:
        return Outcome("passed", "the file holds no array or list besides what its trees and encoders need")
    which = (
        "the only other array or list"
        if stored.arrays == 1
        else f"none of the {stored.arrays:,} other arrays and lists"
    )
    none = "does not hold" if stored.arrays == 1 else "holds"
    return Outcome("passed", f"{which} in the file {none} training rows or columns")


def _without(copies: tuple[Copy, ...]) -> str:
    """Say what to do about just these copies."""
    said = ", ".join(copy.path for copy in copies[:_MOST_SHOWN])
    said += f" and {len(copies) - _MOST_SHOWN:,} more" if len(copies) > _MOST_SHOWN else ""
    neighbours = any(copy.path.rpartition(".")[2] == "_fit_X" for copy in copies)
    instead = " (a search for neighbours keeps what it was fitted on: replace it)" if neighbours else ""
    if any(copy.nearly for copy in copies):
        instead += " (or with fewer components, which are of many rows each)"
    return f"train or save the model without {said}{instead}, and judge the new file"


def _shown(copy: Copy) -> str:
    parts = [f"{copy.rows:,} training row{'s' * (copy.rows != 1)}"] if copy.rows else []
    parts += [f"{copy.columns:,} training column{'s' * (copy.columns != 1)}"] if copy.columns else []
    nearly = " but for a factor of each or some noise" if copy.nearly else ""
    return f"{copy.path} ({' x '.join(f'{n:,}' for n in copy.shape)}) holds {' and '.join(parts)}{nearly}"


def _judge_single_values(met: SingleValues, most: float) -> Outcome:
    """Hold the values of single people that stand in the file against the share of them that may."""
    where = f"exactly or as quantiles ({', '.join(met.places)})"
    remedy = "use fewer quantiles or bins, or a scaler that keeps means and deviations only, and judge the new file"
    if met.places[0].startswith(SPLIT_POINTS):
        named = [place.removeprefix(SPLIT_POINTS) for place in met.places if place.startswith(SPLIT_POINTS)]
        where = f"as split points (most: {', '.join(named)})"
        remedy = "train with fewer bins (max_bin=16) or fewer trees, and judge the new file"
    shown = (
        f"{met.share:.0%} of the numbers that single people have stand in the file {where}; by chance: {met.others:.0%}"
    )
    at = met.others + most * (1 - met.others)
    return Bar(at, f"limit: {at:.1%}", base=met.others).judge(met.share, shown, remedy=remedy)


_GROUPED = (
    "group rare values before fitting (an encoder's min_frequency does not remove their names), and judge the new file"
)
_INSTEAD = {
    COLUMN_NAMES: "group rare values before they become columns, or fit without names (X.to_numpy()), and judge the "
    "new file",
    CLASSES: "group rare classes, or number the classes from 0 on before fitting, and judge the new file",
}


def _judge_categories(rarest: tuple[Rarest, ...], least: int) -> Outcome:
    """Hold the rarest value that the file names against the fewest rows that must have it."""
    asked = f"min_rows_of_a_category asks for at least {least:,}"
    for path, rows in sorted(((r.path, r.at_most) for r in rarest), key=lambda found: found[1]):
        if rows < least:
            few = f"{rows:,} training row{' has' if rows == 1 else 's have'}"
            return Outcome(
                "failed",
                f"{path} holds a value that only {few}; {asked}",
                _INSTEAD.get(path, _GROUPED),
            )
    for possible in rarest:
        if possible.at_least < least:
            return Outcome(
                "inconclusive",
                f"several columns can be the one that {possible.path} was fitted on, and only in some of them as many "
                f"rows have each value as {asked.removesuffix(f' asks for at least {least:,}')} asks for: {ALONE}",
            )
    return Outcome("passed", f"each value that the file names is in enough training rows; {asked}")


RULE = Rule(
    id="verbatim-data",
    needs=ArtifactFacts,
    beside=True,
    keys={
        "min_rows_of_a_category": Key(
            True,
            None,
            max,
            "fail when an encoder, a class or the name of a column tells a value that fewer training rows have",
            default=2,
        ),
        "max_single_values_beyond_split_half": Key.share(
            "fail when the file holds more than this share of people's own numbers to the last digit",
            default=0.1,
        ),
    },
    check=check,
    unless=(NotApplicable.NOT_GIVEN,),
    rationale=(
        "A file with training rows in it is the training data: a KNNImputer keeps the whole matrix that it was fitted "
        "on, a search for neighbours too, and encoders and names of columns tell each value, also the one that one "
        "person has. Personal data in a released file are disclosed whatever the model does (GDPR article 4(1) and "
        "recital 26; singling out, WP 216 of the Article 29 Working Party, section 2.2)."
    ),
    remedy=(
        "replace what keeps its training data (a KNNImputer by a SimpleImputer), group rare values before fitting (an "
        "encoder's min_frequency does not remove their names), or save the forest alone, and judge the new file"
    ),
)
