"""The wording of advice in every format: its sentences and the cells of its table."""

from __future__ import annotations

import shlex

from pytest_draft.advice.facts import Judgement, Score, Tried
from pytest_draft.advice.recommendation import Recommendation
from pytest_draft.advice.search import FRESH
from pytest_draft.foreign_text import in_shell

HEADINGS = ("Setting", "Leaves", "Score", "Error/limit", "Verdict")
"""Of the table's columns."""

HARDEN_AND_JUDGE = "Harden it, and judge the file that you release:"

SECRET_SEED = (
    "This trains exactly the model that was judged. Keep the seed private: whoever knows it can tell which rows each "
    "tree was trained on. With random_state=None you get another model, which must be judged anew."
)

ANOTHER_MODEL = "This trains another model of this setting whenever it runs: judge the file before you release it."

WIDTH = 79
"""Columns of a terminal, less one."""

_MOST_REASONS = 3


def how_to_read(advice: Recommendation) -> str:
    """Return what the columns of the table mean."""
    return (
        f"Leaves: of all trees; fewer give away less. Score: {advice.metric}, mean of cross-validation ± its standard "
        "error. Error/limit: the attack's error divided by the error at which the check fails. Below 1, the attack "
        "came too close. Above 1, it did not; the verdict is inconclusive where a better attack might."
    )


def headline(advice: Recommendation) -> str:
    """Return the outcome in one sentence."""
    if advice.pick is not None:
        stopped = "" if advice.finished else " Not all settings were judged."
        return f"Train {advice.pick.name}: its hardened file passed {_needed(advice.of(advice.pick))}.{stopped}"
    if advice.candidate is not None:
        known = advice.of(advice.candidate)
        return f"Not finished: {advice.candidate.name} passed {_needed(known)}."
    if not advice.finished:
        return "Not finished: no setting has passed yet."
    return "No setting passed."


def _needed(tried: Tried) -> str:
    made = sum(one is not None for one in (tried.hardened, *tried.fresh))
    return f"{made} of the {1 + FRESH} judgements that it needs, each with another seed"


def tried(advice: Recommendation) -> str:
    """Return how much was tried."""
    state = "stopped by hand" if advice.interrupted else "finished" if advice.finished else "time was out"
    return (
        f"{counted(advice.scored, 'setting')} scored and {counted(advice.judgements, 'file')} judged in "
        f"{advice.seconds / 60:.1f} min ({state}); each judgement may take {advice.budget:g} s. The more settings are "
        "tried, the more the best score is luck."
    )


def counted(number: int, what: str) -> str:
    """Return a number of things."""
    return f"{number:,} {what}{'s' * (number != 1)}"


def cost(advice: Recommendation) -> list[str]:
    """Return what the advised setting costs in scores, beside the owner's and the best one."""
    chosen, own, leading = advice.pick or advice.candidate, advice.of(advice.own), advice.best
    sentences = []
    if own.score is not None and chosen is not None and chosen != advice.own:
        advised = advice.of(chosen).score
        if advised is not None:
            sentences.append(f"{difference(own.score, advised, advice.metric)}.")
        tests = [advice.tests.get(setting) for setting in (advice.own, chosen)]
        shown = [score(one) for one in tests if one is not None]
        if len(shown) == 2:
            sentences.append(f"On {advice.tested_on}: {' -> '.join(shown)}.")
    elif own.score is not None:
        sentences.append(f"Your setting: {advice.metric} {score(own.score)}.")
    if leading is not None and leading.score is not None and leading.setting not in (advice.own, chosen):
        judged = verdict(leading.hardened, *leading.fresh)
        sentences.append(f"The best score of all: {leading.setting.name}, {score(leading.score)} ({judged}).")
    return sentences


def difference(own: Score, advised: Score, metric: str) -> str:
    """Return what one score costs beside another: in points, which are hundredths, where the metric is a share."""
    lost = own.mean - advised.mean
    points = not metric.startswith("neg_")
    size = f"{abs(100 * lost):.1f}" if points else f"{abs(lost):.3g}"
    of = f" points of {metric}" if points else f" of {metric}"
    what = "costs" if lost > 0 else "gains"
    said = f"It costs nothing in {metric}" if float(size) == 0 else f"It {what} {size}{of}"
    within = abs(lost) <= max(own.error, advised.error) and float(size) > 0
    return f"{said} (now -> advised): {score(own)} -> {score(advised)}" + ", which may be chance" * within


def reasons(advice: Recommendation) -> list[str]:
    """Return why settings did not pass, those with the fewest leaves first; nothing where one is advised."""
    if advice.pick is not None:
        return []
    found = []
    for one in sorted(advice.settings, key=lambda one: one.leaves or 0):
        judged = next((judged for judged in (*one.fresh, one.hardened) if judged and judged.verdict != "passed"), None)
        if judged is not None:
            why = judged.why.replace("--draft-budget", "--budget").replace(
                "--draft-seed", "--seed"
            )  # this command's names
            found.append(f"{one.setting.name}: {judged.verdict}. {why}")
    return found[:_MOST_REASONS]


def next_step(advice: Recommendation) -> str:
    """Return what to do where no setting is advised; empty where one is."""
    if advice.pick is not None:
        return ""
    judged = [one.hardened.verdict for one in advice.settings if one.hardened is not None]
    if advice.interrupted:
        said = "You stopped the search; to run it again"
    elif advice.candidate is None and "inconclusive" in judged:
        said = "With more time for each judgement, what is inconclusive may pass or fail"
    elif not advice.finished:
        said = "Give it more time"
    else:
        return "More time does not help. Use fewer columns or more rows, or do not release the file."
    return said + (":" if advice.longer is not None else ".")


def wrapped(command: str) -> list[str]:
    """Return a command on lines that fit a terminal, with backslashes, so that it can be pasted."""
    if "$'" in command:  # a word with escapes, which `shlex` does not know
        return [command]
    lines: list[str] = []
    for word in map(in_shell, ([word] for word in shlex.split(command))):
        if lines and len(lines[-1]) + len(word) + 3 <= WIDTH:
            lines[-1] += f" {word}"
        else:
            lines.append(f"    {word}" if lines else word)
    return [f"{line} \\" for line in lines[:-1]] + lines[-1:]


def shown(advice: Recommendation) -> list[Tried]:
    """Return the settings of the table: those that were judged, and the best score."""
    leading = advice.best
    return [one for one in advice.settings if one.hardened is not None or (leading is not None and one == leading)]


def cells(tried: Tried) -> tuple[str, ...]:
    """Return a setting as cells under `HEADINGS`."""
    return (
        tried.setting.name,
        "" if tried.leaves is None else f"{tried.leaves:,}",
        "not scored" if tried.score is None else score(tried.score),
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
