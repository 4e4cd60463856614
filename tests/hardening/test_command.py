"""The command: what it prints, and its exit codes."""

from __future__ import annotations

import joblib
import pytest

from fitted_models import fitted
from pytest_draft.__main__ import main


@pytest.fixture
def folder(tmp_path, monkeypatch):
    model, frame, labels = fitted("shallow forest", "text")
    joblib.dump(model, tmp_path / "model.joblib")
    frame.assign(label=labels).to_csv(tmp_path / "train.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_it_says_what_it_loads_what_it_changed_and_how_to_judge(folder, capsys):
    assert main(["harden", "model.joblib", "hardened.joblib", "--data", "train.csv", "--target", "label"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("Loading model.joblib, which runs the code in it")
    assert "hardened.joblib: hardened, level counts" in out
    assert "predict_proba: bit for bit the same on 60 rows" in out
    assert "random_state: 5 trees, set to None" in out
    assert "  pytest --draft-forest hardened.joblib --draft-data train.csv --draft-target label\n" in out
    assert joblib.load("hardened.joblib").steps[1][1].random_state is None


@pytest.mark.parametrize("name", ["model.json", "model.ubj", "model.txt", "MODEL.CBM"])
def test_a_file_of_boosted_trees_is_refused_with_the_reason_and_not_said_to_be_loaded(tmp_path, capsys, name):
    path = tmp_path / name
    path.write_text("{}", encoding="utf-8")
    assert main(["harden", str(path), str(tmp_path / "x.json")]) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "each leaf's value is an equation in the rows that reached it" in shown.err


def test_without_a_command_all_are_shown_and_nothing_is_done(capsys):
    assert main([]) == 2
    shown = capsys.readouterr().out
    assert all(name in shown for name in ("judge", "advise", "harden", "--version"))


def test_judge_ends_as_pytest_does(folder, monkeypatch):
    asked = []
    monkeypatch.setattr(pytest, "main", lambda arguments: asked.append(arguments) or pytest.ExitCode.TESTS_FAILED)
    given = ["judge", "model.joblib", "--data", "train.csv", "--adversary", "artifact", "--adversary", "published"]
    assert main(given) == 1
    adversaries = ["--draft-adversary=artifact", "--draft-adversary=published"]
    assert asked == [["--draft-only", "--draft-forest=model.joblib", "--draft-data=train.csv", *adversaries]]


def test_the_version_is_told(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("pytest-draft ")


def test_a_stronger_level_says_how_far_answers_are(folder, capsys):
    assert main(["harden", "model.joblib", "h.pkl", "--level", "decimals:1", "--data", "train.csv"]) == 0
    out = capsys.readouterr().out
    assert "predict_proba: another answer for" in out and "the largest difference is 0.0" in out
    assert "leaves rounded to 1 decimals" in out


def test_without_data_it_is_loud_about_thresholds(folder, capsys):
    assert main(["harden", "model.joblib", "h.joblib"]) == 0
    out = capsys.readouterr().out
    assert "THRESHOLDS AS THEY WERE" in out and "(--data)" in out


@pytest.mark.parametrize(
    "arguments, code, message",
    [
        (["model.joblib", "model.joblib"], 2, "never overwritten"),
        (["model.joblib", "h.txt"], 2, "h.txt"),
        (["model.joblib", "h.joblib", "--level", "some"], 2, "level 'some' is not known"),
        (["model.joblib", "h.joblib", "--data", "none.csv"], 1, "no such file"),
        (["none.joblib", "h.joblib"], 1, "none.joblib: no such file"),
    ],
)
def test_a_refusal_is_one_line_on_standard_error(folder, capsys, arguments, code, message):
    assert main(["harden", *arguments]) == code
    error = capsys.readouterr().err
    assert error.startswith("pytest_draft: ") and message in error and error.count("\n") == 1
    assert sorted(path.name for path in folder.iterdir()) == ["model.joblib", "train.csv"]


def test_no_command_is_wrong_usage(capsys):
    assert main([]) == 2
    with pytest.raises(SystemExit) as caught:
        main(["harden", "--help"])
    assert caught.value.code == 0
    assert "it is loaded, which runs what is in it" in " ".join(capsys.readouterr().out.split())
