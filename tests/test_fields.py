"""Each annotated field is described below it, and nowhere else."""

from __future__ import annotations

import ast
import re
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("pytest_draft", "studies")


def classes(source: str) -> list[ast.ClassDef]:
    return [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ClassDef)]


def all_classes(*folders: str) -> list[tuple[str, ast.ClassDef]]:
    paths = [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]
    return [
        (f"{path.relative_to(ROOT)}: {one.name}", one) for path in paths for one in classes(path.read_text("utf-8"))
    ]


def fields(one: ast.ClassDef) -> set[str]:
    return {ast.unparse(node.target) for node in one.body if isinstance(node, ast.AnnAssign)}


def twice(one: ast.ClassDef) -> set[str]:
    """Return annotated fields that the class's Attributes section lists."""
    _, _, section = (ast.get_docstring(one) or "").partition("Attributes\n----------\n")
    entries = re.findall(r"^(\w[\w, ]*?)(?: :.*)?$", section.partition("\n---")[0], re.MULTILINE)
    return fields(one) & {name for entry in entries for name in entry.split(", ")}


def undescribed(one: ast.ClassDef) -> set[str]:
    """Return public fields without a docstring that no other field's docstring describes with its own.

    Such a docstring begins with the names: ``"`low` and `high`: bounds."``.
    """
    described = set()
    for field, after in pairwise([*one.body, ast.Pass()]):
        if isinstance(field, ast.AnnAssign) and isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
            names, colon, _ = str(after.value.value).partition(": ")
            described |= {ast.unparse(field.target), *(re.findall(r"`(\w+)`", names) if colon else ())}
    return {name for name in fields(one) - described if not name.startswith("_")}


def is_frozen(one: ast.ClassDef) -> bool:
    return any("frozen=True" in ast.unparse(decorator) for decorator in one.decorator_list)


@pytest.mark.nightly
def test_no_annotated_field_is_listed_in_an_attributes_section():
    assert {name: found for name, one in all_classes(*FOLDERS) if (found := twice(one))} == {}


def test_every_fact_is_described():
    facts = [(name, one) for name, one in all_classes("pytest_draft/facts") if is_frozen(one)]
    assert len(facts) > 30
    assert {name: found for name, one in facts if (found := undescribed(one))} == {}


LEANING = ("The same", "Those of th", "Of these", "As above", "Likewise")
"""Beginnings that break when a field is put between."""


def leaning(body: list[ast.stmt]) -> set[str]:
    """Return what is described by leaning on the field above it."""
    return {
        ast.unparse(field.target if isinstance(field, ast.AnnAssign) else field.targets[0])
        for field, after in pairwise(body)
        if isinstance(field, (ast.AnnAssign, ast.Assign)) and isinstance(after, ast.Expr)
        if isinstance(after.value, ast.Constant) and str(after.value.value).startswith(LEANING)
    }


def gone(one: ast.FunctionDef | ast.ClassDef) -> set[str]:
    """Return documented parameters that there are not; a class may inherit how it is made."""
    made = [one] if isinstance(one, ast.FunctionDef) else [f for f in one.body if isinstance(f, ast.FunctionDef)]
    made = [f for f in made if f is one or f.name in ("__init__", "__new__")]
    if not made:
        return set()
    takes = made[0].args
    names = {a.arg for a in (*takes.posonlyargs, *takes.args, *takes.kwonlyargs, takes.vararg, takes.kwarg) if a}
    section = re.search(r"Parameters\n-+\n(.*?)(?=\n\w+\n-+\n|\Z)", ast.get_docstring(one) or "", re.DOTALL)
    entries = re.findall(r"^(\S[^:\n]*?)(?: :.*)?$", section[1], re.MULTILINE) if section else []
    return {name.strip("*") for entry in entries for name in entry.split(", ")} - names


def parsed(*folders: str) -> dict[str, ast.Module]:
    paths = [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]
    return {str(path.relative_to(ROOT)): ast.parse(path.read_text("utf-8")) for path in paths}


@pytest.mark.nightly
def test_no_text_leans_on_its_neighbour_and_no_parameter_is_documented_that_is_gone():
    wrong = {}
    for name, module in parsed(*FOLDERS).items():
        found = leaning(module.body)
        for node in ast.walk(module):
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                found |= leaning(node.body) | {f"{node.name}: {each}" for each in gone(node)}
        if found:
            wrong[name] = found
    assert wrong == {}


def test_what_leans_and_what_is_gone_is_found():
    text = 'def f(a, *, b):\n    """F.\n\n    Parameters\n    ----------\n    a, c : int\n    b\n    """\n'
    (function,) = ast.parse(text).body
    assert gone(function) == {"c"}
    assert leaning(ast.parse('A = 1\n"""One."""\nB = 2\n"""The same of two."""\n').body) == {"B"}


@pytest.mark.parametrize(
    ("entries", "found"),
    [
        ("low : float\n        Bound.", {"low"}),
        ("low, high : float", {"low", "high"}),
        ("other : float", set()),
        ("other : float\n\n    Raises\n    ------\n    low", set()),
    ],
)
def test_an_entry_beside_a_field_is_found(entries, found):
    section = f"    Attributes\n    ----------\n    {entries}\n"
    assert twice(*classes(f'class One:\n    """One.\n\n{section}    """\n\n    low: float\n    high: float\n')) == found


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("low: float\n    high: float\n", {"low", "high"}),
        ("low: float\n    '''Bound.'''\n    high: float", {"high"}),
        ("low: float\n    high: float\n    '''`low` and `high`: bounds.'''", set()),
        ("low: float\n    high: float\n    '''Not below `low`.'''", {"low"}),
        ("low: float\n    _high: float\n    '''Bound.'''", {"low"}),
    ],
)
def test_a_field_without_a_docstring_is_found(body, found):
    assert undescribed(*classes(f"class One:\n    {body}\n")) == found
