"""What somebody answers for who signs: in goes one result of a report, out come lines, section by section.

``evidence.json`` lists them: of what a line can say, the first is taken all of whose figures are known. Nothing is
measured here: every figure stands in the report already.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta
from typing import Any

from pytest_draft.facts.label_told import interval
from pytest_draft.report import sentences
from pytest_draft.report.bounds import bounds_of, span
from pytest_draft.report.result import Report, Result
from pytest_draft.report.schema import read
from pytest_draft.report.sentences import begun, counted, share
from pytest_draft.report.standings import standing

TABLE: dict[str, Any] = read("evidence.json")
"""Sections with their lines, what statuses mean, what is filled in by hand, and what the whole is."""

_LEAST_DEGREES = 10
"""Rows less parameters that output checkers ask for (ACRO)."""

Line = dict[str, str | None]
"""``name``, ``said``, and ``status``, ``attacker`` and ``where``, or None."""


class _Known(string.Formatter):
    """Fills in what is known, and raises `LookupError` or `TypeError` for anything that is not."""

    def get_field(self, field_name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        found = super().get_field(field_name, args, kwargs)
        if found[0] is None:
            raise LookupError
        return found

    def format_field(self, value: Any, format_spec: str) -> Any:
        if format_spec == "known":
            return ""
        return share(value) if format_spec == "share" else super().format_field(value, format_spec)


def evidence(result: Result, report: Report) -> dict[str, list[Line]]:
    """Return the lines of each section."""
    values: dict[str, Any] = {**result, "report": report, "say": _sentences(result, report)}
    lists, made = _lists(result, report), dict[str, list[Line]]()
    for name in sorted(TABLE["sections"], key=lambda one: one != "attacks"):  # these are counted by another section
        made[name] = [line for entry in TABLE["sections"][name]["lines"] for line in _lines(entry, values, lists)]
        if name == "attacks":
            values["say"]["attacks"] = _tally(made[name])
        else:
            made[name] = [{**line, "status": None} for line in made[name]]
    return {name: made[name] for name in TABLE["sections"]}


def _lines(entry: dict[str, Any], values: dict[str, Any], lists: dict[str, list[Line]]) -> list[Line]:
    number, said = _first(entry["said"], values)
    statuses = entry.get("status", [])
    line: Line = {
        "name": entry["name"],
        "said": said,
        "status": statuses[number] if number < len(statuses) else "not run",
        "attacker": _first([entry["attacker"]], values)[1] if "attacker" in entry else None,
        "where": entry.get("where"),
    }
    return [line | one for one in lists.get(entry.get("each", "")) or [line]]


def _first(templates: Sequence[str], values: Mapping[str, Any]) -> tuple[int, str]:
    for number, template in enumerate(templates):
        try:
            return number, _Known().vformat(template, (), values)
        except (LookupError, TypeError):
            continue
    return len(templates), "not known"


def _tally(attacks: Sequence[Line]) -> str:
    """Return how many attacks there are of each status, and which were not run."""
    by = {status: [str(one["name"]) for one in attacks if one["status"] == status] for status in TABLE["statuses"]}
    missing = "; ".join(by.pop("not run"))
    ran = ", ".join(f"{len(names)} {status}" for status, names in by.items())
    return f"{ran}. Not run: {missing}" if any(by.values()) else "none was run"


def _lists(result: Result, report: Report) -> dict[str, list[Line]]:
    """Return what is said of several things of a kind, a line each."""
    said = {
        "remedies": list(dict.fromkeys(check["remedy"] for check in result["checks"] if check["remedy"])),
        "reasons": result["reasons"],
        "waivers": [f"{check['rule']}: {by}" for check in result["checks"] if (by := sentences.waived(check))],
        "controls": [
            f"{one['name']} ({one['what']}; {one['expected']}): {one['found']}, "
            + ("as it must" if one["held"] else "NOT as it must: this test is not to be relied on")
            for one in report.get("controls", ())
        ],
    }
    return {name: [{"said": one} for one in each] for name, each in said.items()} | {
        "checks": [{"name": one["rule"], "said": f"{standing(one)}: {one['sentence']}"} for one in result["checks"]],
        "sensitive": [
            {"said": f"{one['name']}: not known ({one['not_told']})", "status": "not run"}
            if one["told"] is None
            else {"said": f"{one['name']}: {_told(one['told'])}", "status": "run"}
            for one in result.get("sensitive", ())
        ],
    }


def _sentences(result: Result, report: Report) -> dict[str, Any]:
    """Return what a template cannot say by itself; None where it is not known."""
    artifact, metrics, who, data = result["artifact"], result["metrics"], result["adversary"], result["data"]["rows"]
    found, label = result.get("given_all_other_rows") or {}, result.get("label_told") or {}
    limit, error, perfect = (
        _if_known(lambda: sentences.best_of_anybody(result)),
        bounds_of(result),
        bounds_of(result, "perfect_rows"),
    )
    rows_back = None if error is None else _if_known(lambda: sentences.rows_back(result))
    steps = sentences.steps({**report, "results": [result]})
    capacity, slices = artifact.get("capacity"), [one for one in result["slices"] if one["perfect_share"] is not None]
    determined = _of(found["told_rows"] * found["rows"], found["rows"]) if found else None
    member = result.get("membership") or {}
    days = result["policy"].get("context", {}).get("test_again_after_days")
    said: dict[str, Callable[[], Any]] = {
        "decision": lambda: " Why: ".join([sentences.decision(result), *sentences.why(result)]),
        "exposed": lambda: _exposed(result, determined),
        "proved": lambda: _proved(result, "certain_rows"),
        "proved_unique": lambda: _proved(result, "certain_unique_rows"),
        "open": lambda: _open(result, report),
        "step": lambda: _step(steps[0]),
        "granted": lambda: "; ".join(result["domain"]["granted_to_adversary"]) or None,
        "rows_back": lambda: rows_back,
        "error": lambda: span(error, ".4f", "between {} and {}"),
        "others": lambda: sentences.number(metrics["split_half_error"]),
        "limit": lambda: begun(limit),
        "who": lambda: "whoever has the file" if who == "artifact" else f"adversary {who}",
        "told": lambda: begun(sentences.told_given_others(found)),
        "stored": lambda: _stored(result["contents"]) if data is not None and result["contents"] else None,
        "tried": lambda: True if error or limit or found else None,
        "column": lambda: max(found.get("columns", ()), key=lambda one: one["told"], default=None),
        "label": lambda: sentences.of_labels(result),
        "member": lambda: _member(member),
        "members_in": lambda: f"{_proved_in(member, metrics):,}",
        "linked": lambda: rows_back if "columns:" in who else None,
        "served": lambda: rows_back if who.startswith("served") else None,
        "determined": lambda: determined,
        "slice": lambda: max(slices, key=lambda one: one["perfect_share"], default=None),
        "told_slice": lambda: max(found.get("slices", ()), key=lambda one: one["told_rows"], default=None),
        "back": lambda: f"{rows_back} {begun(_of(perfect[1], metrics['n_rows']))}" if perfect else None,
        "labels": lambda: _told(label["told"]),
        "holdout": lambda: sentences.of_holdout(result),
        "earlier": lambda: ", in an earlier run" * result["cached"],
        "ended": lambda: True if result["solver_status"] in ("unique", "consistent", "likeliest") else None,
        "ended_so": lambda: TABLE["ended"].get(result["solver_status"], result["solver_status"]),
        "limits": lambda: " ".join(sentences.of_limits(result)) or None,
        "against": lambda: _against(artifact["privacy"] or {}),
        "per_leaf": lambda: data * artifact["n_trees"] / capacity["leaves"],
        "weak": lambda: (
            "; random guesses come as close, so this attack alone shows nothing"
            * bool(error and metrics["random_error"] is not None and error[0] >= metrics["random_error"])
        ),
        "too_few": lambda: ", TOO FEW" * (data - capacity["parameters"] < _LEAST_DEGREES),
        "degrees": lambda: data - capacity["parameters"],
        "bootstrap": lambda: {True: "yes", False: "no"}.get(artifact["bootstrap"]),
        "versions": lambda: ", ".join(f"{name} {version}" for name, version in result["versions"].items()),
        "unread": lambda: sentences.not_read(result),
        "again": lambda: _later(report.get("judged_at"), days),
    }
    return {name: _if_known(make) for name, make in said.items()}


def _if_known(make: Callable[[], Any]) -> Any:
    """Return what is said where all is known that it takes; else None, so that a line says less and no page breaks."""
    try:
        return make()
    except (LookupError, TypeError):
        return None


def _of(number: float, of: int) -> str:
    """Return a number of rows with the interval of its share."""
    low, high = map(share, interval(round(number), of))
    return f"{round(number):,} of {counted(of, 'row')} (95 %: {low} to {high})"


def _step(step: sentences.Step) -> str:
    """Return what to do first."""
    said = step.remedy or "; ".join(f"{does}: {line}" for line, does in step.commands[:1])
    return said if step.blocks else f"not needed for this verdict, but advised: {said}"


def _member(found: Mapping[str, Any]) -> str:
    """Return how well members are told from others, of those whose row nobody shares, where there are some."""

    def estimate(name: str) -> str:
        value, low, high = (share(told[name][key]) for key in ("value", "low", "high"))
        return f"{value} (95 %: {low} to {high})"

    told = found["unique"] or found["everyone"]
    who = "a member whose row nobody shares" if found["unique"] else "a member"
    caught = f"; at 1 % of false alarms {estimate('found')} of them are found" if told["found"] else ""
    return f"{who} scores higher than somebody else in {estimate('auc')} of all pairs, 50 % by chance{caught}"


def _proved_in(found: Mapping[str, Any], metrics: Mapping[str, Any]) -> int:
    """Return how many members are proved to be in the data, by the attack too, where all were looked at."""
    rows = metrics["certain_rows"] if found["rows"] == found["of_rows"] else None
    return int(max(found["proved_in"], min(rows or 0, found["rows"])))


def _told(found: Mapping[str, Any]) -> str:
    """Return of how many rows something is told, with the file and without their rows in it."""
    told, without = (_of(found[key], found["rows"]) for key in ("told", "without"))
    return f"told of {told}; without their rows in the file of {without}"


def _exposed(result: Result, determined: str | None) -> str | None:
    """Return what is known of the most exposed person."""
    found, metrics, said = result.get("given_all_other_rows"), result["metrics"], []
    errors = found["row_errors"] if found else (result["row_errors"] or {}).get("quantiles")
    if errors:
        by = "somebody who knows all others guesses" if found else "the attack guesses"
        said.append(f"{by} their row with an error of {errors[0]:.4f} (half of the rows: at most {errors[50]:.4f})")
    if determined:
        said.append(f"no other value is possible for {determined}")
    if (taken := metrics["row_entropy_reduction"]) is not None:
        least = "" if metrics["row_entropy_reduction_exact"] else "at least "
        said.append(f"the file takes away {least}{share(taken)} of what is uncertain about them")
    return "; ".join(said) or None


def _proved(result: Result, metric: str) -> str | None:
    number, exact = (result["metrics"][name] for name in (metric, f"{metric}_exact"))
    if number is None or not (number or exact):
        return None
    by = "by the file alone" if (who := result["adversary"]) == "artifact" else f"to adversary {who}"
    of = "" if (rows := result["metrics"]["n_rows"]) is None else f" of {counted(rows, 'row')}"
    return f"{'' if exact else 'at least '}{number:,}{of}, whole, {by}"


def _open(result: Result, report: Report) -> str | None:
    missing = [key.replace("_", " ") for key in TABLE["context"] if key not in result["policy"].get("context", {})]
    waived = sum(check["waiver"] is not None for check in result["checks"])
    said = [f"context not declared ({', '.join(missing)})"] * bool(missing)
    said += ["controls not run"] * (not report.get("controls"))
    said += ["no holdout was given (--draft-holdout), so rows left out of refits stand for other people, if any"] * (
        result["holdout"] is None
    )
    said += ["it is not named who ran the test"] * (not report.get("run", {}).get("by"))
    said += ["whether these rows trained it was not compared"] * (result["baselines"].get("identity") is None)
    said += [f"in doubt: {reason}" for reason in result["reasons"][:1]]
    return "; ".join([*said, *[f"{counted(waived, 'check')} waived"] * bool(waived)]) or None


def _stored(found: Mapping[str, Any]) -> str:
    """Return whether training data stand in the file as they are."""
    said = ["no training row stands in the file as it is"]
    if found["copies"]:
        rows, columns = (max(one[key] for one in found["copies"]) for key in ("rows", "columns"))
        said = [f"{counted(rows, 'training row')} and {counted(columns, 'whole column')} stand in the file"]
    if (single := found["single_values"]) is not None:
        said.append(f"{share(single['share'])} of all numbers stand in it (by chance {share(single['others'])})")
    if places := [*found["unexplained"], *found["kept"]]:
        said.append(f"not explained: {counted(len(places), 'place')}")
    return "; ".join([*said, *(f"not all was compared: {doubt}" for doubt in found["doubts"])])


def _against(privacy: Mapping[str, Any]) -> str | None:
    """Return what in the file contradicts the privacy that it declares."""
    rounded = ["its noise was cut to whole numbers before it was added"] * (privacy.get("rounding") == "noise")
    exact = ["its counts are exact"] * privacy.get("exact", False)
    return "; ".join([*exact, *privacy.get("broken_by", ()), *rounded]) or None


def _later(moment: str | None, days: int) -> str | None:
    try:
        return str(date.fromisoformat((moment or "")[:10]) + timedelta(days=days))
    except (ValueError, OverflowError):
        return None
