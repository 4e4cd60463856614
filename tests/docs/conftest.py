"""The README and the pages of the documentation: their text, their code blocks, a model to judge by them."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
FENCED = re.compile(r"^```(?:\{)?([\w-]*)(?:\})?[^\n]*\n(.*?)^```$", re.DOTALL | re.MULTILINE)

collect_ignore = [] if DOCS.is_dir() else sorted(path.name for path in Path(__file__).parent.glob("test_*.py"))


def page(name):
    """Return a page's text: ``README`` or the path of one in ``docs/`` without its suffix."""
    folder = DOCS if (DOCS / f"{name}.md").is_file() else ROOT
    return (folder / f"{name}.md").read_text(encoding="utf-8")


def pages():
    """Return the names of the README and of all pages."""
    found = sorted(path.relative_to(DOCS).with_suffix("").as_posix() for path in DOCS.rglob("*.md"))
    return ["README", *(name for name in found if not name.startswith("_build"))]


@pytest.fixture(scope="session")
def blocks():
    """Return a function that gives a page's code blocks of a language."""

    def of_page(name, language):
        return [text for written_in, text in FENCED.findall(page(name)) if written_in == language]

    return of_page


@pytest.fixture(scope="session")
def read_page():
    """Return the function that gives a page's text."""
    return page


@pytest.fixture(scope="session")
def all_pages():
    """Return the names of the README and of all pages."""
    return pages()


@pytest.fixture(scope="session")
def generated():
    """Return the module that says what the code says of itself."""
    sys.path.insert(0, str(DOCS / "_ext"))
    try:
        import generated as module
    finally:
        sys.path.remove(str(DOCS / "_ext"))
    return module


@pytest.fixture
def released(pytester):
    """A folder with a shallow forest and its data."""
    random = np.random.default_rng(0)
    table = pd.DataFrame(random.integers(0, 2, (60, 8)), columns=[f"b{i}" for i in range(8)])
    table["income"] = random.integers(0, 2, 60)
    forest = RandomForestClassifier(n_estimators=3, max_depth=1, random_state=0)
    joblib.dump(forest.fit(table.drop(columns="income"), table["income"]), pytester.path / "model.joblib")
    for name in ("train.csv", "people.csv"):
        table.to_csv(pytester.path / name, index=False)
    return pytester
