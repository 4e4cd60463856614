"""Advice on a model: takes a model, its training data and a policy, and returns what to train so that it passes."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_draft.advice import choice, families
from pytest_draft.advice.advice import Advice
from pytest_draft.advice.code import longer_command, release_commands, training_code
from pytest_draft.advice.facts import Say, Score, Setting, silent
from pytest_draft.advice.judging import Gate
from pytest_draft.advice.means import Means
from pytest_draft.advice.owner import Owner, as_given, owner_of
from pytest_draft.advice.scoring import Scorer
from pytest_draft.advice.search import SearchResult, search
from pytest_draft.data.files import IN_MEMORY
from pytest_draft.documents import rules_folder
from pytest_draft.errors import UsageError, known_are, one_line
from pytest_draft.facts.adversary import check_adversary
from pytest_draft.facts.case import Case
from pytest_draft.hardening.level import level_of
from pytest_draft.hardening.model import hardened
from pytest_draft.policy.policy import Policy, default_policy, read_policy
from pytest_draft.policy.remedies import LONGER
from pytest_draft.timebox import TimeBox

__tracebackhide__ = True  # frames here hold rows

FULL_SECONDS = 60.0
"""Time box of the gate, where no other is given."""

_SCORES = 0.2  # of the time, at most, for all scores

Tell = Callable[[float], None]


def advise(
    model: Any,
    data: Any,
    target: str | None = None,
    *,
    metric: str | None = None,
    minutes: float = 15.0,
    policy: str | os.PathLike[str] | None = None,
    level: str = "counts",
    holdout: Any = None,
    domain: str | os.PathLike[str] | None = None,
    adversaries: tuple[str, ...] = (),
    budget: float = FULL_SECONDS,
    memory: int | None = None,
    seed: int = 0,
    say: Say = silent,
    tell: Tell | None = None,
) -> Advice:
    """Look for a setting of a model's forest that predicts well and whose hardened file passes a policy.

    The owner's other parameters, and whatever stands around the forest, stay. Families of settings
    (``max_leaf_nodes``, ``min_samples_leaf``, ``max_depth``, each with fewer trees; a single tree; private forests
    where diffprivlib can be imported) are scored by repeated cross-validation on the same folds and bisected on the
    number of leaves by judging hardened files: the gate itself, on files that are removed again. The first that passes
    is looked for first; a family is left where nothing in it scores better by a standard error. Of the settings that
    pass, the one with the fewest leaves is taken whose score is within one standard error of the best of these; it is
    trained and judged again with three fresh seeds, and where one of these does not pass, the next stricter one is
    taken. Ctrl-C ends the search with what was found out by then.

    Parameters
    ----------
    model : path-like or estimator
        A file is loaded by joblib, which runs what is in it: give only a file of your own.
    data : path-like, pandas.DataFrame or tuple (X, y)
        All rows that the model was trained on, as the model takes them.
    target : str, optional
        Name of the label column.
    metric : str, optional
        Name of a scorer of scikit-learn; ``roc_auc``, ``roc_auc_ovr`` or ``r2`` by the kind of the model.
    minutes : float
        For the whole search, which ends earlier where nothing better is in sight. What is being judged is finished.
    policy : path-like, optional
        A policy's file, or the name of a shipped one; the default policy.
    level : str
        Of hardening: ``seeds``, ``counts``, ``decimals:N`` or ``labels``.
    holdout : path-like, pandas.DataFrame or tuple (X, y), optional
        Rows that were not trained on, for the test score, which chooses nothing. Without them a quarter of the rows is
        set aside for it; the judged models are trained on all rows.
    domain : path-like, optional
        TOML file that declares each column's domain.
    adversaries : tuple of str
        Added to the policy's.
    budget : float
        Time box in seconds of each judgement, as the gate has it.
    memory : int, optional
        Most memory, in MB, for the process that examines.
    seed : int
        Of folds, of the models of the sweep and of the attack. The released model's is drawn by the operating system.
    say : callable, optional
        Gets what is being done, and the share of the time that is behind.
    tell : callable, optional
        Gets the seconds that a judgement has taken by now.

    Returns
    -------
    Advice
        With ``pick``, ``code``, ``model`` and ``commands`` where a setting was found; ``print`` shows the table,
        ``html()`` and ``document()`` return the page and plain values.

    Raises
    ------
    UsageError, PolicyError, DataError, ArtifactError
        In one line, before any work.
    """
    since = time.monotonic()
    _check(minutes, budget, seed, memory)
    chosen, wanted = _policy(policy, adversaries), str(level_of(level))
    owner = owner_of(model, data, target)
    scorer = Scorer(owner, metric, seed, None if holdout is None else as_given(owner, holdout, target))
    case = _case(owner, domain, memory, chosen)
    timebox = TimeBox(60 * minutes, clock=time.monotonic, start=since)
    own, tests = families.own(owner), dict[Setting, Score]()
    found = SearchResult()
    in_memory = data if owner.data.source == IN_MEMORY else None

    def harden(fitted: Any) -> Any:
        return hardened(fitted, wanted, owner.features)[0]

    with Gate(chosen, case, harden, in_memory) as gate:
        means = Means(owner, scorer, gate, seed, tell)
        try:
            say(f"training the {owner.holds} as it is", 0.0)
            lines = families.lines(owner, means.model(own))
            scorer.fit_within(_SCORES * timebox.seconds, own, sum(map(len, lines)))
            found = search(own, lines, means, timebox, budget, say)
            if not found.interrupted:
                say("scoring on rows that chose nothing", None)
                tests = _tests(scorer, found, own)
        except KeyboardInterrupt:
            found.finished, found.interrupted = False, True
        notes = [*owner.notes, *(f"rule {rule} is left out: no new file can pass it" for rule in gate.left_out)]
    pick, random_state, trained, released = found.pick, None, None, None
    if pick is not None:
        random_state, trained = means.fresh[pick][0]
        released = trained if pick.kind == "private" else harden(trained)
        if pick.kind == "private":
            notes.append("a private forest draws its noise anew whenever it is trained: judge the file you release")
    longer, times = None, _longer(found)
    if times is not None and (holdout is None or isinstance(holdout, (str, os.PathLike))):
        given: dict[str, object] = {"metric": metric, "policy": policy, "level": None if wanted == "counts" else wanted}
        given |= {"holdout": holdout, "domain": domain, "memory": memory, "seed": seed or None}
        given |= {"budget": f"{times * budget:g}", "minutes": f"{max(2, times) * minutes:g}"}
        options = {name: str(value) for name, value in given.items() if value is not None}
        longer = longer_command(owner, options, adversaries)
    tried = sorted(found.tried.values(), key=lambda one: (-(one.leaves or 0), one.setting.name))
    return Advice(
        holds=owner.holds,
        source=owner.source,
        sha256=owner.sha256,
        data=None if in_memory is not None else owner.data.source,
        data_sha256=owner.data.sha256,
        target=owner.target,
        n_rows=len(owner.labels),
        metric=scorer.metric,
        policy=chosen.name,
        level=wanted,
        seed=seed,
        minutes=minutes,
        seconds=time.monotonic() - since,
        budget=budget,
        settings=tuple(tried),
        own=own,
        pick=pick,
        candidate=found.candidate,
        finished=found.finished,
        interrupted=found.interrupted,
        tests=tests,
        tested_on=scorer.tested_on,
        random_state=random_state,
        code=None if pick is None or random_state is None else training_code(owner, pick, random_state),
        public_code=None if pick is None else training_code(owner, pick, None),
        commands=()
        if pick is None
        else release_commands(owner, pick, wanted, None if policy is None else os.fspath(policy)),
        longer=longer,
        notes=tuple(notes),
        model=trained,
        released=released,
    )


def _check(minutes: float, budget: float, seed: int, memory: int | None) -> None:
    for name, value in (("minutes", minutes), ("budget", budget)):
        if not 0 < value < math.inf:
            raise UsageError(f"--{name}: more than 0, not {value:g}")
    if 60 * minutes < budget:
        raise UsageError(f"--minutes: {minutes:g} is less than one judgement may take (--budget {budget:g} seconds)")
    if seed < 0:
        raise UsageError(f"--seed: at least 0, not {seed}")
    if memory is not None and memory < 1:
        raise UsageError(f"--memory: at least 1 MB, not {memory}")


def _policy(given: str | os.PathLike[str] | None, adversaries: tuple[str, ...]) -> Policy:
    """Return the policy of a file, or a shipped one by its name, with more adversaries."""
    policy = default_policy()
    if given is not None:
        path = Path(given)
        shipped = {one.stem: one for one in sorted(rules_folder().glob("*.toml"))}
        if not path.is_file():
            name = os.fspath(given)
            if name not in shipped:
                raise UsageError(
                    f"--policy: there is no file {one_line(name)!r}, and no shipped policy of that name; "
                    f"{known_are(name, shipped)}"
                )
            path = shipped[name]
        policy = read_policy(path)
    for name in adversaries:
        check_adversary(name)
    if not adversaries:
        return policy
    asked = (*policy.adversaries, *adversaries) if policy.explicit else adversaries
    return replace(policy, adversaries=tuple(dict.fromkeys(asked)))


def _case(owner: Owner, domain: str | os.PathLike[str] | None, memory: int | None, policy: Policy) -> Case:
    """Return the case of a file, as the gate makes it."""
    if domain is not None and not Path(domain).is_file():
        raise UsageError(f"--domain: there is no file {one_line(os.fspath(domain))!r}")
    return Case(
        artifact="model.joblib",
        data=None if owner.data.source == IN_MEMORY else owner.data.source,
        target=None if owner.data.source == IN_MEMORY and owner.data.targets is not None else owner.target,
        domain=None if domain is None else os.fspath(domain),
        memory=memory,
        slices=policy.slices,
        by_class=policy.by_class,
        domain_sha256=policy.domain_sha256,
    )


def _tests(scorer: Scorer, result: SearchResult, own: Setting) -> dict[Setting, Score]:
    """Return scores on rows that chose nothing: of the owner's setting, the best score's, and the pick."""
    leading = choice.best(result.tried.values())
    asked = [own, result.pick or result.candidate, None if leading is None else leading.setting]
    tests = {}
    for setting in dict.fromkeys(one for one in asked if one is not None):
        score = scorer.tested(setting)
        if score is not None:
            tests[setting] = score
    return tests


def _longer(result: SearchResult) -> int | None:
    """Return how many times as long judgements should be in another search; None where that is not needed."""
    if result.pick is not None:
        return None
    if result.candidate is not None or result.interrupted:
        return 1
    verdicts = [one.hardened.verdict for one in result.tried.values() if one.hardened is not None]
    if "inconclusive" in verdicts:
        return LONGER
    return None if result.finished else 1
