"""Damaged files of all kinds are valid or refused in one clear line: a short run of ``python -m studies fuzz``.

The seed is the same each time; with ``--hypothesis-profile=nightly`` more mutants are made. Those that failed once
are read again in every run.
"""

from __future__ import annotations

import pytest

from profiles import examples
from studies.fuzz.plan import SHARES
from studies.fuzz.run import Recipe, kept, replayed
from studies.fuzz.targets import TARGETS, mutant
from studies.fuzz.worker import said

SHORT = {"pickles": 300, "trees": 300, "onnx": 200, "rules": 300, "policy": 300, "domain": 300, "npz": 200}
REGRESSIONS = kept()

pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")


@pytest.mark.nightly(quick=1)
@pytest.mark.parametrize("target", SHARES)
def test_a_damaged_file_is_valid_or_refused_in_one_clear_line(target, tmp_path):
    ended = set()
    for number in range(examples(SHORT.get(target, 100))):
        name, content = mutant(target, 20, number)
        found, _ = said(target, name, content, tmp_path)
        assert not found.startswith("!"), (
            f"python -m studies fuzz --targets {target} --seed 20 --number {number}: {found}"
        )
        ended.add(found)
    assert "accepted" in ended
    assert len(ended) > 1


@pytest.mark.nightly(quick=4)
@pytest.mark.parametrize("target", TARGETS)
def test_the_honest_files_that_mutants_are_made_of_are_accepted(target, tmp_path):
    for name, content in TARGETS[target].files:
        assert said(target, name, content, tmp_path)[0] == "accepted"


@pytest.mark.parametrize("recipe", REGRESSIONS, ids=lambda one: f"{one.target}-{one.seed}-{one.number}")
def test_what_failed_once_does_not_fail_again(recipe: Recipe, tmp_path):
    assert not replayed(recipe, tmp_path).startswith("!"), recipe.what
