"""What the README and the documentation say of the package: names, options and links that are there."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import pytest

from pytest_draft.documents import rules_folder, toml
from pytest_draft.plugin.options import add_options
from pytest_draft.policy.rules import COMPARED, RULES
from pytest_draft.report.schema import METRICS, fleet_schema, schema

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
NAME = re.compile(r"`([a-z]+(?:_[a-z0-9]+)+)`")
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^()\s]+)\)|!\[[^\]]*\]\(([^()\s]+)\)")
OTHERS = ["CONTRIBUTING", "SECURITY", "CHANGELOG"]


def without_code(text):
    return re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)


def test_the_readme_is_for_newcomers_and_short():
    assert (ROOT / "README.md").stat().st_size <= 10_000


def test_every_option_that_is_named_exists(all_pages, read_page, generated):
    options = {name for name, _ in generated.registered().options}
    options |= set(
        re.findall(r"--draft[a-z-]*", "".join(path.read_text("utf-8") for path in (ROOT / "studies").glob("*.py")))
    )
    named = {option for page in all_pages for option in re.findall(r"--draft[a-z0-9-]*", read_page(page))}
    assert named - options == set()


def test_every_option_and_ini_value_is_in_the_reference(generated, pytester):
    table = generated.generated("options")
    shown = pytester.runpytest_inprocess("--help").stdout.str()
    assert {option for option in set(re.findall(r"--draft[a-z0-9-]*", shown)) if f"`{option}" not in table} == set()
    assert {ini for ini in generated.registered().ini if f"`{ini}`" not in table} == set()
    assert add_options.__module__ == generated.options.__name__


def test_every_rule_and_threshold_is_in_the_reference(generated):
    text = generated.generated("rules")
    for rule in [*RULES.values(), COMPARED]:
        assert f"\n## {rule.id}\n" in f"\n{text}"
        assert all(f"`{key}`" in text for key in rule.keys)


def test_every_kind_of_evidence_is_told_in_words(generated):
    assert {rule.needs.__name__ for rule in [*RULES.values(), COMPARED]} <= set(generated.NEEDS)


def test_every_metric_is_explained_once(read_page, generated):
    cells = re.findall(r"^\| (`[^|]+) \|", generated.expanded(read_page("reference/metrics")), re.MULTILINE)
    assert sorted(name for cell in cells for name in re.findall(r"`(\w+)`", cell)) == sorted(METRICS)


def test_every_status_of_a_search_is_explained(read_page):
    text = read_page("how-to/reading-a-result")
    assert set(schema()["$defs"]["judgement"]["properties"]["solver_status"]["enum"]) == {
        status
        for cell in re.findall(r"^\| (`[^|]+) \|", text.split("## How the search ended")[1], re.MULTILINE)
        for status in re.findall(r"`([^`]+)`", cell)
    }


def test_every_shipped_policy_is_shown(read_page):
    shown = re.findall(r"rules/([\w-]+)\.toml", read_page("reference/policies"))
    assert sorted(shown) == sorted(path.stem for path in rules_folder().glob("*.toml"))


def test_every_name_in_code_letters_is_a_name_of_the_package(all_pages, read_page):
    """A key, metric or threshold that was renamed must not live on in the documentation."""
    folders = (ROOT / "pytest_draft", ROOT / "rules", ROOT / "studies", ROOT / ".github")
    files = [
        path for folder in folders for path in folder.rglob("*") if path.suffix in {".py", ".json", ".toml", ".yml"}
    ]
    known = set(re.findall(r"\w+", "".join(path.read_text(encoding="utf-8") for path in files)))
    for page in [*all_pages, *OTHERS[:2]]:
        assert {name for name in NAME.findall(without_code(read_page(page))) if name not in known} == set(), page


def test_every_file_that_the_architecture_names_exists(read_page):
    for page in ("architecture", "decisions", "CONTRIBUTING", "SECURITY"):
        named = set(re.findall(r"`([\w./-]+(?:\.py|\.json|\.toml|/))`", read_page(page)))
        places = (ROOT / "pytest_draft", ROOT, ROOT / "pytest_draft" / "policy", ROOT / "pytest_draft" / "attack")
        places += (ROOT / "tests" / "report", ROOT / "tests" / "policy")
        assert {name for name in named if not any((place / name).exists() for place in places)} == set(), page


def test_every_study_can_be_run_as_it_stands_in_the_reference(read_page, all_pages):
    from studies.__main__ import parser

    lines = re.findall(r"^python -m studies ([^#\n]+)", read_page("reference/studies"), re.MULTILINE)
    assert all(parser().parse_args(line.split()).study for line in lines)
    listed = {line.split()[0] for line in lines}
    for page in [*all_pages, *OTHERS[:2]]:
        assert set(re.findall(r"`python -m studies ([\w-]+)", read_page(page))) <= listed, page


def anchors(text):
    """Return the anchors of a page's headings, as the site and GitHub make them."""
    heads = re.findall(r"^#+ (.+)$", without_code(text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower().replace("`", "")).replace(" ", "-") for head in heads}


def broken_links(path, text, text_of):
    """Yield the links of a page that lead to no file, or to no heading there."""
    for target in ("".join(found) for found in LINK.findall(without_code(text))):
        if re.match(r"[a-z]+:", target):
            continue
        place, _, anchor = target.partition("#")
        file = (path.parent / place).resolve() if place else path
        if not file.is_file() or (anchor and anchor not in anchors(text_of(file))):
            yield target


def test_every_link_leads_to_a_file_and_a_heading_that_exist(all_pages, generated):
    @cache
    def text_of(file):
        return generated.expanded(file.read_text(encoding="utf-8")) if DOCS in file.parents else file.read_text("utf-8")

    pytest.importorskip("numpydoc", reason="hooks are taken apart by numpydoc, of the extra docs")
    files = [ROOT / f"{name}.md" for name in ["README", *OTHERS]]
    files += [DOCS / f"{name}.md" for name in all_pages if name != "README"]
    assert {file.name: found for file in files if (found := list(broken_links(file, text_of(file), text_of)))} == {}


def test_every_link_of_the_readme_leads_to_a_file():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    linked = {"".join(found).partition("#")[0] for found in LINK.findall(without_code(text))}
    assert {link for link in linked if not link.startswith("http") and not (ROOT / link).is_file()} == set()


def test_the_schemas_have_a_table_for_every_object(generated):
    for which, found in {
        "report": schema(),
        "fleet": fleet_schema(),
        **{path.name: json.loads(path.read_text(encoding="utf-8")) for path in rules_folder().glob("*.schema.json")},
    }.items():
        text = generated.generated(f"schema {which}")
        assert all(f"## {name}\n" in text for name in found.get("$defs", {}))
        assert all(f"| `{key}`" in text for key in found["properties"])


def test_the_python_that_the_documentation_asks_for_is_the_packages(read_page):
    asked = toml((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["requires-python"].removeprefix(">=")
    for page in ("README", "tutorial", "CONTRIBUTING"):
        assert set(re.findall(r"Python (3\.\d+) or newer", read_page(page))) == {asked}
