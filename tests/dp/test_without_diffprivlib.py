"""Without diffprivlib private forests can be imported and made; fitting one says what to install."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from pytest_draft.dp import GaussianForestClassifier, LaplaceForestClassifier
from studies.dp_forests import papers_forest


@pytest.fixture
def missing(monkeypatch):
    """Hide diffprivlib."""
    for module in ("diffprivlib", *(name for name in sys.modules if name.startswith("diffprivlib."))):
        monkeypatch.setitem(sys.modules, module, None)


@pytest.mark.nightly
def test_importing_the_estimators_does_not_import_diffprivlib():
    script = "import sys, pytest_draft.dp, studies.dp_forests; assert 'diffprivlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120)


@pytest.mark.parametrize(
    "fit",
    [
        lambda X, y: LaplaceForestClassifier().fit(X, y),
        lambda X, y: GaussianForestClassifier().fit(X, y),
        lambda X, y: papers_forest(X, y, 2, 2, 1.0, 0),
    ],
)
def test_fitting_says_in_one_line_what_to_install(fit, missing):
    with pytest.raises(ImportError, match=r"needs diffprivlib \(.*\): pip install 'pytest-draft\[dp\]'$") as caught:
        fit(np.zeros((2, 2)), [0, 1])
    assert str(caught.value).isprintable()
