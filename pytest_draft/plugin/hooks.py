"""pytest hooks and nothing else. What is behind them is imported where the gate, a marker or a fixture is used.

Every pytest run imports this module and what it imports, and without a cache of bytecode compiles it anew.
"""

from __future__ import annotations

from collections.abc import Generator

import pytest

from pytest_draft.plugin import hookspecs, marks
from pytest_draft.plugin.fixtures import (  # noqa: F401  (pytest finds fixtures by their names here)  # noqa: F401, PLC2701
    _draft_unshown_data,
    _draft_unshown_rows,
    draft_adversary,
    draft_attack,
    draft_forest,
    draft_policy,
    draft_result,
    draft_training_data,
)
from pytest_draft.plugin.options import add_options, is_active, is_distributed, require_models


def pytest_addoption(parser: pytest.Parser) -> None:
    """Register options and ini values."""
    add_options(parser)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Register the hooks that a project can implement."""
    pluginmanager.add_hookspecs(hookspecs)


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker; where a gate is active, check all settings and add the forests to what is collected."""
    config.addinivalue_line("markers", marks.registered())
    if is_active(config):
        from pytest_draft.plugin.start import start

        start(config)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Begin to gather what test reports carry, where the gate or another process will report something."""
    if is_active(session.config) or is_distributed(session.config):
        from pytest_draft.plugin.gathering import gatherer

        gatherer(session.config)


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
    test = metafunc.definition.nodeid
    for marker in markers:
        marks.checked(marker, test)
    if markers and "draft_result" not in metafunc.fixturenames:
        pytest.fail(f"{test}: marked {marks.NAME}: add draft_result to the test's arguments", pytrace=False)
    if not {"draft_forest", "draft_adversary"} & set(metafunc.fixturenames):
        return
    from pytest_draft.foreign_text import distinct
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
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Refuse data for models in a run that judges none, before anything is deselected."""
    require_models(config, items)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Note a marked test, before anything can deselect it."""
    if item.get_closest_marker(marks.NAME) is not None:
        from pytest_draft.plugin.gathering import gatherer

        gatherer(item.config).marked.add(item.nodeid)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Keep the values of fixtures that a test has not asked for out of tracebacks with pytest's own local variables."""
    values = getattr(item, "funcargs", None)
    if isinstance(values, dict) and "draft_training_data" in getattr(item, "fixturenames", ()):
        from pytest_draft.plugin.unshown import NamesOnly

        item.funcargs = NamesOnly(values)  # type: ignore[attr-defined]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Fail a marked test whose budgets are crossed; let reports carry what was found out."""
    report = yield
    if call.when == "call" and (is_active(item.config) or item.get_closest_marker(marks.NAME) is not None):
        from pytest_draft.plugin.results import add_outcome

        add_outcome(item, call, report)
    return report


def pytest_report_teststatus(report: pytest.TestReport) -> tuple[str, str, tuple[str, dict[str, bool]]] | None:
    """Give checks that neither passed nor failed a letter, a word and a count of their own, also where they stop."""
    name = getattr(report, "draft_standing", None)
    if name is None or report.passed:
        return None
    return name, name[0].upper(), (name.upper(), {"yellow": True})
