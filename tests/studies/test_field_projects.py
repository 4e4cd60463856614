"""Projects as people write them: what each script says of itself, and the study's table on projects made up for it."""

from __future__ import annotations

import ast

import pytest

from studies import field_projects
from studies.__main__ import main
from studies.field_projects import FOLDER, Said, projects

SCRIPTS = sorted(FOLDER.glob("*.py"))

MAKE_DATA = """
from sklearn.datasets import load_iris
load_iris(as_frame=True).frame.assign(target=lambda one: one["target"] == 2).to_csv("data.csv", index=False)
"""

TRAIN = """
import pickle
import numpy as np
import pandas as pd
from sklearn.tree import DecisionTreeClassifier
table = pd.read_csv("data.csv")
rows, labels = table.drop(columns="target"), table["target"]
tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(rows, labels)
pickle.dump(tree, open("model.pkl", "wb"))
pickle.dump("petals", open("about.pkl", "wb"))
np.savez("fit.npz", X=rows.to_numpy(float), y=labels.to_numpy(), columns=list(rows))
"""


def test_there_are_thirty_scripts_with_numbers():
    assert [script.name[:3] for script in SCRIPTS] == [f"{number:02}_" for number in range(1, 31)]
    assert [project.name for project in projects()] == [script.stem for script in SCRIPTS]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_script_says_in_one_line_what_is_particular_and_has_the_parts_that_the_study_needs(script):
    text = script.read_text(encoding="utf-8")
    assert len(ast.get_docstring(ast.parse(text)).splitlines()) == 1
    data, train, by_hand = (
        part.strip() for part in text.replace("# --- the rows", "# --- train.py").split("# --- train.py")
    )
    assert '.to_csv("data.csv"' in data
    assert 10 <= sum(bool(line.strip()) for line in train.splitlines()) <= 40
    (saved,) = (project.saved for project in projects() if project.name == script.stem)
    assert f'"{saved}"' in train
    assert 'np.savez("fit.npz", X=' in by_hand


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Write a project of one script in the place of the thirty."""
    monkeypatch.setattr(field_projects, "FOLDER", tmp_path / "field")
    (tmp_path / "field").mkdir()
    script = tmp_path / "field" / "01_iris.py"
    script.write_text(f'TARGET = "target"\nSAVED = "model.pkl"\n{MAKE_DATA}{TRAIN}')
    return script


@pytest.fixture
def others(tmp_path):
    """Write a folder with a project whose scripts are two, and one that cannot be made."""
    for name, train in (("peonies", TRAIN), ("thistles", "import no_such")):
        folder = tmp_path / "others" / name
        folder.mkdir(parents=True)
        (folder / "make_data.py").write_text(MAKE_DATA)
        (folder / "train.py").write_text(train)
        (folder / "target.txt").write_text("target\n")
    return tmp_path / "others"


def test_each_project_is_judged_from_its_own_folder_and_counted(project, others, monkeypatch, capsys):
    asked = []
    answers = {
        ("01_iris", "data.csv"): Said("failed", "1 tree", "the rows | were found", 3.2),
        ("01_iris", "fit.npz"): Said("failed"),
        ("peonies", "data.csv"): Said("inconclusive", "1 tree", "give these " * 50, 2.0, True),
        ("peonies", "fit.npz"): Said("passed"),
    }

    def judged(folder, model, data, target):
        asked.append((model, target))
        return answers[folder.name, data]

    monkeypatch.setattr(field_projects, "judged", judged)
    assert main(["field", "--also", str(others), "--right"]) == 1
    assert asked == [("model.pkl", "target"), ("model.pkl", "y")] * 2
    iris, peonies, thistles, *_, counts, right = capsys.readouterr().out.splitlines()[2:]
    assert iris == "| 01_iris | 1 tree | the rows \\| were found | failed | 3 | failed |"
    assert peonies.startswith("| peonies | 1 tree | give these give")
    assert peonies.endswith(" ... | inconclusive | 2 | passed |")
    assert thistles.startswith("| thistles | - | train.py failed: ModuleNotFoundError: ")
    assert counts == "verdict: 1 of 3; one action: 1 of 3"
    assert right == "the verdict of the rows made by hand: 1 of 2"


def test_what_a_project_made_is_kept_where_a_folder_is_named(project, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(field_projects, "judged", lambda *_: Said("passed"))
    assert main(["field", "--names", "01", "--folder", str(tmp_path / "kept")]) == 0
    assert {path.name for path in (tmp_path / "kept" / "01_iris").iterdir()} >= {"data.csv", "model.pkl", "fit.npz"}
    assert "verdict: 1 of 1" in capsys.readouterr().out


@pytest.mark.nightly
def test_the_gate_judges_the_file_and_the_raw_table_and_then_the_rows_made_by_hand(project, capsys):
    assert main(["field", "--right"]) == 0
    line = capsys.readouterr().out.splitlines()[2]
    assert line.startswith("| 01_iris | DecisionTreeClassifier, 1 tree, 4 columns, 2 classes | ")
    assert line.split(" | ")[3] in ("passed", "failed")
    assert line.endswith(f" | {line.split(' | ')[3]} |")


def test_a_table_that_cannot_be_read_is_one_action(project, capsys):
    project.write_text(project.read_text() + '\nopen("data.csv", "w").write("target;b\\n1;2\\n")\n')
    assert main(["field"]) == 0
    printed = capsys.readouterr().out
    assert "semicolons" in printed
    assert "one action: 1 of 1" in printed


def test_where_pytest_ends_without_a_report_its_last_line_is_what_was_said(tmp_path):
    said = field_projects.judged(tmp_path, "no.pkl", "no.csv", "target")
    assert said.verdict == "none"
    assert said.rows.startswith("ERROR: --draft-forest: no file matches ")
