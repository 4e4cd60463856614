"""An examination that is written as text comes back as it was, whatever stands in it."""

from __future__ import annotations

import dataclasses
import json
import math
from dataclasses import replace
from typing import Any

import pytest

from made_up_facts import filled, optional_fields, parts
from pytest_draft.facts.case import Case
from pytest_draft.facts.entropy import Entropy
from pytest_draft.facts.examination import Examination, unexamined
from pytest_draft.facts.findings import Findings
from pytest_draft.facts.slices import Slice
from pytest_draft.facts.storage import as_text, from_text, write_atomically

FULL = filled(Examination)


def again(examination: Examination) -> Examination:
    """Return what comes back of an examination."""
    return from_text(examination.case, as_text(examination))


def types_in(value: Any) -> Any:
    """Return a value with everything in it replaced by its type: to Python 1 equals 1.0 and True."""
    if dataclasses.is_dataclass(value):
        fields = dataclasses.fields(value)
        return type(value), [(field.name, types_in(getattr(value, field.name))) for field in fields]
    if isinstance(value, tuple):
        return tuple, list(map(types_in, value))
    if isinstance(value, dict):
        return dict, [(key, types_in(inner)) for key, inner in value.items()]
    return type(value)


def test_the_example_fills_every_field_of_every_fact_with_something_that_is_not_its_default():
    assert len(parts()) > 25
    for kind in parts():
        made = filled(kind)
        for field in dataclasses.fields(kind):
            assert getattr(made, field.name) != field.default, (kind, field.name)


def test_an_examination_with_every_field_filled_comes_back_with_the_same_types():
    assert again(FULL) == FULL
    assert types_in(again(FULL)) == types_in(FULL)


def replaced(value: Any, kind: type[Any], made: Any) -> Any:
    """Return a value in which every instance of a class is replaced."""
    if isinstance(value, kind):
        return made
    if isinstance(value, tuple):
        return tuple(replaced(one, kind, made) for one in value)
    if dataclasses.is_dataclass(value) and not isinstance(value, Case):
        changes = {field.name: replaced(getattr(value, field.name), kind, made) for field in dataclasses.fields(value)}
        return replace(value, **changes)
    return value


@pytest.mark.nightly(quick=51)
@pytest.mark.parametrize(("kind", "name"), optional_fields(), ids=lambda one: getattr(one, "__name__", one))
def test_a_field_that_is_not_known_stays_so(kind, name):
    try:
        made = filled(kind, **{name: None})
    except ValueError:
        pytest.skip("a fact that cannot do without it")
    examination = replaced(FULL, kind, made)
    assert again(examination) == examination
    assert f'"{name}": null' in as_text(examination)


def test_an_examination_of_which_nothing_is_known_comes_back():
    nothing = unexamined(Case("model.joblib"))
    assert again(nothing) == nothing


def test_a_whole_number_among_numbers_stays_whole():
    examination = replace(FULL, statistics={"cells": 7, "fill": 0.5})
    assert types_in(again(examination)) == types_in(examination)


def test_the_case_is_that_of_who_reads_and_can_hold_infinite_bounds():
    case = Case("elsewhere.joblib", slices=(Slice("all", label=None),), hardened_from="raw.joblib")
    assert from_text(case, as_text(FULL)).case is case
    assert "joblib" not in as_text(
        replace(FULL, basis=None, together=None, apart={}, artifact=replace(FULL.artifact, path="x"))
    )


@pytest.mark.parametrize("number", [math.inf, -math.inf, math.nan])
def test_a_number_that_is_none_of_json_is_not_written(number):
    with pytest.raises(ValueError):
        as_text(replace(FULL, seconds=number))


def changed(path: str, value: object) -> str:
    """Return the text of the full examination with one value changed, or added."""
    content = json.loads(as_text(FULL))
    *way, last = path.split(".")
    inner = content
    for key in way:
        inner = inner[int(key)] if key.isdigit() else inner[key]
    inner[last] = value
    return json.dumps(content)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("another", 1),
        ("findings.another", 1),
        ("findings.measures.0.error.another", 1),
        ("findings.measures.0.perfect.lower", "1"),
        ("findings.measures.0.perfect.lower", 1.0),
        ("findings.measures.0.perfect.lower", True),
        ("findings.measures.0.error.lower", "0"),
        ("findings.measures.0.error.lower", 9.0),  # above the upper bound
        ("findings.numeric.in_order", 1),
        ("findings.identity.status", "surely"),
        ("findings.identity", None),
        ("findings.slices", 3),
        ("seconds", math.nan),
        ("entropy.trees", [0.1, 0.2]),
        ("entropy.ratio", [0.1, 0.2]),
        ("artifact.privacy.mechanism", "secrecy"),
        ("versions", ["3"]),
        ("case", None),
    ],
)
def test_what_is_no_examination_is_refused(path, value):
    if path == "case":
        assert from_text(FULL.case, changed(path, value)) == FULL  # the reader's own stands
        return
    with pytest.raises(ValueError):
        from_text(FULL.case, changed(path, value))


@pytest.mark.parametrize("text", ["", "[]", "null", "{}", '{"case": 1}', "{"])
def test_what_is_no_object_of_an_examination_is_refused(text):
    with pytest.raises(ValueError):
        from_text(FULL.case, text)


@pytest.mark.parametrize("name", [field.name for field in dataclasses.fields(Findings) if field.default is not None])
def test_a_missing_figure_that_has_no_default_is_refused(name):
    content = json.loads(as_text(FULL))
    del content["findings"][name]
    field = next(field for field in dataclasses.fields(Findings) if field.name == name)
    if field.default is dataclasses.MISSING:
        with pytest.raises(ValueError):
            from_text(FULL.case, json.dumps(content))
    else:
        assert getattr(from_text(FULL.case, json.dumps(content)).findings, name) == field.default


def test_quantiles_come_back_as_a_tuple():
    entropy = filled(Entropy, quantiles=tuple(i / 100 for i in range(101)))
    assert again(replace(FULL, entropy=entropy)).entropy == entropy


def test_a_file_that_cannot_be_written_whole_leaves_the_earlier_one(tmp_path):
    path = tmp_path / "kept.json"
    write_atomically(path, "before")
    with pytest.raises(UnicodeEncodeError):
        write_atomically(path, "after \ud800")
    assert path.read_text(encoding="utf-8") == "before"
    assert [one.name for one in tmp_path.iterdir()] == ["kept.json"]
