"""How a table is written changes no judgement: each of these passed a complete leak, or cost proofs."""

from __future__ import annotations

import hashlib

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

from pytest_draft.examine.flow import examine
from pytest_draft.facts.case import Case
from pytest_draft.facts.rules import Literal
from pytest_draft.facts.slices import Slice

N_ROWS = 60


def yes_and_no(seed: int, n_columns: int = 8):
    rng = np.random.default_rng(seed)
    rows = (rng.random((N_ROWS, n_columns)) < 0.4).astype(float)
    labels = (rows @ rng.normal(size=n_columns) + rng.normal(size=N_ROWS) > 0).astype(int)
    return pd.DataFrame(rows, columns=[f"q{i}" for i in range(n_columns)]), labels


@pytest.fixture
def judged(tmp_path):
    """Return a function that trains a forest on a table, and examines it."""

    def judge(rows: pd.DataFrame, labels, trained=None, domain: str | None = None, **options):
        path = tmp_path / "model.joblib"
        forest = RandomForestClassifier(30, random_state=0, bootstrap=False)
        joblib.dump(forest.fit(rows if trained is None else trained, labels), path)
        if domain is not None:
            (tmp_path / "domain.toml").write_text(domain)
            options["domain"] = str(tmp_path / "domain.toml")
        return examine(Case(str(path), seconds=20, **options), data=(rows, labels))

    return judge


def figures(examination):
    found = examination.findings.whole
    certain = None if examination.certificate is None else examination.certificate.certain_vectors.lower
    return examination.solver_status, found.error, found.perfect, found.split_half, found.random, certain


@pytest.mark.nightly
@pytest.mark.parametrize("codes", [(-1, 1), (1, 3), (0, 30), (-0.5, 0.25)], ids=str)
def test_yes_and_no_by_any_two_numbers_give_the_same_figures(judged, codes):
    rows, labels = yes_and_no(1)
    plain, _ = judged(rows, labels)
    recoded, rebuilt = judged(rows.replace({0: codes[0], 1: codes[1]}), labels)
    assert figures(recoded) == figures(plain)
    assert (plain.solver_status, plain.findings.whole.perfect.lower) == ("unique", N_ROWS)
    assert set(np.unique(rebuilt.rows)) == set(np.float32(codes))
    assert set(np.unique(rebuilt.proved)) == set(np.float32(codes))


@pytest.mark.nightly
def test_years_of_education_are_rebuilt_as_well_as_numbered_grades(judged):
    rng = np.random.default_rng(2)
    rows, labels = yes_and_no(2, 5)
    grade = rng.integers(6, size=N_ROWS)
    plain, _ = judged(rows.assign(education=grade), labels)
    recoded, rebuilt = judged(rows.assign(education=np.array([9, 12, 14, 16, 17, 20])[grade]), labels)
    assert figures(recoded)[:3] == figures(plain)[:3]
    assert figures(recoded)[-1] >= figures(plain)[-1] > 0
    assert set(np.unique(rebuilt.rows[:, 5])) <= {9, 12, 14, 16, 17, 20}


@pytest.mark.nightly
def test_groups_are_found_whatever_their_columns_are_called(judged):
    rng = np.random.default_rng(3)
    rows, labels = yes_and_no(3, 3)
    for name, n_levels in (("town", 4), ("job", 3)):
        levels = np.eye(n_levels)[rng.integers(n_levels, size=N_ROWS)]
        rows = rows.assign(**{f"{name}_{i}": levels[:, i] for i in range(n_levels)})
    named, _ = judged(rows, labels)
    renamed, _ = judged(rows.set_axis([f"c{i}" for i in range(rows.shape[1])], axis=1), labels)
    assert figures(renamed) == figures(named)
    assert sum("inferred" in line for line in renamed.domain.granted) == 2


@pytest.mark.nightly
def test_a_group_without_its_first_level_is_rebuilt_as_the_whole_one(judged):
    rng = np.random.default_rng(4)
    rows, labels = yes_and_no(4, 4)
    levels = np.eye(4)[rng.integers(4, size=N_ROWS)]
    dropped, _ = judged(rows.assign(**{f"t{i}": levels[:, i] for i in range(1, 4)}), labels)
    assert (dropped.findings.whole.error.exact, dropped.findings.whole.perfect.lower) == (0, N_ROWS)
    assert any("or none of them" in line for line in dropped.domain.granted)


@pytest.mark.nightly
@pytest.mark.parametrize(
    "declared",
    [
        'kind = "ordinal"\nlow = 0\nhigh = 2',
        'kind = "ordinal"\nlow = 0\nhigh = 9',
        'kind = "ordinal"\nlow = -1\nhigh = 1',
        'kind = "numeric"\nlow = 0\nhigh = 1',
        'kind = "ordinal"\nvalues = [0, 1, 7]',
    ],
    ids=lambda text: text.replace("\n", ", "),
)
def test_a_domain_file_that_allows_more_hides_nothing(judged, declared):
    rows, labels = yes_and_no(5)
    plain, _ = judged(rows, labels)
    domain = "".join(f'[attributes."{name}"]\n{declared}\n' for name in rows.columns)
    declared_wider, _ = judged(rows, labels, domain=domain)
    assert figures(declared_wider) == figures(plain)
    assert any("allows values that no training row has in 8 attributes" in note for note in declared_wider.notes)


@pytest.mark.nightly
def test_a_domain_file_that_the_policy_vouches_for_is_taken_as_it_stands(judged, tmp_path):
    rows, labels = yes_and_no(6, 4)
    domain = "".join(f'[attributes."{name}"]\nkind = "ordinal"\nlow = 0\nhigh = 2\n' for name in rows.columns)
    digest = hashlib.sha256(domain.encode()).hexdigest()
    found, _ = judged(rows, labels, domain=domain, domain_sha256=digest)
    assert "ordinal q0: whole numbers from its lowest to its highest" in found.domain.granted
    assert not any("no training row has" in note for note in found.notes)
    another, _ = judged(rows, labels, domain=domain, domain_sha256="0" * 64)
    assert "4 binary columns" in another.domain.granted


@pytest.mark.nightly
def test_slices_are_of_what_is_written(judged):
    rows, labels = yes_and_no(7)
    recoded = rows.replace({0: 2, 1: 5})
    yes = Slice("yes", ("q1",), (Literal(0, 4.0, 6.0),), ("policy.toml, line 1",))
    found, _ = judged(recoded, labels, slices=(yes,))
    (of_slice,) = found.findings.slices
    assert of_slice.rows == int((rows["q1"] == 1).sum())


@pytest.mark.nightly
def test_a_holdout_is_compared_as_it_is_written(judged, tmp_path):
    rows, labels = yes_and_no(8)
    others, _ = yes_and_no(9)
    errors = []
    for codes in ((0, 1), (-1, 1)):
        coded, path = {0: codes[0], 1: codes[1]}, tmp_path / "holdout.csv"
        pd.concat([others, others]).replace(coded).to_csv(path, index=False)
        found, _ = judged(rows.replace(coded), labels, holdout=str(path))
        errors.append(found.findings.significance)
    assert errors[0] == errors[1] is not None


@pytest.mark.nightly(quick=1)
@pytest.mark.parametrize("n_rows", [1, 30])
def test_rows_that_are_all_equal_are_no_finding_of_the_attack(judged, n_rows):
    rows = pd.DataFrame({"a": [0] * n_rows, "b": [7.5] * n_rows})
    found, rebuilt = judged(rows, np.arange(n_rows) % 2)
    assert (found.solver_status, found.findings, rebuilt) == ("not covered", None, None)
    assert "all training rows are equal" in found.reasons[0]
