"""Whose guess it is, where cells leave values open and two searches disagree: made-up searches, a known truth."""

from __future__ import annotations

from dataclasses import replace

import joblib
import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from pytest_draft.artifact import read
from pytest_draft.attack import reconstruct as module
from pytest_draft.attack.counts.exact import Solution
from pytest_draft.attack.counts.kinds import unordered
from pytest_draft.attack.counts.likeliest import Likely
from pytest_draft.attack.counts.placing import Placed
from pytest_draft.attack.counts.solve import ByRow
from pytest_draft.attack.enumeration import build
from pytest_draft.attack.reconstruct import reconstruct
from pytest_draft.attack.search import Search
from pytest_draft.domain import infer
from pytest_draft.knowledge import exchangeable_groups
from pytest_draft.matching import encoded_weights, matched_distance
from pytest_draft.timebox import TimeBox

N_ROWS, N_DETAILS = 60, 5


def dependent(seed: int):
    """Return rows whose details are all 0 where the first column is, so that no tree asks for them there."""
    rng = np.random.default_rng(seed)
    first = rng.random((N_ROWS, 1)) < 0.35
    details = first & (rng.random((N_ROWS, N_DETAILS)) < 0.3)
    others = rng.random((N_ROWS, 1)) < 0.5
    answers = np.where(first[:, 0], details.sum(axis=1) % 2, others[:, 0])
    return np.hstack([first, details, others]).astype(np.float32), answers.astype(np.int64)


class Case:
    """A forest, and datasets near its training data or far from it, in the terms of both adversaries."""

    def __init__(self, seed, folder):
        self.rows, self.answers = dependent(seed)
        forest = RandomForestClassifier(5, max_features=None, random_state=seed).fit(self.rows, self.answers)
        joblib.dump(forest, folder / "m.joblib")
        self.domain = infer(tuple(f"c{i}" for i in range(self.rows.shape[1])), self.rows)
        forest = read(folder / "m.joblib").forest
        self.problem = build(forest, self.domain, exchangeable_groups(forest, "artifact"), TimeBox(60))
        self.loose = unordered(self.problem)
        self.rng = np.random.default_rng(seed)

    def near(self, problem, wrong):
        """Return the candidate of each row, a share of them at random, in the order of the groups."""
        allowed, offsets = problem.cells.allowed, problem.cells.offsets[:-1]
        places = self.domain.indices(self.rows) + offsets
        chosen = []
        for row in np.argsort(problem.groups.of_row, kind="stable"):
            own = problem.group == problem.groups.of_row[row]
            true = own & allowed[problem.cell][:, places[row]].all(axis=1) & (problem.label == self.answers[row])
            chosen.append(self.rng.choice(np.flatnonzero(own if self.rng.random() < wrong else true)))
        return np.array(chosen)

    def known(self, wrong):
        samples = tuple(
            np.bincount(self.near(self.problem, wrong), minlength=self.problem.n_candidates) for _ in range(6)
        )
        most = self.problem.pool_size[self.problem.pool]
        residual = self.problem.system.missed(samples[0])
        return Solution(samples[0], np.mean(samples, axis=0), residual, most * 0, most, (), False, samples)

    def ignored(self, wrong, n_samples=6):
        samples = np.array([np.sort(self.near(self.loose, wrong)) for _ in range(n_samples)])
        expected = np.bincount(samples.ravel(), minlength=self.loose.n_candidates) / n_samples
        return Likely(samples[0], samples, expected, 0, 0.0)

    def guessed(self, known, likely, monkeypatch):
        """Reconstruct with these searches in place of the real ones, and return the error."""
        weaker = ByRow(Placed(np.empty(0, dtype=np.int64), known.residual), self.loose, likely)
        monkeypatch.setattr(module, "solve", lambda *_, **__: (known, weaker))
        return self.error(reconstruct(self.problem, Search(TimeBox(60))).rows)

    def guessed_without_occurrences(self, likely):
        return self.error(module._guessed(self.loose, likely, Search(TimeBox(60))).guess)

    def error(self, rows):
        return matched_distance(self.rows, rows, encoded_weights(self.domain), TimeBox(60)).upper


SEEDS = (0, 1, 4)


@pytest.fixture(params=SEEDS)
def case(request, tmp_path):
    return Case(request.param, tmp_path)


@pytest.mark.nightly(quick=1)
def test_who_knows_the_occurrences_does_too(case, monkeypatch):
    known = replace(case.known(0.05), residual=1)
    assert case.guessed(known, case.ignored(0.05), monkeypatch) <= 0.065


@pytest.mark.nightly(quick=1)
def test_rows_that_miss_the_counts_by_far_and_disagree_give_way(case, monkeypatch):
    known, likely = case.known(0.7), case.ignored(0.05)
    assert known.residual > N_ROWS
    loose = case.guessed_without_occurrences(likely)
    assert case.guessed(known, likely, monkeypatch) <= loose + 0.003


@pytest.mark.nightly
def test_rows_near_the_truth_are_kept_where_the_histogram_is_not(tmp_path, monkeypatch):
    errors = []
    for seed in SEEDS:
        case = Case(seed, tmp_path)
        known, likely = replace(case.known(0.0), residual=1), case.ignored(0.3)
        loose = case.guessed_without_occurrences(likely)
        errors.append((case.guessed(known, likely, monkeypatch), loose))
    ours, theirs = np.mean(errors, axis=0)
    assert ours < 0.8 * theirs
