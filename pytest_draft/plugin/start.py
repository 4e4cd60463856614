"""Starts an active gate before pytest collects: checks its settings and prepares what judges the forests."""

from __future__ import annotations

import pytest

from pytest_draft.isolation import children
from pytest_draft.plugin.options import is_distributed
from pytest_draft.plugin.settings import in_harmless_words


def start(config: pytest.Config) -> None:
    """Check all settings, and take the addresses of checks out of pytest's arguments.

    Raises
    ------
    pytest.UsageError
        For whatever is wrong before anything is judged.
    """
    distributed = is_distributed(config)
    if not (distributed or hasattr(config, "workerinput") or config.option.collectonly):  # with a cluster, for labels
        children.start()  # it imports the engine while this process does
    from pytest_draft.plugin.collection import require_text, take_addresses
    from pytest_draft.plugin.session import GateSession
    from pytest_draft.plugin.usage import require_usable_data

    if config.option.draft_demo:
        from pytest_draft.plugin.demo import prepare

        prepare(config)
    if distributed:
        from pytest_draft.plugin.workers import Controller

        with in_harmless_words():
            require_text(config)
        config.pluginmanager.register(Controller(config), "draft-controller")
    session = GateSession.of(config)
    settings = session.settings
    if not hasattr(config, "workerinput"):  # the controller has looked already
        with in_harmless_words():
            require_usable_data(config, session)
        if distributed:
            children.close()
    if settings.scheduler is not None and not config.option.collectonly:
        from pytest_draft.plugin.remote import join

        with in_harmless_words():
            join(config, session, settings.scheduler)
    with in_harmless_words():
        left = take_addresses(config, session)
    if not distributed:  # pytest-xdist gives its workers the arguments as they were
        config.args = [] if settings.only else left
