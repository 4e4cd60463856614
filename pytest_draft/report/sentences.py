"""What people read of a judgement, in every format: in goes a report or one result of it, out come sentences.

First what is said of models as a whole and what to do; then of one result what decides and what the attack got; last
how close anybody could get. That is first of somebody who has the file and knows all rows but one, as whoever knows
less gets less; then of somebody who knows every dataset that explains the file as well as the true one does, and
guesses as well as can be. What is said of these is on the safe side, and the limit is that by which the file is judged.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_draft.errors import one_line
from pytest_draft.facts.adversary import Adversary
from pytest_draft.facts.findings import ColumnFigures
from pytest_draft.foreign_text import harmless
from pytest_draft.policy.remedies import Command, told
from pytest_draft.policy.waiver import waived as answered
from pytest_draft.report.bounds import bounds_of, error_bar, span, whole
from pytest_draft.report.canonical import HASH
from pytest_draft.report.result import Report, ReportedCheck, Result
from pytest_draft.report.standings import STANDINGS, by_model, file_of, standing, stops, unjudged, worst_first

HOW_TO_READ = (
    "The reconstruction error is the attacker's: the lower it is, the more of the training data was rebuilt. It is "
    "read beside the split-half baseline, which is how close one random half of the training data comes to the other "
    "half, so what other rows like these are worth, and beside guesses drawn at random."
)

NO_PROOF = (
    "Passed: none of the attackers considered gets past the threshold, or they would get nearly as far without this "
    "file. They are this attack, somebody who knows all rows but one, somebody who knows other people's rows, and "
    "somebody who knows all tables that explain the file (docs/explanation/verdict.md, 'Who is considered')."
)

LIMITS = "This is about the file of this hash and the attackers considered, not about other files or attacks."

HOW_CLOSE = "How close could anybody get?"
"""The title above `anybody`."""

GLOSSARY = (
    (
        "reconstruction error",
        "how far the rebuilt rows lie from the true ones, on average over all values, as a share of each column's "
        "range. It is the attacker's error: the lower, the more was given away",
    ),
    ("perfect row", "a rebuilt row that is a row of the training data, with all values right (numbers to within 1 %)"),
    (
        "split-half",
        "how close one random half of the training data comes to the other half. Someone with equally many other rows "
        "like these, but no file, would get this close",
    ),
    ("certain row", "a row found in every dataset consistent with the file: the file alone proves it"),
)
"""The words of a page that a newcomer does not know, and what they mean."""

_MOST_PATHS = 6  # attributes that are named of those that were not read; of the others it is told how many there are
_FEW = 5  # fewer perfect rows say nothing by how many of them have the right label

_HARMLESS = frozenset(
    (
        *("estimator", "estimator_"),  # what is to be fitted; where it is fitted, the result is inconclusive
        *("feature_names_in_", "_columns", "_remainder", "transformers"),  # columns, by the transformers for them
        *("best_params_", "cv", "cv_results_", "param_distributions", "param_grid", "scorer_", "_checked_cv_orig"),
        *("var_", "_fill_dtype", "_fit_dtype", "_missing_indices"),  # follow from what is read, or are data types
    )
)
"""Last names of attributes that scikit-learn itself gives to forests, searches and transformers that are covered."""


def begun(phrase: str) -> str:
    """Return a phrase as the beginning of a sentence."""
    return phrase[:1].upper() + phrase[1:]


def counted(number: int, noun: str) -> str:
    """Return a number of things."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def share(value: float) -> str:
    """Return a share in percent so that what is not all or none does not look so."""
    if 0 < value < 0.005 or 0.995 <= value < 1:
        return "less than 1 %" if value < 0.5 else "more than 99 %"
    return f"{value:.0%}".replace("%", " %")


def number(value: float | None, form: str = ".4f") -> str:
    """Return a figure as it is shown."""
    return "-" if value is None else f"{value:{form}}"


def error_text(result: Result, name: str = "reconstruction_error") -> str:
    """Return an error of a result as it is shown, or its bounds."""
    return span(bounds_of(result, name), ".4f") or "-"


def _beside(guesses: Iterable[tuple[float | None, str]]) -> str:
    said = [f"{who}: {value:.4f}" for value, who in guesses if value is not None]
    return f" ({', '.join(said)})" if said else ""


# Models as a whole, and what to do


def headlines(report: Report) -> list[tuple[str, str]]:
    """Return how each model stands, one of `STANDINGS`, and a sentence on it, the gravest first; never none."""
    said = [headline(report, results) for results in by_model(report["results"]).values()]
    if report["not_run"]:
        missing = counted(len(report["not_run"]), "planned check")
        said.insert(0, ("inconclusive", f"Not cleared for release: {missing} did not run."))
    said = said or [("inconclusive", "Not cleared for release: no model was judged.")]
    return sorted(said, key=lambda pair: STANDINGS.index(pair[0]))


def headline(report: Report, results: Sequence[Result]) -> tuple[str, str]:
    """Return how a model stands, and the sentence; also where not all of its planned checks ran."""
    artifact = results[0]["artifact"]
    name, file = harmless(artifact["path"]), file_of(artifact)
    verdict = next(one for one in STANDINGS if one in {result["verdict"] for result in results})
    pairs = [(result, check) for result in results for check in result["checks"]]
    every = [standing(check) for _, check in pairs]
    standings = [one for one in every if one != "not applicable"]
    left_out = len(every) - len(standings)
    of_all = f"{standings.count(verdict):,} of {counted(len(standings), 'check')}"
    waived, warnings = standings.count("waived"), standings.count("warning")
    open_ones = sum(standing(check) == "warning" and check["result"] == "inconclusive" for _, check in pairs)
    besides = f", {left_out:,} not applicable" * bool(left_out)
    besides += f"; {waived:,} waived" * bool(waived) + f"; {counted(warnings, 'warning')}" * bool(warnings)
    besides += f", {open_ones:,} of which could not be decided" * bool(open_ones)
    if verdict == "failed":
        return verdict, f"Do not release {name}: {of_all} failed{besides}."
    if verdict == "inconclusive":
        if any(stops(result, check) for result, check in pairs):
            return verdict, f"Not cleared for release: {name}. No answer for {of_all}, which is no pass{besides}."
        if any(map(unjudged, results)):
            return verdict, f"Not cleared for release: {name}. No check that counts could be made{besides}."
        if any(check.startswith(f"{file}::") for check in report["not_run"]):
            passed = f"{standings.count('passed'):,} of the {counted(len(standings), 'check')} that ran passed"
            return verdict, f"Not cleared for release: {name}. Not all of its checks ran; {passed}{besides}."
        return verdict, f"Undecided, which the policy allows: {name}. {of_all} could not be decided{besides}."
    if warnings and not waived and "passed" not in standings:
        return "warning", f"Nothing stops {name}, because the policy only warns: {of_all} passed{besides}."
    if waived:
        return "waived", f"Releasing {name} rests on waivers: {of_all} passed{besides}."
    return verdict, f"No objection to releasing {name}: {of_all} passed{besides}."


def held_against(report: Report) -> list[tuple[str, str]]:
    """Return how each check stands that has not passed, and what it says, the worst first; last what did not run."""
    said = [
        (standing(check), f"{check['rule']}, adversary {result['adversary']}: {check['sentence']}")
        for result, check in worst_first(report)
        if standing(check) not in ("passed", "not applicable")
    ]
    return [*dict.fromkeys(said), *(("not run", address) for address in report["not_run"])]


def origins(report: Report) -> Iterator[tuple[str, str]]:
    """Yield what was judged by what, and when; not the hash of the training data, by which guesses could be checked."""
    for result in report["results"]:
        for name, one in (("file", result["artifact"]), ("policy", result["policy"])):
            yield name, f"{one.get('path') or one['name']}, SHA-256 {one['sha256'] or 'not known'}"
        yield from (("training data", result["data"]["path"] or "none"), ("adversary", result["adversary"]))
    yield "judged by", " ".join(filter(None, report["tool"].values()))
    yield from ((name, report[key]) for name, key in (("judged at", "judged_at"), ("report", HASH)) if report.get(key))


@dataclass(frozen=True)
class Step:
    """What to do about checks that did not pass."""

    remedy: str
    """A sentence without commands and full stop; can be empty."""
    commands: tuple[tuple[str, str], ...]
    """Lines for a shell, each with what it is for, as a sentence's beginning."""
    models: tuple[str, ...]
    blocks: bool
    """Whether one of the checks keeps its model from being released, so that it is no warning."""


def steps(report: Report) -> list[Step]:
    """Return what to do about the checks that did not pass.

    What has the most effect comes first: what answers the gravest check, and of these, what answers the most of them.
    What could decide more checks of a model that has failed changes nothing, and is left out.
    """
    answers: dict[tuple[str, tuple[tuple[str, str], ...]], list[tuple[int, str]]] = {}
    for result, check in worst_first(report):
        open_ = check["result"] == "inconclusive"
        if not check["remedy"] or check["result"] == "passed" or (open_ and result["verdict"] == "failed"):
            continue
        commands = tuple((one["line"], one["does"]) for one in check.get("commands", ()))
        ending = told(Command(line, does) for line, does in commands)
        said = check["remedy"].removesuffix(ending).removesuffix("; ")
        check_of = STANDINGS.index(standing(check)), result["artifact"]["path"]
        answers.setdefault((said, commands), []).append(check_of)
    found = []
    for (said, commands), checks in answers.items():
        gravities, models = zip(*checks, strict=True)
        gravest = min(gravities)
        step = Step(begun(said), commands, tuple(dict.fromkeys(models)), gravest < STANDINGS.index("warning"))
        found.append((gravest, -gravities.count(gravest), step))
    return [step for *_, step in sorted(found, key=lambda one: one[:2])]


def closing(report: Report, found: Sequence[Step]) -> list[str]:
    """Return what to do with each model that none of the steps found is about: release it, or find out why not."""
    asked = {path for step in found if step.blocks for path in step.models}
    said = []
    for path, results in by_model(report["results"]).items():
        if path in asked:
            continue
        stands, name = headline(report, results)[0], harmless(path)
        if stands == "passed":
            policies = " and ".join(dict.fromkeys(result["policy"]["name"] for result in results))
            said.append(f"You can release {name} if the policy {policies} is right for whoever gets the file.")
        elif stands == "waived":
            said.append(f"Before you release {name}, make sure that the reason of each waiver still holds.")
        elif stands == "warning":
            said.append(f"The policy only warns: decide by the warnings whether to release {name}.")
        elif stands == "inconclusive":
            said.append(f"No answer is no pass: do not release {name} as it is{_open_because(results)}.")
        else:
            said.append(f"Do not release {name}: read what failed.")
    return said


def _open_because(results: Iterable[Result]) -> str:
    """Return why no answer is known, which says what to do about it."""
    for result in results:
        reasons = result["reasons"] or [one["sentence"] for one in result["checks"] if one["result"] == "inconclusive"]
        if result["verdict"] == "inconclusive" and reasons:
            return f". It is open because {reasons[0].rstrip('.')}"
    return ""


def judged_by(report: Report) -> str:
    """Return what judged, when, started by whom and where, as far as is known."""
    tool, run = report["tool"], report.get("run") or {}
    said = [f"Judged by {tool['name']} {tool['version'] or '(version unknown)'}"]
    parts = (("at", report.get("judged_at")), ("for", run.get("by")), ("in", run.get("address")))
    return " ".join([*said, *(f"{word} {harmless(known)}" for word, known in parts if known)]) + "."


# One result: what decides


def decision(result: Result) -> str:
    """Return the sentence that decides, with who gets what, and what they get without the file."""
    if result["verdict"] == "inconclusive":
        standings = [standing(check) for check in result["checks"] if standing(check) != "not applicable"]
        return f"No answer for {standings.count('inconclusive'):,} of {counted(len(standings), 'check')}."
    failed = {check["rule"]: check["sentence"] for check in result["checks"] if standing(check) == "failed"}
    found, labels, early = result.get("given_all_other_rows"), of_labels(result), result.get("decided_by") or {}
    rule = early["rule"] if early.get("rule") in failed else next(iter(failed), None)
    said = None if rule is None else harmless(failed[rule], None)
    if "perfect-rows" in failed:  # of a part, or by an attack that was cut short, the check has the figures
        perfect, others = bounds_of(result, "perfect_rows"), result["metrics"]["split_half_perfect_rows"] or 0.0
        said = None if perfect and perfect[0] > others else harmless(failed["perfect-rows"], None)
    elif "given-all-other-rows" in failed and found:
        said = told_given_others(found)
    elif "label-told" in failed and labels:
        said = labels
    elif not failed:
        said = best_of_anybody(result)
    return rows_back(result) if said is None else f"{begun(said)}."


def rows_back(result: Result) -> str:
    """Return how many rows come back, and how many anyhow."""
    metrics = result["metrics"]
    perfect = bounds_of(result, "perfect_rows")
    if perfect is None:
        if result["solver_status"] == "not asked":
            return "The policy asks for no attack, so none was run."
        return "It is not known how many rows come back."
    comes = "comes" if perfect[1] == 1 else "come"
    said = begun(f"{span(perfect, ',', 'between {} and {}')} of {counted(metrics['n_rows'], 'row')} {comes} back")
    others = metrics["split_half_perfect_rows"]
    return said + ("." if others is None else f"; other rows like these would match {others:,.0f} by chance.")


def why(result: Result) -> list[str]:
    """Return why a result did not pass, in sentences: what in the file makes it fail, or what is in doubt."""
    verdict, reasons = result["verdict"], result["reasons"][:1]
    if verdict == "passed":
        return []
    deciding = [check for check in result["checks"] if standing(check) == verdict]
    if verdict == "inconclusive":
        reasons += [f"{check['rule']}: {check['sentence']}" for check in deciding]
        return [f"{harmless(reason, None)}." for reason in reasons[:1]]
    causes = [check["cause"] for check in deciding if check["cause"]]
    return [f"{begun(harmless(one))}." for one in causes[:1]]


def decided(result: Result) -> str | None:
    """Say which rule decides, by whom, and after how many seconds that was certain; None where nothing does."""
    found = result.get("decided_by")
    if found is None:
        return None
    if result["verdict"] == "passed":
        return f"every rule had passed after {found['seconds']:.1f} s"
    whose = "" if found["attacker"] is None else f" ({found['attacker']})"
    return f"decided by {found['rule']}{whose} after {found['seconds']:.1f} s"


def own_sentence(check: ReportedCheck, reasons: Sequence[str]) -> str:
    """Return what a check says besides the reasons that its whole result is undecided for; empty for nothing."""
    said: str = check["sentence"]
    if check["result"] != "inconclusive":
        return said
    for reason in reasons:
        said = said.replace(f"; {reason}", "")
    return "" if said in reasons else said


def waived(check: ReportedCheck) -> str | None:
    """Return who answers for a check that did not pass, until when and why; None where nobody does."""
    waiver = check["waiver"]
    return None if waiver is None else answered(waiver["expires"], waiver["owner"], waiver["reason"])


def notes(result: Result) -> list[str]:
    """Return what a reader should know besides, and which worker of a cluster was lost meanwhile."""
    retried = result.get("retried")  # not in reports of earlier versions
    return [*result["notes"], *([retried] if retried else [])]


def not_read(result: Result) -> str | None:
    """Return which parts of a file no reader has looked at by name, but for harmless ones; None for none."""
    paths = [path for path in result["artifact"]["not_read"] if path.rpartition(".")[2] not in _HARMLESS]
    if not paths:
        return None
    more = f" and {len(paths) - _MOST_PATHS:,} more" if len(paths) > _MOST_PATHS else ""
    return f"scanned only for training data and fitted trees: {', '.join(paths[:_MOST_PATHS])}{more}"


# One result: what the attack got


def about(result: Result) -> list[str]:
    """Return what the attack got on one model besides what `decision` says; empty where nothing was measured."""
    metrics, sentences = result["metrics"], []
    error = span(bounds_of(result), ".4f", "between {} and {}")
    if error is not None:
        guesses = (metrics["split_half_error"], "other rows like these"), (metrics["random_error"], "random guesses")
        sentences.append(f"The attack's error is {error}{_beside(guesses)}.")
    if metrics["singled_out_rows"] is not None:
        single = f"{metrics['singled_out_rows']:,} {'comes' if metrics['singled_out_rows'] == 1 else 'come'} back"
        sentences.append(f"Of the {metrics['unique_rows']:,} rows that are unique in the training data, {single}.")
    if metrics["certain_rows"]:
        at_least = "" if metrics["certain_rows_exact"] else "At least "
        are, them = ("is", "it") if metrics["certain_rows"] == 1 else ("are", "them")
        why = f"every dataset of the stated domain that is consistent with the file contains {them}"
        sentences.append(f"{at_least}{counted(metrics['certain_rows'], 'row')} {are} certain: {why}.")
    more = (*of_whole_rows(metrics), of_labels(result), of_membership(result), *of_sensitive(result))
    return [*sentences, *(f"{begun(part)}." for part in more if part)]


def figures(result: Result) -> list[str]:
    """Return all that was measured besides error and rows, a line each."""
    metrics = result["metrics"]
    told = [
        of_labels(result),
        *of_sensitive(result),
        of_raw_columns(result),
        of_numbers(result),
        of_proofs(result),
        " ".join(given_others(result)),
        " ".join(of_datasets(result)),
        of_values(result),
        "; ".join(of_whole_rows(metrics)),
        of_sizes(metrics),
        of_holdout(result),
        of_entropy(result),
    ]
    return [line for line in told if line]


def of_whole_rows(metrics: Mapping[str, Any]) -> list[str]:
    """Return phrases on rows that are known to be rebuilt, and on rows with their labels; empty where none are."""
    phrases = []
    if metrics.get("fully_determined_perfect_rows") is not None:
        rows, compared = metrics["fully_determined_rows"], metrics["fully_determined_compared"]
        drawn = "" if rows == compared else f", {compared:,} of which were drawn"
        phrases.append(
            f"in {counted(rows, 'rebuilt row')}{drawn}, the attack guesses no value: "
            f"{metrics['fully_determined_perfect_rows']:,} of {compared:,} are perfect"
        )
    if unique := metrics.get("certain_unique_rows"):
        at_least = "" if metrics["certain_unique_rows_exact"] else "at least "
        are = f"{'is' if unique == 1 else 'are'} in the training data"
        phrases.append(f"the file alone proves that {at_least}{counted(unique, 'unique row')} {are}")
    if metrics.get("perfect_rows_with_labels") is not None:
        error, perfect = metrics["error_with_labels"], metrics["labels_of_perfect_rows"]
        guesses = [(metrics["split_half_error_with_labels"], "other rows like these")]
        if error is not None:
            phrases.append(f"with the label as one more column, the error is {error:.4f}{_beside(guesses)}")
        if perfect >= _FEW:
            right = metrics["perfect_rows_with_labels"]
            phrases.append(
                f"of {counted(perfect, 'perfect row')}, {right:,} {'has' if right == 1 else 'have'} the right label "
                f"too (always guessing the most common label: {metrics['majority_labels_of_perfect_rows']:,})"
            )
    return phrases


def by_worth(result: Result) -> list[ColumnFigures]:
    """Return the columns of a result, those first of which most comes back that other rows do not have."""
    found = [ColumnFigures(**one) for one in result.get("column_figures", ())]
    return sorted(found, key=lambda column: column.beyond, reverse=True)


def best_columns(result: Result) -> str | None:
    """Return a sentence on the columns of which most comes back that other rows do not have; None for none."""
    named = [
        f"{harmless(one.name)} ({share(one.right)} right, {of_others(one)} in other rows)"
        for one in by_worth(result)
        if one.beyond > 0
    ]
    return f"Most comes back of: {'; '.join(named[:3])}." if named else None


def of_others(column: ColumnFigures) -> str:
    """Return what share of a column other rows have right."""
    return "not known" if column.split_half is None else share(column.split_half)


def of_labels(result: Result) -> str | None:
    """Say of how many people the file tells the label or target to somebody who knows the rest of them."""
    found, metrics = result.get("label_told"), result["metrics"]
    if not found:
        return None
    certain, exact = metrics["label_certain"], metrics["target_exact"]
    what, rest = found["of"][:-1], "" if certain is None else f" (with certainty: {share(certain)})"
    if exact is not None:
        what, rest = f"{what} to within 1 %", f", and exactly of {share(exact)}"
    others = ""
    if found["holdout_rows"]:
        others = f", and of the holdout's people that of {share(found['holdout_told'] / found['holdout_rows'])}"
    return (
        f"whoever knows a person's features reads the {what} of {share(metrics['label_told'])} of the people from the "
        f"file{rest}; without their rows in it {share(metrics['label_told_without_rows'])} can be told{others}"
    )


def of_sensitive(result: Result) -> list[str]:
    """Say of how many people the file tells each column that the policy names."""
    found = []
    for one in result.get("sensitive", ()):
        told, others = one["told"], one["others"]
        if told is None:
            found.append(f"what the file tells of {one['name']} is not known: {one['not_told']}")
        elif one["attributes"]:
            holdout = f" (of the holdout's people: {share(others['told'] / others['rows'])})" if others else ""
            found.append(
                f"whoever knows a person's other columns and label reads {one['name']} of "
                f"{share(told['told'] / told['rows'])} of the people from the file{holdout}; without their rows in it "
                f"{share(told['without'] / told['rows'])} can be told"
            )
    return found


def of_membership(result: Result) -> str | None:
    """Say how well the file tells its people from others to somebody who has a person's whole row."""
    found, metrics = result.get("membership"), result["metrics"]
    if not found:
        return None
    rate = metrics["membership_found"]
    alarms = "" if rate is None else f", and finds {share(rate)} of the people while 1 % of others are taken for one"
    proved = f"; of {share(metrics['membership_proved_out'])} of others the file proves that they are not in the data"
    return (
        "whoever asks with a whole row whether it is in the data tells a person from somebody else "
        f"{share(metrics['membership_auc'])} of the time (by chance: 50%){alarms}"
        f"{proved if found['proved_out'] else ''}"
    )


def of_raw_columns(result: Result) -> str | None:
    """Say what the error is on raw columns, where the file's transformers have encoded them."""
    raw = result["metrics"]["raw_columns"]
    error = error_text(result, "raw_error")
    return None if raw is None else f"on the {raw:,} raw columns, each counted once, the error is {error}"


def of_numbers(result: Result) -> str | None:
    """Say how close numeric columns come, beside what is got without an attack."""
    found, metrics = result["baselines"].get("numeric"), result["metrics"]
    if found is None:
        return None
    guesses = found["median"], found["random"]
    beside = " (always guessing the median: {}; random guesses: {})".format
    errors = f"the error is {error_text(result)}" + beside(*(number(guess["error"]) for guess in guesses))
    if metrics["rank_split_half_error"] is not None:
        others = number(metrics["rank_split_half_error"])
        errors += f"; by rank it is {error_text(result, 'rank_error')} (other rows like these: {others})"
    attack, *close = (number(one["close_values"], ".0%") for one in (found["attack"], *guesses))
    near = f"{found['tolerance']:.0%} of the range without far-out ones"
    order = " (row by row, in the order that the attack knows)" if found["in_order"] else ""
    values = f"{attack} of the numeric values are right to within {near}{beside(*close)}{order}"
    return f"{errors}; {values}; {number(found['attack']['exact_values'], '.0%')} are exact"


def of_proofs(result: Result) -> str:
    """Say which values the file alone proves; empty for nothing."""
    metrics, said = result["metrics"], result["baselines"].get("proved_values")
    parts = []
    if metrics["certain_values"] is not None:
        values = metrics["determined_values"] + metrics["free_values"]
        by = "knowing all other rows" if Adversary.parse(result["adversary"]).informed else "from the file alone"
        rows = counted(metrics["certain_rows"], "row")
        parts.append(f"{by}, {metrics['certain_values']:,} of {values:,} values are certain, and all values of {rows}")
    if said is not None:
        parts.append(
            f"{said['number']:,} different values are certain to be in the data, though not in which rows: "
            f"they make up {said['share']:.0%} of all values"
        )
    return "; ".join(parts)


def of_values(result: Result) -> str | None:
    """Say what the error is made of, where a forest leaves something open."""
    metrics = result["metrics"]
    free, determined = metrics["free_values"], metrics["determined_values"]
    if not free:
        return None
    if not determined:
        return f"trees test no value: the error of {error_text(result)} is that of guesses"
    of_determined, of_free = (number(metrics[f"{which}_error"]) for which in ("determined", "free"))
    tested, informed = determined / (determined + free), result.get("given_all_other_rows")
    known = ""
    if informed and informed["told_values"] < tested:  # a test leaves a value open where others lie on the same side
        known = f" (somebody who knows all other rows can work out {share(informed['told_values'])} of all)"
    return (
        f"trees test {share(tested)} of the values{known}; the attack's error on these is {of_determined}, and on the "
        f"rest, which it can only guess, {of_free}"
    )


def of_sizes(metrics: Mapping[str, Any]) -> str | None:
    """Say where another number of rows was rebuilt than there are."""
    rebuilt, n_rows = metrics["rebuilt_rows"], metrics["n_rows"]
    if rebuilt is None:
        return None
    so = f"a random {n_rows:,} of them" if rebuilt > n_rows else "these, some of them twice or more,"
    return f"the attack rebuilds {rebuilt:,} rows; {so} are compared with the {n_rows:,} true ones"


def of_holdout(result: Result) -> str | None:
    """Say how close datasets of the same population come, where a holdout was given."""
    found, rank = result["baselines"].get("holdout"), result["metrics"]["leak_rank"]
    if found is None or rank is None:  # the attack was ended, or left out
        return None
    p_value = found["p_value"]
    normal = "unknown" if p_value is None else "below 1e-300" if not p_value else f"{p_value:.2g}"
    return (
        f"leak p-value {normal}; {found['as_close']:,} of {found['draws']:,} datasets drawn from the "
        f"holdout are as close to the rebuilt rows as the training data (rank {rank:.2g})"
    )


def of_entropy(result: Result) -> str | None:
    """Say how much uncertainty is left row by row, where a rule is about that."""
    found = result["entropy"]
    if "entropy-reduction" not in result["policy"]["rules"] or "ratio_bounds" not in found:
        return None
    least, median, most = (f"{found['row_ratio_quantiles'][at]:.1%}" for at in (0, 50, 100))
    return (
        f"of {found['bits']:.1f} bits of uncertainty about each row, {one_line(found['rows_measured_on'])} leaves "
        f"{least} for the most exposed row, {median} for the median row, and {most} for the least exposed row"
    )


# How close anybody could get


def is_told(least_error: float) -> bool:
    """Return whether an error that no attacker gets below is more than none, as it is shown."""
    return f"{least_error:.4f}" != "0.0000"


def anybody(result: Result) -> list[str]:
    """Return what somebody gets who knows all other rows, and what other datasets explain the file as well."""
    return [*given_others(result), *_of_rows(result), *of_datasets(result), *of_limits(result)]


def told_given_others(found: dict[str, Any]) -> str:
    """Return what somebody gets for certain who knows all other rows, or else how close, as a phrase."""
    who = "somebody who knows all other rows" + " and which rows each tree drew" * (not found["proved"])
    rows, exact, plain = found["told_rows"], found.get("exact_numeric"), found.get("exact_numeric_without_file") or 0.0
    reads = f"{who} reads {{}} out of the file {{}}; without it, {{}} are guessed".format
    if rows > max(found["near_rows_without_file"], 0.1):
        return reads(f"{share(rows)} of the rows", "with certainty", share(found["near_rows_without_file"]))
    if exact and exact - plain > 0.1:
        return reads(f"{share(exact)} of the numbers", "to the digit", share(plain))
    return (
        f"{who} rebuilds the one that is missing with an error of {found['matched_error']:.4f}; without the file: "
        f"{found['matched_error_without_file']:.4f}"
    )


def best_of_anybody(result: Result) -> str | None:
    """Return what no attacker considered gets past, beside other rows like these, as a phrase; None without a limit."""
    known, others = result.get("limit"), result["metrics"]["split_half_error"]
    if known is None or others is None or not is_told(known["least_error"]):
        return None
    rows, n_rows = whole(known["most_perfect_rows"]), result["metrics"]["n_rows"]
    return (
        f"no attacker considered gets closer to the rows than {known['least_error']:.4f} (other rows like these: "
        f"{others:.4f}), or can expect more than {rows:,} of {n_rows:,} of them"
    )


def given_others(result: Result) -> list[str]:
    """Return what somebody gets who knows all other rows, in short; empty where that was not found out."""
    found = result.get("given_all_other_rows")
    if not found:
        return []
    looked_at = f" (on {found['rows']:,} of {found['of_rows']:,} rows, drawn at random)"
    who = "With certainty" if found["proved"] else "With certainty, if they also know which rows each tree drew"
    return [
        f"Somebody who knows all other rows guesses each row with an error of {found['error']:.4f}, row by row"
        f"{looked_at if found['rows'] < found['of_rows'] else ''}; without the file, "
        f"{found['error_without_file']:.4f}. Compared as the table's error is, by the best matching: "
        f"{found['matched_error']:.4f}; other rows like these: {found['split_half_error']:.4f}.",
        f"{who}, they know {share(found['told_values'])} of the values, and all values of "
        f"{share(found['told_rows'])} of the rows. They guess {share(found['near_values'])} of the values right "
        f"(numbers to within 1 %), and {share(found['near_rows'])} of the rows; without the file, "
        f"{share(found['near_values_without_file'])} and {share(found['near_rows_without_file'])}.",
    ]


def _of_rows(result: Result) -> Iterator[str]:
    """Yield how the error of somebody who knows all other rows is spread over the rows."""
    found = result.get("given_all_other_rows")
    if found and found["row_errors"]:
        shares = {0: "the most exposed row", 10: "a tenth of the rows, at most", 50: "half of the rows, at most"}
        errors = {f"{found['row_errors'][at]:.4f}": who for at, who in shares.items()}  # of equals the largest share
        yield f"Such an attacker's error row by row: {'; '.join(f'{who} {error}' for error, who in errors.items())}."


def _of_attack(result: Result) -> str | None:
    """Return the error that no attacker gets below, that of this attack, and where the check fails, as a phrase."""
    known, error = result.get("limit"), result["metrics"]["reconstruction_error"]
    if known is None or error is None or not is_told(least := known["least_error"]):
        return None
    bar = error_bar(result)
    fails = "" if bar is None else f"; limit: {bar:.4f}"
    if error < least:
        return (
            f"this attack's error of {error:.4f} is below the {least:.4f} that was estimated as the least for any "
            f"attacker: the estimate is wrong, and nothing rests on it{fails}"
        )
    said = f"no attacker considered gets closer than {least:.4f}; this attack came to {error:.4f}{fails}"
    passed = {check["rule"] for check in result["checks"] if check["result"] == "passed"}
    if bar is not None and least <= bar and "reconstruction-error" in passed:
        said += ". It passes, because whoever gets that close gets nearly as close without the file"
    return said


def of_datasets(result: Result) -> Iterator[str]:
    """Yield what other datasets explain the file as well, in short; nothing where that was not found out."""
    known, metrics, found = result.get("limit"), result["metrics"], result.get("ambiguity")
    n_rows = metrics["n_rows"]
    if (phrase := _of_attack(result)) is not None:
        yield f"{begun(phrase)}."
    if known is not None and known["most_perfect_rows"] < n_rows:
        most_rows = whole(known["most_perfect_rows"])
        rows = f"{most_rows:,} of {n_rows:,} rows" if most_rows else f"a single one of the {n_rows:,} rows"
        of_all = next((one for one in ideals(result) if not one["on"] and one["scale"] == "range"), {})
        most = of_all.get("most_exact")
        exact = "" if most is None else f", or more than {most:.0%} of the numbers exactly"
        few = "more than " * bool(most_rows)
        yield f"No attacker considered can expect {few}{rows} perfectly right{exact}."
    if not found:
        return
    if found["bits"] > 0:
        some = 0 < (metrics["certain_values"] or 0) < metrics["determined_values"] + metrics["free_values"]
        differ = ", and differ only in values that are not certain" if some else ""
        bits = found["bits"]
        many = f"{math.ceil(2**bits - 1e-9):,}" if bits < 20 else f"2^{int(bits):,}"  # of few, a whole number
        yield f"At least {many} datasets explain the file equally well{differ}. The true one is among them."
    elif found["unchanged_rows"] == 1:
        yield "No other dataset that explains the file was found: perhaps there is none."


def ideals(result: Result) -> list[dict[str, Any]]:
    """Return what the best possible guess gets by all datasets that explain the file, the whole first."""
    return list((result.get("ambiguity") or {}).get("ideal", ()))


def of_limits(result: Result) -> Iterator[str]:
    """Yield what the limits were estimated from."""
    found = result.get("ambiguity")
    if not found:
        return
    taken = {"uniform": "all are equally likely", "population": "those like this population are likelier"}
    taken["other rows"] = "their rows are rows that this population has"
    names = [taken.get(prior, prior) for prior in found["priors"]]
    likely = " or ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)
    yield (
        f"The limits were estimated from at least {found['samples']:,} such datasets, assuming that {likely}. Their "
        f"error is {found['distance']:.4f}, and {found['unchanged_rows']:.0%} of the rows are the same in all of them."
    )
