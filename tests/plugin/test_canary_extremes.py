"""What one person alone has, such as a column's highest value, never shows up in anything that a run writes."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from pytest_draft.__main__ import main
from pytest_draft.domain import Attribute, Domain, infer

NUMBERS = {
    "lowest of a numeric column": -7731.625,
    "highest of a numeric column": 98413.375,
    "lowest of whole numbers": 1907,
    "highest of whole numbers": 2113,
    "lowest target": -55221.5,
    "highest target": 66337.25,
}
TEXTS = {"category of one person": "Quokka-of-Rottnest", "class of one person": "label-of-one-person"}
N_ROWS = 60
REPORTS = {"html": "html", "markdown": "md", "sarif": "sarif", "intoto": "intoto.json", "svr": "svr.json"}
REPORTS |= {"model-card": "card.md", "cyclonedx": "cdx.json", "gitlab": "gitlab.json"}
LOUD = ("--showlocals", "--full-trace", "-vv", "-rA", "--junitxml=junit.xml", "--log-level=DEBUG", "--draft-cache")
LOUD = (*LOUD, *(f"--draft-report={kind}" for kind in REPORTS), "--draft-budget=4")
POLICY = """schema_version = 1
name = "ours"
by_class = true

[[slice]]
name = "nobody but one"
if = { income = { above = 90000 } }

[rules.reconstruction-error]
max_error_of_split_half = 0.5

[rules.perfect-rows]
max_perfect_rows = 0

[rules.entropy-reduction]
max_entropy_reduction = 0.5

[rules.verbatim-data]
min_rows_of_a_category = 3
"""


def planted(seed: int = 0) -> pd.DataFrame:
    """Return rows of which one each has what is planted: both ends of two columns, a category and a class."""
    rng = np.random.default_rng(seed)
    income = rng.normal(1200.0, 300.0, N_ROWS).round(1)
    income[:2] = NUMBERS["lowest of a numeric column"], NUMBERS["highest of a numeric column"]
    year = rng.integers(1950, 2001, N_ROWS)
    year[2:4] = NUMBERS["lowest of whole numbers"], NUMBERS["highest of whole numbers"]
    town = rng.choice(["here", "there"], N_ROWS).astype(object)
    town[4] = TEXTS["category of one person"]
    label = np.where(income + 10 * rng.normal(size=N_ROWS) > 1200, "yes", "no").astype(object)
    label[5] = TEXTS["class of one person"]
    return pd.DataFrame({"income": income, "year": year, "town": town, "label": label})


def found_in(text: str) -> list[str]:
    """Return what of the planted values a text has, under any way to write the numbers."""
    said = re.sub(r"\b[0-9a-f]{64}\b", "", text)  # digits of hashes are nobody's
    numbers = {float(one.replace(",", "")) for one in re.findall(r"-?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?", said)}
    whole = [name for name, value in NUMBERS.items() if {value, -value} & numbers]
    return whole + [name for name, value in TEXTS.items() if value in text]


def test_what_is_planted_is_found():
    assert found_in("from -7,731.625 to 98413.375 (2113) of 'Quokka-of-Rottnest'") == [
        "lowest of a numeric column",
        "highest of a numeric column",
        "highest of whole numbers",
        "category of one person",
    ]
    assert not found_in("2113.5, 12113, 984,133.75 and 0.98413375")


@pytest.fixture
def nothing_of_one_person(project) -> Callable[[pytest.RunResult], None]:
    """Return a function that looks for what is planted in all outputs of a run."""

    def check(result: pytest.RunResult) -> None:
        outputs = {"stdout": result.stdout.str(), "stderr": result.stderr.str()}
        written = ["junit.xml", "report.json", *(f"draft-report.{suffix}" for suffix in REPORTS.values())]
        kept = [path for path in (project.path / ".pytest_cache").rglob("*") if path.is_file()]
        files = [path for path in (*(project.path / name for name in written), *kept) if path.exists()]
        outputs |= {path.name: path.read_bytes().decode("latin-1") for path in files}
        assert {name: found for name, text in outputs.items() if (found := found_in(text))} == {}

    return check


MODELS = {
    "forest": lambda: RandomForestClassifier(8, random_state=0),
    "tree": lambda: DecisionTreeClassifier(random_state=0),
}


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("policy", "model"),
    [("ours", "forest"), ("ours, coarse", "tree")],
)
def test_an_encoded_table_tells_nothing_of_one_person(project, nothing_of_one_person, model, policy):
    table = planted().drop(columns="town")
    table.insert(2, "town", (planted()["town"] == TEXTS["category of one person"]).astype(int))
    project.train(MODELS[model](), table)
    project.write("ours.toml", POLICY if policy == "ours" else 'bounds = "coarse"\n' + POLICY)
    result = project.judge("other.joblib", "--draft-policy=ours.toml", "--draft-full", *LOUD, data="other.csv")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    told = project.result()
    granted = told["domain"]["granted_to_adversary"]
    ends = "its lowest and its highest value"
    if policy == "ours":
        assert {f"numeric income: {ends}", f"numeric year: {ends}"} <= set(granted)
    else:
        assert f"numeric income: {ends} (all from -10,000 to 100,000)" in granted
        assert f"numeric year: {ends} (all from 0 to 10,000)" in granted
    assert told["metrics"]["perfect_rows"] is not None
    few = [one for one in told["slices"] if one["rows"] is None]
    assert [one["name"] for one in few] == ["nobody but one", "class number 1"]
    assert {one["name"] for one in told["entropy"].get("groups", [])} <= {
        "class no",
        "class yes",
        "inliers",
        "outliers",
    }
    nothing_of_one_person(result)


@pytest.mark.nightly
@pytest.mark.parametrize("raw", [True, False], ids=["raw table", "encoded already"])
def test_a_pipeline_tells_nothing_of_one_person(project, nothing_of_one_person, raw):
    table = planted()
    encoding = make_column_transformer(
        (OneHotEncoder(sparse_output=False), ["town"]), (StandardScaler(), ["income", "year"])
    )
    pipeline = make_pipeline(encoding, RandomForestClassifier(8, random_state=0))
    project.train(pipeline, table)
    if not raw:
        encoded = pipeline[0].transform(table.drop(columns="label"))
        pd.DataFrame(encoded, columns=[f"x{i}" for i in range(encoded.shape[1])]).assign(
            label=table["label"].to_numpy()
        ).to_csv(project.path / "other.csv", index=False)
    project.write("ours.toml", POLICY[: POLICY.index("[[slice")] + POLICY[POLICY.index("[rules.rec") :])
    result = project.judge("other.joblib", "--draft-policy=ours.toml", "--draft-target=label", *LOUD, data="other.csv")
    assert project.result()["checks"]
    nothing_of_one_person(result)


@pytest.mark.nightly
def test_a_regressor_tells_nothing_of_one_person(project, nothing_of_one_person):
    table = planted().drop(columns="town")
    table["label"] = np.random.default_rng(1).normal(0, 100, N_ROWS).round(1)
    table.loc[6:7, "label"] = NUMBERS["lowest target"], NUMBERS["highest target"]
    project.train(DecisionTreeRegressor(max_depth=3, random_state=0), table)
    result = project.judge("other.joblib", *LOUD, data="other.csv")
    assert project.result()["metrics"]["n_rows"] == N_ROWS
    nothing_of_one_person(result)


REFUSALS = {
    "a domain leaves them out": 'kind = "numeric"\nlow = 0\nhigh = 2000',
    "bounds are turned round": f"kind = 'numeric'\nlow = {NUMBERS['highest of a numeric column']}\nhigh = -7731.625",
    "bounds are not whole": "kind = 'ordinal'\nlow = -7731.625\nhigh = 98413.375",
    "values are told twice": "kind = 'ordinal'\nvalues = [98413.375, 98413.3750001]",
}


@pytest.mark.nightly
@pytest.mark.parametrize("domain", REFUSALS)
def test_a_refused_domain_tells_nothing_of_one_person(project, nothing_of_one_person, domain):
    table = planted().drop(columns="town")
    project.train(RandomForestClassifier(3, random_state=0), table)
    project.write(
        "domain.toml",
        f"[attributes.income]\n{REFUSALS[domain]}\n[attributes.year]\nkind = 'numeric'\nlow = 1907\nhigh = 2113\n",
    )
    result = project.judge("other.joblib", "--draft-domain=domain.toml", *LOUD, data="other.csv")
    told = {check["rule"]: check["result"] for check in project.result()["checks"]}
    assert told.pop("verbatim-data") == "failed"  # a label that one person has
    assert told["reconstruction-error"] == "inconclusive"
    assert "income" in project.result()["reasons"][0]
    nothing_of_one_person(result)


@pytest.mark.nightly(quick=1)
@pytest.mark.parametrize(
    "change",
    [
        lambda table: table.assign(label=table["label"].replace("yes", "sure")),
        lambda table: table.assign(income=table["income"].astype(object).where(table.index != 3, "much")),
        lambda table: table.assign(income=table["income"] * 1e40),
        lambda table: table.iloc[::-1],
        lambda table: table.iloc[:-1],
    ],
    ids=["label", "text", "infinite", "order", "fewer rows"],
)
def test_refused_data_tell_nothing_of_one_person(project, nothing_of_one_person, change):
    table = planted().drop(columns="town")
    project.train(RandomForestClassifier(3, random_state=0), table)
    change(table).to_csv(project.path / "changed.csv", index=False)
    result = project.judge("other.joblib", *LOUD, "--draft-budget=1", data="changed.csv")
    assert result.ret in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.USAGE_ERROR)
    nothing_of_one_person(result)


def test_a_hardened_file_is_told_of_without_what_one_person_has(tmp_path, monkeypatch, capsys):
    table = planted().drop(columns="town")
    monkeypatch.chdir(tmp_path)
    table.to_csv("train.csv", index=False)
    joblib.dump(RandomForestClassifier(5, random_state=0).fit(table[["income", "year"]], table["label"]), "m.joblib")
    assert main(["harden", "m.joblib", "h.joblib", "--data", "train.csv", "--target", "label"]) == 0
    assert main(["harden", "m.joblib", "l.joblib", "--level", "labels", "--data", "train.csv"]) == 0
    table.assign(label="else").to_csv("else.csv", index=False)
    main(["harden", "m.joblib", "e.joblib", "--data", "else.csv", "--target", "label"])
    said = capsys.readouterr()
    assert "hardened, level labels" in said.out
    assert found_in(said.out + said.err) == []


def test_no_bound_is_in_a_repr_for_logs_and_assertions():
    rows = planted()[["income", "year"]].to_numpy()
    domain = infer(["income", "year"], rows)
    shown = [repr(domain), str(domain), *map(repr, domain.attributes), repr(domain.restricted([0]))]
    shown.append(repr(Attribute.coded("year", 0, [1907.0, 1950.0, 2113.0])))
    assert [found_in(text) for text in shown] == [[]] * len(shown)
    assert "numeric" in shown[0]
    assert isinstance(domain, Domain)


@pytest.mark.nightly
def test_advice_tells_nothing_of_one_person(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    table = planted().drop(columns="town")
    table.loc[6, "label"] = TEXTS["class of one person"]  # scores need two
    table.to_csv("train.csv", index=False)
    joblib.dump(RandomForestClassifier(4, random_state=0).fit(table[["income", "year"]], table["label"]), "m.joblib")
    Path("policy.toml").write_text(
        'schema_version = 1\nname = "large leaves"\n\n[rules.smallest-leaf]\nmin_rows = 4\n', encoding="utf-8"
    )
    named = ["--markdown=advice.md", "--policy=policy.toml", "--minutes=0.1", "--budget=5"]
    main(["advise", "m.joblib", "--data=train.csv", "--target=label", *named])
    said = capsys.readouterr()
    written = [path.read_text(encoding="utf-8") for path in sorted(tmp_path.glob("advice.*"))]
    assert said.out
    assert [found_in(text) for text in (said.out, said.err, *written)] == [[]] * (2 + len(written))
