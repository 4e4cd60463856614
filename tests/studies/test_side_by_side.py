"""The benchmark beside the DRAFT reference, with stand-ins for its checkout."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from studies import side_by_side
from studies.public_data import TARGETS

REFERENCE = """
import numpy as np

class DRAFT:
    def __init__(self, forest, one_hot_encoded_groups, ordinal_attributes, numerical_attributes):
        assert one_hot_encoded_groups == [[2, 3, 4]], one_hot_encoded_groups
        assert ordinal_attributes == [[1, 0, 3]], ordinal_attributes
        assert numerical_attributes == []
        self.shape = (int(forest.estimators_[0].tree_.n_node_samples[0]), forest.n_features_in_)

    def fit(self, timeout, verbosity, n_jobs, seed):
        assert (timeout, n_jobs, seed) == (20, 1, 3)
        {body}
"""


@pytest.fixture
def table(tmp_path):
    """A small table in the place of COMPAS."""
    rng = np.random.default_rng(0)
    job = rng.integers(3, size=60)
    frame = pd.DataFrame(
        {
            "old": rng.integers(2, size=60),
            "priors": rng.integers(4, size=60),
            **{f"job:{name}": (job == i).astype(int) for i, name in enumerate("xyz")},
            TARGETS["compas"]: rng.integers(2, size=60),
        }
    )
    frame.to_csv(tmp_path / "compas.csv", index=False)
    return tmp_path


@pytest.fixture
def printed(table, capsys):
    """Return a function that runs the study beside a stand-in whose ``fit`` has a given body."""

    def run(body):
        checkout = table / "checkout"
        checkout.mkdir()
        solver = checkout / "ortools" / "sat" / "python"  # importing the real one takes a second
        solver.mkdir(parents=True)
        (solver / "cp_model.py").touch()
        for package in (solver, *solver.parents[:2]):
            (package / "__init__.py").touch()
        (checkout / "DRAFT.py").write_text(REFERENCE.replace("{body}", body), encoding="utf-8")
        side_by_side.run(checkout, Path(sys.executable), table, ["compas"], 20, [3], [False], [10], None, 20, 1)
        return capsys.readouterr().out.splitlines()

    return run


def test_a_solution_of_the_reference_is_measured(printed):
    lines = printed('return {"status": "OPTIMAL", "reconstructed_data": np.zeros(self.shape)}')
    assert "optimal" in lines[2]
    assert lines[-3].startswith("the engine: 1 of 1 rebuilt")
    assert lines[-2].startswith("the reference: 1 of 1 rebuilt within the limit, mean error 0.")
    assert not lines[-2].endswith("error 0.0000")
    assert lines[-1].startswith("where both did: ")


@pytest.fixture
def engine_in_this_process(monkeypatch):
    """Let the engine attack without a process of its own."""
    started = subprocess.run

    def run(command, **options):
        if command[1] != "-m":
            return started(command, **options)
        folder, seconds, threads, seed = command[3:]
        return side_by_side.attack(Path(folder), float(seconds), int(threads), int(seed))

    monkeypatch.setattr(subprocess, "run", run)


@pytest.mark.usefixtures("engine_in_this_process")
@pytest.mark.parametrize(
    ("body", "status"),
    [
        ('return {"status": "UNKNOWN", "reconstructed_data": np.zeros(self.shape)}', "unknown"),
        ('raise RuntimeError("infeasible")', "failed"),
    ],
    ids=["no solution in time", "an error"],
)
def test_what_is_no_solution_counts_as_none(printed, body, status):
    lines = printed(body)
    assert lines[2].split()[-4:-1][:2] == ["-", status]
    assert ">" in lines[2]
    assert lines[-1] == "the reference: 0 of 1 rebuilt within the limit"
