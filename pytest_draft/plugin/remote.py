"""pytest's hooks for a run on a cluster: orders examinations for the collected items, and reports lost workers.

All cases that the collected items need are ordered at once, so that workers are busy while the first item waits. pytest
runs the items as usual: each waits for its own examination.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from pytest_draft.cluster.controller import Cluster
from pytest_draft.errors import UsageError
from pytest_draft.facts.case import Case
from pytest_draft.facts.examination import Examination
from pytest_draft.isolation import children
from pytest_draft.plugin.items import CheckItem
from pytest_draft.plugin.session import GateSession, each_model
from pytest_draft.policy.rules import rule_of


def join(config: pytest.Config, session: GateSession, where: str) -> None:
    """Join a cluster, or start a local one, before anything is collected.

    Raises
    ------
    pytest.UsageError
        Where it cannot be used.
    """
    children.close()  # it has looked at the labels
    try:
        remote = Remote(session, where)
    except UsageError as error:
        raise pytest.UsageError(str(error)) from None
    config.pluginmanager.register(remote, "draft-remote")
    config.add_cleanup(remote.cluster.close)


class Remote:
    """pytest's hooks of a session with a cluster, which is given by the address of its scheduler."""

    def __init__(self, session: GateSession, where: str) -> None:
        self._session = session
        self._said: list[str] = []
        self.cluster = session.cluster = Cluster(where, self._said.append)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Order all cases that the selected items need, those of the first items first."""
        for number, (case, certain) in enumerate(_needed(self._session, session.items)):
            if self._session.is_for_cluster(case):
                self.cluster.submit(case, -number if certain else -1e9 - number, self._follow)

    def _follow(self, examination: Examination) -> None:
        """Order each model of a file of several, as soon as their places are known."""
        if examination.case.place is None:
            for case in each_model(examination.case, examination):
                if case.place is not None and self._session.is_for_cluster(case):
                    self.cluster.submit(case)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Cancel what nobody waits for; fail a run whose cluster was lost, even where inconclusive results are
        allowed.
        """
        self.cluster.close()
        if self.cluster.was_left and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Show what became of workers."""
        for line in dict.fromkeys(self._said):
            terminalreporter.write_line(f"cluster: {line}", yellow=True)


def _needed(gate: GateSession, items: list[pytest.Item]) -> Iterator[tuple[Case, bool]]:
    """Yield each case that items need, and whether it is needed for certain: weaker adversaries may not be needed."""
    seen, weaker = set(), []
    for item in items:
        if not isinstance(item, CheckItem):
            continue
        case = gate.case(item.path, item.adversary, attack=gate.configured(item.path).policy_of_items.needs_attack)
        if case not in seen:
            seen.add(case)
            yield case, True
        if rule_of(item.rule).attack:
            weaker += [replace(case, adversary=floor) for floor in gate.floors(item.adversary)]
    for case in dict.fromkeys(weaker):
        if case not in seen:
            yield case, False
