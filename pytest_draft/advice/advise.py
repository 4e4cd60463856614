"""Advice on a model: takes a model, its training data and a policy, and returns what to train so that it passes."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_draft.advice.advice import Advice, Tried
from pytest_draft.advice.judging import Gate, Judgement
from pytest_draft.advice.owner import Owner, as_given, owner_of
from pytest_draft.advice.scoring import Score, Scorer
from pytest_draft.data.files import IN_MEMORY
from pytest_draft.errors import DataError, UsageError, one_line
from pytest_draft.facts.adversary import check_adversary
from pytest_draft.facts.case import Case
from pytest_draft.hardening.model import hardened
from pytest_draft.policy.label_told import RULE as LABEL_TOLD
from pytest_draft.policy.policy import Policy, default_policy, read_policy, shipped_policy
from pytest_draft.policy.starting_settings import Setting
from pytest_draft.timebox import TimeBox

__tracebackhide__ = True  # frames here hold rows

FULL_SECONDS = 60.0
"""Time box of the gate, where no other is given."""

TRIAL_SECONDS = 30.0
"""Time box of a first judgement: what somebody gets who knows all other rows is known by then, and mostly decides."""

Say = Callable[[str, float], None]
"""Gets what is being done, and the share of the time that is behind."""


def advise(
    model: Any,
    data: Any,
    target: str | None = None,
    *,
    metric: str | None = None,
    minutes: float = 10.0,
    policy: str | os.PathLike[str] | None = None,
    holdout: Any = None,
    domain: str | os.PathLike[str] | None = None,
    adversaries: tuple[str, ...] = (),
    budget: float = FULL_SECONDS,
    memory: int | None = None,
    seed: int = 0,
    say: Say | None = None,
) -> Advice:
    """Look for a setting of a model's trees that predicts well and whose file passes a policy.

    The settings of the model's kind (`pytest_draft.policy.starting_settings`) are scored by repeated cross-validation
    on the same folds. Their files are judged by the gate: as they are and, where that can help, hardened. First the
    owner's own setting, then the one to start with and smaller ones until one passes, then those with better scores,
    in short time boxes. What passed with the best score is judged as the gate does, if it was not yet. Ctrl-C ends
    the search with what was found out by then.

    Parameters
    ----------
    model : path-like or estimator
        A file is loaded, which runs what is in it: give only a file of your own.
    data : path-like, pandas.DataFrame or tuple (X, y)
        All rows that the model was trained on, as the model takes them.
    target : str, optional
        Name of the label column.
    metric : str, optional
        Name of a scorer of scikit-learn; ``roc_auc``, ``roc_auc_ovr`` or ``r2`` by the kind of the model.
    minutes : float
        For the whole search, which mostly ends earlier. What is being judged is finished.
    policy, domain : path-like, optional
        Files, or the name of a shipped policy.
    holdout : path-like, pandas.DataFrame or tuple (X, y), optional
        Rows for the test score, which chooses nothing. Without them a quarter of 400 rows or more is set aside for it;
        what is judged is trained on all rows.
    adversaries : tuple of str
        Added to the policy's.
    budget : float
        Time box in seconds of the last judgement, as the gate has it.
    memory : int, optional
        Most memory, in MB, for the process that examines.
    seed : int
        Of folds and of the attack. The models' are drawn anew by the operating system.
    say : callable, optional
        Gets what is being done, and the share of the time that is behind.

    Returns
    -------
    Advice
        With ``pick``, ``model`` and ``file`` where a setting was found; ``print`` shows the table and what to do, and
        ``save`` writes the file.

    Raises
    ------
    UsageError, PolicyError, DataError, ArtifactError
        In one line, before any work.
    """
    since = time.monotonic()
    _check(minutes, budget, seed, memory)
    chosen, owner = _policy(policy, adversaries), owner_of(model, data, target)
    scorer = Scorer(owner, metric, seed, None if holdout is None else as_given(owner, holdout, target))
    asked = [] if policy is None else ["--draft-policy", os.fspath(policy)]
    asked += [] if domain is None else ["--draft-domain", os.fspath(domain)]
    asked += [part for name in adversaries for part in ("--draft-adversary", name)]
    case = _case(owner, domain, memory, seed, chosen)
    timebox = TimeBox(60 * minutes, clock=time.monotonic, start=since)
    with Gate(chosen, case, data if owner.data.source == IN_MEMORY else None) as gate:
        search = _Search(owner, scorer, gate, timebox, budget, say or (lambda *_: None))
        search.run()
        notes = [*owner.notes, *(f"rule {rule} is left out: no new file can pass it" for rule in gate.left_out)]
        pick = search.pick
        tests = None if pick is None or pick.setting is None else _tests(scorer, pick.setting)
        file, fitted = (None, None) if pick is None else search.files[pick.setting, pick.hardened]
        return Advice(
            owner=owner,
            metric=scorer.metric,
            policy=chosen.name,
            asked=tuple(asked),
            tried=search.listed,
            pick=pick,
            tests=tests,
            tested_on=scorer.tested_on,
            seconds=time.monotonic() - since,
            finished=search.finished,
            interrupted=search.interrupted,
            budget=budget,
            notes=tuple(notes),
            file=None if file is None else file.read_bytes(),
            model=fitted,
        )


class _Search:
    """Scores and judges settings until the best one that passes is known, which is then the `pick`."""

    def __init__(self, owner: Owner, scorer: Scorer, gate: Gate, timebox: TimeBox, budget: float, say: Say) -> None:
        self._owner, self._scorer, self._gate, self._timebox = owner, scorer, gate, timebox
        self._budget, self._trial, self._say = budget, min(budget, TRIAL_SECONDS), say
        self._hardens = True
        self._tried: dict[tuple[Setting | None, bool], Tried] = {}
        self._scores: dict[Setting | None, Score] = {}
        # by setting and whether it is hardened, the file in the private folder and its model
        self.files: dict[tuple[Setting | None, bool], tuple[Path, Any]] = {}
        self.pick: Tried | None = None
        self.finished, self.interrupted = True, False

    @property
    def listed(self) -> tuple[Tried, ...]:
        """All settings with a score, the judged files of each."""
        each = [self._of(setting) or [Tried(setting, False, score)] for setting, score in self._scores.items()]
        return tuple(one for judged in each for one in judged)

    def run(self) -> None:
        """Look for the pick; without time left, or stopped by hand, it is what was found by then."""
        settings = self._owner.settings
        at_first = settings.settings[settings.settings.index(settings.start) :]
        try:
            self._score((None, *settings.settings))
            self._passes(None)
            for hardens in (False, True):
                self._best() or any(self._passes(setting, self._budget, hardens) for setting in at_first)
            for setting in sorted(settings.settings, key=lambda one: -self._scores[one].mean):
                best = self._best()
                if best is None or self._scores[setting].mean <= best.score.mean or self._passes(setting):
                    break
            self._confirm()
        except _OutOfTimeError:
            self.finished = False
            self._confirm()
        except KeyboardInterrupt:
            self.finished, self.interrupted = False, True

    def _of(self, setting: Setting | None) -> list[Tried]:
        return [self._tried[key] for key in ((setting, False), (setting, True)) if key in self._tried]

    def _best(self) -> Tried | None:
        """Return what passed with the best score; of equals the first."""
        passed = [one for one in self._tried.values() if one.judgement and one.judgement.verdict == "passed"]
        return max(passed, key=lambda one: one.score.mean, default=None)

    def _score(self, settings: tuple[Setting | None, ...]) -> None:
        for setting in settings:
            self._say(f"scoring {_name(setting)}", self._share)
            self._scores[setting] = self._scorer.cross_validated(setting)

    @property
    def _share(self) -> float:
        return min(1.0, self._timebox.elapsed / self._timebox.seconds)

    def _passes(self, setting: Setting | None, seconds: float | None = None, hardens: bool = True) -> bool:
        """Judge a setting's file and, where that does not pass, the hardened one; return whether one of them does.

        It is the gate's judgement where its seconds are given. Against `label-told` hardening does not help.
        """
        if (setting, False) not in self._tried:
            self._judged(setting, self._owner.fitted(setting), seconds, is_hardened=False)
        judged = self._tried[setting, False].judgement
        asked = hardens and self._hardens and (setting, True) not in self._tried
        if asked and judged is not None and judged.verdict != "passed" and judged.rule != LABEL_TOLD.id:
            try:
                model = hardened(self.files[setting, False][1], "counts", self._owner.features)[0]
            except DataError:
                self._hardens = False
            else:
                self._judged(setting, model, seconds, is_hardened=True)
        return any(one.judgement is not None and one.judgement.verdict == "passed" for one in self._of(setting))

    def _judged(self, setting: Setting | None, model: Any, seconds: float | None, is_hardened: bool) -> None:
        kept = self._trial if self._best() is None else self._budget  # for the last one
        if self._timebox.remaining < kept:
            raise _OutOfTimeError
        path = self._gate.new_path(self._owner.suffix)
        self._owner.write(model, path)
        self.files[setting, is_hardened] = path, model
        tried = Tried(setting, is_hardened, self._scores[setting])
        self._judge(tried, seconds or self._trial, full=seconds is not None)

    def _judge(self, tried: Tried, seconds: float, *, full: bool) -> Judgement:
        self._say(f"judging {_name(tried.setting)}{', hardened' * tried.hardened}", self._share)
        path, _ = self.files[tried.setting, tried.hardened]
        judgement = self._gate.judge(path, seconds, full=full)
        self._tried[tried.setting, tried.hardened] = replace(tried, judgement=judgement, is_full=full)
        return judgement

    def _confirm(self) -> None:
        """Judge what passed with the best score as the gate does, and the next one where that does not pass."""
        while self.pick is None and (best := self._best()) is not None:
            if not best.is_full:
                self._judge(best, self._budget, full=True)
            else:
                self.pick = best


class _OutOfTimeError(Exception):
    """No time is left for another judgement."""


def _name(setting: Setting | None) -> str:
    return "the model as it is" if setting is None else str(setting)


def _check(minutes: float, budget: float, seed: int, memory: int | None) -> None:
    for name, value in (("minutes", minutes), ("budget", budget)):
        if not 0 < value < math.inf:
            raise UsageError(f"--{name}: more than 0, not {value:g}")
    for name, number, fewest in (("seed", seed, 0), ("memory", 1 if memory is None else memory, 1)):
        if number < fewest:
            raise UsageError(f"--{name}: at least {fewest}, not {number}")


def _policy(given: str | os.PathLike[str] | None, adversaries: tuple[str, ...]) -> Policy:
    """Return the policy of a file, or a shipped one by its name, with more adversaries."""
    policy = default_policy()
    if given is not None:
        policy = read_policy(Path(given) if Path(given).is_file() else shipped_policy(os.fspath(given)))
    for name in adversaries:
        check_adversary(name)
    if not adversaries:
        return policy
    asked = (*policy.adversaries, *adversaries) if policy.explicit else adversaries
    return replace(policy, adversaries=tuple(dict.fromkeys(asked)))


def _case(owner: Owner, domain: str | os.PathLike[str] | None, memory: int | None, seed: int, policy: Policy) -> Case:
    """Return the case of a file, as the gate makes it."""
    if domain is not None and not Path(domain).is_file():
        raise UsageError(f"--domain: there is no file {one_line(os.fspath(domain))!r}")
    return Case(
        artifact="model.joblib",
        data=None if owner.data.source == IN_MEMORY else owner.data.source,
        target=None if owner.data.source == IN_MEMORY and owner.data.targets is not None else owner.target,
        domain=None if domain is None else os.fspath(domain),
        memory=memory,
        seed=seed,
        slices=policy.slices,
        sensitive=policy.sensitive,
        by_class=policy.by_class,
        domain_sha256=policy.domain_sha256,
        found_rows_bits=policy.found_rows_bits,
    )


def _tests(scorer: Scorer, pick: Setting) -> tuple[Score, Score] | None:
    """Return the scores of the owner's setting and the pick on rows that chose nothing."""
    own, advised = scorer.tested(None), scorer.tested(pick)
    return None if own is None or advised is None else (own, advised)
