"""Training data stay out of pytest's own tracebacks: of a test that never asked for them, and after Ctrl-C."""

from __future__ import annotations

import pytest

from pytest_draft import isolation

TEXT = "Quokka-of-Rottnest"
LOUD = ("--showlocals", "--full-trace", "--tb=long", "-vv", "-rA")

OWN = f"""
import pandas as pd
import pytest

@pytest.fixture(scope="{{scope}}")
def where():
    return "{TEXT}"

@pytest.fixture(scope="{{scope}}")
def draft_training_data(where):
    return {{data}}

def test_own({{asked}}):
    assert not draft_{{which}}, "own failure"
"""
PAIR = f'(pd.DataFrame({{"c0": ["{TEXT}"] * 3}}), ["{TEXT}"] * 3)'
TABLE = f'pd.DataFrame({{"c0": ["{TEXT}"] * 3, "label": ["{TEXT}"] * 3}})'


@pytest.fixture
def own(project):
    """Return a function that writes a test of one's own, with training data in memory."""
    project.configure("shallow.joblib")

    def write(data=TABLE, scope="session", which="result", asked=None):
        asked = asked or f"draft_{which}"
        project.write("test_own.py", OWN.format(data=data, scope=scope, which=which, asked=asked))

    return write


@pytest.mark.nightly(quick=1)
@pytest.mark.parametrize("data", [TABLE, PAIR], ids=["table", "pair"])
@pytest.mark.parametrize(("which", "scope"), [("result", "session"), ("result", "function"), ("attack", "session")])
def test_a_failure_with_all_of_pytest_s_locals_shows_no_training_data(project, own, data, which, scope):
    own(data, scope, which)
    result = project.run(*LOUD)
    result.assert_outcomes(failed=1)
    assert not [line for line in result.outlines if TEXT in line and "return" not in line]  # which is the code above
    assert "<fixtures: " in result.stdout.str()  # pytest's own frames are there


def test_who_asks_for_the_data_gets_them_as_they_are(project, own):
    own(asked="draft_result, draft_training_data")
    project.write("conftest.py", "")
    text = (project.path / "test_own.py").read_text()
    text = text.replace('assert not draft_result, "own failure"', "assert type(draft_training_data) is pd.DataFrame")
    (project.path / "test_own.py").write_text(text)
    project.run(*LOUD).assert_outcomes(passed=1)


@pytest.mark.nightly
@pytest.mark.parametrize("by", ["fixture", "hook"])
def test_ctrl_c_with_a_full_trace_shows_no_training_data(project, own, monkeypatch, by):
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(isolation._Child, "_resident", interrupted)
    monkeypatch.setattr(isolation.children, "_idle", None)
    if by == "fixture":
        own(PAIR)
        arguments = ["--full-trace", "--showlocals"]
    else:
        hook = f"import pandas as pd\ndef pytest_draft_load_training_data(config, forest):\n    return {TABLE}\n"
        project.write("conftest.py", hook)
        arguments = ["--full-trace", "--showlocals", "--draft-forest=shallow.joblib"]
    result = project.pytester.runpytest_inprocess("-p", "no:hypothesispytest", *arguments, no_reraise_ctrlc=True)
    text = result.stdout.str()
    assert "KeyboardInterrupt" in text
    assert not [line for line in result.outlines if TEXT in line and "return" not in line]  # which is the code above
    assert "data = <training data: values not shown>" in text  # the frames' arguments are there
