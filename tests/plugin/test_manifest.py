"""The models of a registry from a manifest: what is judged with what, and what is refused before any work."""

from __future__ import annotations

import os
import shutil

import pyarrow as pa
import pytest
from pyarrow import parquet

from pytest_draft.errors import UsageError
from pytest_draft.isolation import children
from pytest_draft.plugin.inputs import NamedFiles
from pytest_draft.plugin.manifest import SUFFIXES, read_manifest

LENIENT = 'schema_version = 1\nname = "lenient"\n[rules.perfect-rows]\nmax_perfect_rows = 40\n'
STRICT = 'schema_version = 1\nname = "strict"\n[rules.singled-out-rows]\nmax_singled_out_rows = 0\n'

TWO = """
schema_version = 1

[[entry]]
model = "models/*.joblib"
data = "train.csv"
target = "label"
policy = "lenient.toml"

[[entry]]
model = "shallow.joblib"
data = "train.csv"
policy = "strict.toml"
"""


@pytest.fixture
def registry(project):
    """Return a function that writes a manifest in a folder of a registry, beside its models, data and policies."""
    folder = project.path / "registry"
    (folder / "models").mkdir(parents=True)
    shutil.copy(project.path / "leaking.joblib", folder / "models")
    for name in ("shallow.joblib", "train.csv"):
        shutil.copy(project.path / name, folder)
    (folder / "lenient.toml").write_text(LENIENT)
    (folder / "strict.toml").write_text(STRICT)

    def write(text: str = TWO, name: str = "registry.toml") -> str:
        (folder / name).write_text(text, encoding="utf-8")
        return f"registry/{name}"

    write.folder = folder
    return write


def by_model(project, name="report.json"):
    return {
        one["artifact"]["path"]: (one["policy"]["name"], [check["result"] for check in one["checks"]])
        for one in project.report(name)["results"]
    }


JUDGED = {
    "registry/models/leaking.joblib": ("lenient", ["passed"]),
    "registry/shallow.joblib": ("strict", ["failed"]),
}


@pytest.mark.nightly
@pytest.mark.parametrize("processes", ["-n0", "-n2"])
def test_each_model_is_judged_by_its_entry_and_has_its_own_addresses(project, registry, processes):
    run = project.run("--draft-manifest", registry(), "--draft-report=json:report.json", processes)
    run.assert_outcomes(passed=1, failed=1)
    assert by_model(project) == JUDGED
    items = [check["item"] for one in project.report()["results"] for check in one["checks"]]
    assert items == [
        "registry/models/leaking.joblib::perfect-rows[artifact]",
        "registry/shallow.joblib::singled-out-rows[artifact]",
    ]


@pytest.mark.nightly
def test_a_parquet_file_says_the_same_as_toml(project, registry):
    rows = [
        {"model": "models/*.joblib", "data": "train.csv", "target": "label", "policy": "lenient.toml"},
        {"model": "shallow.joblib", "data": "train.csv", "target": None, "policy": "strict.toml"},
    ]
    path = registry.folder / "registry.parquet"
    parquet.write_table(pa.Table.from_pylist(rows), path)
    usual = NamedFiles(target="other")
    assert [without_origin(one) for one in read_manifest(path, usual).models.values()] == [
        without_origin(one) for one in read_manifest(project.path / registry(), usual).models.values()
    ]
    run = project.run("--draft-manifest", path, "--draft-report=json:report.json")
    run.assert_outcomes(passed=1, failed=1)
    assert by_model(project) == JUDGED


def without_origin(inputs):
    return [inputs.files, inputs.target]


@pytest.mark.nightly
def test_an_entry_takes_what_it_does_not_say_from_the_command_line(project, registry):
    manifest = registry('schema_version = 1\n[[entry]]\nmodel = "shallow.joblib"\n')
    project.write("ours.toml", LENIENT)
    given = ("--draft-data=train.csv", "--draft-target=label", "--draft-policy=ours.toml")
    project.run("--draft-manifest", manifest, "--draft-report=json:report.json", *given).assert_outcomes(passed=1)
    assert by_model(project) == {"registry/shallow.joblib": ("lenient", ["passed"])}
    assert project.result()["data"]["path"] == "train.csv"


@pytest.mark.nightly
def test_an_address_and_k_select_and_the_rest_is_told_as_not_run(project, registry):
    manifest = registry()
    address = "registry/shallow.joblib::singled-out-rows"
    run = project.run("--draft-manifest", manifest, address, "--draft-report=json:report.json")
    run.assert_outcomes(failed=1)
    assert project.report()["not_run"] == ["registry/models/leaking.joblib::perfect-rows[artifact]"]
    run = project.run("--draft-manifest", manifest, "-k", "perfect", "--draft-strict")
    assert run.ret == pytest.ExitCode.TESTS_FAILED
    run = project.run("--draft-manifest", manifest, "registry/shallow.joblib::perfect-rows")
    assert run.ret == pytest.ExitCode.USAGE_ERROR
    assert "there is no check 'perfect-rows'; known are: singled-out-rows[artifact]" in "".join(run.errlines)


@pytest.mark.nightly
def test_the_ini_file_can_name_the_manifest_and_the_command_line_wins(project, registry):
    registry()
    project.write("pytest.ini", "[pytest]\ndraft_manifest = registry/registry.toml\n")
    project.run("--draft", "--draft-report=json:report.json").assert_outcomes(passed=1, failed=1)
    project.judge("shallow.joblib", "-k", "perfect")
    assert set(by_model(project)) == {"shallow.joblib"}
    project.write("pytest.ini", "[pytest]\ndraft_forest = shallow.joblib\n")
    run = project.run("--draft-manifest=registry/registry.toml", "--collect-only", "-q")
    assert "registry/models/leaking.joblib::" in run.stdout.str()
    assert "\nshallow.joblib" not in run.stdout.str()


@pytest.mark.parametrize("how", ["options", "ini"])
def test_forests_beside_a_manifest_are_refused(project, registry, one_line_error, how):
    given = ["--draft-manifest", registry(), "--draft-forest=shallow.joblib"]
    if how == "ini":
        project.write("pytest.ini", "[pytest]\ndraft_forest = a\ndraft_manifest = registry/registry.toml\n")
        given = ["--draft"]
    assert "both say what is judged: leave out one" in one_line_error(project.run(*given))


def test_several_tables_beside_a_manifest_are_refused(project, registry, one_line_error):
    error = one_line_error(
        project.run("--draft-manifest", registry(), "--draft-data=train.csv", "--draft-data=strangers.csv")
    )
    assert "--draft-data: 2 files beside a manifest: give one for all its entries, or name each in its entry" in error


ENTRY = "schema_version = 1\n\n[[entry]]\n"
GOOD = 'model = "shallow.joblib"\ndata = "train.csv"\n'


@pytest.mark.nightly(quick=3)
@pytest.mark.parametrize(
    ("text", "messages"),
    [
        (ENTRY + GOOD + 'polcy = "x"\n', ["line 6: entry.0: there is no key 'polcy'", "did you mean 'policy'?"]),
        (ENTRY + 'data = "train.csv"\n', ["line 3: entry.0: 'model' is a required property"]),
        (ENTRY + "model = 3\n", ["line 4: entry.0.model: 3 is not of type 'string'"]),
        (ENTRY + 'model = ""\n', ["line 4: entry.0.model"]),
        ("schema_version = 1\nentry = []\n", ["line 2: entry: "]),
        ("schema_version = 1\n[[entry\n", ["not valid TOML"]),
        (ENTRY + 'model = "a*b"\n', ["line 4: entry.0.model: no file matches", "a*b", "relative to the manifest"]),
        (ENTRY + GOOD + 'holdout = "h.csv"\n', ["line 6: entry.0.holdout: there is no file", "correct the path"]),
        (ENTRY + GOOD + 'policy = "p.toml"\n', ["line 6: entry.0.policy: there is no file", "p.toml"]),
        (ENTRY + GOOD + 'policy = "publik-release"\n', ["entry.0.policy", "did you mean 'public-release'?"]),
        (
            TWO.replace("shallow.joblib", "models/../models/leaking.joblib"),
            ["line 11: entry.1.model: ", "leaking.joblib is named by entry.0 already: let one entry name it"],
        ),
        (
            TWO.replace("train.csv", "none.csv"),
            ["line 6: entry.0.data: there is no file", "line 12: entry.1.data: there is no file"],
        ),
        (TWO.replace("strict.toml", "train.csv"), ["registry.toml: line 10: entry.1.policy: ", "train.csv: not valid"]),
        (ENTRY + 'model = "shallow.joblib"\n', ["line 3: entry.0.data: no training data are given", "in this entry"]),
        (TWO.replace('"label"', '"labl"'), ["registry.toml: line 4: entry.0: ", "labl"]),
        (ENTRY + 'model = "empty"\n', ["line 4: entry.0.model: no file matches"]),
        (ENTRY + 'model = "a\\u0000b"\n', ["line 4: entry.0.model: no file matches"]),
    ],
)
def test_what_is_wrong_is_one_line_with_file_entry_and_key_before_any_work(
    project, registry, one_line_error, text, messages
):
    error = one_line_error(project.run("--draft-manifest", registry(text), "--draft-report=json:report.json"))
    assert "registry.toml" in error
    for message in messages:
        assert message in error
    assert not (project.path / "report.json").exists()


def test_a_glob_that_means_something_that_is_no_file_is_refused_and_folders_are_none(registry, project, one_line_error):
    (registry.folder / "models" / "folder.joblib").mkdir()
    manifest = registry.folder / "m.toml"
    registry(TWO, "m.toml")
    assert len(read_manifest(manifest, NamedFiles()).models) == 2
    (registry.folder / "models" / "broken.joblib").symlink_to("nothing")
    error = one_line_error(project.run("--draft-manifest", manifest))
    assert "entry.0.model: " in error
    assert "broken.joblib is not a regular file: remove it" in error


def test_two_manifests_and_a_file_that_is_none_are_refused(project, registry, one_line_error):
    assert "is not a manifest: give a .toml or a .parquet file" in one_line_error(
        project.run("--draft-manifest=train.csv")
    )
    assert "there.toml cannot be read (No such file" in one_line_error(project.run("--draft-manifest=there.toml"))
    project.write("pytest.ini", "[pytest]\ndraft_manifest =\n    a.toml\n    b.toml\n")
    assert "give one manifest, not 2" in one_line_error(project.run("--draft"))


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"model": ["a"], "modl": ["b"]}, "there is no key 'modl'; known are: model, data"),
        ({"data": ["a"]}, "entry.0: 'model' is a required property"),
        ({"model": [1]}, "entry.0.model: 1 is not of type 'string'"),
        ({"model": pa.array([], pa.string())}, "entry: "),
        ({"model": ["none.joblib"]}, "entry.0.model: no file matches"),
        (b"PAR1 and no more", "cannot be parsed as Parquet"),
    ],
)
def test_a_wrong_parquet_file_is_refused_in_one_line(tmp_path, table, message):
    path = tmp_path / "m.parquet"
    path.write_bytes(table) if isinstance(table, bytes) else parquet.write_table(pa.table(table), path)
    with pytest.raises(UsageError, match=r"m\.parquet: ") as caught:
        read_manifest(path, NamedFiles())
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.nightly
def test_a_folder_means_every_model_file_in_it_and_tells_what_it_passes_over(project, registry):
    hidden = registry.folder / ".old" / "UPPER.JOBLIB"
    hidden.parent.mkdir()
    shutil.copy(registry.folder / "shallow.joblib", hidden)
    project.write("ours.toml", LENIENT)
    given = ("--draft-data=train.csv", "--draft-target=label", "--draft-policy=ours.toml")
    run = project.run("--draft-manifest=registry", "--draft-report=json:report.json", *given)
    run.assert_outcomes(passed=3)
    assert sorted(by_model(project)) == [
        "registry/.old/UPPER.JOBLIB",
        "registry/models/leaking.joblib",
        "registry/shallow.joblib",
    ]
    run.stdout.fnmatch_lines(
        ["not judged, as their names do not end like those of model files*: registry/lenient.toml, *"]
    )


def test_a_folder_with_something_that_is_no_file_under_the_name_of_a_model_is_refused(
    registry, project, one_line_error
):
    (registry.folder / "models" / "gone.skops").symlink_to("nothing")
    error = one_line_error(project.run("--draft-manifest=registry", "--draft-data=train.csv"))
    assert "gone.skops is not a regular file: remove it, or give it another name" in error


@pytest.mark.nightly
def test_a_linked_folder_below_a_folder_is_told(registry, project):
    (project.path / "elsewhere").mkdir()
    shutil.copy(project.path / "leaking.joblib", project.path / "elsewhere")
    (registry.folder / "link").symlink_to(project.path / "elsewhere")
    project.write("ours.toml", LENIENT)
    given = ("--draft-data=train.csv", "--draft-target=label", "--draft-policy=ours.toml", "-k=shallow")
    run = project.run("--draft-manifest=registry", *given)
    run.stdout.fnmatch_lines(["not judged, as links to folders are not followed: registry/link"])
    assert "registry/link," not in run.stdout.str()
    read = read_manifest(registry.folder, NamedFiles())
    assert registry.folder / "link" in read.passed_over
    assert len(read.models) == 2


@pytest.mark.parametrize("model", ["models/*.joblib", "**/*.joblib", "m*/leaking.joblib", "mod[e]ls/*"])
def test_a_glob_that_meets_a_folder_that_cannot_be_read_is_refused(registry, monkeypatch, model):
    manifest = registry.folder / "m.toml"
    registry(f'schema_version = 1\n[[entry]]\nmodel = "{model}"\n', "m.toml")
    assert read_manifest(manifest, NamedFiles()).models
    monkeypatch.setattr(os, "access", lambda path, mode: os.fspath(path).rstrip("/") != str(registry.folder / "models"))
    with pytest.raises(UsageError, match=r"entry\.0\.model: the folder .*/models/? cannot be read, and may hold files"):
        read_manifest(manifest, NamedFiles())
    registry('schema_version = 1\n[[entry]]\nmodel = "*.joblib"\n', "m.toml")
    assert len(read_manifest(manifest, NamedFiles()).models) == 1  # what it means is not in there


@pytest.mark.parametrize(
    "links", [{"one": "."}, {"one": ".", "two": "."}, {"models/up": ".."}, {"a": "models", "models/b": ".."}]
)
def test_a_glob_that_follows_links_in_a_circle_is_refused(registry, links):
    for name, target in links.items():
        (registry.folder / name).symlink_to(target, target_is_directory=True)
    for model, refused in (("**/*.joblib", True), ("*.joblib", False), ("models/**/l*.joblib", "models" in str(links))):
        registry(f'schema_version = 1\n[[entry]]\nmodel = "{model}"\n', "m.toml")
        if refused:
            with pytest.raises(UsageError, match=r"entry\.0\.model: .* leads back to a folder above it"):
                read_manifest(registry.folder / "m.toml", NamedFiles())
        else:
            assert len(read_manifest(registry.folder / "m.toml", NamedFiles()).models) == 1


def test_a_glob_follows_other_links(registry):
    (registry.folder / "link").symlink_to("models", target_is_directory=True)
    registry('schema_version = 1\n[[entry]]\nmodel = "**/leaking.joblib"\n', "m.toml")
    assert len(read_manifest(registry.folder / "m.toml", NamedFiles()).models) == 2


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("model", "a\\u0000/*.joblib"),
        ("model", "*\\u0000"),
        ("model", "n" * 300 + "/*"),
        ("model", "n" * 300),
        ("policy", "n" * 300),
        ("policy", "below/" + "n" * 5000),
        ("policy", "n\\u0000"),
        ("data", "n" * 5000),
    ],
)
def test_a_name_that_no_file_can_have_is_one_line(registry, key, said):
    model = said if key == "model" else "shallow.joblib"
    besides = "" if key == "model" else f'{key} = "{said}"'
    registry(f'schema_version = 1\n[[entry]]\nmodel = "{model}"\n{besides}\n', "m.toml")
    with pytest.raises(UsageError, match=rf"entry\.0\.{key}: (no file matches|there is no file)") as caught:
        read_manifest(registry.folder / "m.toml", NamedFiles())
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "option", ["--draft-forest", "--draft-policy", "--draft-domain", "--draft-manifest", "--draft-report"]
)
def test_an_option_with_a_name_that_no_file_can_have_is_one_line(project, one_line_error, option):
    given = () if option in ("--draft-forest", "--draft-manifest") else ("--draft-forest=shallow.joblib",)
    kind = "json:" if option == "--draft-report" else ""
    told = "is not a manifest" if option == "--draft-manifest" else option
    assert told in one_line_error(project.run(*given, f"{option}={kind}{'n' * 300}"))


def test_a_parquet_column_that_hides_another_one_is_refused(tmp_path):
    table = pa.table([["m"], ["strict.toml"], ["lenient.toml"]], names=["model", "policy", "policy"])
    parquet.write_table(table, tmp_path / "m.parquet")
    with pytest.raises(UsageError, match="two columns have the same name"):
        read_manifest(tmp_path / "m.parquet", NamedFiles())


def test_a_folder_without_models_is_refused(project, one_line_error):
    (project.path / "empty").mkdir()
    project.write("empty/model.pt", "")
    assert f"no model file in this folder: their names end in {', '.join(SUFFIXES)}" in one_line_error(
        project.run("--draft-manifest=empty")
    )


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root can read every folder")
def test_a_folder_that_cannot_be_read_is_refused(project, registry, one_line_error):
    (registry.folder / "models").chmod(0)
    try:
        assert "a folder below cannot be read" in one_line_error(project.run("--draft-manifest=registry"))
    finally:
        (registry.folder / "models").chmod(0o755)


def test_a_pinned_policy_is_every_entrys(project, registry, one_line_error):
    import hashlib

    digest = hashlib.sha256(LENIENT.encode()).hexdigest()
    error = one_line_error(
        project.run(
            "--draft-manifest", registry(), f"--draft-policy-sha256={digest}", "--draft-policy=registry/lenient.toml"
        )
    )
    assert "entry.1.policy: " in error
    assert "and --draft-policy-sha256 says another" in error


@pytest.mark.nightly
def test_a_waiver_is_for_a_file_that_its_own_policy_judges(project, registry, one_line_error):
    import hashlib

    def waived(model: str) -> str:
        digest = hashlib.sha256((registry.folder / model).read_bytes()).hexdigest()
        return (
            f'[[waiver]]\nrule = "singled-out-rows"\nartifact_sha256 = "{digest}"\nreason = "r"\nowner = "o"\n'
            "expires = 2999-01-01\n"
        )

    manifest = registry()
    (registry.folder / "strict.toml").write_text(STRICT + waived("models/leaking.joblib"))
    assert "is judged by this policy: remove it" in one_line_error(project.run("--draft-manifest", manifest))
    (registry.folder / "strict.toml").write_text(STRICT + waived("shallow.joblib"))
    project.run("--draft-manifest", manifest).assert_outcomes(passed=1, xfailed=1)


def test_labels_are_tried_once_for_each_entry_before_any_work(project, registry, monkeypatch):
    tried = []
    for index in range(3):
        shutil.copy(project.path / "shallow.joblib", registry.folder / "models" / f"{index}.joblib")
    monkeypatch.setattr(type(children), "wrong", lambda self, case: tried.append(case.artifact))
    project.run("--draft-manifest", registry(), "-k", "nothing")
    assert [path.rpartition("/")[2] for path in tried] == ["0.joblib", "shallow.joblib"]


@pytest.mark.nightly
def test_a_projects_own_tests_judge_each_model_with_its_data_and_policy(project, registry):
    registry()
    project.write("pytest.ini", "[pytest]\ndraft_manifest = registry/registry.toml\n")
    project.write(
        "test_own.py",
        "def test_own(draft_forest, draft_result):\n"
        '    own = {"leaking.joblib": "lenient", "shallow.joblib": "strict"}\n'
        "    assert draft_result.policy.name == own[draft_forest.name]\n"
        '    assert draft_result.examination.data.path.endswith("registry/train.csv")\n',
    )
    project.run().assert_outcomes(passed=2)


def test_the_manifest_itself_is_not_overwritten(project, registry, one_line_error):
    error = one_line_error(
        project.run("--draft-manifest", registry(), "--draft-report=fleet-json:registry/registry.toml")
    )
    assert "is read or written in this run already" in error


def test_a_manifest_of_very_many_entries_is_read_in_one_pass(tmp_path):
    """Each line is looked at a fixed number of times: the count of calls is that of the entries."""
    (tmp_path / "models").mkdir()
    entries = []
    for index in range(300):
        (tmp_path / "models" / f"{index}.joblib").touch()
        entries.append(f'[[entry]]\nmodel = "models/{index}.joblib"\ntarget = "t{index}"\n')
    (tmp_path / "m.toml").write_text("schema_version = 1\n" + "".join(entries))
    found = read_manifest(tmp_path / "m.toml", NamedFiles())
    assert [inputs.target for inputs in found.models.values()] == [f"t{index}" for index in range(300)]
    assert next(reversed(found.models.values())).origin.endswith(f"m.toml: line {2 + 3 * 299}: entry.299")
