"""A policy: in goes a TOML file or a marker's arguments, out comes a frozen `Policy`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from pytest_draft.adversary import check_adversary
from pytest_draft.documents import located, rules_folder, toml, violations
from pytest_draft.errors import PolicyError, UsageError, one_line
from pytest_draft.evaluate.findings import Findings
from pytest_draft.policy.rules import RULES

Budgets = Mapping[str, Mapping[str, float]]


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

    @property
    def needs_attack(self) -> bool:
        """Whether some rule judges what an attack finds."""
        return any(RULES[rule].needs is Findings for rule in self.rules)

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


def default_policy() -> Policy:
    """Return the shipped default policy."""
    return replace(read_policy(rules_folder() / "default.toml"), explicit=False)


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
        content = toml(text)
    except ValueError as error:
        raise PolicyError(f"{shown}: {error}") from None
    listed = violations(content, "policy.schema.json", text)
    adversaries = content.get("adversaries", ["artifact"])
    listed += [] if listed else _wrong_adversaries(adversaries, text)
    if listed:
        raise PolicyError(f"{shown}: " + "; ".join(listed))
    return Policy(
        content["name"],
        f"rules/{path.name}" if path.parent == rules_folder() else str(path),
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
            problems.append(located(str(error), ["adversaries", index], text))
    return problems


_ARGUMENTS = {
    "max_error": "reconstruction-error",
    "max_perfect_rows": "perfect-rows",
    "max_singled_out_rows": "singled-out-rows",
    "max_entropy_reduction": "entropy-reduction",
    "max_row_entropy_reduction": "entropy-reduction",
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
