"""What all tests share."""

from __future__ import annotations

import gc
import os
import sys
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import pytest_draft
from pytest_draft.artifact import Forest, Tree
from pytest_draft.artifact.forest.draws import Draws
from pytest_draft.artifact.forest.observations import ClassCounts

# While tests are collected nothing is garbage, and what is compiled is kept, as numba keeps it: else each of some 200
# processes would compile all modules anew, and pytest's rewrite their asserts. After that it is not kept any more: a
# test may write a module of the same length twice within a second, and the second time the first would be run.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Processes that tests start run the package that is tested here, not a copy that is installed beside it, for which all
# compiled code would have to be compiled a second time.
_ROOT = str(Path(pytest_draft.__file__).parents[1])
os.environ["PYTHONPATH"] = os.pathsep.join([_ROOT, *filter(None, [os.environ.get("PYTHONPATH")])])

pytest_plugins = ["pytester", "one_child", "golden"]

if find_spec("hypothesis"):  # whoever has cloned the project and runs the demo needs nothing of the tests' own
    from hypothesis import settings

    from profiles import is_nightly  # and registers those of hypothesis

    settings.load_profile("quick")  # --hypothesis-profile=nightly comes later, and wins
else:

    def is_nightly() -> bool:
        """Return whether everything runs, which needs hypothesis."""
        return False


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection():
    """Look for no garbage while tests are collected, later in what they make only, and then keep nothing compiled."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
        sys.dont_write_bytecode = True


_JOBS = ("ci", "docs", "studies")
"""Folders of tests with a job of their own (CONTRIBUTING.md)."""


def pytest_configure(config):
    """Register the marker of what runs at night only."""
    config.addinivalue_line(
        "markers",
        "nightly(quick=0): runs with --hypothesis-profile=nightly, or where its file is named on the command line; "
        "else, and with --hypothesis-profile=quick, only its first `quick` cases do",
    )


def pytest_ignore_collect(collection_path, config):
    """Leave out what has a job of its own, unless it is named on the command line."""
    if collection_path.parent == Path(__file__).parent and collection_path.name in _JOBS:
        return None if any(path.is_relative_to(collection_path) for path in _named(config)) else True
    return None


def pytest_collection_modifyitems(config, items):
    """Leave out what runs at night only, unless its file is named on the command line."""
    if is_nightly():
        return
    named = set() if config.getoption("--hypothesis-profile", None) == "quick" else _named(config)
    met, left_out = Counter(), set()
    for item in items:
        quick = [marker.kwargs.get("quick", 0) for marker in item.iter_markers("nightly")]
        if quick and item.path not in named:
            function = item.nodeid.partition("[")[0]
            met[function] += 1
            if met[function] > min(quick):
                left_out.add(item)
    config.hook.pytest_deselected(items=[item for item in items if item in left_out])
    items[:] = [item for item in items if item not in left_out]


def _named(config):
    """Return the files and folders of the command line."""
    return {(config.invocation_params.dir / argument.partition("::")[0]).resolve() for argument in config.args}


@pytest.fixture(scope="session")
def by_hand():
    """Return a function that makes a forest without bagging from nested trees.

    A tree is a list of rows by class (a leaf) or a tuple of a column, the tree on its left (values up to the
    threshold) and the one on its right; the threshold is 0.5, or stands behind the column.
    """

    def forest(n_columns, *trees):
        made = [_flat(tree) for tree in trees]
        return Forest(
            kind="RandomForestClassifier",
            trees=tuple(made),
            n_features=n_columns,
            feature_names=None,
            classes=tuple(range(made[0].value.shape[1])),
            observation=ClassCounts("totals"),
            draws=Draws(),
            n_samples=int(made[0].weight[0]),
            sklearn_version="1.9.1",
        )

    return forest


def _flat(nested) -> Tree:
    """Return nested nodes as arrays, parents first."""
    nodes = []

    def add(node):
        here = len(nodes)
        if isinstance(node, list):
            nodes.append((-1, -2.0, -1, -1, np.array(node, float)))
            return here
        column, *threshold, left, right = node
        nodes.append(None)
        left, right = add(left), add(right)
        rows = nodes[left][-1] + nodes[right][-1]
        nodes[here] = (column, *(threshold or [0.5]), left, right, rows)
        return here

    add(nested)
    feature, threshold, left, right, value = (np.array(part) for part in zip(*nodes, strict=True))
    n_rows = value.sum(axis=1)
    nowhere = np.zeros(len(nodes), bool)
    return Tree(left, right, feature, threshold, nowhere, value, n_rows, n_rows.astype(np.int64), None)
