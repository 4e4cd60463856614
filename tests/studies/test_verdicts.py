"""The grid of verdicts: what is judged, kept, summed up and judged again."""

from __future__ import annotations

from dataclasses import replace

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
def as_if_judged(monkeypatch, cells_here):
    """Let each setting have an answer by its seed of the attack, without any judgement; return what was asked."""
    asked = []

    def answered(setting, folder, workers):
        asked.append(setting)
        return answer(["passed", "failed", "inconclusive"][setting.attack_seed], setting)

    monkeypatch.setattr(verdicts, "answered", answered)
    return asked


def test_two_forests_are_trained_saved_and_judged(tmp_path, cells_here, capsys):
    main(["verdicts", *TINY, "--forests", "5 x depth 2", "full tree", "--store", str(tmp_path)])
    answers = verdicts.kept(tmp_path)
    assert [setting.forest for setting in answers] == ["5 x depth 2", "full tree"]
    for one in answers.values():
        assert one.verdict in ("passed", "failed", "inconclusive")
        assert (one.rule is None) == (one.verdict == "passed")
        assert one.error > 0.0
        assert one.bar > 0.0
        assert one.status not in ("error", "refused")
    printed = capsys.readouterr().out
    assert printed.count("| wine |") == 2
    assert "of 2 have a verdict" in printed


def test_a_hardened_forest_is_judged_without_its_counts(tmp_path, cells_here, capsys):
    words = ["--forests", "5 x depth 2", "--levels", "plain", "counts", "--bootstrap", "no", "--store", str(tmp_path)]
    main(["verdicts", *TINY, *words])
    plain, hardened = verdicts.kept(tmp_path).values()
    assert (plain.setting.level, hardened.setting.level) == ("plain", "counts")
    assert hardened.error > 0.0
    assert "| wine | 5 x depth 2, no bootstrap | counts | artifact |" in capsys.readouterr().out


def test_what_was_judged_is_not_judged_again(tmp_path, as_if_judged):
    words = ["verdicts", *TINY, "--forests", "defaults", "full tree", "--store", str(tmp_path)]
    main(words)
    main(words)
    assert [setting.forest for setting in as_if_judged] == ["defaults", "full tree"]
    assert list(verdicts.kept(tmp_path)) == as_if_judged


def test_another_seed_that_says_otherwise_is_listed_as_a_contradiction(tmp_path, as_if_judged, capsys):
    words = ["verdicts", *TINY, "--forests", "full tree", "--store", str(tmp_path)]
    assert main(words) == 0
    capsys.readouterr()
    assert main([*words, "--contradict", "--attack-seed", "1"]) == 1
    assert "1 judged again: 1 contradicted, 0 not reached by all" in capsys.readouterr().out


def test_another_seed_that_has_no_verdict_contradicts_none(tmp_path, as_if_judged, capsys):
    words = ["verdicts", *TINY, "--forests", "full tree", "--store", str(tmp_path)]
    main(words)
    assert main([*words, "--contradict", "--attack-seed", "2"]) == 0
    assert "1 judged again: 0 contradicted, 1 not reached by all" in capsys.readouterr().out


def test_what_has_no_verdict_is_not_judged_again(tmp_path, as_if_judged):
    words = ["verdicts", *TINY, "--forests", "full tree", "--store", str(tmp_path)]
    main([*words, "--attack-seed", "2"])
    main([*words, "--attack-seed", "1", "--contradict"])
    assert len(as_if_judged) == 1


@pytest.mark.parametrize(("error", "told"), [(0.102, 0), (0.104, 1), (None, 1)])
def test_who_knows_more_and_gets_less_is_told(error, told):
    setting = Setting("wine", "full tree")
    answers = [answer("passed", setting, error), answer("passed", replace(setting, adversary="published"))]
    assert f"artifact gets less than published, by more than 0.003: {told} of 1" in verdicts.summary(answers)


def test_the_judgements_that_went_over_their_box_the_most_are_listed_first():
    setting = Setting("wine", "full tree", seconds=20.0)
    answers = [replace(answer("failed", replace(setting, seed=seed)), box=5.0 + seed) for seed in range(14)]
    lines = verdicts.summary(answers)
    first = lines.index("longest, in seconds over the time box:")
    assert lines[first + 1] == "- -2.0 of 20 s: wine, 400 rows, full tree, artifact, plain"
    assert sum(line.startswith("- -") for line in lines) == 10


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
    asked = verdicts.study([Setting("adult", "full tree"), Setting("wine", "full tree")], tmp_path)
    assert asked.given == {"table": {"adult": tmp_path / "adult.csv", "wine": None}}
    with pytest.raises(FileNotFoundError, match=r"name the folder of adult\.csv with --datasets"):
        verdicts.table_of("adult", None)


def test_the_grid_has_117_forests():
    assert len(verdicts.settings_of(verdicts.TABLES, verdicts.FORESTS, ["artifact"], [0])) == 117
