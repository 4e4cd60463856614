"""Examinations as JSON text, and back.

Its case is left out: whoever reads the text knows it, and the bounds of its slices can be infinite, which is not JSON.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from pytest_draft.facts.case import Case
from pytest_draft.facts.examination import Examination
from pytest_draft.output import replacing

if TYPE_CHECKING:
    from cattrs import Converter


def as_text(examination: Examination) -> str:
    """Return an examination, without its case, as JSON.

    Raises
    ------
    ValueError
        Where a number is infinite or not a number.
    """
    content = asdict(examination)
    del content["case"]
    for one in _nested(content):
        del one["case"]
    return json.dumps(content, allow_nan=False)


def from_text(case: Case, text: str) -> Examination:
    """Return the examination of a case that a text holds.

    Parameters
    ----------
    text : str
        As `as_text` returns it.

    Raises
    ------
    ValueError
        Where it holds anything else: a key too many or too few, a value of another type or out of its range.
    """
    from cattrs import BaseValidationError

    content = json.loads(text, parse_constant=_refuse)
    if not isinstance(content, dict):
        raise ValueError("no examination: not an object")
    for one in _nested(content):
        one["case"] = case.basis if one is content.get("basis") else case.alone
    try:
        return _converter().structure({**content, "case": case}, Examination)
    except BaseValidationError as error:
        raise ValueError(f"no examination: {error.exceptions[0]!r}") from None


def _nested(content: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the examinations in one, by their content."""
    apart = content.get("apart")
    inner = [content.get("basis"), content.get("together"), *(apart.values() if isinstance(apart, dict) else ())]
    dicts = [one for one in inner if isinstance(one, dict)]
    return [*dicts, *(found for one in dicts for found in _nested(one))]


def write_atomically(path: Path, text: str) -> None:
    """Write a file so that an earlier one is replaced whole, or stays."""
    content = text.encode("utf-8")
    with replacing(path) as file:
        file.write(content)


@cache
def _converter() -> Converter:
    """Return what makes facts of plain values, and converts none: a text is no number, and true is not 1.

    It is imported where a text is first read: most runs read none.
    """
    from cattrs import Converter

    converter = Converter(forbid_extra_keys=True)
    kinds: tuple[tuple[type[Any], tuple[type[Any], ...]], ...] = (
        (bool, (bool,)),
        (int, (int,)),
        (float, (float, int)),  # a whole number stays one, so that a report shows it as before
        (str, (str,)),
        (Case, (Case,)),
    )
    for kind, accepted in kinds:
        converter.register_structure_hook(kind, _only(accepted))
    return converter


def _only(accepted: tuple[type[Any], ...]) -> Any:
    """Return a hook that lets values of some types through, as they are."""

    def hook(value: object, _: object) -> object:
        if type(value) not in accepted:
            raise TypeError(f"{type(value).__name__} in place of {accepted[0].__name__}")
        return value

    return hook


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number of JSON")
