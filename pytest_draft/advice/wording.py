"""The wording of advice in every format: its sentences and the cells of its table."""

from __future__ import annotations

from pytest_draft.advice.facts import Judgement, Score, Tried
from pytest_draft.advice.recommendation import Recommendation

HEADINGS = ("Setting", "Leaves", "Score", "Plain file", "Error / limit", "Hardened file")
"""Of the table's columns."""

HOW_TO_READ = (
    "Error / limit: the attack's error on the hardened file beside the error at which the check fails; above 1 it is "
    "not crossed. Leaves: of all trees. Score: mean of the folds and its standard error."
)

SECRET_SEED = (
    "It trains the very model that was judged. Keep the random_state out of what is published: who knows it knows "
    "which rows were drawn for each tree. With None there it trains another model of this setting, to be judged anew."
)

ANOTHER_MODEL = "It trains another model of this setting whenever it is run: judge the file before it is released."


def headline(advice: Recommendation) -> str:
    """Return the outcome in one sentence."""
    if advice.pick is not None:
        stopped = "" if advice.finished else " The search was not finished."
        return f"Train {advice.pick.name}: its hardened file passed, and again with three fresh seeds.{stopped}"
    if advice.candidate is not None:
        return f"Not finished: {advice.candidate.name} passed once, and was not judged with three fresh seeds."
    if not advice.finished:
        return "Not finished: no setting that passes was found by now."
    return "No setting was found whose hardened file passes."


def tried(advice: Recommendation) -> str:
    """Return how much was tried."""
    state = "stopped by hand" if advice.interrupted else "finished" if advice.finished else "not finished: time was out"
    return (
        f"{advice.scored:,} settings were scored and {advice.judgements:,} files judged in "
        f"{advice.seconds / 60:.1f} min ({state}). The more settings are tried, the more the best score owes to chance."
    )


def cost(advice: Recommendation) -> list[str]:
    """Return what the pick costs in scores, beside the best setting whatever it gives away, and the owner's."""
    leading, chosen = advice.best, advice.pick or advice.candidate
    if leading is None or leading.score is None:
        return []
    named = [("Now", advice.own), ("The best score of all", leading.setting)]
    if chosen is not None:
        named.insert(0, ("The pick" if advice.pick else "The best so far that passed", chosen))
    sentences = []
    for what, setting in named:
        known = advice.of(setting)
        if known.score is None:
            continue
        tested = advice.tests.get(setting)
        more = "" if tested is None else f"; test score {score(tested)}"
        sentences.append(f"{what}: {setting.name}, {advice.metric} {score(known.score)}{more}.")
    if advice.tested_on and advice.tests:
        sentences.append(f"Test scores are of {advice.tested_on}.")
    return sentences


def shown(advice: Recommendation) -> list[Tried]:
    """Return the settings of the table: those that were judged, and the best score."""
    leading = advice.best
    return [
        one
        for one in advice.settings
        if one.hardened is not None or one.plain is not None or (leading is not None and one == leading)
    ]


def cells(tried: Tried) -> tuple[str, ...]:
    """Return a setting as cells under `HEADINGS`."""
    return (
        tried.setting.name,
        "" if tried.leaves is None else f"{tried.leaves:,}",
        "not scored" if tried.score is None else score(tried.score),
        verdict(tried.plain),
        ratio(tried.hardened),
        verdict(tried.hardened, *tried.fresh),
    )


def score(found: Score) -> str:
    """Return a score with its standard error."""
    return f"{found.mean:.3f} ± {found.error:.3f}"


def ratio(judged: Judgement | None) -> str:
    """Return the error over the limit."""
    if judged is None or judged.error_over_limit is None:
        return ""
    return f"{judged.error_over_limit:.2f}"


def verdict(*judged: Judgement | None) -> str:
    """Return the verdict of one or more judgements of a setting."""
    made = [one.verdict for one in judged if one is not None]
    if not made:
        return "not judged"
    if len(made) == 1:
        return made[0]
    if set(made) == {"passed"}:
        return f"passed {len(made)} times"
    return ", ".join(f"{made.count(one)} {one}" for one in dict.fromkeys(made))
