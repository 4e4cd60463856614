"""The invariances: in go tables, models and relations, out comes a table of what was judged more mildly than before.

A verdict must not become milder when nothing changed but the writing. Each relation (`studies.relations`)
is applied to each table and model, both writings are trained, written, read, attacked and judged in this process, and
compared by what the relation promises:

- Verdicts and rules are compared with some room at the thresholds: what fails by a threshold that is looser by
  `studies.judging.ROOM` must not be judged more mildly by the threshold itself.
- An error may be larger by `ERROR_ROOM` and by a quarter of itself, and rows may be fewer by `ROWS_ROOM` of all. These
  are compared where the attack on the first writing has converged: what it reaches otherwise is a matter of luck.
- After other trees were grown, a reconstruction of nearly all rows (`NEARLY_ALL`) may lose `RETRAINED_ROOM` of them.

Searches end by effort, so that runs repeat. What is milder is judged once more with `MORE` times the effort on both
sides; if it is not any more, the search lacked time, and it is counted apart. That excuses no pass of what fails in the
other writing. An inconclusive first verdict for want of time does not keep the second from passing: that is what more
time, or luck, is for.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from shlex import quote
from typing import Literal

import joblib

from pytest_draft.policy.rule import CheckResult
from studies import specimens
from studies.judging import GRAVITY, Judgement, examined, judgement, policy_of_suite
from studies.public_data import TARGETS
from studies.relations import RELATIONS, Relation
from studies.specimens import MODELS, Specimen, specimen

ERROR_ROOM = 0.02
"""By so much, and a quarter of itself, an error may be larger after another writing."""

ROWS_ROOM = 0.1
"""By this share of all rows, perfect or proved ones may be fewer."""

NEARLY_ALL = 0.95
"""From this share of perfect rows on a reconstruction is complete."""

RETRAINED_ROOM = 0.3
"""By this share of all rows, a complete reconstruction may be worse after other trees were grown."""

MORE = 4.0
"""So many times the effort is given to both sides before what is milder counts."""

TABLES = ("discrete", "gaps", "mixed", "duplicates", "outliers", "classes", "screening")
"""The tables of the whole study; more are there to be named."""

JUDGED_MODELS = tuple(name for name in MODELS if name != "little")
"""The models of the whole study: what tells little passes anyway, and nothing is milder than that."""

Fate = Literal["held", "milder", "lacked time"]
Judge = Callable[[Specimen], Judgement]


@dataclass(frozen=True)
class Trial:
    """One relation on one table and model: aggregates only."""

    relation: str
    table: str
    model: str
    seed: int
    fate: Fate
    broken: tuple[str, ...]
    """What was promised and did not hold, with figures."""
    seconds: float
    """Of this process; a judgement that several relations start from counts for the first of them."""

    @property
    def command(self) -> str:
        """What repeats it."""
        named = f"--tables {self.table} --models {quote(self.model)} --relations {quote(self.relation)}"
        return f"python -m studies invariances {named} --seed {self.seed}"


def judged(one: Specimen) -> Judgement:
    """Judge a specimen by the suite's policy."""
    found = examined(one)
    return judgement(found.examination, policy_of_suite(), found.floors)


def broken_promises(relation: Relation, before: Judgement, after: Judgement) -> tuple[str, ...]:
    """Say which promises of a relation do not hold.

    Parameters
    ----------
    before, after : Judgement
        Of the first and the second writing.

    Returns
    -------
    tuple of str
        Empty where all hold.
    """
    if relation.hidden:
        if before.clear != "passed" and after.verdict == "passed":
            return (f"the verdict by itself is {before.verdict}, hidden it is passed",)
        return ()
    broken = []
    if "verdict" in relation.promises:
        broken += _milder("the verdict", before, after, None, both_ways=relation.both_ways)
    if "rules" in relation.promises:
        for rule in before.rules:
            broken += _milder(f"rule {rule}", before, after, rule, both_ways=relation.both_ways)
    return (*broken, *_worse_figures(relation, before, after))


def _passes_a_leak(relation: Relation, before: Judgement, after: Judgement) -> bool:
    """Return whether one of two writings passes where the other does not."""
    if relation.hidden:
        return True
    if after.verdict == "passed" and before.clear == "failed":
        return True
    return relation.both_ways and before.verdict == "passed" and after.clear == "failed"


def _milder(what: str, before: Judgement, after: Judgement, rule: str | None, *, both_ways: bool) -> list[str]:
    """Say where one of two results is milder than the other, some room left at the thresholds."""

    def results(one: Judgement) -> tuple[CheckResult, int, int]:
        shown, clear = (one.verdict, one.clear) if rule is None else (one.rules[rule], one.clear_rules[rule])
        return shown, GRAVITY[shown], GRAVITY[clear]

    (first, first_gravity, first_clear), (second, second_gravity, second_clear) = results(before), results(after)
    if second_gravity < first_clear and not (first == "inconclusive" and before.lacked_time):
        return [f"{what} was {first} and is {second}"]
    if both_ways and first == "passed" and second_clear == GRAVITY["failed"] > first_gravity:
        return [f"{what} was passed and is failed, of the same information"]
    return []


def _worse_figures(relation: Relation, before: Judgement, after: Judgement) -> list[str]:
    """Say which figures are worse for the attacker than they were."""
    if before.lacked_time or not before.n_rows or after.verdict == "inconclusive" != before.verdict:
        return []  # nothing to compare with, or told by the verdict
    n_rows, found = before.n_rows, []
    if "perfect" in relation.promises:
        room = RETRAINED_ROOM if relation.retrained else ROWS_ROOM
        if (not relation.retrained or before.perfect >= NEARLY_ALL * n_rows) and (
            after.perfect < before.perfect - room * n_rows
        ):
            found.append(f"{before.perfect} of {n_rows} rows were perfect, and {after.perfect} are")
    if "certain" in relation.promises and after.certain < before.certain - ROWS_ROOM * n_rows:
        found.append(f"{before.certain} of {n_rows} rows were certain, and {after.certain} are")
    first, second = before.error, after.error
    if "error" in relation.promises and first is not None and (second is None or second > 1.25 * first + ERROR_ROOM):
        found.append(f"the error was {first:.3f}, and is {'not known' if second is None else f'{second:.3f}'}")
    return found


def trials(one: Specimen, relations: Iterable[Relation], seed: int = 0, judge: Judge | None = None) -> list[Trial]:
    """Apply relations to one specimen.

    Parameters
    ----------
    seed : int
        Of the specimen, to be named.
    judge : callable or None
        In place of `judged`.

    Returns
    -------
    list of Trial
        Without the relations that do not apply.
    """
    judge = judge or judged
    known: dict[tuple[object, ...], Judgement] = {}
    found = []
    for relation in relations:
        first, second = relation.before(one), relation.rewrite(one)
        if first is None or second is None:
            continue
        start = time.process_time()
        key = (first.adversary, first.effort, first.hardened, first.rewritten)  # all that a `before` changes
        if key not in known:
            known[key] = judge(first)
        before, after = known[key], judge(second)
        broken = broken_promises(relation, before, after)
        fate: Fate = "milder" if broken else "held"
        if broken and not _passes_a_leak(relation, before, after):
            again = tuple(
                judge(replace(each, effort=MORE * each.effort, seconds=MORE * each.seconds)) for each in (first, second)
            )
            if not (still := broken_promises(relation, *again)):
                fate = "lacked time"
            broken = still or broken
        seconds = time.process_time() - start
        found.append(Trial(relation.name, one.table, one.model, seed, fate, broken, seconds))
    return found


def run(
    tables: Sequence[str] = TABLES,
    models: Sequence[str] = JUDGED_MODELS,
    relations: Sequence[str] = tuple(RELATIONS),
    *,
    seed: int = 0,
    datasets: Path | None = None,
    workers: int = 1,
    output: Path | None = None,
) -> int:
    """Apply relations to tables and models, and print what was judged more mildly.

    Parameters
    ----------
    tables, models, relations : sequence of str
        Names.
    seed : int
        Of tables and models.
    datasets : Path or None
        Folder of public tables, where some are named.
    workers : int
        Processes.
    output : Path or None
        Where to write all trials as JSON.

    Returns
    -------
    int
        Number of trials in which a promise is broken.
    """
    start = time.monotonic()
    pairs = [(table, model) for table in tables for model in models]
    jobs = joblib.Parallel(workers, return_as="generator_unordered")(
        joblib.delayed(_trials_of)(table, model, relations, seed, datasets) for table, model in pairs
    )
    done: list[Trial] = []
    for index, some in enumerate(jobs):
        done += some
        milder = sum(trial.fate == "milder" for trial in some)
        if some:
            print(
                f"{index + 1:>3} of {len(pairs)}: {some[0].table}/{some[0].model}: {len(some)} relations, "
                f"{milder} judged more mildly, {sum(trial.seconds for trial in some):.0f} s",
                file=sys.stderr,
                flush=True,
            )
        if output is not None:
            output.write_text(json.dumps([asdict(trial) for trial in done], indent=1), encoding="utf-8")
    _print(done, relations, time.monotonic() - start)
    return sum(trial.fate == "milder" for trial in done)


def _trials_of(table: str, model: str, relations: Sequence[str], seed: int, datasets: Path | None) -> list[Trial]:
    """Apply relations to a table and a model by name."""
    return trials(specimen(table, model, seed, datasets=datasets), [RELATIONS[name] for name in relations], seed)


def _print(done: Sequence[Trial], relations: Sequence[str], seconds: float) -> None:
    """Print a line for each relation, and each violation with what repeats it."""
    print(f"{'relation':<46} trials   held  lacked time  milder")
    for name in relations:
        fates = Counter(trial.fate for trial in done if trial.relation == name)
        print(f"{name:<46} {fates.total():>6} {fates['held']:>6} {fates['lacked time']:>12} {fates['milder']:>7}")
    for trial in done:
        if trial.fate == "milder":
            print(f"\n{trial.relation}, on {trial.table}/{trial.model}: {'; '.join(trial.broken)}\n  {trial.command}")
    fates = Counter(trial.fate for trial in done)
    spent = sum(trial.seconds for trial in done)
    print(
        f"\n{len(done)} trials of {len(relations)} relations in {seconds:.0f} s ({spent:.0f} s of processes): "
        f"{fates['held']} held, {fates['lacked time']} lacked time, {fates['milder']} judged more mildly"
    )


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the options of this study."""
    known = [*specimens.TABLES, *TARGETS]
    command.add_argument("--tables", nargs="+", default=list(TABLES), choices=known, metavar="TABLE")
    command.add_argument("--models", nargs="+", default=list(JUDGED_MODELS), choices=list(MODELS))
    command.add_argument("--relations", nargs="+", default=list(RELATIONS), choices=list(RELATIONS), metavar="RELATION")
    command.add_argument("--datasets", type=Path, help="folder of compas.csv, adult.csv, ..., where these are named")
    command.add_argument("--seed", type=int, default=0, help="of tables and models")
    command.add_argument("--workers", type=int, default=1, help="processes")
    command.add_argument("--output", type=Path, help="JSON file for all trials")


def command(a: argparse.Namespace) -> int:
    """Run this study."""
    return run(a.tables, a.models, a.relations, seed=a.seed, datasets=a.datasets, workers=a.workers, output=a.output)
