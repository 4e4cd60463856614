"""The fixtures in a project's own tests, and what a project may put in their place."""

from __future__ import annotations

import inspect
from dataclasses import fields

import numpy as np
import pytest

from pytest_draft.plugin import fixtures
from pytest_draft.plugin.results import DraftResult

SAVE = """
import numpy as np

def test_save(draft_attack, draft_forest):
    rebuilt = draft_attack()
    np.savez({name!r}, rows=rebuilt.rows, labels=rebuilt.labels, cells=rebuilt.cells)
"""

DOMAIN = 'others = "binary"\n'


@pytest.mark.nightly
def test_the_result_shows_metrics_and_verdict_when_a_test_asks_for_it(project):
    project.configure()
    project.write(
        "test_own.py",
        "def test_own(draft_result):\n"
        "    assert draft_result.verdict == 'failed'\n"
        "    assert draft_result.metrics['perfect_rows'] == 40\n"
        "    assert draft_result.metrics['reconstruction_error'] == 0\n"
        "    assert draft_result.examination.solver_status == 'unique'\n"
        "    failed = {check.rule for check in draft_result.checks if check.result == 'failed'}\n"
        "    of_attack = {'reconstruction-error', 'perfect-rows', 'determined-rows', 'given-all-other-rows'}\n"
        "    assert failed == {*of_attack, 'label-told', 'membership', 'counts-published'}\n",
    )
    project.run().assert_outcomes(passed=1)


@pytest.mark.nightly
def test_a_result_is_printed_as_one_line_and_its_attributes_are_documented(project):
    project.configure("shallow.joblib")
    project.write("test_own.py", "def test_own(draft_result): print(draft_result)\n")
    result = project.run("-s")
    (line,) = [line for line in result.outlines if "<DraftResult" in line]
    assert "<DraftResult passed: " in line
    assert "shallow.joblib, adversary artifact, error 0." in line
    assert " of 40 rows perfect>" in line
    documented = inspect.getdoc(fixtures.draft_result.__wrapped__)
    assert [one.name for one in fields(DraftResult) if f"``{one.name}``" not in documented] == []


def test_an_unmarked_test_decides_by_itself_and_leaves_no_trace_in_the_report(project):
    project.configure()
    project.write("test_own.py", "def test_own(draft_result): ...\n")
    result = project.run()
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*gives away*")


@pytest.mark.nightly
def test_the_policy_is_the_shipped_default_unless_another_is_named(project, policy):
    project.configure()
    project.write("ours.toml", policy(0.25))
    project.write("test_own.py", "def test_own(draft_policy): assert draft_policy.name == 'default'\n")
    project.run().assert_outcomes(passed=1)
    project.write("test_own.py", "def test_own(draft_policy): assert draft_policy.name == 'ours'\n")
    project.run("--draft-policy=ours.toml").assert_outcomes(passed=1)


def test_one_line_is_shown_when_no_forest_is_configured(project):
    project.mark("max_error=0.1")
    result = project.run()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["no forest: give --draft-forest, *"])
    result.stdout.no_fnmatch_line("*Traceback*")


IN_MEMORY = {
    "frame": "pd.read_csv('train.csv')",
    "pair": "(pd.read_csv('train.csv').drop(columns='label'), pd.read_csv('train.csv')['label'])",
    "arrays": "(pd.read_csv('train.csv').drop(columns='label').to_numpy(), pd.read_csv('train.csv')['label'].tolist())",
}


@pytest.mark.nightly
@pytest.mark.parametrize("data", IN_MEMORY)
def test_data_can_come_from_a_projects_own_fixture(project, data):
    project.write("pytest.ini", "[pytest]\ndraft_forest = bagged.joblib\ndraft_data = strangers.csv\n")
    project.mark("max_perfect_rows=40, max_error=0.0")
    project.write(
        "conftest.py",
        "import pandas as pd, pytest\n"
        "@pytest.fixture(scope='session')\n"
        f"def draft_training_data(): return {IN_MEMORY[data]}\n",
    )
    project.run("--draft-report=json:report.json").assert_outcomes(failed=1)
    judged = project.result()
    assert judged["metrics"]["rows_in_order"] == 40
    assert judged["data"] == {
        "path": "given in memory",
        "sha256": None,
        "rows": 40,
        "columns": 8,
        "unused_columns": [],
        "record_share": 1.0,
    }


def test_data_that_are_no_table_are_refused_with_one_line(project):
    project.configure()
    project.mark("max_error=0.1")
    project.write(
        "conftest.py",
        "import pytest\n@pytest.fixture(scope='session')\ndef draft_training_data(): return {'a': [1]}\n",
    )
    result = project.run("--draft-report=json:report.json")
    assert result.parseoutcomes() == {"inconclusive": 1}
    assert "a dict is not a table" in project.result()["reasons"][0]


@pytest.mark.nightly
def test_a_forest_can_come_from_a_projects_own_fixture(project):
    project.mark("max_perfect_rows=10")
    project.write(
        "conftest.py",
        "import pandas as pd, pytest\n"
        "@pytest.fixture(scope='session')\ndef draft_forest(): return 'leaking.joblib'\n"
        "@pytest.fixture(scope='session')\ndef draft_training_data(): return pd.read_csv('train.csv')\n",
    )
    result = project.run("--draft-report=json:report.json")
    result.assert_outcomes(failed=1)
    assert project.result()["metrics"]["perfect_rows"] == 40
    assert project.result()["artifact"]["path"] == "leaking.joblib"


@pytest.mark.nightly
def test_the_attack_returns_the_reconstruction_once_for_all_who_ask(project):
    project.configure()
    project.write(
        "test_own.py",
        "import pandas as pd\n"
        "seen = []\n"
        "def test_rows(draft_attack):\n"
        "    rebuilt = draft_attack()\n"
        "    seen.append(rebuilt)\n"
        "    truth = pd.read_csv('train.csv').drop(columns='label').to_numpy().tolist()\n"
        "    assert sorted(rebuilt.rows.tolist()) == sorted(truth)\n"
        "def test_again(draft_attack):\n"
        "    assert draft_attack() is seen[0]\n"
        "    assert draft_attack(adversary='artifact') is seen[0]\n"
        "    assert draft_attack('published') is not seen[0]\n",
    )
    project.run().assert_outcomes(passed=2)


def test_the_attack_returns_nothing_when_the_model_is_refused(project):
    (project.path / "empty.joblib").write_bytes(b"")
    project.configure("empty.joblib")
    project.write("test_own.py", "def test_own(draft_attack): assert draft_attack() is None\n")
    project.run().assert_outcomes(passed=1)


@pytest.mark.nightly
def test_an_unknown_adversary_of_the_attack_is_told_with_the_known(project):
    project.configure()
    project.write("test_own.py", "def test_own(draft_attack): draft_attack('nobody')\n")
    result = project.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*unknown adversary 'nobody'; known are: artifact, published, served, served+labels"])


@pytest.mark.nightly
@pytest.mark.parametrize("forest", ["leaking", "bagged", "shallow"])
def test_the_attack_never_sees_the_truth_when_a_domain_is_given(project, forest):
    project.write("domain.toml", DOMAIN)
    saved = []
    for data in ("train.csv", "strangers.csv", "shuffled.csv"):
        project.write("test_own.py", SAVE.format(name=f"{data}.npz"))
        result = project.run(
            f"--draft-forest={forest}.joblib",
            f"--draft-data={data}",
            "--draft-domain=domain.toml",
            "--draft-full",  # strangers' rows are attacked all the same
            "test_own.py",
        )
        assert result.parseoutcomes()["passed"] >= 1
        with np.load(project.path / f"{data}.npz") as arrays:
            saved.append({name: arrays[name].tobytes() for name in arrays.files})
    assert saved[0] == saved[1] == saved[2]


@pytest.mark.nightly
def test_the_attack_needs_no_data_when_a_domain_is_given(project):
    project.write("domain.toml", DOMAIN)
    project.write("pytest.ini", "[pytest]\ndraft_forest = leaking.joblib\ndraft_domain = domain.toml\n")
    project.write(
        "test_own.py",
        "def test_own(draft_attack, draft_result):\n"
        "    assert draft_attack().rows.shape == (40, 8)\n"
        "    assert draft_result.verdict == 'inconclusive'\n",
    )
    project.run().assert_outcomes(passed=1)


@pytest.mark.nightly
def test_another_model_under_the_same_path_is_judged_anew(project):
    project.write(
        "conftest.py",
        "import shutil, pathlib, pytest\n"
        "here = pathlib.Path(__file__).parent\n"
        "@pytest.fixture(scope='session', params=['shallow', 'leaking'])\n"
        "def draft_forest(request):\n"
        "    return pathlib.Path(shutil.copy(here / f'{request.param}.joblib', here / 'model.joblib'))\n",
    )
    project.write(
        "test_marked.py",
        "import pytest\n@pytest.mark.reconstruction_budget(max_perfect_rows=35)\ndef test_release(draft_result): ...\n",
    )
    project.run("--draft-data=train.csv").assert_outcomes(passed=1, failed=1)
