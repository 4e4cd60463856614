"""A new machine, a read-only installation, no home: what is compiled has a place, and counts for no time box."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import replace

import joblib
import numba
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

from profiles import all_or
from pytest_draft import isolation
from pytest_draft.facts.case import Case
from pytest_draft.timebox import CLOCK, TimeBox

pytestmark = pytest.mark.usefixtures("examined_anew")


def run(code: str, **environment: str) -> str:
    """Return what a new Python says."""
    kept = {name: value for name, value in os.environ.items() if name not in ("NUMBA_CACHE_DIR", "HOME")}
    done = subprocess.run(
        [sys.executable, "-c", code], env=kept | environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture(scope="module", params=all_or(["artifact+informed"], ["artifact+informed", "published"]))
def case(tmp_path_factory, request) -> Case:
    """Return a small judgement whose effort ends it: one that compiles little, and at night one that compiles much."""
    folder, rng = tmp_path_factory.mktemp("compiled"), np.random.default_rng(0)
    rows = pd.DataFrame(rng.integers(0, 2, (30, 6)), columns=list("abcdef"))
    labels = rng.integers(0, 2, len(rows))
    joblib.dump(RandomForestClassifier(4, max_depth=3, random_state=0).fit(rows, labels), folder / "m.joblib")
    rows.assign(label=labels).to_csv(folder / "rows.csv", index=False)
    path, data = str(folder / "m.joblib"), str(folder / "rows.csv")
    return Case(path, data, "label", adversary=request.param, seconds=600.0, effort=0.05)


def test_a_time_box_does_not_pay_for_what_numba_compiles_meanwhile():
    @numba.njit
    def inner(x):
        return x + 1.0

    @numba.njit
    def outer(x):
        return inner(x) * 2.0

    since, stood, box = time.monotonic(), CLOCK.stood, TimeBox(60.0)  # in this order: all that passes is counted in
    assert outer(1.0) == 4.0
    compiled = CLOCK.stood - stood
    assert compiled > 0.0
    assert box.elapsed <= time.monotonic() - since - compiled + 1e-6
    assert outer(2.0) == 6.0
    assert CLOCK.stood - stood == compiled
    assert not CLOCK.is_stopped


def test_a_function_that_does_not_compile_lets_the_clock_go_on():
    @numba.njit
    def wrong():
        return object.nothing_of_this_name

    with pytest.raises(numba.TypingError):
        wrong()
    assert not CLOCK.is_stopped


@pytest.mark.nightly
def test_the_first_judgement_on_a_new_machine_says_the_same_as_the_second(case, tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    told = []
    (first, rebuilt), (second, again) = (isolation.run(case, listener=told.append) for _ in range(2))
    assert first.statistics["compile seconds"] > 0.0
    assert "compile seconds" not in second.statistics
    assert any(progress.is_stopped for progress in told)
    assert first.findings is not None
    assert replace(first, seconds=0.0, statistics={}) == replace(second, seconds=0.0, statistics={})
    assert (rebuilt.rows == again.rows).all()


@pytest.mark.nightly
def test_without_any_place_it_is_compiled_in_memory_and_the_judgement_is_the_same(case):
    judge = f"""
from numba.core import caching
caching.CacheImpl._locator_classes = []  # root can write everywhere
from pytest_draft.examine.flow import examine
from pytest_draft.facts.case import Case
examination, rebuilt = examine({case!r})
print(examination.findings, rebuilt.residual, "compile seconds" in examination.statistics)
"""
    here = isolation.run(case)[0]
    assert run(judge) == f"{here.findings} {here.residual} True"
