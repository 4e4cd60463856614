"""Facts made up from their types: in goes a dataclass, out comes an instance in which no field has its default."""

from __future__ import annotations

import dataclasses
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from pytest_draft.facts.case import Case
from pytest_draft.facts.entropy import Entropy
from pytest_draft.facts.examination import Examination, unexamined
from pytest_draft.facts.files import DataFacts
from pytest_draft.facts.findings import Findings, Measure
from pytest_draft.facts.informed import Informed
from pytest_draft.facts.privacy import Privacy
from pytest_draft.facts.structure import AT_LEAST, StructureFacts

PLAIN = {int: 1, float: 1.0, str: "text", bool: True, NoneType: None}

CASE = Case("model.joblib", "train.csv", hardened_from="raw.joblib")

APART = {
    (Privacy, "delta"): 0.25,  # less than 1
    (StructureFacts, "sizes"): (1,) * len(AT_LEAST),
    (StructureFacts, "leaves"): len(AT_LEAST),  # as many as its sizes sum up to
    (Entropy, "quantiles"): tuple(i / 100 for i in range(101)),
    (Findings, "row_errors"): tuple(i / 100 for i in range(101)),
    (Measure, "of"): "everything",  # the first one of findings
    (Informed, "row_errors"): tuple(i / 100 for i in range(101)),
    (DataFacts, "record_share"): 0.5,  # not the default
    (Examination, "basis"): unexamined(CASE.basis),  # which has a basis of its own in no case
    (Examination, "together"): unexamined(CASE.alone),
    (Examination, "apart"): {"text": unexamined(CASE.alone)},
}
"""Fields that the value of their type does not fit."""


def example(kind: Any, besides: Any = None) -> Any:
    """Return a value of a type: of an optional one not None, of a Literal the last that is not `besides`."""
    origin, arguments = get_origin(kind), get_args(kind)
    if kind in PLAIN:
        return PLAIN[kind] if kind is not bool else not besides
    if kind is Case:
        return CASE
    if dataclasses.is_dataclass(kind):
        return filled(kind)
    if origin in (Union, UnionType):
        return example(next(one for one in arguments if one is not NoneType), besides)
    if origin is Literal:
        return [one for one in arguments if one != besides][-1]
    if origin is tuple:
        return tuple(map(example, (arguments[0],) * 2 if arguments[-1] is ... else arguments))
    if origin is dict:
        return {example(arguments[0]): example(arguments[1])}
    raise TypeError(f"no example of {kind}: add one here, and see that facts.storage brings it back")


def filled(kind: type[Any], /, **values: Any) -> Any:
    """Return an instance with all fields filled, some of them with given values."""
    hints = get_type_hints(kind)
    return kind(
        **{
            field.name: values[field.name]
            if field.name in values
            else APART.get((kind, field.name)) or example(hints[field.name], field.default)
            for field in dataclasses.fields(kind)
        }
    )


def parts(kind: Any = Examination) -> set[type[Any]]:
    """Return all dataclasses that stand in a type, itself included, a case and what is in it left out."""
    if kind is Case:
        return set()
    if not dataclasses.is_dataclass(kind):
        return set().union(*map(parts, get_args(kind)))
    assert isinstance(kind, type)
    inner = ("basis", "together", "apart")
    return {kind}.union(*(parts(hint) for name, hint in get_type_hints(kind).items() if name not in inner))


def optional_fields() -> list[tuple[type[Any], str]]:
    """Return the fields of all facts that can be None, with their classes."""
    return [
        (kind, name)
        for kind in sorted(parts(), key=lambda one: one.__name__)
        for name, hint in get_type_hints(kind).items()
        if NoneType in get_args(hint)
    ]
