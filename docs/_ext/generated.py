"""What the code says of itself: in go the package's own objects, out comes Markdown for the pages that ask for it.

A page asks with a line such as ``<!-- generated: rules -->``. The line is replaced before the page is parsed, so that
headings, anchors and links of what is generated are like those of what is written.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

# All that is taken from the package, in one place.
from pytest_draft import errors
from pytest_draft.documents import rules_folder
from pytest_draft.plugin import fixtures, hookspecs, marks, options, results
from pytest_draft.policy import rules
from pytest_draft.policy.policy import Policy, read_policy
from pytest_draft.report.schema import METRICS, fleet_schema
from pytest_draft.report.schema import schema as report_schema

if TYPE_CHECKING:
    from sphinx.application import Sphinx

MARK = re.compile(r"^<!-- generated: (.+?) -->$", re.MULTILINE)

NEEDS = {
    "Findings": "what an attack found. Where the attack has doubts (it did not converge, the rows may be others), a "
    "check that would pass is inconclusive.",
    "ArtifactFacts": "the file alone. It has an answer once the file could be read, whatever becomes of an attack.",
    "Entropy": "the entropy audit, which has doubts of its own, and no attack.",
    "NowAndEarlier": "an earlier report (`--draft-compare`).",
    "Examination": "all of the examination. The rule itself heeds its doubts.",
}
"""What each kind of evidence is, in words, by the name of its class."""

UNITS = {
    "error": "share of a row that is wrong, 0 to 1",
    "rows": "whole number of rows",
    "share": "share, 0 to 1",
    "times": "multiple of the baseline's error, 0 to 1",
}
"""Units of thresholds."""


def generated(name: str) -> str:
    """Return the Markdown of a part, by its name and arguments.

    Raises
    ------
    KeyError
        Where there is no such part.
    """
    part, *arguments = name.split()
    return PARTS[part](*arguments)


# -- options, marker, fixtures, hooks


class _Recorder:
    """Takes the place of pytest's parser, and keeps what is registered with it."""

    def __init__(self) -> None:
        self.options: list[tuple[str, dict[str, Any]]] = []
        self.ini: dict[str, tuple[str, str]] = {}

    def getgroup(self, *_: str) -> _Recorder:
        return self

    def addoption(self, *names: str, **how: Any) -> None:
        self.options.append((names[0], how))

    def addini(self, name: str, help: str, type: str = "string", default: Any = None) -> None:
        self.ini[name] = (type, help)


def registered() -> _Recorder:
    """Return what the plugin registers with pytest's parser."""
    recorder = _Recorder()
    options.add_options(recorder)  # type: ignore[arg-type]
    return recorder


def option_list() -> str:
    """Return a list of options, each with its ini value, and of other ini values: a table is too wide for a phone."""
    found = registered()
    parts = []
    for name, how in found.options:
        ini = name.removeprefix("--").replace("-", "_")
        shown = f"`{name} {how['metavar']}`" if "metavar" in how else f"`{name}`"
        twin = f"In an ini file: `{ini}` ({found.ini[ini][0]})." if ini in found.ini else "Not in an ini file."
        told = re.sub(r"--draft[\w-]*", r"`\g<0>`", how["help"].replace("%%", "%"))
        parts.append(f"{shown}\n: {told[0].upper()}{told[1:]}. {twin}\n")
    twins = {name.removeprefix("--").replace("-", "_") for name, _ in found.options}
    for ini in sorted(found.ini.keys() - twins):
        kind, told = found.ini[ini]
        parts.append(f"`{ini}` ({kind})\n: In an ini file only. {told[0].upper()}{told[1:]}.\n")
    return "\n".join(parts)


def marker() -> str:
    """Return the marker's signature and meaning."""
    signature = marks.NAME + str(inspect.signature(marks.reconstruction_budget)).removesuffix(" -> None")
    told = inspect.getdoc(marks.reconstruction_budget)
    return f"```text\n@pytest.mark.{wrapped(signature.replace(chr(39), ''))}\n```\n\n{told}\n"


def wrapped(signature: str) -> str:
    """Return a signature with one argument a line, so that it fits a phone."""
    name, arguments = signature.rstrip(")").split("(", 1)
    return f"{name}(\n" + "".join(f"    {argument},\n" for argument in arguments.split(", ")) + ")"


def fixture_list() -> str:
    """Return each fixture with its scope and its docstring."""
    tree = ast.parse(Path(str(fixtures.__file__)).read_text(encoding="utf-8"))
    parts = []
    for function in tree.body:
        if not isinstance(function, ast.FunctionDef) or function.name.startswith("_"):
            continue
        scope = re.search(r"scope='(\w+)'", "".join(map(ast.unparse, function.decorator_list)))
        docstring = ast.get_docstring(function) or ""
        parts.append(f"### {function.name}\n\n{text(docstring)}\n\nScope: {scope[1] if scope else 'function'}.\n")
    return "\n".join(parts)


def result_fields() -> str:
    """Return a table of what the fixture ``draft_result`` gives."""
    module = ast.parse(Path(str(results.__file__)).read_text(encoding="utf-8"))
    (result,) = (node for node in module.body if isinstance(node, ast.ClassDef) and node.name == "DraftResult")
    rows = []
    for field, after in zip(result.body, [*result.body[1:], None], strict=True):
        if isinstance(field, ast.AnnAssign):
            said = ast.literal_eval(after.value) if isinstance(after, ast.Expr) else ""
            rows.append((f"`{ast.unparse(field.target)}`", f"`{ast.unparse(field.annotation)}`", text(said)))
    return table(("attribute", "type", "meaning"), rows)


def hook_list() -> str:
    """Return each hook with its signature, its docstring and its parameters."""
    parts = []
    for name, hook in inspect.getmembers(hookspecs, inspect.isfunction):
        if not name.startswith("pytest_draft"):
            continue
        told = sections(hook)
        arguments = ", ".join(inspect.signature(hook).parameters)
        parts.append(f"## {name}\n\n```text\ndef {name}({arguments})\n```\n\n" + paragraphs(told))
        parts.append(parameters(told["Parameters"], "parameter"))
        if told["Returns"]:
            parts.append("Returns:\n\n" + "\n\n".join(text("\n".join(entry.desc)) for entry in told["Returns"]) + "\n")
    return "\n".join(parts)


def error_list() -> str:
    """Return a table of the errors that a user can cause."""
    rows = []
    for name, error in inspect.getmembers(errors, inspect.isclass):
        if issubclass(error, errors.DraftError):
            kind = getattr(error, "kind", "")
            rows.append((f"`{name}`", kind, text((inspect.getdoc(error) or "").split("\n\n")[0])))
    return table(("error", "kind", "meaning"), rows)


# -- rules and policies


def shipped() -> dict[str, Policy]:
    """Return the shipped policies by name, the default one first."""
    found = {path.stem: read_policy(path) for path in sorted(rules_folder().glob("*.toml"))}
    return {"default": found.pop("default"), **found}


def rule_overview() -> str:
    """Return one line for each rule."""
    every = [*rules.RULES.values(), rules.COMPARED]
    lines = [f"- [`{rule.id}`](#{rule.id}): {purpose(rule)}{mild(rule)}" for rule in every]
    return "\n".join(lines) + "\n"


def mild(rule: Any) -> str:
    """Return what a line says of a rule that stops nothing by itself."""
    return " (a warning, unless a policy says otherwise)" if rule.severity == "warning" else ""


def rule_list() -> str:
    """Return each rule: what it is about, why, its thresholds, what it needs, and which policies name it."""
    return "\n".join(one_rule(rule) for rule in [*rules.RULES.values(), rules.COMPARED])


def one_rule(rule: Any) -> str:
    """Return all about one rule."""
    lines = [
        f"## {rule.id}",
        "",
        f"{purpose(rule)[0].upper()}{purpose(rule)[1:]}.",
        "",
        f"**Why.** {rule.rationale}",
        "",
    ]
    if rule.keys:
        rows = [
            (f"`{name}`", key.help, unit(name, key), "none" if key.default is None else f"{key.default:g}")
            for name, key in rule.keys.items()
        ]
        lines += [table(("threshold", "meaning", "unit", "default"), rows)]
    else:
        lines += ["It has no thresholds: an empty table names it.", ""]
    lines += [f"**Needs** {NEEDS[rule.needs.__name__]}", ""]
    reasons = [(rule.unless, ""), *((key.unless, f" (`{name}`)") for name, key in rule.keys.items())]
    left_out = dict.fromkeys(f"{one.value}{which}" for unless, which in reasons for one in unless)
    if left_out:
        lines += [f"**[Not applicable](../explanation/verdict.md#not-applicable)** if {'; if '.join(left_out)}.", ""]
    lines += [f"**Severity** where the policy says none: {rule.severity}.", ""]
    if rule.remedy:
        lines += [f"**Remedy.** {rule.remedy[0].upper()}{rule.remedy[1:]}.", ""]
    lines += [in_policies(rule), ""]
    return "\n".join(lines)


def purpose(rule: Any) -> str:
    """Return what the rule's module says of it, behind its name."""
    module = inspect.getdoc(sys.modules[rule.check.__module__]) or ""
    first = " ".join(module.split("\n\n")[0].split())
    return text(first.split(": ", 1)[-1].rstrip("."))


def unit(name: str, key: Any) -> str:
    """Return in which unit a threshold is."""
    if key.listed:
        return "list of texts"
    if name.startswith(("max_epsilon", "max_delta")):
        return name.removeprefix("max_")
    if name == "min_seconds":
        return "seconds"
    if name.endswith(("_of_split_half", "_of_random")):
        return UNITS["times"]
    if key.whole:
        return "whole number of people" if "category" in name else UNITS["rows"]
    if "error" in name:
        return UNITS["error"]
    return "probability, 0 to 1" if "p_value" in name else UNITS["share"]


def in_policies(rule: Any) -> str:
    """Return which shipped policies name a rule, with their thresholds."""
    named = []
    for name, policy in shipped().items():
        if rule.id in policy.rules:
            thresholds = ", ".join(f"`{key} = {shown(value)}`" for key, value in policy.rules[rule.id].items())
            severity = policy.severities.get(rule.id, rule.severity)
            named.append(f"- `{name}` ({severity}){': ' + thresholds if thresholds else ''}")
    if rule.id == rules.COMPARED.id:
        return "In force with every policy when an earlier report is given; its allowances stand under `[compare]`."
    return "Shipped policies that name it:\n\n" + "\n".join(named) if named else "No shipped policy names it."


def shown(value: Any) -> str:
    """Return a threshold as TOML writes it."""
    return json.dumps(value) if isinstance(value, (str, list)) else f"{value:g}"


# -- schemas


def schema_tables(which: str) -> str:
    """Return tables of a schema's keys: one for the top level, one for each object below it."""
    of_reports = {"report": report_schema, "fleet": fleet_schema}
    shipped = rules_folder() / which
    schema = of_reports[which]() if which in of_reports else json.loads(shipped.read_text(encoding="utf-8"))
    parts = [keys_of("the whole document", schema)]
    for name, definition in schema.get("$defs", {}).items():
        parts.append(f"## {name}\n\n{definition_of(definition)}")
    return "\n".join(parts)


def definition_of(definition: Mapping[str, Any]) -> str:
    """Return what a named part of a schema is: its description, and a table of its keys where it is an object."""
    told = definition.get("description", "")
    objects = list(objects_in(definition))
    if not objects:
        return f"{told} {kind(definition)}.".strip() + "\n"
    return (f"{told}\n\n" if told and "properties" not in definition else "") + "\n".join(
        keys_of("one of its forms" if len(objects) > 1 else "", one) for one in objects
    )


def objects_in(definition: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the objects with keys that a definition is, or may be one of."""
    if definition.get("properties"):
        yield definition
    for choice in definition.get("anyOf", ()):
        yield from objects_in(choice)


def keys_of(title: str, definition: Mapping[str, Any]) -> str:
    """Return a table of an object's keys, nested ones with a dotted name."""
    told = definition.get("description", "")
    head = f"{told}\n\n" if told else (f"Keys of {title}:\n\n" if title else "")
    return head + table(("key", "type", "meaning"), list(rows_of(definition)))


def rows_of(definition: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield a row for each key of an object, and of the objects in it that have no name of their own."""
    required = definition.get("required", ())
    for name, value in definition.get("properties", {}).items():
        optional = "" if name in required else " (optional)"
        yield f"`{before}{name}`{optional}", kind(value), value.get("description", "")
        inner = value.get("items", value) if value.get("type") == "array" else value
        if isinstance(inner, dict) and inner.get("properties"):
            yield from rows_of(inner, f"{before}{name}{'[]' if inner is not value else ''}.")


def kind(value: Mapping[str, Any]) -> str:
    """Return a type in words."""
    if "$ref" in value:
        name = value["$ref"].rsplit("/", 1)[-1]
        elsewhere = value["$ref"].split("#")[0]
        return f"`{name}` of `{elsewhere}`" if elsewhere else f"[{name}](#{name.lower()})"
    if "anyOf" in value:
        return " or ".join(kind(choice) for choice in value["anyOf"])
    if "const" in value:
        return f"`{json.dumps(value['const'])}`"
    if "enum" in value:
        return "one of " + ", ".join(f"`{json.dumps(choice)}`" for choice in value["enum"])
    types = value.get("type", "any")
    types = [types] if isinstance(types, str) else types
    names = " or ".join(f"list of {kind(value.get('items', {}))}" if name == "array" else name for name in types)
    least, most = value.get("minimum"), value.get("maximum")
    bounds = (f", {least:g} to {most:g}" if most is not None else f", at least {least:g}") if least is not None else ""
    return names + bounds + (", SHA-256 in hexadecimal" if value.get("pattern") == "^[0-9a-f]{64}$" else "")


# -- metrics


def metric_list(*section: str) -> str:
    """Return a table of a section's metrics; those that share a meaning have one row."""
    rows: list[tuple[list[str], list[str], str]] = []
    for name, metric in METRICS.items():
        if metric.meaning is not None:
            rows.append(([], [], metric.meaning if metric.section == " ".join(section) else ""))
        rows[-1][0].append(f"`{name}`")
        rows[-1][1].append(metric.unit)
    shown = [(names, units if len(set(units)) > 1 else units[:1], meaning) for names, units, meaning in rows if meaning]
    return table(
        ("metric", "unit", "meaning"), [(", ".join(names), ", ".join(units), said) for names, units, said in shown]
    )


# -- Markdown


def table(heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """Return a Markdown table in a container of its own; bars inside cells are escaped."""
    lines = ["| " + " | ".join(heads) + " |", "|" + " --- |" * len(heads)]
    lines += ["| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join(["```{container} generated", "", *lines, "```\n"])


def sections(documented: object) -> Any:
    """Return the sections of a docstring, which numpydoc takes apart."""
    from numpydoc.docscrape import NumpyDocString

    return NumpyDocString(inspect.getdoc(documented) or "")


def parameters(entries: list[Any], head: str) -> str:
    """Return a table of a docstring's parameters."""
    rows = [(f"`{entry.name}`", text(entry.type), text(" ".join(entry.desc))) for entry in entries]
    return table((head, "type", "meaning"), rows) if rows else ""


def paragraphs(told: Any) -> str:
    """Return a docstring's summary and extended summary."""
    return "\n\n".join(text(" ".join(part)) for part in (told["Summary"], told["Extended Summary"]) if part) + "\n"


def text(docstring: str) -> str:
    """Return a docstring's text as Markdown: literals have one backtick there."""
    return docstring.replace("``", "`")


PARTS: dict[str, Callable[..., str]] = {
    "options": option_list,
    "marker": marker,
    "fixtures": fixture_list,
    "result": result_fields,
    "hooks": hook_list,
    "errors": error_list,
    "rule-overview": rule_overview,
    "rules": rule_list,
    "metrics": metric_list,
    "schema": schema_tables,
}
"""What can be generated, by name."""


def expanded(source: str) -> str:
    """Return a page with all that it asks for."""
    return MARK.sub(lambda found: generated(found[1]), source)


def _expand(app: Sphinx, page: str, source: list[str]) -> None:
    source[0] = expanded(source[0])


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("source-read", _expand)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
