"""What one pytest process knows of its judgements: settings, policy, and each examination once."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_draft.bounded import MODEL_BYTES, TABLE_BYTES, sha256, what_failed
from pytest_draft.errors import PolicyError, UsageError, one_line
from pytest_draft.facts.adversary import Adversary, check_adversary
from pytest_draft.facts.case import Case
from pytest_draft.facts.examination import Examination, unexamined
from pytest_draft.foreign_text import address, distinct, harmless, harmless_values, of_path
from pytest_draft.isolation import children
from pytest_draft.plugin.cache import Cache
from pytest_draft.plugin.options import Settings, in_harmless_words, resolve
from pytest_draft.plugin.sharing import Shared, Stamps, stamps
from pytest_draft.plugin.terminal_progress import shown
from pytest_draft.plugin.unshown import Unshown, unshown
from pytest_draft.policy.comparison import Compared
from pytest_draft.policy.policy import Policy, default_policy, read_policy
from pytest_draft.policy.verdict import Check, judge
from pytest_draft.report.earlier_report import Earlier, read_earlier
from pytest_draft.report.result import Result, result_of

if TYPE_CHECKING:
    from pytest_draft.attack.reconstruction import Reconstruction
    from pytest_draft.cluster.controller import Cluster

SESSION = pytest.StashKey["GateSession"]()


@dataclass(frozen=True)
class Planned:
    """One check of the models' own items.

    Attributes
    ----------
    artifact : str
        Path of the model file.
    rule, adversary : str
    """

    artifact: str
    rule: str
    adversary: str

    def __str__(self) -> str:
        return f"{self.artifact}::{distinct(f'{self.rule}[{self.adversary}]')}"


class GateSession:
    """Settings, policy and memo of one pytest process.

    Parameters
    ----------
    config : pytest.Config

    Raises
    ------
    pytest.UsageError
        For anything that is wrong in options, ini values or the policy.
    """

    def __init__(self, config: pytest.Config) -> None:
        self.settings: Settings = resolve(config)
        self._config = config
        config.add_cleanup(children.close)
        self.root = config.rootpath
        self.demo_folder = self.settings.forests[0].parent if config.option.draft_demo else None
        self._shared = Shared.of(config)
        self.cluster: Cluster | None = None
        self._memo: dict[tuple[Case, Stamps, int | None], tuple[Examination, Reconstruction | None]] = {}
        self._in_memory: dict[int, object] = {}
        self._hooked: dict[Path, object] = {}
        self._aggregates: dict[tuple[Case, Stamps], Examination] = {}
        self.explained: dict[str, str] = {}  # why checks are inconclusive, and the first item that said so
        try:
            self.explicit_policy = read_policy(self.settings.policy) if self.settings.policy else None
            self.policy = self.explicit_policy or default_policy()
            self._require_pinned_policy()
            self._require_pinned_domain()
            self.earlier: Earlier | None = read_earlier(self.settings.compare) if self.settings.compare else None
            for name in self.settings.adversaries:
                check_adversary(name)
            self._require_matched_waivers()
        except (PolicyError, UsageError) as error:
            raise pytest.UsageError(str(error)) from None

    def _require_pinned_policy(self) -> None:
        """Refuse a policy that is not the one whose hash is given.

        Raises
        ------
        PolicyError
        """
        policy, pinned = self.policy, self.settings.policy_sha256
        if pinned is not None and policy.sha256 != pinned:
            raise PolicyError(
                f"{one_line(policy.source)}: the policy's SHA-256 is {policy.sha256}, and not as --draft-policy-sha256 "
                "says: give the policy that was signed off, or have this one signed off"
            )

    def _require_pinned_domain(self) -> None:
        """Refuse a domain file that is not the one whose hash is given, by the command line or by the policy.

        Raises
        ------
        PolicyError
        """
        path = self.settings.domain
        pins = {
            "--draft-domain-sha256 says": self.settings.domain_sha256,
            "the policy names": self.policy.domain_sha256,
        }
        if path is None or not any(pins.values()):
            return
        try:
            found = sha256(path, TABLE_BYTES)
        except OSError as error:
            raise PolicyError(
                f"{one_line(path)}: the domain file cannot be read ({what_failed(error, TABLE_BYTES)})"
            ) from None
        for whose, pinned in pins.items():
            if pinned is not None and found != pinned:
                raise PolicyError(
                    f"{one_line(path)}: the domain file's SHA-256 is {found}, and not as {whose}: give the file that "
                    "was signed off, or have this one signed off"
                )

    def _require_matched_waivers(self) -> None:
        """Refuse a waiver for a file or a rule that is not judged: it hides that somebody decided about another one.

        Raises
        ------
        PolicyError
        """
        policy = self.explicit_policy
        if policy is None or not policy.waivers or not self.settings.active:
            return
        unused = [waiver.rule for waiver in policy.waivers if waiver.rule not in self.policy_of_items.rules]
        if unused:
            raise PolicyError(
                f"{one_line(policy.source)}: waiver of {unused[0]!r}: nothing is compared in this run: add "
                "--draft-compare, or remove it"
            )
        judged = set()
        for path in self.settings.forests:
            with suppress(OSError):  # its examination will say what is wrong
                judged.add(sha256(path, MODEL_BYTES))
        unmatched = [waiver for waiver in policy.waivers if waiver.artifact_sha256 not in judged]
        if unmatched:
            raise PolicyError(
                f"{one_line(policy.source)}: waiver of {unmatched[0].rule!r}: no model file with the SHA-256 "
                f"{unmatched[0].artifact_sha256[:12]}... is judged: remove it, or judge that file"
            )

    @classmethod
    def of(cls, config: pytest.Config) -> GateSession:
        """Return the session of a config, made when it is first needed."""
        if SESSION not in config.stash:
            with in_harmless_words():
                config.stash[SESSION] = cls(config)
        return config.stash[SESSION]

    @cached_property
    def policy_of_items(self) -> Policy:
        """The policy of the models' own items, with the comparison where an earlier report is given."""
        return self.policy if self.earlier is None else self.policy.with_comparison

    @property
    def adversaries(self) -> tuple[str, ...]:
        """Who attacks: the command line's are added to an explicit policy's, and replace the default's."""
        given = self.settings.adversaries
        if not given:
            return self.policy.adversaries
        return tuple(dict.fromkeys((*self.policy.adversaries, *given) if self.policy.explicit else given))

    @staticmethod
    def floor(adversary: str) -> str | None:
        """Return the adversary without the side knowledge, whose crossing is this one's too; None for no such."""
        return Adversary.parse(adversary).floor

    def planned(self) -> tuple[Planned, ...]:
        """Return every check of the models' own items."""
        return tuple(
            Planned(self.shown(forest), rule, adversary)
            for forest in self.settings.forests
            for adversary in self.adversaries
            for rule in self.policy_of_items.rules
        )

    def shown(self, path: Path) -> str:
        """Return a path as reports and addresses name it: relative to the root, or to the demo's folder."""
        for folder in (self.root, self.demo_folder):
            if folder is not None and path.is_relative_to(folder):
                return of_path(path.relative_to(folder))
        return of_path(path)

    def case(self, forest: Path, adversary: str, *, attack: bool = True) -> Case:
        """Return the case of a forest, with the data that are configured for it."""
        settings = self.settings
        index = settings.forests.index(forest) if forest in settings.forests else 0
        data, holdout = (str(paths[index]) if any(paths) else None for paths in (settings.data, settings.holdout))
        return Case(
            artifact=str(forest),
            data=data,
            target=settings.target,
            domain=str(settings.domain) if settings.domain else None,
            holdout=holdout,
            adversary=adversary,
            seconds=settings.seconds,
            seed=settings.seed,
            workers=settings.workers,
            effort=settings.effort,
            memory=settings.memory,
            attack=attack,
            slices=self.policy.slices,
            by_class=self.policy.by_class,
            domain_sha256=self.policy.domain_sha256,
            coarse_bounds=self.policy.coarse_bounds,
        )

    def cases(self, forest: Path, adversary: str, *, attack: bool = True) -> tuple[Case, ...]:
        """Return the cases of a file: one for each of the models that it holds."""
        case = self.case(forest, adversary, attack=attack)
        return each_model(case, self.aggregates(case))

    def examine(self, case: Case, data: object = None) -> tuple[Examination, Reconstruction | None]:
        """Examine a case, once for this process, in a child of it."""
        given = data.value if isinstance(data, Unshown) else data
        key = (case, stamps(case), None if given is None else id(given))
        if key not in self._memo:
            self._in_memory[id(given)] = given  # keeps the object, and with it its id, alive
            with shown(self._config, self._named(case.artifact, case.place)) as tell:
                self._memo[key] = children.run(case, data, tell or self._shared.heed_interrupt)
        return self._memo[key]

    def aggregates(self, case: Case) -> Examination:
        """Examine a case with the configured data, once for all processes of a distributed run."""
        key = (case, stamps(case))
        if key not in self._aggregates:
            self._aggregates[key] = self._shared.once(case, lambda: self._kept(case))
        return self._aggregates[key]

    def _kept(self, case: Case) -> Examination:
        """Examine a case with the data that a hook gives, else with the configured ones, which can be kept."""
        try:
            data = self._loaded(Path(case.artifact))
        except (Exception, pytest.fail.Exception, pytest.skip.Exception) as error:  # its text could quote rows
            reason = f"the hook pytest_draft_load_training_data raised {type(error).__name__}: correct it"
            return replace(unexamined(case), solver_status="refused", reasons=(reason,))
        if data is not None:
            return self.examine(replace(case, data=None), data)[0]
        cache = Cache.of(self._config) if self.settings.cache else None
        if cache is None:
            return self._examined(case)
        return cache.once(case, self._answers, lambda: self._examined(case), self._shared.heed_interrupt)

    def _examined(self, case: Case) -> Examination:
        """Examine a case with the configured data: on the cluster where there is one, else in a child."""
        if self.cluster is not None:
            with shown(self._config, self._named(case.artifact, case.place)) as tell:
                found = self.cluster.run(case, tell)
            if found is not None:
                return found
        return self.examine(case)[0]

    def is_for_cluster(self, case: Case) -> bool:
        """Return whether nobody but a cluster knows the answer: neither a hook with data in memory nor the cache."""
        try:
            if self._loaded(Path(case.artifact)) is not None:
                return False
        except (Exception, pytest.fail.Exception, pytest.skip.Exception):  # told when the item runs
            return False
        cache = Cache.of(self._config) if self.settings.cache else None
        return cache is None or not cache.holds(case, self._answers)

    def _loaded(self, forest: Path) -> object:
        """Return the training data that a hook gives for a model file; None where it leaves that to the options."""
        if forest not in self._hooked:
            hook = self._config.hook
            self._hooked[forest] = unshown(hook.pytest_draft_load_training_data(config=self._config, forest=forest))
        return self._hooked[forest]

    def _answers(self, examination: Examination) -> bool:
        """Return whether an examination decides every check of the policy."""
        checks = judge(examination, self.policy)
        hard = [reason for reason in examination.reasons if reason not in examination.shortfalls]
        return not hard and all(check.result != "inconclusive" for check in checks)

    def compared(self, examination: Examination) -> Compared | None:
        """Return what an earlier report says beside an examination; None without one."""
        return None if self.earlier is None else self.earlier.beside(self._result(examination, (), self.policy))

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
    """Return the cases of a file's models, of which the examination tells the places; itself where it is but one.

    Parameters
    ----------
    case : Case
        Without a place.
    examination : Examination
        Of this case.
    """
    return tuple(replace(case, place=place) for place in examination.artifact.places) or (case,)
