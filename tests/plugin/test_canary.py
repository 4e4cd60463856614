"""Planted values of the training rows never show up in anything that a run writes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

from boosters import KINDS, booster, write
from pytest_draft import isolation

pytestmark = pytest.mark.usefixtures("examined_anew")

LOW, HIGH = 9_871_711, 9_871_714
PLANTED = (9_871_712, 9_871_713)
TEXT = "Quokka-of-Rottnest"
LABEL = "label-of-one-person"
CANARIES = (*map(str, (LOW, HIGH, *PLANTED)), "9.871711", "9.871714", "9.871712", "9.871713", TEXT, LABEL)
REPORTS = {"html": "html", "markdown": "md", "sarif": "sarif", "intoto": "intoto.json", "svr": "svr.json"}
REPORTS |= {"model-card": "card.md", "cyclonedx": "cdx.json", "gitlab": "gitlab.json"}
REPORTS |= {f"evidence:draft-report.evidence.{suffix}": f"evidence.{suffix}" for suffix in ("html", "md")}
REPORTS |= {f"fleet-{kind}:draft-report.fleet.{kind}": f"fleet.{kind}" for kind in ("html", "json")}
LOUD = ("--showlocals", "--tb=long", "-vv", "-rA", "--junitxml=junit.xml", "--log-level=DEBUG", "--draft-cache")
LOUD = (*LOUD, *(f"--draft-report={kind}" for kind in REPORTS))


@pytest.fixture
def planted(project, rows) -> pd.DataFrame:
    """Write a forest and rows with an ordinal column of planted values, two of which one person each has."""
    rng = np.random.default_rng(0)
    values = np.array([LOW, HIGH, *PLANTED])
    rows.insert(0, "age", np.concatenate([values, rng.choice(PLANTED, len(rows) - len(values))]))
    project.train(RandomForestClassifier(30, random_state=0), rows)
    return rows


@pytest.fixture
def nothing_leaks(project):
    """Return a function that looks for the canaries in all outputs of a run."""

    def check(result: pytest.RunResult) -> None:
        outputs = {
            "stdout": result.stdout.str(),
            "stderr": result.stderr.str(),
            "junit": (project.path / "junit.xml").read_text(encoding="utf-8"),
            "report": (project.path / "report.json").read_text(encoding="utf-8"),
        }
        written = [project.path / f"draft-report.{suffix}" for suffix in REPORTS.values()]
        outputs |= {path.name: path.read_text(encoding="utf-8") for path in written if path.exists()}
        kept = [path for path in (project.path / ".pytest_cache").rglob("*") if path.is_file()]
        outputs |= {str(path): path.read_bytes().decode("latin-1") for path in kept}
        found = {name: canary for name, text in outputs.items() for canary in CANARIES if canary in text}
        assert not found

    return check


@pytest.mark.nightly
def test_no_value_is_shown_when_the_rows_are_rebuilt(project, planted, nothing_leaks):
    result = project.judge("other.joblib", *LOUD, data="other.csv")
    result.assert_outcomes(failed=5, passed=2)
    assert project.result()["metrics"]["perfect_rows"] > 30  # planted values among them
    assert project.result()["domain"]["granted_to_adversary"][2].startswith("ordinal age: ")
    assert all((project.path / f"draft-report.{suffix}").is_file() for suffix in REPORTS.values())
    assert any("draft" in path.name for path in (project.path / ".pytest_cache").rglob("*"))
    nothing_leaks(result)


@pytest.mark.nightly
@pytest.mark.parametrize("kind", KINDS)
def test_no_value_is_shown_when_boosted_trees_are_judged(project, planted, nothing_leaks, kind):
    if kind in ("xgb", "lgb"):
        planted["label"] = (planted["label"] == "yes").astype(int)  # whose files number their classes
    name = write(booster(kind).fit(planted.drop(columns="label"), planted["label"]), project.path / "boosted")
    planted.to_csv(project.path / "boosted.csv", index=False)
    result = project.judge(name, *LOUD, data="boosted.csv")
    assert project.result()["metrics"]["perfect_rows"] > 0
    assert project.result()["verdict"] == "failed"
    nothing_leaks(result)


@pytest.mark.nightly
def test_no_value_is_shown_when_slices_are_judged(project, planted, nothing_leaks):
    project.write(
        "ours.toml",
        'schema_version = 1\nname = "ours"\nby_class = true\n'
        f'[[slice]]\nname = "old"\nif = {{age = {{above = {LOW}}}}}\n'
        "[rules.reconstruction-error]\nmax_error_of_split_half = 0.5\n",
    )
    result = project.judge("other.joblib", "--draft-policy=ours.toml", *LOUD, data="other.csv")
    result.assert_outcomes(failed=1)
    assert [one["rows"] > 0 for one in project.result()["slices"]] == [True, True, True]
    nothing_leaks(result)


@pytest.mark.nightly
def test_no_value_is_shown_when_the_rows_are_others(project, planted, nothing_leaks):
    planted["age"] = planted["age"].to_numpy()[::-1]
    planted.to_csv(project.path / "wrong.csv", index=False)
    result = project.judge("other.joblib", *LOUD, data="wrong.csv")
    assert project.result()["verdict"] in ("inconclusive", "failed")
    nothing_leaks(result)


@pytest.mark.nightly
def test_no_value_is_shown_when_a_domain_excludes_it(project, planted, nothing_leaks):
    project.write(
        "domain.toml",
        f'others = "binary"\n[attributes.age]\nkind = "ordinal"\nlow = {LOW}\nhigh = {LOW}\n',
    )
    result = project.judge("other.joblib", "--draft-domain=domain.toml", *LOUD, data="other.csv")
    told = {check["rule"]: check["result"] for check in project.result()["checks"]}
    assert [rule for rule, outcome in told.items() if outcome == "failed" and not rule.endswith("published")] == [
        "label-told"  # which needs no domain
    ]
    nothing_leaks(result)


@pytest.mark.nightly
def test_no_value_is_shown_when_text_makes_the_data_refused(project, planted, nothing_leaks):
    planted["age"] = planted["age"].astype(object)
    planted.loc[3, "age"] = TEXT
    planted.to_csv(project.path / "text.csv", index=False)
    result = project.judge("other.joblib", *LOUD, data="text.csv")
    assert "'age' holds text" in project.result()["reasons"][0]
    nothing_leaks(result)


@pytest.mark.nightly
def test_no_value_is_shown_when_a_label_is_unknown(project, planted, nothing_leaks):
    planted.loc[3, "label"] = LABEL
    planted.to_csv(project.path / "label.csv", index=False)
    result = project.judge("other.joblib", *LOUD, data="label.csv")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    nothing_leaks(result)


@pytest.mark.nightly
@pytest.mark.parametrize("broken", ['"', "a,b,c\n", "\x00\xff"])
def test_no_value_is_shown_when_the_table_cannot_be_parsed(project, planted, nothing_leaks, broken):
    lines = (project.path / "other.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    content = lines[0] + lines[1] + broken + "".join(lines[2:]) + f"{TEXT},{PLANTED[0]},1,1,1,1,1,1,1,1,1,1\n"
    (project.path / "broken.csv").write_bytes(content.encode("latin-1"))
    result = project.judge("other.joblib", *LOUD, data="broken.csv")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    nothing_leaks(result)


@pytest.mark.nightly
def test_no_value_is_shown_when_the_first_row_was_taken_for_a_header(project, planted, nothing_leaks):
    planted.to_csv(project.path / "headless.csv", index=False, header=False)
    result = project.judge("other.joblib", *LOUD, data="headless.csv")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    nothing_leaks(result)


@pytest.fixture
def bug_at(planted, at_stage, monkeypatch):
    """Return a function that makes a stage of the gate print a row, and raise with it in the message."""
    monkeypatch.setattr(isolation._Child, "is_as_new", lambda *_: True)  # else each bug costs the start of a child

    def plant(stage: str) -> None:
        code = f"""
        row = {planted.iloc[2].astype(str).tolist()}
        print(row, flush=True)
        print(row, file=sys.stderr, flush=True)
        os.system("echo {PLANTED[0]} {PLANTED[1]}; echo {PLANTED[0]} {PLANTED[1]} >&2")
        raise RuntimeError(f"cannot handle {{row}} of {{arguments}}")
        """
        at_stage(stage, code)

    return plant


@pytest.mark.nightly
def test_no_value_is_shown_and_nothing_breaks_when_something_prints_before_the_gate_starts(
    project, planted, nothing_leaks, in_child
):
    in_child(f"import sys\nprint({PLANTED[0]}, {TEXT!r})\nprint({PLANTED[0]}, file=sys.stderr)\n")
    result = project.judge("other.joblib", *LOUD, data="other.csv")
    assert project.result()["metrics"]["perfect_rows"] > 30
    nothing_leaks(result)


STAGES = ["rows_of", "infer", "known_others", "build_any", "reconstruct", "identify", "evaluate"]


@pytest.mark.nightly
@pytest.mark.parametrize("stage", STAGES)
def test_no_value_is_shown_when_a_bug_raises_with_a_row_in_its_message(project, nothing_leaks, bug_at, stage):
    bug_at(stage)
    result = project.judge("other.joblib", *LOUD, data="other.csv")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    by_all_other_rows = STAGES.index(stage) > STAGES.index("known_others")  # which need no attack
    told = {check["rule"]: check["result"] for check in project.result()["checks"]}
    labels_told = STAGES.index(stage) >= STAGES.index("known_others")  # which comes after
    assert told["label-told"] == ("failed" if labels_told else "inconclusive")
    assert told["given-all-other-rows"] == ("failed" if by_all_other_rows else "inconclusive")
    assert "internal error: RuntimeError" in project.result()["reasons"][0]
    nothing_leaks(result)


MARKED = """
import pandas as pd
import pytest

@pytest.fixture(scope="session")
def draft_training_data():
    return pd.read_csv("other.csv")

@pytest.mark.reconstruction_budget(max_perfect_rows=0)
def test_budget(draft_result, draft_attack):
    rebuilt = draft_attack()

@pytest.mark.reconstruction_budget(max_perfect_rows=0)
def test_own_failure(draft_result, draft_attack):
    rebuilt = draft_attack()
    examination, checks, policy = draft_result.examination, draft_result.checks, draft_result.policy
    assert draft_result.metrics["perfect_rows"] == 0
"""


@pytest.mark.nightly
def test_no_value_is_shown_when_marked_tests_fail_with_all_in_their_hands(project, planted, nothing_leaks):
    project.write("test_own.py", MARKED)
    project.configure("other.joblib")
    result = project.run("--draft-report=json:report.json", *LOUD)
    result.assert_outcomes(failed=2)
    nothing_leaks(result)


@pytest.mark.nightly
@pytest.mark.parametrize("items", [True, False], ids=["items", "marked"])
def test_no_value_is_shown_when_a_time_limit_of_another_plugin_ends_the_gate(
    project, planted, nothing_leaks, monkeypatch, items
):
    def ended(*_: object, **__: object) -> None:
        __tracebackhide__ = True
        pytest.fail("Timeout >300.0s")  # as pytest-timeout does: no Exception, so nothing catches it

    monkeypatch.setattr(isolation._Child, "_resident", ended)
    if items:
        result = project.judge("other.joblib", *LOUD, data="other.csv")
    else:
        project.write("test_own.py", MARKED)
        project.configure("other.joblib")
        result = project.run("--draft-report=json:report.json", *LOUD)
        project.path.joinpath("report.json").touch()  # no judgement, no report
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    nothing_leaks(result)


@pytest.mark.nightly
@pytest.mark.parametrize("data", ["other.csv", "wrong.csv"])
@pytest.mark.parametrize("knowledge", ["columns:age,c3+rows:25%", "rows:10", "informed", "columns:nobody"])
def test_no_value_is_shown_when_the_adversary_knows_it(project, planted, nothing_leaks, knowledge, data):
    planted["age"] = planted["age"].to_numpy()[::-1]
    planted.to_csv(project.path / "wrong.csv", index=False)
    result = project.judge("other.joblib", f"--draft-adversary=artifact+{knowledge}", *LOUD, data=data)
    assert project.result()["verdict"] in ("inconclusive", "failed")
    nothing_leaks(result)


@pytest.mark.nightly
@pytest.mark.parametrize("stage", ["grant", "known_rows", "held_of", "identify_in_order", "evaluate"])
def test_no_value_is_shown_when_a_bug_raises_with_what_the_adversary_knows(project, nothing_leaks, bug_at, stage):
    bug_at(stage)
    result = project.judge("other.joblib", "--draft-adversary=artifact+columns:age+informed", *LOUD, data="other.csv")
    assert "internal error: RuntimeError" in project.result()["reasons"][0]
    nothing_leaks(result)
