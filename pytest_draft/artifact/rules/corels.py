"""Reads the rule lists of CORELS, saved or printed.

CORELS (Angelino et al., Learning Certifiably Optimal Rule Lists for Categorical Data, JMLR 2018) takes columns of zeros
and ones. The forms, by who writes them:

- pycorels saves a pickled dict of the names (``f``), the rules (``r``) and the prediction's name (``p``), or its whole
  classifier. A rule's antecedents are columns counted from 1, below 0 for negations, and 0 for the default.
- pycorels prints ``RULELIST:`` and below it ``if [a && not b]:``, ``name = True`` and so on.
- The C++ program prints ``OPTIMAL RULE LIST`` and below it ``if ({a,b}) then ({label})``, ``else ({label})``, and
  writes ``{a,b}~1;default~0``.

``train_labels``, the rows of each class that a rule captured, are in those of the version that comes with the paper on
probabilistic reconstruction (Ferry et al., SaTML 2024).
"""

from __future__ import annotations

import ast
import re
from typing import Any

from pytest_draft.artifact.objects import Object, attributes_of
from pytest_draft.artifact.records import Mapping, Record
from pytest_draft.artifact.rules.rule_list import RuleList
from pytest_draft.errors import CorruptArtifactError, UnsupportedArtifactError, one_line
from pytest_draft.facts.rules import ListedRule, Literal, between

_KIND = "CORELS rule list"
_CLASSIFIERS = {("corels.corels", "CorelsClassifier")}
_LISTS = {("corels.utils", "RuleList")}
_SAVED = {"f", "r", "p"}
_TRUTH = {"False": False, "True": True, "0": False, "1": True}

_PRINTED = re.compile(r"^RULELIST:[ \t]*$", re.MULTILINE)
_OPTIMAL = re.compile(r"^OPTIMAL RULE LIST[ \t]*$", re.MULTILINE)
_WRITTEN = re.compile(r"(?:[^\n]*~[01];)?default~[01]")
_IF = re.compile(r"if \[(.*)\]:\s*")
_PREDICTION = re.compile(r"\s*\S.* = (True|False|0|1)(?: [\[(]\s*(\d{1,15}),?\s+(\d{1,15})\s*[\])])?\s*")
_FEATURES = re.compile(r"All features: \((\[.*\])\)\s*")
_THEN = ") then ("


def is_corels(root: object) -> bool:
    """Return whether what a pickle holds is a rule list of pycorels."""
    if isinstance(root, Record):
        return root.cls.key in _CLASSIFIERS | _LISTS
    return isinstance(root, Mapping) and {key for key, _ in root.pairs if type(key) is str} == _SAVED


def stored_corels(root: object) -> tuple[RuleList, list[str]]:
    """Read a rule list that pycorels saved (`is_corels`); return the paths of attributes that were left opaque, too."""
    parts = [attributes_of(root, "") if isinstance(root, Mapping) else Object(root)]  # type: ignore[arg-type]
    if parts[0].record.cls.key in _CLASSIFIERS:
        parts[0].is_fitted("rl_")
        inner = parts[0].get("rl_")
        if not isinstance(inner, Record) or inner.cls.key not in _LISTS:
            raise CorruptArtifactError("rl_ is not a rule list")
        parts.append(Object(inner, "rl_."))
    listed = parts[-1]
    by_letter = isinstance(root, Mapping)
    features, rules = (listed.get(name) for name in (("f", "r") if by_letter else ("features", "rules")))
    listed.get("p" if by_letter else "prediction_name")
    if not isinstance(features, list) or any(type(name) is not str for name in features):
        raise CorruptArtifactError("the features are not a list of names")
    if not isinstance(rules, list) or not rules or not all(isinstance(rule, Mapping) for rule in rules):
        raise CorruptArtifactError("the rules are not a list of dicts")
    entries = [attributes_of(rule, f"rules[{index}].") for index, rule in enumerate(rules)]
    made = tuple(_stored_rule(entry, is_last=entry is entries[-1]) for entry in entries)
    not_read = [path for part in (*parts, *entries) for path in part.not_read()]
    return _rule_list(made, features), not_read


def _stored_rule(entry: Object, *, is_last: bool) -> ListedRule:
    antecedents, prediction, labels = (entry.get(name) for name in ("antecedents", "prediction", "train_labels"))
    if not isinstance(antecedents, list) or any(type(column) is not int for column in antecedents):
        raise CorruptArtifactError(f"{entry.path}antecedents is not a list of columns")
    if type(prediction) not in (bool, int) or prediction not in (0, 1):
        raise CorruptArtifactError(f"{entry.path}prediction is not true or false")
    if is_last and antecedents == [0]:
        antecedents = []
    if 0 in antecedents:
        raise CorruptArtifactError(f"{entry.path}antecedents has the default's 0 besides others, or before the end")
    literals = tuple(_literal(abs(column) - 1, negated=column < 0) for column in antecedents)
    return ListedRule(literals, bool(prediction), None if labels is None else _stored_counts(labels, entry.path))


def _stored_counts(labels: Any, path: str) -> tuple[int, ...]:
    if not isinstance(labels, (list, tuple)) or any(type(count) is not int for count in labels):
        raise CorruptArtifactError(f"{path}train_labels is not a number of rows for each class")
    return tuple(labels)


def _rule_list(rules: tuple[ListedRule, ...], features: list[str] | None) -> RuleList:
    """Return a list with the classes of pycorels, and with the names where they tell the columns apart."""
    if not features:
        return RuleList(_KIND, rules, None, None, (False, True), "binary")
    columns = tuple(features) if len(set(features)) == len(features) else None
    return RuleList(_KIND, rules, columns, len(features), (False, True), "binary")


def _literal(column: int, *, negated: bool) -> Literal:
    value = 0.0 if negated else 1.0
    return Literal(column, *between(value, value))


def is_corels_text(text: str) -> bool:
    """Return whether a text has a rule list in one of CORELS' forms."""
    marked = _PRINTED.search(text) or _OPTIMAL.search(text) or _WRITTEN.fullmatch(text.strip())
    return marked is not None or text.lstrip().startswith(("if (", "if ["))


def corels_text(text: str) -> tuple[RuleList, list[str]]:
    """Read a rule list that CORELS printed or wrote (`is_corels_text`); return what was not read of the text, too."""
    if _WRITTEN.fullmatch(text.strip()):
        return _written(text.strip()), []
    marks = [*_PRINTED.finditer(text), *_OPTIMAL.finditer(text)]
    if len(marks) > 1:
        raise UnsupportedArtifactError(f"it holds {len(marks)} printed rule lists: keep the one that is released")
    before, body = (text[: marks[0].start()], text[marks[0].end() :]) if marks else ("", text)
    lines = [line for line in body.splitlines() if line.strip()]
    rules, rest = _printed(lines) if _PRINTED.search(text) or body.lstrip().startswith("if [") else _optimal(lines)
    return rules, ["(text around the rule list)"] if before.strip() or rest else []


class _Names:
    """The columns that a text names, numbered as they appear.

    Parameters
    ----------
    known : list of str or None
        All columns, where the text names them.
    """

    def __init__(self, known: list[str] | None = None) -> None:
        self._closed = known is not None
        self.columns = {name: position for position, name in enumerate(known or ())}

    def literal(self, name: str, negation: str) -> Literal:
        """Return the test that a name is, negated where the word of a negation is before it or before its value."""
        plain = name.removeprefix(negation) if negation == "not " else name.replace(negation, ":", 1)
        negated = plain != name and not (self._closed and name in self.columns)
        plain = plain if negated else name
        if not plain:
            raise CorruptArtifactError("a rule tests a column without a name")
        if plain not in self.columns:
            if self._closed:
                raise CorruptArtifactError(
                    f"a rule tests column {one_line(plain, 60)!r}, which is none of its features"
                )
            self.columns[plain] = len(self.columns)
        return _literal(self.columns[plain], negated=negated)


def _printed(lines: list[str]) -> tuple[RuleList, list[str]]:
    """Read what pycorels prints, and return what follows too."""
    features = [found[1] for line in lines if (found := _FEATURES.fullmatch(line))]
    names = _Names(_features(features[0]) if features else None)
    rules: list[ListedRule] = []
    position = 0
    while not rules or rules[-1].literals:
        test: str | None = None
        line = _line(lines, position)
        if rules and line.split(" ", 1)[0] != "else":
            raise CorruptArtifactError(f"after rule {len(rules)} there is no else")
        if rules:
            line = line[len("else ") :]
        if line.startswith("if ") or rules:
            position += 1
            found = _IF.fullmatch(line)
            if line.strip() and found is None:
                raise CorruptArtifactError(f"rule {len(rules) + 1} is not of the form if [a && not b]:")
            test = None if found is None else found[1]
        outcome = _PREDICTION.fullmatch(_line(lines, position))
        if outcome is None:
            raise CorruptArtifactError(f"rule {len(rules) + 1} has no prediction of the form name = True")
        position += 1
        literals = () if test is None else tuple(names.literal(name, "not ") for name in test.split(" && "))
        counts = None if outcome[2] is None else (int(outcome[2]), int(outcome[3]))
        rules.append(ListedRule(literals, _TRUTH[outcome[1]], counts))
    rest = [line for line in lines[position:] if not _FEATURES.fullmatch(line)]
    if features:
        return _rule_list(tuple(rules), list(names.columns)), rest
    return RuleList(_KIND, tuple(rules), tuple(names.columns), None, (False, True), "binary"), rest


def _line(lines: list[str], position: int) -> str:
    if position >= len(lines):
        raise CorruptArtifactError("the rule list ends before its default")
    return lines[position]


def _features(text: str) -> list[str]:
    try:
        features = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        features = None
    if not isinstance(features, list) or any(type(name) is not str for name in features):
        raise CorruptArtifactError("the line All features does not hold a list of names")
    if len(set(features)) != len(features):
        raise CorruptArtifactError("the line All features has a name twice")
    return features


def _optimal(lines: list[str]) -> tuple[RuleList, list[str]]:
    """Read what the C++ program prints, and return what follows too."""
    tests: list[str] = []
    labels: list[str] = []
    position = 0
    while len(labels) == len(tests):
        line = _line(lines, position).rstrip()
        start = "else if (" if tests else "if ("
        if tests and line.startswith("else (") and line.endswith(")"):
            labels.append(line[len("else (") : -1])
        elif line.startswith(start) and line.endswith(")") and line.count(_THEN) == 1:
            test, _, label = line[len(start) : -1].partition(_THEN)
            labels.append(label)
            tests += [test] if test != "1" else []
        else:
            raise CorruptArtifactError(f"rule {len(tests) + 1} is not of the form if ({{a,b}}) then ({{label}})")
        position += 1
    shown = _label_values(labels)
    classes = tuple(sorted(set(shown)))
    if len(classes) != 2:
        raise UnsupportedArtifactError(
            f"its text names {len(classes)} of CORELS' 2 classes: give the list as TOML, which names them"
        )
    return _mined(tests, shown, classes), lines[position:]


def _label_values(labels: list[str]) -> list[str]:
    """Return the labels without their braces and the name of their column, where all have the same."""
    plain = [_without_braces(label) for label in labels]
    parts = [re.fullmatch(r"(.+[:=])(.+)", label) for label in plain]
    if all(parts) and len({part[1] for part in parts if part}) == 1:
        return [part[2] for part in parts if part]
    return plain


def _without_braces(text: str) -> str:
    return text[1:-1] if text.startswith("{") and text.endswith("}") else text


def _written(text: str) -> RuleList:
    """Read what the C++ program writes to a file."""
    *rules, default = (entry.rpartition("~") for entry in text.split(";"))
    if any(name == "default" or outcome not in ("0", "1") for name, _, outcome in rules):
        raise CorruptArtifactError("its rules are not of the form {a,b}~1;default~0")
    predictions = [_TRUTH[outcome] for _, _, outcome in (*rules, default)]
    return _mined([name for name, _, _ in rules], predictions, (False, True))


def _mined(tests: list[str], predictions: list[Any], classes: tuple[object, ...]) -> RuleList:
    """Return a list whose tests are in the C++ program's words; its miner writes ``a:not-b`` where ``a:b`` is 0."""
    names = _Names()
    rules = [
        ListedRule(tuple(names.literal(name, ":not-") for name in _without_braces(test).split(",")), prediction)
        for test, prediction in zip(tests, predictions, strict=False)
    ]
    rules.append(ListedRule((), predictions[-1]))
    return RuleList(_KIND, tuple(rules), tuple(names.columns), None, classes, "binary")
