"""A policy: in goes a TOML file or a marker's arguments, out comes a frozen `Policy`."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from pathlib import Path
from typing import Any

from pytest_draft.bounded import content as content_of
from pytest_draft.bounded import what_failed
from pytest_draft.documents import MOST_BYTES, Problem, all_located, located, rules_folder, toml, violations
from pytest_draft.errors import PolicyError, UsageError, known_are, one_line
from pytest_draft.facts.adversary import check_adversary
from pytest_draft.facts.rules import Literal, literals
from pytest_draft.facts.slices import Slice
from pytest_draft.policy.compared_with_earlier import OF_ATTACKS, OF_AUDITS
from pytest_draft.policy.determined_rows import RULE as DETERMINED
from pytest_draft.policy.given_all_other_rows import RULE as GIVEN_ALL_OTHER_ROWS
from pytest_draft.policy.perfect_rows import RULE as PERFECT
from pytest_draft.policy.reconstruction_error import RULE as ERROR
from pytest_draft.policy.rule import Severity
from pytest_draft.policy.rules import COMPARED, RULES, nameable, rule_of
from pytest_draft.policy.waiver import Waiver

Budgets = Mapping[str, Mapping[str, Any]]

MARKER = "marker"
"""The name of a policy that a test's marker alone makes, and whose further budgets are."""


@dataclass(frozen=True)
class Policy:
    """Rules with thresholds."""

    name: str
    source: str
    """Path of the file, ``rules/default.toml`` for the shipped default, or where else it is from."""
    rules: Budgets
    """Thresholds by rule id; those that are not given and have a default are added."""
    adversaries: tuple[str, ...] = ("artifact",)
    """That the model's own items are judged against."""
    allow_inconclusive: bool = False
    """Whether an inconclusive check lets the suite pass. Never lifts a failure."""
    explicit: bool = True
    """Whether a user named it; False for the shipped default."""
    sha256: str | None = None
    """Of the file; None without one."""
    severities: Mapping[str, Severity] = field(default_factory=dict)
    """By rule id; those that are not given are the rules' own."""
    waivers: tuple[Waiver, ...] = ()
    compare: Mapping[str, float] = field(default_factory=dict)
    """How much worse than in an earlier report a metric may be, where one is given."""
    slices: tuple[Slice, ...] = ()
    """Rows that thresholds are held against by themselves, besides all rows."""
    sensitive: tuple[str, ...] = ()
    """Columns, or the label's, of which it is to be known what files tell."""
    by_class: bool = False
    """Whether they are held against the rows of each class, too."""
    domain_sha256: str | None = None
    """Of a domain file that the policy vouches for: it is taken as it stands."""
    found_rows_bits: float = 40.0
    """Margin, as a power of 2, from which training rows that were found in a raw table are confirmed."""
    coarse_bounds: bool = False
    """Whether reports tell powers of ten around the lowest and highest values of columns, or nothing of them."""
    known_files: tuple[str, ...] = ()
    """Patterns of files of a release that may be of an unknown kind."""
    pinned_ledger: bool = False
    """Whether the head of a ledger of released files must be pinned, where it has any."""
    askers: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Whose each threshold is, by rule, where not all are this policy's."""
    context: Mapping[str, Any] = field(default_factory=dict)
    """Who gets the file and what they are assumed to know, as somebody declares it; judges nothing."""

    def __post_init__(self) -> None:
        complete = {rule: rule_of(rule).in_force(thresholds) for rule, thresholds in self.rules.items()}
        object.__setattr__(self, "rules", complete)
        severities = {rule: rule_of(rule).severity for rule in self.rules}
        object.__setattr__(self, "severities", {**severities, **self.severities})

    @property
    def needs_attack(self) -> bool:
        """Whether some rule judges what an attack finds."""
        return any(rule_of(rule).attack for rule in self.rules)

    @property
    def with_comparison(self) -> Policy:
        """The policy with the comparison with an earlier report as a rule, by its own allowances or the usual ones."""
        usual = OF_ATTACKS if self.needs_attack else OF_AUDITS
        return replace(self, rules={**self.rules, COMPARED.id: {**usual, **self.compare}})

    def asked_by(self, rule: str) -> str:
        """Return who asks for a rule: the policy, the marker, or both, each with its thresholds."""
        mine = self._name_of_askers
        whose = self.askers.get(rule, {})
        by_asker: dict[str, list[str]] = {}
        for key in self.rules.get(rule, {}):
            by_asker.setdefault(whose.get(key, mine), []).append(key)
        if len(by_asker) < 2:
            return next(iter(by_asker), mine)
        return " and ".join(f"{asker} ({', '.join(keys)})" for asker, keys in by_asker.items())

    @property
    def _name_of_askers(self) -> str:
        return MARKER if self.name == MARKER else f"policy {self.name}"

    def waiver(self, rule: str, artifact_sha256: str | None) -> Waiver | None:
        """Return the waiver of a rule for a model file, if there is one."""
        for waiver in self.waivers:
            if (waiver.rule, waiver.artifact_sha256) == (rule, artifact_sha256):
                return waiver
        return None

    def tightened(self, budgets: Budgets) -> Policy:
        """Return the policy with further budgets; where two meet, the strictest wins. Their rules are errors.

        Parameters
        ----------
        budgets : mapping of str to mapping of str to float
        """
        merged = {rule: dict(thresholds) for rule, thresholds in self.rules.items()}
        askers = {rule: dict(whose) for rule, whose in self.askers.items()}
        for rule, thresholds in budgets.items():
            mine = merged.setdefault(rule, {})
            for key, value in rule_of(rule).in_force(thresholds).items():
                stricter = rule_of(rule).keys[key].strictest(mine.get(key, value), value)
                if mine.get(key) != stricter:
                    askers.setdefault(rule, {})[key] = MARKER
                mine[key] = stricter
        severities: dict[str, Severity] = {**self.severities, **dict.fromkeys(budgets, "error")}
        return replace(self, rules=merged, severities=severities, askers=askers)


def default_policy() -> Policy:
    """Return the shipped default policy."""
    return replace(read_policy(rules_folder() / "default.toml"), explicit=False)


def shipped_policy(name: str) -> Path:
    """Return the file of a shipped policy.

    Raises
    ------
    UsageError
        Where there is none of that name.
    """
    shipped = {path.stem: path for path in sorted(rules_folder().glob("*.toml"))}
    if name not in shipped:
        raise UsageError(f"there is no file and no shipped policy {one_line(name)!r}; {known_are(name, shipped)}")
    return shipped[name]


def read_policy(path: Path, today: date | None = None) -> Policy:
    """Read a policy from a TOML file.

    Parameters
    ----------
    path : pathlib.Path
    today : datetime.date or None
        By which waivers expire; None for today's date.

    Raises
    ------
    PolicyError
        With all that is wrong in the file, each with its key and line.
    """
    shown = one_line(path)
    try:
        raw = content_of(path, MOST_BYTES)
        text = raw.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PolicyError(f"{shown}: the policy cannot be read ({what_failed(error, MOST_BYTES)})") from None
    try:
        content = toml(text)
    except ValueError as error:
        raise PolicyError(f"{shown}: {error}") from None
    content = _with_dates_as_text(content)
    adversaries = content.get("adversaries")
    named = isinstance(adversaries, list) and all(isinstance(one, str) for one in adversaries)
    listed = violations(content, "policy.schema.json", text, ("adversaries",) if named else ())
    listed += all_located(_wrong_rules(content), text)
    listed += all_located(_wrong_adversaries(adversaries), text) if named else []
    slices: list[Slice] = []
    if not listed:
        problems = [
            *_wrong_severities(content),
            *_missing_companions(content["rules"]),
            *_wrong_waivers(content, today or date.today()),
        ]
        slices, wrong = _slices(content, text, shown)
        listed = all_located([*problems, *wrong], text)
    if listed:
        raise PolicyError(f"{shown}: " + "; ".join(listed))
    return Policy(
        content["name"],
        f"rules/{path.name}" if path.parent == rules_folder() else str(path),
        content["rules"],
        tuple(content.get("adversaries", ("artifact",))),
        content.get("allow_inconclusive", False),
        sha256=hashlib.sha256(raw).hexdigest(),
        severities=content.get("severity", {}),
        waivers=tuple(
            Waiver(**{**waiver, "expires": date.fromisoformat(waiver["expires"])})
            for waiver in content.get("waiver", ())
        ),
        compare=content.get("compare", {}),
        slices=tuple(slices),
        sensitive=tuple(content.get("sensitive", ())),
        by_class=content.get("by_class", False),
        domain_sha256=content.get("domain_sha256"),
        found_rows_bits=content.get("found_rows_bits", 40.0),
        coarse_bounds=content.get("bounds") == "coarse",
        known_files=tuple(content.get("known_files", ())),
        context=content.get("context", {}),
        pinned_ledger=content.get("pinned_ledger", False),
    )


def _with_dates_as_text(content: Any) -> Any:
    """Return a document in which TOML's own dates are text, as the schema has them."""
    if isinstance(content, dict):
        return {key: _with_dates_as_text(value) for key, value in content.items()}
    if isinstance(content, list):
        return [_with_dates_as_text(value) for value in content]
    return content.isoformat() if isinstance(content, (date, datetime)) else content


def _wrong_rules(content: Mapping[str, Any]) -> list[Problem]:
    """Return what the schema cannot know: which rules there are, and the keys of other distributions' rules."""
    problems: list[Problem] = []
    rules = content.get("rules")
    for rule, thresholds in rules.items() if isinstance(rules, dict) else ():
        try:
            keys = nameable(rule).keys
        except PolicyError as error:
            problems.append((str(error), ["rules", rule]))
            continue
        if rule in RULES or not isinstance(thresholds, dict):
            continue
        for name, value in thresholds.items():
            if name not in keys:
                problems.append((f"{name!r} is no key of it; {known_are(name, keys)}", ["rules", rule, name]))
            elif wrong := keys[name].wrong(value):
                problems.append((f"it {wrong}", ["rules", rule, name]))
    return problems


def _wrong_adversaries(adversaries: Sequence[str]) -> list[Problem]:
    """Return what is wrong with adversaries that have the schema's form."""
    problems: list[Problem] = []
    for index, adversary in enumerate(adversaries):
        try:
            check_adversary(adversary)
        except UsageError as error:
            problems.append((str(error), ["adversaries", index]))
    return problems


def _missing_companions(rules: Mapping[str, Any]) -> list[Problem]:
    """Return which rules cannot stand alone: to some files they are not applicable, which would not be judged."""
    if not {ERROR.id, PERFECT.id}.isdisjoint(rules):
        return []
    beside = f"[rules.{ERROR.id}] or [rules.{PERFECT.id}]"
    problem = f"it is not applicable to private forests, nor to who knows all other rows: add {beside} beside it"
    return [(problem, ["rules", rule.id]) for rule in (DETERMINED, GIVEN_ALL_OTHER_ROWS) if rule.id in rules]


def _wrong_severities(content: Mapping[str, Any]) -> list[Problem]:
    """Return which severities are of rules that the policy does not have."""
    return [
        (f"the policy has no rule {rule!r}: name it under [rules], too", ["severity", rule])
        for rule in content.get("severity", {})
        if rule not in (*content["rules"], COMPARED.id)
    ]


def _wrong_waivers(content: Mapping[str, Any], today: date) -> list[Problem]:
    """Return what is wrong with waivers that have the schema's form."""
    problems: list[Problem] = []
    seen: set[tuple[str, str]] = set()
    for index, waiver in enumerate(content.get("waiver", ())):
        rule, expires = waiver["rule"], waiver["expires"]
        if rule not in (*content["rules"], COMPARED.id):
            problems.append(
                (f"it waives {rule!r}, which is no rule of this policy: remove it", ["waiver", index, "rule"])
            )
        if date.fromisoformat(expires) < today:
            problems.append((f"it has expired on {expires}: decide anew, or remove it", ["waiver", index, "expires"]))
        if (rule, waiver["artifact_sha256"]) in seen:
            problems.append(
                (f"{rule!r} is waived for this file already: remove one", ["waiver", index, "artifact_sha256"])
            )
        seen.add((rule, waiver["artifact_sha256"]))
    return problems


_SLICED = frozenset({"reconstruction-error", "perfect-rows", "singled-out-rows", "label-told"})
"""The rules that look at slices."""


def _slices(content: Mapping[str, Any], text: str, path: str) -> tuple[list[Slice], list[Problem]]:
    """Return slices that have the schema's form, and what is wrong with them."""
    slices: list[Slice] = []
    problems: list[Problem] = []
    if ("slice" in content or content.get("by_class")) and not _SLICED & set(content["rules"]):
        key = "slice" if "slice" in content else "by_class"
        problems.append((f"no rule of this policy looks at slices: name one of {', '.join(sorted(_SLICED))}", [key]))
    for index, entry in enumerate(content.get("slice", ())):
        if entry["name"] in (slice.name for slice in slices):
            problems.append(("another slice has this name", ["slice", index, "name"]))
        tests: list[Literal] = []
        places = []
        for position, (column, test) in enumerate(entry["if"].items()):
            keys = ["slice", index, "if", column]
            places.append(f"{path}: {located('', keys, text).removesuffix(': ')}")
            try:
                tests += literals(position, test)
            except ValueError as error:
                problems.append((str(error), keys))
        slices.append(Slice(entry["name"], tuple(entry["if"]), tuple(tests), tuple(places)))
    return slices, problems


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
    if not arguments:
        raise PolicyError(f"reconstruction_budget needs at least one of: {', '.join(_ARGUMENTS)}")
    budgets: dict[str, dict[str, float]] = {}
    for name, value in arguments.items():
        if name not in _ARGUMENTS:
            known = known_are(name, _ARGUMENTS)
            raise PolicyError(f"reconstruction_budget: unknown argument {one_line(name)!r}; {known}")
        key = RULES[_ARGUMENTS[name]].keys[name]
        if wrong := key.wrong(value):
            raise PolicyError(f"reconstruction_budget: {name} {wrong}")
        budgets.setdefault(_ARGUMENTS[name], {})[name] = value  # type: ignore[assignment]
    return budgets
