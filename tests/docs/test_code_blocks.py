"""The examples of the README and of the documentation, run as a reader would run them."""

from __future__ import annotations

import argparse
import importlib
import io
import json
import shlex
import shutil
import subprocess
from collections import Counter
from datetime import date

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier, VotingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from pytest_draft import documents
from pytest_draft.__main__ import main
from pytest_draft.artifact import read
from pytest_draft.data import read_domain
from pytest_draft.examine.flow import examine
from pytest_draft.facts.case import Case
from pytest_draft.plugin.inputs import NamedFiles
from pytest_draft.plugin.manifest import read_manifest
from pytest_draft.policy import own_rules
from pytest_draft.policy.policy import read_policy

RUN_BELOW = {
    "tutorial": {"python": 2, "toml": 1, "yaml": 1},
    "how-to/adversaries": {"toml": 1},
    "how-to/ci": {"yaml": 2},
    "how-to/evidence": {"bash": 1, "toml": 1},
    "how-to/extending": {"python": 3, "toml": 2},
    "how-to/folders": {"sh": 1, "toml": 1},
    "how-to/from-failed-to-released": {"python": 1},
    "how-to/hardening": {"sh": 1, "python": 1},
    "how-to/ledger": {"sh": 1},
    "how-to/own-tests": {"python": 2},
    "how-to/pipelines": {"sh": 1, "python": 2},
    "how-to/policies": {"bash": 1, "toml": 5},
    "how-to/private-forests": {"python": 1, "bash": 1},
    "how-to/signing": {"sh": 2},
    "how-to/registry": {"bash": 1, "toml": 1, "yaml": 1},
    "how-to/training-data": {"sh": 4, "python": 2},
    "how-to/trees-and-rule-lists": {"toml": 1},
    "how-to/versions": {"python": 1, "sh": 1},
    "README": {"bash": 2},
}
"""How many blocks of each language the tests below, and those of the tutorial and the action, are about."""


def test_no_page_has_an_example_that_nothing_runs(all_pages, blocks):
    languages = ("python", "toml", "yaml", "sh", "bash")
    found = {page: Counter({kind: len(blocks(page, kind)) for kind in languages}) for page in all_pages}
    assert {page: dict(+kinds) for page, kinds in found.items() if +kinds} == RUN_BELOW


def test_the_model_of_the_walk_fails_by_what_its_file_holds(blocks, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (code,) = blocks("how-to/from-failed-to-released", "python")
    exec(compile(code, "the walk", "exec"), {})
    assert [len(pd.read_csv(name)) for name in ("train.csv", "rest.csv")] == [400, 169]
    found, _ = examine(Case("model.joblib", "train.csv", "target", attack=False))
    assert found.artifact.published.counts == "rows of each class"
    assert found.artifact.published.seeded == 100
    assert not found.reasons


def test_the_command_to_judge_a_model_works_as_it_stands(released, blocks):
    command = next(block for block in blocks("README", "") if block.startswith("pytest --draft-forest"))
    result = released.runpytest_inprocess(*command.split()[1:])
    result.assert_outcomes(passed=7)


def test_the_commands_of_the_readme_are_the_demo_and_the_tests(read_page, blocks):
    demo, tests = blocks("README", "bash")
    assert demo == "pip install . && pytest --draft-demo\n"
    assert tests.startswith("pip install '.[test]' && pytest")
    assert "<!-- the test command -->\n```bash\n" + tests in read_page("README")


def test_the_registry_is_read_as_it_stands(tmp_path, blocks):
    (text,) = blocks("how-to/registry", "toml")
    (tmp_path / "registry.toml").write_text(text)
    named = ("credit/models/a.joblib", "credit/models/b.joblib", "churn/latest.skops")
    for name in (*named, "credit/train.csv", "churn/train.parquet", "churn/holdout.parquet", "churn/domain.toml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    found = read_manifest(tmp_path / "registry.toml", NamedFiles()).models
    assert [str(path.relative_to(tmp_path)) for path in found] == list(named)
    assert [(inputs.target, len(inputs.files)) for inputs in found.values()] == [
        ("default", 2),
        ("default", 2),
        ("left", 3),
    ]


def test_the_command_to_record_a_release_works_as_it_stands(released, blocks):
    (command,), (told, *_) = blocks("how-to/ledger", "sh"), blocks("how-to/ledger", "text")
    result = released.runpytest_inprocess(*command.split()[1:])
    result.stdout.fnmatch_lines([told.split(" 6f0c")[0] + " *"])
    assert (released.path / "draft-released.toml").is_file()


def test_the_ways_to_give_training_data_work_as_they_stand(pytester, blocks, monkeypatch):
    random = np.random.default_rng(0)
    people = pd.DataFrame(random.integers(0, 2, (100, 6)), columns=list("abcdef"))
    people["income"] = np.where(people.sum(axis=1) + random.integers(0, 3, 100) > 4, "high", "low")
    people.to_csv(pytester.path / "people.csv", index=False)
    script, fixture = blocks("how-to/training-data", "python")
    (pytester.path / "train.py").write_text(script)
    assert pytester.runpython("train.py").ret == 0
    made = {"__name__": "train"}
    exec(script, made)
    train = made["load_training_data"]()
    train.drop(columns="income").to_csv(pytester.path / "X_train.csv", index=False)
    train["income"].to_csv(pytester.path / "y_train.csv")
    for command in blocks("how-to/training-data", "sh"):
        result = pytester.runpytest_inprocess(*shlex.split(command)[1:], "--draft-report=json:report.json")
        assert result.parseoutcomes().get("passed", 0) >= 3
        (judged,) = json.loads((pytester.path / "report.json").read_text(encoding="utf-8"))["results"]
        assert judged["data"]["rows"] == 80
        assert not any("not trained on" in reason for reason in judged["reasons"])
    pytester.makeconftest(fixture)
    pytester.syspathinsert()
    pytester.makepyfile("def test_data(draft_result): assert draft_result.metrics['n_rows'] == 80")
    pytester.runpytest_inprocess("-o", "draft_forest=model.joblib", "-o", "draft_target=income").assert_outcomes(
        passed=1
    )


def test_the_command_to_judge_a_registry_works_as_it_stands(released, blocks):
    (command,) = blocks("how-to/registry", "bash")
    entry = 'schema_version = 1\n[[entry]]\nmodel = "model.joblib"\ndata = "train.csv"\ntarget = "income"\n'
    (released.path / "registry.toml").write_text(entry)
    released.runpytest_inprocess(*command.split()[1:]).assert_outcomes(passed=7)
    assert {"draft-report.json", "draft-fleet.html"} <= {path.name for path in released.path.iterdir()}


@pytest.mark.nightly
def test_the_job_for_gitlab_judges_and_writes_its_reports(released, blocks):
    yaml = pytest.importorskip("yaml", reason="needs PyYAML, of the extra test")
    (job,) = yaml.safe_load(blocks("how-to/ci", "yaml")[1]).values()
    (command,) = [line for line in job["script"] if line.startswith("pytest ")]
    released.runpytest_inprocess(*shlex.split(command)[1:]).assert_outcomes(passed=7)
    assert job["artifacts"]["paths"] == ["draft-report/"]
    assert all((released.path / report).stat().st_size for report in job["artifacts"]["reports"].values())
    assert {
        one["severity"] for one in json.loads((released.path / job["artifacts"]["reports"]["codequality"]).read_text())
    } <= {"minor"}


@pytest.mark.nightly
@pytest.mark.skipif(
    not all(map(shutil.which, ("model_signing", "openssl", "jq", "bash"))), reason="nothing to sign with"
)
def test_a_model_is_signed_and_verified_as_it_stands(released, blocks, monkeypatch):
    def run(script: str) -> int:
        return subprocess.run(["bash", "-c", script], cwd=released.path, check=False).returncode

    (released.path / "release").mkdir()
    (released.path / "model.joblib").rename(released.path / "release" / "model.joblib")
    assert run("openssl ecparam -name prime256v1 -genkey -noout -out signing.pem") == 0
    assert run("openssl ec -in signing.pem -pubout -out public.pem") == 0
    sign, verify = blocks("how-to/signing", "sh")
    assert run(sign) == 0
    report = json.loads((released.path / "draft-report.json").read_text(encoding="utf-8"))
    monkeypatch.setenv("POLICY_SHA256", report["results"][0]["policy"]["sha256"])
    assert run(verify) == 0
    monkeypatch.setenv("POLICY_SHA256", "0" * 64)
    assert run(verify) != 0
    assert run(sign.replace("model_signing sign", "echo >> release/model.joblib\nmodel_signing sign")) != 0


def test_a_folder_is_judged_as_it_stands(released, blocks, tmp_path):
    (command,), (listed,) = blocks("how-to/folders", "sh"), blocks("how-to/folders", "toml")
    (released.path / "release").mkdir()
    (released.path / "model.joblib").rename(released.path / "release" / "model.joblib")
    (released.path / "release" / "MLmodel").write_text("flavors: {sklearn: {pickled_model: model.joblib}}")
    (released.path / "release" / "logo.png").write_bytes(b"\x89PNG\0")
    policy = released.path / "policy.toml"
    rules = "[rules.verbatim-data]\n"
    policy.write_text(f'schema_version = 1\nname = "listed"\n{listed}{rules}')
    arguments = command.split()[1:]
    result = released.runpytest_inprocess(*arguments)
    assert "logo.png (5 bytes of an unknown kind" in result.stdout.str()
    released.runpytest_inprocess(*arguments, f"--draft-policy={policy}").assert_outcomes(passed=1)
    (released.path / "release" / "input_example.csv").write_text((released.path / "train.csv").read_text())
    result = released.runpytest_inprocess(*arguments, f"--draft-policy={policy}")
    result.assert_outcomes(failed=1)
    assert "input_example.csv" in result.stdout.str()


def test_the_command_to_judge_a_tree_works_as_it_stands(released, blocks):
    table = pd.read_csv(released.path / "train.csv")
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(table.drop(columns="income"), table["income"])
    joblib.dump(tree, released.path / "tree.joblib")
    commands = blocks("how-to/trees-and-rule-lists", "")
    (command,) = [block for block in commands if block.startswith("pytest --draft-forest tree.joblib")]
    released.runpytest_inprocess(*command.split()[1:]).assert_outcomes(passed=3)


def test_a_model_is_hardened_as_it_stands(released, blocks, monkeypatch, capsys):
    monkeypatch.chdir(released.path)
    (command,) = blocks("how-to/hardening", "sh")
    assert command.startswith("python -m pytest_draft harden")
    assert main(command.split()[3:]) == 0
    out = capsys.readouterr().out
    (judged,) = blocks("how-to/hardening", "text")
    assert judged.strip() in out
    (with_raw,) = blocks("how-to/hardening", "console")
    outcomes = released.runpytest_inprocess(*with_raw.split()[1:]).parseoutcomes()
    assert outcomes["passed"] >= 6
    assert "failed" not in outcomes
    (in_memory,) = blocks("how-to/hardening", "python")
    table = pd.read_csv("train.csv")
    (released.path / "hardened.joblib").unlink()
    exec(in_memory, {"model": joblib.load("model.joblib"), "X": table.drop(columns="income")})
    assert joblib.load("hardened.joblib").estimators_[0].tree_.impurity.tolist() == [0, 0, 0]


def test_an_update_is_judged_as_it_stands(pytester, blocks, monkeypatch):
    monkeypatch.chdir(pytester.path)
    (training,) = blocks("how-to/versions", "python")
    exec(training, {})
    (command,) = blocks("how-to/versions", "sh")
    words = shlex.split(command)[1:]
    pytester.runpytest_inprocess(*words[: words.index("--draft-with")]).assert_outcomes(passed=9)
    result = pytester.runpytest_inprocess(*words)
    result.assert_outcomes(failed=1, passed=8)
    (said, *_) = blocks("how-to/versions", "console")
    assert said.strip() in result.stdout.str()


def test_the_rule_list_is_judged_as_it_stands(released, blocks):
    (text,) = blocks("how-to/trees-and-rule-lists", "toml")
    released.makefile(".toml", list=text)
    rules = read(released.path / "list.toml").model
    assert rules.counts.tolist() == [[31, 112], [90, 104], [402, 61]]
    (released.path / "domain.toml").write_text(
        '[attributes.age]\nkind = "ordinal"\nlow = 18\nhigh = 90\n'
        '[attributes."sex:male"]\nkind = "binary"\n[attributes.priors]\nkind = "ordinal"\nlow = 0\nhigh = 40\n'
    )
    result = released.runpytest_inprocess(
        "--draft-forest=list.toml", "--draft-domain=domain.toml", "--draft-policy=interpretable"
    )
    result.stdout.fnmatch_lines(["*the rule list leaves *"])
    result.assert_outcomes(passed=1, failed=1)


def test_the_command_to_judge_a_pipeline_works_as_it_stands(pytester, blocks):
    random = np.random.default_rng(0)
    table = pd.DataFrame(random.normal(size=(60, 6)), columns=list("abcdef")).assign(job=random.choice(["x", "y"], 60))
    encoder = make_column_transformer((OneHotEncoder(), ["job"]), (StandardScaler(), list("abcdef")))
    label = pd.Series(random.integers(0, 2, 60), name="LABEL")
    pipeline = make_pipeline(encoder, RandomForestClassifier(n_estimators=3, max_depth=1, random_state=0))
    joblib.dump(pipeline.fit(table, label), pytester.path / "pipeline.joblib")
    table.assign(LABEL=label).to_csv(pytester.path / "raw.csv", index=False)
    (command,) = blocks("how-to/pipelines", "sh")
    outcomes = pytester.runpytest_inprocess(*command.split()[1:]).parseoutcomes()
    assert "failed" not in outcomes  # of 60 rows, too few datasets explain the file for a pass
    assert outcomes["passed"] >= 3


def test_the_recipe_for_any_other_step_writes_a_forest_and_its_table(pytester, blocks, monkeypatch):
    random = np.random.default_rng(0)
    table = pd.DataFrame(random.normal(size=(60, 4)), columns=list("abcd"))
    label = pd.Series(random.integers(0, 2, 60), index=range(100, 160))
    pipeline = make_pipeline(PCA(3), RandomForestClassifier(n_estimators=3, max_depth=1, random_state=0))
    monkeypatch.chdir(pytester.path)
    recipe, _ = blocks("how-to/pipelines", "python")
    exec(recipe, {"pd": pd, "joblib": joblib, "pipeline": pipeline.fit(table, label), "X": table, "y": label})
    arguments = ("--draft-forest=forest.joblib", "--draft-data=encoded.csv", "--draft-target=LABEL")
    result = pytester.runpytest_inprocess(*arguments, "--draft-report=json:report.json")
    outcomes = result.parseoutcomes()
    assert "failed" not in outcomes  # of 60 rows, too few datasets explain the file for a pass
    assert outcomes["passed"] >= 3
    (judged,) = json.loads((pytester.path / "report.json").read_text(encoding="utf-8"))["results"]
    assert not any("not trained on" in reason for reason in judged["reasons"])


def test_what_stands_beside_a_forest_is_gone_by_each_of_the_lines(tmp_path, blocks, monkeypatch):
    random = np.random.default_rng(0)
    rows, labels = random.normal(size=(60, 4)), random.integers(0, 2, 60)
    forest = RandomForestClassifier(n_estimators=3, max_depth=1, random_state=0).fit(rows, labels)
    forest.background_ = rows[:20]
    voting = VotingClassifier([("a", RandomForestClassifier(2)), ("b", SVC())]).fit(rows, labels)
    monkeypatch.chdir(tmp_path)
    joblib.dump(forest, "before.joblib")
    assert read("before.joblib").account.unexplained
    _, lines = blocks("how-to/pipelines", "python")
    for line in lines.strip().splitlines():
        exec(line, {"joblib": joblib, "voting": voting, "forest": forest})
        if "dump" in line:
            account = read("model.joblib" if "model.joblib" in line else "forest.joblib").account
            assert (account.unexplained, account.kept) == ((), ())


def test_the_marked_test_works_as_it_stands(released, blocks):
    marked, _ = blocks("how-to/own-tests", "python")
    released.makepyfile(test_release=marked)
    result = released.runpytest_inprocess("--draft-forest=model.joblib", "--draft-data=train.csv", "test_release.py")
    result.assert_outcomes(passed=8)


def test_the_fixtures_work_as_they_stand(pytester, blocks):
    _, fixtures = blocks("how-to/own-tests", "python")
    pytester.makepyfile(test_fixtures=fixtures)
    pytester.runpytest_inprocess().assert_outcomes(passed=1)


def test_the_private_forest_is_trained_and_judged_as_it_stands(pytester, blocks):
    pytest.importorskip("diffprivlib", reason="the estimators of the extra 'dp' need diffprivlib")
    (training,) = blocks("how-to/private-forests", "python")
    random = np.random.default_rng(0)
    table = pd.DataFrame(random.integers(0, 2, (60, 8)), columns=[f"b{i}" for i in range(8)])
    table["LABEL"] = random.integers(0, 2, 60)
    table.to_csv(pytester.path / "train.csv", index=False)
    exec(f"import joblib\n{training}", {"X": table.drop(columns="LABEL"), "y": table["LABEL"]})
    (command,) = blocks("how-to/private-forests", "bash")
    pytester.runpytest_inprocess(*command.split()[1:]).assert_outcomes(passed=2)


def test_the_policy_and_what_can_be_added_to_it_are_valid(tmp_path, blocks):
    policy, slices, sensitive, *additions = blocks("how-to/policies", "toml")
    path = tmp_path / "policy.toml"
    path.write_text(policy, encoding="utf-8")
    assert len(read_policy(path).rules) == 3
    first = next(number for number, line in enumerate(policy.splitlines()) if line.startswith("[rules."))
    head, rules = policy.splitlines()[:first], policy.splitlines()[first:]
    named, rule = sensitive.split("\n\n", 1)
    written = [*head, named, slices, *rules, rule, "[rules.seeds-published]", *additions]
    path.write_text("\n".join(written), encoding="utf-8")
    read_of = read_policy(path, date(2026, 12, 1))
    assert [one.name for one in read_of.slices] == ["people with the rare condition"]
    assert read_of.sensitive == ("diagnosis", "income")
    assert (read_of.by_class, read_of.severities["seeds-published"]) == (True, "error")
    assert [waiver.rule for waiver in read_of.waivers] == ["perfect-rows"]


@pytest.fixture
def with_context(tmp_path, blocks):
    """Return the path of the page's policy with the context that another page declares."""
    path = tmp_path / "ours.toml"
    policy, *_ = blocks("how-to/policies", "toml")
    path.write_text("\n".join([policy, *blocks("how-to/evidence", "toml")]), encoding="utf-8")
    return path


def test_the_context_is_valid(with_context):
    assert read_policy(with_context, date(2026, 12, 1)).context["test_again_after_days"] == 180


@pytest.mark.nightly
def test_the_evidence_is_written_as_it_stands(released, blocks, with_context):
    (command,) = blocks("how-to/evidence", "bash")
    shutil.move(with_context, released.path)
    released.runpytest_inprocess(*shlex.split(command.replace("\\\n", " "))[1:], "--draft-target=income")
    page = (released.path / "evidence.md").read_text(encoding="utf-8")
    assert "one partner hospital, under contract" in page
    assert "as it must" in page


def test_the_domain_is_valid(tmp_path, blocks):
    (domain,) = blocks("how-to/adversaries", "toml")
    (tmp_path / "domain.toml").write_text(domain, encoding="utf-8")
    columns = ("female", "education_school", "education_college", "education_university", "grade", "children", "income")
    kinds = {attribute.name: attribute.kind for attribute in read_domain(tmp_path / "domain.toml", columns).attributes}
    assert kinds == {
        "female": "binary",
        "education": "one-hot",
        "grade": "ordinal",
        "children": "ordinal",
        "income": "numeric",
    }


def test_the_hooks_bring_the_data_and_sign_the_report(released, blocks):
    hooks, _, _ = blocks("how-to/extending", "python")
    released.makeconftest(hooks)
    (released.path / "train.csv").rename(released.path / "model.csv")
    result = released.runpytest_inprocess("--draft-forest=model.joblib", "--draft-target=income", "--draft-report=json")
    result.assert_outcomes(passed=7)
    assert "data-governance@example.org" in (released.path / "draft-report.json").read_text(encoding="utf-8")


def test_the_own_study_is_computed_once_and_shown(tmp_path, blocks, monkeypatch, capsys):
    _, _, study = blocks("how-to/extending", "python")
    (tmp_path / "own_study_of_the_docs.py").write_text(study, encoding="utf-8")
    (tmp_path / "data").mkdir()
    rows = np.random.default_rng(3).integers(0, 2, (150, 5))
    pd.DataFrame(rows, columns=[*"abcd", "income"]).to_csv(tmp_path / "data" / "adult.csv", index=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("own_study_of_the_docs")
    parser = argparse.ArgumentParser()
    module.add_arguments(parser)
    module.command(parser.parse_args(["--depths", "1", "2", "--store", "kept"]))
    shown = capsys.readouterr().out
    module.command(parser.parse_args(["--depths", "2", "1", "--store", "kept", "--any-code"]))
    assert capsys.readouterr().out == shown
    (leaves,) = pd.read_csv(io.StringIO(shown), sep=r"\s+", skiprows=[1], index_col=0)[["leaves"]].T.to_numpy()
    assert 1 < leaves[0] <= 2 < leaves[1] <= 4


@pytest.fixture
def own_rules_forgotten():
    """What other distributions bring is looked up once a process: forget what the example brought."""
    yield
    own_rules._named.cache_clear()
    own_rules._loaded.cache_clear()


def test_the_own_rule_judges_by_its_own_policy(released, blocks, own_rules_forgotten):
    _, rule, _ = blocks("how-to/extending", "python")
    project, policy = blocks("how-to/extending", "toml")
    ((name, where),) = documents.toml(project)["project"]["entry-points"]["pytest_draft.rules"].items()
    released.mkpydir("our_rules").joinpath("few_trees.py").write_text(rule, encoding="utf-8")
    info = released.mkdir("ours-1.0.dist-info")
    info.joinpath("METADATA").write_text("Metadata-Version: 2.1\nName: ours\nVersion: 1.0\n")
    info.joinpath("entry_points.txt").write_text(f"[pytest_draft.rules]\n{name} = {where}\n")
    released.syspathinsert()
    released.makefile(".toml", ours=policy, strict=policy.replace("= 20", "= 2"))
    arguments = ("--draft-forest=model.joblib", "--draft-data=train.csv")
    released.runpytest_inprocess(*arguments, "--draft-policy=ours.toml").assert_outcomes(passed=1)
    released.runpytest_inprocess(*arguments, "--draft-policy=strict.toml").assert_outcomes(failed=1)
