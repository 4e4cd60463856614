"""Judges trained models: each is written to a private file, judged by the gate, and removed.

It is the gate itself: the file is written, read and attacked in a process of its own, and judged by the policy.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import joblib
from filelock import FileLock

from pytest_draft.advice.facts import Judgement
from pytest_draft.advice.owner import n_leaves
from pytest_draft.errors import DraftError, UsageError
from pytest_draft.facts.adversary import Adversary
from pytest_draft.facts.case import Case
from pytest_draft.facts.examination import Examination
from pytest_draft.isolation import Children
from pytest_draft.policy.enough import Enough
from pytest_draft.policy.policy import Policy
from pytest_draft.policy.rule import CheckResult
from pytest_draft.policy.rules import rule_of
from pytest_draft.policy.verdict import Check, at_least, check_rule, verdict_of
from pytest_draft.report.bounds import error_bar
from pytest_draft.report.result import result_of

_NOT_OF_NEW_FILES = frozenset(("artifact-pinned",))
"""Rules that every file fails which was not there when the policy was written."""

_NOT_OF_SWEEPS = frozenset(("time-box",))
"""Rules on how long a judgement takes: they hold for the last ones, which have boxes of full length."""

Harden = Callable[[Any], Any]
"""Takes a fitted model; returns the one whose file is to be released. It raises a `DraftError` where it cannot."""


_PREFIX, _LOCK = "pytest-draft-advise-", "in-use.lock"


def remove_abandoned() -> None:
    """Remove the folders that killed runs of this user have left: the models in there reveal training data."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):  # it is gone, or in use: `Timeout` is an OSError, too
            status, lock = folder.lstat(), folder / _LOCK
            mine = not hasattr(os, "getuid") or status.st_uid == os.getuid()
            if stat.S_ISDIR(status.st_mode) and mine and lock.is_file():
                with FileLock(lock, timeout=0):  # the system takes it from whoever ends
                    for left in folder.iterdir():
                        if left != lock:
                            left.unlink()
                shutil.rmtree(folder)


class Gate:
    """Judges files that it writes to a private folder. Use it in a ``with`` block.

    Parameters
    ----------
    policy : Policy
    case : Case
        As the files are judged; its artifact, seconds and seed are replaced.
    harden : callable
    data : object, optional
        Training data in memory.

    Attributes
    ----------
    left_out : tuple of str
        Rules of the policy that no new file could pass.
    """

    def __init__(self, policy: Policy, case: Case, harden: Harden, data: object = None) -> None:
        self.left_out = tuple(sorted(_NOT_OF_NEW_FILES & set(policy.rules)))
        self._policy = replace(
            policy,
            rules={rule: keys for rule, keys in policy.rules.items() if rule not in _NOT_OF_NEW_FILES},
            waivers=(),
        )
        if not self._policy.rules:
            raise UsageError(f"the policy {policy.name!r} has no rule that a new file could pass: name another one")
        self._case, self._harden, self._data = case, harden, data
        self._children = Children()
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def __enter__(self) -> Gate:
        remove_abandoned()
        self._folder = tempfile.TemporaryDirectory(prefix=_PREFIX, ignore_cleanup_errors=True)
        self._lock = FileLock(Path(self._folder.name) / _LOCK)
        with suppress(OSError, NotImplementedError):  # a file system without locks
            self._lock.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self._children.close()
        if self._folder is not None:
            self._lock.release()
            self._folder.cleanup()

    def judge(
        self,
        model: Any,
        seconds: float,
        seed: int,
        *,
        hardened: bool,
        full: bool = False,
        listener: Callable[[float], None] | None = None,
    ) -> Judgement:
        """Judge a model's file.

        Parameters
        ----------
        model : estimator
            Trained on all rows.
        seconds : float
            The time box, for each adversary and each model in the file.
        seed : int
            Of the attack.
        hardened : bool
            Whether the file is hardened first.
        full : bool
            Whether rules on the length of the box are judged, too.
        listener : callable, optional
            Gets the seconds spent, a few times a second.

        Returns
        -------
        Judgement
            Inconclusive, with the reason, where the file cannot be hardened or examined.
        """
        assert self._folder is not None
        since = time.monotonic()
        policy = self._policy
        if not full:
            policy = replace(policy, rules={r: keys for r, keys in policy.rules.items() if r not in _NOT_OF_SWEEPS})
        path = Path(self._folder.name) / "model.joblib"
        try:
            joblib.dump(self._harden(model) if hardened else model, path)
            path.chmod(0o600)
            results = self._results(policy, str(path), seconds, seed, since, listener)
        except DraftError as error:
            return Judgement("inconclusive", None, str(error), n_leaves(model), time.monotonic() - since, seconds, seed)
        finally:
            path.unlink(missing_ok=True)
        verdicts: list[tuple[CheckResult, bool]] = []
        ratios: list[float] = []
        reasons: dict[str, str] = {}
        for examination, checks in results:
            verdicts += [(check.result, check.counts) for check in checks]
            for check in checks:
                if check.counts and not check.is_fine:
                    reasons.setdefault(check.rule, check.sentence)
            ratio = _ratio(examination, checks, policy)
            ratios += [] if ratio is None else [ratio]
        return Judgement(
            verdict_of(verdicts),
            min(ratios, default=None),
            _why(reasons),
            n_leaves(model),
            round(time.monotonic() - since, 3),
            seconds,
            seed,
        )

    def _results(
        self,
        policy: Policy,
        path: str,
        seconds: float,
        seed: int,
        since: float,
        listener: Callable[[float], None] | None,
    ) -> list[tuple[Examination, tuple[Check, ...]]]:
        """Examine each model in a file against each adversary, and check every rule, as the gate's items do."""
        known: dict[Case, Examination] = {}

        def examined(case: Case) -> Examination:
            if case not in known:
                said = None if listener is None else lambda _: listener(time.monotonic() - since)
                known[case] = self._children.run(case, self._data, said, enough=Enough(policy))[0]
            return known[case]

        found = []
        for adversary in policy.adversaries:
            file_case = replace(self._case, artifact=path, seconds=seconds, seed=seed, adversary=adversary)
            file_case = replace(file_case, attack=policy.needs_attack)
            places = examined(file_case).artifact.places
            for case in [replace(file_case, place=place) for place in places] or [file_case]:
                examination = examined(case)
                checks = [check_rule(examination, policy, rule) for rule in policy.rules]
                for floor in Adversary.parse(adversary).floors:
                    for index, check in enumerate(checks):
                        if check.result != "failed" and rule_of(check.rule).attack:
                            weaker = examined(replace(case, adversary=floor))
                            checks[index] = at_least(check, check_rule(weaker, policy, check.rule))
                found.append((examination, tuple(checks)))
        return found


def _ratio(examination: Examination, checks: tuple[Check, ...], policy: Policy) -> float | None:
    """Return the attack's error beside the error at which the check fails, as reports show both."""
    if examination.findings is None:
        return None
    bar = error_bar(result_of(examination, checks, policy))
    return examination.findings.error.upper / bar if bar else None


def _why(reasons: dict[str, str]) -> str:
    """Return the rules that did not pass, and what the first of them says."""
    if not reasons:
        return ""
    first = next(iter(reasons.values()))
    return f"{', '.join(reasons)}: {first}"
