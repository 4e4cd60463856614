"""Gathers marked tests and test reports while tests run, then writes the reports and shows the table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pytest_draft.foreign_text import address
from pytest_draft.plugin.options import is_active, is_strict

if TYPE_CHECKING:
    from pytest_draft.plugin.summary import Records, Summary

NAME = "draft-gatherer"
"""Of the plugin that gathers."""

_SUMMARY = pytest.StashKey["Summary"]()
_MARKED = "draft_marked_tests"


def gatherer(config: pytest.Config) -> Marked:
    """Return what gathers in this process, registered when it is first needed.

    A worker of a distributed run only reports what it has collected.
    """
    found: Marked | None = config.pluginmanager.getplugin(NAME)
    if found is None:
        found = Marked(config) if hasattr(config, "workerinput") else _Gatherer(config)
        config.pluginmanager.register(found, NAME)
    return found


class Marked:
    """Gathers the marked tests that a process collects, and hands them to xdist's controller.

    Attributes
    ----------
    marked : set of str
        Addresses of tests.
    """

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.marked: set[str] = set()

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Hand the marked tests over."""
        self.config.workeroutput[_MARKED] = sorted(self.marked)  # type: ignore[attr-defined]


class _Gatherer(Marked):
    """Gathers what test reports carry, writes the reports and shows the table."""

    def __init__(self, config: pytest.Config) -> None:
        super().__init__(config)
        self.records: Records | None = None
        self.judged: set[str] = set()
        self.shown_as_failures: set[str] = set()
        self.shown_causes: set[tuple[str, str]] = set()

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take over the marked tests of a worker; one that has crashed reports nothing."""
        self.marked.update(getattr(node, "workeroutput", {}).get(_MARKED, ()))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep what a report carries, also one that came from another process."""
        record = getattr(report, "draft", None)
        if record is not None:
            if self.records is None:
                from pytest_draft.plugin.summary import Records

                self.records = Records()
            self.records.add(record)
            report.draft = None  # type: ignore[attr-defined]  # pytest keeps all reports to the end
            self.judged.add(report.nodeid)
        if record is not None and getattr(report, "draft_explained", False):
            from pytest_draft.plugin.failure_text import FailureText

            path = report.nodeid if record["planned"] is None else record["planned"][0]
            report.longrepr = FailureText(str(report.longrepr), path, self._wrap(), self.shown_causes)  # type: ignore[assignment]
            if getattr(self.config.option, "tbstyle", "no") != "no":
                self.shown_as_failures.add(address(report.nodeid))

    def _wrap(self) -> int | None:
        """Return the columns of the terminal; None where output goes to a file, whose lines stay as they are."""
        terminal = self.config.pluginmanager.getplugin("terminalreporter")
        if terminal is None or not terminal.isatty:
            return None
        width: int = self.config.get_terminal_writer().fullwidth
        return width

    def _summary(self) -> Summary | None:
        left = sorted(self.marked - self.judged)
        asked = self.records or is_active(self.config) or (left and is_strict(self.config))
        if self.config.option.collectonly or not asked:
            return None
        if _SUMMARY not in self.config.stash:
            from pytest_draft.plugin.summary import Summary

            self.config.stash[_SUMMARY] = Summary.of(
                self.config, self.records, left, frozenset(self.shown_as_failures), self._wrap()
            )
        return self.config.stash[_SUMMARY]

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Write the reports; a planned check that was not run fails the run."""
        summary = self._summary()
        if summary is not None:
            session.exitstatus = summary.finish(int(session.exitstatus))  # others may have failed the run meanwhile

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Show the table."""
        summary = self._summary()
        if summary is not None:
            summary.show(terminalreporter)
