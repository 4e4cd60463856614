"""The search through lines of settings: returns all that were tried, and the one to release.

The leak falls with the number of leaves. So the first setting that passes is looked for by bisection over the leaves of
all settings; then each line is bisected, from where the bar was met in the others, as long as something in it may score
better than what passes. The pick is judged again with fresh seeds; where one of these judgements does not pass, the
best of what is left is taken. Whatever ends the search early, what was found out by then stands.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Protocol

from pytest_draft.advice.choice import best, pick, presumed
from pytest_draft.advice.facts import Judgement, Line, Say, Score, Setting, Tried, silent
from pytest_draft.timebox import TimeBox

FRESH = 3
"""Judgements of a pick with other seeds, all of which have to pass."""

_SCORES = 0.25  # of the time, for scores before anything is swept
_LAST = 0.45  # of the time, at most, that is kept for the last judgements
_BEGUN = 0.5  # of a judgement's time box: where less time is left, none is begun
_EARLY = 0.6  # of its box: a judgement that has ended before was not ended by it
_SLOWER = 1.25  # than the slowest of the last judgements, another one at most, as far as can be known
_STRIDE = 3.0  # from the fewest leaves that do not pass to where the bar is looked for, where nothing passes yet
_PER_LINE = 2.5  # judgements, about, for the estimate of what is left


class SettingJudge(Protocol):
    """What scores and judges settings."""

    def leaves(self, setting: Setting) -> int:
        """Return about how many leaves a setting has in all trees."""

    def score(self, setting: Setting) -> Score:
        """Return the cross-validated score."""

    def judge(self, setting: Setting, seconds: float) -> Judgement:
        """Judge a file of the sweep."""

    def judge_fresh(self, setting: Setting, seconds: float, number: int) -> Judgement:
        """Judge a hardened file of a model that was trained with another seed, by an attack with another seed."""


@dataclass
class SearchResult:
    """What a search has found out by now."""

    tried: dict[Setting, Tried] = field(default_factory=dict)
    pick: Setting | None = None
    """Confirmed by all fresh judgements; None where none is."""
    candidate: Setting | None = None
    """Without a pick, the setting that passed by now and is to be judged with fresh seeds next."""
    finished: bool = True
    """Whether nothing was left out for want of time."""
    interrupted: bool = False
    """Whether somebody has stopped it."""
    judgements: int = 0


def search(
    own: Setting,
    lines: list[Line],
    means: SettingJudge,
    timebox: TimeBox,
    seconds: float,
    say: Say = silent,
) -> SearchResult:
    """Search for the setting to release.

    Parameters
    ----------
    own : Setting
        The owner's.
    lines : list of tuple of Setting
        Of settings with ever fewer leaves.
    timebox : TimeBox
        For the whole search.
    seconds : float
        Time box of a judgement: the gate's. One that has begun is finished, up to half of it later than `timebox`.
    say : callable
        Gets what is being done.

    Returns
    -------
    SearchResult
        Also after a `KeyboardInterrupt`, with what was found out before it.
    """
    running = _Bisection(own, lines, means, timebox, seconds, say)
    try:
        running.run()
    except KeyboardInterrupt:
        running.found.finished, running.found.interrupted = False, True
    found = running.found
    if found.pick is None:
        passed = {setting: one for setting, one in found.tried.items() if one.passed}
        chosen = pick(lines, passed, running.out)
        found.candidate = None if chosen is None else chosen.setting
    return found


class _Bisection:
    """One search that is running."""

    def __init__(
        self,
        own: Setting,
        lines: list[Line],
        means: SettingJudge,
        timebox: TimeBox,
        seconds: float,
        say: Say,
    ) -> None:
        self.found = SearchResult()
        self._own, self._lines, self._means, self._box = own, lines, means, timebox
        self._seconds, self._say = seconds, say
        self._keeps = True
        self.out: set[Setting] = set()
        self._spent: list[float] = []
        self._lines_left = len(lines)

    def run(self) -> None:
        """Look for what passes, then for what passes and scores best, and settle on it."""
        self._score(self._own)
        self._judge(self._own)
        self._find_passing()
        self._score_first()
        self._sweep()
        if not any(one.passed for one in self.found.tried.values()):
            self._keeps = False  # there is nothing yet to keep time for
            self._sweep()
        self._score_passing()
        self._settle()
        if not self.found.finished and self.found.pick is not None:
            self._keeps = True  # of the time that was kept some is left, and how much is needed is known now
            self._sweep()
            self._score_passing()
            self._settle()

    # --- what is known

    def _known(self, setting: Setting) -> Tried:
        return self.found.tried.setdefault(setting, Tried(setting))

    def _note(self, setting: Setting, **known: object) -> Tried:
        self.found.tried[setting] = one = replace(self._known(setting), **known)  # type: ignore[arg-type]
        return one

    def _leaves(self, setting: Setting) -> int:
        known = self._known(setting).leaves
        if known is None:
            known = self._means.leaves(setting)
            self._note(setting, leaves=known)
        return known

    def _promise(self, line: Line) -> float:
        """Return the best score of a line."""
        scores = [self._known(setting).score for setting in line]
        return max((score.mean for score in scores if score is not None), default=-math.inf)

    # --- scores

    def _score(self, setting: Setting) -> None:
        if self._known(setting).score is None:
            self._say(f"scoring {setting.name}", self._share)
            score = self._means.score(setting)
            self._note(setting, score=score, leaves=self._leaves(setting))

    def _score_first(self) -> None:
        """Score settings of all lines, those in the middle first, while the share of the time for scores lasts."""
        orders = [_middle_first(len(line)) for line in self._lines]
        until = self._box.elapsed + _SCORES * self._box.seconds
        for rank in range(max(map(len, orders), default=0)):
            for line, order in zip(self._lines, orders, strict=True):
                if rank < len(order) and not self._is_too_large(line, order[rank]):
                    if self._box.elapsed >= until:
                        return
                    self._score(line[order[rank]])

    def _is_too_large(self, line: Line, at: int) -> bool:
        """Return whether a setting with fewer leaves in its line did not pass."""
        judged = [self._known(setting).hardened for setting in line[at:]]
        return any(one is not None and one.verdict != "passed" for one in judged)

    def _score_passing(self) -> None:
        """Score all that pass or stand behind what passes, while there is time."""
        for setting in [*self.found.tried, *presumed(self._lines, self.found.tried)]:
            if self._box.remaining <= self._kept:
                return
            if self._known(setting).passed or setting in presumed(self._lines, self.found.tried):
                self._score(setting)

    # --- judgements

    def _find_passing(self) -> None:
        """Bisect on the leaves of all settings until one passes, or the one with the fewest leaves does not."""
        settings = {setting for line in self._lines for setting in line if setting.kind != "private"}
        while not any(one.passed for one in self.found.tried.values()):
            not_passed = [one.leaves or 0 for one in self.found.tried.values() if one.hardened is not None]
            most = min(not_passed, default=math.inf)
            left = {setting: self._leaves(setting) for setting in settings if self._leaves(setting) < most}
            if not left:
                return
            middle = math.sqrt(min(left.values()) * min(most, max(left.values())))
            nearest = min(left, key=lambda one: (abs(math.log(left[one] / middle)), one.trees, one.name))
            if self._judge(nearest) is None:
                return
            self._score(nearest)

    def _sweep(self) -> None:
        """Bisect all lines, those with the best scores first."""
        self.found.finished = True
        self._lines_left = len(self._lines)
        for line in sorted(self._lines, key=self._promise, reverse=True):
            self._bisect(line)
            self._lines_left -= 1

    @property
    def _share(self) -> float:
        return min(1.0, self._box.elapsed / self._box.seconds)

    @property
    def _kept(self) -> float:
        """Return the seconds that are kept for the last judgements, by how long passes have taken by now."""
        if not self._keeps:
            return 0.0
        return min(FRESH * self._last, _LAST * self._box.seconds)

    @property
    def _last(self) -> float:
        """Return the seconds that a last judgement is expected to take, by how long others have taken by now."""
        fresh = [judged.seconds for one in self.found.tried.values() for judged in one.fresh]
        if fresh:
            return min(self._seconds, _SLOWER * max(fresh))
        passes = [one.hardened for one in self.found.tried.values() if one.passed and one.hardened is not None]
        if passes and all(one.seconds < _EARLY * one.box for one in passes):
            return min(self._seconds, 2 * max(one.seconds for one in passes))
        return self._seconds

    def _about_left(self) -> str:
        mean = sum(self._spent) / len(self._spent) if self._spent else self._seconds
        left = min(self._box.remaining, mean * _PER_LINE * self._lines_left + self._kept)
        return f"about {max(1, round(left / 60))} min left"

    def _judge(self, setting: Setting) -> Judgement | None:
        """Judge a setting in the sweep; None where there is no time."""
        known = self._known(setting).hardened
        if known is not None:
            return known
        if not self._has_time(self._kept):
            self.found.finished = False
            return None
        count = f"judgement {self.found.judgements + 1}; {self._about_left()}"
        self._say(f"judging {setting.name} ({count})", self._share)
        judged = self._means.judge(setting, self._seconds)
        self._count(judged)
        self._note(setting, leaves=judged.leaves, hardened=judged)
        return judged

    def _has_time(self, kept: float) -> bool:
        """Return whether a judgement can begin, besides what is kept."""
        return self._box.remaining - kept >= _BEGUN * self._seconds

    def _count(self, judged: Judgement) -> None:
        self.found.judgements += 1
        self._spent.append(judged.seconds)

    def _bisect(self, line: Line) -> None:
        """Judge settings of a line until two neighbours are known of which only the one with fewer leaves passes."""
        last_not, first_passed, probes = -1, len(line), 0
        for index, setting in enumerate(line):  # judged in another line
            known = self._known(setting)
            if known.hardened is not None and not known.passed:
                last_not = index
        while self._may_gain(line[last_not + 1 : first_passed]):
            at = self._probe(line, last_not, first_passed, probes)
            judged = self._judge(line[at])
            if judged is None:
                return
            probes += 1
            if judged.verdict == "passed":
                first_passed = at
            else:
                last_not = at
        for at in (first_passed - 1, first_passed):
            if 0 <= at < len(line) and self._box.remaining > self._kept:
                self._score(line[at])

    def _may_gain(self, settings: Line) -> bool:
        """Return whether one of some settings may score better, by more than a standard error, than what passes."""
        leading = best([one for one in self.found.tried.values() if one.passed and one.setting not in self.out])
        if leading is None or leading.score is None:
            return bool(settings)
        bar = leading.score.mean + leading.score.error
        scores = [self._known(setting).score for setting in settings]
        return any(score is None or score.mean > bar for score in scores)

    def _probe(self, line: Line, last_not: int, first_passed: int, probes: int) -> int:
        """Return which setting to judge next: near the bar as other lines have it at first, then the middle."""
        inside = range(last_not + 1, first_passed)
        bar = self._bar()
        if bar is None or probes >= 2:
            return inside[len(inside) // 2]
        return min(inside, key=lambda at: abs(math.log(max(1, self._leaves(line[at])) / bar)))

    def _bar(self) -> float | None:
        """Return about how many leaves pass, by all that was judged; None where nothing was."""
        judged = [one for one in self.found.tried.values() if one.hardened is not None and one.leaves]
        most = max((one.leaves or 0 for one in judged if one.passed), default=None)
        least = min((one.leaves or 0 for one in judged if not one.passed), default=None)
        if most is None:
            return None if least is None else least / _STRIDE
        return math.sqrt(most * least) if least is not None else _STRIDE * most

    # --- the pick

    def _settle(self) -> None:
        """Judge the pick with fresh seeds, and the next one where it does not pass."""
        self._keeps = False
        while (chosen := pick(self._lines, self.found.tried, self.out)) is not None:
            setting = chosen.setting
            if chosen.hardened is None:
                if self._judge(setting) is None:
                    return
                continue
            while len(self._known(setting).fresh) < FRESH:
                number = len(self._known(setting).fresh)
                if not self._has_time(0.0):
                    self.found.finished = False
                    return
                self._say(f"judging {setting.name} again, with fresh seeds ({number + 1} of {FRESH})", self._share)
                judged = self._means.judge_fresh(setting, self._seconds, number)
                self._count(judged)
                self._note(setting, fresh=(*self._known(setting).fresh, judged))
                if judged.verdict != "passed":
                    break
            else:
                self.found.pick = setting
                return
            self._leave_out(setting)
            self._keeps = True
            self._sweep()
            self._score_passing()
            self._keeps = False

    def _leave_out(self, setting: Setting) -> None:
        """Take no setting any more that did not pass with fresh seeds, nor what has more leaves in its line."""
        for line in self._lines:
            if setting in line:
                self.out.update(line[: line.index(setting) + 1])


def _middle_first(length: int) -> list[int]:
    """Return positions so that each prefix is spread over all of them."""
    order, parts = [], [(0, length)]
    while parts:
        first, end = parts.pop(0)
        if first < end:
            middle = (first + end) // 2
            order.append(middle)
            parts += [(first, middle), (middle + 1, end)]
    return order
