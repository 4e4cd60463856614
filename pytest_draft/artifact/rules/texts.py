"""Reads rule lists as text, recognised by their content: what CORELS prints or writes, TOML and JSON.

The form of the last two is in ``rules/rule-list.schema.json``: a `RuleList` comes out, or a list of all mistakes.
Numbers are rounded to single precision, as the training data are.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Mapping
from typing import Any

from pytest_draft.artifact.budget import Limits
from pytest_draft.artifact.json_text import json_content
from pytest_draft.artifact.rules.corels import corels_text, is_corels_text
from pytest_draft.artifact.rules.rule_list import RuleList
from pytest_draft.documents import Problem, all_located, toml, violations
from pytest_draft.errors import ArtifactTooBigError, CorruptArtifactError
from pytest_draft.facts.rules import ListedRule, Literal, literals

_TOML = re.compile(
    r"^[ \t]*(?:\[\[[ \t]*\"?rules\"?[ \t]*\]\]|\"?(?:schema_version|classes|rules)\"?[ \t]*=)", re.MULTILINE
)
_JSON = re.compile(r"\s*\{(?s:.*)\"(?:schema_version|classes|rules)\"\s*:")


def text_of(content: bytes, limits: Limits) -> str | None:
    """Return the text of a file that is a rule list in one of the forms known here; None for any other file."""
    try:
        text = codecs.getincrementaldecoder("utf-8-sig")().decode(content[: limits.text_bytes])
    except UnicodeDecodeError:
        return None
    if not (is_corels_text(text) or _JSON.match(text) or _TOML.search(text)):
        return None
    if len(content) > limits.text_bytes:
        raise ArtifactTooBigError(f"it is a rule list of more than {limits.text_bytes} bytes")
    return text


def rule_list_in(text: str) -> tuple[RuleList, list[str]]:
    """Return the rule list in a text from `text_of`, and what of the text was not read."""
    if is_corels_text(text):
        return corels_text(text)
    return (written_as_json(text) if _JSON.match(text) else written_as_toml(text)), []


_SCHEMA = "rule-list.schema.json"
_KIND = "rule list"
_MOST_DOTS = 500
"""Most dots in a line: the time that tomllib takes for a dotted key grows with the square of its length."""


Keys = list[str | int]


def written_as_toml(text: str) -> RuleList:
    """Read a rule list that is written in TOML."""
    if max(line.count(".") for line in text.splitlines()) > _MOST_DOTS:
        raise CorruptArtifactError(f"a line has more than {_MOST_DOTS} dots: write it in several")
    try:
        content = toml(text)
    except ValueError as error:
        raise CorruptArtifactError(str(error)) from None
    return _rule_list(content, text)


def written_as_json(text: str) -> RuleList:
    """Read a rule list that is written in JSON."""
    return _rule_list(json_content(text.encode()), "")


def _rule_list(content: Any, text: str) -> RuleList:
    problems = violations(content, _SCHEMA, text)
    if not problems:
        reader = _Reader(content)
        rules = reader.rules()
        problems = all_located(reader.problems, text)
    if problems:
        raise CorruptArtifactError("; ".join(problems))
    n_features = len(reader.columns) if "columns" in content else None
    return RuleList(_KIND, rules, tuple(reader.columns), n_features, tuple(content["classes"]))


class _Reader:
    """Reads the rules of a document that has the schema's form.

    Attributes
    ----------
    columns : dict of str to int
        Positions of all columns that the document names, else of those that rules have tested so far.
    problems : list of (str, keys)
        What is wrong so far.
    """

    def __init__(self, content: Mapping[str, Any]) -> None:
        self._content = content
        self._closed = "columns" in content
        # By whether it is a truth value too: to Python true is 1.
        self._classes = {(isinstance(one, bool), one): one for one in content["classes"]}
        self.columns = {name: position for position, name in enumerate(content.get("columns", ()))}
        self.problems: list[Problem] = []

    def rules(self) -> tuple[ListedRule, ...]:
        """Return the rules, and note what is wrong."""
        classes, entries = self._content["classes"], self._content["rules"]
        if len(set(classes)) != len(classes):
            self.problems.append(("the same class twice (true is 1, and false is 0)", ["classes"]))
        if len(self.columns) != len(self._content.get("columns", ())):
            self.problems.append(("the same column twice", ["columns"]))
        rules = []
        first: dict[tuple[Literal, ...], int] = {}
        for index, entry in enumerate(entries):
            rule = self._rule(entry, ["rules", index], is_last=index == len(entries) - 1)
            rules.append(rule)
            earlier = first.setdefault(rule.literals, index)
            if rule.literals and earlier < index:
                message = f"the same tests as those of rules.{earlier}, so that it can never capture a row"
                self.problems.append((message, ["rules", index, "if"]))
        if len({"counts" in entry for entry in entries}) == 2:
            lacking = next(index for index, entry in enumerate(entries) if "counts" not in entry)
            message = "has no counts, and other rules have: give them in all or in none"
            self.problems.append((message, ["rules", lacking]))
        return tuple(rules)

    def _rule(self, entry: Mapping[str, Any], keys: Keys, *, is_last: bool) -> ListedRule:
        if is_last and "if" in entry:
            self.problems.append(("the last rule is the default: it must be without if", [*keys, "if"]))
        if not is_last and "if" not in entry:
            self.problems.append(("only the last rule, the default, may be without if", keys))
        literals = [
            literal
            for column, test in entry.get("if", {}).items()
            for literal in self._literals(column, test, [*keys, "if", column])
        ]
        then, counts = entry["then"], entry.get("counts")
        kind = (isinstance(then, bool), then)
        if kind not in self._classes:
            self.problems.append(("is none of the classes", [*keys, "then"]))
        if counts is not None and len(counts) != len(self._content["classes"]):
            message = f"{len(counts)} numbers for {len(self._content['classes'])} classes"
            self.problems.append((message, [*keys, "counts"]))
        captured = None if counts is None else tuple(int(count) for count in counts)
        return ListedRule(tuple(literals), self._classes.get(kind), captured)

    def _literals(self, column: str, test: Any, keys: Keys) -> Iterator[Literal]:
        """Return the tests of one column, none where they are wrong."""
        if column not in self.columns:
            if self._closed:
                self.problems.append(("is none of the columns", keys))
                return
            self.columns[column] = len(self.columns)
        try:
            yield from literals(self.columns[column], test)
        except ValueError as error:
            self.problems.append((str(error), keys))
