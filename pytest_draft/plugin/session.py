"""What one pytest process knows of its judgements: settings, policy, and each examination once."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_draft.errors import PolicyError, UsageError
from pytest_draft.facts.adversary import Adversary, check_adversary
from pytest_draft.facts.case import Beside, Case
from pytest_draft.facts.examination import Examination, unexamined
from pytest_draft.foreign_text import address, distinct, harmless, harmless_values, of_path
from pytest_draft.isolation import children
from pytest_draft.plugin.cache import Cache
from pytest_draft.plugin.models import Configured, Models
from pytest_draft.plugin.settings import Settings, in_harmless_words, resolve
from pytest_draft.plugin.sharing import Shared, Stamps, stamps
from pytest_draft.plugin.terminal_progress import shown
from pytest_draft.plugin.unshown import Unshown, unshown
from pytest_draft.policy.enough import Enough
from pytest_draft.policy.policy import Policy
from pytest_draft.policy.rule import NowAndEarlier
from pytest_draft.policy.verdict import Check, judge
from pytest_draft.report.earlier_report import Earlier, read_earlier
from pytest_draft.report.ledger import Ledger, read_ledger
from pytest_draft.report.matched import matched
from pytest_draft.report.result import Result, result_of

if TYPE_CHECKING:
    from pytest_draft.cluster.controller import Cluster
    from pytest_draft.facts.reconstruction import Reconstruction

SESSION = pytest.StashKey["GateSession"]()

MOST_REBUILT = 64
"""Reconstructions that a process keeps for whoever asks for them again: each is as large as its training data."""


@dataclass(frozen=True)
class Planned:
    """One check of the models' own items."""

    artifact: str
    """Path of the model file."""
    rule: str
    adversary: str

    def __str__(self) -> str:
        return f"{self.artifact}::{distinct(f'{self.rule}[{self.adversary}]')}"


class GateSession:
    """Settings, policy and memo of one pytest process; raises `pytest.UsageError` for whatever is wrong in these."""

    def __init__(self, config: pytest.Config) -> None:
        self.settings: Settings = resolve(config)
        self._config = config
        config.add_cleanup(children.close)
        self.root = config.rootpath
        self.demo_folder = next(iter(self.settings.models)).parent if config.option.draft_demo else None
        self._shared = Shared.of(config)
        self.cluster: Cluster | None = None
        self._memo: dict[tuple[Case, Stamps, int | None, int | None], tuple[Examination, Reconstruction | None]] = {}
        self._in_memory: dict[int, object] = {}
        self._hooked: dict[Path, object] = {}
        self._returned: dict[str, object] = {}
        self._aggregates: dict[tuple[Case, Stamps], Examination] = {}
        self.explained: dict[str, str] = {}  # why checks are inconclusive, and the first item that said so
        try:
            self.models = Models.of(self.settings)
            self.earlier: Earlier | None = read_earlier(self.settings.compare) if self.settings.compare else None
            at, head, new = self.settings.ledger, self.settings.ledger_head, self.settings.record
            self.ledger: Ledger | None = read_ledger(at, head, new=new) if at else None
            for name in self.settings.adversaries:
                check_adversary(name)
        except (PolicyError, UsageError) as error:
            raise pytest.UsageError(str(error)) from None

    @classmethod
    def of(cls, config: pytest.Config) -> GateSession:
        """Return the session of a config, made when it is first needed."""
        if SESSION not in config.stash:
            with in_harmless_words():
                config.stash[SESSION] = cls(config)
        return config.stash[SESSION]

    @property
    def policy(self) -> Policy:
        """The policy of the run: of whatever model file has none of its own."""
        return self.models.usual.policy

    @cached_property
    def adversaries(self) -> tuple[str, ...]:
        """Who attacks any of the run's models."""
        models = self.models.each.values() or (self.models.usual,)
        return tuple(dict.fromkeys(adversary for model in models for adversary in model.adversaries))

    @cached_property
    def _whose(self) -> dict[str, str]:
        """Which file of the earlier report each model file of this run is."""
        return matched(map(self.shown, self.models.each), self.earlier.files if self.earlier else ())

    def configured(self, forest: Path | str) -> Configured:
        """Return a model file with what is configured for it."""
        return self.models.configured(Path(forest))

    @staticmethod
    def floors(adversary: str) -> tuple[str, ...]:
        """Return the adversaries who know less, whose crossing is this one's too."""
        return Adversary.parse(adversary).floors

    def planned(self) -> tuple[Planned, ...]:
        """Return every check of the models' own items."""
        return tuple(
            Planned(shown, rule, adversary)
            for model in self.models.each.values()
            for shown in [self.shown(model.forest)]
            for adversary in model.adversaries
            for rule in model.policy_of_items.rules
        )

    def shown(self, path: Path) -> str:
        """Return a path as reports and addresses name it: relative to the root, or to the demo's folder."""
        for folder in (self.root, self.demo_folder):
            if folder is not None and path.is_relative_to(folder):
                return of_path(path.relative_to(folder))
        return of_path(path)

    def case(self, forest: Path, adversary: str, *, attack: bool = True) -> Case:
        """Return the case of a forest, with the data that are configured for it."""
        settings, model = self.settings, self.configured(forest)
        inputs, policy = model.inputs, model.policy
        return Case(
            artifact=str(forest),
            data=str(inputs.data) if inputs.data else None,
            target=inputs.target,
            labels=str(inputs.labels) if inputs.labels else None,
            split=inputs.split,
            domain=str(inputs.domain) if inputs.domain else None,
            holdout=str(inputs.holdout) if inputs.holdout else None,
            hardened_from=str(inputs.hardened_from) if inputs.hardened_from else None,
            beside=tuple(Beside(str(path), str(data) if data else None) for path, data in inputs.beside),
            identifier=inputs.identifier,
            adversary=adversary,
            seconds=settings.seconds,
            seed=settings.seed,
            workers=settings.workers,
            effort=settings.effort,
            memory=settings.memory,
            attack=attack,
            full=settings.full,
            slices=policy.slices,
            sensitive=policy.sensitive,
            by_class=policy.by_class,
            domain_sha256=policy.domain_sha256,
            found_rows_bits=policy.found_rows_bits,
            coarse_bounds=policy.coarse_bounds,
            known_files=policy.known_files,
        )

    def cases(self, forest: Path, adversary: str, *, attack: bool = True) -> tuple[Case, ...]:
        """Return the cases of a file: one for each of the models that it holds."""
        case = self.case(forest, adversary, attack=attack)
        return each_model(case, self.aggregates(case))

    def examine(
        self, case: Case, data: object = None, enough: Enough | None = None
    ) -> tuple[Examination, Reconstruction | None]:
        """Examine a case in a child of this process, once while it is among the last that were examined.

        To its end; or, where that is given, until a policy's verdict is certain.
        """
        if data is None and case.function is not None:
            data = self._of_function(case.function, self._named(case.artifact, case.place))
            if isinstance(data, str):
                return replace(unexamined(case), solver_status="refused", reasons=(data,)), None
        given = data.value if isinstance(data, Unshown) else data
        to_its_end = (case, stamps(case), None if given is None else id(given), None)
        key = to_its_end if to_its_end in self._memo or enough is None else (*to_its_end[:-1], id(enough.policy))
        if key not in self._memo:
            self._in_memory[id(given)] = given  # keeps the object, and with it its id, alive
            with shown(self._config, self._named(case.artifact, case.place)) as listener:
                heard = listener or self._shared.raise_if_interrupted
                self._memo[key] = children.run(case, data, heard, enough=enough)
            while len(self._memo) > MOST_REBUILT:  # the oldest; what was found out besides is kept by `aggregates`
                del self._memo[next(iter(self._memo))]
        return self._memo[key]

    def aggregates(self, case: Case) -> Examination:
        """Examine a case with the configured data, once for all processes of a distributed run."""
        key = (case, stamps(case))
        if key not in self._aggregates:
            self._aggregates[key] = self.barred(self._shared.once(case, lambda: self._kept(case)))
        return self._aggregates[key]

    def barred(self, found: Examination) -> Examination:
        """Return an examination, barred where what was released before was not judged together with its file."""
        return found if self.ledger is None else self.ledger.barred(found)

    def _kept(self, case: Case) -> Examination:
        """Examine a case with the data that a hook gives, else with the configured ones, which can be kept."""
        try:
            data = self._loaded(Path(case.artifact))
        except (Exception, pytest.fail.Exception, pytest.skip.Exception) as error:  # its text could quote rows
            reason = f"the hook pytest_draft_load_training_data raised {type(error).__name__}: correct it"
            return replace(unexamined(case), solver_status="refused", reasons=(reason,))
        if data is not None:
            return self.examine(replace(case, data=None), data, self._enough(case))[0]
        cache = Cache.of(self._config) if self.settings.cache else None
        if cache is None:
            return self._examined(case)
        return cache.once(case, self._answers, lambda: self._examined(case), self._shared.raise_if_interrupted)

    def _examined(self, case: Case) -> Examination:
        """Examine a case with the configured data: on the cluster where there is one, else in a child."""
        if self.cluster is not None:
            with shown(self._config, self._named(case.artifact, case.place)) as listener:
                found = self.cluster.run(case, listener)
            if found is not None:
                return found
        return self.examine(case, enough=self._enough(case))[0]

    def _enough(self, case: Case) -> Enough:
        """Return what ends the examination of a model's own items."""
        return Enough(self.configured(case.artifact).policy_of_items)

    def is_for_cluster(self, case: Case) -> bool:
        """Return whether nobody but a cluster knows the answer: neither a hook with data in memory nor the cache.

        No folder is sent to a worker.
        """
        if Path(case.artifact).is_dir():
            return False
        try:
            if self._loaded(Path(case.artifact)) is not None:
                return False
        except (Exception, pytest.fail.Exception, pytest.skip.Exception):  # reported when the item runs
            return False
        cache = Cache.of(self._config) if self.settings.cache else None
        return cache is None or not cache.holds(case, self._answers)

    def _loaded(self, forest: Path) -> object:
        """Return the training data that a hook gives for a model file; None where it leaves that to the options."""
        if forest not in self._hooked:
            hook = self._config.hook
            self._hooked[forest] = unshown(hook.pytest_draft_load_training_data(config=self._config, forest=forest))
        return self._hooked[forest]

    def _of_function(self, function: str, name: str) -> object:
        """Return what a function of the project returns, or why it does not; it is called once in this process."""
        if function not in self._returned:
            with shown(self._config, name) as listener:
                heard = listener or self._shared.raise_if_interrupted
                self._returned[function] = children.load(function, self.root, self.settings.memory, heard)
        return self._returned[function]

    def _answers(self, examination: Examination) -> bool:
        """Return whether an examination decides every check of the policy, or its verdict for good."""
        enough = Enough(self.configured(examination.case.artifact).policy)
        checks = judge(examination, enough.policy)
        hard = [reason for reason in examination.reasons if reason not in examination.shortfalls]
        decided = all(check.result != "inconclusive" for check in checks) or enough.decided(examination) is not None
        return not hard and decided

    def compared(self, examination: Examination) -> NowAndEarlier | None:
        """Return what an earlier report says beside an examination; None without one."""
        if self.earlier is None:
            return None
        result = self._result(examination, (), self.configured(examination.case.artifact).policy)
        return self.earlier.beside(result, self._whose)

    def record(self, examination: Examination, checks: tuple[Check, ...], policy: Policy, item: str) -> dict[str, Any]:
        """Return what a test report carries to the controller: plain values, aggregates only."""
        result = self._result(examination, checks, policy)
        for check in result["checks"]:
            check["item"] = address(item)
        plain: dict[str, Any] = json.loads(json.dumps(result, allow_nan=False))
        return plain

    def _result(self, examination: Examination, checks: tuple[Check, ...], policy: Policy) -> Result:
        """Return an entry of a report, which names files as `shown` does."""
        result: Result = harmless_values(result_of(examination, checks, policy, rows=self.settings.report_rows))
        case = examination.case
        result["artifact"]["path"] = self._named(case.artifact, result["artifact"]["place"])
        for table, facts in ((result["data"], examination.data), (result["holdout"], examination.holdout)):
            if table is not None and facts is not None and facts.path:
                table["path"] = self.shown(Path(facts.path))
        return result

    def _named(self, path: str, place: str | None) -> str:
        """Return how reports name a model: by its file, and by its place where it is one of several there."""
        shown = self.shown(Path(path))
        return shown if place is None else f"{shown}[{harmless(place, None)}]"


def each_model(case: Case, examination: Examination) -> tuple[Case, ...]:
    """Return the cases of a file's models, whose places the examination gives; itself where it is but one.

    Parameters
    ----------
    case : Case
        Without a place.
    examination : Examination
        Of this case.
    """
    return tuple(replace(case, place=place) for place in examination.artifact.places) or (case,)
