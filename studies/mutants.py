"""Mutants of the package that its tests should kill: in goes a seed, out come those killed and those that live on.

Run it with ``python -m studies.mutants results.jsonl``. A mutant is one small change of one line: a comparison or an
operator is another, a number is one more, ``and`` is ``or``, what is returned is its contrary. The tests of the
room that it stands in decide on it. What ``results.jsonl`` holds is not run again, so a study can be interrupted.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
NEEDED = ("pytest_draft", "tests", "studies", "rules", "docs", "README.md", "CHANGELOG.md", "pyproject.toml")

ROOMS = {
    "policy": [
        "tests/policy/test_rules*.py",
        "tests/policy/test_[!r]*.py",
        "tests/plugin/test_own_rules.py",
        "tests/plugin/test_settings.py",
        "tests/plugin/test_compare.py",
    ],
    "evaluate": ["tests/evaluate"],
    "ambiguity": ["tests/ambiguity"],
    "matching.py": ["tests/test_matching.py", "tests/evaluate"],
    "knowledge.py": ["tests/test_knowledge.py", "tests/attack/test_side_knowledge.py"],
    "audit": ["tests/audit"],
    "attack/private": ["tests/attack/private"],
    "attack/numeric": ["tests/attack/numeric"],
    "attack/counts": ["tests/attack/counts", "tests/attack/test_reconstruction.py"],
    "attack/large_domains": ["tests/attack/large_domains", "tests/attack/test_reconstruction.py"],
    "attack/fractions": ["tests/attack/fractions", "tests/evaluate/test_stripped_files.py"],
    "attack/informed": ["tests/attack/informed", "tests/evaluate/test_informed.py"],
    "attack": ["tests/attack/test_*.py"],
    "artifact": ["tests/artifact"],
    "data": ["tests/data", "tests/test_data.py"],
    "domain": ["tests/test_domain.py", "tests/data"],
    "hardening": ["tests/hardening"],
    "examine": ["tests/examine", "tests/evaluate", "tests/plugin"],
    "facts": ["tests/facts", "tests/policy"],
    "report": ["tests/report", "tests/plugin"],
    "plugin": ["tests/plugin"],
    "advice": ["tests/advice"],
    "isolation.py": ["tests/plugin/test_isolation.py", "tests/plugin/test_faults.py"],
}
"""The tests of each part of the package, the quick ones first; the first part that a module stands in counts."""

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
_TRUTHS = (ast.Compare, ast.BoolOp, ast.UnaryOp)


@dataclass(frozen=True)
class Mutant:
    """One small change of one module."""

    path: str
    """Of the module, below the root."""
    start: int
    end: int
    """`start` and `end`: where the change stands, in bytes."""
    line: int
    was: str
    became: str

    @property
    def name(self) -> str:
        """What tells it from all others."""
        return f"{self.path}:{self.line}: {self.was} -> {self.became} @{self.start}"


def mutants_of(path: str) -> Iterator[Mutant]:
    """Yield all mutants of a module."""
    source = (ROOT / path).read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    tree = ast.parse(source)
    skipped = {id(inner) for outer in ast.walk(tree) for part in _not_code(outer) for inner in ast.walk(part)}
    for node in ast.walk(tree):
        if id(node) in skipped or not isinstance(node, ast.expr) or node.end_lineno is None:
            continue
        was = ast.unparse(node)
        for became in _changed(node):
            start = starts[node.lineno - 1] + node.col_offset
            end = starts[node.end_lineno - 1] + (node.end_col_offset or 0)
            yield Mutant(path, start, end, node.lineno, was, became)
    for node in ast.walk(tree):
        if isinstance(node, ast.Return) and isinstance(node.value, _TRUTHS) and node.value.end_lineno is not None:
            value = node.value
            start = starts[value.lineno - 1] + value.col_offset
            end = starts[node.value.end_lineno - 1] + (value.end_col_offset or 0)
            was = ast.unparse(value)
            yield Mutant(path, start, end, value.lineno, was, f"not ({was})")


def _not_code(node: ast.AST) -> list[ast.AST]:
    """Return the parts of a node that no test can tell from others: annotations, decorators, texts, types."""
    if isinstance(node, ast.FunctionDef):
        return [*node.decorator_list, *([node.returns] if node.returns else [])]
    if isinstance(node, ast.ClassDef):
        return [*node.decorator_list]
    if isinstance(node, ast.arg):
        return [node.annotation] if node.annotation else []
    if isinstance(node, ast.AnnAssign):
        return [node.annotation]
    if isinstance(node, ast.JoinedStr):
        return [node]
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id in ("dict", "tuple"):
        return [node]
    if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in ("__tracebackhide__", "__all__"):
        return [node]
    return []


def _changed(node: ast.expr) -> Iterator[str]:
    """Yield what an expression may become."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _COMPARISONS:
        ops = [_COMPARISONS[type(node.ops[0])](), *node.ops[1:]]
        yield f"({ast.unparse(ast.Compare(node.left, ops, node.comparators))})"
    elif isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS and not isinstance(node.left, ast.JoinedStr):
        yield f"({ast.unparse(ast.BinOp(node.left, _OPERATORS[type(node.op)](), node.right))})"
    elif isinstance(node, ast.BoolOp):
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield f"({ast.unparse(ast.BoolOp(other, node.values))})"
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        assert isinstance(node.value, int | float)
        yield repr(node.value + 1)
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield repr(not node.value)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield f"({ast.unparse(node.operand)})"


def room_of(path: str) -> str | None:
    """Return the part of the package that a module stands in, if it is one of `ROOMS`."""
    inside = Path(path).relative_to("pytest_draft")
    return next((room for room in ROOMS if inside.is_relative_to(room)), None)


def sample(count: int, seed: int) -> list[Mutant]:
    """Return mutants, of each room in turn, drawn by a seed."""
    chance = random.Random(seed)
    by_room: dict[str, list[Mutant]] = {room: [] for room in ROOMS}
    for module in sorted((ROOT / "pytest_draft").rglob("*.py")):
        path = module.relative_to(ROOT).as_posix()
        if room := room_of(path):
            by_room[room].extend(mutants_of(path))
    for found in by_room.values():
        chance.shuffle(found)
    turns = [found for found in by_room.values() if found]
    drawn: list[Mutant] = []
    while len(drawn) < count and any(turns):
        drawn += [found.pop() for found in turns if found]
    return drawn[:count]


def killed(mutant: Mutant, arguments: list[str], seconds: float) -> tuple[str, float]:
    """Run the tests of a mutant's room in a copy; return ``killed``, ``lives`` or ``hangs``, and the seconds."""
    with tempfile.TemporaryDirectory(prefix="mutant-") as made:
        copy = Path(made, "tree")
        copy.mkdir()
        for name in NEEDED:
            if (ROOT / name).is_dir():  # with the compiled kernels, which go by the time of a file's last change
                shutil.copytree(ROOT / name, copy / name, copy_function=shutil.copy2)
            elif (ROOT / name).exists():
                shutil.copy2(ROOT / name, copy / name)
        module = copy / mutant.path
        source = module.read_bytes()
        module.write_bytes(source[: mutant.start] + mutant.became.encode() + source[mutant.end :])
        if b"numba" in source:  # kernels that call it from other modules would not be compiled again
            for kept in copy.rglob("*.nb[ic]"):
                kept.unlink()
        room = room_of(mutant.path)
        assert room is not None
        tests = [str(path.relative_to(copy)) for pattern in ROOMS[room] for path in sorted(copy.glob(pattern))]
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-n0", "-p", "no:cacheprovider", *arguments, *tests]
        environment = {**os.environ, "PYTHONPATH": str(copy), "OMP_NUM_THREADS": "1"}
        since = time.monotonic()
        try:
            run = subprocess.run(
                command, cwd=copy, env=environment, capture_output=True, text=True, timeout=seconds, check=False
            )
        except subprocess.TimeoutExpired:
            return "hangs", time.monotonic() - since
        if run.returncode not in (0, 1, 2):
            raise RuntimeError(f"pytest itself failed on {mutant.name}:\n{run.stdout[-2000:]}{run.stderr[-2000:]}")
        return ("lives" if run.returncode == 0 else "killed"), time.monotonic() - since


def main(arguments: list[str] | None = None) -> None:
    """Run the study."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, help="a file of JSON lines, which is continued")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=900.0, help="for the tests of one mutant")
    parser.add_argument("--rooms", nargs="*", default=list(ROOMS), help="run only those of the sample in these rooms")
    parser.add_argument("--nightly", action="store_true", help="run what lives on again, with all examples")
    given = parser.parse_args(arguments)
    known: dict[str, dict[str, object]] = {}
    if given.results.exists():
        lines = given.results.read_text(encoding="utf-8").splitlines()
        known = {entry["name"]: entry for entry in map(json.loads, lines)}
    profile = "nightly" if given.nightly else "quick"
    for mutant in sample(given.count, given.seed):
        entry = known.setdefault(mutant.name, {"name": mutant.name, "room": room_of(mutant.path), **asdict(mutant)})
        if entry["room"] not in given.rooms or profile in entry or (given.nightly and entry.get("quick") != "lives"):
            continue
        verdict, seconds = killed(mutant, [f"--hypothesis-profile={profile}"], given.seconds)
        entry |= {profile: verdict, f"{profile} seconds": round(seconds, 1)}
        with given.results.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")
        print(f"{verdict:7} {seconds:6.1f} s  {mutant.name}", flush=True)
    seen = [entry for entry in known.values() if "quick" in entry]
    for verdict in ("killed", "hangs", "lives"):
        print(f"{verdict}: {sum(entry['quick'] == verdict for entry in seen)} of {len(seen)}", end="; ")
    more = sum(entry.get("nightly") in ("killed", "hangs") for entry in seen)
    print(f"killed by all examples only: {more}")


if __name__ == "__main__":
    main()
