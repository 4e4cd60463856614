"""The fleet report: in go a run's report and an earlier one, out comes a plain object with one entry for each model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_draft.foreign_text import harmless_values
from pytest_draft.policy.rule import Verdict
from pytest_draft.policy.verdict import overall
from pytest_draft.report.bounds import Bounds, bounds_of, span
from pytest_draft.report.earlier_report import Earlier
from pytest_draft.report.matched import matched
from pytest_draft.report.result import Report, Result
from pytest_draft.report.standings import STANDINGS, by_model, file_of, standing

FLEET_VERSION = 1
"""Of ``fleet.schema.json``."""

Fleet = dict[str, Any]
"""The whole fleet report, plain."""

Model = dict[str, Any]
"""One entry of its ``models``."""

VERDICTS = ("failed", "inconclusive", "passed")
"""The gravest first."""

CHANGES = ("worse", "undecided", "new", "not run", "better", "unchanged")
"""What became of a model since the earlier report, what needs somebody's eyes first."""

MEANINGS = {
    "worse": "worse",
    "undecided": "no longer decided",
    "new": "new",
    "not run": "not run",
    "better": "better",
    "unchanged": "unchanged",
    "gone": "gone",
}
"""What became of models, in words; each needs its own count."""

_METRICS = ("n_rows", "split_half_error", "random_error", "split_half_perfect_rows", "expected_perfect_rows")


def fleet(report: Report, not_run: Sequence[str], earlier: Earlier | None = None) -> Fleet:
    """Return what is to be said of all models of a run, and what changed since an earlier report.

    Parameters
    ----------
    report : dict
        Of the run.
    not_run : sequence of str
        The model file of each check that was planned and did not run, a check each.

    Returns
    -------
    dict
        Plain, with the gravest verdicts first, and by path.
    """
    models = _models(report["results"], Counter(not_run))
    gone: list[dict[str, Any]] = []
    if earlier is not None:
        before = _models(earlier.results, Counter(earlier.files_not_run))
        gone = _compare(models, before, earlier.results)
    models.sort(key=lambda model: (VERDICTS.index(model["verdict"]), model["path"]))
    verdicts, changes = (Counter(model[key] for model in models) for key in ("verdict", "change"))
    said: Fleet = harmless_values(
        {
            "schema_version": FLEET_VERSION,
            "tool": report["tool"],
            "verdict": report["verdict"],
            "counts": {verdict: verdicts[verdict] for verdict in VERDICTS},
            "changes": None
            if earlier is None
            else {change: changes[change] for change in CHANGES} | {"gone": len(gone)},
            "models": models,
            "gone": gone,
        }
    )
    return said


def _models(results: Sequence[Result], not_run: Mapping[str, int]) -> list[Model]:
    """Return an entry for each model of some results, and for each file of which nothing ran."""
    models = [_model(path, of_it, not_run) for path, of_it in by_model(results).items()]
    known = {model["file"] for model in models}
    return models + [_model(file, [], not_run) for file in not_run if file not in known]


def _model(path: str, results: Sequence[Result], not_run: Mapping[str, int]) -> Model:
    """Return what is to be said of one model, by the gravest of its results."""
    file = file_of(results[0]["artifact"]) if results else path
    missing = not_run.get(file, 0)
    verdicts: list[Verdict] = [result["verdict"] for result in results]
    lead = min(results, key=_gravity, default=None)
    metrics = {} if lead is None else lead["metrics"]
    return {
        "path": path,
        "file": file,
        "sha256": None if lead is None else lead["artifact"]["sha256"],
        "data_sha256": None if lead is None else lead["data"]["sha256"],
        "policy": None if lead is None else {key: lead["policy"].get(key) for key in ("name", "sha256")},
        "verdict": overall([*verdicts, "inconclusive"] if missing else verdicts),
        "adversary": None if lead is None else lead["adversary"],
        "adversaries": sorted({result["adversary"] for result in results}),
        "worst": None if lead is None else _worst(lead),
        "waived": sorted({check["rule"] for one in results for check in one["checks"] if standing(check) == "waived"}),
        "checks_not_run": missing,
        "checks_not_applicable": sum(one["result"] == "not applicable" for all_ in results for one in all_["checks"]),
        **_figures(lead),
        **{name: metrics.get(name) for name in _METRICS},
        "seconds": round(sum(result["seconds"] for result in results), 3),
        "cached": bool(results) and all(result["cached"] for result in results),
        "change": None,
        "renewed": [],
        "adversaries_left": [],
        "before": None,
        "same_file_as": None,
    }


def _gravity(result: Result) -> tuple[int, float, str]:
    """Return what puts the result first that says most of a model: the gravest, then the one that gives most back."""
    bounds = _figures(result)["error"]
    return VERDICTS.index(result["verdict"]), bounds[0] if bounds else float("inf"), result["adversary"]


def _worst(result: Result) -> dict[str, Any] | None:
    """Return the check that stands worst, the first of several."""
    worst = min(result["checks"], key=lambda check: STANDINGS.index(standing(check)), default=None)
    return worst and {"rule": worst["rule"], "standing": standing(worst), "sentence": worst["sentence"]}


def _figures(result: Result | None) -> dict[str, Bounds | None]:
    """Return the figures by which a model is compared, each with its bounds."""
    if result is None:
        return {"error": None, "perfect_rows": None}
    return {"error": bounds_of(result), "perfect_rows": bounds_of(result, "perfect_rows")}


def _compare(models: Sequence[Model], before: Sequence[Model], results: Sequence[Result]) -> list[dict[str, Any]]:
    """Say of each model what became of it, and return those that are gone.

    Parameters
    ----------
    models, before : sequence of dict
        Of this run, and of the earlier report.
    results : sequence of dict
        Those of the earlier report.
    """
    whose = matched((model["file"] for model in models), (model["file"] for model in before))
    known = {model["path"]: model for model in before}
    of_file: dict[str, list[Model]] = {}
    for model in before:
        of_file.setdefault(model["file"], []).append(model)
    of_path = by_model(results)
    stayed: set[str] = set()
    for model in models:
        file = whose.get(model["file"])
        path = None if file is None else file + model["path"].removeprefix(model["file"])
        then = None if path is None else known.get(path)
        if then is None and file is not None and (whole := _of_whole_file(model, file, of_file[file])) is not None:
            then = {**whole, "path": path}
            stayed.update(one["path"] for one in of_file[file])
        if then is not None:
            stayed.add(then["path"])
            of_then = of_path.get(then["path"], ())
            same = [result for result in of_then if result["adversary"] == model["adversary"]]
            figures = _figures(min(same, key=_gravity, default=None))  # another adversary's are no better or worse
            model["before"] = {"path": then["path"], "verdict": then["verdict"], **figures}
            model["renewed"] = _renewed(model, then)
            if model["adversary"] is not None:
                model["adversaries_left"] = sorted(set(then["adversaries"]) - set(model["adversaries"]))
        model["change"] = _change(model, then, of_path)
    gone = sorted((model for model in before if model["path"] not in stayed), key=lambda model: str(model["path"]))
    by_hash = {model["sha256"]: model["path"] for model in reversed(gone) if model["sha256"] is not None}
    for model in models:
        if model["change"] == "new":
            model["same_file_as"] = by_hash.get(model["sha256"])
    return [{key: model[key] for key in ("path", "verdict", "sha256")} for model in gone]


def _of_whole_file(model: Model, file: str, there: Sequence[Model]) -> Model | None:
    """Return what a model was where only one of the reports knows that its file holds several; None for a new one.

    Of a file that was not looked at, or cannot be read, no report knows what it holds.
    """
    if model["path"] == model["file"] and model["verdict"] == "inconclusive":
        return min(there, key=lambda one: VERDICTS.index(one["verdict"]))
    if all(one["path"] == file and one["verdict"] == "inconclusive" for one in there):
        return there[0]
    return None


def _renewed(model: Model, then: Model) -> list[str]:
    """Return what a model is judged with that has other bytes than before."""
    names = ("model file", "training data", "policy")
    now, before = (
        (one["sha256"], one["data_sha256"], one["policy"] and one["policy"]["sha256"]) for one in (model, then)
    )
    differ = zip(names, now, before, strict=True)
    return [name for name, here, there in differ if None not in (here, there) and here != there]


def _change(model: Model, then: Model | None, before: Mapping[str, Sequence[Result]]) -> str:
    """Return what became of a model: one that failed and is no longer decided has not become better.

    Nor has one that passes because an adversary by whom it did not pass is left out.
    """
    if then is None:
        return "new"
    if model["checks_not_run"] and model["verdict"] != "failed":
        return "not run"
    now, earlier = VERDICTS.index(model["verdict"]), VERDICTS.index(then["verdict"])
    if now == earlier:
        return "unchanged"
    if now < earlier:
        return "worse"
    left = [one for one in before.get(then["path"], ()) if one["adversary"] in model["adversaries_left"]]
    if any(one["verdict"] != "passed" for one in left):
        return "not run"
    return "better" if model["verdict"] == "passed" else "undecided"


def story(model: Model) -> str:
    """Return what became of a model in words; empty where there is nothing to compare with."""
    if model["change"] is None:
        return ""
    said = [MEANINGS[model["change"]]]
    if (before := model["before"]) is not None:
        if before["verdict"] != model["verdict"]:
            said[0] += f" ({before['verdict']} before)"
        if model["change"] == "better" and model["waived"]:
            said.append(f"by a waiver of {', '.join(model['waived'])}")
        if before["path"] != model["path"]:
            said.append(f"moved from {before['path']}")
        said += [f"another {what}" for what in model["renewed"]]
        said += [f"the adversary {name} is left out" for name in model["adversaries_left"]]
        for name, kind, form in (("error", "error", ".4f"), ("perfect_rows", "perfect rows", ",.0f")):
            if before[name] is not None and span(before[name], form) != span(model[name], form):
                said.append(f"{kind} {span(before[name], form)} before")
    if model["same_file_as"] is not None:
        said.append(f"the same bytes as {model['same_file_as']} had")
    return "; ".join(said)
