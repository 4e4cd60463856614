"""What one pytest process knows of its judgements: settings, policy, and each examination once."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from pytest_draft.adversary import check_adversary
from pytest_draft.attack.reconstruct import Reconstruction
from pytest_draft.errors import PolicyError, UsageError, one_line
from pytest_draft.gate import Case, Examination
from pytest_draft.isolation import children
from pytest_draft.live import shown
from pytest_draft.options import Settings, resolve
from pytest_draft.policy.policy import Policy, default_policy, read_policy
from pytest_draft.policy.verdict import Check
from pytest_draft.report.result import result_of
from pytest_draft.sharing import Shared, Stamps, stamps

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
        return f"{one_line(self.artifact)}::{self.rule}[{self.adversary}]"


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
        self._memo: dict[tuple[Case, Stamps, int | None], tuple[Examination, Reconstruction | None]] = {}
        self._in_memory: dict[int, object] = {}
        self.told: dict[str, str] = {}  # why checks are inconclusive, and the first item that said so
        try:
            self.explicit_policy = read_policy(self.settings.policy) if self.settings.policy else None
            for name in self.settings.adversaries:
                check_adversary(name)
            self._require_matched_waivers()
        except (PolicyError, UsageError) as error:
            raise pytest.UsageError(str(error)) from None

    def _require_matched_waivers(self) -> None:
        """Refuse a waiver for a file that is not judged: it hides that somebody decided about another one.

        Raises
        ------
        PolicyError
        """
        policy = self.explicit_policy
        if policy is None or not policy.waivers or not self.settings.active:
            return
        judged = {hashlib.sha256(path.read_bytes()).hexdigest() for path in self.settings.forests}
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
            config.stash[SESSION] = cls(config)
        return config.stash[SESSION]

    @cached_property
    def policy(self) -> Policy:
        """The policy of the models' own items: the explicit one, else the shipped default."""
        return self.explicit_policy or default_policy()

    @property
    def adversaries(self) -> tuple[str, ...]:
        """Who attacks: the command line's are added to an explicit policy's, and replace the default's."""
        given = self.settings.adversaries
        if not given:
            return self.policy.adversaries
        return tuple(dict.fromkeys((*self.policy.adversaries, *given) if self.policy.explicit else given))

    def planned(self) -> tuple[Planned, ...]:
        """Return every check of the models' own items."""
        return tuple(
            Planned(self.shown(forest), rule, adversary)
            for forest in self.settings.forests
            for adversary in self.adversaries
            for rule in self.policy.rules
        )

    def shown(self, path: Path) -> str:
        """Return a path as reports and addresses name it: relative to the root, or to the demo's folder."""
        for folder in (self.root, self.demo_folder):
            if folder is not None and path.is_relative_to(folder):
                return path.relative_to(folder).as_posix()
        return str(path)

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
            engine=settings.engine,
            memory=settings.memory,
            attack=attack,
        )

    def examine(self, case: Case, data: object = None) -> tuple[Examination, Reconstruction | None]:
        """Examine a case, once for this process, in a child of it."""
        key = (case, stamps(case), None if data is None else id(data))
        if key not in self._memo:
            self._in_memory[id(data)] = data  # keeps the object, and with it its id, alive
            with shown(self._config, self.shown(Path(case.artifact))) as tell:
                self._memo[key] = children.run(case, data, tell or self._shared.heed_interrupt)
        return self._memo[key]

    def aggregates(self, case: Case) -> Examination:
        """Examine a case with the configured data, once for all processes of a distributed run."""
        return self._shared.once(case, lambda: self.examine(case)[0])

    def record(self, examination: Examination, checks: tuple[Check, ...], policy: Policy, item: str) -> dict[str, Any]:
        """Return what a test report carries to the controller: plain values, aggregates only."""
        result = result_of(examination, checks, policy, rows=self.settings.report_rows)
        result["artifact"]["path"] = self.shown(Path(result["artifact"]["path"]))
        for table in (result["data"], result["holdout"]):
            if table is not None and table["path"]:
                table["path"] = self.shown(Path(table["path"]))
        for check in result["checks"]:
            check["item"] = item
        plain: dict[str, Any] = json.loads(json.dumps(result, allow_nan=False))
        return plain


def write_atomically(path: Path, text: str) -> None:
    """Write a file so that an earlier one is replaced whole, or stays."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
