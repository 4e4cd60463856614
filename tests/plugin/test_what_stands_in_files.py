"""What stands in a file fails it without any solving, and is told without any value."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import KNNImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

RULES = ("seeds-published", "counts-published", "per-row-vectors", "verbatim-data")
STRUCTURE = """
[rules.smallest-leaf]
min_rows = 3

[rules.pure-leaves]
max_share = 0.9

[rules.leaves-of-one-person]
max_share = 0.1
"""


@pytest.fixture
def policy(project):
    """Return an option: a policy of all rules on files, each an error."""
    named = "\n".join(f"[rules.{rule}]" for rule in RULES)
    severity = '[severity]\nseeds-published = "error"\ncounts-published = "error"\n'
    text = f'schema_version = 1\nname = "ours"\n{severity}{named}{STRUCTURE}'
    return "--draft-policy=" + project.write("ours.toml", text)


@pytest.fixture
def sentences(project, policy):
    """Return a function that judges a model with its rows, and gives the sentences of the rules that fail."""

    def judged(forest, frame: pd.DataFrame) -> dict[str, str]:
        project.train(forest, frame)
        result = project.judge("other.joblib", policy, "--draft-target=label", data="other.csv")
        assert result.ret == pytest.ExitCode.TESTS_FAILED
        return {check["rule"]: check["sentence"] for check in project.result()["checks"] if check["result"] == "failed"}

    return judged


@pytest.mark.nightly
def test_a_forest_with_its_trees_seeds_fails_without_solving(project, rows, sentences):
    failed = sentences(RandomForestClassifier(5, random_state=0, min_samples_leaf=3), rows)
    assert set(failed) == {"seeds-published", "counts-published"}
    assert failed["seeds-published"].startswith("the file holds the seeds of all 5 trees; ")
    judged = project.result()
    assert judged["solver_status"] == "not asked"
    told = {"seeded": 5, "draws": "rows", "counts": "rows of each class"}
    assert judged["published"] == {
        **told,
        "answers": None,
        "decimals": None,
        "left": False,
        "certain_leaves": 0,
        "found": None,
        "tried": 0,
    }
    assert judged["structure"]["smallest"] >= 3
    assert sum(judged["leaf_sizes"]["leaves"]) == judged["structure"]["number"]


@pytest.mark.nightly
def test_a_forest_of_balanced_classes_fails_by_its_labels(project, rows, sentences):
    failed = sentences(RandomForestClassifier(5, class_weight="balanced", random_state=0), rows)
    assert "_sample_weight (40), with an entry for each of 40 training rows" in failed["per-row-vectors"]
    assert failed["verbatim-data"] == "the file holds training data: _sample_weight (40) holds 1 training column"
    assert {"smallest-leaf", "pure-leaves", "leaves-of-one-person"} <= set(failed)
    assert project.result()["solver_status"] == "not asked"


@pytest.mark.nightly
def test_a_forest_with_out_of_bag_votes_fails_by_them(project, rows, sentences):
    failed = sentences(RandomForestClassifier(30, oob_score=True, random_state=0), rows)
    assert "oob_decision_function_ (40 x 2)" in failed["per-row-vectors"]
    assert "verbatim-data" not in failed
    assert project.result()["solver_status"] == "not asked"


@pytest.mark.nightly
def test_a_pipeline_that_keeps_its_rows_fails_by_them_and_its_rows_are_not_judged(project, rows, sentences):
    rows["c0"] = rows["c0"].where(rows.index % 7 > 0)
    failed = sentences(make_pipeline(KNNImputer(), RandomForestClassifier(5, random_state=0)), rows)
    judged = project.result()
    assert "steps[0][1]._fit_X (40 x 8) holds 40 training rows" in failed["verbatim-data"]
    assert "steps[0][1]._fit_X (40 x 8)" in failed["per-row-vectors"]
    assert judged["solver_status"] == "not covered"
    kept, not_covered = judged["reasons"]
    assert kept.startswith(
        "the file keeps training rows, as such objects do: steps[0][1]._fit_X (an array of float64, "
    )
    assert not_covered == (
        "other.joblib: it holds a Pipeline with a KNNImputer before its last step, which is not covered: save the "
        "forest alone and give it the data as that step encodes them (three lines: docs/how-to/pipelines.md, any other "
        "step)"
    )
    assert judged["artifact"]["n_trees"] == 5


def test_an_attack_on_rows_whose_encoding_is_not_covered_is_inconclusive(project, rows):
    project.train(make_pipeline(KNNImputer(), RandomForestClassifier(5, random_state=0)), rows)
    rules = "[rules.perfect-rows]\nmax_perfect_rows = 40\n[rules.entropy-reduction]\nmax_entropy_reduction = 1\n"
    ours = project.write("ours.toml", f'schema_version = 1\nname = "ours"\n{rules}')
    result = project.judge("other.joblib", f"--draft-policy={ours}", data="other.csv")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert {check["result"] for check in project.result()["checks"]} == {"inconclusive"}


@pytest.mark.nightly(quick=1)
@pytest.mark.parametrize("data", [None, "broken.csv", "narrow.csv"])
def test_the_file_is_judged_by_itself_where_data_are_missing_or_refused(project, rows, policy, data):
    project.train(RandomForestClassifier(5, class_weight="balanced", random_state=0), rows)
    rows.iloc[:, 3:].to_csv(project.path / "narrow.csv", index=False)
    project.write("broken.csv", 'c0,label\n1,"no')
    project.judge("other.joblib", policy, data=data)
    results = {check["rule"]: check["result"] for check in project.result()["checks"]}
    assert results["seeds-published"] == results["per-row-vectors"] == results["smallest-leaf"] == "failed"
    assert results["verbatim-data"] == ("failed" if data == "narrow.csv" else "inconclusive")
    assert project.result()["solver_status"] == "refused"


@pytest.mark.nightly
def test_a_value_that_one_person_has_is_told_by_its_encoder_alone(project, rows, sentences):
    rows.insert(0, "town", np.where(rows.index == 5, "Quokka-of-Rottnest", "Perth"))
    columns = make_column_transformer((OneHotEncoder(), ["town"]), remainder="passthrough")
    failed = sentences(make_pipeline(columns, RandomForestClassifier(5, min_samples_leaf=3)), rows)
    assert failed["verbatim-data"] == (
        "steps[0][1].transformers_[0][1].categories_[0] holds a value that only 1 training row has; "
        "min_rows_of_a_category asks for at least 2"
    )


def test_no_matched_value_is_in_any_output(project, rows, policy):
    town = np.where(rows.index % 2, "Quokka-of-Rottnest", "Woylie-of-Perup")
    rows.insert(0, "town", np.where(rows.index == 5, "label-of-one-person", town))
    rows.insert(1, "income", 9_871_000 + np.arange(len(rows)))
    columns = make_column_transformer((OneHotEncoder(), ["town"]), (KNNImputer(), ["income"]))
    model = make_pipeline(columns, RandomForestClassifier(5, random_state=0))
    model.kept = {"Quokka-of-Rottnest": rows["income"].tolist(), "Woylie-of-Perup": [rows.iloc[3].tolist()]}
    model.frame = rows
    project.train(model, rows)
    result = project.judge(
        *("other.joblib", policy, "--draft-target=label", "--showlocals", "--tb=long", "-vv", "-rA"),
        *("--junitxml=junit.xml", "--draft-report=html:report.html", "--draft-report=sarif:report.sarif"),
        data="other.csv",
    )
    assert "training rows" in str(project.result()["checks"])
    written = [path.read_text(encoding="utf-8") for path in map(project.path.joinpath, WRITTEN)]
    for text in (result.stdout.str(), result.stderr.str(), *written):
        assert not CANARIES.search(text)


CANARIES = re.compile(r"Quokka|Woylie|label-of-one|9[,.]?8710[,.]?[0-3]\d|9\.871\d*e\+0?6")
"""Towns, labels and incomes as somebody would write them; digests and seconds hold shorter digits by chance."""

WRITTEN = ("junit.xml", "report.json", "report.html", "report.sarif")
