"""The grid of verdicts: what is judged, kept, summed up and judged again."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import pandas as pd
import pytest

from studies import verdicts
from studies.__main__ import main
from studies.verdicts import LABEL, Answer, Setting

TINY = ("--tables", "wine", "--rows", "20", "--seconds", "60", "--workers", "1")


def answer(verdict: str, setting: Setting = Setting("wine", "full tree"), error: float | None = 0.1) -> Answer:  # noqa: B008
    """Return an answer as if it had been judged."""
    return Answer(setting, verdict, None, None, "consistent", error, 0.05, 0.4, 7, None, None, None, 1.0, 1.0)


@pytest.fixture
def as_if_judged(monkeypatch):
    """Let each setting have an answer by its seed of the attack, without any judgement; return what was asked."""
    asked = []

    def answered(setting, folder, workers):
        asked.append(setting)
        return answer(["passed", "failed", "inconclusive"][setting.attack_seed], setting)

    monkeypatch.setattr(verdicts, "answered", answered)
    return asked


def test_two_forests_are_trained_saved_and_judged(tmp_path, capsys):
    output = tmp_path / "out.jsonl"
    main(["verdicts", *TINY, "--forests", "5 x depth 2", "full tree", "--output", str(output)])
    lines = [json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()]
    assert [line["setting"]["forest"] for line in lines] == ["5 x depth 2", "full tree"]
    for line in lines:
        assert line["verdict"] in ("passed", "failed", "inconclusive")
        assert (line["rule"] is None) == (line["verdict"] == "passed")
        assert line["error"] > 0.0
        assert line["bar"] > 0.0
        assert line["status"] not in ("error", "refused")
    printed = capsys.readouterr().out
    assert printed.count("| wine |") == 2
    assert "of 2 have a verdict" in printed


def test_a_hardened_forest_is_judged_without_its_counts(tmp_path, capsys):
    output = tmp_path / "out.jsonl"
    words = ["--forests", "5 x depth 2", "--levels", "plain", "counts", "--bootstrap", "no", "--output", str(output)]
    main(["verdicts", *TINY, *words])
    plain, hardened = (json.loads(line) for line in output.read_text(encoding="utf-8").splitlines())
    assert (plain["setting"]["level"], hardened["setting"]["level"]) == ("plain", "counts")
    assert hardened["error"] > 0.0
    assert "| wine | 5 x depth 2, no bootstrap | counts | artifact |" in capsys.readouterr().out


def test_what_was_judged_is_not_judged_again_and_a_line_that_was_cut_is(tmp_path, as_if_judged):
    output = tmp_path / "out.jsonl"
    words = ["verdicts", *TINY, "--forests", "defaults", "full tree", "--output", str(output)]
    main(words)
    main(words)
    assert len(as_if_judged) == 2
    output.write_text(output.read_text(encoding="utf-8")[:-20], encoding="utf-8")
    main(words)
    assert [setting.forest for setting in as_if_judged] == ["defaults", "full tree", "full tree"]
    assert len(verdicts.kept(output)) == len(output.read_text(encoding="utf-8").splitlines()) == 2


def test_another_seed_that_says_otherwise_is_listed_as_a_contradiction(tmp_path, as_if_judged, capsys):
    output = tmp_path / "out.jsonl"
    words = ["verdicts", *TINY, "--forests", "full tree", "--output", str(output)]
    assert main(words) == 0
    capsys.readouterr()
    assert main([*words, "--contradict", "--attack-seed", "1"]) == 1
    assert "1 judged again: 1 contradicted, 0 not reached by all" in capsys.readouterr().out


def test_another_seed_that_has_no_verdict_contradicts_none(tmp_path, as_if_judged, capsys):
    output = tmp_path / "out.jsonl"
    words = ["verdicts", *TINY, "--forests", "full tree", "--output", str(output)]
    main(words)
    assert main([*words, "--contradict", "--attack-seed", "2"]) == 0
    assert "1 judged again: 0 contradicted, 1 not reached by all" in capsys.readouterr().out


def test_what_has_no_verdict_is_not_judged_again(tmp_path, as_if_judged):
    output = tmp_path / "out.jsonl"
    words = ["verdicts", *TINY, "--forests", "full tree", "--output", str(output)]
    main([*words, "--attack-seed", "2"])
    main([*words, "--attack-seed", "1", "--contradict"])
    assert len(as_if_judged) == 1


@pytest.mark.parametrize(("error", "told"), [(0.102, 0), (0.104, 1), (None, 1)])
def test_who_knows_more_and_gets_less_is_told(error, told):
    setting = Setting("wine", "full tree")
    answers = [answer("passed", setting, error), answer("passed", replace(setting, adversary="published"))]
    assert f"artifact gets less than published, by more than 0.003: {told} of 1" in verdicts.summary(answers)


def test_an_answer_is_the_same_after_it_was_written():
    written = answer("failed")
    assert Answer.of(json.dumps(asdict(written))) == written


@pytest.mark.parametrize("name", verdicts.GENERATED)
def test_each_table_of_ones_own_has_a_label_and_numbers(name):
    table = verdicts.table_of(name, None)
    assert LABEL in table.columns
    assert len(table) >= 150
    assert table.notna().all(axis=None)
    assert all(pd.api.types.is_numeric_dtype(kind) for kind in table.dtypes)


def test_a_public_table_is_read_from_its_folder_and_asked_for_in_one_line(tmp_path):
    pd.DataFrame({"income": [0, 1], "age": [1, 0]}).to_csv(tmp_path / "adult.csv", index=False)
    assert list(verdicts.table_of("adult", tmp_path)) == [LABEL, "age"]
    with pytest.raises(FileNotFoundError, match=r"name the folder of adult\.csv with --datasets"):
        verdicts.table_of("adult", None)


def test_the_grid_has_ninety_forests():
    assert len(verdicts.settings_of(verdicts.TABLES, verdicts.FORESTS, ["artifact"], [0])) == 90
