"""What was measured, in words: in goes one result of a report, out come sentences, phrases and the cells of tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pytest_draft.errors import one_line
from pytest_draft.facts.adversary import Adversary
from pytest_draft.facts.findings import ColumnFigures
from pytest_draft.foreign_text import harmless
from pytest_draft.report import ambiguity
from pytest_draft.report.bounds import between, bounds_of, span
from pytest_draft.report.result import Result
from pytest_draft.report.wording import begun, counted, share, standing

COLUMN_HEADINGS = ("Column", "Right", "Right in other rows", "Error")
"""What the cells of `columns` are."""

SLICE_HEADINGS = ("Slice", "Rows", "Error", "Split-half error", "Perfect rows", "Singled out")
"""What the cells of `slices` are."""


_FEW = 5
"""Fewer perfect rows than these say nothing by how many of them have the right label."""


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
        said = ambiguity.told_given_others(found)
    elif "label-told" in failed and labels:
        said = labels
    elif not failed:
        said = ambiguity.limit_phrase(result)
    return _rows_back(result) if said is None else f"{begun(said)}."


def _rows_back(result: Result) -> str:
    """Return how many rows come back, and how many anyhow."""
    metrics = result["metrics"]
    perfect = bounds_of(result, "perfect_rows")
    if perfect is None:
        if result["solver_status"] == "not asked":
            return "The policy asks for no attack, so none was run."
        return "It is not known how many rows come back."
    comes = "comes" if perfect[1] == 1 else "come"
    said = begun(f"{between(perfect, ',')} of {counted(metrics['n_rows'], 'row')} {comes} back")
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


def about(result: Result) -> list[str]:
    """Return what the attack got on one model besides what `decision` says; empty where nothing was measured."""
    metrics, sentences = result["metrics"], []
    error = between(bounds_of(result), ".4f")
    if error is not None:
        guesses = [
            (metrics["split_half_error"], "other rows like these: {:.4f}"),
            (metrics["random_error"], "random guesses: {:.4f}"),
        ]
        sentences.append(f"The attack's error is {error}{_beside(guesses)}.")
    if metrics["singled_out_rows"] is not None:
        single = f"{metrics['singled_out_rows']:,} {'comes' if metrics['singled_out_rows'] == 1 else 'come'} back"
        sentences.append(f"Of the {metrics['unique_rows']:,} rows that are unique in the training data, {single}.")
    if metrics["certain_rows"]:
        at_least = "" if metrics["certain_rows_exact"] else "At least "
        are, them = ("is", "it") if metrics["certain_rows"] == 1 else ("are", "them")
        why = f"every dataset of the stated domain that is consistent with the file contains {them}"
        sentences.append(f"{at_least}{counted(metrics['certain_rows'], 'row')} {are} certain: {why}.")
    return [*sentences, *(f"{begun(part)}." for part in (*whole_row_phrases(metrics), of_labels(result)) if part)]


def whole_row_phrases(metrics: Mapping[str, Any]) -> list[str]:
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
        guesses = [(metrics["split_half_error_with_labels"], "other rows like these: {:.4f}")]
        if error is not None:
            phrases.append(f"with the label as one more column, the error is {error:.4f}{_beside(guesses)}")
        if perfect >= _FEW:
            right = metrics["perfect_rows_with_labels"]
            phrases.append(
                f"of {counted(perfect, 'perfect row')}, {right:,} {'has' if right == 1 else 'have'} the right label "
                f"too (always guessing the most common label: {metrics['majority_labels_of_perfect_rows']:,})"
            )
    return phrases


def columns(result: Result) -> list[tuple[str, str, str, str]]:
    """Return the columns of a result as cells, those first of which most comes back that other rows do not have."""
    return [_cells(column) for column in _by_worth(result)]


def best_columns(result: Result) -> str | None:
    """Return a sentence on the columns of which most comes back that other rows do not have; None for none."""
    best = [_cells(column) for column in _by_worth(result) if column.beyond > 0][:3]
    if not best:
        return None
    named = (f"{harmless(name)} ({right} right, {others} in other rows)" for name, right, others, _ in best)
    return f"Most comes back of: {'; '.join(named)}."


def _by_worth(result: Result) -> list[ColumnFigures]:
    found = [ColumnFigures(**one) for one in result.get("column_figures", ())]
    return sorted(found, key=lambda column: column.beyond, reverse=True)


def _cells(column: ColumnFigures) -> tuple[str, str, str, str]:
    others = "not known" if column.split_half is None else share(column.split_half)
    return column.name, share(column.right), others, f"{column.error:.4f}"


def slices(result: Result) -> list[tuple[str, ...]]:
    """Return the slices of a result as cells: name, rows, error, that of others, perfect rows, singled out."""
    cells: list[tuple[str, ...]] = []
    for one in result.get("slices", ()):
        if one["perfect_rows"] is None:
            cells.append((one["name"], "fewer than 10", "too few rows", "", "", ""))
            continue
        errors = ["not known" if error is None else f"{error:.4f}" for error in (one["error"], one["split_half_error"])]
        counts = [f"{one['perfect_rows']:,}", f"{one['singled_out_rows']:,} of {one['unique_rows']:,} unique"]
        cells.append((one["name"], f"{one['rows']:,}", *errors, *counts))
    return cells


def figures(result: Result) -> list[str]:
    """Return all that was measured besides error and rows, a line each."""
    metrics, sayings = result["metrics"], (ambiguity.given_others, ambiguity.short)
    told = [
        of_labels(result),
        of_raw_columns(result),
        of_numbers(result),
        of_proofs(result),
        *(" ".join(said) for say in sayings if (said := list(say(result)))),
        of_values(result),
        "; ".join(whole_row_phrases(metrics)),
        of_sizes(metrics),
        of_holdout(result),
        of_entropy(result),
    ]
    return [line for line in told if line]


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


def of_raw_columns(result: Result) -> str | None:
    """Say what the error is on raw columns, where the file's transformers have encoded them."""
    raw = result["metrics"]["raw_columns"]
    return (
        None
        if raw is None
        else f"on the {raw:,} raw columns, each counted once, the error is {error_text(result, 'raw_error')}"
    )


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


def of_proofs(result: Result) -> str | None:
    """Say which values the file alone proves."""
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
    found = result["baselines"].get("holdout")
    if found is None:
        return None
    p_value, rank = found["p_value"], result["metrics"]["leak_rank"]
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


def error_text(result: Result, name: str = "reconstruction_error") -> str:
    """Return an error of a result as it is shown, or its bounds."""
    return span(bounds_of(result, name), ".4f") or "-"


def number(value: float | None, form: str = ".4f") -> str:
    """Return a figure as it is shown."""
    return "-" if value is None else f"{value:{form}}"


def _beside(guesses: Iterable[tuple[float | None, str]]) -> str:
    said = [text.format(value) for value, text in guesses if value is not None]
    return f" ({', '.join(said)})" if said else ""
