"""A hunt for leaks that pass: in goes a number of triples, out comes what contradicts a pass.

A triple is a table, a model and a policy with its adversary, drawn at random (`studies.hunt_triples`). Each is judged,
and each that passed is judged again by all that could contradict it:

- *more time*: ten times the effort; *another seed* of the attack, twice;
- *a weaker adversary*: who knows less must not get more. *A stronger one* that fails contradicts nothing, since it
  knows more, and is told apart;
- *the other domain*: the inferred one where one was declared, else one that declares what occurs;
- *a subgroup*: the rows of each class and of each value of a discrete column, by the policy's own thresholds;
- *strangers*: rows of the same population that were not trained on, in place of the split-half baseline;
- *nothing guessed*: rebuilt rows in which no value is a guess, which the attacker knows. At least `FEW` of them are
  real people's rows and unique, most of them are right, and strangers' rows would have met few of them.

The last three come from the figures themselves (`studies.hunt_contradictions`). A subgroup counts only where strangers'
rows, measured in the same way, do not fail as well: of small slices, some come out close by chance. A contradiction is
clear where the verdict fails by looser thresholds too (`studies.judging.ROOM`), else borderline.

What the gate itself calls an internal error (something proved that the truth contradicts) is told of every triple.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from shlex import quote
from typing import Any

import joblib
from sklearn.base import is_classifier

from pytest_draft.facts.examination import Examination
from pytest_draft.policy.policy import Policy
from studies.hunt_contradictions import Contradiction, by_figures, slices_of
from studies.hunt_triples import Triple, declared, triple
from studies.judging import Judged, Judgement, examined, judgement
from studies.specimens import Specimen

MORE = 10.0
"""The longer box, as a multiple of the effort."""


@dataclass(frozen=True)
class Hunted:
    """One triple and what became of it: aggregates only."""

    seed: int
    number: int
    """`seed` and `number`: of the triple."""
    table: str
    model: str
    policy: str
    adversary: str
    verdict: str
    status: str
    """The solver's."""
    contradictions: tuple[Contradiction, ...] = ()
    apart: tuple[Contradiction, ...] = ()
    """`contradictions` and `apart`: that speak against a pass; that fail because they know more."""
    bugs: tuple[str, ...] = ()
    """Internal errors."""
    why: str = ""
    """What was told first where it did not pass."""
    seconds: float = 0.0

    @classmethod
    def of(cls, content: dict[str, Any]) -> Hunted:
        """Return what a line of an output file holds."""
        for name in ("contradictions", "apart"):
            content[name] = tuple(Contradiction(**each) for each in content[name])
        return cls(**{**content, "bugs": tuple(content["bugs"])})


# Judging.


def hunted(seed: int, number: int, seconds: float = 4.0, policy: str | None = None) -> Hunted:
    """Judge a triple, and what passed again.

    Parameters
    ----------
    seconds : float
        Effort of a judgement.
    policy : str or None
        A shipped one, in place of those that are drawn.
    """
    start = time.monotonic()
    drawn = triple(seed, number, seconds, policy)
    found = judged(drawn)
    return replace(found, seed=seed, number=number, seconds=time.monotonic() - start)


def _judgement(found: Judged, policy: Policy) -> Judgement:
    """Judge what was found out, and what a weaker adversary gets, as the policy asks."""
    floors = [_as_policy_asks(floor, policy) for floor in found.floors]
    return judgement(_as_policy_asks(found.examination, policy), policy, floors)


def judged(drawn: Triple) -> Hunted:
    """Judge a triple, and what passed again, without its seed."""
    specimen, policy = drawn.specimen, drawn.policy
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few rows of a class, no vote out of the bag
        model = specimen.trained()
    slices, by_class = slices_of(specimen), is_classifier(specimen.estimator)
    first = examined(specimen, slices, by_class=by_class, model=model)
    verdict = _judgement(first, policy)
    found = Hunted(
        0,
        0,
        specimen.table,
        f"{specimen.model}, {_shape(specimen.estimator)}",
        policy.name,
        specimen.adversary,
        verdict.verdict,
        verdict.status,
        bugs=_bugs(first.examination),
        why=verdict.sentences[0] if verdict.verdict != "passed" and verdict.sentences else "",
    )
    if verdict.verdict != "passed":
        return found
    against: list[Contradiction] = [*by_figures(drawn, first)]
    apart: list[Contradiction] = []
    bugs = list(found.bugs)
    for by, again in _others(specimen):
        found_again = examined(again, model=model)
        bugs += _bugs(found_again.examination)
        other = _judgement(found_again, policy)
        if other.verdict == "failed":
            said = apart if by.startswith("a stronger") else against
            said.append(Contradiction(by, other.clear == "failed", other.sentences[0]))
    return replace(found, contradictions=tuple(against), apart=tuple(apart), bugs=tuple(bugs))


def _as_policy_asks(examination: Examination, policy: Policy) -> Examination:
    """Return an examination with the slices that the policy names only: none, or those of the classes."""
    findings = examination.findings
    if findings is None:
        return examination
    kept = tuple(one for one in findings.slices if policy.by_class and one.name.startswith("class "))
    return replace(examination, findings=replace(findings, slices=kept))


def _bugs(examination: Examination) -> tuple[str, ...]:
    """Return what the gate itself calls a bug."""
    wrong = tuple(reason for reason in examination.reasons if "internal error" in reason)
    if examination.solver_status == "error":
        return examination.reasons
    return wrong


def _shape(estimator: Any) -> str:
    """Return what a model's size is."""
    given = estimator.get_params()
    depth = given.get("max_depth", given.get("estimator__max_depth"))
    trees = given.get("n_estimators", 1)
    return f"{trees} trees of depth {'any' if depth is None else depth}"


def _others(specimen: Specimen) -> Iterator[tuple[str, Specimen]]:
    """Yield the judgements that could contradict a pass."""
    yield "more time", replace(specimen, effort=MORE * specimen.effort, seconds=4 * specimen.seconds)
    for step in (1, 2):
        yield "another seed", replace(specimen, seed=specimen.seed + step)
    for adversary in weaker(specimen.adversary):
        yield f"a weaker adversary: {adversary}", replace(specimen, adversary=adversary)
    for adversary in stronger(specimen.adversary):
        yield f"a stronger adversary: {adversary}", replace(specimen, adversary=adversary)
    if specimen.domain is not None:
        yield "the inferred domain", replace(specimen, domain=None)
    elif not specimen.frame.isna().to_numpy().any():
        yield "a declared domain", declared(specimen)


def weaker(adversary: str) -> list[str]:
    """Return adversaries that know less.

    Parameters
    ----------
    adversary : str
        As in `pytest_draft.knowledge`.
    """
    name, *sides = adversary.split("+")
    found = ["+".join(["published", *sides])] if name == "artifact" else []
    return found + ["+".join([name, *sides[:i], *sides[i + 1 :]]) for i in range(len(sides))]


def stronger(adversary: str) -> list[str]:
    """Return adversaries that know more."""
    name, *sides = adversary.split("+")
    found = ["+".join(["artifact", *sides])] if name == "published" else []
    return found + ([] if sides else [f"{name}+rows:25%", f"{name}+columns:1", f"{name}+informed"])


# The command.


def run(
    n_triples: int,
    seed: int = 0,
    seconds: float = 4.0,
    *,
    workers: int = 1,
    output: Path | None = None,
    numbers: Sequence[int] | None = None,
    policy: str | None = None,
) -> int:
    """Hunt so many triples and print what contradicts a pass.

    Parameters
    ----------
    seconds : float
        Effort of a judgement.
    workers : int
        Processes.
    output : Path or None
        A line of JSON is added for each triple as it comes; those that are there already are not hunted again.
    numbers : sequence of int or None
        Of the triples, in place of the first `n_triples`.
    policy : str or None
        A shipped one, in place of those that are drawn.

    Returns
    -------
    int
        Number of triples with a contradiction or an internal error.
    """
    done = {one.number: one for one in _read(output) if one.seed == seed}
    wanted = list(range(n_triples)) if numbers is None else list(numbers)
    left = [number for number in wanted if number not in done]
    if output is not None and output.exists() and not output.read_bytes().endswith(b"\n"):
        with output.open("a", encoding="utf-8") as file:  # what was cut off must not swallow the next line
            file.write("\n")
    jobs = joblib.Parallel(workers, return_as="generator_unordered")(
        joblib.delayed(hunted)(seed, number, seconds, policy) for number in left
    )
    start = time.monotonic()
    try:
        for index, one in enumerate(jobs):
            done[one.number] = one
            if output is not None:
                with output.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(asdict(one)) + "\n")
            print(f"{index + 1:>4} of {len(left)}: {_line(one)}", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        print("interrupted: what was found so far", file=sys.stderr)
    found = [done[number] for number in wanted if number in done]
    _print(found, seed, seconds, time.monotonic() - start)
    return sum(bool(one.contradictions or one.bugs) for one in found)


def _read(output: Path | None) -> list[Hunted]:
    """Return what an earlier run has written; a line that was cut off is hunted again."""
    if output is None or not output.exists():
        return []
    found = []
    for line in output.read_text(encoding="utf-8").splitlines():
        try:
            found.append(Hunted.of(json.loads(line)))
        except ValueError:
            continue
    return found


def _line(one: Hunted) -> str:
    against = f", {len(one.contradictions)} contradictions" if one.contradictions else ""
    return f"{one.number} {one.table}; {one.model}; {one.policy}; {one.adversary}: {one.verdict}{against}"


def _print(found: Sequence[Hunted], seed: int, seconds: float, spent: float) -> None:
    """Print contradictions, internal errors, and a table of verdicts."""
    for one in found:
        if one.contradictions or one.bugs:
            command = f"python -m studies hunt --numbers {one.number} --seed {seed} --seconds {seconds:g}"
            print(f"\n{_line(one)}\n  {command} --policy {one.policy}")
            for each in one.contradictions:
                print(f"  {'clear' if each.clear else 'borderline'}, by {each.by}: {each.figures}")
            for bug in one.bugs:
                print(f"  internal error: {quote(bug)}")
    print("\nmodel                      passed inconclusive failed contradicted")
    kinds = sorted({one.model.split(",")[0] for one in found})
    for kind in [*kinds, "all"]:
        some = [one for one in found if kind in ("all", one.model.split(",")[0])]
        results = Counter[str](one.verdict for one in some)
        against = sum(bool(one.contradictions) for one in some)
        print(f"{kind:<26} {results['passed']:>6} {results['inconclusive']:>12} {results['failed']:>6} {against:>12}")
    by = Counter((each.by.split(":")[0], each.clear) for one in found for each in one.contradictions)
    for (kind, clear), times in sorted(by.items()):
        print(f"{'clear' if clear else 'borderline'} contradictions by {kind}: {times}")
    apart = Counter(each.by for one in found for each in one.apart)
    for kind, times in sorted(apart.items()):
        print(f"no contradiction, as it knows more: {kind} fails {times} of those that passed")
    print(f"{len(found)} triples in {spent:.0f} s, {sum(bool(one.bugs) for one in found)} with internal errors")


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the options of this study."""
    command.add_argument("--triples", type=int, default=300)
    command.add_argument("--numbers", type=int, nargs="+", help="of single triples, in place of the first ones")
    command.add_argument("--seconds", type=float, default=4.0, help="effort of a judgement, in units of about a second")
    command.add_argument("--seed", type=int, default=0, help="of the hunt")
    command.add_argument("--policy", help="a shipped one, in place of those that are drawn")
    command.add_argument("--workers", type=int, default=1, help="processes")
    command.add_argument("--output", type=Path, help="file of JSON lines; what is there is not hunted again")


def command(a: argparse.Namespace) -> int:
    """Run this study."""
    return run(a.triples, a.seed, a.seconds, workers=a.workers, output=a.output, numbers=a.numbers, policy=a.policy)
