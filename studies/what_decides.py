"""What decides about files of all kinds: in goes a seed or two, out comes a line for each judgement; then what changed.

``python -m studies what-decides --to before.jsonl`` judges some 190 small files with a fixed effort, each attack to its
end. What a file holds already is not judged again, so that a run can be interrupted. With ``--before before.jsonl``
it then tells every verdict, every failed rule and every error that is another one, and the seconds by kind.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any

from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)

from studies.fixed_judgements import noisy_forest
from studies.judging import examined, judgement, policy_of_suite
from studies.specimens import MODELS, TABLES, Specimen, specimen, targets
from studies.verdicts import FORESTS

SECONDS = 600.0
"""A time box that is never reached: efforts end all searches."""

_SIZES = {"max_depth": 3, "random_state": 0}
_QUICK = 5
"""Every fifth file is of the quick part."""

_LARGER = ("defaults", "100 x depth 5", "10 x depth 3", "extra trees", "full tree")

Make = Callable[[int], Specimen]
Line = dict[str, Any]


def _boosters() -> Mapping[str, tuple[Any, Any]]:
    """Return a classifier and a regressor of each library, by its name."""
    from catboost import CatBoostClassifier, CatBoostRegressor
    from lightgbm import LGBMClassifier, LGBMRegressor
    from xgboost import XGBClassifier, XGBRegressor

    cat: dict[str, Any] = {
        "iterations": 20,
        "depth": 3,
        "random_seed": 0,
        "verbose": False,
        "allow_writing_files": False,
    }
    light: dict[str, Any] = {"n_estimators": 20, "num_leaves": 6, "min_child_samples": 5, "verbose": -1}
    ours: dict[str, Any] = {"max_iter": 20, "max_leaf_nodes": 6, "min_samples_leaf": 5, "early_stopping": False}
    return {
        "gradient boosting": tuple(
            one(n_estimators=20, **_SIZES) for one in (GradientBoostingClassifier, GradientBoostingRegressor)
        ),
        "histogram boosting": (HistGradientBoostingClassifier(**ours), HistGradientBoostingRegressor(**ours)),
        "xgboost": (XGBClassifier(n_estimators=20, max_depth=3), XGBRegressor(n_estimators=20, max_depth=3)),
        "lightgbm": (LGBMClassifier(**light), LGBMRegressor(**light)),
        "catboost": (CatBoostClassifier(**cat), CatBoostRegressor(**cat)),
    }


def _of(table: str, model: str, **others: Any) -> Make:
    def made(seed: int) -> Specimen:
        return replace(specimen(table, model, seed), seconds=SECONDS, **others)

    return made


def _estimated(table: str, estimator: Any, n_rows: int = 60, *, regressor: bool = False) -> Make:
    def made(seed: int) -> Specimen:
        one = replace(specimen(table, "tree", seed, n_rows=n_rows), estimator=estimator, seconds=SECONDS)
        return replace(one, labels=targets(one.frame, one.labels)) if regressor else one

    return made


def _noisy(table: str) -> Make:
    def made(seed: int) -> Specimen:
        one = specimen(table, "forest", seed)
        return replace(one, rewritten=(partial(_private, one),), seconds=SECONDS)

    return made


def _private(one: Specimen, _: object) -> object:
    return noisy_forest(one.frame, one.labels)


def files() -> dict[str, Make]:
    """Return how each file is made, given a seed; the part of a name before the colon is its kind."""
    made = {f"forests: {model} on {table}": _of(table, model) for table, model in product(TABLES, MODELS)}
    for table, model in product(("mixed", "discrete", "cancer", "classes", "wide"), _LARGER):
        (estimator, _), settings = FORESTS[model]
        made[f"150 rows: {model} on {table}"] = _estimated(table, estimator(random_state=0, **settings), 150)
    for (table, model), level in product(
        (("discrete", "forest"), ("mixed", "extra trees"), ("gaps", "shallow"), ("outliers", "forest")),
        ("seeds", "counts", "decimals:3", "labels"),
    ):
        made[f"hardened: {model} on {table}, {level}"] = _of(table, model, hardened=level)
    for table, model in product(
        ("discrete", "gaps", "duplicates", "classes", "mixed", "iris"), ("forest", "shallow", "little")
    ):
        made[f"published: {model} on {table}"] = _of(table, model, adversary="published")
    for table, model, known in product(
        ("discrete", "gaps", "mixed"), ("forest", "shallow"), ("informed", "columns:1", "rows:25%")
    ):
        made[f"more known: {known}, {model} on {table}"] = _of(table, model, adversary=f"artifact+{known}")
    for library, (classifier, regressor) in _boosters().items():
        for table in ("discrete", "mixed", "outliers", "cancer"):
            made[f"boosted: {library} on {table}"] = _estimated(table, classifier)
        for table in ("gaps", "mixed"):
            made[f"boosted: {library}, targets of {table}"] = _estimated(table, regressor, regressor=True)
    made |= {f"private: {table}": _noisy(table) for table in ("discrete", "duplicates")}
    return made


def line_of(name: str, seed: int) -> Line:
    """Judge a file, and return what was found out: verdict, failed rules, error, stages that ran and seconds."""
    warnings.simplefilter("ignore")
    start = time.process_time()
    try:
        found = examined(files()[name](seed))
        said = judgement(found.examination, policy_of_suite(), found.floors)
    except Exception as error:  # what a judgement ends by is a line, too
        return {"name": name, "seed": seed, "verdict": f"error: {type(error).__name__}"}
    results = {
        result: [rule for rule, one in said.rules.items() if one == result] for result in set(said.rules.values())
    }
    return {
        "name": name,
        "seed": seed,
        "verdict": said.verdict,
        "failed": sorted(results.get("failed", [])),
        "inconclusive": sorted(results.get("inconclusive", [])),
        "status": said.status,
        "error": said.error,
        "perfect": said.perfect,
        "certain": said.certain,
        "engines": [key.removesuffix(" seconds") for key in found.examination.statistics if key.endswith(" seconds")],
        "seconds": round(time.process_time() - start, 2),
    }


def run(to: Path, seeds: int, processes: int, *, quick: bool = False) -> list[Line]:
    """Judge all files that a file does not yet hold, add them to it, and return what it then holds."""
    held = _read(to) if to.exists() else []
    known = {(one["name"], one["seed"]) for one in held}
    names = list(files())[:: _QUICK if quick else 1]
    wanted = [(name, seed) for seed in range(seeds) for name in names if (name, seed) not in known]
    with (
        ProcessPoolExecutor(processes, get_context("spawn")) as pool,
        to.open("a", encoding="utf-8", buffering=1) as written,
    ):
        for one in pool.map(line_of, *zip(*wanted, strict=True)) if wanted else ():
            written.write(json.dumps(one) + "\n")
            held.append(one)
    return held


def _read(path: Path) -> list[Line]:
    return [json.loads(text) for text in path.read_text(encoding="utf-8").splitlines()]


def compared(before: Sequence[Line], after: Sequence[Line]) -> Iterator[str]:
    """Yield a line for each judgement that is another one now, and then one for each kind.

    Parameters
    ----------
    before, after : sequence of dict
        As of `line_of`; of those that both hold.
    """
    old = {(one["name"], one["seed"]): one for one in before}
    errors, seconds = defaultdict[str, list[float]](list), defaultdict[str, list[tuple[float, float]]](list)
    for now in after:
        was = old.get((now["name"], now["seed"]))
        if was is None:
            continue
        changed = [
            key for key in ("verdict", "failed", "inconclusive", "status", "certain") if was.get(key) != now.get(key)
        ]
        if changed:
            told = "; ".join(f"{key}: {_told(was.get(key))} -> {_told(now.get(key))}" for key in changed)
            grave = "WORSE " if (was["verdict"], now["verdict"]) == ("failed", "passed") else ""
            yield f"{grave}{now['name']}, seed {now['seed']}: {told}"
        kind = now["name"].split(":")[0]
        if was.get("error") is not None and now.get("error") is not None:
            errors[kind].append(now["error"] - was["error"])
        seconds[kind].append((was.get("seconds", 0.0), now.get("seconds", 0.0)))
    for kind, pairs in seconds.items():
        changes = errors[kind] or [0.0]
        spent = [sum(part) for part in zip(*pairs, strict=True)]
        yield (
            f"{kind}: {len(pairs)} judgements, {spent[0]:.0f} -> {spent[1]:.0f} s of a processor; change of the error: "
            f"median {median(changes):+.4f}, {min(changes):+.4f} to {max(changes):+.4f}"
        )


def _told(value: object) -> str:
    return (", ".join(map(str, value)) or "none") if isinstance(value, list) else str(value)


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the options of this study."""
    command.add_argument("--to", type=Path, required=True, help="a file of JSON lines, which is gone on with")
    command.add_argument("--before", type=Path, help="such a file of another checkout, to compare with")
    command.add_argument("--seeds", type=int, default=2)
    command.add_argument("--processes", type=int, default=1)
    command.add_argument("--quick", action="store_true", help=f"only every {_QUICK}th file")


def command(a: argparse.Namespace) -> int:
    """Run this study."""
    after = run(a.to, a.seeds, a.processes, quick=a.quick)
    told = [] if a.before is None else list(compared(_read(a.before), after))
    print("\n".join(told))
    return int(any(line.startswith("WORSE") for line in told))
