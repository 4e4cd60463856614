"""A policy: in goes a TOML file or a marker's arguments, out comes a frozen `Policy`."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path

from jsonschema import Draft202012Validator, TypeChecker
from jsonschema.validators import extend

from pytest_draft.adversary import check_adversary
from pytest_draft.errors import PolicyError, UsageError, one_line
from pytest_draft.policy.rules import RULES

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Budgets = Mapping[str, Mapping[str, float]]


def _is_finite_number(checker: TypeChecker, value: object) -> bool:
    """Return whether a value is a number that others can be compared with: a NaN would never be crossed."""
    known = Draft202012Validator.TYPE_CHECKER.is_type(value, "number")
    return known and math.isfinite(value)  # type: ignore[arg-type]


_Validator = extend(  # type: ignore[no-untyped-call]
    Draft202012Validator,
    type_checker=Draft202012Validator.TYPE_CHECKER.redefine("number", _is_finite_number),
)


@dataclass(frozen=True)
class Policy:
    """Rules with thresholds.

    Attributes
    ----------
    name : str
    source : str
        Path of the file, ``rules/default.toml`` for the shipped default, or where else it is from.
    rules : mapping of str to mapping of str to float
        Thresholds by rule id; those that are not given and have a default are added.
    adversaries : tuple of str
        That the model's own items are judged against.
    allow_inconclusive : bool
        Whether an inconclusive check lets the suite pass. Never lifts a failure.
    explicit : bool
        Whether a user named it; False for the shipped default.
    """

    name: str
    source: str
    rules: Budgets
    adversaries: tuple[str, ...] = ("artifact",)
    allow_inconclusive: bool = False
    explicit: bool = True

    def __post_init__(self) -> None:
        complete = {rule: RULES[rule].in_force(thresholds) for rule, thresholds in self.rules.items()}
        object.__setattr__(self, "rules", complete)

    def stops(self, result: str) -> bool:
        """Return whether a check with this result fails the suite: failed always, inconclusive unless allowed."""
        return result != "passed" and not (result == "inconclusive" and self.allow_inconclusive)

    def tightened(self, budgets: Budgets) -> Policy:
        """Return the policy with further budgets; where two meet, the strictest wins.

        Parameters
        ----------
        budgets : mapping of str to mapping of str to float
        """
        merged = {rule: dict(thresholds) for rule, thresholds in self.rules.items()}
        for rule, thresholds in budgets.items():
            mine = merged.setdefault(rule, {})
            for key, value in RULES[rule].in_force(thresholds).items():
                mine[key] = RULES[rule].keys[key].strictest(mine.get(key, value), value)
        return replace(self, rules=merged)


def rules_folder() -> Path:
    """Return the folder of the shipped policies and their schema."""
    packaged = Path(str(resources.files("pytest_draft"))) / "rules"
    return packaged if packaged.is_dir() else Path(__file__).parents[2] / "rules"


def default_policy() -> Policy:
    """Return the shipped default policy."""
    policy = read_policy(rules_folder() / "default.toml")
    return replace(policy, source="rules/default.toml", explicit=False)


def read_policy(path: Path) -> Policy:
    """Read a policy from a TOML file.

    Parameters
    ----------
    path : pathlib.Path

    Returns
    -------
    Policy

    Raises
    ------
    PolicyError
        With all that is wrong in the file, each with its key and line.
    """
    shown = one_line(path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PolicyError(f"{shown}: the policy cannot be read ({type(error).__name__})") from None
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PolicyError(f"{shown}: not valid TOML: {one_line(error)}") from None
    schema = json.loads((rules_folder() / "policy.schema.json").read_text(encoding="utf-8"))
    errors = sorted(_Validator(schema).iter_errors(content), key=lambda error: list(map(str, error.path)))
    listed = [_shown(error.message, [str(key) for key in error.absolute_path], text) for error in errors]
    adversaries = content.get("adversaries", ["artifact"])
    listed += [] if errors else _wrong_adversaries(adversaries, text)
    if listed:
        raise PolicyError(f"{shown}: " + "; ".join(listed))
    return Policy(
        content["name"],
        str(path),
        content["rules"],
        tuple(adversaries),
        content.get("allow_inconclusive", False),
    )


def _wrong_adversaries(adversaries: list[str], text: str) -> list[str]:
    """Return what is wrong with adversaries that have the schema's form."""
    problems = []
    for index, adversary in enumerate(adversaries):
        try:
            check_adversary(adversary)
        except UsageError as error:
            problems.append(_shown(str(error), ["adversaries", str(index)], text))
    return problems


def _shown(message: str, keys: list[str], text: str) -> str:
    """Return an error of the schema with the line of its innermost key that the text shows."""
    quoted = re.findall(r"'([^']+)'", message)
    for key in [*quoted[:1], *reversed(keys)]:
        for number, line in enumerate(text.splitlines(), start=1):
            if re.search(rf"(^|[\[.\s\"]){re.escape(key)}([\].\s=\"]|$)", line.split("#")[0]):
                return f"line {number}: {'.'.join(keys) or 'top level'}: {one_line(message)}"
    return f"{'.'.join(keys) or 'top level'}: {one_line(message)}"


_ARGUMENTS = {
    "max_error": "reconstruction-error",
    "max_perfect_rows": "perfect-rows",
    "max_singled_out_rows": "singled-out-rows",
}
"""The arguments of the marker, and the rules that they are thresholds of."""


def budgets_of_marker(arguments: Mapping[str, object]) -> Budgets:
    """Return the budgets that a marker's keyword arguments state.

    Parameters
    ----------
    arguments : mapping of str to object

    Returns
    -------
    mapping of str to mapping of str to float

    Raises
    ------
    PolicyError
        For an unknown argument, with the list of the known, and for a value out of range.
    """
    known = ", ".join(_ARGUMENTS)
    if not arguments:
        raise PolicyError(f"reconstruction_budget needs at least one of: {known}")
    budgets: dict[str, dict[str, float]] = {}
    for name, value in arguments.items():
        if name not in _ARGUMENTS:
            raise PolicyError(f"reconstruction_budget: unknown argument {one_line(name)!r}; known are: {known}")
        key = RULES[_ARGUMENTS[name]].keys[name]
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not number or (key.whole and not isinstance(value, int)):
            raise PolicyError(f"reconstruction_budget: {name} must be a {'whole ' * key.whole}number")
        if not 0 <= value <= (key.largest if key.largest is not None else float("inf")):  # type: ignore[operator]
            end = "" if key.largest is None else f" and {key.largest:g}"
            raise PolicyError(
                f"reconstruction_budget: {name} must be {'between 0' + end if end else 'at least 0'}, not {value}"
            )
        budgets.setdefault(_ARGUMENTS[name], {})[name] = value  # type: ignore[assignment]
    return budgets
