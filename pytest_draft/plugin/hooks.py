"""pytest hooks and nothing else. No engine is imported until a gate is active."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any

import pytest

from pytest_draft.foreign_text import address, distinct
from pytest_draft.plugin import hookspecs, marks
from pytest_draft.plugin.fixtures import (  # noqa: F401  (pytest finds fixtures by their names here)  # noqa: F401, PLC2701
    DraftResult,
    _draft_unshown_data,
    _draft_unshown_rows,
    draft_adversary,
    draft_attack,
    draft_forest,
    draft_policy,
    draft_result,
    draft_training_data,
)
from pytest_draft.plugin.options import add_options, in_harmless_words, is_active, is_strict
from pytest_draft.plugin.unshown import NamesOnly

if TYPE_CHECKING:
    from pytest_draft.plugin.items import Standing
    from pytest_draft.plugin.records import Records
    from pytest_draft.plugin.summary import Summary
    from pytest_draft.policy.verdict import Check

_SUMMARY = pytest.StashKey["Summary"]()
_MARKED = "draft_marked_tests"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Register options and ini values."""
    add_options(parser)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Register the hooks that a project can implement."""
    pluginmanager.add_hookspecs(hookspecs)


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker; where a gate is active, check all settings and add the forests to what is collected."""
    config.addinivalue_line("markers", marks.registered())
    if not is_active(config):
        return
    distributed = config.getoption("dist", "no") != "no" and bool(config.getoption("tx", None))  # as xdist decides
    from pytest_draft.isolation import children

    if not (distributed or hasattr(config, "workerinput") or config.option.collectonly):  # with a cluster, for labels
        children.start()  # it imports the engine while this process does
    if config.option.draft_demo:
        from pytest_draft.plugin.demo import prepare

        prepare(config)
    from pytest_draft.plugin.session import GateSession

    if distributed:
        from pytest_draft.plugin.collection import require_text
        from pytest_draft.plugin.workers import Controller

        with in_harmless_words():
            require_text(config)

        config.pluginmanager.register(Controller(config), "draft-controller")
    session = GateSession.of(config)
    settings = session.settings
    if not hasattr(config, "workerinput"):  # the controller has looked already
        from pytest_draft.plugin.usage import require_usable_data

        with in_harmless_words():
            require_usable_data(config, session)
        if distributed:
            children.close()
    if settings.scheduler is not None and not config.option.collectonly:
        from pytest_draft.plugin.remote import join

        with in_harmless_words():
            join(config, session, settings.scheduler)
    from pytest_draft.plugin.collection import take_addresses

    with in_harmless_words():
        left = take_addresses(config, session)
    if not distributed:  # pytest-xdist gives its workers the arguments as they were
        config.args = [] if settings.only else left


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Add the models' files to what the session has collected."""
    report = yield
    if isinstance(collector, pytest.Session) and report.result is not None and is_active(collector.config):
        from pytest_draft.plugin.collection import forest_files

        report.result.extend(forest_files(collector))
    return report


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Check markers, and parametrise the fixtures over forests and adversaries."""
    markers = list(metafunc.definition.iter_markers(marks.NAME))
    for marker in markers:
        marks.checked(marker)
    if markers and "draft_result" not in metafunc.fixturenames:
        pytest.fail(f"{marks.NAME}: add draft_result to the test's arguments", pytrace=False)
    if not {"draft_forest", "draft_adversary"} & set(metafunc.fixturenames):
        return
    from pytest_draft.plugin.session import GateSession

    session = GateSession.of(metafunc.config)
    forests = tuple(session.models.each)
    if "draft_forest" in metafunc.fixturenames and forests:
        names = [session.shown(forest) for forest in forests]
        metafunc.parametrize("draft_forest", forests, ids=names, indirect=True, scope="session")
    if "draft_adversary" in metafunc.fixturenames:
        names = [distinct(adversary) for adversary in session.adversaries]
        metafunc.parametrize("draft_adversary", session.adversaries, ids=names, indirect=True, scope="session")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Keep the values of fixtures that a test has not asked for out of tracebacks with pytest's own local variables."""
    values = getattr(item, "funcargs", None)
    if isinstance(values, dict) and "draft_training_data" in getattr(item, "fixturenames", ()):
        item.funcargs = NamesOnly(values)  # type: ignore[attr-defined]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Fail a marked test whose budgets are crossed; let reports carry what was found out."""
    report = yield
    if call.when != "call":
        return report
    result = getattr(item, "funcargs", {}).get("draft_result")
    if isinstance(result, DraftResult):
        _judge_marked(item, report, result)
    elif item.get_closest_marker(marks.NAME) is not None:
        if report.outcome == "passed":  # unittest's methods have no fixtures; and the fixture can be replaced
            _fail(report, f"{marks.NAME}: nothing was checked: draft_result is missing or was replaced")
    elif is_active(item.config):
        from pytest_draft.plugin.items import RECORD, STANDING, CheckFailed

        report.draft = item.stash.get(RECORD, None)  # type: ignore[attr-defined]
        item.stash[RECORD] = None  # the item lives as long as the run
        _tell(report, item.stash.get(STANDING, None))
        if call.excinfo is not None and isinstance(call.excinfo.value, CheckFailed) and report.outcome == "failed":
            _mark(report, [call.excinfo.value.check])
    return report


def pytest_report_teststatus(report: pytest.TestReport) -> tuple[str, str, tuple[str, dict[str, bool]]] | None:
    """Give checks that neither passed nor failed a letter, a word and a count of their own, also where they stop."""
    name = getattr(report, "draft_standing", None)
    if name is None or report.passed:
        return None
    return name, name[0].upper(), (name.upper(), {"yellow": True})


def _judge_marked(item: pytest.Item, report: pytest.TestReport, result: DraftResult) -> None:
    if item.get_closest_marker(marks.NAME) is None:
        return
    from pytest_draft.plugin.items import explained
    from pytest_draft.plugin.session import GateSession

    session = GateSession.of(item.config)
    records = [session.record(one.examination, one.checks, result.policy, item.nodeid) for one in result.models]
    report.draft = {"results": records, "planned": None}  # type: ignore[attr-defined]
    crossed = [check for check in result.checks if check.stops(result.policy)]
    if crossed and report.outcome != "failed":  # also where the test expects to fail, or skips itself
        told = []
        for check in crossed:
            asked_by = result.policy.asked_by(check.rule)
            told.append(f"{check.rule}[{check.adversary}]\n{explained(check, asked_by)}")
        _fail(report, "\n\n".join(told))
        _mark(report, crossed)


def _tell(report: pytest.TestReport, standing: Standing | None) -> None:
    """Let a report say of a check that did not pass what it is: skipped, to pytest, as that fails nothing."""
    if standing is None or report.outcome != "passed":
        return
    report.outcome = "skipped"
    report.longrepr = (report.location[0], (report.location[1] or 0) + 1, standing.why)
    report.draft_standing = standing.name  # type: ignore[attr-defined]


def _mark(report: pytest.TestReport, crossed: Sequence[Check]) -> None:
    """Let a report that fails the run say which kind it is: told as a failure, or one that could not be decided."""
    undecided = all(check.result == "inconclusive" for check in crossed)
    report.draft_standing = "inconclusive" if undecided else None  # type: ignore[attr-defined]
    report.draft_explained = not undecided  # type: ignore[attr-defined]


def _fail(report: pytest.TestReport, why: str) -> None:
    report.outcome = "failed"
    report.longrepr = why
    if hasattr(report, "wasxfail"):
        del report.wasxfail  # pytest would not count the failure


def pytest_sessionstart(session: pytest.Session) -> None:
    """Begin to gather what the reports carry; a worker of a distributed run only tells what it has collected."""
    gatherer = _Marked(session.config) if hasattr(session.config, "workerinput") else _Gatherer(session.config)
    session.config.pluginmanager.register(gatherer, "draft-gatherer")


class _Marked:
    """Gathers the marked tests that a process collects, and hands them to xdist's controller."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.marked: set[str] = set()

    def pytest_itemcollected(self, item: pytest.Item) -> None:
        """Note a marked test, before anything can deselect it."""
        if item.get_closest_marker(marks.NAME) is not None:
            self.marked.add(item.nodeid)

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Hand the marked tests over."""
        self.config.workeroutput[_MARKED] = sorted(self.marked)  # type: ignore[attr-defined]


class _Gatherer(_Marked):
    """Gathers what test reports carry, writes the reports and shows the table."""

    def __init__(self, config: pytest.Config) -> None:
        super().__init__(config)
        self.records: Records | None = None
        self.judged: set[str] = set()
        self.told: set[str] = set()
        self.said: set[tuple[str, str]] = set()

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take over the marked tests of a worker; one that has crashed tells nothing."""
        self.marked.update(getattr(node, "workeroutput", {}).get(_MARKED, ()))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep what a report carries, also one that came from another process."""
        record = getattr(report, "draft", None)
        if record is not None:
            if self.records is None:
                from pytest_draft.plugin.records import Records

                self.records = Records()
            self.records.add(record)
            report.draft = None  # type: ignore[attr-defined]  # pytest keeps all reports to the end
            self.judged.add(report.nodeid)
        if record is not None and getattr(report, "draft_explained", False):
            from pytest_draft.plugin.explained import Explained

            path = report.nodeid if record["planned"] is None else record["planned"][0]
            report.longrepr = Explained(str(report.longrepr), path, self._wrap(), self.said)  # type: ignore[assignment]
            if getattr(self.config.option, "tbstyle", "no") != "no":
                self.told.add(address(report.nodeid))

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
                self.config, self.records, left, frozenset(self.told), self._wrap()
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
