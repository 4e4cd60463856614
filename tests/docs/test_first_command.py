"""The README's first command installs no extra, and runs in a checkout, whose tests it must not need."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

WITHOUT = """
import importlib.util, sys
import pytest

lacking = set(sys.argv[1].split(","))
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, *more: None if name in lacking else found(name, *more)
sys.modules.update(dict.fromkeys(lacking))
sys.exit(pytest.main(["-p", "pytest_draft.plugin.hooks", "-p", "no:cacheprovider", "--draft-demo", *sys.argv[2:]]))
"""


@pytest.mark.parametrize("lacking", ["hypothesis", "hypothesis,xdist,execnet,yaml,coverage"])
def test_the_demo_is_collected_in_a_checkout_without_what_only_tests_need(lacking):
    alone = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    alone.pop("PYTEST_ADDOPTS", None)
    command = [sys.executable, "-c", WITHOUT, lacking, "--collect-only", "-q"]
    run = subprocess.run(command, cwd=ROOT, env=alone, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout[-2_000:] + run.stderr[-2_000:]
    assert "default.joblib::reconstruction-error[artifact]" in run.stdout
