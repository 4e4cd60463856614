"""Hooks that a project's conftest.py can implement. Those who can do without the plugin mark them ``optionalhook``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest


@pytest.hookspec(firstresult=True)
def pytest_draft_load_training_data(config: pytest.Config, forest: Path) -> object:
    """Return the training data of a model file, in place of ``--draft-data``, for the models' own items.

    The first implementation that returns something is used. It is called once for each model file and process; what it
    raises makes the checks inconclusive.

    Parameters
    ----------
    forest : pathlib.Path

    Returns
    -------
    object
        A pandas DataFrame with the label column, or a pair ``(X, y)``: picklable, because another process examines
        it. None for the configured file.
    """


@pytest.hookspec
def pytest_draft_update_report(config: pytest.Config, report: dict[str, Any]) -> None:
    """Add an object to the report of a run, under the key ``extra``, before it is written in any format.

    Called once, at the end, by the process that writes the reports. Whatever else it changes is refused and fails the
    run: a verdict is not a matter of configuration.

    Parameters
    ----------
    report : dict
        A copy of the whole report, plain. ``report["extra"]`` is there, and holds what other implementations added.
    """
